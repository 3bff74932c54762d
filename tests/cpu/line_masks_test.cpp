// Masks of one row or column: whose images go as signals. That the results are right the property test says.
#include <gtest/gtest.h>

#include "tapline/tapline.hpp"

namespace tapline {
namespace {

Plan plan_of(const ImageProblem& p, PlanOptions options = {}) {
    options.device = "cpu";
    return make_plan(p, std::vector<float>(static_cast<std::size_t>(taps_extent(p)), 0.5F), options);
}
bool goes_as_signals(const Plan& plan) { return plan.explain().find("lines of images as signals") != std::string::npos; }

TEST(LineMasks, StrictLongOnesAreCheckedTransforms) {
    for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{1, 1001}, {1001, 1}}) {
        ImageProblem p{.height = 1200, .width = 1200, .mask_height = height, .mask_width = width};
        const Plan plan = plan_of(p, {.accuracy = Accuracy::strict});
        EXPECT_EQ(plan.algorithm(), "overlap_save");
        EXPECT_TRUE(goes_as_signals(plan));
        // Parts of an image have the bits of the whole, whose blocks they do not know.
        EXPECT_EQ(plan_of(p, {.accuracy = Accuracy::strict, .rows_alone = true}).algorithm(), "direct");
    }
}

TEST(LineMasks, ShortRowsAreSignals) {
    EXPECT_TRUE(goes_as_signals(plan_of({.height = 8, .width = 8, .batch = 3000, .mask_height = 9, .mask_width = 1})));
    EXPECT_TRUE(
        goes_as_signals(plan_of({.height = 8, .width = 8, .channels = 2, .batch = 3000, .mask_height = 1, .mask_width = 1})));
    EXPECT_FALSE(goes_as_signals(plan_of({.height = 8, .width = 8, .batch = 3000, .mask_height = 2, .mask_width = 3})));
    EXPECT_FALSE(goes_as_signals(plan_of({.height = 900, .width = 900, .mask_height = 9, .mask_width = 1})));
}

}  // namespace
}  // namespace tapline
