// Means of integers that lose their fraction as in C, their sums in f32, by the rungs for signals that read narrow samples.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu/on_host/cuda_on_host.hpp"

#include "cuda/families/direct/direct.hpp"
#include "gpu/on_host/rung_on_host.hpp"
#include "support/case.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr std::int64_t kRows = 37;
constexpr std::int64_t kLength = 150;

// Sample (row, position) of a row that goes on as its mirror image.
std::int64_t sample(const std::vector<std::int16_t>& in, std::int64_t row, std::int64_t position) {
    position = position < 0 ? -1 - position : position >= kLength ? 2 * kLength - 1 - position : position;
    return in[static_cast<std::size_t>(row * kLength + position)];
}

void expect_means(const cuda::Rung& rung, bool by_columns, std::int64_t taps, Random& random) {
    constexpr double kNudge = 0x1p-22;
    Problem p{.length = kLength, .taps = taps, .batch = kRows, .mode = Mode::same, .boundary = Boundary::reflect};
    p.dtype = Dtype::i16;
    p.output_dtype = Dtype::i16;
    p.real_taps = Dtype::f32;
    p.overflow = Overflow::truncate;
    p.scale = (1 + kNudge) / static_cast<double>(taps);
    if (by_columns) {
        p.input_row_stride = p.output_row_stride = 1;
        p.input_sample_stride = p.output_sample_stride = kRows;
    }
    std::vector<std::int16_t> in;
    for (std::int64_t i = 0; i < kRows * kLength; ++i) {
        in.push_back(static_cast<std::int16_t>(i % 3 == 0 ? between(-3, 3, random) : between(-32768, 32767, random)));
    }
    std::vector<std::int16_t> laid(in.size());
    const auto place = [&](std::int64_t row, std::int64_t i) {
        return static_cast<std::size_t>(by_columns ? i * kRows + row : row * kLength + i);
    };
    for (std::int64_t row = 0; row < kRows; ++row) {
        for (std::int64_t i = 0; i < kLength; ++i) { laid[place(row, i)] = static_cast<std::int16_t>(sample(in, row, i)); }
    }
    const std::vector<float> ones(static_cast<std::size_t>(taps), 1.0F);
    std::vector<std::int16_t> out(in.size());
    const core::Resolved r = core::resolve(p);
    PreparedOnHost prepared(rung, r, ones.data());
    ASSERT_EQ(prepared.make(), "") << rung.info().name;
    prepared.launch(job_of(r, out.data(), laid.data(), 0, kLength));
    for (std::int64_t row = 0; row < kRows; ++row) {
        for (std::int64_t i = 0; i < kLength; ++i) {
            std::int64_t sum = 0;
            for (std::int64_t t = 0; t < taps; ++t) { sum += sample(in, row, i + t - taps / 2); }
            ASSERT_EQ(out[place(row, i)], sum / taps) << rung.info().name << ", row " << row << ", output " << i;
        }
    }
}

TEST(SumsCutOff, AreWholeQuotients) {
    Random random(9);
    for (const std::int64_t taps : {2, 3, 7, 40}) {
        expect_means(cuda::direct_rows(), false, taps, random);
        expect_means(cuda::direct_words(), false, taps, random);
        expect_means(cuda::direct_columns(), true, taps, random);
    }
}

}  // namespace
}  // namespace tapline::test
