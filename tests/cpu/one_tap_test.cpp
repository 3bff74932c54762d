// One tap: whatever axis is filtered, what follows each other in memory is one row.
#include <gtest/gtest.h>

#include "tapline/tapline.hpp"

namespace tapline {
namespace {

// `rows` x `length` samples of `channels` each, along the middle axis; `gap` elements between the rows of the input.
Problem problem_of(std::int64_t rows, std::int64_t length, std::int64_t channels, std::int64_t gap = 0) {
    Problem p;
    p.axes.push_back({.length = length, .taps = 1, .mode = Mode::full, .input_stride = channels, .output_stride = channels});
    p.batch_axes.push_back({.length = rows, .input_stride = length * channels + gap, .output_stride = length * channels});
    p.batch_axes.push_back({.length = channels, .input_stride = 1, .output_stride = 1});
    return p;
}

TEST(OneTap, NeighboursInMemoryAreOneRow) {
    for (const std::int64_t gap : {0, 5}) {
        const Problem p = problem_of(301, 20, 3, gap);
        const std::vector<float> taps{-1.5F};
        const Plan plan = make_plan(p, taps, {.device = "cpu", .algorithm = "direct", .threads = 2});
        EXPECT_NE(plan.explain().find("one tap"), std::string::npos) << plan.explain();
        std::vector<float> in(static_cast<std::size_t>(input_extent(p))), out(301 * 60, 7.0F);
        for (std::size_t i = 0; i < in.size(); ++i) { in[i] = static_cast<float>(i % 1009); }
        plan.execute(out.data(), in.data());
        for (std::size_t i = 0; i < out.size(); ++i) {
            ASSERT_EQ(out[i], -1.5F * in[i + i / 60 * static_cast<std::size_t>(gap)]) << i;
        }
    }
}

TEST(OneTap, OthersAreWhatTheyAre) {
    Problem moved = problem_of(301, 20, 3);
    moved.axes[0].mode = Mode::same;
    moved.axes[0].origin = 1;  // the sample before
    EXPECT_EQ(make_plan(moved, std::vector<float>{2}, {.device = "cpu", .algorithm = "direct"}).explain().find("one tap"),
              std::string::npos);
    const Problem one{.length = 1000, .taps = 1};
    EXPECT_EQ(make_plan(one, std::vector<float>{2}, {.device = "cpu", .algorithm = "direct"}).explain().find("one tap"),
              std::string::npos);
}

}  // namespace
}  // namespace tapline
