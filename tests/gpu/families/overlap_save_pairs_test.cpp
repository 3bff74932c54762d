// Large segments of rows side by side in memory: complex ones, and pairs of real ones. Lengths next to whole segments, boundaries,
// gaps, rows at multiples of half an element, taps that come later, NaN.
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "gpu/rung_test.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

/// Rows side by side, `gap` elements between lines.
Problem across(Dtype dtype, std::int64_t n, std::int64_t k, std::int64_t rows, std::int64_t gap = 0) {
    Problem p = correlation_of(n, k);
    p.dtype = dtype;
    p.batch = rows;
    p.input_row_stride = p.output_row_stride = 1;
    p.input_sample_stride = p.output_sample_stride = rows + gap;
    return p;
}

class OverlapSavePairs : public RungTest {
protected:
    OverlapSavePairs() : RungTest("overlap_save_pairs") {}
};

class OverlapSaveTogether : public RungTest {
protected:
    OverlapSaveTogether() : RungTest("overlap_save_large") {}
};

TEST_F(OverlapSavePairs, RowsBoundariesAndGaps) {
    Random random(610);
    int number = 0;
    for (const std::int64_t rows : {8, 16, 24, 32}) {
        Problem p = across(Dtype::f32, 4001 + 17 * rows, 4097 + rows, rows, 2 * (number % 3));
        p.boundary = static_cast<Boundary>(number++ % 6);
        p.scale = number % 2 == 0 ? 1 : 0.25;
        expect_right_anywhere(p, random);
        if (HasFatalFailure()) { return; }
    }
}

TEST_F(OverlapSaveTogether, RowsBoundariesAndGaps) {
    Random random(611);
    int number = 0;
    for (const std::int64_t rows : {4, 8, 12, 5}) {
        Problem p = across(Dtype::complex64, 4001 + 17 * rows, 4097 + rows, rows, number % 3);
        p.boundary = static_cast<Boundary>(number++ % 6);
        p.complex_taps = number % 2 == 0;
        p.bias = number % 2;
        expect_right_anywhere(p, random);
        if (HasFatalFailure()) { return; }
    }
}

TEST_F(OverlapSavePairs, LongRowsAsRowsAlone) {
    Random random(612);
    constexpr std::int64_t kTaps = 16385;
    constexpr std::int64_t kRows = 16;
    const std::int64_t outputs = ((std::int64_t{1} << 18) - (kTaps - 1)) / 32 * 32;
    for (const std::int64_t n : {outputs, 2 * outputs + 1, 3 * outputs - 5}) {
        const Problem p = across(Dtype::f32, n, kTaps, kRows);
        std::vector<float> in = random_floats(n * kRows, random);
        const std::vector<float> taps = random_floats(kTaps, random);
        const RungRun run = run_rung(rung_, p, in, taps);
        ASSERT_EQ(run.failure, "") << describe(p);
        for (std::int64_t row = 0; row < kRows; ++row) {
            const Problem alone = correlation_of(n, kTaps);
            std::vector<float> one(static_cast<std::size_t>(n));
            std::vector<float> out(one.size());
            for (std::size_t i = 0; i < one.size(); ++i) {
                one[i] = in[i * kRows + static_cast<std::size_t>(row)];
                out[i] = run.out[i * kRows + static_cast<std::size_t>(row)];
            }
            for (const std::int64_t at : {std::int64_t{0}, outputs - 5, 2 * outputs - 5, n - kTaps - 200}) {
                if (at >= 0 && at + 10 <= n) { expect_exact(alone, out, one, taps, at, 10); }
                if (HasFatalFailure()) { return; }
            }
        }
        in[static_cast<std::size_t>((n - 100) * kRows + 3)] = std::numeric_limits<float>::quiet_NaN();
        const RungRun with_nan = run_rung(rung_, p, in, taps);
        ASSERT_EQ(with_nan.failure, "");
        for (std::int64_t i = 0; i < n * kRows; ++i) {
            const bool reads_it = i % kRows == 3 && i / kRows >= n - 100 - (kTaps - 1) / 2;
            const float got = with_nan.out[static_cast<std::size_t>(i)];
            ASSERT_EQ(std::isnan(got), reads_it) << "row " << i % kRows << ", output " << i / kRows;
            if (!reads_it) { ASSERT_NEAR(got, run.out[static_cast<std::size_t>(i)], 1e-3) << i; }
        }
    }
}

TEST_F(OverlapSavePairs, TapsThatComeLater) {
    Random random(613);
    const Problem p = across(Dtype::f32, 300001, 9001, 8);
    const std::vector<float> in = random_floats(p.length * p.batch, random);
    const std::vector<float> taps = random_floats(9001, random);
    const RungRun run = run_rung(rung_, p, in, taps);
    ASSERT_EQ(run.failure, "");
    const Plan later = make_plan_without_taps(p, {.device = "cuda", .algorithm = "overlap_save_pairs"});
    const std::vector<std::byte> bytes = executed_with_taps(later, std::as_bytes(std::span(in)), std::as_bytes(std::span(taps)));
    std::vector<float> out(run.out.size());
    ASSERT_EQ(bytes.size(), out.size() * sizeof(float));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    ASSERT_EQ(difference(out, run.out, 1e-6 * norm_of(run.out)), "");
}

TEST_F(OverlapSavePairs, RefusesTheRest) {
    const auto refused = [&](Problem p) {
        EXPECT_THROW(make_plan_without_taps(p, {.device = "cuda", .algorithm = "overlap_save_pairs"}), Error) << describe(p);
    };
    refused(across(Dtype::f32, 300001, 4096, 8));
    refused(across(Dtype::f32, 300001, 9001, 12));
    refused(across(Dtype::f32, 300001, 9001, 8, 1));
    refused(across(Dtype::f16, 300001, 9001, 8));
    Problem biased = across(Dtype::f32, 300001, 9001, 8);
    biased.bias = 1;
    refused(biased);
}

}  // namespace
}  // namespace tapline::test
