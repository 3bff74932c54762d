#include "tapline/plan.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "gpu_host/host_memory.hpp"
#include "core/choice/device_choice.hpp"
#include "core/plan/host_memory.hpp"
#include "core/plan/measure.hpp"
#include "core/problem/narrow_taps.hpp"
#include "core/plan/plan_parts.hpp"

namespace tapline {
namespace core {
namespace {

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

void fill_prepared(PlanState& state, const Choice& choice, const void* taps) {
    state.algorithm = choice.algorithm->name();
    state.reason = choice.reason;
    state.predicted_seconds = choice.predicted_seconds;
    state.executable = choice.algorithm->prepare(state.resolved, taps, state.request);
    state.host_buffers = state.request.host_buffers && !state.executable->takes_host_memory();
    state.workspace_bytes = state.host_buffers ? state.executable->host_workspace_bytes() : state.executable->workspace_bytes();
}

int cuda_device_of(const Executable& executable) {
    const auto* cuda = dynamic_cast<const CudaExecutable*>(&executable);
    return cuda == nullptr ? -1 : cuda->device();
}

// Laid out as host buffers are on a GPU.
Resolved packed(Resolved r) {
    r.in_row = r.n;
    r.out_row = r.output_length;
    r.in_sample = r.out_sample = 1;
    return r;
}

// Effort::measure: the candidates within reach of the best estimate.
void measure_candidates(PlanState& state, const Engine& engine, const void* taps) {
    constexpr double kWorthTrying = 8;  // an estimate is rarely off by more
    std::vector<Candidate> all = candidates(engine, state.resolved, state.request);
    std::erase_if(all, [](const Candidate& c) { return c.algorithm->by_name_only(); });
    double best_estimate = -1;
    for (const Candidate& c : all) {
        if (c.support.ok && (best_estimate < 0 || c.predicted_seconds < best_estimate)) { best_estimate = c.predicted_seconds; }
    }
    std::unique_ptr<MeasuringBuffers> buffers;
    double best = -1;
    std::string timings;
    PlanState winner;
    for (const Candidate& c : all) {
        if (!c.support.ok || c.predicted_seconds > kWorthTrying * best_estimate) { continue; }
        PlanState trial;
        trial.resolved = state.resolved;
        trial.request = state.request;
        fill_prepared(trial, {c.algorithm, c.predicted_seconds, {}}, taps);
        if (buffers == nullptr) {
            buffers = make_measuring_buffers(trial.host_buffers ? packed(state.resolved) : state.resolved,
                                             cuda_device_of(*trial.executable));
        }
        const double seconds = buffers->seconds_of(*trial.executable);
        timings += (timings.empty() ? " " : "; ") + trial.algorithm + " " + format_seconds(seconds);
        if (best < 0 || seconds < best) {
            best = seconds;
            winner = std::move(trial);
        }
    }
    state.algorithm = winner.algorithm;
    state.executable = std::move(winner.executable);
    state.host_buffers = winner.host_buffers;
    state.workspace_bytes = winner.workspace_bytes;
    state.predicted_seconds = best;
    state.reason = "fastest as measured now:" + timings;
}

// The engine's part of a plan.
void prepare_on(PlanState& state, const DeviceChoice& choice, const PlanOptions& options, const void* taps) {
    state.request = choice.request;
    state.device = choice.engine->info().devices.front().name;
    const Resolved& r = state.resolved;
    const bool measure =
        options.effort == Effort::measure && options.algorithm.empty() && r.n != kUnknownLength && !is_integer(r.dtype);
    if (measure) {
        measure_candidates(state, *choice.engine, taps);
    } else {
        fill_prepared(state, choice.choice, taps);
    }
    const std::int64_t samples = r.n == kUnknownLength ? 1 : std::max(r.n, r.output_length);
    // Beside host memory the copy to compare with is the host's.
    const Engine& copier = state.host_buffers ? cpu_engine() : *choice.engine;
    state.predicted_copy_seconds =
        copier.copy_seconds(samples * r.batch * static_cast<std::int64_t>(size_of(r.dtype)), state.request.threads);
}

}  // namespace

std::shared_ptr<const PlanState> make_state_without_taps(const Problem& problem, const PlanOptions& options) {
    if (!options.device.starts_with("cuda") || options.effort == Effort::measure) {
        throw Error(ErrorCode::argument, "taps: a plan without is for a GPU that options.device names, with Effort::estimate");
    }
    auto state = std::make_shared<PlanState>();
    state->resolved = resolve(problem, false);
    const Request request{.accuracy = options.accuracy, .threads = resolve_threads(options.threads), .taps_come_later = true};
    prepare_on(*state, choose_device(options.device, state->resolved, request, options.algorithm), options, nullptr);
    return state;
}

std::shared_ptr<const PlanState> make_state(const Problem& problem, const void* taps, const PlanOptions& options,
                                            bool allow_unknown_length) {
    try {
        auto state = std::make_shared<PlanState>();
        state->resolved = resolve(problem, allow_unknown_length);
        if (taps == nullptr) { throw Error(ErrorCode::argument, "taps: a null pointer; give the filter's coefficients"); }
        if (options.accuracy < Accuracy::standard || options.accuracy > Accuracy::fast) {
            throw Error(ErrorCode::argument, "accuracy: an unknown value");
        }
        const Request request{.accuracy = options.accuracy,
                              .threads = resolve_threads(options.threads),
                              .host_buffers = allow_unknown_length,  // a stream's memory is the host's
                              .narrow_taps = taps_are_narrow(state->resolved, taps)};
        const DeviceChoice choice = choose_device(options.device, state->resolved, request, options.algorithm);
        const AlignedBytes prepared = correlation_taps(state->resolved, taps);
        try {
            prepare_on(*state, choice, options, prepared.get());
        } catch (const Error& error) {  // "auto" may take the CPU where the GPU has no memory left or fails
            const bool gpu_failed = error.code() == ErrorCode::memory || error.code() == ErrorCode::device;
            if (options.device != "auto" || choice.engine == &cpu_engine() || !gpu_failed) { throw; }
            prepare_on(*state, fall_back_to_cpu(state->resolved, request, error.what()), options, prepared.get());
        }
        return state;
    } catch (const std::bad_alloc&) {
        throw Error(ErrorCode::memory, "plan: out of memory while preparing " + std::to_string(problem.taps) + " taps");
    }
}

}  // namespace core

namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::argument, message); }

