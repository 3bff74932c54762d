// Long segments (rung 46), their kernels run on the host: short ones, whose parts are convolved here, of every kind of samples and
// taps, against sums in double; and parts of 2^18 points by the kernels of large segments.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::overlap_save {
extern uint4 shared[test::on_host::kSharedBytes / sizeof(uint4)];
}
#include "cuda/families/overlap_save/large/overlap_save_large_cut.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_kernels.cuh"
#include "cuda/families/overlap_save/large/overlap_save_large_spectrum.cuh"
#include "cuda/families/overlap_save/large/overlap_save_large_tables.hpp"
#include "cuda/families/overlap_save/long/overlap_save_long.cuh"
#include "support/draw.hpp"

namespace tapline::test {
namespace {

using namespace cuda::overlap_save;
using cuda::Element;
using cuda::kIsComplexElement;

constexpr int kPartBits = 8;
constexpr int kPart = 1 << kPartBits;
constexpr int kPoints = kPart * kParts;

struct Case {
    std::int64_t n, k, origin;
    Boundary boundary = Boundary::zero;
    std::int64_t stride = 1;
    std::int64_t nan_at = -1;
    double loud = 1;  // a stretch of samples is so much larger
    bool conjugated = false;
};

template <class X>
std::complex<double> wide(const X& x) {
    if constexpr (kIsComplexElement<X>) {
        return {static_cast<double>(x.x), static_cast<double>(x.y)};
    } else {
        return static_cast<double>(x);
    }
}

template <class Kernel, class... Arguments>
void run(Kernel* kernel, Arguments... arguments) {
    on_host::add_kernel(kernel, nullptr);
    void* pointers[] = {&arguments...};
    on_host::run_kernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(kLongThreads), pointers, 0);
}

template <class S, class H>
void expect_right(const Case& c, std::uint64_t seed) {
    using T = typename Element<S>::Real;
    using Point = typename PointOf<T>::Type;
    constexpr bool kPairs = !kIsComplexElement<S>;
    constexpr int kSamples = kPairs ? 2 * kPoints : kPoints;
    on_host::set_seed(seed);
    Random random(seed);
    const Dtype real = sizeof(T) == 8 ? Dtype::f64 : Dtype::f32;
    std::vector<S> in(static_cast<std::size_t>(c.n * c.stride));
    fill_random(in.data(), real, c.n * c.stride * static_cast<std::int64_t>(sizeof(S) / sizeof(T)), random);
    auto* const numbers = reinterpret_cast<T*>(in.data());
    for (std::int64_t i = c.n / 3; i < c.n / 2; ++i) { numbers[i] *= static_cast<T>(c.loud); }
    if (c.nan_at >= 0) {
        *reinterpret_cast<T*>(&in[static_cast<std::size_t>(c.nan_at * c.stride)]) = std::numeric_limits<T>::infinity();
    }
    std::vector<H> taps(static_cast<std::size_t>(c.k));
    fill_random(taps.data(), real, c.k * static_cast<std::int64_t>(sizeof(H) / sizeof(T)), random);
    const T nan = std::numeric_limits<T>::quiet_NaN();
    std::vector<S> out(static_cast<std::size_t>(c.n));

    cuda::Arguments a{};
    a.out = out.data();
    a.in = in.data();
    a.taps = taps.data();
    a.count = a.in_last = a.n = c.n;
    a.out_row = a.in_row = c.n;
    a.in_sample = c.stride;
    a.out_sample = a.rows = 1;
    a.k = c.k;
    a.origin = c.origin;
    a.boundary = c.boundary;
    a.output_type = kPairs ? real : sizeof(T) == 8 ? cuda::kComplex128 : cuda::kComplex64;
    a.plain_store = 1;
    a.plain_layout = c.stride == 1;
    a.scale = 1;

    const auto state = std::make_unique<LongState>();
    std::vector<Point> points(kPoints, Point{nan, nan});
    std::vector<Point> split_taps(kPoints, Point{nan, nan});
    LongSegment g{};
    g.state = state.get();
    g.part_bits = kPartBits;
    g.skip = 3;
    const int outputs = static_cast<int>(kSamples - (c.k - 1) - g.skip);
    ASSERT_LE(c.n, outputs + 100) << "one segment";
    g.wanted = static_cast<int>(std::min<std::int64_t>(outputs, c.n));
    g.used = static_cast<int>(g.skip + g.wanted + c.k - 1);
    g.start = -c.origin - g.skip;
    g.real_taps = !kIsComplexElement<H>;
    g.scale = 1;
    {
        LongSegment of_taps = g;
        of_taps.points = split_taps.data();
        of_taps.start = -g.skip;
        of_taps.used = kSamples;
        of_taps.of_taps = 1;
        of_taps.scale = 1.0 / kParts;
        cuda::Arguments b = a;
        b.in = taps.data();
        b.in_sample = 1;
        b.in_last = b.n = c.k;
        run(&long_split_kernel<H, T, kPairs>, b, of_taps);
    }
    g.points = points.data();
    for (g.again = 0; g.again < 2; ++g.again) {
        g.scale = g.again == 0 ? 1 : 0x1p-64;
        run(&long_split_kernel<S, T, kPairs>, a, g);
        if (g.again == 0 || state->overflown != 0) {
            for (int part = 0; part < kParts; ++part) {
                const Point* const x = points.data() + part * kPart;
                std::vector<Point> sums(kPart);
                for (int o = 0; o < kPart; ++o) {
                    std::complex<double> sum = 0;
                    for (int t = 0; t < kPart; ++t) {
                        sum += std::conj(wide(split_taps[static_cast<std::size_t>(part * kPart + t)])) * wide(x[(o + t) % kPart]);
                    }
                    sums[static_cast<std::size_t>(o)] = {static_cast<T>(sum.real()), static_cast<T>(sum.imag())};
                }
                std::copy(sums.begin(), sums.end(), points.begin() + part * kPart);
            }
        }
        run(&long_join_kernel<S, kPairs>, a, g);
    }
    EXPECT_EQ(state->overflown != 0, c.loud > 1e30);
    EXPECT_EQ(state->bad != 0, c.nan_at >= 0);

    double error = 0;
    double norm = 0;
    for (std::int64_t o = 0; o < g.wanted; ++o) {
        std::complex<double> sum = 0;
        for (std::int64_t t = 0; t < c.k; ++t) {
            std::int64_t at = o + t - c.origin;
            if (c.boundary == Boundary::wrap) { at = (at % c.n + c.n) % c.n; }
            if (at < 0 || at >= c.n) { continue; }
            const std::complex<double> x = wide(in[static_cast<std::size_t>(at * c.stride)]);
            const std::complex<double> h = wide(taps[static_cast<std::size_t>(t)]);
            sum += std::complex<double>(x.real() * h.real() - x.imag() * h.imag(), x.real() * h.imag() + x.imag() * h.real());
        }
        const std::complex<double> got = wide(out[static_cast<std::size_t>(o)]);
        if (std::abs(sum.real()) > 1e300 || std::isnan(sum.real())) {
            ASSERT_FALSE(std::isfinite(got.real())) << "output " << o;
            continue;
        }
        error += std::norm(got - sum);
        norm += std::norm(sum);
    }
    EXPECT_LE(std::sqrt(error / norm), sizeof(T) == 8 ? 5e-15 : 5e-7);
}

TEST(LongSegmentsOnHost, SamplesAndTapsOfEveryKind) {
    expect_right<float, float>({.n = 12001, .k = 3001, .origin = 1000}, 1);
    expect_right<float, float>({.n = 9000, .k = 7000, .origin = 6999}, 2);
    expect_right<double, double>({.n = 9000, .k = 7000, .origin = 0}, 3);
    expect_right<float2, float2>({.n = 5001, .k = 3001, .origin = 17}, 4);
    expect_right<float2, float>({.n = 5001, .k = 3001, .origin = 3000}, 5);
    expect_right<double2, double2>({.n = 6000, .k = 2001, .origin = 1000}, 6);
}

TEST(LongSegmentsOnHost, BoundariesAndStrides) {
    expect_right<float, float>({.n = 9000, .k = 5001, .origin = 2500, .boundary = Boundary::wrap}, 7);
    expect_right<float, float>({.n = 9000, .k = 5001, .origin = 2500, .stride = 3}, 8);
}

TEST(LongSegmentsOnHost, InfinityAndOverflow) {
    expect_right<float, float>({.n = 9000, .k = 501, .origin = 250, .nan_at = 4000}, 9);
    expect_right<float2, float>({.n = 5000, .k = 501, .origin = 250, .nan_at = 4000}, 10);
    expect_right<float, float>({.n = 9000, .k = 101, .origin = 50, .loud = 5e36}, 11);
}

// Two parts, each with a spectrum of its own, by the kernels of large segments: cyclic, in place.
TEST(LongSegmentsOnHost, PartsByLargeSegments) {
    using Tile = Columns<float2, 8, 1>;
    constexpr std::int64_t kM = Tile::kM;
    constexpr int kCount = 2;
    Random random(12);
    std::vector<float4> in_vectors(kCount * kM / 2);
    std::vector<float4> taps_vectors(kCount * kM / 2);
    auto* const in = reinterpret_cast<float2*>(in_vectors.data());
    auto* const taps = reinterpret_cast<float2*>(taps_vectors.data());
    fill_random(in, Dtype::complex64, kCount * kM, random);
    fill_random(taps, Dtype::complex64, kCount * kM, random);
    const std::vector<float2> samples(in, in + kCount * kM);
    const std::vector<float2> given(taps, taps + kCount * kM);
    const std::vector<Complex> exact = large_tables(8, 1, true, false);
    std::vector<float4> tables(exact.size() / 2 + 1);
    for (std::size_t i = 0; i < exact.size(); ++i) {
        reinterpret_cast<float2*>(tables.data())[i] = {static_cast<float>(exact[i].real()), static_cast<float>(exact[i].imag())};
    }
    const auto state = std::make_unique<LargeState>();
    std::vector<float4> ring(3 * kM / 2);
    const int shared_bytes = large_kernel<float2, 8, 1>().shared_bytes;
    {
        cuda::Arguments a{};
        a.k = kM;
        LargeSegments g{};
        g.tables = tables.data();
        g.state = state.get();
        g.given = g.made_spectrum = taps;
        g.conjugated = 1;
        g.spectra = kCount;
        auto* const kernel = &large_spectrum_kernel<float2, 8, 1>;
        on_host::add_kernel(kernel, reinterpret_cast<char*>(cuda::overlap_save::shared));
        void* arguments[] = {&a, &g};
        on_host::run_kernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(kTileThreads), arguments,
                            static_cast<std::size_t>(shared_bytes));
    }
    *state = {};
    cuda::Arguments a{};
    a.in = in;
    a.out = in;
    a.count = a.in_last = a.n = a.in_row = a.out_row = kM;
    a.in_sample = a.out_sample = 1;
    a.rows = kCount;
    a.boundary = cuda::kZero;
    a.scale = 1;
    a.plain_store = a.plain_layout = 1;
    LargeSegments g{};
    g.tables = tables.data();
    g.spectrum = taps;
    g.points = ring.data();
    g.state = state.get();
    g.segments = kCount;
    g.of_row = g.inner_last = 1;
    g.outputs = g.used = kM;
    g.order = LargeOrder::of(1, 0, 3, false, kCount);
    g.plain = g.aligned = g.paired = g.are_parts = 1;
    g.spectra_mask = kCount - 1;
    auto* const kernel = &overlap_save_large_kernel<float2, 8, 1>;
    on_host::add_kernel(kernel, reinterpret_cast<char*>(cuda::overlap_save::shared));
    void* arguments[] = {&a, &g};
    const unsigned never = 0;
    g.only_if = &never;
    on_host::run_kernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(kTileThreads), arguments,
                        static_cast<std::size_t>(shared_bytes));
    EXPECT_TRUE(std::memcmp(samples.data(), in, samples.size() * sizeof(float2)) == 0) << "nothing to do";
    g.only_if = nullptr;
    on_host::run_kernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(kTileThreads), arguments,
                        static_cast<std::size_t>(shared_bytes));
    double error = 0;
    double norm = 0;
    for (int i = 0; i < 60; ++i) {
        const std::int64_t o = i < 4 ? i / 2 * (kM - 1) + i % 2 * kM : between(0, kCount * kM - 1, random);
        const std::int64_t part = o / kM * kM;
        std::complex<double> sum = 0;
        for (std::int64_t t = 0; t < kM; ++t) {
            sum += std::conj(wide(given[static_cast<std::size_t>(part + t)])) *
                   wide(samples[static_cast<std::size_t>(part + (o + t) % kM)]);
        }
        error += std::norm(wide(in[o]) - sum);
        norm += std::norm(sum);
    }
    EXPECT_LE(std::sqrt(error / norm), 5e-7);
}

}  // namespace
}  // namespace tapline::test
