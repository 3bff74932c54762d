// Which kernels of checked segments a type has.
#pragma once

#include "cuda/families/overlap_save/segment/overlap_save_plain_kernel.cuh"

namespace tapline::cuda::overlap_save {

template <class S, int kWarps>
Kernel pick_checked_spectrum(Spectrum spectrum) {
    if constexpr (Shape<double, kWarps>::kTwiddleTable) {
        if (spectrum == Spectrum::block) { return plain_kernel<S, kWarps, Spectrum::block>(); }
    }
    return spectrum == Spectrum::passing ? plain_kernel<S, kWarps, Spectrum::passing>() : Kernel{};
}

template <class S>
Kernel pick_checked_kernel(int warps, Spectrum spectrum) {
    return with_warps<8>(warps, [&]<int kWarps>() { return pick_checked_spectrum<S, kWarps>(spectrum); });
}

}  // namespace tapline::cuda::overlap_save
