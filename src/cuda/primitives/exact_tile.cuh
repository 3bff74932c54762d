// A tile at a zero boundary whose taps nobody knew to be finite.
#pragma once

#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/epilogue.cuh"

namespace tapline::cuda {

/// Whether a row's taps are neither NaN nor infinite. By a whole warp.
template <class H>
__device__ __forceinline__ bool taps_are_finite(const H* taps, std::int64_t count, int lane) {
    bool finite = true;
#pragma unroll 1
    for (std::int64_t t = lane; t < count; t += 32) {
        const H tap = taps[t];
        if constexpr (kIsComplexElement<H>) {
            finite = finite && isfinite(tap.x) && isfinite(tap.y);
        } else {
            finite = finite && isfinite(tap);
        }
    }
    return __all_sync(0xffffffffu, finite) != 0;
}

/// If the row's taps are not all finite: the outputs [o, o + count) (relative to the job's), one by one, of the terms that are
/// there. Else false, and nothing is done. By a whole warp; samples and outputs side by side and of one type.
template <class S, class H>
__device__ __forceinline__ bool store_unless_finite(const Arguments& a, std::int64_t row, std::int64_t o, int count, int lane) {
    const auto* taps = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + row * a.taps_row_bytes);
    if (taps_are_finite(taps, a.k, lane)) { return false; }
    const S* const in = static_cast<const S*>(a.in) + row * a.in_row;
    S* const out = static_cast<S*>(a.out) + row * a.out_row;
#pragma unroll 1
    for (int i = lane; i < count; i += 32) {
        const std::int64_t at = o + i;
        if (at < 0 || at >= a.count) { continue; }
        const std::int64_t first = a.first - a.origin - a.in_first + at;
        const TapRange met = taps_met(a, first);
        typename Element<S>::Sum sum{};
#pragma unroll 1
        for (std::int64_t t = met.begin; t < met.end; ++t) {
            multiply_add(sum, Element<S>::widen(load_element(in + first + t)), taps[t]);
        }
        store_element(out + at, Element<S>::narrow(finish(a, sum)));
    }
    return true;
}

}  // namespace tapline::cuda
