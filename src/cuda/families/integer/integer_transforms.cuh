// Convolution of integers by transforms in double, exact as the error of every output is proved to be below one half.
#pragma once

#include <numbers>

#include "cuda/families/integer/integer_signal.cuh"
#include "cuda/families/integer/integer_transforms.hpp"

namespace tapline::cuda::integer {

__device__ __forceinline__ double2 plus(double2 a, double2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ __forceinline__ double2 minus(double2 a, double2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ __forceinline__ double2 times(double2 a, double2 b) { return {fma(a.x, b.x, -a.y * b.y), fma(a.x, b.y, a.y * b.x)}; }
/// Times i, or -i.
template <bool kForward>
__device__ __forceinline__ double2 turned(double2 a) {
    return kForward ? double2{a.y, -a.x} : double2{-a.y, a.x};
}
template <bool kForward>
__device__ __forceinline__ double2 times_root(double2 a, double2 w) {
    return times(a, kForward ? w : double2{w.x, -w.y});
}

/// Discrete Fourier transforms in registers, in order.
template <bool kForward>
__device__ __forceinline__ void transform_4(double2& a, double2& b, double2& c, double2& d) {
    const double2 sum = plus(a, c);
    const double2 rest = minus(a, c);
    const double2 other = plus(b, d);
    const double2 turn = turned<kForward>(minus(b, d));
    a = plus(sum, other);
    b = plus(rest, turn);
    c = minus(sum, other);
    d = minus(rest, turn);
}
template <bool kForward>
__device__ __forceinline__ void transform_in_registers(double2 (&x)[8]) {
    transform_4<kForward>(x[0], x[2], x[4], x[6]);
    transform_4<kForward>(x[1], x[3], x[5], x[7]);
    constexpr double kRoot = std::numbers::sqrt2 / 2;
    const double2 odd[4] = {
        x[1],
        {kRoot * (kForward ? x[3].x + x[3].y : x[3].x - x[3].y), kRoot * (kForward ? x[3].y - x[3].x : x[3].y + x[3].x)},
        turned<kForward>(x[5]),
        {kRoot * (kForward ? x[7].y - x[7].x : -x[7].x - x[7].y), kRoot * (kForward ? -x[7].x - x[7].y : x[7].x - x[7].y)}};
    const double2 even[4] = {x[0], x[2], x[4], x[6]};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        x[i] = plus(even[i], odd[i]);
        x[i + 4] = minus(even[i], odd[i]);
    }
}
template <bool kForward>
__device__ __forceinline__ void transform_in_registers(double2 (&x)[16]) {
    constexpr double kCosine = 0.92387953251128675613;
    constexpr double kSine = 0.38268343236508977173;
    constexpr double kRoot = std::numbers::sqrt2 / 2;
#pragma unroll
    for (int i = 0; i < 4; ++i) { transform_4<kForward>(x[i], x[i + 4], x[i + 8], x[i + 12]); }
    // x[i + 4 j] times e^(-2 pi i ij/16), then across i.
    const double2 w[10] = {{}, {kCosine, -kSine}, {kRoot, -kRoot}, {kSine, -kCosine}, {0, -1}, {}, {-kRoot, -kRoot}, {},
                           {}, {-kCosine, kSine}};
#pragma unroll
    for (int i = 1; i < 4; ++i) {
#pragma unroll
        for (int j = 1; j < 4; ++j) { x[i + 4 * j] = times_root<kForward>(x[i + 4 * j], w[i * j]); }
    }
    double2 y[16];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        transform_4<kForward>(x[4 * j], x[4 * j + 1], x[4 * j + 2], x[4 * j + 3]);
#pragma unroll
        for (int m = 0; m < 4; ++m) { y[j + 4 * m] = x[4 * j + m]; }
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) { x[i] = y[i]; }
}

/// x[j] times w^j, w = roots[at], or its conjugate. Powers are products of at most three numbers of the table.
template <bool kForward, int kRadix>
__device__ __forceinline__ void twiddle(double2 (&x)[kRadix], const double2* roots, int at) {
    const double2 w1 = __ldg(roots + at);
    const double2 w2 = __ldg(roots + 2 * at);
    const double2 w4 = __ldg(roots + 4 * at);
    const double2 w3 = times(w1, w2);
    x[1] = times_root<kForward>(x[1], w1);
    x[2] = times_root<kForward>(x[2], w2);
    x[3] = times_root<kForward>(x[3], w3);
    x[4] = times_root<kForward>(x[4], w4);
    x[5] = times_root<kForward>(x[5], times(w1, w4));
    x[6] = times_root<kForward>(x[6], times(w2, w4));
    const double2 w7 = times(w3, w4);
    x[7] = times_root<kForward>(x[7], w7);
    if constexpr (kRadix == 16) {
        const double2 w8 = __ldg(roots + 8 * at);
        x[8] = times_root<kForward>(x[8], w8);
        x[9] = times_root<kForward>(x[9], times(w1, w8));
        x[10] = times_root<kForward>(x[10], times(w2, w8));
        x[11] = times_root<kForward>(x[11], times(w3, w8));
        const double2 w12 = times(w4, w8);
        x[12] = times_root<kForward>(x[12], w12);
        x[13] = times_root<kForward>(x[13], times(w1, w12));
        x[14] = times_root<kForward>(x[14], times(w2, w12));
        x[15] = times_root<kForward>(x[15], times(w7, w8));
    }
}

/// A block's transforms of 2^kBits points, which lie in shared memory with a place more after each eight.
template <int kBits>
struct BlockTransform {
    static constexpr int kPoints = 1 << kBits;
    static constexpr int kFirst = kBits == 13 ? 16 : 8;  // radix of the first pass, the last one back
    static constexpr int kItems = kPoints / 8;
    static __device__ __forceinline__ int place(int p) { return p + (p >> 3); }
    static constexpr int kPlaces = kPoints / 8 * 9;
    static_assert(kPoints / kFirst == kTransformThreads);

