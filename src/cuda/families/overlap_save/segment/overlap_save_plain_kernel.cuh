// A kernel of samples side by side with what its launch has to know.
#pragma once

#include "cuda/families/overlap_save/segment/overlap_save.cuh"
#include "cuda/families/overlap_save/segment/overlap_save_segment.hpp"

namespace tapline::cuda::overlap_save {

template <class S, int kWarps, Spectrum kSpectrum>
Kernel plain_kernel() {
    using T = typename Element<S>::Real;
    using Sizes = Shape<T, kWarps, kSpectrum>;
    Kernel k = kernel_of_size<S, kWarps, Sizes>();
    k.function = &overlap_save_kernel<S, kWarps, Sizes, kSpectrum>;
    k.in_runs = kSpectrum == Spectrum::row;
    k.layout = shared_layout<Sizes, kWarps, 2 * static_cast<int>(sizeof(T)), kSpectrum>();
    return k;
}

}  // namespace tapline::cuda::overlap_save
