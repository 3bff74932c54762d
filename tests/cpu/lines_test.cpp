// Signals of every layout and of narrow types on the CPU: tiles of lines, rows side by side, all batch axes at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/choice/engine.hpp"
#include "core/problem/elements.hpp"
#include "core/problem/half.hpp"
#include "support/case.hpp"
#include "support/draw.hpp"
#include "support/sanitized.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using test::Random;

std::int64_t cases() { return test::environment_number("TAPLINE_LINES_CASES", test::kSanitized ? 20 : 60); }
constexpr std::int64_t kOutputsOfABlock = 4096;

class Lines : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override { force_cpu_target(GetParam()); }
    void TearDown() override { force_cpu_target(""); }
};

// The axes' elements in memory in the order given, the innermost first; strides by axis.
std::vector<std::int64_t> strides_in(const std::vector<std::int64_t>& lengths, const std::vector<std::size_t>& order,
                                     std::int64_t gap) {
    std::vector<std::int64_t> strides(lengths.size());
    std::int64_t step = 1;
    for (const std::size_t axis : order) {
        strides[axis] = step;
        step = step * lengths[axis] + gap;
    }
    return strides;
}

// Filters of their own along some of the batch axes.
void give_filters(Problem& p, Random& random) {
    std::int64_t packed = p.axes[0].taps;
    for (std::size_t i = p.batch_axes.size(); i-- > 0;) {
        BatchAxis& axis = p.batch_axes[i];
        if (test::chance(0.3, random)) { continue; }
        axis.taps_stride = packed;
        packed *= axis.length;
    }
}

