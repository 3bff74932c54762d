#include "tapline/plan.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <random>

#include "core/choice.hpp"
#include "core/engine.hpp"

namespace tapline {
namespace core {
namespace {

constexpr int kMaxThreads = 1024;
constexpr std::size_t kAlignment = 64;
// A thread keeps its workspace between calls up to this size, so that small calls do not allocate.
constexpr std::size_t kKeptWorkspaceBytes = std::size_t{16} << 20;

struct AlignedDelete {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{kAlignment}); }
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;

AlignedBytes allocate(std::size_t bytes, const char* what) {
    auto* p = static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{kAlignment}, std::nothrow));
    if (p == nullptr) {
        throw Error(ErrorCode::memory, std::string(what) + ": " + std::to_string(bytes) + " bytes could not be allocated");
    }
    return AlignedBytes(p);
}

int resolve_threads(int threads) {
    if (threads < 0 || threads > kMaxThreads) {
        throw Error(ErrorCode::argument,
                    "threads: " + std::to_string(threads) + "; give 0 (all cores) to " + std::to_string(kMaxThreads));
    }
    return threads == 0 ? std::min(available_threads(), kMaxThreads) : threads;
}

// One row of taps into the order of the formula: reversed for convolution, conjugated for correlation.
template <class T>
void prepare_row(T* to, const T* from, std::int64_t k, Operation operation) {
    if (operation == Operation::convolution) {
        std::reverse_copy(from, from + k, to);
        return;
    }
    for (std::int64_t t = 0; t < k; ++t) {
        if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
            to[t] = std::conj(from[t]);
        } else {
            to[t] = from[t];
        }
    }
}

template <class T>
AlignedBytes prepare_taps(const Resolved& r, const void* taps) {
    AlignedBytes bytes = allocate(static_cast<std::size_t>(r.filters * r.k) * sizeof(T), "taps");
    T* to = reinterpret_cast<T*>(bytes.get());
    const std::int64_t stride = r.problem.taps_row_stride == 0 ? r.k : r.problem.taps_row_stride;
    for (std::int64_t row = 0; row < r.filters; ++row) {
        prepare_row(to + row * r.k, static_cast<const T*>(taps) + row * stride, r.k, r.problem.operation);
    }
    return bytes;
}

AlignedBytes correlation_taps(const Resolved& r, const void* taps) {
    switch (r.taps_dtype) {
        case Dtype::f32:
            return prepare_taps<float>(r, taps);
        case Dtype::f64:
            return prepare_taps<double>(r, taps);
        case Dtype::complex64:
            return prepare_taps<std::complex<float>>(r, taps);
        case Dtype::complex128:
            return prepare_taps<std::complex<double>>(r, taps);
        default:
            return prepare_taps<std::int64_t>(r, taps);  // i64 or u64: moved, not interpreted
    }
}

Input whole_input(const Resolved& r, const void* in) {
    return {
        .main = {.data = in, .first = 0, .last = r.n, .row_stride = r.in_row, .sample_stride = r.in_sample}, .extra = {}, .n = r.n};
}

Output whole_output(const Resolved& r, void* out) {
    return {.data = out, .first = 0, .count = r.output_length, .row_stride = r.out_row, .sample_stride = r.out_sample};
}

