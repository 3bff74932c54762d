// Which overlap-save kernels of samples side by side a type has.
#pragma once

#include "cuda/families/overlap_save/segment/overlap_save_plain_kernel.cuh"

namespace tapline::cuda::overlap_save {

/// Spectra of long segments are read from memory, that is the L2 cache.
template <class S, int kWarps>
Kernel pick_spectrum(Spectrum spectrum) {
    using T = typename Element<S>::Real;
    switch (spectrum) {
        case Spectrum::passing:
            return plain_kernel<S, kWarps, Spectrum::passing>();
        case Spectrum::block:
            if constexpr (Shape<T, kWarps>::kTwiddleTable) { return plain_kernel<S, kWarps, Spectrum::block>(); }
            return {};
        case Spectrum::row:
            return plain_kernel<S, kWarps, Spectrum::row>();
    }
    return {};
}

template <class S>
Kernel pick_segment_kernel(int warps, Spectrum spectrum) {
    switch (warps) {
        case 1:
            return pick_spectrum<S, 1>(spectrum);
        case 2:
            return pick_spectrum<S, 2>(spectrum);
        case 4:
            return pick_spectrum<S, 4>(spectrum);
        case 8:
            return pick_spectrum<S, 8>(spectrum);
        case 16:
            if constexpr (kMostWarps<typename Element<S>::Real> == 16) { return pick_spectrum<S, 16>(spectrum); }
            return {};
        default:
            return {};
    }
}

}  // namespace tapline::cuda::overlap_save