// Up to three batch axes and the filtered one, in any order in memory; as many rows as several tiles hold.
Problem draw_layout(Random& random) {
    constexpr std::array kDtypes{Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16,     Dtype::bf16,
                                 Dtype::i8,  Dtype::u8,  Dtype::i16,       Dtype::u16,        Dtype::boolean, Dtype::i32};
    Problem p;
    p.dtype = test::pick(kDtypes, random);
    p.mode = static_cast<Mode>(test::between(0, 4, random));
    p.boundary = static_cast<Boundary>(test::between(0, 5, random));
    p.constant = p.boundary == Boundary::constant ? 1 : 0;
    p.complex_taps = is_complex(p.dtype) && test::chance(0.5, random);
    if (is_integer(p.dtype)) {
        p.real_taps = test::chance(0.7, random) ? Dtype::f32 : Dtype::f64;
        p.output_dtype = test::pick(std::array{Dtype::f32, Dtype::f64, Dtype::u8, Dtype::i16}, random);
    } else if (!is_complex(p.dtype) && test::chance(0.3, random)) {
        p.output_dtype = test::pick(std::array{Dtype::f32, Dtype::u8, Dtype::i16}, random);
    }
    FilteredAxis axis{.length = test::between(1, test::chance(0.3, random) ? 3000 : 300, random)};
    axis.taps = p.mode == Mode::valid ? test::between(1, std::min<std::int64_t>(axis.length, 80), random)
                                      : test::between(1, test::chance(0.2, random) ? 700 : 80, random);
    if (test::chance(0.2, random)) { axis.origin = test::between(-3, axis.taps + 3, random); }
    p.axes = {axis};
    const std::int64_t outputs = output_shape(p)[0];
    std::vector<std::int64_t> in{axis.length}, out{outputs};
    for (std::int64_t batches = test::between(0, 3, random); batches > 0; --batches) {
        const std::int64_t rows = test::between(1, test::chance(0.3, random) && in.size() == 1 ? 40 : 5, random);
        in.push_back(rows);
        out.push_back(rows);
    }
    std::vector<std::size_t> order(in.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    const std::vector<std::int64_t> from = strides_in(in, order, test::chance(0.3, random) ? 3 : 0);
    if (test::chance(0.5, random)) { std::shuffle(order.begin(), order.end(), random); }
    const std::vector<std::int64_t> to = strides_in(out, order, test::chance(0.3, random) ? 2 : 0);
    p.axes[0].input_stride = test::chance(0.1, random) ? -from[0] : from[0];
    p.axes[0].output_stride = to[0];
    for (std::size_t i = 1; i < in.size(); ++i) {
        const std::int64_t sign = test::chance(0.1, random) ? -1 : 1;
        p.batch_axes.push_back({.length = in[i], .input_stride = sign * from[i], .output_stride = to[i]});
    }
    if (test::chance(0.5, random)) { give_filters(p, random); }
    return p;
}

// Many short recordings of interleaved channels, some read from the end or with gaps of a sample.
Problem draw_frames(Random& random) {
    constexpr std::array kDtypes{Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16, Dtype::u8, Dtype::i16};
    Problem p;
    p.dtype = test::pick(kDtypes, random);
    p.mode = static_cast<Mode>(test::between(0, 4, random));
    p.boundary = static_cast<Boundary>(test::between(0, 5, random));
    p.constant = p.boundary == Boundary::constant ? 1 : 0;
    if (is_integer(p.dtype)) {
        p.real_taps = test::chance(0.7, random) ? Dtype::f32 : Dtype::f64;
        p.output_dtype = test::pick(std::array{Dtype::f32, Dtype::f64, Dtype::u8, Dtype::i16}, random);
    }
    if (test::chance(0.3, random)) { p.scale = 0.5; }
    const std::int64_t channels = test::chance(0.7, random) ? test::between(2, 5, random) : 1;
    FilteredAxis axis{.length = test::between(1, 70, random)};
    axis.taps = test::between(1, p.mode == Mode::valid ? axis.length : std::min<std::int64_t>(3 * axis.length, 70), random);
    const std::int64_t step = test::chance(0.2, random) ? 2 : 1;
    axis.input_stride = (test::chance(0.2, random) ? -step : step) * channels;
    axis.output_stride = channels;
    p.axes = {axis};
    const std::int64_t outputs = output_shape(p)[0];
    const auto gap = [&] { return test::chance(0.3, random) ? test::between(1, 9, random) : 0; };
    const std::int64_t in = axis.length * step * channels + gap(), out = outputs * channels + gap();
    const std::int64_t rows = test::between(16, 90, random), more = test::chance(0.2, random) ? 2 : 1;
    p.batch_axes.push_back({.length = more, .input_stride = rows * in + gap(), .output_stride = rows * out + gap()});
    p.batch_axes.push_back({.length = rows, .input_stride = in, .output_stride = out});
    p.batch_axes.push_back({.length = channels, .input_stride = 1, .output_stride = 1});
    return p;
}

// Every algorithm, on one to three threads, beside the reference.
void expect_right(const Problem& p, Random& random, std::int64_t seed) {
    test::Case c = test::draw_case(p, random);
    const test::Expected expected(p, c.first_in(), c.taps.data());
    int solved = 0;
    for (const AlgorithmInfo& info : algorithms(p, "cpu", Accuracy::standard, 1, c.taps.data())) {
        if (!info.supported || info.name == "textbook") { continue; }
        ++solved;
        const int threads = static_cast<int>(test::between(1, 3, random));
        const Plan plan = make_plan(p, c.taps.data(), {.device = "cpu", .algorithm = info.name, .threads = threads});
        const std::int64_t together = plan.state().executable->granularity();
        const test::Block block{together > 1 ? together : kOutputsOfABlock, plan.state().executable->lookahead()};
        EXPECT_EQ(test::failure_of(c, expected, plan, info.name == "direct", block), "")
            << "seed " << seed << ", " << info.name << ", " << threads << " threads: " << test::describe(p) << "\n"
            << plan.explain();
    }
    EXPECT_GE(solved, 1) << test::describe(p);
}

// A few rows, of one tile: each thread has some of them, and their bits are the same.
TEST(LineTiles, FewRowsAreSharedByThreads) {
    struct Rows {
        std::int64_t rows, length, taps;
        bool across;
        std::int64_t of_a_tile;  // with two threads
    };
    for (const auto& [rows, length, taps, across, of_a_tile] :
         {Rows{8, 7060, 8898, true, 4}, Rows{14, 4000, 700, true, 8}, Rows{6, 5994, 2696, false, 2}, Rows{16, 3000, 3, true, 8}}) {
        Problem p{.mode = Mode::same};
        p.axes = {{.length = length, .taps = taps, .input_stride = across ? rows : -1, .output_stride = 1}};
        p.batch_axes = {{.length = rows, .input_stride = across ? 1 : length, .output_stride = length}};
        Random random(7);
        std::vector<float> in(static_cast<std::size_t>(rows * length)), filter(static_cast<std::size_t>(taps)), one(in.size());
        test::fill_random(in.data(), Dtype::f32, rows * length, random);
        test::fill_random(filter.data(), Dtype::f32, taps, random);
        const float* const first = in.data() + (across ? 0 : length - 1);
        const char* const algorithm = taps > 100 ? "overlap_save" : "direct";
        make_plan(p, filter, {.device = "cpu", .algorithm = algorithm, .threads = 1}).execute(one.data(), first);
        for (const int threads : {2, 3, 8}) {
            const Plan plan = make_plan(p, filter, {.device = "cpu", .algorithm = algorithm, .threads = threads});
            if (threads == 2) {
                const std::string tiles = "tiles of " + std::to_string(of_a_tile) + " lines";
                EXPECT_NE(plan.explain().find(tiles), std::string::npos) << plan.explain();
            }
            std::vector<float> out(in.size());
            plan.execute(out.data(), first);
            EXPECT_EQ(out, one) << rows << " rows, " << threads << " threads";
        }
    }
}

TEST_P(Lines, AgreeWithTheTextbookInEveryLayoutAndType) {
    for (std::int64_t seed = 1000; seed < 1000 + cases() && !HasFailure(); ++seed) {
        Random random(static_cast<std::uint64_t>(seed));
        expect_right(draw_layout(random), random, seed);
    }
}

TEST_P(Lines, ShortFramesAgreeWithTheTextbook) {
    for (std::int64_t seed = 5000; seed < 5000 + cases() && !HasFailure(); ++seed) {
        Random random(static_cast<std::uint64_t>(seed));
        expect_right(draw_frames(random), random, seed);
    }
}

// Overflow::truncate makes of every sum what a C cast makes of it, by whole vectors and one by one.
TEST_P(Lines, TruncatedSumsAreThoseOfACast) {
    constexpr std::int64_t kRows = 5, kSamples = 403;
    Random random(3);
    for (const Dtype sums : {Dtype::f32, Dtype::f64}) {
        for (const Dtype out : {Dtype::u8, Dtype::i8, Dtype::u16, Dtype::i16, Dtype::i32, Dtype::i64, Dtype::u32}) {
            Problem p{.dtype = Dtype::i16, .output_dtype = sums, .real_taps = sums};
            p.axes = {{.length = kSamples, .taps = 7, .input_stride = 1}};
            p.batch_axes.push_back({.length = kRows, .input_stride = kSamples});
            p.mode = Mode::same;
            test::Case c = test::draw_case(p, random);
            std::vector<double> whole(static_cast<std::size_t>(output_extent(p)));
            std::vector<float> single(whole.size());
            void* const floats = sums == Dtype::f32 ? static_cast<void*>(single.data()) : static_cast<void*>(whole.data());
            make_plan(p, c.taps.data(), {.device = "cpu", .algorithm = "direct"}).execute(floats, c.first_in());
            for (const std::int64_t stride : {1, 3}) {
                Problem q = p;
                q.output_dtype = out;
                q.overflow = Overflow::truncate;
                q.axes[0].output_stride = stride;
                q.batch_axes[0].output_stride = stride * kSamples;
                std::vector<std::int64_t> storage(static_cast<std::size_t>(output_extent(q)));
                make_plan(q, c.taps.data(), {.device = "cpu", .algorithm = "direct"}).execute(storage.data(), c.first_in());
                core::with_integer_type(out, [&]<class Out>(Out) {
                    const Out* const got = reinterpret_cast<const Out*>(storage.data());
                    for (std::size_t i = 0; i < whole.size(); ++i) {
                        const double sum = sums == Dtype::f32 ? static_cast<double>(single[i]) : whole[i];
                        const Out wanted = static_cast<Out>(static_cast<std::int64_t>(sum));
                        ASSERT_EQ(got[i * static_cast<std::size_t>(stride)], wanted) << to_string(out) << " of " << sum;
                    }
                });
            }
        }
    }
}

// How many threads work, and where rows lie, changes no bit of a direct sum.
TEST_P(Lines, DirectSumsHaveTheSameBitsInEveryLayout) {
    constexpr std::int64_t kRows = 37, kSamples = 2500, kTaps = 45;
    Random random(3);
    std::vector<float> in(kRows * kSamples), taps(kTaps);
    test::fill_reals<float>(in.data(), kRows * kSamples, random);
    test::fill_reals<float>(taps.data(), kTaps, random);
    const auto solve = [&](bool in_columns, bool out_columns, int threads) {
        std::vector<float> from(in.size()), out(in.size(), NAN), rows(in.size());
        for (std::int64_t r = 0; r < kRows; ++r) {
            for (std::int64_t i = 0; i < kSamples; ++i) {
                from[static_cast<std::size_t>(in_columns ? i * kRows + r : r * kSamples + i)] =
                    in[static_cast<std::size_t>(r * kSamples + i)];
            }
        }
        Problem p{.length = kSamples, .taps = kTaps, .batch = kRows, .mode = Mode::same, .boundary = Boundary::reflect};
        p.input_row_stride = in_columns ? 1 : kSamples;
        p.input_sample_stride = in_columns ? kRows : 1;
        p.output_row_stride = out_columns ? 1 : kSamples;
        p.output_sample_stride = out_columns ? kRows : 1;
        make_plan(p, taps.data(), {.device = "cpu", .algorithm = "direct", .threads = threads})
            .execute_host(out.data(), from.data());
        for (std::int64_t r = 0; r < kRows; ++r) {
            for (std::int64_t i = 0; i < kSamples; ++i) {
                rows[static_cast<std::size_t>(r * kSamples + i)] =
                    out[static_cast<std::size_t>(out_columns ? i * kRows + r : r * kSamples + i)];
            }
        }
        return rows;
    };
    const std::vector<float> packed = solve(false, false, 1);
    for (const int threads : {1, 2, 3}) {
        EXPECT_EQ(solve(true, false, threads), packed);
        EXPECT_EQ(solve(false, true, threads), packed);
        EXPECT_EQ(solve(true, true, threads), packed);
    }
}

// Every number of 16 bits, there and back; and what f32 rounds to.
TEST_P(Lines, SixteenBitsAreWidenedExactlyAndRoundedToEven) {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        Problem p{.length = 1 << 16, .taps = 1, .dtype = dtype};
        std::vector<std::uint16_t> in(1 << 16), out(1 << 16);
        std::iota(in.begin(), in.end(), std::uint16_t{0});
        std::vector<float> wide(1 << 16);
        for (const float tap : {1.0F, 1 / 3.0F, 1000.0F, 1e-5F}) {
            make_plan(p, &tap, {.device = "cpu"}).execute_host(out.data(), in.data());
            Problem to_f32 = p;
            to_f32.output_dtype = Dtype::f32;
            make_plan(to_f32, &tap, {.device = "cpu"}).execute_host(wide.data(), in.data());
            for (std::size_t i = 0; i < in.size(); ++i) {
                const float value = dtype == Dtype::f16 ? core::from_f16(in[i]) : core::from_bf16(in[i]);
                if (std::isnan(value)) {
                    ASSERT_TRUE(std::isnan(wide[i])) << i;
                    ASSERT_TRUE(std::isnan(dtype == Dtype::f16 ? core::from_f16(out[i]) : core::from_bf16(out[i]))) << i;
                    continue;
                }
                ASSERT_EQ(wide[i], value * tap) << i;
                const std::uint16_t rounded = dtype == Dtype::f16 ? core::to_f16(wide[i]) : core::to_bf16(wide[i]);
                ASSERT_EQ(out[i] & 0x7FFF, rounded & 0x7FFF) << i << " times " << tap;  // 0 + -0 is 0
            }
        }
    }
}