void check_pointers(const core::Resolved& r, const void* out, const void* in) {
    if (out == nullptr) {
        refuse("out: a null pointer; give a buffer of " + std::to_string(r.output_length * r.batch) + " elements");
    }
    if (in == nullptr) { refuse("in: a null pointer; give a buffer of " + std::to_string(r.n * r.batch) + " elements"); }
    const auto out_elements = (r.batch - 1) * r.out_row + (r.output_length - 1) * r.out_sample + 1;
    const auto in_elements = (r.batch - 1) * r.in_row + (r.n - 1) * r.in_sample + 1;
    core::check_buffers({out, r.output_dtype, out_elements}, {in, r.dtype, in_elements});
}

}  // namespace

void Plan::execute(void* out, const void* in, std::span<std::byte> workspace, void* stream) const {
    const core::PlanState& s = *state_;
    if (s.host_buffers) { return execute_host(out, in); }
    check_pointers(s.resolved, out, in);
    core::check_workspace(workspace, s.workspace_bytes);
    s.executable->execute(core::whole_output(s.resolved, out), core::whole_input(s.resolved, in), workspace, stream);
}

void Plan::execute_with_taps(void* out, const void* in, const void* taps, std::span<std::byte> workspace, void* stream) const {
    const core::PlanState& s = *state_;
    const auto* const cuda = dynamic_cast<const core::CudaExecutable*>(s.executable.get());
    if (cuda == nullptr || taps == nullptr) { refuse("taps: an address in GPU memory, for a plan made by make_plan_without_taps"); }
    check_pointers(s.resolved, out, in);
    core::check_workspace(workspace, s.workspace_bytes);
    const bool convolution = s.resolved.problem.operation == Operation::convolution;
    cuda->execute_with_taps(core::whole_output(s.resolved, out), core::whole_input(s.resolved, in),
                            {.data = taps, .reversed = convolution ? 1 : 0, .conjugated = convolution ? 0 : 1}, workspace, stream);
}

