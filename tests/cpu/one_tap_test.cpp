// One tap: whatever axis is filtered, what follows each other in memory is one row.
#include <gtest/gtest.h>

#include <array>

#include "cpu/every_target.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/info.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using test::Random;

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

// Samples of any layout and type whose outputs lie side by side, with whatever happens to them on their way.
TEST(OneTap, OtherLayoutsAndTypesArePacked) {
    struct Rows {
        std::int64_t rows, length, row, step, out_row;
    };
    constexpr std::array kRows{Rows{70, 300, 1, 71, 300},        Rows{200, 150, -1, 200, 153}, Rows{9, 9001, 9005, 1, 9001},
                               Rows{40, 333, 700, 2, 333},       Rows{41, 99, 99, -1, 99},     Rows{3, 5000, -10003, -2, 5007},
                               Rows{5, 2049, 5 * 2049, 5, 2049}, Rows{1300, 70, 70, 1, 70}};
    test::on_every_target([&] {
        Random random(17);
        for (const Rows& rows : kRows) {
            for (const Dtype dtype : {Dtype::f32, Dtype::u8, Dtype::i16, Dtype::f16, Dtype::complex64, Dtype::f64}) {
                Problem p{.dtype = dtype};
                p.axes.push_back(
                    {.length = rows.length, .taps = 1, .mode = Mode::same, .input_stride = rows.step, .output_stride = 1});
                p.batch_axes.push_back({.length = rows.rows, .input_stride = rows.row, .output_stride = rows.out_row});
                if (is_integer(dtype)) {
                    p.real_taps = Dtype::f32;
                    if (test::chance(0.5, random)) { p.output_dtype = dtype; }
                }
                if (!is_complex(dtype) && test::chance(0.4, random)) {
                    p.scale = 0.5;
                    p.bias = 1;
                    p.clamp = Clamp{-3, 90};
                }
                const std::size_t in_bytes = size_of(dtype), out_bytes = size_of(output_dtype(p));
                std::vector<unsigned char> in(static_cast<std::size_t>(input_extent(p)) * in_bytes), taps(size_of(taps_dtype(p)));
                std::vector<unsigned char> out(static_cast<std::size_t>(output_extent(p)) * out_bytes, 0xAB);
                test::fill_random(in.data(), dtype, input_extent(p), random);
                test::fill_random(taps.data(), taps_dtype(p), 1, random);
                const unsigned char* const first = in.data() + static_cast<std::size_t>(input_start(p)) * in_bytes;
                const Plan plan = make_plan(p, taps.data(), {.device = "cpu", .algorithm = "direct", .threads = 2});
                const std::string how = plan.explain();
                if (cpu_target() != "scalar" && rows.step != 1) { EXPECT_NE(how.find("one tap"), std::string::npos) << how; }
                plan.execute(out.data(), first);
                ASSERT_EQ(test::compare(p, out.data(), first, taps.data(), true), "") << test::describe(p) << how;
                for (std::size_t i = 0; i < out.size(); ++i) {
                    const std::size_t row = static_cast<std::size_t>(rows.out_row) * out_bytes;
                    if (i % row >= static_cast<std::size_t>(rows.length) * out_bytes) { ASSERT_EQ(out[i], 0xAB) << i << how; }
                }
            }
        }
    });
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
