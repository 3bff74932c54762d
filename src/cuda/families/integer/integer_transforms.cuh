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

/// The powers 1, 2, 4 and 8 of w = roots[at] that others are products of, at most three of them.
struct Powers {
    double2 w1, w2, w4, w8;
    template <int kRadix>
    static __device__ __forceinline__ Powers of(const double2* roots, int at) {
        Powers p{__ldg(roots + at), __ldg(roots + 2 * at), __ldg(roots + 4 * at), {}};
        if constexpr (kRadix == 16) { p.w8 = __ldg(roots + 8 * at); }
        return p;
    }
};

/// x[j] times w^j, or its conjugate.
template <bool kForward, int kRadix>
__device__ __forceinline__ void twiddle(double2 (&x)[kRadix], const Powers& p) {
    const double2 w3 = times(p.w1, p.w2);
    x[1] = times_root<kForward>(x[1], p.w1);
    x[2] = times_root<kForward>(x[2], p.w2);
    x[3] = times_root<kForward>(x[3], w3);
    x[4] = times_root<kForward>(x[4], p.w4);
    x[5] = times_root<kForward>(x[5], times(p.w1, p.w4));
    x[6] = times_root<kForward>(x[6], times(p.w2, p.w4));
    const double2 w7 = times(w3, p.w4);
    x[7] = times_root<kForward>(x[7], w7);
    if constexpr (kRadix == 16) {
        x[8] = times_root<kForward>(x[8], p.w8);
        x[9] = times_root<kForward>(x[9], times(p.w1, p.w8));
        x[10] = times_root<kForward>(x[10], times(p.w2, p.w8));
        x[11] = times_root<kForward>(x[11], times(w3, p.w8));
        const double2 w12 = times(p.w4, p.w8);
        x[12] = times_root<kForward>(x[12], w12);
        x[13] = times_root<kForward>(x[13], times(p.w1, w12));
        x[14] = times_root<kForward>(x[14], times(p.w2, w12));
        x[15] = times_root<kForward>(x[15], times(w7, p.w8));
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
        const Powers powers = Powers::of<kFirst>(roots, thread);
        transform_in_registers<true>(x);
        twiddle<true>(x, powers);
#pragma unroll
        for (int j = 0; j < kFirst; ++j) { points[place(thread + j * kTransformThreads)] = x[j]; }
    }
    /// The inverse of begin(), times the number of points.
    static __device__ __forceinline__ void end(double2 (&x)[kFirst], const double2* points, const double2* roots) {
        const int thread = static_cast<int>(threadIdx.x);
        const Powers powers = Powers::of<kFirst>(roots, thread);
#pragma unroll
        for (int j = 0; j < kFirst; ++j) { x[j] = points[place(thread + j * kTransformThreads)]; }
        twiddle<false>(x, powers);
        transform_in_registers<false>(x);
    }
    /// A pass over blocks of kLength points in place.
    template <bool kForward, int kLength>
    static __device__ __forceinline__ void pass(double2* points, const double2* roots) {
        constexpr int kStep = kLength / 8;
        __syncthreads();
#pragma unroll 1
        for (int i = static_cast<int>(threadIdx.x); i < kItems; i += kTransformThreads) {
            const int at = i % kStep;
            const int base = i / kStep * kLength + at;
            Powers powers{};
            if constexpr (kStep > 1) { powers = Powers::of<8>(roots, at * (kPoints / kLength)); }
            double2 x[8];
#pragma unroll
            for (int j = 0; j < 8; ++j) { x[j] = points[place(base + j * kStep)]; }
            if constexpr (!kForward && kStep > 1) { twiddle<false>(x, powers); }
            transform_in_registers<kForward>(x);
            if constexpr (kForward && kStep > 1) { twiddle<true>(x, powers); }
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
    /// Both with the product with a spectrum between them, whose point 8 i + j is at j * kItems + i.
    static __device__ __forceinline__ void convolve(double2* points, const double2* roots, const double2* spectrum) {
        pass<true, 512>(points, roots);
        pass<true, 64>(points, roots);
        __syncthreads();
#pragma unroll 1
        for (int i = static_cast<int>(threadIdx.x); i < kItems; i += kTransformThreads) {
            double2 h[8];
#pragma unroll
            for (int j = 0; j < 8; ++j) { h[j] = __ldg(spectrum + j * kItems + i); }
            double2 x[8];
#pragma unroll
            for (int j = 0; j < 8; ++j) { x[j] = points[9 * i + j]; }
            transform_in_registers<true>(x);
#pragma unroll
            for (int j = 0; j < 8; ++j) { x[j] = times(x[j], h[j]); }
            transform_in_registers<false>(x);
#pragma unroll
            for (int j = 0; j < 8; ++j) { points[9 * i + j] = x[j]; }
        }
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

/// Samples thread + j * kTransformThreads from position `first` on as numbers, and those `more` behind them: put(j, x, y).
template <int kCount, bool kMore, class Put>
__device__ __forceinline__ void load_samples(const Signal& g, std::int64_t row, std::int64_t first, std::int64_t more,
                                             const Put& put) {
    const auto thread = static_cast<int>(threadIdx.x);
    const bool inside = first >= 0 && first + kCount * kTransformThreads + more <= g.a.in_last - g.a.in_first;
    if (!inside) {
#pragma unroll
        for (int j = 0; j < kCount; ++j) {
            const std::int64_t at = first + thread + j * kTransformThreads;
            put(j, sample_at(g, row, at), kMore ? sample_at(g, row, at + more) : 0);
        }
        return;
    }
    with_raw(g.in_bytes, [&](auto raw) {
        using Raw = decltype(raw);
        const Raw* const in = static_cast<const Raw*>(g.a.in) + row + (first + thread) * g.a.in_sample;
        Raw some[kCount];
        Raw others[kCount];
#pragma unroll
        for (int j = 0; j < kCount; ++j) {
            some[j] = in[j * kTransformThreads * g.a.in_sample];
            others[j] = kMore ? in[(j * kTransformThreads + more) * g.a.in_sample] : Raw{};
        }
#pragma unroll
        for (int j = 0; j < kCount; ++j) { put(j, widened_raw(g, some[j]), kMore ? widened_raw(g, others[j]) : 0); }
    });
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
    load_samples<Block::kFirst, true>(s, tile.in, first, g.outputs, [&](int j, std::int64_t one, std::int64_t other) {
        x[j] = {static_cast<double>(one), static_cast<double>(other)};
    });
    Block::begin(x, places, g.roots);
    Block::convolve(places, g.roots,
                    reinterpret_cast<const double2*>(g.spectra + filter_of(s.rows, tile, 0) * spectrum_doubles(Way::whole)));
    Block::end(x, places, g.roots);
    put_outputs<Block::kFirst>(s, tile, o + thread, o + g.outputs, kTransformThreads,
                               [&](int j) { return static_cast<std::int64_t>(nearest(x[j].x)); });
    put_outputs<Block::kFirst>(s, tile, o + g.outputs + thread, o + 2 * g.outputs, kTransformThreads,
                               [&](int j) { return static_cast<std::int64_t>(nearest(x[j].y)); });
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
    load_samples<Block::kFirst, false>(s, tile.in, first, 0, [&](int j, std::int64_t one, std::int64_t) { sample[j] = one; });
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
    for (int i = thread; i <= kHalf; i += kTransformThreads) {
        const int place = place_of_pair(i, points_bits(kWay));
        const int opposite = (Block::kPoints - frequency_at(place, points_bits(kWay))) % Block::kPoints;
        const int here = Block::place(place);
        const int there = Block::place(place_of_frequency(opposite, points_bits(kWay)));
        double2 limb[kLimbs];
        double2 h[kLimbs];
#pragma unroll
        for (int signal = 0; signal < kSignals; ++signal) {
            const Parted parted(places[here + signal * Block::kPlaces], places[there + signal * Block::kPlaces]);
            limb[2 * signal] = parted.a;
            limb[2 * signal + 1] = parted.b;
        }
#pragma unroll
        for (int l = 0; l < kLimbs; ++l) { h[l] = __ldg(spectra + l * (kHalf + 1) + i); }
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
    put_outputs<Block::kFirst>(s, tile, o + thread, o + g.outputs, kTransformThreads, [&](int j) {
        return kWay == Way::two ? static_cast<std::int64_t>(static_cast<std::int32_t>(sum[j])) : static_cast<std::int64_t>(sum[j]);
    });
}

}  // namespace tapline::cuda::integer
