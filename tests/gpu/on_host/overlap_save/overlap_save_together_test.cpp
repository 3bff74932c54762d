// Large segments of rows side by side in memory (rung 29's kernel of several rows), run on the host by one block: rows of one group
// and of several, rows at multiples of half an element, what a boundary repeats, and samples that are not finite, against sums in
// double.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <memory>

#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::overlap_save {
extern uint4 shared[test::on_host::kSharedBytes / sizeof(uint4)];  // overlap_save_large_test.cpp has it
}
#include "cuda/families/overlap_save/large/overlap_save_large_cut.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_kernels.cuh"
#include "cuda/families/overlap_save/large/overlap_save_large_tables.hpp"
#include "support/draw.hpp"
#include "support/large_spectrum.hpp"

namespace tapline::test {
namespace {

using namespace cuda::overlap_save;

struct Case {
    std::int64_t rows, n, k;
    int lag, slots, together_bits;
    int shift = 0;  // real numbers from a 16-byte boundary to the first sample
    Boundary boundary = Boundary::zero;
    std::int64_t gap = 0;      // elements of a line behind its rows
    std::int64_t nan_at = -1;  // of row 1, its imaginary part
    double scale = 1;
};

void expect_right(const Case& c, std::uint64_t seed) {
    auto* const kernel = &overlap_save_large_kernel<float2, 8, 1, kRowsTogether>;
    on_host::add_kernel(kernel, reinterpret_cast<char*>(cuda::overlap_save::shared));
    on_host::set_seed(seed);
    Random random(seed);
    const std::int64_t line = c.rows + c.gap;
    const std::int64_t elements = c.n * line;
    const float inf = std::numeric_limits<float>::infinity();
    std::vector<float4> in_vectors(static_cast<std::size_t>(elements / 2 + 2));
    std::vector<float4> out_vectors(in_vectors.size(), float4{inf, inf, inf, inf});
    float* const in = reinterpret_cast<float*>(in_vectors.data()) + c.shift;
    const float* const out = reinterpret_cast<float*>(out_vectors.data()) + c.shift;
    fill_random(in, Dtype::f32, 2 * elements, random);
    if (c.nan_at >= 0) { in[2 * (c.nan_at * line + 1) + 1] = std::numeric_limits<float>::quiet_NaN(); }
    std::vector<float> taps(static_cast<std::size_t>(c.k));
    fill_random(taps.data(), Dtype::f32, c.k, random);

    cuda::Arguments a{};
    a.out = const_cast<float*>(out);
    a.in = in;
    a.taps = taps.data();
    a.count = a.in_last = a.n = c.n;
    a.in_row = a.out_row = a.tiles = 1;
    a.in_sample = a.out_sample = line;
    a.rows = c.rows;
    a.k = c.k;
    a.origin = c.k / 2;
    a.boundary = c.boundary;
    a.output_type = cuda::kComplex64;
    a.plain_store = c.scale == 1;
    a.scale = c.scale;
    ASSERT_TRUE(lie_together(a));

    const LargeCut cut = large_cut(kLeastLargeBits, true, c.k, a.origin);
    LargeSegments g{};
    place_segments(g, cut, a, sizeof(float2), kRowsTogether);
    g.order = LargeOrder::of(c.lag, c.together_bits, c.slots, false, g.segments);
    g.real_taps = 1;
    const auto tap = [&](std::int64_t t) { return Complex(static_cast<double>(taps[static_cast<std::size_t>(t)])); };
    std::vector<Complex> tables = large_tables(8, 1, true, false);
    const std::size_t spectrum_at = tables.size() * sizeof(float2);
    const std::vector<Complex> spectrum = in_halves(large_spectrum(tap, c.k, g.skip, 8, 1, true));
    tables.insert(tables.end(), spectrum.begin(), spectrum.end());
    std::vector<float4> table_vectors(tables.size() / 2 + 1);
    auto* const narrow = reinterpret_cast<float*>(table_vectors.data());
    for (std::size_t i = 0; i < tables.size(); ++i) {
        narrow[2 * i] = static_cast<float>(tables[i].real());
        narrow[2 * i + 1] = static_cast<float>(tables[i].imag());
    }
    g.tables = table_vectors.data();
    g.spectrum = reinterpret_cast<const char*>(table_vectors.data()) + spectrum_at;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float4> points(static_cast<std::size_t>(c.slots * kRowsTogether * cut.points / 2), float4{nan, nan, nan, nan});
    g.points = points.data();
    const auto state = std::make_unique<LargeState>();
    g.state = state.get();
    void* arguments[] = {&a, &g};
    on_host::run_kernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(kTileThreads), arguments,
                        static_cast<std::size_t>(large_kernel<float2, 8, 1>().shared_bytes));