    /// x[j] is point thread + j * kTransformThreads; then the first pass has been taken and lies in `points`.
    static __device__ __forceinline__ void begin(double2 (&x)[kFirst], double2* points, const double2* roots) {
        const int thread = static_cast<int>(threadIdx.x);
        transform_in_registers<true>(x);
        twiddle<true>(x, roots, thread);
#pragma unroll
        for (int j = 0; j < kFirst; ++j) { points[place(thread + j * kTransformThreads)] = x[j]; }
    }
    /// The inverse of begin(), times the number of points.
    static __device__ __forceinline__ void end(double2 (&x)[kFirst], const double2* points, const double2* roots) {
        const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
        for (int j = 0; j < kFirst; ++j) { x[j] = points[place(thread + j * kTransformThreads)]; }
        twiddle<false>(x, roots, thread);
        transform_in_registers<false>(x);
    }
    /// A pass over blocks of kLength points in place. `between`: of the last one, called between both directions.
    template <bool kForward, int kLength>
    static __device__ __forceinline__ void pass(double2* points, const double2* roots) {
        constexpr int kStep = kLength / 8;
        __syncthreads();
#pragma unroll 1
        for (int i = static_cast<int>(threadIdx.x); i < kItems; i += kTransformThreads) {
            const int at = i % kStep;
            const int base = i / kStep * kLength + at;
            double2 x[8];
#pragma unroll
            for (int j = 0; j < 8; ++j) { x[j] = points[place(base + j * kStep)]; }
            if constexpr (!kForward && kStep > 1) { twiddle<false>(x, roots, at * (kPoints / kLength)); }
            transform_in_registers<kForward>(x);
            if constexpr (kForward && kStep > 1) { twiddle<true>(x, roots, at * (kPoints / kLength)); }
#pragma unroll
            for (int j = 0; j < 8; ++j) { points[place(base + j * kStep)] = x[j]; }
        }
    }
    static __device__ __forceinline__ void forward(double2* points, const double2* roots) {
        pass<true, 512>(points, roots);
        pass<true, 64>(points, roots);
        pass<true, 8>(points, roots);
    }
    static __device__ __forceinline__ void back(double2* points, const double2* roots) {
        pass<false, 8>(points, roots);
        pass<false, 64>(points, roots);
        pass<false, 512>(points, roots);
        __syncthreads();
    }
};

/// Digit `limb` of 16 bits with a sign, of a number modulo 2^64: those below it take what makes them negative from those above.
__device__ __forceinline__ double limb_of(std::int64_t x, int limb) {
    std::uint64_t rest = static_cast<std::uint64_t>(x);
    std::int16_t digit = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (i > limb) { break; }
        digit = static_cast<std::int16_t>(rest);
        rest = (rest - static_cast<std::uint64_t>(static_cast<std::int64_t>(digit))) >> 16;
    }
    return digit;
}

