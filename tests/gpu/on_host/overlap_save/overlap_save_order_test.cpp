// The order in which warps take segments, told by a launch, against that of kernels which have one alone: the same segments under
// the same filters, all of them once.
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "gpu/on_host/cuda_on_host.hpp"

#include "cuda/families/overlap_save/overlap_save_samples.cuh"
#include "support/draw.hpp"

namespace tapline::test {
namespace {

using namespace cuda::overlap_save;

// What a warp that is number `slot` takes, beside what SegmentInOrder says.
template <class Where>
void compare_order(const Segments& g, std::int64_t rows, std::int64_t slot, std::set<std::pair<std::int64_t, int>>& taken) {
    auto place = SegmentInOrder::first(g, rows, slot);
    for (auto expected = Where::first(g, rows, slot); expected.exists(rows); expected = expected.next(g, rows)) {
        ASSERT_TRUE(place.exists(rows)) << "slot " << slot;
        ASSERT_EQ(place.row, expected.row) << "slot " << slot;
        ASSERT_EQ(place.index, expected.index) << "slot " << slot;
        ASSERT_EQ(place.filter(g), expected.filter(g)) << "slot " << slot;
        ASSERT_TRUE(taken.emplace(place.row, place.index).second) << "twice: row " << place.row << ", segment " << place.index;
        place = place.next(g, rows);
    }
    ASSERT_FALSE(place.exists(rows)) << "slot " << slot;
}

TEST(SegmentOrder, IsThatOfKernelsForIt) {
    Random random(11);
    for (int drawn = 0; drawn < 400; ++drawn) {
        const std::int64_t rows = between(1, 40, random);
        const std::int64_t slots = between(1, 20, random);
        Segments g{};
        g.segments = static_cast<int>(between(1, 9, random));
        const std::int64_t all = rows * g.segments;
        std::set<std::pair<std::int64_t, int>> taken;
        if (chance(0.5, random)) {
            g.filters = between(2, 12, random);
            g.first_filter = between(0, g.filters - 1, random);
            g.run = static_cast<int>((all + slots - 1) / slots);
            g.step_segments = 1;
            for (std::int64_t slot = 0; slot < slots; ++slot) { compare_order<SegmentInRun>(g, rows, slot, taken); }
        } else {
            g.step_rows = slots / g.segments;
            g.step_segments = static_cast<int>(slots % g.segments);
            for (std::int64_t slot = 0; slot < slots; ++slot) { compare_order<SegmentInStep>(g, rows, slot, taken); }
        }
        ASSERT_EQ(static_cast<std::int64_t>(taken.size()), all)
            << rows << " rows, " << slots << " slots, " << g.filters << " filters";
    }
}

}  // namespace
}  // namespace tapline::test
