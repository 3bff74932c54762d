// The inner loops of direct convolution, compiled once for each instruction set.
#pragma once

#include <cstdint>

#include "cpu/targets.hpp"

namespace tapline::cpu {

/// out[i] = sum_{t=0}^{k-1} taps[t] * in[i + step * t] for 0 <= i < count, over flat real elements: `step` is the distance of
/// two samples of one signal, so a complex signal has step 2, interleaved channels their number, and the columns of an image
/// its row pitch. Complex taps are (real, imaginary) pairs that multiply pairs of `in`; count is even then.
///
/// Each output is the same sequence of operations wherever it stands: bits depend on the taps and on the instruction set only.
template <class T>
struct DirectCall {
    T* out = nullptr;
    const T* in = nullptr;
    const T* taps = nullptr;
    const T* present = nullptr;  ///< `careful` only: like `in`, 0 for an element that is absent, else 1
    std::int64_t count = 0;
    std::int64_t step = 1;
    std::int64_t k = 0;
    std::int64_t out_step = 0;  ///< of equal taps and at least a vector's step: the same of outputs, where it is another one
    /// Adds to out, and may read and write whole vectors past the end.
    bool accumulate = false;
    bool stream = false;  ///< writes past the caches
    /// `few` only: so many elements of the windows are not there, at the first output's begin and at the last one's end. They count
    /// as zeros and are not read.
    std::int64_t lead = 0, trail = 0;
};

/// A call with fewer outputs than this, an accumulating one and a careful one read and write whole vectors: up to
/// kDirectPadding elements must follow the last of `in` (and of `present`) and of `out`. Other calls stay within.
inline constexpr std::int64_t kDirectBlock = 128;
inline constexpr std::int64_t kDirectPadding = 16;  ///< of the widest vector

/// Taps whose products are summed one after the other before they join the total: the error of a long sum is that of this
/// many terms plus that of the few totals. Multiples of it are where a filter may be cut without changing a bit.
inline constexpr std::int64_t kDirectGroup = 64;

/// Of more, transforms take less time than sums in memory that is not in the L1 cache.
inline constexpr std::int64_t kMostEqualTaps = 512;

/// Two vectors of AVX-512.
template <class T>
inline constexpr std::int64_t kMostFewTaps = 128 / static_cast<std::int64_t>(sizeof(T));

template <class T>
struct DirectKernels {
    using Kernel = void (*)(const DirectCall<T>&);
    Kernel real = nullptr;
    Kernel equal = nullptr;  ///< real taps that are all taps[0], at most kMostEqualTaps; neither accumulates nor streams
    Kernel complex = nullptr;
    Kernel careful_real = nullptr;  ///< terms whose element is absent are left out, not multiplied; slow
    Kernel careful_complex = nullptr;
    /// Real samples one after the other under at most kMostFewTaps real taps, any number of outputs, of windows that may leave the
    /// signal; neither reads nor writes beside them. Null where vectors have no masks. The bits are those of `real`.
    Kernel few = nullptr;
};

using DirectTable = KernelTable<DirectKernels>;

/// The kernels of a runnable target.
const DirectTable& direct_kernels(Target target);

/// Those compiled without SIMD, in a source of their own.
const DirectTable& scalar_direct_kernels();

}  // namespace tapline::cpu
