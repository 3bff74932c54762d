// The body of simd_columns.cpp, compiled once for each target.

#include <hwy/highway.h>

#include <type_traits>
#include <utility>

#include "cpu/direct/simd_columns.hpp"

#if TAPLINE_NAMED_TARGET
HWY_BEFORE_NAMESPACE();
namespace tapline::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Outputs below each other that share a vector of taps: with two multiply-adds a cycle of a latency of four, as many as wait.
inline constexpr int kDown = 8;

/// Vectors of taps whose products are summed lane after lane.
inline constexpr std::int64_t kRunVectors = 4;

template <int R, class T>
HWY_INLINE void sum_some(const ColumnsCall<T>& call, std::int64_t row, std::int64_t j) {
    const hn::ScalableTag<T> d;
    const T* HWY_RESTRICT in = call.in + row * call.pitch + j;
    const T* HWY_RESTRICT taps = call.taps + j;
    hn::Vec<decltype(d)> sums[R];
    for (int r = 0; r < R; ++r) { sums[r] = hn::Zero(d); }
    const auto add = [&](std::int64_t t) HWY_ATTR {
        const auto tap = hn::LoadU(d, taps + t * call.period);
        const T* HWY_RESTRICT from = in + t * call.step;
        HWY_UNROLL(8)
        for (int r = 0; r < R; ++r) { sums[r] = hn::MulAdd(tap, hn::LoadU(d, from + r * call.pitch), sums[r]); }
    };
    // The order of direct sums along lines (simd_direct.inl).
    constexpr auto kLanes = static_cast<std::int64_t>(HWY_LANES(T));
    for (std::int64_t begin = 0; begin < call.k; begin += kRunVectors * kLanes) {
        const std::int64_t end = HWY_MIN(begin + kRunVectors * kLanes, call.k);
        for (std::int64_t s = begin; s < HWY_MIN(begin + kLanes, end); ++s) {
            for (std::int64_t t = s; t < end; t += kLanes) { add(t); }
        }
    }
    T* HWY_RESTRICT out = call.out + row * call.out_pitch + j;
    for (int r = 0; r < R; ++r) { hn::StoreU(sums[r], d, out + r * call.out_pitch); }
}

/// Taps that are held in registers beside as many sums, where a step leads to the next row: each sample is read once. No more than
/// lanes, up to which direct sums along lines take one tap after the other.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON || HWY_TARGET == HWY_NEON_WITHOUT_AES
inline constexpr int kMostHeld = 15;
#else
inline constexpr int kMostHeld = 7;
#endif
template <class T>
inline constexpr int kHeld = HWY_MIN(kMostHeld, static_cast<int>(HWY_LANES(T)));

/// Rows that are asked for before they are read.
inline constexpr std::int64_t kRowsAhead = 8;

/// A sample of position i has a part in outputs i - K + 1 to i, whose sums take turns in K registers.
template <int K, class T>
void sum_held(const ColumnsCall<T>& call) {
    const hn::ScalableTag<T> d;
    using V = hn::Vec<decltype(d)>;
    const std::int64_t samples = call.rows + K - 1;
    constexpr auto kLanes = static_cast<std::int64_t>(HWY_LANES(T));
    for (std::int64_t place = 0; place < call.columns; place += kLanes) {
        const std::int64_t j = HWY_MIN(place, call.columns - kLanes);
        const T* HWY_RESTRICT in = call.in + j;
        T* HWY_RESTRICT out = call.out + j - (K - 1) * call.out_pitch;
        V taps[K], sums[K];
        for (int t = 0; t < K; ++t) {
            taps[t] = hn::LoadU(d, call.taps + t * call.period + j);
            sums[t] = hn::Zero(d);
        }
        const auto add = [&](std::int64_t i, auto turn) HWY_ATTR {
            constexpr int kTurn = decltype(turn)::value;
            const auto sample = hn::LoadU(d, in + i * call.pitch);
            __builtin_prefetch(in + (i + kRowsAhead) * call.pitch);
            sums[kTurn] = hn::MulAdd(taps[0], sample, hn::Zero(d));
            HWY_UNROLL(16)
            for (int t = 1; t < K; ++t) { sums[(kTurn + K - t) % K] = hn::MulAdd(taps[t], sample, sums[(kTurn + K - t) % K]); }
            if (i >= K - 1) { hn::StoreU(sums[(kTurn + 1) % K], d, out + i * call.out_pitch); }
        };
        const auto add_some = [&]<int... kTurns>(std::int64_t i, std::int64_t end, std::integer_sequence<int, kTurns...>) HWY_ATTR {
            (..., (i + kTurns < end ? add(i + kTurns, std::integral_constant<int, kTurns>()) : void()));
        };
        constexpr auto kTurns = std::make_integer_sequence<int, K>();
        for (std::int64_t i = 0; i < samples; i += K) { add_some(i, i + K <= samples ? i + K : samples, kTurns); }
    }
}

/// False: more taps than are held.
template <class T>
bool sum_with_held_taps(const ColumnsCall<T>& call) {
    if (call.k > kHeld<T> || call.step != call.pitch) { return false; }
    return [&]<int... kBefore>(std::integer_sequence<int, kBefore...>) {
        return (... || (call.k == kBefore + 1 && (sum_held<kBefore + 1>(call), true)));
    }
    (std::make_integer_sequence<int, kHeld<T>>());
}

