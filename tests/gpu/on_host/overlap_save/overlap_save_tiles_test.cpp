// Segments of any layout (rung 27), their kernel run on the host by one block: rows that go together, straight from memory or by
// way of shared memory, at edges of every kind, widened, with a NaN in one of them, against sums in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::overlap_save {
alignas(128) uint4 tiles_shared[test::on_host::kSharedBytes / sizeof(uint4)];
}
#include "cuda/families/overlap_save/overlap_save_tables.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_ahead.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_tiles.cuh"
#include "support/draw.hpp"

namespace tapline::test {
namespace {

using namespace cuda::overlap_save;

struct Case {
    std::int64_t n, k, rows;
    int lines, teams = 1;
    Boundary boundary = cuda::kZero;
    bool staged = false;
    std::int64_t batch = 1;  // such groups of rows, one after the other
    bool block_spectrum = true;
    std::int64_t nan_at = -1;  // of row 1
    bool to_double = false;    // outputs, whose sums are f32
    bool turned = false;       // outputs: row after row
    int staged_bytes = 16;     // at a time
    bool own = false;          // filters, of each row of each group
};

std::int64_t index_at(Boundary boundary, std::int64_t at, std::int64_t n) {
    if (at >= 0 && at < n) { return at; }
    if (boundary == cuda::kNearest) { return at < 0 ? 0 : n - 1; }
    if (boundary == cuda::kWrap) { return (at % n + n) % n; }
    if (boundary == cuda::kReflect) {
        const std::int64_t i = (at % (2 * n) + 2 * n) % (2 * n);
        return i < n ? i : 2 * n - 1 - i;
    }
    if (boundary == cuda::kMirror) {
        const std::int64_t period = std::max<std::int64_t>(2 * n - 2, 1);
        const std::int64_t i = (at % period + period) % period;
        return i < n ? i : period - i;
    }
    return -1;
}

// As segments take them, rounded to the type of points.
template <class Real>
std::vector<Real> rounded(const std::vector<Complex>& points) {
    std::vector<Real> all;
    for (const Complex& point : points) {
        all.push_back(static_cast<Real>(point.real()));
        all.push_back(static_cast<Real>(point.imag()));
    }
    return all;
}

// Raw: how samples lie in memory; X: their sums.
template <class X, int kWarps, class Raw = typename cuda::Element<X>::Real, bool kAhead = false>
void expect_right(const Case& c, std::uint64_t seed) {
    using T = typename cuda::Element<X>::Real;
    using Sizes = Shape<T, kWarps>;
    constexpr bool kComplex = cuda::kIsComplexElement<X>;
    constexpr int kParts = kComplex ? 2 : 1;
    constexpr bool kWide = sizeof(T) == 8;
    constexpr bool kCouples = Sizes::kTwiddleTable && kInCouples<typename PointOf<T>::Type>;
    auto* const kernel = &overlap_save_tiles_kernel<X, kWarps, Sizes, kAhead>;
    on_host::add_kernel(kernel, reinterpret_cast<char*>(tiles_shared));
    on_host::set_seed(seed);
    Random random(seed);
    const std::int64_t all = c.batch * c.n * c.rows;
    std::vector<uint4> in_vectors(static_cast<std::size_t>(all * kParts) * sizeof(Raw) / sizeof(uint4) + 1);
    Raw* const in = reinterpret_cast<Raw*>(in_vectors.data());
    for (std::int64_t i = 0; i < all * kParts; ++i) { in[i] = static_cast<Raw>(between(-1000, 1000, random)); }
    if constexpr (std::is_same_v<Raw, T>) {
        if (c.nan_at >= 0) { in[(c.nan_at * c.rows + 1) * kParts] = std::numeric_limits<T>::quiet_NaN(); }
    }
    const std::int64_t filters = c.own ? c.batch * c.rows : 1;
    std::vector<T> taps(static_cast<std::size_t>(c.k * filters));
    for (T& tap : taps) { tap = static_cast<T>(between(-100, 100, random)) / 100; }
    std::vector<X> out(static_cast<std::size_t>(all));
    std::fill_n(reinterpret_cast<T*>(out.data()), all * kParts, std::numeric_limits<T>::infinity());

    cuda::Arguments a{};
    a.out = out.data();
    a.in = in;
    a.taps = taps.data();
    a.count = a.in_last = a.n = c.n;
    a.in_sample = c.rows;
    a.out_sample = c.turned ? 1 : c.rows;
    a.k = c.k;
    a.origin = c.k / 2;
    a.boundary = c.boundary;
    a.constant_real = 7;
    a.output_type = cuda::kOwnType<X>;
    a.plain_store = 1;
    a.scale = 1;
    const int samples = (kComplex ? 1 : 2) * kPoints * kWarps;
    Segments g{};
    g.skip = 5;
    g.outputs = (samples - static_cast<int>(c.k - 1) - g.skip) / 32 * 32;
    g.used = g.skip + g.outputs + static_cast<int>(c.k - 1);
    g.start = -a.origin - g.skip;
    g.segments = static_cast<int>((c.n + g.outputs - 1) / g.outputs);
    g.real_taps = 1;
    g.staged = c.staged || kAhead ? c.staged_bytes : 0;
    for (std::size_t i = 0; i < sizeof g.rows.constant / sizeof(Raw); ++i) {
        const bool is_imaginary = kComplex && i % 2 == 1;
        const Raw part = static_cast<Raw>(is_imaginary ? 0 : a.constant_real);
        std::memcpy(g.rows.constant + i * sizeof(Raw), &part, sizeof(Raw));
    }
    g.filter_bytes = c.k * static_cast<std::int64_t>(sizeof(T));
    g.spectrum_row = c.own ? kPoints * kWarps : 0;
    g.row_steps.near = c.own ? 1 : 0;
    g.row_steps.others[0] = c.own ? c.rows : 0;
    g.out_by_lines = c.turned ? 1 : 0;
    g.near_first = c.rows > 1 ? 1 : 0;
    g.spectrum_in_block = c.block_spectrum ? 1 : 0;
    cuda::Rows& rows = g.rows;
    rows.near = {c.rows, 1, c.turned ? c.n : 1};
    for (cuda::RowAxis& axis : rows.others) { axis = {}; }
    rows.others[0] = {c.batch, c.n * c.rows, c.n * c.rows};
    rows.filters = filters;
    rows.lines = c.lines;
    rows.near_tiles = (c.rows + c.lines - 1) / c.lines;
    rows.tiles = rows.near_tiles * g.segments * c.batch;
    rows.input_type = std::is_same_v<Raw, std::int16_t>   ? cuda::kI16
                      : std::is_same_v<Raw, std::int32_t> ? cuda::kI32
                                                          : cuda::kOwnType<X>;
    rows.input_bytes = static_cast<int>(sizeof(Raw)) * kParts;
    rows.output_bytes = static_cast<int>(sizeof(X));
    std::vector<double> doubles(out.size());
    if (c.to_double) {
        a.out = doubles.data();
        a.output_type = cuda::kF64;
        rows.output_bytes = 8;
    }
    std::int64_t left = c.teams;
    const std::array<std::int64_t, 3> radix{g.near_first != 0 ? rows.near_tiles : g.segments,
                                            g.near_first != 0 ? g.segments : rows.near_tiles, c.batch};
    for (std::size_t i = 0; i < radix.size(); ++i) {
        g.after[i] = static_cast<int>(left % radix.at(i));
        left /= radix.at(i);
    }
    ASSERT_EQ(rows.tiles % c.teams, 0) << "all threads of a block wait together here";
    if (c.staged && !kAhead) { ASSERT_EQ(c.lines, (staged_lines<X, kWarps, Sizes>())); }

    const auto in_order = [&](const std::vector<Complex>& points) {
        const std::vector<Complex> factors = as_tangents(turn_rows(points, kWarps, kComplex), kWide);
        return kCouples ? in_couples(factors) : factors;
    };
    std::vector<Complex> tables = pairs_of_warps(kWarps, kComplex, kCouples);
    const auto append = [&](const std::vector<Complex>& more) { tables.insert(tables.end(), more.begin(), more.end()); };
    append(in_order(Sizes::kTwiddleTable ? twiddles_of(kWarps, kComplex, true) : twiddles_in_rows(kWarps, kComplex)));
    for (std::int64_t f = 0; f < filters; ++f) {
        const auto tap = [&](std::int64_t t) { return Complex(static_cast<double>(taps[static_cast<std::size_t>(f * c.k + t)])); };
        append(in_order(undo_lanes(Spectra(kWarps, kComplex).of(tap, c.k, g.skip), kWarps, kComplex)));
    }
    const std::vector<T> of_kernel = rounded<T>(tables);
    std::vector<uint4> table_vectors(of_kernel.size() * sizeof(T) / sizeof(uint4) + 1);
    std::memcpy(table_vectors.data(), of_kernel.data(), of_kernel.size() * sizeof(T));
    g.tables = table_vectors.data();

    constexpr SharedLayout kLayout = tiles_layout<Sizes, kWarps, typename PointOf<T>::Type>();
    const int bytes = kLayout.segments + c.teams * c.lines * kLayout.segment_bytes +
                      (c.block_spectrum ? kPoints * kWarps * 2 * static_cast<int>(sizeof(T)) : 0) + (kAhead ? kAheadStageBytes : 0);
    void* arguments[] = {&a, &g};
    on_host::run_kernel(reinterpret_cast<const void*>(kernel), dim3(1),
                        dim3(static_cast<unsigned>(32 * kWarps * c.lines * c.teams)), arguments, static_cast<std::size_t>(bytes));
    if (c.to_double) { std::copy(doubles.begin(), doubles.end(), reinterpret_cast<T*>(out.data())); }

    double error = 0;
    double norm = 0;
    for (std::int64_t group = 0; group < c.batch; ++group) {
        for (std::int64_t row = 0; row < c.rows; ++row) {
            for (std::int64_t o = 0; o<c.n; o += o> 40 && o < c.n - 40 ? 7 : 1) {
                Complex sum = 0;
                for (std::int64_t t = 0; t < c.k; ++t) {
                    const std::int64_t at = index_at(c.boundary, o + t - a.origin, c.n);
                    Complex x = c.boundary == cuda::kConstant ? 7 : 0;
                    if (at >= 0) {
                        const Raw* const one = in + ((group * c.n + at) * c.rows + row) * kParts;
                        x = {static_cast<double>(one[0]), kComplex ? static_cast<double>(one[kParts - 1]) : 0.0};
                    }
                    const std::int64_t filter = c.own ? group * c.rows + row : 0;
                    sum += x * static_cast<double>(taps[static_cast<std::size_t>(filter * c.k + t)]);
                }
                const std::int64_t to = c.turned ? (group * c.rows + row) * c.n + o : (group * c.n + o) * c.rows + row;
                const T* const got = reinterpret_cast<const T*>(&out[static_cast<std::size_t>(to)]);
                ASSERT_EQ(std::isnan(got[0]), std::isnan(sum.real())) << "row " << row << ", output " << o;
                if (std::isnan(sum.real())) { continue; }
                error += std::norm(sum - Complex(got[0], kComplex ? static_cast<double>(got[kParts - 1]) : 0.0));
                norm += std::norm(sum);
            }
        }
    }
    EXPECT_LE(std::sqrt(error / norm), kWide ? 1e-15 : 5e-7) << kWarps << " warps, " << g.segments << " segments";
}

TEST(TilesOnHost, OneWarpASegment) {
    expect_right<float, 1>({.n = 3001, .k = 301, .rows = 8, .lines = 8}, 1);
    expect_right<float, 1>({.n = 3001, .k = 301, .rows = 5, .lines = 3, .boundary = cuda::kReflect, .batch = 2}, 2);
    expect_right<float, 1>({.n = 2001, .k = 100, .rows = 1, .lines = 1, .teams = 2, .boundary = cuda::kWrap, .batch = 2}, 3);
    expect_right<float, 1>({.n = 3001, .k = 801, .rows = 8, .lines = 4, .teams = 2, .block_spectrum = false}, 4);
    expect_right<float2, 1>({.n = 1501, .k = 301, .rows = 4, .lines = 4, .boundary = cuda::kNearest}, 5);
    expect_right<double, 1>({.n = 2501, .k = 301, .rows = 3, .lines = 3, .boundary = cuda::kConstant}, 6);
}

// What a boundary repeats of signals shorter than their filters turns more than once.
TEST(TilesOnHost, RepeatsManyTimes) {
    for (const auto boundary : {cuda::kNearest, cuda::kReflect, cuda::kMirror, cuda::kWrap}) {
        expect_right<float, 1>({.n = 201, .k = 1301, .rows = 3, .lines = 3, .boundary = boundary}, 91);
        expect_right<float, 1, std::int16_t>({.n = 57, .k = 801, .rows = 2, .lines = 2, .boundary = boundary}, 92);
    }
    expect_right<float2, 2>({.n = 2, .k = 601, .rows = 2, .lines = 2, .boundary = cuda::kMirror}, 93);
    expect_right<double, 1>({.n = 1, .k = 301, .rows = 3, .lines = 3, .boundary = cuda::kMirror}, 94);
}

// Of one team, which fetches its own samples.
TEST(TilesOnHost, SamplesThatComeAhead) {
    expect_right<float, 1, float, true>({.n = 3001, .k = 301, .rows = 8, .lines = 8, .boundary = cuda::kReflect}, 7);
    expect_right<float2, 1, float, true>({.n = 1501, .k = 301, .rows = 6, .lines = 4, .boundary = cuda::kWrap, .batch = 2}, 8);
    expect_right<float, 1, std::int16_t, true>({.n = 2001, .k = 99, .rows = 8, .lines = 8, .block_spectrum = false}, 9);
    expect_right<float, 1, float, true>({.n = 3001, .k = 301, .rows = 12, .lines = 8, .boundary = cuda::kConstant}, 10);
    expect_right<float2, 1, float, true>({.n = 1501, .k = 301, .rows = 4, .lines = 4, .boundary = cuda::kConstant}, 80);
    expect_right<float, 1, float, true>({.n = 3001, .k = 301, .rows = 14, .lines = 8, .staged_bytes = 8}, 84);
    expect_right<float, 1, float, true>(
        {.n = 3001, .k = 301, .rows = 15, .lines = 8, .boundary = cuda::kReflect, .batch = 2, .staged_bytes = 4}, 85);
    expect_right<float, 1, float, true>({.n = 2001, .k = 99, .rows = 7, .lines = 8, .boundary = cuda::kConstant, .staged_bytes = 4},
                                        86);
    expect_right<float2, 1, float, true>({.n = 1501, .k = 301, .rows = 5, .lines = 4, .boundary = cuda::kWrap, .staged_bytes = 8},
                                         87);
    expect_right<float, 1, std::int16_t, true>({.n = 2001, .k = 99, .rows = 14, .lines = 8, .staged_bytes = 4}, 88);
}

TEST(TilesOnHost, OutputsRowAfterRow) {
    expect_right<float, 1>({.n = 3001, .k = 301, .rows = 5, .lines = 3, .boundary = cuda::kReflect, .turned = true}, 71);
    expect_right<float, 1>({.n = 3001, .k = 801, .rows = 8, .lines = 4, .teams = 2, .nan_at = 1700, .turned = true}, 72);
    expect_right<float, 2>({.n = 5001, .k = 1301, .rows = 8, .lines = 8, .staged = true, .batch = 2, .turned = true}, 73);
    expect_right<float2, 2>({.n = 3001, .k = 601, .rows = 4, .lines = 4, .turned = true}, 74);
    expect_right<float, 4>({.n = 9001, .k = 2301, .rows = 3, .lines = 2, .to_double = true, .turned = true}, 75);
    expect_right<double, 1>({.n = 2501, .k = 301, .rows = 3, .lines = 3, .boundary = cuda::kConstant, .turned = true}, 76);
}

TEST(TilesOnHost, TwoWarpsASegment) {
    expect_right<float, 2>({.n = 5001, .k = 1301, .rows = 3, .lines = 3}, 11);
    expect_right<float, 2>({.n = 5001, .k = 1301, .rows = 12, .lines = 8, .staged = true}, 12);
    expect_right<float, 2>({.n = 3001, .k = 1301, .rows = 8, .lines = 8, .boundary = cuda::kReflect, .staged = true, .batch = 2},
                           13);
    expect_right<float2, 2>({.n = 3001, .k = 601, .rows = 4, .lines = 4, .boundary = cuda::kNearest, .staged = true}, 14);
    expect_right<float2, 2>({.n = 3001, .k = 601, .rows = 2, .lines = 2, .block_spectrum = false}, 15);
    expect_right<float, 2>({.n = 3001, .k = 1301, .rows = 12, .lines = 8, .boundary = cuda::kConstant, .staged = true}, 81);
    expect_right<float, 2, std::int16_t>({.n = 5001, .k = 1301, .rows = 8, .lines = 8, .boundary = cuda::kConstant, .staged = true},
                                         82);
}

// Rows that lie on 8 bytes only.
TEST(TilesOnHost, SamplesInPieces) {
    expect_right<float, 2>({.n = 5001, .k = 1301, .rows = 14, .lines = 8, .staged = true, .staged_bytes = 8}, 16);
    expect_right<float, 2>(
        {.n = 3001, .k = 1301, .rows = 10, .lines = 8, .boundary = cuda::kReflect, .staged = true, .batch = 2, .staged_bytes = 8},
        17);
    expect_right<double, 2>({.n = 5001, .k = 301, .rows = 5, .lines = 4, .staged = true, .staged_bytes = 8}, 18);
    expect_right<float, 4>(
        {.n = 9001, .k = 2301, .rows = 6, .lines = 4, .boundary = cuda::kWrap, .staged = true, .staged_bytes = 8}, 24);
    expect_right<float, 4>(
        {.n = 9001, .k = 2301, .rows = 6, .lines = 4, .boundary = cuda::kConstant, .staged = true, .staged_bytes = 8}, 83);
}

TEST(TilesOnHost, FiltersAlongSeveralAxes) {
    expect_right<float, 1>(
        {.n = 3001, .k = 301, .rows = 5, .lines = 3, .batch = 2, .block_spectrum = false, .nan_at = 1700, .own = true}, 61);
    expect_right<float, 2>(
        {.n = 3001, .k = 1301, .rows = 8, .lines = 8, .staged = true, .batch = 2, .block_spectrum = false, .own = true}, 62);
    expect_right<float, 4>({.n = 9001, .k = 2301, .rows = 3, .lines = 2, .batch = 3, .block_spectrum = false, .own = true}, 63);
}

TEST(TilesOnHost, ManyWarpsASegment) {
    expect_right<float, 4>({.n = 9001, .k = 2301, .rows = 4, .lines = 4, .boundary = cuda::kWrap, .staged = true}, 21);
    expect_right<float, 4>({.n = 9001, .k = 2301, .rows = 3, .lines = 2}, 22);
    expect_right<float, 8>({.n = 16001, .k = 4301, .rows = 2, .lines = 2, .boundary = cuda::kNearest, .block_spectrum = false}, 23);
}

TEST(TilesOnHost, SamplesThatAreWidened) {
    expect_right<float, 1, std::int16_t>({.n = 3001, .k = 301, .rows = 3, .lines = 3, .boundary = cuda::kReflect}, 31);
    expect_right<float, 2, std::int16_t>({.n = 5001, .k = 1301, .rows = 8, .lines = 8, .staged = true}, 32);
}

TEST(TilesOnHost, RareTypesPassThroughSharedMemory) {
    expect_right<float, 1, std::int32_t>({.n = 3001, .k = 301, .rows = 5, .lines = 3, .teams = 2, .boundary = cuda::kReflect}, 51);
    expect_right<float, 2, std::int32_t>({.n = 5001, .k = 1301, .rows = 3, .lines = 3, .to_double = true}, 52);
    expect_right<float, 4>({.n = 9001, .k = 2301, .rows = 3, .lines = 2, .to_double = true}, 53);
}

TEST(TilesOnHost, NanReachesItsWindowOfItsRowOnly) {
    expect_right<float, 1>({.n = 3001, .k = 301, .rows = 8, .lines = 8, .nan_at = 1700}, 41);
    expect_right<float, 2>({.n = 5001, .k = 1301, .rows = 8, .lines = 8, .staged = true, .nan_at = 2500}, 42);
}

}  // namespace
}  // namespace tapline::test
