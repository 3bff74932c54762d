// One tap: whatever axis is filtered, what follows each other in memory is one row.
#include <gtest/gtest.h>

#include "tapline/info.hpp"
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

// Rows with gaps, whose outputs have gaps too, as they lie: of any number of lanes, and what is between them stays.
TEST(OneTap, ShortRowsGoWhereTheyLie) {
    for (const Dtype dtype : {Dtype::f32, Dtype::complex64, Dtype::f64}) {
        for (const std::int64_t length : {1, 15, 16, 94, 300}) {
            Problem p;
            p.dtype = dtype;
            p.axes.push_back({.length = length, .taps = 1, .mode = Mode::same, .input_stride = 1, .output_stride = 1});
            p.batch_axes.push_back({.length = 3, .input_stride = 50 * (length + 3), .output_stride = 50 * (length + 1)});
            p.batch_axes.push_back({.length = 50, .input_stride = length + 3, .output_stride = length + 1});
            const auto run = [&]<class T>(T tap, std::int64_t parts) {
                const Plan plan =
                    make_plan(p, static_cast<const void*>(&tap), {.device = "cpu", .algorithm = "direct", .threads = 2});
                if (cpu_target() != "scalar") {
                    EXPECT_NE(plan.explain().find("as they lie"), std::string::npos) << plan.explain();
                }
                std::vector<T> in(static_cast<std::size_t>(150 * (length + 3) * parts));
                std::vector<T> out(static_cast<std::size_t>(150 * (length + 1) * parts), T{7});
                for (std::size_t i = 0; i < in.size(); ++i) { in[i] = i % 31 == 0 ? T{-0.0} : static_cast<T>(i % 1009); }
                plan.execute(static_cast<void*>(out.data()), static_cast<const void*>(in.data()));
                const std::int64_t row = (length + 1) * parts;
                for (std::int64_t i = 0; i < 150 * row; ++i) {
                    const bool is_output = i % row < length * parts;
                    const T wanted =
                        is_output ? tap * in[static_cast<std::size_t>(i / row * (length + 3) * parts + i % row)] : T{7};
                    ASSERT_EQ(out[static_cast<std::size_t>(i)], wanted) << i << " of rows of " << length;
                }
            };
            if (dtype == Dtype::f64) {
                run(-1.25, 1);
            } else {
                run(-1.25F, dtype == Dtype::f32 ? 1 : 2);
            }
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