double seconds_of_run(const PlanState& state, void* out, const void* in, std::span<std::byte> workspace) {
    const auto begin = std::chrono::steady_clock::now();
    state.executable->execute(whole_output(state.resolved, out), whole_input(state.resolved, in), workspace, nullptr);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void fill_random(std::byte* bytes, std::size_t count, Dtype dtype) {
    std::mt19937 generator(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the data only has to be ordinary numbers
    std::uniform_real_distribution<float> uniform(-1, 1);
    const Dtype real = real_part_of(dtype);
    if (real == Dtype::f64) {
        for (std::size_t i = 0; i + 8 <= count; i += 8) {
            const double value = uniform(generator);
            std::memcpy(bytes + i, &value, 8);
        }
    } else if (real == Dtype::f32) {
        for (std::size_t i = 0; i + 4 <= count; i += 4) {
            const float value = uniform(generator);
            std::memcpy(bytes + i, &value, 4);
        }
    } else {
        std::fill_n(bytes, count, std::byte{1});
    }
}

void fill_prepared(PlanState& state, const Choice& choice, const void* taps) {
    state.algorithm = choice.algorithm->name();
    state.reason = choice.reason;
    state.predicted_seconds = choice.predicted_seconds;
    state.executable = choice.algorithm->prepare(state.resolved, taps, state.request);
    state.workspace_bytes = state.executable->workspace_bytes();
}

// Effort::measure: the candidates within reach of the best estimate, timed on random data of the problem's own size.
void measure_candidates(PlanState& state, const Engine& engine, const void* taps) {
    constexpr double kWorthTrying = 8;  // an estimate is rarely off by more
    constexpr int kRuns = 3;
    const std::vector<Candidate> all = candidates(engine, state.resolved, state.request);
    double best_estimate = -1;
    for (const Candidate& c : all) {
        if (c.support.ok && (best_estimate < 0 || c.predicted_seconds < best_estimate)) { best_estimate = c.predicted_seconds; }
    }
    const Resolved& r = state.resolved;
    const auto bytes = [](std::int64_t rows, std::int64_t row, std::int64_t samples, std::int64_t sample, Dtype dtype) {
        return static_cast<std::size_t>((rows - 1) * row + (samples - 1) * sample + 1) * size_of(dtype);
    };
    const std::size_t in_bytes = bytes(r.batch, r.in_row, r.n, r.in_sample, r.dtype);
    const AlignedBytes in = allocate(in_bytes, "measuring");
    const AlignedBytes out = allocate(bytes(r.batch, r.out_row, r.output_length, r.out_sample, r.output_dtype), "measuring");
    fill_random(in.get(), in_bytes, r.dtype);
    double best = -1;
    std::string timings;
    PlanState winner;
    for (const Candidate& c : all) {
        if (!c.support.ok || c.predicted_seconds > kWorthTrying * best_estimate) { continue; }
        PlanState trial;
        trial.resolved = r;
        trial.request = state.request;
        fill_prepared(trial, {c.algorithm, c.predicted_seconds, {}}, taps);
        const AlignedBytes workspace = allocate(trial.workspace_bytes + 1, "workspace");
        double seconds = -1;
        for (int run = 0; run < kRuns; ++run) {
            const double t = seconds_of_run(trial, out.get(), in.get(), {workspace.get(), trial.workspace_bytes});
            if (seconds < 0 || t < seconds) { seconds = t; }
        }
        timings += (timings.empty() ? " " : "; ") + trial.algorithm + " " + format_seconds(seconds);
        if (best < 0 || seconds < best) {
            best = seconds;
            winner = std::move(trial);
        }
    }
    state.algorithm = winner.algorithm;
    state.executable = std::move(winner.executable);
    state.workspace_bytes = winner.workspace_bytes;
    state.predicted_seconds = best;
    state.reason = "fastest as measured now:" + timings;
}

}  // namespace

std::shared_ptr<const PlanState> make_state(const Problem& problem, const void* taps, const PlanOptions& options,
                                            bool allow_unknown_length) {
    try {
        auto state = std::make_shared<PlanState>();
        state->resolved = resolve(problem, allow_unknown_length);
        if (taps == nullptr) { throw Error(ErrorCode::argument, "taps: a null pointer; give the filter's coefficients"); }
        if (options.accuracy < Accuracy::standard || options.accuracy > Accuracy::fast) {
            throw Error(ErrorCode::argument, "accuracy: an unknown value");
        }
        state->request = {.accuracy = options.accuracy, .threads = resolve_threads(options.threads)};
        const Engine& engine = engine_for(options.device);
        state->device = engine.info().devices.front().name;
        const Choice choice = choose(engine, state->resolved, state->request, options.algorithm);
        const AlignedBytes prepared = correlation_taps(state->resolved, taps);
        const bool measure = options.effort == Effort::measure && options.algorithm.empty() && problem.length != kUnknownLength &&
                             !is_integer(problem.dtype);
        if (measure) {
            measure_candidates(*state, engine, prepared.get());
        } else {
            fill_prepared(*state, choice, prepared.get());
        }
        const Resolved& r = state->resolved;
        const std::int64_t samples = r.n == kUnknownLength ? 1 : std::max(r.n, r.output_length);
        state->predicted_copy_seconds =
            engine.copy_seconds(samples * r.batch * static_cast<std::int64_t>(size_of(r.dtype)), state->request.threads);
        return state;
    } catch (const std::bad_alloc&) {
        throw Error(ErrorCode::memory, "plan: out of memory while preparing " + std::to_string(problem.taps) + " taps");
    }
}

}  // namespace core

