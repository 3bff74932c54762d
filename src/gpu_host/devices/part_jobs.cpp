#include "gpu_host/devices/part_jobs.hpp"

#include <algorithm>

namespace tapline::gpu_host {
namespace {

// Inner outputs are computed on their own where they are this share of a part at least; else one job does everything.
constexpr std::int64_t kLeastInnerShare = 4;
// Where blocks allow it, inner outputs begin at a multiple of so many elements of the part's buffer: vectors stay aligned.
constexpr std::int64_t kAlignedOutputs = 64;

std::int64_t round_down(std::int64_t value, std::int64_t unit) { return value / unit * unit; }
std::int64_t round_up(std::int64_t value, std::int64_t unit) { return round_down(value + unit - 1, unit); }

Span common(const Span& a, const Span& b) {
    const Span both{std::max(a.first, b.first), std::min(a.last, b.last)};
    return both.empty() ? Span{a.first, a.first} : both;
}

// Samples that the positions [first, last) read under a rule that turns round at the ends, all from the first to the last of them.
Span hull(const core::Axis& axis, const Span& positions) {
    const std::int64_t n = axis.n;
    const std::int64_t before = std::max<std::int64_t>(-positions.first, 0), behind = std::max<std::int64_t>(positions.last - n, 0);
    Span samples{std::clamp<std::int64_t>(positions.first, 0, n), std::clamp<std::int64_t>(positions.last, 0, n)};
    if (samples.empty()) { samples = positions.last <= 0 ? Span{0, 0} : Span{n, n}; }
    // One more than so many: mirror leaves out the end itself.
    if (before > 0) { samples = {0, std::max(samples.last, std::min(n, axis.boundary == Boundary::nearest ? 1 : before + 1))}; }
    if (behind > 0) {
        samples = {std::min(samples.first, n - std::min(n, axis.boundary == Boundary::nearest ? 1 : behind + 1)), n};
    }
    return samples;
}

Span read_by(const core::Axis& axis, const Blocks& blocks, const Span& computed) {
    if (axis.boundary == Boundary::zero || axis.boundary == Boundary::constant) { return core::window_of(axis, blocks, computed); }
    const std::int64_t end = computed.last == axis.outputs ? round_up(computed.last, blocks.outputs) : computed.last;
    const Span positions{computed.first - axis.origin, end - axis.origin + axis.k - 1 + blocks.lookahead};
    return axis.boundary == Boundary::wrap ? positions : hull(axis, positions);
}

// Runs of neighbouring samples of one owner.
std::vector<HaloCopy> copies_of(const core::Axis& axis, std::span<const Part> parts, const Span& window) {
    std::vector<HaloCopy> copies;
    for (std::int64_t at = window.first; at < window.last;) {
        const std::int64_t sample = (at % axis.n + axis.n) % axis.n;  // another than `at` with wrap only
        std::size_t owner = 0;
        while (parts[owner].samples.last <= sample) { ++owner; }
        const std::int64_t count = std::min(window.last - at, parts[owner].samples.last - sample);
        copies.push_back({.part = static_cast<std::int64_t>(owner), .samples = {sample, sample + count}, .position = at});
        at += count;
    }
    return copies;
}

// Blocks that belong to two parts are pieces of their own, so that all others are written where they belong.
std::vector<EdgePiece> pieces_of(const Part& part, const Span& computed, const Blocks& blocks, const core::Axis& axis) {
    const Span& own = part.outputs;
    const std::int64_t whole_first = std::min(round_up(own.first, blocks.outputs), computed.last);
    const std::int64_t whole_last = own.last == axis.outputs ? own.last : round_down(own.last, blocks.outputs);
    std::vector<EdgePiece> pieces;
    const auto add = [&](std::int64_t first, std::int64_t last) {
        const Span span{std::max(first, computed.first), std::min(last, computed.last)};
        if (span.empty() || common(span, own).empty()) { return; }
        pieces.push_back({span, common(span, own)});
    };
    add(computed.first, whole_first);
    add(whole_first, std::max(whole_first, whole_last));
    add(std::max(whole_first, whole_last), computed.last);
    return pieces;
}

}  // namespace

std::int64_t Edge::scratch_outputs() const {
    std::int64_t most = 0;
    for (const EdgePiece& piece : pieces) { most = std::max(most, piece.is_direct() ? 0 : piece.computed.size()); }
    return most;
}

PartJobs part_jobs(const core::Axis& axis, std::span<const Part> parts, std::size_t own, const Blocks& blocks) {
    const Part& part = parts[own];
    PartJobs jobs;
    if (part.outputs.empty()) { return jobs; }
    if (parts.size() == 1) {
        jobs.inner = part.computed;
        return jobs;
    }
    const Span whole_blocks{round_up(part.outputs.first, blocks.outputs),
                            part.outputs.last == axis.outputs ? axis.outputs : round_down(part.outputs.last, blocks.outputs)};
    jobs.inner = common(part.inner, whole_blocks);
    const bool may_align = kAlignedOutputs % blocks.outputs == 0 && part.outputs.first % blocks.outputs == 0;
    if (may_align && !jobs.inner.empty()) {
        jobs.inner.first = part.outputs.first + round_up(jobs.inner.first - part.outputs.first, kAlignedOutputs);
        if (jobs.inner.empty()) { jobs.inner = {}; }
    }
    if (jobs.inner.size() * kLeastInnerShare < part.computed.size()) { jobs.inner = {part.computed.first, part.computed.first}; }
    const bool has_inner = !jobs.inner.empty();
    const Span sides[] = {{part.computed.first, has_inner ? jobs.inner.first : part.computed.last},
                          {has_inner ? jobs.inner.last : part.computed.last, part.computed.last}};
    for (const Span& side : sides) {
        if (side.empty()) { continue; }
        const Span window = read_by(axis, blocks, side);
        Edge edge{window, copies_of(axis, parts, window), pieces_of(part, side, blocks, axis)};
        if (!edge.pieces.empty()) { jobs.edges.push_back(std::move(edge)); }
    }
    return jobs;
}

}  // namespace tapline::gpu_host
