// Which part makes which outputs from whose samples: arithmetic only.
#include "tapline/shard.hpp"

#include <algorithm>
#include <string>

#include "core/problem/refuse.hpp"
#include "core/problem/window.hpp"
#include "core/shard/sharded_plan.hpp"

namespace tapline {
namespace {

using core::refuse;

std::int64_t round_down(std::int64_t value, std::int64_t unit) { return value / unit * unit; }
std::int64_t round_up(std::int64_t value, std::int64_t unit) { return round_down(value + unit - 1, unit); }

// Ends of the spans between cuts, `total` the last. Cuts of outputs may repeat and reach the ends.
void check_cuts(const char* name, std::span<const std::int64_t> cuts, std::int64_t total, bool may_be_empty) {
    std::int64_t before = 0;
    for (const std::int64_t cut : cuts) {
        const bool fits = may_be_empty ? cut >= before && cut <= total : cut > before && cut < total;
        if (!fits) {
            refuse(std::string(name) + ": " + std::to_string(cut) + " after " + std::to_string(before) + " along an axis of " +
                   std::to_string(total) + "; give ascending numbers within it");
        }
        before = cut;
    }
}

Span between(std::span<const std::int64_t> cuts, std::size_t index, std::int64_t total) {
    return {index == 0 ? 0 : cuts[index - 1], index == cuts.size() ? total : cuts[index]};
}

bool supplies_itself(Boundary boundary) { return boundary == Boundary::zero || boundary == Boundary::constant; }

// The longest run from `position` on, of at most `most` positions, whose samples step alike.
Source run_from(const core::Axis& axis, std::int64_t position, std::int64_t most) {
    const std::int64_t n = axis.n;
    const auto at = [&](std::int64_t p) { return core::boundary_index(axis.boundary, p, n); };
    const std::int64_t first = at(position);
    Source run{.part = 0, .samples = {first, first + 1}, .position = position, .count = 1, .step = 1};
    if (most == 1) { return run; }
    if (n == 1 || (axis.boundary == Boundary::nearest && (position < 0 || position >= n))) {
        run.step = 0;
        run.count = position < 0 && n > 1 ? std::min(most, -position) : most;
        return run;
    }
    const std::int64_t step = at(position + 1) - first;
    if (step == 1) {
        run.count = std::min(most, n - first);
        run.samples.last = first + run.count;
    } else if (step == -1) {
        run.step = -1;
        run.count = std::min(most, first + 1);
        run.samples = {first + 1 - run.count, first + 1};
    }
    return run;
}

// A run of samples divided among the parts that have them.
void append_by_owner(std::vector<Source>& sources, Source run, std::span<const std::int64_t> cuts, std::int64_t n) {
    while (run.count > 0) {
        const std::int64_t sample = run.step < 0 ? run.samples.last - 1 : run.samples.first;
        const auto part = std::upper_bound(cuts.begin(), cuts.end(), sample) - cuts.begin();
        const Span owned = between(cuts, static_cast<std::size_t>(part), n);
        Source piece = run;
        piece.part = part;
        if (run.step > 0) {
            piece.samples.last = std::min(run.samples.last, owned.last);
        } else if (run.step < 0) {
            piece.samples.first = std::max(run.samples.first, owned.first);
        }
        if (run.step != 0) { piece.count = piece.samples.size(); }
        sources.push_back(piece);
        run.position += piece.count;
        run.count -= piece.count;
        run.samples = run.step > 0 ? Span{piece.samples.last, run.samples.last} : Span{run.samples.first, piece.samples.first};
    }
}

class Sharding {
public:
    Sharding(const core::Axis& axis, std::span<const std::int64_t> cuts, std::span<const std::int64_t> output_cuts,
             const Blocks& blocks)
        : axis_(axis), cuts_(cuts), output_cuts_(output_cuts), blocks_(blocks) {}

    [[nodiscard]] Part part(std::size_t index) const {
        Part part;
        part.samples = between(cuts_, index, axis_.n);
        part.outputs = between(output_cuts_, index, axis_.outputs);
        if (part.outputs.empty()) {
            part.outputs.last = part.outputs.first;
            part.computed = part.inner = part.outputs;
            return part;
        }
        part.computed = {round_down(part.outputs.first, blocks_.outputs),
                         std::min(round_up(part.outputs.last, blocks_.outputs), axis_.outputs)};
        part.window = core::window_of(axis_, blocks_, part.computed);
        part.inner = inner_of(part);
        for (std::int64_t at = part.window.first; at < part.window.last;) {
            const Source run = run_from(axis_, at, part.window.last - at);
            at += run.count;
            append_by_owner(part.sources, run, cuts_, axis_.n);
        }
        return part;
    }

private:
    // Blocks from the first one whose window begins with own samples, to the last one whose window ends with them.
    [[nodiscard]] Span inner_of(const Part& part) const {
        const bool open = supplies_itself(axis_.boundary);  // what lies beyond the signal's ends is nobody's
        std::int64_t first = part.computed.first;
        if (!open || part.samples.first > 0) {
            first = std::max(first, round_up(std::max<std::int64_t>(part.samples.first + axis_.origin, 0), blocks_.outputs));
        }
        std::int64_t last = part.computed.last;
        if (!open || part.samples.last < axis_.n) {
            // Output o's block ends at e > o and reads up to e - 1 - origin + k - 1 + lookahead.
            const std::int64_t end = part.samples.last + axis_.origin - (axis_.k - 1) - blocks_.lookahead;
            last = std::min(last, end <= 0 ? 0 : round_down(end, blocks_.outputs));
        }
        return last > first ? Span{first, last} : Span{part.computed.first, part.computed.first};
    }

