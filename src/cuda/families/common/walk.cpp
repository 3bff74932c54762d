#include "cuda/families/common/walk.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "cuda/families/common/grids.hpp"

namespace tapline::cuda {

Walk walk_of(std::span<WalkAxis> axes) {
    std::vector<WalkAxis*> order;
    for (WalkAxis& axis : axes) {
        axis.index = -1;
        axis.packed = 0;
        if (axis.length > 1 && axis.step != 0) { order.push_back(&axis); }
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const WalkAxis* a, const WalkAxis* b) { return std::abs(a->step) < std::abs(b->step); });
    Walk walk{};
    std::fill_n(walk.lengths, Walk::kMostAxes, 1);
    walk.count = 1;
    walk.filtered = walk.batch = -1;
    int at = 0;
    for (WalkAxis* axis : order) {
        walk.lengths[at] = axis->length;
        walk.steps[at] = axis->step;
        axis->index = at++;
        axis->packed = walk.count;
        walk.count *= axis->length;
    }
    return walk;
}

unsigned pass_blocks(std::int64_t elements) {
    const std::int64_t blocks = divide_up(elements, std::int64_t{kPassThreads} * kPassEach);
    if (blocks > kMostBlocks) { refuse_launch(); }
    return static_cast<unsigned>(blocks);
}

}  // namespace tapline::cuda