    std::vector<std::int64_t> looked_at{0, 1, c.k / 2, c.n - 2, c.n - 1};
    for (std::int64_t o = g.outputs; o < c.n; o += g.outputs) { looked_at.insert(looked_at.end(), {o - 1, o}); }
    if (c.nan_at >= 0) {
        looked_at.insert(looked_at.end(), {c.nan_at, c.nan_at + a.origin - c.k, c.nan_at + a.origin, c.nan_at + a.origin + 1});
    }
    for (int i = 0; i < 40; ++i) { looked_at.push_back(between(0, c.n - 1, random)); }
    double error = 0;
    double norm = 0;
    for (std::int64_t row = 0; row < 2 * c.rows; ++row) {
        for (const std::int64_t o : looked_at) {
            if (o < 0 || o >= c.n) { continue; }
            double sum = 0;
            for (std::int64_t t = 0; t < c.k; ++t) {
                std::int64_t at = o + t - a.origin;
                if (at < 0 || at >= c.n) {
                    if (c.boundary == Boundary::zero) { continue; }
                    at = at < 0 ? 0 : c.n - 1;  // nearest
                }
                sum += double{taps[static_cast<std::size_t>(t)]} * double{in[2 * at * line + row]};
            }
            sum *= c.scale;
            const double got = out[2 * o * line + row];
            ASSERT_EQ(std::isnan(got), std::isnan(sum)) << "row " << row << ", output " << o;
            if (std::isnan(sum)) { continue; }
            error += (got - sum) * (got - sum);
            norm += sum * sum;
        }
    }
    EXPECT_LE(std::sqrt(error / norm), 5e-7) << g.segments << " segments";
    for (std::int64_t o = 0; o < c.n; ++o) {
        for (std::int64_t i = 0; i < 2 * line; ++i) {
            const bool is_written = !std::isinf(out[2 * o * line + i]);
            ASSERT_EQ(is_written, i < 2 * c.rows) << "output " << o << ", number " << i << " of its line";
        }
    }
}

TEST(LargeSegmentsTogetherOnHost, GroupsOfRows) {
    expect_right({.rows = 4, .n = 600001, .k = 5001, .lag = 1, .slots = 3, .together_bits = 0}, 31);
    expect_right({.rows = 8, .n = 270001, .k = 16385, .lag = 1, .slots = 3, .together_bits = 0, .gap = 3, .scale = 0.5}, 32);
}

TEST(LargeSegmentsTogetherOnHost, RowsAtHalfAnElement) {
    expect_right({.rows = 4, .n = 260001, .k = 5001, .lag = 1, .slots = 3, .together_bits = 0, .shift = 1}, 33);
}

TEST(LargeSegmentsTogetherOnHost, WhatABoundaryRepeats) {
    expect_right({.rows = 4, .n = 260001, .k = 5001, .lag = 1, .slots = 3, .together_bits = 0, .boundary = Boundary::nearest}, 34);
}

TEST(LargeSegmentsTogetherOnHost, NanReachesItsRowAndWindowsOnly) {
    expect_right({.rows = 4, .n = 260001, .k = 301, .lag = 1, .slots = 3, .together_bits = 0, .nan_at = 100000}, 35);
}

}  // namespace
}  // namespace tapline::test