__device__ __forceinline__ std::uint64_t nearest(double x) { return static_cast<std::uint64_t>(__double2ll_rn(x)); }

/// Two segments of samples as they are, outputs [o, o + g.outputs) and as many more.
__global__ void __launch_bounds__(kTransformThreads, 1) transform_wholes_kernel(const __grid_constant__ Transforms g) {
    using Block = BlockTransform<points_bits(Way::whole)>;
    extern __shared__ double2 places[];
    const int thread = static_cast<int>(threadIdx.x);
    const Signal& s = g.signal;
    const LineTile tile = line_tile(s.a, s.rows, g.work, blockIdx.x);
    const std::int64_t o = tile.tile * 2 * g.outputs;
    const std::int64_t first = s.a.first - s.a.origin - s.a.in_first + o;
    double2 x[Block::kFirst];
#pragma unroll
    for (int j = 0; j < Block::kFirst; ++j) {
        const std::int64_t at = first + thread + j * kTransformThreads;
        x[j].x = static_cast<double>(sample_at(s, tile.in, at));
        x[j].y = static_cast<double>(sample_at(s, tile.in, at + g.outputs));
    }
    Block::begin(x, places, g.roots);
    Block::forward(places, g.roots);
    __syncthreads();
    const auto* const spectrum =
        reinterpret_cast<const double2*>(g.spectra + filter_of(s.rows, tile, 0) * spectrum_doubles(Way::whole));
#pragma unroll 4
    for (int p = thread; p < Block::kPoints; p += kTransformThreads) {
        double2& point = places[Block::place(p)];
        point = times(point, __ldg(spectrum + p));
    }
    Block::back(places, g.roots);
    Block::end(x, places, g.roots);
#pragma unroll
    for (int j = 0; j < Block::kFirst; ++j) {
        const std::int64_t at = thread + j * kTransformThreads;
        if (at >= g.outputs) { break; }
        if (o + at < s.a.count) { put_output(s, tile, o + at, static_cast<std::int64_t>(nearest(x[j].x))); }
        if (o + at + g.outputs < s.a.count) { put_output(s, tile, o + at + g.outputs, static_cast<std::int64_t>(nearest(x[j].y))); }
    }
}

/// What the spectra of two real signals are, a + i b having values z at a frequency and `mirrored` at its negative.
struct Parted {
    double2 a, b;
    __device__ __forceinline__ Parted(double2 z, double2 mirrored)
        : a{0.5 * (z.x + mirrored.x), 0.5 * (z.y - mirrored.y)}, b{0.5 * (z.y + mirrored.y), 0.5 * (mirrored.x - z.x)} {}
};
/// The inverse: a + i b, of which `mirrored` is the other value.
__device__ __forceinline__ double2 joined(double2 a, double2 b) { return {a.x - b.y, a.y + b.x}; }
__device__ __forceinline__ double2 joined_mirrored(double2 a, double2 b) { return {a.x + b.y, b.x - a.y}; }
__device__ __forceinline__ void add_product(double2& sum, double2 a, double2 b) {
    sum.x = fma(a.x, b.x, fma(-a.y, b.y, sum.x));
    sum.y = fma(a.x, b.y, fma(a.y, b.x, sum.y));
}

