// Sizes of the pieces in which the algorithm "direct" works.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/direct/calls/simd_direct.hpp"
#include "cpu/targets.hpp"

namespace tapline::cpu {

// Samples of a gathered tile: with its window in the L1 cache for short filters, and enough of them that gathering a window
// of kTapChunk samples is nothing beside 4096 x 16384 products.
inline constexpr std::int64_t kTile = 4096;
// Longer filters are summed chunk by chunk, so that the scratch memory does not grow with the filter.
inline constexpr std::int64_t kTapChunk = 16384;
static_assert(kTapChunk % kDirectGroup == 0);

// Side by side, many rows (the columns of an image) with more than a few taps go panel by panel through scratch memory: in
// place the lines of a window share the sets of the caches. With lines of 16 KiB 15, 33 and 127 taps took 20, 34 and 145 ms in
// place and 21, 28 and 58 ms in panels (2^24 elements, one thread).
// Where all lines of a window are in the L1 cache and follow each other, in place is faster: 64 columns with 31 taps (8 KiB) took
// 5.0 ms in place and 5.9 to 7.3 in panels, with 127 taps (32 KiB) 19.9 and 16.3 (2^22 elements, one thread, AVX2).
inline constexpr std::int64_t kFlatBytes = 24576;
inline constexpr std::int64_t kPanelSamples = 256;  ///< outputs of a row in a panel: beside the k - 1 samples more that are packed
inline constexpr std::int64_t kPanelStep = 64;      ///< of which so many are computed before more lines are packed
inline constexpr std::int64_t kPanelWidth = 64;     ///< rows
inline constexpr std::int64_t kMinPanelWidth = 16;  ///< real elements of the widest vector
inline constexpr std::int64_t kMaxPanelTaps = 512;
inline constexpr std::int64_t kMinPanelTaps = 17;

/// Of so many taps a sum has the products in their order: of more the kernels take those a vector's lanes apart together.
inline std::int64_t taps_in_order(Target target, std::size_t element_bytes) {
    constexpr PerTarget<std::int64_t> kVectorBytes{.avx512 = 64, .avx2 = 32, .sse4 = 16, .neon = 16, .scalar = 0};
    return kVectorBytes.of(target) / static_cast<std::int64_t>(element_bytes);
}

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

/// The (real, imaginary) pairs of a complex array, or the array itself.
template <class Real, class X>
const Real* real_elements(const X* x) {
    return reinterpret_cast<const Real*>(x);
}
template <class Real, class X>
Real* real_elements(X* x) {
    return reinterpret_cast<Real*>(x);
}

}  // namespace tapline::cpu
