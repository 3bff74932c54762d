#include "cuda/families/common/walk.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "cuda/families/common/grids.hpp"

namespace tapline::cuda {
namespace {

// Puts the axes in order, and tells them what became of them.
void walk_along(WalkSide& side) {
    std::vector<WalkAxis*> order;
    for (WalkAxis& axis : side.axes) {
        if (axis.length > 1 && axis.step != 0) { order.push_back(&axis); }
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const WalkAxis* a, const WalkAxis* b) { return std::abs(a->step) < std::abs(b->step); });
    Walk& walk = side.walk;
    std::fill_n(walk.lengths, Walk::kMostAxes, 1);
    walk.count = 1;
    int at = 0;
    for (WalkAxis* axis : order) {
        walk.lengths[at] = axis->length;
        walk.steps[at] = axis->step;
        axis->index = at++;
        axis->packed = walk.count;
        walk.count *= axis->length;
    }
    walk.filtered = side.axes[WalkSide::kX].index;
    walk.batch = side.axes[WalkSide::kBatch].index;
}

std::size_t cut_of(const Problem& p) {
    return p.rank == 1 ? std::size_t{WalkSide::kX} : p.rank == 2 ? std::size_t{WalkSide::kY} : std::size_t{WalkSide::kZ};
}

// What a job says of neither the cut axis nor the batch: packed, or as in the problem.
std::int64_t inside_step(const Problem& p, const Job& job, std::size_t role, std::int64_t row, std::int64_t planned) {
    if (job.packed == 0) { return planned; }
    switch (role) {
        case WalkSide::kChannels:
            return 1;
        case WalkSide::kX:
            return p.channels.length;
        case WalkSide::kY:
            return p.channels.length * row;
        default:
            return 0;  // one element of the outer axes
    }
}

template <class Step>
Walk walk_with(const WalkSide& side, const Job& job, const Step& step) {
    Walk walk = side.walk;
    for (std::size_t role = 0; role < side.axes.size(); ++role) {
        const int index = side.axes.at(role).index;
        if (index < 0) { continue; }
        walk.steps[index] = step(role);
        if (role >= WalkSide::kOuter && job.packed != 0) {
            walk.count /= walk.lengths[index];
            walk.lengths[index] = 1;
        }
    }
    return walk;
}

// Which of an axis' and a batch's numbers are the samples', which the outputs'.
struct Fields {
    std::int64_t core::Axis::*length;
    std::int64_t core::Axis::*step;
    std::int64_t core::Batch::*row_step;
};
constexpr Fields kSamples{&core::Axis::n, &core::Axis::in_stride, &core::Batch::in_stride};
constexpr Fields kOutputs{&core::Axis::outputs, &core::Axis::out_stride, &core::Batch::out_stride};

WalkSide side_of(const Problem& p, const Fields& of) {
    const auto axis = [&](const core::Axis& a) -> WalkAxis { return {a.*of.length, a.*of.step}; };
    const auto rows = [&](const core::Batch& b) -> WalkAxis { return {b.length, b.*of.row_step}; };
    WalkSide side{{axis(p.x), axis(p.y), axis(p.z), rows(p.channels), rows(p.batch)}, {}};
    for (std::size_t i = 0; i < p.outer.size(); ++i) { side.axes.at(WalkSide::kOuter + i) = rows(p.outer.at(i)); }
    walk_along(side);
    return side;
}

// Of neither the cut axis nor the batch.
std::int64_t inner_step(const Problem& p, const Job& job, std::size_t role, const Fields& of) {
    const std::int64_t planned = role == WalkSide::kX          ? p.x.*of.step
                                 : role == WalkSide::kY        ? p.y.*of.step
                                 : role == WalkSide::kZ        ? p.z.*of.step
                                 : role == WalkSide::kChannels ? p.channels.*of.row_step
                                                               : p.outer.at(role - WalkSide::kOuter).*of.row_step;
    return inside_step(p, job, role, p.x.*of.length, planned);
}

}  // namespace

WalkSide samples_of(const Problem& p) { return side_of(p, kSamples); }
WalkSide outputs_of(const Problem& p) { return side_of(p, kOutputs); }

std::int64_t sample_step(const Problem& p, const Job& job, std::size_t role) {
    if (role == cut_of(p)) { return job.in_stride; }
    return role == WalkSide::kBatch ? job.in_batch : inner_step(p, job, role, kSamples);
}
std::int64_t output_step(const Problem& p, const Job& job, std::size_t role) {
    if (role == cut_of(p)) { return job.out_stride; }
    return role == WalkSide::kBatch ? job.out_batch : inner_step(p, job, role, kOutputs);
}

Walk sample_walk(const WalkSide& side, const Problem& p, const Job& job) {
    Walk walk = walk_with(side, job, [&](std::size_t role) { return sample_step(p, job, role); });
    walk.first = -job.in_first * job.in_stride;
    return walk;
}

Walk output_walk(const WalkSide& side, const Problem& p, const Job& job) {
    return walk_with(side, job, [&](std::size_t role) { return output_step(p, job, role); });
}

unsigned pass_blocks(std::int64_t elements) {
    const std::int64_t blocks = divide_up(elements, std::int64_t{kPassThreads} * kPassEach);
    if (blocks > kMostBlocks) { refuse_launch(); }
    return static_cast<unsigned>(blocks);
}

}  // namespace tapline::cuda
