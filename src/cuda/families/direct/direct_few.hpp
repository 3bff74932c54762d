// Rung 17: what its kernels and their launches share.
#pragma once

#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda::few {

/// Taps that the kernels do, and the slots that they have for them: whole vectors of any type.
inline constexpr int kFewTaps = 36;
inline constexpr int kFewTapSlots = 40;

/// Taps passed by value: they arrive in the constant bank, so that a product reads them for nothing and every launch has its own.
template <class H>
struct TapsByValue {
    H value[kFewTapSlots];
};

/// What the kernel for signals that do not fill the device is told.
struct ShortRows {
    void* out;
    const void* in;
    std::int64_t out_row, in_row;
    int length;  // samples of a row
    int count;   // outputs of a row
    int offset;  // from sample 0 to the one that the first tap of output 0 meets
    int k;
};

using FewKernel = void (*)(Arguments a, TapsByValue<float> taps, int tiles_per_block);
using ShortKernel = void (*)(ShortRows rows, TapsByValue<float> taps);

/// Of f32, whether so many vectors of taps have a kernel of `vectors` vectors a thread: 3 for up to 24 taps, 5 for more, which from
/// memory pay from 13 taps on.
constexpr bool is_built(int vectors, int chunks, bool row_taps) {
    return vectors == 1 || (vectors == 3 ? chunks <= 6 : chunks >= (row_taps ? 4 : 7));
}

/// The kernels for so many vectors of taps, `vectors` a thread; null if there is none.
FewKernel kernel_f32(int vectors, int chunks, bool row_taps);
FewKernel kernel_16bit(Dtype dtype, int vectors, int chunks, bool row_taps);
ShortKernel short_kernel_f32(int chunks);
ShortKernel short_kernel_16bit(Dtype dtype, int chunks);

}  // namespace tapline::cuda::few