template <class T>
void sum_columns(const ColumnsCall<T>& call) {
    if (sum_with_held_taps(call)) { return; }
    constexpr auto kLanes = static_cast<std::int64_t>(HWY_LANES(T));
    std::int64_t row = 0;
    for (; row + kDown <= call.rows; row += kDown) {
        for (std::int64_t j = 0; j < call.period; j += kLanes) { sum_some<kDown>(call, row, j); }
    }
    for (; row < call.rows; ++row) {
        for (std::int64_t j = 0; j < call.period; j += kLanes) { sum_some<1>(call, row, j); }
    }
}

#if HWY_TARGET == HWY_AVX3  // others have not as many registers
/// A run of taps under all columns, in the order of direct sums along lines: kVectors vectors of them, or fewer lanes of the last.
/// The R rows that each has products with move on by a row from one lane to the next, so that one row is read for R products.
template <int R, int kVectors, class T, class D>
HWY_INLINE void add_alike(D d, const T* HWY_RESTRICT in, std::int64_t pitch, const T* HWY_RESTRICT taps, std::int64_t k,
                          hn::Vec<D> (&sums)[R]) {
    constexpr auto kLanes = static_cast<std::int64_t>(HWY_LANES(T));
    hn::Vec<D> samples[kVectors][R];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
        HWY_UNROLL(8)
        for (int r = 0; r < R; ++r) { samples[v][r] = hn::LoadU(d, in + (v * kLanes + r) * pitch); }
    }
    const std::int64_t of_last = k - (kVectors - 1) * kLanes;
    for (std::int64_t begin = 0; begin < kLanes; begin += R) {
        HWY_UNROLL(8)
        for (int u = 0; u < R; ++u) {
            const std::int64_t lane = begin + u;
            HWY_UNROLL(4)
            for (int v = 0; v < kVectors; ++v) {
                if (v + 1 == kVectors && lane >= of_last) { break; }
                const std::int64_t t = v * kLanes + lane;
                const auto tap = hn::Set(d, taps[t]);
                HWY_UNROLL(8)
                for (int r = 0; r < R; ++r) { sums[r] = hn::MulAdd(tap, samples[v][(u + r) % R], sums[r]); }
                if (t + 1 < k) { samples[v][u] = hn::LoadU(d, in + (t + R) * pitch); }
            }
        }
    }
}

template <class T>
inline constexpr std::int64_t kMostAlike = kRunVectors* static_cast<std::int64_t>(HWY_LANES(T));

template <int R, class T>
HWY_INLINE void sum_alike_some(const ColumnsCall<T>& call, std::int64_t row, std::int64_t j) {
    const hn::ScalableTag<T> d;
    constexpr auto kLanes = static_cast<std::int64_t>(HWY_LANES(T));
    const T* HWY_RESTRICT in = call.in + row * call.pitch + j;
    hn::Vec<decltype(d)> sums[R];
    for (int r = 0; r < R; ++r) { sums[r] = hn::Zero(d); }
    // What the rows below need, which lies in as many pages.
    for (int r = 0; r < R; ++r) { __builtin_prefetch(in + (call.k + R - 1 + r) * call.pitch, 0, 2); }
    const std::int64_t vectors = (call.k + kLanes - 1) / kLanes;
    if constexpr (R > 4) {
        vectors == 1 ? add_alike<R, 1>(d, in, call.pitch, call.taps, call.k, sums)
                     : add_alike<R, 2>(d, in, call.pitch, call.taps, call.k, sums);
    } else {
        vectors == 3 ? add_alike<R, 3>(d, in, call.pitch, call.taps, call.k, sums)
                     : add_alike<R, 4>(d, in, call.pitch, call.taps, call.k, sums);
    }
    T* HWY_RESTRICT out = call.out + row * call.out_pitch + j;
    for (int r = 0; r < R; ++r) {
        hn::StoreU(sums[r], d, out + r * call.out_pitch);
        __builtin_prefetch(out + (R + r) * call.out_pitch + kLanes - 1, 1, 2);
    }
}

/// R rows of outputs below each other at a time, the last ones some once more.
template <int R, class T>
void sum_alike_rows(const ColumnsCall<T>& call) {
    constexpr auto kLanes = static_cast<std::int64_t>(HWY_LANES(T));
    const auto all = [&](std::int64_t row, auto some) HWY_ATTR {
        for (std::int64_t place = 0; place < call.columns; place += kLanes) {
            sum_alike_some<decltype(some)::value>(call, row, HWY_MIN(place, call.columns - kLanes));
        }
    };
    std::int64_t row = 0;
    for (; row + R <= call.rows; row += R) { all(row, std::integral_constant<int, R>()); }
    if (row < call.rows) { all(call.rows - R, std::integral_constant<int, R>()); }
}

template <class T>
void sum_alike(const ColumnsCall<T>& call) {
    static_assert(HWY_LANES(T) % 8 == 0);
    constexpr auto kLanes = static_cast<std::int64_t>(HWY_LANES(T));
    call.k <= 2 * kLanes ? sum_alike_rows<8>(call) : sum_alike_rows<4>(call);
}
#endif

template <class T>
ColumnsKernels<T> columns_kernels_of() {
#if HWY_TARGET == HWY_AVX3
    return {&sum_columns<T>, kHeld<T>, &sum_alike<T>, kMostAlike<T>};
#else
    return {&sum_columns<T>, kHeld<T>};
#endif
}

const ColumnsTable& columns_table() {
    static const ColumnsTable kTable{columns_kernels_of<float>(), columns_kernels_of<double>()};
    return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace tapline::cpu
HWY_AFTER_NAMESPACE();
#endif
