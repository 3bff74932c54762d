// The body of simd_columns.cpp, compiled once for each target.

#include <hwy/highway.h>

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
    const T* HWY_RESTRICT in = call.in + row * call.period + j;
    const T* HWY_RESTRICT taps = call.taps + j;
    hn::Vec<decltype(d)> sums[R];
    for (int r = 0; r < R; ++r) { sums[r] = hn::Zero(d); }
    const auto add = [&](std::int64_t t) HWY_ATTR {
        const auto tap = hn::LoadU(d, taps + t * call.period);
        const T* HWY_RESTRICT from = in + t * call.step;
        HWY_UNROLL(8)
        for (int r = 0; r < R; ++r) { sums[r] = hn::MulAdd(tap, hn::LoadU(d, from + r * call.period), sums[r]); }
    };
    // The order of direct sums along lines (simd_direct.inl).
    constexpr auto kLanes = static_cast<std::int64_t>(HWY_LANES(T));
    for (std::int64_t begin = 0; begin < call.k; begin += kRunVectors * kLanes) {
        const std::int64_t end = HWY_MIN(begin + kRunVectors * kLanes, call.k);
        for (std::int64_t s = begin; s < HWY_MIN(begin + kLanes, end); ++s) {
            for (std::int64_t t = s; t < end; t += kLanes) { add(t); }
        }
    }
    T* HWY_RESTRICT out = call.out + row * call.period + j;
    for (int r = 0; r < R; ++r) { hn::StoreU(sums[r], d, out + r * call.period); }
}

template <class T>
void sum_columns(const ColumnsCall<T>& call) {
    constexpr auto kLanes = static_cast<std::int64_t>(HWY_LANES(T));
    std::int64_t row = 0;
    for (; row + kDown <= call.rows; row += kDown) {
        for (std::int64_t j = 0; j < call.period; j += kLanes) { sum_some<kDown>(call, row, j); }
    }
    for (; row < call.rows; ++row) {
        for (std::int64_t j = 0; j < call.period; j += kLanes) { sum_some<1>(call, row, j); }
    }
}

const ColumnsTable& columns_table() {
    static const ColumnsTable kTable{{&sum_columns<float>}, {&sum_columns<double>}};
    return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace tapline::cpu
HWY_AFTER_NAMESPACE();
#endif
