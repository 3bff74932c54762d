// Masks of one row or column: whose images go as signals. That the results are right the property test says.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/buffers.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

Plan plan_of(const ImageProblem& p, PlanOptions options = {}) {
    options.device = "cpu";
    return make_plan(p, std::vector<float>(static_cast<std::size_t>(taps_extent(p)), 0.5F), options);
}
std::vector<double> drawn(std::int64_t count, test::Random random) {
    std::vector<double> values(static_cast<std::size_t>(count));
    test::fill_reals<double>(values.data(), count, random);
    return values;
}
bool goes_as_signals(const Plan& plan) { return plan.explain().find("lines of images as signals") != std::string::npos; }

TEST(LineMasks, StrictLongOnesAreCheckedTransforms) {
    for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{1, 1001}, {1001, 1}}) {
        ImageProblem p{.height = 1200, .width = 1200, .mask_height = height, .mask_width = width};
        EXPECT_EQ(plan_of(p, {.accuracy = Accuracy::strict}).algorithm(), "overlap_save");
        // Parts of an image have the bits of the whole, whose blocks as signals they do not know.
        const Plan plan = plan_of(p, {.accuracy = Accuracy::strict, .rows_alone = true});
        EXPECT_EQ(plan.algorithm(), "overlap_save");
        EXPECT_FALSE(goes_as_signals(plan));
    }
}

TEST(LineMasks, ShortRowsAreSignals) {
    EXPECT_TRUE(goes_as_signals(plan_of({.height = 8, .width = 8, .batch = 3000, .mask_height = 9, .mask_width = 1})));
    EXPECT_TRUE(
        goes_as_signals(plan_of({.height = 8, .width = 8, .channels = 2, .batch = 3000, .mask_height = 1, .mask_width = 1})));
    EXPECT_FALSE(goes_as_signals(plan_of({.height = 8, .width = 8, .batch = 3000, .mask_height = 2, .mask_width = 3})));
    EXPECT_FALSE(goes_as_signals(plan_of({.height = 900, .width = 900, .mask_height = 9, .mask_width = 1})));
}

TEST(LineMasks, RowsOfIntegersAndOfViewsAreSignals) {
    EXPECT_TRUE(goes_as_signals(plan_of({.height = 900, .width = 900, .mask_height = 1, .mask_width = 9, .dtype = Dtype::u8})));
    const auto view = [](std::int64_t down, std::int64_t across, std::int64_t rows, std::int64_t columns) {
        Problem p{.mode = Mode::same};
        p.axes = {{.length = 900, .taps = rows, .input_stride = down, .output_stride = 900},
                  {.length = 900, .taps = columns, .input_stride = across, .output_stride = 1}};
        return goes_as_signals(make_plan(p, std::vector<float>(static_cast<std::size_t>(rows * columns), 0.5F), {.device = "cpu"}));
    };
    EXPECT_TRUE(view(-900, -1, 1, 9));
    EXPECT_TRUE(view(1, 900, 1, 9));
    EXPECT_TRUE(view(1, 900, 1, 1));
    EXPECT_FALSE(view(-900, -1, 9, 1));
    EXPECT_TRUE(view(-900, -1, 1, 1));
}

TEST(LineMasks, RowsOfAFewChannelsAreSignals) {
    const auto goes = [](std::int64_t width, std::int64_t channels, std::int64_t taps) {
        return goes_as_signals(
            plan_of({.height = 300, .width = width, .channels = channels, .mask_height = 1, .mask_width = taps}));
    };
    EXPECT_TRUE(goes(96, 3, 4));
    EXPECT_TRUE(goes(1000, 3, 31));
    EXPECT_FALSE(goes(1000, 3, 9));
    EXPECT_FALSE(goes(60, 8, 4));
}

TEST(LineMasks, ColumnsOfNarrowViewsAreSignals) {
    const auto view = [](std::int64_t width, std::int64_t down, std::int64_t across, std::int64_t rows, std::int64_t columns) {
        Problem p{.mode = Mode::same};
        p.axes = {{.length = 2000, .taps = rows, .input_stride = down, .output_stride = width},
                  {.length = width, .taps = columns, .input_stride = across, .output_stride = 1}};
        return goes_as_signals(make_plan(p, std::vector<float>(static_cast<std::size_t>(rows * columns), 0.5F), {.device = "cpu"}));
    };
    EXPECT_TRUE(view(98, -98, -1, 6, 1));
    EXPECT_TRUE(view(98, 1, 2000, 6, 1));
    EXPECT_TRUE(view(200, 800, 2, 6, 1));
    EXPECT_FALSE(view(200, 800, 2, 6, 2));
    EXPECT_FALSE(view(900, -900, -1, 6, 1));
}

// The rows of the whole are signals, and so are a part's, which has more samples beside them than its outputs need.
TEST(LineMasks, PartsGoAsTheWhole) {
    for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{1, 10}, {9, 1}}) {
        Problem p{.mode = Mode::same, .dtype = Dtype::f64};
        p.axes = {{.length = 24, .taps = height}, {.length = 45, .taps = width}};
        p.batch_axes = {{.length = 2}};
        const std::vector<double> taps = drawn(height * width, test::Random(1)), in = drawn(2 * 24 * 45, test::Random(2));
        const ShardedPlan sharded(p, taps.data(), {.device = "cpu"});
        ASSERT_TRUE(goes_as_signals(sharded.whole())) << sharded.whole().explain();
        std::vector<double> whole(in.size()), part(5 * 45);
        sharded.whole().execute(whole.data(), in.data());
        const PartPlan rows =
            sharded.part({.axes = {{.samples = {2, 24}, .outputs = {11, 16}}, {.samples = {0, 45}, .outputs = {0, 45}}},
                          .batch_axes = {{.length = 1}}});
        rows.execute(part.data(), in.data() + (24 + 2) * 45);
        for (std::size_t i = 0; i < part.size(); ++i) { ASSERT_EQ(part[i], whole[(24 + 11) * 45 + i]) << i; }
    }
}

// Of two axes' modes lines have that of their own: a NaN reaches the outputs that see it, and no others.
TEST(LineMasks, TheModeIsThatOfTheFilteredAxis) {
    for (const Mode along : {Mode::leading, Mode::same, Mode::full, Mode::causal}) {
        for (const int threads : {1, 3}) {
            Problem p{.dtype = Dtype::f64};
            p.axes.push_back({.length = 94, .taps = 94, .mode = along, .boundary = Boundary::reflect});
            p.axes.push_back({.length = 32, .taps = 1, .mode = Mode::valid});
            std::vector<double> in(94 * 32, 1.0);
            in[24 * 32 + 9] = std::numeric_limits<double>::quiet_NaN();
            const std::vector<double> taps(94, 0.5);
            std::vector<double> sums(static_cast<std::size_t>(output_extent(p))), direct(sums.size());
            const Plan plan = make_plan(p, taps, {.device = "cpu", .algorithm = "overlap_save", .threads = threads});
            EXPECT_TRUE(goes_as_signals(plan)) << plan.explain();
            plan.execute(sums.data(), in.data());
            make_plan(p, taps, {.device = "cpu", .algorithm = "direct"}).execute(direct.data(), in.data());
            for (std::size_t i = 0; i < sums.size(); ++i) { ASSERT_EQ(std::isnan(sums[i]), std::isnan(direct[i])) << i; }
        }
    }
}

}  // namespace
}  // namespace tapline