namespace {

struct KeptWorkspace {
    core::AlignedBytes bytes;
    std::size_t size = 0;
};

KeptWorkspace& kept_workspace() {
    thread_local KeptWorkspace workspace;
    return workspace;
}

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::argument, message); }

void check_pointers(const core::Resolved& r, const void* out, const void* in) {
    if (out == nullptr) {
        refuse("out: a null pointer; give a buffer of " + std::to_string(r.output_length * r.batch) + " elements");
    }
    if (in == nullptr) { refuse("in: a null pointer; give a buffer of " + std::to_string(r.n * r.batch) + " elements"); }
    const auto a = reinterpret_cast<std::uintptr_t>(out);
    const auto b = reinterpret_cast<std::uintptr_t>(in);
    if (a % size_of(real_part_of(r.output_dtype)) != 0) { refuse("out: the address is not aligned to its element type"); }
    if (b % size_of(real_part_of(r.dtype)) != 0) { refuse("in: the address is not aligned to its element type"); }
    const auto out_elements = (r.batch - 1) * r.out_row + (r.output_length - 1) * r.out_sample + 1;
    const auto in_elements = (r.batch - 1) * r.in_row + (r.n - 1) * r.in_sample + 1;
    const std::uintptr_t a_end = a + static_cast<std::uintptr_t>(out_elements) * size_of(r.output_dtype);
    const std::uintptr_t b_end = b + static_cast<std::uintptr_t>(in_elements) * size_of(r.dtype);
    if (a < b_end && b < a_end) { refuse("out: overlaps the input; tapline does not work in place: give a separate buffer"); }
}

}  // namespace

void Plan::execute(void* out, const void* in, std::span<std::byte> workspace, void* stream) const {
    const core::PlanState& s = *state_;
    check_pointers(s.resolved, out, in);
    if (workspace.size() < s.workspace_bytes) {
        refuse("workspace: " + std::to_string(workspace.size()) + " bytes; the plan needs " + std::to_string(s.workspace_bytes));
    }
    if (reinterpret_cast<std::uintptr_t>(workspace.data()) % core::kAlignment != 0) {
        refuse("workspace: the address is not a multiple of 64");
    }
    s.executable->execute(core::whole_output(s.resolved, out), core::whole_input(s.resolved, in), workspace, stream);
}

void Plan::execute(void* out, const void* in) const {
    const std::size_t bytes = state_->workspace_bytes;
    if (bytes > core::kKeptWorkspaceBytes) {
        const core::AlignedBytes workspace = core::allocate(bytes, "workspace");
        execute(out, in, {workspace.get(), bytes});
        return;
    }
    KeptWorkspace& kept = kept_workspace();
    if (kept.size < bytes || kept.bytes == nullptr) {
        kept.size = 0;
        kept.bytes = core::allocate(std::max(bytes, core::kAlignment), "workspace");
        kept.size = bytes;
    }
    execute(out, in, {kept.bytes.get(), bytes});
}

