#include <algorithm>
#include <cmath>
#include <optional>

#include "core/problem/checks.hpp"
#include "core/choice/choice.hpp"
#include "gpu_host/host_memory.hpp"
#include "gpu_host/image_engine.hpp"
#include "core/plan/host_memory.hpp"
#include "core/choice/image_engine.hpp"
#include "core/plan/plan_parts.hpp"

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

using ImageTable = std::span<const ImageAlgorithm* const>;

bool is_half(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16; }

std::vector<ImageCandidate> image_candidates(ImageTable table, const ResolvedImage& problem, const ImageRequest& request) {
    const bool on_cpu = table.data() == cpu_image_algorithms().data();
    std::vector<ImageCandidate> all;
    for (const ImageAlgorithm* algorithm : table) {
        const bool too_short = on_cpu && is_half(problem.dtype);
        ImageCandidate candidate{
            algorithm, too_short ? Support::no("f16 and bf16 images are for a GPU only") : algorithm->supports(problem, request),
            0};
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

ImageChoice choose_for_image(ImageTable table, const ResolvedImage& problem, const ImageRequest& request, const std::string& name) {
    std::vector<ImageCandidate> all = image_candidates(table, problem, request);
    if (!name.empty()) { return named(all, name); }
    std::erase_if(all, [](const ImageCandidate& candidate) { return candidate.algorithm->by_name_only(); });
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

// -1: the CPU, which "auto" begins with too. Throws Error for a name that is none.
int device_index(const std::string& device) {
    if (device == "cpu" || device == "auto") { return -1; }
    const std::optional<int> index = cuda_index(device);
    if (!index) { throw Error(ErrorCode::argument, "device: '" + device + "' is not one of auto, cpu, cuda, cuda:N"); }
    return *index;
}

ImageTable table_of_device(int index) { return index < 0 ? cpu_image_algorithms() : cuda_image_algorithms(index); }

ImageRequest request_of(const PlanOptions& options) {
    check_enum("accuracy", options.accuracy, Accuracy::fast);
    return {options.accuracy, resolve_threads(options.threads), {}, false};
}

// As in one dimension (device_choice.cpp), where the reasons stand.
constexpr double kWorthAGpuSeconds = 0.1;
constexpr double kPageableBytesPerSecond = 10e9;
constexpr double kHostCallSeconds = 5e-3;

struct PlacedChoice {
    int device = -1;
    ImageChoice choice;
    bool host_buffers = false;
};

// Under "auto": the first GPU if it has the result in host memory sooner, or if the CPU cannot solve the problem.
PlacedChoice place(const PlanOptions& options, const ResolvedImage& problem, ImageRequest request) {
    const int index = device_index(options.device);
    if (options.device != "auto" || !options.algorithm.empty()) {
        return {index, choose_for_image(table_of_device(index), problem, request, options.algorithm), false};
    }
    std::optional<ImageChoice> on_cpu;
    std::string refusal;
    try {
        on_cpu = choose_for_image(cpu_image_algorithms(), problem, request, {});
    } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) { throw; }
        refusal = error.what();
    }
    if (on_cpu && on_cpu->predicted_seconds <= kWorthAGpuSeconds) { return {-1, *on_cpu, false}; }
    request.host_buffers = true;
    std::string why_no_gpu;
    try {
        ImageChoice on_gpu = choose_for_image(cuda_image_algorithms(0), problem, request, {});
        on_gpu.predicted_seconds += kHostCallSeconds + image_transfer_bytes(problem) / kPageableBytesPerSecond;
        const std::string there_and_back = format_seconds(on_gpu.predicted_seconds) + " there and back";
        if (!on_cpu || on_gpu.predicted_seconds < on_cpu->predicted_seconds) {
            on_gpu.reason = (on_cpu ? "host memory to host memory " + there_and_back + " against " +
                                          format_seconds(on_cpu->predicted_seconds) + " on the CPU; "
                                    : "the CPU cannot solve it; ") +
                            on_gpu.reason;
            return {0, on_gpu, true};
        }
        on_cpu->reason = "the GPU would take " + there_and_back + " against " + format_seconds(on_cpu->predicted_seconds) +
                         " here; " + on_cpu->reason;
    } catch (const Error& error) { why_no_gpu = error.what(); }
    if (!on_cpu) { throw Error(ErrorCode::unsupported, refusal + "; and no GPU can: " + why_no_gpu); }
    return {-1, *on_cpu, false};
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

const core::CudaImageExecutable& on_gpu(const core::ImagePlanState& state) {
    return static_cast<const core::CudaImageExecutable&>(*state.executable);
}

std::string size_text(std::int64_t height, std::int64_t width) { return std::to_string(height) + " x " + std::to_string(width); }

}  // namespace

void ImagePlan::execute(void* out, const void* in, std::span<std::byte> workspace, void* stream) const {
    if (state_->host_buffers) { return execute_host(out, in); }
    check_pointers(state_->resolved, out, in);
    core::check_workspace(workspace, workspace_bytes());
    if (state_->executable->takes_host_memory()) { return state_->executable->execute(out, in, workspace); }
    on_gpu(*state_).execute_on(out, in, workspace, stream);
}

void ImagePlan::execute(void* out, const void* in) const {
    if (state_->host_buffers || state_->executable->takes_host_memory()) { return execute_host(out, in); }
    const core::CudaImageExecutable& executable = on_gpu(*state_);
    const auto bytes = static_cast<std::int64_t>(workspace_bytes());
    if (bytes == 0) { return execute(out, in, {}); }
    const cuda_abi::Api& api = *core::cuda_library().api;
    const core::DeviceBytes workspace = core::allocate_device(api, executable.device(), bytes);
    execute(out, in, {static_cast<std::byte*>(workspace.get()), static_cast<std::size_t>(bytes)});
    cuda_abi::Status status;
    if (!api.synchronize_stream(executable.device(), nullptr, &status)) { core::throw_status(status); }
}

void ImagePlan::execute_host(void* out, const void* in) const {
    if (!state_->executable->takes_host_memory()) {
        check_pointers(state_->resolved, out, in);
        return on_gpu(*state_).execute_host(out, in);
    }
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
    const bool on_cpu = s.executable->takes_host_memory();
    const std::string how = on_cpu ? ", " + number(s.threads) + (s.threads == 1 ? " thread" : " threads") : "";
    text += "algorithm: " + s.algorithm + " on " + s.device + how + " (" + s.executable->describe() + ")\n";
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
        const core::ResolvedImage& r = state->resolved;
        core::PlacedChoice placed = core::place(options, r, request);
        if (placed.host_buffers) {  // a device that fails while the plan is made leaves the CPU
            request.host_buffers = true;
            try {
                state->executable = placed.choice.algorithm->prepare(r, prepared.get(), request);
            } catch (const Error& error) {
                if (error.code() != ErrorCode::device && error.code() != ErrorCode::memory) { throw; }
                request.host_buffers = false;
                placed = {-1, core::choose_for_image(core::cpu_image_algorithms(), r, request, {}), false};
                placed.choice.reason = "the GPU failed (" + std::string(error.what()) + "); " + placed.choice.reason;
            }
        }
        if (state->executable == nullptr) { state->executable = placed.choice.algorithm->prepare(r, prepared.get(), request); }
        const auto input_bytes = static_cast<double>(r.batch * r.height) * static_cast<double>(r.width * r.channels) *
                                 static_cast<double>(size_of(r.dtype));
        state->threads = request.threads;
        state->accuracy = request.accuracy;
        state->device = placed.device < 0 ? "cpu" : "cuda:" + std::to_string(placed.device);
        state->host_buffers = placed.host_buffers;
        state->algorithm = placed.choice.algorithm->name();
        state->reason = placed.choice.reason;
        state->predicted_seconds = placed.choice.predicted_seconds;
        const auto bytes = static_cast<std::int64_t>(input_bytes);
        state->predicted_copy_seconds = placed.device < 0 ? core::cpu_engine().copy_seconds(bytes, request.threads)
                                                          : core::cuda_image_copy_seconds(placed.device, bytes);
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
    for (const core::ImageCandidate& c :
         core::image_candidates(core::table_of_device(core::device_index(options.device)), resolved, request)) {
        infos.push_back({.name = std::string(c.algorithm->name()),
                         .summary = std::string(c.algorithm->summary()),
                         .supported = c.support.ok,
                         .reason = c.support.reason,
                         .predicted_seconds = c.predicted_seconds});
    }
    return infos;
}

}  // namespace tapline
