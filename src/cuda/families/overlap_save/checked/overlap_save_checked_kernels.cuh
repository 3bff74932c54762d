// Which kernels of checked segments a type has.
#pragma once

#include "cuda/families/overlap_save/checked/overlap_save_checked.hpp"
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
    switch (warps) {
        case 1:
            return pick_checked_spectrum<S, 1>(spectrum);
        case 2:
            return pick_checked_spectrum<S, 2>(spectrum);
        case 4:
            return pick_checked_spectrum<S, 4>(spectrum);
        case 8:
            return pick_checked_spectrum<S, 8>(spectrum);
        default:
            return {};
    }
}

}  // namespace tapline::cuda::overlap_save
