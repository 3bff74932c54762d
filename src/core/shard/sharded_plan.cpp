// Plans of parts: the algorithm and the blocks of the whole on the rows and ranges of outputs of one part.
//
// A signal's part is a piece of it, numbered as in the whole, as a stream's is. A part of an image is an image of its own whose
// first outputs are the first of a tile: its edges are those of the whole, or lie beyond what its outputs read.
#include "core/shard/sharded_plan.hpp"

#include <algorithm>
#include <cstring>

#include "core/plan/host_memory.hpp"
#include "core/plan/plan_parts.hpp"
#include "core/problem/arrange.hpp"
#include "core/problem/refuse.hpp"
#include "core/stream/stream_state.hpp"

namespace tapline {
namespace core {

struct ShardedState {
    Plan whole;
    AlignedBytes taps;
    std::vector<Blocks> blocks;     ///< of each filtered axis
    std::vector<Axis> axes;         ///< the whole's
    UpTo<BatchAxis, 4> batch_axes;  ///< the whole's
    bool has_channels = false;      ///< the last of them are an image's

    /// Whether parts have all of a batch axis.
    [[nodiscard]] bool is_never_cut(std::size_t axis) const {
        return batch_axes[axis].taps_stride != 0 || (has_channels && axis + 1 == batch_axes.size());
    }
};

struct PartState {
    Resolved problem;
    std::unique_ptr<const Executable> executable;
    Output output;  ///< without data
    Input input;    ///< without data
    Extent in_extent, out_extent;
};

UpTo<BatchAxis, 4> batch_axes_of(const Problem& p) {
    if (!p.batch_axes.empty()) { return p.batch_axes; }
    if (p.batch == 1 && p.filters == Filters::shared) { return {}; }
    if (p.filters == Filters::shared) { return {{.length = p.batch}}; }
    const std::int64_t filters = p.filter_count > 0 ? p.filter_count : p.batch;
    const std::int64_t step = p.taps_row_stride.value_or(p.taps);
    if (filters == p.batch) { return {{.length = p.batch, .taps_stride = step}}; }
    return {{.length = p.batch / filters}, {.length = filters, .taps_stride = step}};
}

}  // namespace core

namespace {

using core::Axis;
using core::refuse;
using core::Resolved;

std::string text_of(const Span& span) { return "[" + std::to_string(span.first) + ", " + std::to_string(span.last) + ")"; }

// An image with all batch axes but the last a little apart: only the last one can be its channels, however few pixels it has.
Problem with_rows_apart(Problem p) {
    if (p.axes.size() < 2 || p.batch_axes.size() < 2) { return p; }
    std::int64_t in = input_extent(p) + 1, out = output_extent(p) + 1;
    for (std::size_t i = p.batch_axes.size() - 1; i-- > 0;) {
        p.batch_axes[i].input_stride = in;
        p.batch_axes[i].output_stride = out;
        in *= p.batch_axes[i].length;
        out *= p.batch_axes[i].length;
    }
    return p;
}

PlanOptions for_parts(PlanOptions options) {
    if (options.device == "auto") { options.device = "cpu"; }
    if (options.device != "cpu") {
        throw Error(ErrorCode::unsupported, "device: parts are computed on the CPU in this version, not on " + options.device);
    }
    options.rows_alone = true;
    return options;
}

// Steps in memory over all that lies inside.
struct Packed {
    std::int64_t in = 1, out = 1;
    void step_over(std::int64_t in_length, std::int64_t in_stride, std::int64_t out_length, std::int64_t out_stride) {
        in = std::max<std::int64_t>(in, in_length * std::abs(in_stride));
        out = std::max<std::int64_t>(out, out_length * std::abs(out_stride));
    }
};

// arrange() for a part of an image: what are the channels does not depend on how many pixels a part has.
void arrange_image(Resolved& r, std::vector<core::Batch> axes, bool has_channels) {
    if (has_channels) {
        r.channels = axes.back();
        axes.pop_back();
        if (r.channels.taps_stride != 0) { r.filters = r.channels.length; }
    }
    std::erase_if(axes, [](const core::Batch& axis) { return axis.length == 1; });
    const auto longest = std::max_element(axes.begin(), axes.end(), [](const core::Batch& a, const core::Batch& b) {
        return (a.taps_stride != 0 ? 0 : a.length) < (b.taps_stride != 0 ? 0 : b.length);
    });
    if (longest != axes.end() && longest->taps_stride == 0) {
        r.batch = *longest;
        axes.erase(longest);
    }
    std::copy(axes.begin(), axes.end(), r.outer.begin());
}

// Reads the part's lengths and strides into the problem of the whole.
Resolved with_layout(const core::ShardedState& whole, const PartShape& shape) {
    Resolved r = whole.whole.state().resolved;
    Packed packed;
    Axis* const places[] = {&r.z, &r.y, &r.x};
    for (std::size_t i = shape.axes.size(); i-- > 0;) {
        const PartAxis& given = shape.axes[i];
        Axis& axis = *places[3 - shape.axes.size() + i];
        axis.in_stride = given.input_stride.value_or(packed.in);
        axis.out_stride = given.output_stride.value_or(packed.out);
        packed.step_over(given.samples.size(), axis.in_stride, given.outputs.size(), axis.out_stride);
    }
    std::vector<core::Batch> batches(shape.batch_axes.size());
    for (std::size_t i = shape.batch_axes.size(); i-- > 0;) {
        const BatchAxis& given = shape.batch_axes[i];
        const BatchAxis& own = whole.batch_axes[i];
        const bool is_whole = whole.is_never_cut(i);
        if (given.length < 1 || given.length > own.length || (is_whole && given.length != own.length)) {
            refuse("batch axis " + std::to_string(i) + ": " + std::to_string(given.length) + " elements of " +
                   std::to_string(own.length) + (is_whole ? "; channels and an axis with filters of its own are not cut" : ""));
        }
        batches[i] = {given.length, given.input_stride.value_or(packed.in), given.output_stride.value_or(packed.out),
                      own.taps_stride};
        packed.step_over(given.length, batches[i].in_stride, given.length, batches[i].out_stride);
    }
    r.batch = r.channels = {};
    r.outer = {};
    r.filters = 1;
    if (r.rank == 1) {
        arrange(r, std::move(batches));
    } else {
        arrange_image(r, std::move(batches), whole.has_channels);
    }
    return r;
}

void check_axis(const Axis& axis, const Blocks& blocks, const PartAxis& given, std::size_t index) {
    const std::string name = "axis " + std::to_string(index) + ": ";
    const Span& made = given.outputs;
    const bool whole_blocks = made.first % blocks.outputs == 0 && (made.last % blocks.outputs == 0 || made.last == axis.outputs);
    if (made.empty() || made.first < 0 || made.last > axis.outputs || !whole_blocks) {
        refuse(name + "outputs " + text_of(made) + " are not whole blocks of " + std::to_string(blocks.outputs) + " of " +
               std::to_string(axis.outputs) + " outputs; give Part::computed");
    }
    const Span needed = core::window_of(axis, blocks, made);
    if (given.samples.first > needed.first || given.samples.last < needed.last) {
        refuse(name + "the input holds positions " + text_of(given.samples) + ", blocks read " + text_of(needed));
    }
}

// A piece of a signal, as of a stream.
void describe_piece(core::PartState& part, const PartAxis& given) {
    const Resolved& r = part.problem;
    part.input = {.main = {.data = nullptr,
                           .first = given.samples.first,
                           .last = given.samples.last,
                           .batch_stride = r.batch.in_stride,
                           .stride = r.x.in_stride},
                  .extra = {},
                  .n = r.x.n};
    part.output = {.data = nullptr,
                   .first = given.outputs.first,
                   .count = given.outputs.size(),
                   .batch_stride = r.batch.out_stride,
                   .stride = r.x.out_stride};
}

// The problem with the buffers' own sizes along the filtered axes: for checks of buffers, and of images also what is solved.
Resolved of_own_size(Resolved r, const PartShape& shape) {
    Axis* const places[] = {&r.z, &r.y, &r.x};
    for (std::size_t i = 0; i < shape.axes.size(); ++i) {
        Axis& axis = *places[3 - shape.axes.size() + i];
        const PartAxis& given = shape.axes[i];
        axis.n = given.samples.size();
        axis.outputs = given.outputs.size();
        axis.origin += given.samples.first - given.outputs.first;
    }
    return r;
}

core::AlignedBytes copy_of(const Problem& problem, const void* taps) {
    if (taps == nullptr) { refuse("taps: a null pointer; give the filter's coefficients"); }
    const std::size_t bytes = static_cast<std::size_t>(taps_extent(problem)) * size_of(taps_dtype(problem));
    core::AlignedBytes copy = core::allocate(bytes, "taps");
    std::memcpy(copy.get(), taps, bytes);
    return copy;
}

}  // namespace

ShardedPlan::ShardedPlan(const Problem& problem, const void* taps, const PlanOptions& options) {
    const Resolved resolved = core::resolve(problem);
    if (resolved.rank > 2 || resolved.changes_rate()) {
        throw Error(ErrorCode::unsupported, "axes: parts are of signals and images without up, down and dilation");
    }
    auto state = std::make_shared<core::ShardedState>(
        core::ShardedState{.whole = make_plan(with_rows_apart(problem), taps, for_parts(options)),
                           .taps = copy_of(problem, taps),
                           .blocks = {},
                           .axes = {},
                           .batch_axes = core::batch_axes_of(problem)});
    const std::int64_t channels = state->whole.state().resolved.channels.length;
    state->has_channels = channels > 1 && !state->batch_axes.empty();
    resolved.for_each_axis([&](const Axis& axis) { state->axes.push_back(axis); });
    // What one row's executable says: of several rows an exact one may pair them, and its blocks are parts of these.
    PartShape one;
    for (const Axis& axis : state->axes) { one.axes.push_back({.samples = {0, axis.n}, .outputs = {0, axis.outputs}}); }
    for (std::size_t i = 0; i < state->batch_axes.size(); ++i) {
        one.batch_axes.push_back({.length = state->is_never_cut(i) ? state->batch_axes[i].length : 1});
    }
    const auto executable = prepare_part(state->whole.state(), with_layout(*state, one), state->taps.get());
    state->blocks = {{.outputs = executable->granularity(), .lookahead = executable->lookahead()}};
    if (resolved.rank == 2) { state->blocks.push_back({.outputs = executable->inner_granularity(), .lookahead = 0}); }
    state_ = std::move(state);
}

Blocks ShardedPlan::blocks(std::size_t axis) const {
    if (axis >= state_->blocks.size()) { refuse("axis: " + std::to_string(axis) + "; the problem has no such filtered axis"); }
    return state_->blocks[axis];
}

std::vector<Part> ShardedPlan::shard(std::size_t axis, std::span<const std::int64_t> cuts) const {
    return tapline::shard(state_->whole.problem(), axis, cuts, blocks(axis));
}

const Plan& ShardedPlan::whole() const noexcept { return state_->whole; }

PartPlan ShardedPlan::part(const PartShape& shape) const {
    if (shape.axes.size() != state_->axes.size() || shape.batch_axes.size() != state_->batch_axes.size()) {
        refuse("part: " + std::to_string(shape.axes.size()) + " filtered and " + std::to_string(shape.batch_axes.size()) +
               " batch axes; the problem has " + std::to_string(state_->axes.size()) + " and " +
               std::to_string(state_->batch_axes.size()));
    }
    for (std::size_t i = 0; i < shape.axes.size(); ++i) { check_axis(state_->axes[i], state_->blocks[i], shape.axes[i], i); }
    auto part = std::make_shared<core::PartState>();
    part->problem = with_layout(*state_, shape);
    const Resolved own_size = of_own_size(part->problem, shape);
    part->in_extent = core::input_extent_of(own_size);
    part->out_extent = core::output_extent_of(own_size);
    if (part->problem.rank == 1) {
        describe_piece(*part, shape.axes[0]);
    } else {
        part->problem = own_size;
        part->input = core::whole_input(part->problem, nullptr);
        part->output = core::whole_output(part->problem, nullptr);
    }
    part->executable = prepare_part(state_->whole.state(), part->problem, state_->taps.get());
    return PartPlan(std::move(part));
}

void PartPlan::execute(void* out, const void* in, std::span<std::byte> workspace) const {
    const core::PartState& s = *state_;
    if (out == nullptr || in == nullptr) { refuse("out, in: a null pointer"); }
    core::check_buffers({.data = out, .dtype = s.problem.output_dtype, .extent = s.out_extent},
                        {.data = in, .dtype = s.problem.dtype, .extent = s.in_extent});
    core::check_workspace(workspace, s.executable->workspace_bytes());
    core::Output output = s.output;
    core::Input input = s.input;
    output.data = out;
    input.main.data = in;
    s.executable->execute(output, input, workspace, nullptr);
}

void PartPlan::execute(void* out, const void* in) const {
    core::AlignedBytes own;
    const std::size_t bytes = workspace_bytes();
    execute(out, in, {core::workspace_for(bytes, own), bytes});
}

std::size_t PartPlan::workspace_bytes() const noexcept { return state_->executable->workspace_bytes(); }

std::uint64_t fingerprint(const Problem& problem, const void* taps, const PlanOptions& options) {
    if (taps == nullptr) { refuse("taps: a null pointer; give the filter's coefficients"); }
    std::vector<std::int64_t> numbers{static_cast<std::int64_t>(core::hash_problem(problem)),
                                      static_cast<std::int64_t>(taps_dtype(problem)), static_cast<std::int64_t>(options.accuracy)};
    const Resolved r = core::resolve(problem);
    r.for_each_axis([&](const Axis& axis) {
        numbers.insert(numbers.end(), {axis.n, axis.k, axis.origin, axis.outputs, axis.up, axis.down, axis.dilation,
                                       static_cast<std::int64_t>(axis.boundary)});
    });
    for (const BatchAxis& axis : core::batch_axes_of(problem)) { numbers.insert(numbers.end(), {axis.length, axis.taps_stride}); }
    std::uint64_t hash = core::hash_bytes(numbers.data(), numbers.size() * sizeof(std::int64_t));
    hash = core::hash_bytes(options.algorithm.data(), options.algorithm.size(), hash);
    return core::hash_bytes(taps, static_cast<std::size_t>(taps_extent(problem)) * size_of(taps_dtype(problem)), hash);
}

}  // namespace tapline
