// Large segments (rung 29), their kernel run on the host by one block, which does all tasks in their order: rings and orders of
// tasks, rows of every number of warps, samples at the signal's ends, between two aligned ones and not finite, against sums in
// double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::overlap_save {
alignas(128) uint4 shared[test::on_host::kSharedBytes / sizeof(uint4)];
}
#include "cuda/families/overlap_save/large/overlap_save_large_cut.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_kernels.cuh"
#include "cuda/families/overlap_save/large/overlap_save_large_spectrum.cuh"
#include "support/draw.hpp"
#include "support/large_spectrum.hpp"

namespace tapline::test {
namespace {

using namespace cuda::overlap_save;

struct Case {
    std::int64_t n, k;
    int lag, slots, together_bits;
    bool alternates;
    int shift = 0;  // samples from a 16-byte boundary to the first one
    std::int64_t nan_at = -1;
    bool makes_spectrum = false;  // by the kernel that does, of taps in the order of a convolution
};

template <int kRadix, int kWarps>
void expect_right(const Case& c, std::uint64_t seed) {
    auto* const kernel = &overlap_save_large_kernel<float, kRadix, kWarps>;
    on_host::add_kernel(kernel, reinterpret_cast<char*>(cuda::overlap_save::shared));
    on_host::set_seed(seed);
    Random random(seed);
    std::vector<float4> in_vectors(static_cast<std::size_t>(c.n + c.shift) / 4 + 1);
    float* const in = reinterpret_cast<float*>(in_vectors.data()) + c.shift;
    fill_random(in, Dtype::f32, c.n, random);
    if (c.nan_at >= 0) { in[c.nan_at] = std::numeric_limits<float>::quiet_NaN(); }
    std::vector<float> taps(static_cast<std::size_t>(c.k));
    fill_random(taps.data(), Dtype::f32, c.k, random);
    std::vector<float> out(static_cast<std::size_t>(c.n), std::numeric_limits<float>::infinity());

    cuda::Arguments a{};
    a.out = out.data();
    a.in = in;
    a.taps = taps.data();
    a.count = a.out_row = a.in_last = a.in_row = a.n = c.n;
    a.out_sample = a.in_sample = a.rows = a.tiles = 1;
    a.k = c.k;
    a.origin = c.k / 2;
    a.boundary = cuda::kZero;
    a.output_type = cuda::kF32;
    a.plain_store = a.plain_layout = 1;
    a.scale = 1;

    const LargeCut cut = large_cut(cuda::fft::log2_of(32 * kRadix * 1024 * kWarps), false, c.k, a.origin);
    LargeSegments g{};
    place_segments(g, cut, a, sizeof(float));
    g.order = LargeOrder::of(c.lag, c.together_bits, c.slots, c.alternates, g.segments);
    g.real_taps = 1;
    const auto tap = [&](std::int64_t t) { return Complex(static_cast<double>(taps[static_cast<std::size_t>(t)])); };
    std::vector<Complex> tables = large_tables(kRadix, kWarps, false, false);
    const std::size_t spectrum_at = tables.size() * sizeof(float2);
    const std::vector<Complex> spectrum = in_halves(large_spectrum(tap, c.k, g.skip, kRadix, kWarps, false));
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
    std::vector<float4> points(static_cast<std::size_t>(c.slots * cut.points / 2), float4{nan, nan, nan, nan});
    g.points = points.data();
    const auto state = std::make_unique<LargeState>();
    g.state = state.get();
    void* arguments[] = {&a, &g};
    const std::vector<float> reversed(taps.rbegin(), taps.rend());
    std::vector<float> made_taps(taps.size() + 16, nan);
    std::vector<float4> made(static_cast<std::size_t>(cut.points / 2), float4{nan, nan, nan, nan});
    if (c.makes_spectrum) {
        g.given = reversed.data();
        g.reversed = 1;
        g.made_taps = made_taps.data();
        g.made_spectrum = made.data();
        g.spectrum = made.data();
        auto* const spectrum_kernel = &large_spectrum_kernel<float, kRadix, kWarps>;
        on_host::add_kernel(spectrum_kernel, reinterpret_cast<char*>(cuda::overlap_save::shared));
        on_host::run_kernel(reinterpret_cast<const void*>(spectrum_kernel), dim3(1), dim3(kTileThreads), arguments,
                            static_cast<std::size_t>(large_kernel<float, kRadix, kWarps>().shared_bytes));
        EXPECT_TRUE(std::equal(taps.begin(), taps.end(), made_taps.begin()));
    }
    on_host::run_kernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(kTileThreads), arguments,
                        static_cast<std::size_t>(large_kernel<float, kRadix, kWarps>().shared_bytes));

