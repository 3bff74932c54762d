#include <algorithm>
#include <cmath>

#include "core/checks.hpp"
#include "core/choice.hpp"
#include "core/host_memory.hpp"
#include "core/image_engine.hpp"
#include "core/plan_parts.hpp"

namespace tapline {
namespace core {

int MaskFacts::rank() const {
    int largest = 0;
    for (const SeparableMask& mask : separable) {
        if (mask.rank == 0) { return 0; }
        largest = std::max(largest, mask.rank);
    }
    return largest;
}

namespace {

template <class T>
AlignedBytes turned_taps(const ResolvedImage& r, const void* taps) {
    const auto count = static_cast<std::size_t>(r.taps());
    AlignedBytes bytes = allocate(count * static_cast<std::size_t>(r.masks) * sizeof(T), "taps");
    T* to = reinterpret_cast<T*>(bytes.get());
    const T* from = static_cast<const T*>(taps);
    for (std::int64_t mask = 0; mask < r.masks; ++mask, to += count, from += count) {
        if (r.problem.operation == Operation::convolution) {
            std::reverse_copy(from, from + count, to);
        } else if constexpr (std::is_floating_point_v<T>) {
            std::copy(from, from + count, to);
        } else {
            std::transform(from, from + count, to, [](const T& tap) { return std::conj(tap); });
        }
    }
    return bytes;
}

AlignedBytes correlation_taps(const ResolvedImage& r, const void* taps) {
    switch (r.taps_dtype) {
        case Dtype::f32:
            return turned_taps<float>(r, taps);
        case Dtype::f64:
            return turned_taps<double>(r, taps);
        case Dtype::complex64:
            return turned_taps<std::complex<float>>(r, taps);
        default:
            return turned_taps<std::complex<double>>(r, taps);
    }
}

template <class T>
bool all_finite(const void* values, std::int64_t count) {
    const T* v = static_cast<const T*>(values);
    return std::all_of(v, v + count, [](T value) { return std::isfinite(value); });
}

// `taps` in correlation order, or null.
MaskFacts facts_of(const ResolvedImage& r, const void* taps) {
    MaskFacts facts;
    facts.separable.resize(static_cast<std::size_t>(r.masks));
    if (taps == nullptr) { return facts; }
    const std::int64_t reals = r.masks * r.taps() * (is_complex(r.taps_dtype) ? 2 : 1);
    const bool single = real_part_of(r.taps_dtype) == Dtype::f32;
    facts.finite = single ? all_finite<float>(taps, reals) : all_finite<double>(taps, reals);
    if (!facts.finite || is_complex(r.taps_dtype) || r.mask_height == 1 || r.mask_width == 1) { return facts; }
    const auto bytes = static_cast<std::size_t>(r.taps()) * size_of(r.taps_dtype);
    for (std::size_t mask = 0; mask < facts.separable.size(); ++mask) {
        facts.separable[mask] =
            separate(static_cast<const std::byte*>(taps) + mask * bytes, r.mask_height, r.mask_width, r.taps_dtype);
        if (facts.separable[mask].rank == 0) { break; }
    }
    return facts;
}

struct ImageCandidate {
    const ImageAlgorithm* algorithm = nullptr;
    Support support;
    double predicted_seconds = 0;
};

std::vector<ImageCandidate> image_candidates(const ResolvedImage& problem, const ImageRequest& request) {
    std::vector<ImageCandidate> all;
    for (const ImageAlgorithm* algorithm : cpu_image_algorithms()) {
        ImageCandidate candidate{algorithm, algorithm->supports(problem, request), 0};
        if (candidate.support.ok) { candidate.predicted_seconds = algorithm->estimate_seconds(problem, request); }
        all.push_back(std::move(candidate));
    }
    return all;
}

struct ImageChoice {
    const ImageAlgorithm* algorithm = nullptr;
    double predicted_seconds = 0;
    std::string reason;
};

ImageChoice named(const std::vector<ImageCandidate>& all, const std::string& name) {
    std::string names;
    for (const ImageCandidate& candidate : all) {
        names += (names.empty() ? "" : ", ") + std::string(candidate.algorithm->name());
        if (candidate.algorithm->name() != name) { continue; }
        if (!candidate.support.ok) {
            throw Error(ErrorCode::unsupported, "algorithm: '" + name + "' cannot solve this problem: " + candidate.support.reason);
        }
        return {candidate.algorithm, candidate.predicted_seconds, "asked for by name"};
    }
    throw Error(ErrorCode::argument, "algorithm: '" + name + "' is not one of " + names);
}

ImageChoice choose_for_image(const ResolvedImage& problem, const ImageRequest& request, const std::string& name) {
    std::vector<ImageCandidate> all = image_candidates(problem, request);
    if (!name.empty()) { return named(all, name); }
    const bool local_first = problem.taps() <= cpu_engine().local_taps() && request.accuracy != Accuracy::fast;
    std::stable_sort(all.begin(), all.end(), [&](const ImageCandidate& a, const ImageCandidate& b) {
        if (a.support.ok != b.support.ok) { return a.support.ok; }
        if (!a.support.ok) { return false; }
        if (local_first && a.algorithm->is_local() != b.algorithm->is_local()) { return a.algorithm->is_local(); }
        return a.predicted_seconds < b.predicted_seconds;
    });
    std::string reason = local_first ? "fastest by the cost model of those whose errors stay local:" : "fastest by the cost model:";
    for (const ImageCandidate& candidate : all) {
        reason += (&candidate == &all.front() ? " " : "; ") + std::string(candidate.algorithm->name()) + " ";
        reason += candidate.support.ok ? format_seconds(candidate.predicted_seconds) : "no (" + candidate.support.reason + ")";
    }
    if (all.empty() || !all.front().support.ok) {
        throw Error(ErrorCode::unsupported,
                    "problem: no algorithm of this engine can solve it;" + reason.substr(reason.find(':') + 1));
    }
    return {all.front().algorithm, all.front().predicted_seconds, reason};
}

void check_device(const std::string& device) {
    if (device == "cpu" || device == "auto") { return; }
    if (device.rfind("cuda", 0) == 0) {
        throw Error(ErrorCode::unsupported, "device: '" + device + "': images run on the CPU in this version; give cpu or auto");
    }
    throw Error(ErrorCode::argument, "device: '" + device + "' is not a device; give cpu or auto");
}

ImageRequest request_of(const PlanOptions& options) {
    check_enum("accuracy", options.accuracy, Accuracy::fast);
    check_device(options.device);
    return {options.accuracy, resolve_threads(options.threads), {}};
}

}  // namespace
}  // namespace core

namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::argument, message); }

