// A kernel of samples side by side with what its launch has to know.
#pragma once

#include "cuda/families/overlap_save/segment/overlap_save.cuh"
#include "cuda/families/overlap_save/segment/overlap_save_segment.hpp"

namespace tapline::cuda::overlap_save {

template <class S, int kWarps, Spectrum kSpectrum>
Kernel plain_kernel() {
    using T = typename Element<S>::Real;
    constexpr Spectrum kMade = kSpectrum == Spectrum::row && kInAnyOrder<kWarps> ? Spectrum::passing : kSpectrum;
    using Sizes = Shape<T, kWarps, kMade>;
    constexpr SharedLayout kLayout = shared_layout<Sizes, kWarps, 2 * static_cast<int>(sizeof(T)), kMade>();
    // So that fast_kernel() takes what is compiled where all blocks have so much.
    constexpr int kLeast = Sizes::kOwnSpectrum ? least_keeping(kWarps) : 1;
    static_assert(kMade == Spectrum::passing || kLayout.segments + kLeast * kLayout.segment_bytes <= k227KB);
    Kernel k = kernel_of_size<S, kWarps, Sizes>();
    k.function = &overlap_save_kernel<S, kWarps, Sizes, kMade>;
    k.in_runs = kSpectrum == Spectrum::row;
    k.layout = kLayout;
    return k;
}

}  // namespace tapline::cuda::overlap_save