    std::vector<std::int64_t> looked_at{
        0, 1, c.k / 2, c.n / 2, c.n - 2, c.n - 1, c.nan_at, c.nan_at + c.k - a.origin, c.nan_at + a.origin};
    for (std::int64_t o = g.outputs; o < c.n; o += g.outputs) { looked_at.insert(looked_at.end(), {o - 1, o}); }
    for (int i = 0; i < 300; ++i) { looked_at.push_back(between(0, c.n - 1, random)); }
    double error = 0;
    double norm = 0;
    for (const std::int64_t o : looked_at) {
        if (o < 0 || o >= c.n) { continue; }
        double sum = 0;
        for (std::int64_t t = 0; t < c.k; ++t) {
            const std::int64_t at = o + t - a.origin;
            if (at >= 0 && at < c.n) { sum += double{taps[static_cast<std::size_t>(t)]} * double{in[at]}; }
        }
        const double got = out[static_cast<std::size_t>(o)];
        ASSERT_EQ(std::isnan(got), std::isnan(sum)) << "output " << o;
        if (std::isnan(sum)) { continue; }
        error += (got - sum) * (got - sum);
        norm += sum * sum;
    }
    EXPECT_LE(std::sqrt(error / norm), 5e-7) << kRadix << " x " << kWarps << ", " << g.segments << " segments";
    EXPECT_TRUE(std::none_of(out.begin(), out.end(), [](float x) { return std::isinf(x); })) << "an output that nobody wrote";
}

TEST(LargeSegmentsOnHost, RingsAndOrders) {
    expect_right<8, 1>({.n = 1900001, .k = 5001, .lag = 1, .slots = 3, .together_bits = 0, .alternates = false}, 1);
    expect_right<8, 1>({.n = 3000001, .k = 5001, .lag = 2, .slots = 5, .together_bits = 1, .alternates = true}, 2);
    expect_right<8, 1>({.n = 1900001, .k = 70001, .lag = 2, .slots = 4, .together_bits = 1, .alternates = true, .shift = 1}, 3);
}

TEST(LargeSegmentsOnHost, SpectrumOfTapsThatComeLater) {
    const auto later = [](std::int64_t n, std::int64_t k) {
        return Case{.n = n, .k = k, .lag = 1, .slots = 3, .together_bits = 0, .alternates = false, .makes_spectrum = true};
    };
    expect_right<16, 1>(later(2200001, 5001), 21);
    expect_right<16, 1>(later(1200001, 600001), 22);
    expect_right<8, 4>(later(2500001, 70001), 23);
}

TEST(LargeSegmentsOnHost, RowsOfSeveralWarps) {
    expect_right<16, 1>({.n = 2200001, .k = 5001, .lag = 1, .slots = 4, .together_bits = 1, .alternates = false}, 4);
    expect_right<8, 4>({.n = 2500001, .k = 5001, .lag = 1, .slots = 3, .together_bits = 0, .alternates = false, .shift = 2}, 5);
    expect_right<8, 8>({.n = 5000001, .k = 5001, .lag = 1, .slots = 3, .together_bits = 0, .alternates = false}, 6);
}

TEST(LargeSegmentsOnHost, NanReachesItsWindowsOnly) {
    expect_right<8, 1>({.n = 1100001, .k = 301, .lag = 1, .slots = 3, .together_bits = 0, .alternates = false, .nan_at = 600000},
                       8);
}

}  // namespace
}  // namespace tapline::test