/// One segment in limbs.
template <Way kWay>
__global__ void __launch_bounds__(kTransformThreads, 1) transform_limbs_kernel(const __grid_constant__ Transforms g) {
    using Block = BlockTransform<points_bits(kWay)>;
    constexpr int kLimbs = limbs_of(kWay);
    constexpr int kSignals = kLimbs / 2;
    constexpr int kHalf = Block::kPoints / 2;
    extern __shared__ double2 places[];
    const int thread = static_cast<int>(threadIdx.x);
    const Signal& s = g.signal;
    const LineTile tile = line_tile(s.a, s.rows, g.work, blockIdx.x);
    const std::int64_t o = tile.tile * g.outputs;
    const std::int64_t first = s.a.first - s.a.origin - s.a.in_first + o;
    std::int64_t sample[Block::kFirst];
#pragma unroll
    for (int j = 0; j < Block::kFirst; ++j) { sample[j] = sample_at(s, tile.in, first + thread + j * kTransformThreads); }
    double2 x[Block::kFirst];
#pragma unroll
    for (int signal = 0; signal < kSignals; ++signal) {
#pragma unroll
        for (int j = 0; j < Block::kFirst; ++j) { x[j] = {limb_of(sample[j], 2 * signal), limb_of(sample[j], 2 * signal + 1)}; }
        Block::begin(x, places + signal * Block::kPlaces, g.roots);
    }
#pragma unroll
    for (int signal = 0; signal < kSignals; ++signal) { Block::forward(places + signal * Block::kPlaces, g.roots); }
    __syncthreads();
    const auto* const spectra = reinterpret_cast<const double2*>(g.spectra + filter_of(s.rows, tile, 0) * spectrum_doubles(kWay));
#pragma unroll 1
    for (int f = thread; f <= kHalf; f += kTransformThreads) {
        const int here = Block::place(place_of_frequency(f, points_bits(kWay)));
        const int there = Block::place(place_of_frequency((Block::kPoints - f) % Block::kPoints, points_bits(kWay)));
        double2 limb[kLimbs];
        double2 h[kLimbs];
#pragma unroll
        for (int signal = 0; signal < kSignals; ++signal) {
            const Parted parted(places[here + signal * Block::kPlaces], places[there + signal * Block::kPlaces]);
            limb[2 * signal] = parted.a;
            limb[2 * signal + 1] = parted.b;
        }
#pragma unroll
        for (int l = 0; l < kLimbs; ++l) { h[l] = __ldg(spectra + l * (kHalf + 1) + f); }
#pragma unroll
        for (int signal = 0; signal < kSignals; ++signal) {
            double2 w[2] = {};
#pragma unroll
            for (int part = 0; part < 2; ++part) {
#pragma unroll
                for (int l = 0; l <= 2 * signal + part; ++l) { add_product(w[part], limb[l], h[2 * signal + part - l]); }
            }
            places[here + signal * Block::kPlaces] = joined(w[0], w[1]);
            places[there + signal * Block::kPlaces] = joined_mirrored(w[0], w[1]);
        }
    }
    std::uint64_t sum[Block::kFirst] = {};
#pragma unroll
    for (int signal = 0; signal < kSignals; ++signal) {
        double2* const own = places + signal * Block::kPlaces;
        Block::back(own, g.roots);
        Block::end(x, own, g.roots);
#pragma unroll
        for (int j = 0; j < Block::kFirst; ++j) { sum[j] += (nearest(x[j].x) + (nearest(x[j].y) << 16)) << (32 * signal); }
    }
#pragma unroll
    for (int j = 0; j < Block::kFirst; ++j) {
        const std::int64_t at = thread + j * kTransformThreads;
        if (at >= g.outputs || o + at >= s.a.count) { break; }
        const std::int64_t value =
            kWay == Way::two ? static_cast<std::int64_t>(static_cast<std::int32_t>(sum[j])) : static_cast<std::int64_t>(sum[j]);
        put_output(s, tile, o + at, value);
    }
}

}  // namespace tapline::cuda::integer