void check_pointers(const core::ResolvedImage& r, const void* out, const void* in) {
    const std::int64_t out_elements = image_output_extent(r.problem), in_elements = image_input_extent(r.problem);
    if (out == nullptr) { refuse("out: a null pointer; give a buffer of " + std::to_string(out_elements) + " elements"); }
    if (in == nullptr) { refuse("in: a null pointer; give a buffer of " + std::to_string(in_elements) + " elements"); }
    core::check_buffers({out, r.output_dtype, out_elements}, {in, r.dtype, in_elements});
}

std::string size_text(std::int64_t height, std::int64_t width) { return std::to_string(height) + " x " + std::to_string(width); }

}  // namespace

void ImagePlan::execute(void* out, const void* in, std::span<std::byte> workspace) const {
    check_pointers(state_->resolved, out, in);
    core::check_workspace(workspace, workspace_bytes());
    state_->executable->execute(out, in, workspace);
}

void ImagePlan::execute(void* out, const void* in) const {
    const std::size_t bytes = workspace_bytes();
    core::AlignedBytes own;
    execute(out, in, {core::workspace_for(bytes, own), bytes});
}

std::size_t ImagePlan::workspace_bytes() const noexcept { return state_->executable->workspace_bytes(); }
ImageSize ImagePlan::output_size() const noexcept { return {state_->resolved.out_height, state_->resolved.out_width}; }
const ImageProblem& ImagePlan::problem() const noexcept { return state_->resolved.problem; }
const std::string& ImagePlan::algorithm() const noexcept { return state_->algorithm; }
const std::string& ImagePlan::device() const noexcept { return state_->device; }
int ImagePlan::threads() const noexcept { return state_->threads; }
double ImagePlan::predicted_seconds() const noexcept { return state_->predicted_seconds; }