// Rows side by side with filters of their own: a NaN reaches the outputs of its own row whose windows hold it, a loud row leaves
// the others' accuracy, and a tap that is not finite meets no zero beyond the ends.
TEST_P(Lines, ColumnsWithFiltersOfTheirOwnKeepToThemselves) {
    constexpr std::int64_t kRows = 19, kSamples = 500, kTaps = 7;
    Random random(5);
    std::vector<float> in(kRows * kSamples), taps(kRows * kTaps), out(kRows * kSamples), loud(kRows * kSamples);
    test::fill_reals<float>(in.data(), kRows * kSamples, random);
    test::fill_reals<float>(taps.data(), kRows * kTaps, random);
    Problem p{.length = kSamples, .taps = kTaps, .batch = kRows, .filters = Filters::per_row, .mode = Mode::causal};
    p.input_row_stride = p.output_row_stride = 1;
    p.input_sample_stride = p.output_sample_stride = kRows;
    const auto solve = [&](std::vector<float>& to) {
        make_plan(p, taps.data(), {.device = "cpu", .algorithm = "direct"}).execute_host(to.data(), in.data());
    };
    solve(out);
    for (std::int64_t i = 0; i < kSamples; ++i) { in[static_cast<std::size_t>(i * kRows + 3)] *= 1e30F; }
    in[4 * kRows + 11] = NAN;
    solve(loud);
    for (std::int64_t i = 0; i < kSamples; ++i) {
        for (std::int64_t r = 0; r < kRows; ++r) {
            const auto at = static_cast<std::size_t>(i * kRows + r);
            if (r == 11 && i >= 4 && i < 4 + kTaps) {
                ASSERT_TRUE(std::isnan(loud[at])) << i;
            } else if (r != 3) {
                ASSERT_EQ(loud[at], out[at]) << r << " " << i;
            }
        }
    }
    in[4 * kRows + 11] = 1;
    taps[5 * kTaps + 6] = INFINITY;  // meets sample i - 6 of row 5
    solve(loud);
    for (std::int64_t i = 0; i < kTaps - 1; ++i) { EXPECT_TRUE(std::isfinite(loud[static_cast<std::size_t>(i * kRows + 5)])) << i; }
    EXPECT_FALSE(std::isfinite(loud[6 * kRows + 5]));
}

// One recording of channels is divided among threads from a few microseconds on, of many each thread has some: then each has its
// own scratch memory.
TEST(LinesSideBySide, OneRecordingIsDivided) {
    const auto workspace = [](std::int64_t recordings, int threads) {
        Problem p{.mode = Mode::same};
        p.axes = {{.length = 13129, .taps = 7, .mode = Mode::same, .input_stride = 8, .output_stride = 8}};
        p.batch_axes = {{.length = recordings, .input_stride = 8 * 13129, .output_stride = 8 * 13129},
                        {.length = 8, .input_stride = 1, .output_stride = 1}};
        return make_plan(p, std::vector<float>(7, 0.5F), {.device = "cpu", .algorithm = "direct", .threads = threads})
            .workspace_bytes();
    };
    for (const std::int64_t recordings : {1, 8}) {
        EXPECT_EQ(workspace(recordings, 2), 2 * workspace(recordings, 1)) << recordings;
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, Lines, ::testing::ValuesIn(cpu_targets()), [](const auto& target) { return target.param; });

}  // namespace
}  // namespace tapline
