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
    return with_warps<kMostWarps<typename Element<S>::Real>>(warps,
                                                             [&]<int kWarps>() { return pick_spectrum<S, kWarps>(spectrum); });
}

}  // namespace tapline::cuda::overlap_save