    const core::Axis& axis_;
    std::span<const std::int64_t> cuts_, output_cuts_;
    Blocks blocks_;
};

core::Axis axis_of(const Problem& problem, std::size_t index) {
    std::vector<core::Axis> axes;
    core::resolve(problem).for_each_axis([&](const core::Axis& axis) { axes.push_back(axis); });
    if (index >= axes.size()) {
        refuse("axis: " + std::to_string(index) + "; the problem has " + std::to_string(axes.size()) + " filtered axes");
    }
    const core::Axis& axis = axes[index];
    if (axis.up != 1 || axis.down != 1 || axis.dilation != 1) {
        throw Error(ErrorCode::unsupported, "axis: with up, down or dilation it is not cut; convolve it whole");
    }
    return axis;
}

std::vector<Part> shard_axis(const core::Axis& axis, std::span<const std::int64_t> cuts, std::span<const std::int64_t> output_cuts,
                             const Blocks& blocks) {
    if (blocks.outputs < 1 || blocks.lookahead < 0) { refuse("blocks: outputs must be at least 1, lookahead at least 0"); }
    check_cuts("cuts", cuts, axis.n, false);
    check_cuts("output_cuts", output_cuts, axis.outputs, true);
    if (output_cuts.size() != cuts.size()) {
        refuse("output_cuts: " + std::to_string(output_cuts.size()) + " for " + std::to_string(cuts.size()) + " cuts");
    }
    const Sharding sharding(axis, cuts, output_cuts, blocks);
    std::vector<Part> parts;
    for (std::size_t i = 0; i <= cuts.size(); ++i) { parts.push_back(sharding.part(i)); }
    return parts;
}

}  // namespace

namespace core {

Span window_of(const Axis& axis, const Blocks& blocks, const Span& computed) {
    const bool last = computed.last == axis.outputs;
    const std::int64_t end = last ? round_up(computed.last, blocks.outputs) : computed.last;
    Span window{computed.first - axis.origin, end - axis.origin + axis.k - 1 + blocks.lookahead};
    if (!supplies_itself(axis.boundary)) {
        // Blocks take what no output of the whole signal reads as zeros.
        window.last = std::max(std::min(window.last, axis.outputs - axis.origin + axis.k - 1), window.first + 1);
        return window;
    }
    window.first = std::clamp<std::int64_t>(window.first, 0, axis.n - 1);
    window.last = std::clamp(window.last, window.first + 1, axis.n);
    return window;
}

}  // namespace core

std::int64_t Part::halo_samples(std::int64_t own_part) const {
    std::int64_t count = 0;
    for (const Source& source : sources) { count += source.part == own_part ? 0 : source.samples.size(); }
    return count;
}

std::vector<Part> shard(const Problem& problem, std::size_t axis, std::span<const std::int64_t> cuts,
                        std::span<const std::int64_t> output_cuts, const Blocks& blocks) {
    return shard_axis(axis_of(problem, axis), cuts, output_cuts, blocks);
}

std::vector<Part> shard(const Problem& problem, std::size_t axis, std::span<const std::int64_t> cuts, const Blocks& blocks) {
    const core::Axis whole = axis_of(problem, axis);
    std::vector<std::int64_t> output_cuts(cuts.begin(), cuts.end());
    for (std::int64_t& cut : output_cuts) { cut = std::min(cut, whole.outputs); }
    return shard_axis(whole, cuts, output_cuts, blocks);
}

std::vector<Part> shard_batch(std::int64_t length, std::span<const std::int64_t> cuts) {
    if (length < 1) { refuse("length: " + std::to_string(length) + "; an axis of the batch has at least 1 element"); }
    check_cuts("cuts", cuts, length, false);
    std::vector<Part> parts(cuts.size() + 1);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Span own = between(cuts, i, length);
        parts[i] = {.samples = own, .outputs = own, .computed = own, .window = own, .inner = own, .sources = {}};
        parts[i].sources.push_back(
            {.part = static_cast<std::int64_t>(i), .samples = own, .position = own.first, .count = own.size(), .step = 1});
    }
    return parts;
}

}  // namespace tapline