std::size_t Plan::workspace_bytes() const noexcept { return state_->workspace_bytes; }
std::int64_t Plan::output_length() const noexcept { return state_->resolved.output_length; }
const Problem& Plan::problem() const noexcept { return state_->resolved.problem; }
const std::string& Plan::algorithm() const noexcept { return state_->algorithm; }
const std::string& Plan::device() const noexcept { return state_->device; }
int Plan::threads() const noexcept { return state_->request.threads; }
double Plan::predicted_seconds() const noexcept { return state_->predicted_seconds; }

std::string Plan::explain() const {
    const core::PlanState& s = *state_;
    const core::Resolved& r = s.resolved;
    const Problem& p = r.problem;
    const bool known = r.n != kUnknownLength;
    const auto number = [](std::int64_t value) { return std::to_string(value); };
    std::string text = "problem:   " + std::string(to_string(p.mode)) + " " + to_string(p.operation) + " of " +
                       (r.batch > 1 ? number(r.batch) + " x " : "") + (known ? number(r.n) : "any number of") + " " +
                       to_string(r.dtype) + " samples with " + number(r.k) + (p.complex_taps ? " complex" : "") + " taps" +
                       (r.filters > 1 ? " a row" : "") + ", origin " + number(r.origin) + ", " + to_string(p.boundary) +
                       " boundary" + (known ? ", " + number(r.output_length) + " outputs" : "") + "\n";
    text += "algorithm: " + s.algorithm + " on " + s.device + ", " + number(s.request.threads) +
            (s.request.threads == 1 ? " thread" : " threads") + " (" + s.executable->describe() + ")\n";
    text += "why:       " + s.reason + "\n";
    std::array<char, 64> share{};
    std::snprintf(share.data(), share.size(), "%.3g%%", 100 * s.predicted_copy_seconds / s.predicted_seconds);
    text += "predicted: " + core::format_seconds(s.predicted_seconds) + (known ? "" : " a sample") + ", " + share.data() +
            " of the copy's speed; accuracy " + to_string(s.request.accuracy) + "; workspace " +
            number(static_cast<std::int64_t>(s.workspace_bytes)) + " bytes\n";
    return text;
}

void Plan::check_buffer(const char* name, Dtype dtype, std::int64_t size, bool is_output) const {
    const Problem& p = problem();
    const Dtype wanted = is_output ? output_dtype(p) : p.dtype;
    if (dtype != wanted) {
        throw Error(ErrorCode::type,
                    std::string(name) + ": elements are " + to_string(dtype) + ", the plan needs " + to_string(wanted));
    }
    const std::int64_t extent = is_output ? output_extent(p) : input_extent(p);
    if (size < extent) {
        refuse(std::string(name) + ": " + std::to_string(size) + " elements; the plan needs " + std::to_string(extent));
    }
}

Plan make_plan(const Problem& problem, const void* taps, const PlanOptions& options) {
    return Plan(core::make_state(problem, taps, options, false));
}

std::vector<AlgorithmInfo> algorithms(const Problem& problem, const std::string& device, Accuracy accuracy, int threads) {
    const core::Engine& engine = core::engine_for(device);
    const core::Request request{.accuracy = accuracy, .threads = core::resolve_threads(threads)};
    std::vector<AlgorithmInfo> infos;
    for (const core::Candidate& c : core::candidates(engine, core::resolve(problem), request)) {
        infos.push_back({.name = std::string(c.algorithm->name()),
                         .summary = std::string(c.algorithm->summary()),
                         .supported = c.support.ok,
                         .reason = c.support.reason,
                         .predicted_seconds = c.predicted_seconds});
    }
    return infos;
}

}  // namespace tapline
