// Sums of a few samples each, read where they lie in other orders than outputs are written; compiled once for each instruction set.
#pragma once

#include <cstdint>

#include "cpu/targets.hpp"
#include "tapline/types.hpp"

namespace tapline::cpu {

/// out[o + l * out_line] = sum_{t=0}^{k-1} taps[t] * in[(o + t) * step + l * line] for 0 <= o < count and 0 <= l < lines, with the
/// terms in their order. Samples and outputs are real elements or pairs of them, and all distances count those.
template <class T>
struct FewCall {
    T* out = nullptr;
    const void* in = nullptr;
    const T* taps = nullptr;
    std::int64_t k = 1, count = 0, lines = 1;
    std::int64_t step = 1, line = 1, out_line = 0;
    std::int64_t tap_step = 1;  ///< along lines of step 1: of samples from tap to tap
    bool stream = false;        ///< writes past the caches, where that is by whole lines of them
};
template <class T>
using FewSums = void (*)(const FewCall<T>&);

/// T: float or double.
template <class T>
struct FewKernels {
    /// Samples of that type, of `pairs` two each, whose neighbours are those of other lines (`line` is 1, of at least
    /// kFewestTurned lines and outputs) or of their own (`step` is -1, 1 or 2, of at least kFewestAlong outputs). Null: none.
    FewSums<T> (*turned)(Dtype in, bool pairs) = nullptr;
    FewSums<T> (*along)(Dtype in, bool pairs, std::int64_t step) = nullptr;
};
inline constexpr std::int64_t kFewestTurned = 4, kFewestAlong = 16;

using FewTable = KernelTable<FewKernels>;

/// The kernels of a runnable target; without SIMD there are none.
const FewTable& few_kernels(Target target);

}  // namespace tapline::cpu