std::string ImagePlan::explain() const {
    const core::ImagePlanState& s = *state_;
    const core::ResolvedImage& r = s.resolved;
    const ImageProblem& p = r.problem;
    const auto number = [](std::int64_t value) { return std::to_string(value); };
    std::string text = "problem:   " + std::string(to_string(p.mode)) + " " + to_string(p.operation) + " of " +
                       (r.batch > 1 ? number(r.batch) + " images of " : "") + size_text(r.height, r.width) + " " +
                       to_string(r.dtype) + " pixels" + (r.channels > 1 ? " of " + number(r.channels) + " channels" : "") +
                       " with a " + size_text(r.mask_height, r.mask_width) + (p.complex_taps ? " complex" : "") + " mask" +
                       (r.masks > 1 ? " a channel" : "") + ", origin (" + number(r.origin_y) + ", " + number(r.origin_x) + "), " +
                       to_string(p.boundary) + " boundary, " + size_text(r.out_height, r.out_width) + " outputs\n";
    text += "algorithm: " + s.algorithm + " on " + s.device + ", " + number(s.threads) + (s.threads == 1 ? " thread" : " threads") +
            " (" + s.executable->describe() + ")\n";
    text += "why:       " + s.reason + "\n";
    return text + core::prediction_text(s.predicted_seconds, s.predicted_copy_seconds, "", s.accuracy, workspace_bytes());
}

void ImagePlan::check_buffer(const char* name, Dtype dtype, std::int64_t size, bool is_output) const {
    const ImageProblem& p = problem();
    core::check_typed_buffer(name, dtype, is_output ? output_dtype(p) : p.dtype, size,
                             is_output ? image_output_extent(p) : image_input_extent(p));
}

ImagePlan make_image_plan(const ImageProblem& problem, const void* taps, const PlanOptions& options) {
    try {
        auto state = std::make_shared<core::ImagePlanState>();
        state->resolved = core::resolve(problem);
        if (taps == nullptr) { refuse("taps: a null pointer; give " + std::to_string(image_taps_extent(problem)) + " elements"); }
        core::ImageRequest request = core::request_of(options);
        const core::AlignedBytes prepared = core::correlation_taps(state->resolved, taps);
        request.mask = core::facts_of(state->resolved, prepared.get());
        const core::ImageChoice choice = core::choose_for_image(state->resolved, request, options.algorithm);
        const core::ResolvedImage& r = state->resolved;
        const auto input_bytes = static_cast<double>(r.batch * r.height) * static_cast<double>(r.width * r.channels) *
                                 static_cast<double>(size_of(r.dtype));
        state->threads = request.threads;
        state->accuracy = request.accuracy;
        state->device = "cpu";
        state->algorithm = choice.algorithm->name();
        state->reason = choice.reason;
        state->predicted_seconds = choice.predicted_seconds;
        state->predicted_copy_seconds = core::cpu_engine().copy_seconds(static_cast<std::int64_t>(input_bytes), request.threads);
        state->executable = choice.algorithm->prepare(r, prepared.get(), request);
        return ImagePlan(std::move(state));
    } catch (const std::bad_alloc&) {
        throw Error(ErrorCode::memory,
                    "plan: out of memory while preparing a " + size_text(problem.mask_height, problem.mask_width) + " mask");
    }
}

std::vector<AlgorithmInfo> image_algorithms(const ImageProblem& problem, const void* taps, const PlanOptions& options) {
    const core::ResolvedImage resolved = core::resolve(problem);
    core::ImageRequest request = core::request_of(options);
    const core::AlignedBytes prepared = taps == nullptr ? nullptr : core::correlation_taps(resolved, taps);
    request.mask = core::facts_of(resolved, prepared.get());
    std::vector<AlgorithmInfo> infos;
    for (const core::ImageCandidate& c : core::image_candidates(resolved, request)) {
        infos.push_back({.name = std::string(c.algorithm->name()),
                         .summary = std::string(c.algorithm->summary()),
                         .supported = c.support.ok,
                         .reason = c.support.reason,
                         .predicted_seconds = c.predicted_seconds});
    }
    return infos;
}

}  // namespace tapline