namespace {

// On the default stream, with device memory of its own where the algorithm needs some: then it waits before freeing it.
void execute_on_device(const Plan& plan, void* out, const void* in) {
    const auto bytes = static_cast<std::int64_t>(plan.workspace_bytes());
    if (bytes == 0) { return plan.execute(out, in, {}); }
    const cuda_abi::Api& api = *core::cuda_library().api;
    const int device = core::cuda_device_of(*plan.state().executable);
    const core::DeviceBytes workspace = core::allocate_device(api, device, bytes);
    plan.execute(out, in, {static_cast<std::byte*>(workspace.get()), static_cast<std::size_t>(bytes)});
    cuda_abi::Status status;
    if (!api.synchronize_stream(device, nullptr, &status)) { core::throw_status(status); }
}

}  // namespace

void Plan::execute(void* out, const void* in) const {
    const core::PlanState& s = *state_;
    if (s.host_buffers || s.executable->takes_host_memory()) { return execute_host(out, in); }
    execute_on_device(*this, out, in);
}

void Plan::execute_host(void* out, const void* in) const {
    const core::PlanState& s = *state_;
    check_pointers(s.resolved, out, in);
    const std::size_t bytes = s.executable->host_workspace_bytes();
    core::AlignedBytes own;
    s.executable->execute_host(core::whole_output(s.resolved, out), core::whole_input(s.resolved, in),
                               {core::workspace_for(bytes, own), bytes});
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
                       (r.filters == 1         ? ""
                        : r.filters == r.batch ? " a row"
                                               : " a row, " + number(r.filters) + " filters in turn") +
                       ", origin " + number(r.origin) + ", " + to_string(p.boundary) + " boundary" +
                       (known ? ", " + number(r.output_length) + " outputs" : "") + "\n";
    const bool on_cpu = s.executable->takes_host_memory();
    const std::string how = on_cpu
                                ? number(s.request.threads) + (s.request.threads == 1 ? " thread" : " threads")
                                : (s.host_buffers ? "host buffers in and out" : "device pointers; execute_host takes host buffers");
    text += "algorithm: " + s.algorithm + " on " + s.device + ", " + how + " (" + s.executable->describe() + ")\n";
    text += "why:       " + s.reason + "\n";
    return text + core::prediction_text(s.predicted_seconds, s.predicted_copy_seconds, known ? "" : " a sample", s.request.accuracy,
                                        s.workspace_bytes);
}

void Plan::check_buffer(const char* name, Dtype dtype, std::int64_t size, bool is_output) const {
    const Problem& p = problem();
    core::check_typed_buffer(name, dtype, is_output ? output_dtype(p) : p.dtype, size,
                             is_output ? output_extent(p) : input_extent(p));
}

Plan make_plan(const Problem& problem, const void* taps, const PlanOptions& options) {
    return Plan(core::make_state(problem, taps, options, false));
}

Plan make_plan_without_taps(const Problem& problem, const PlanOptions& options) {
    return Plan(core::make_state_without_taps(problem, options));
}

std::vector<AlgorithmInfo> algorithms(const Problem& problem, const std::string& device, Accuracy accuracy, int threads,
                                      const void* taps) {
    const core::Engine& engine = core::engine_for(device);
    const core::Resolved resolved = core::resolve(problem);
    const core::Request request{
        .accuracy = accuracy, .threads = core::resolve_threads(threads), .narrow_taps = core::taps_are_narrow(resolved, taps)};
    std::vector<AlgorithmInfo> infos;
    for (const core::Candidate& c : core::candidates(engine, resolved, request)) {
        infos.push_back({.name = std::string(c.algorithm->name()),
                         .summary = std::string(c.algorithm->summary()),
                         .supported = c.support.ok,
                         .reason = c.support.reason,
                         .predicted_seconds = c.predicted_seconds});
    }
    return infos;
}

}  // namespace tapline
