#include "tapline/plan.hpp"

#include "core/choice/choice.hpp"
#include "core/plan/plan_parts.hpp"
#include "core/plan/repeated.hpp"
#include "core/problem/elements.hpp"
#include "core/problem/refuse.hpp"

namespace tapline {
namespace {

using core::refuse;

void check_pointers(const core::PlanState& s, const void* out, const void* in) {
    if (out == nullptr) { refuse("out: a null pointer; give a buffer of " + std::to_string(s.out_extent.elements) + " elements"); }
    if (in == nullptr) { refuse("in: a null pointer; give a buffer of " + std::to_string(s.in_extent.elements) + " elements"); }
    core::check_buffers({out, s.resolved.output_dtype, s.out_extent}, {in, s.resolved.dtype, s.in_extent});
}

std::string number(std::int64_t value) { return std::to_string(value); }

// "4096 x 4096" of the filtered axes' samples, taps, ...
template <class Get>
std::string over_axes(const core::Resolved& r, const char* between, const Get& get) {
    std::string text;
    r.for_each_axis([&](const core::Axis& axis) { text += (text.empty() ? "" : between) + get(axis); });
    return text;
}

std::string boundary_text(const core::Resolved& r) {
    const auto name = [](const core::Axis& axis) { return std::string(to_string(axis.boundary)); };
    const bool same = (r.rank < 2 || r.y.boundary == r.x.boundary) && (r.rank < 3 || r.z.boundary == r.x.boundary);
    return same ? name(r.x) : over_axes(r, ", ", name);
}

// "full convolution of 64 x 1000 f32 samples with 9 taps a row, origin 8, zero boundary, 1008 outputs"
std::string problem_text(const core::Resolved& r) {
    const bool known = r.x.n != kUnknownLength;
    const std::int64_t items = r.batch.length * r.outer_length();
    const std::string origin = over_axes(r, ", ", [](const core::Axis& a) { return number(a.origin); });
    const auto rate = [](const core::Axis& a) { return number(a.up) + ":" + number(a.down) + ":" + number(a.dilation); };
    const char* const what[] = {" samples", " pixels", " voxels"};
    return std::string(to_string(r.mode)) + " " + to_string(r.operation) + " of " +
           (items == 1 ? ""
                       : number(items) + (r.rank == 1   ? " x "
                                          : r.rank == 2 ? " images of "
                                                        : " volumes of ")) +
           (known ? over_axes(r, " x ", [](const core::Axis& a) { return number(a.n); }) : "any number of") + " " +
           to_string(r.dtype) + what[r.rank - 1] + (r.channels.length > 1 ? " of " + number(r.channels.length) + " channels" : "") +
           " with " + (r.rank == 1 ? "" : "a ") + over_axes(r, " x ", [](const core::Axis& a) { return number(a.k); }) +
           (r.complex_taps ? " complex" : "") + (r.rank == 1 ? " taps" : " mask") +
           (r.filters == 1                ? ""
            : r.rank > 1                  ? " a channel"
            : r.filters == r.batch.length ? " a row"
                                          : " a row, " + number(r.filters) + " filters in turn") +
           (r.changes_rate() ? ", up:down:dilation " + over_axes(r, ", ", rate) : "") + ", origin " +
           (r.rank == 1 ? origin : "(" + origin + ")") + ", " + boundary_text(r) + " boundary" +
           (known ? ", " + over_axes(r, " x ", [](const core::Axis& a) { return number(a.outputs); }) + " outputs" : "");
}

}  // namespace

void Plan::execute(void* out, const void* in, std::span<std::byte> workspace, void* stream) const {
    const core::PlanState& s = *state_;
    if (s.host_buffers) { return execute_host(out, in); }
    check_pointers(s, out, in);
    core::check_workspace(workspace, s.workspace_bytes);
    s.executable->execute(core::whole_output(s.resolved, out), core::whole_input(s.resolved, in), workspace, stream);
}

void Plan::execute_with_taps(void* out, const void* in, const void* taps, std::span<std::byte> workspace, void* stream) const {
    execute_with_taps(out, in, taps, state_->resolved.taps_dtype, workspace, stream);
}

void Plan::execute_with_taps(void* out, const void* in, const void* taps, Dtype given, std::span<std::byte> workspace,
                             void* stream) const {
    const core::PlanState& s = *state_;
    if (given != s.resolved.taps_dtype && !(core::is_half(given) && s.resolved.taps_dtype == Dtype::f32)) {
        refuse("taps: of the plan's type, or f16 or bf16 where that is f32");
    }
    if (!s.request.taps_come_later || taps == nullptr) {
        refuse("taps: an address in GPU memory, for a plan made by make_plan_without_taps");
    }
    check_pointers(s, out, in);
    core::check_workspace(workspace, s.workspace_bytes);
    const bool convolution = s.resolved.operation == Operation::convolution;
    s.executable->execute_with_taps(core::whole_output(s.resolved, out), core::whole_input(s.resolved, in),
                                    {.data = taps, .reversed = convolution, .conjugated = !convolution, .dtype = given}, workspace,
                                    stream);
}

void Plan::execute(void* out, const void* in) const {
    const core::PlanState& s = *state_;
    if (s.host_buffers || s.executable->takes_host_memory()) { return execute_host(out, in); }
    check_pointers(s, out, in);
    s.executable->execute_alone(core::whole_output(s.resolved, out), core::whole_input(s.resolved, in));
}

void Plan::execute_host(void* out, const void* in) const {
    const core::PlanState& s = *state_;
    check_pointers(s, out, in);
    const std::size_t bytes = s.executable->host_workspace_bytes();
    core::AlignedBytes own;
    s.executable->execute_host(core::whole_output(s.resolved, out), core::whole_input(s.resolved, in),
                               {core::workspace_for(bytes, own), bytes});
}

std::size_t Plan::workspace_bytes() const noexcept { return state_->workspace_bytes; }
std::int64_t Plan::output_length() const noexcept { return state_->resolved.x.outputs; }
UpTo<std::int64_t, 3> Plan::output_shape() const { return tapline::output_shape(state_->problem); }
const Problem& Plan::problem() const noexcept { return state_->problem; }
const std::string& Plan::algorithm() const noexcept { return state_->algorithm; }
const std::string& Plan::device() const noexcept { return state_->device; }
const std::string& Plan::reason() const noexcept { return state_->reason; }
std::string Plan::details() const { return state_->executable->describe(); }
int Plan::threads() const noexcept { return state_->request.threads; }
double Plan::predicted_seconds() const noexcept { return state_->predicted_seconds; }
double Plan::predicted_copy_seconds() const noexcept { return state_->predicted_copy_seconds; }
bool Plan::takes_host_memory() const noexcept { return state_->host_buffers || state_->executable->takes_host_memory(); }

std::string Plan::explain() const {
    const core::PlanState& s = *state_;
    const bool on_cpu = s.executable->takes_host_memory();
    const std::string how = on_cpu
                                ? number(s.request.threads) + (s.request.threads == 1 ? " thread" : " threads")
                                : (s.host_buffers ? "host buffers in and out" : "device pointers; execute_host takes host buffers");
    return "problem:   " + problem_text(s.resolved) + "\nalgorithm: " + s.algorithm + " on " + s.device + ", " + how + " (" +
           s.executable->describe() + ")\nwhy:       " + s.reason + "\n" +
           core::prediction_text(s.predicted_seconds, s.predicted_copy_seconds, s.resolved.x.n == kUnknownLength ? " a sample" : "",
                                 s.request.accuracy, s.workspace_bytes);
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
        .accuracy = accuracy, .threads = core::resolve_threads(threads), .facts = core::facts_of_all(resolved, taps)};
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
