// Which overlap-save kernels a type has.
#pragma once

#include "cuda/families/overlap_save/segment/overlap_save.cuh"
#include "cuda/families/overlap_save/segment/overlap_save_segment.hpp"

namespace tapline::cuda::overlap_save {

template <class S, int kWarps, Spectrum kSpectrum, bool kPlain>
Kernel kernel() {
    using T = typename Element<S>::Real;
    using Sizes = Shape<T, kWarps, kSpectrum>;
    constexpr int kPointBytes = 2 * static_cast<int>(sizeof(T));
    Kernel k;
    k.function = &overlap_save_kernel<S, kWarps, Sizes, kSpectrum, kPlain>;
    k.most_threads = Sizes::kThreads;
    k.table_points = kPairs * kWarps + kPoints * (Sizes::kTwiddleTable ? kWarps : 1);
    k.twiddle_table = Sizes::kTwiddleTable;
    k.in_runs = kSpectrum == Spectrum::row;
    k.in_couples = Sizes::kTwiddleTable && kInCouples<typename PointOf<T>::Type>;
    k.layout = shared_layout<Sizes, kWarps, kPointBytes, kSpectrum>();
    return k;
}

/// Spectra of long segments are read from memory, that is the L2 cache, and those of what is not plain, which its stores limit.
template <class S, int kWarps>
Kernel pick_spectrum(bool plain, Spectrum spectrum) {
    using T = typename Element<S>::Real;
    switch (spectrum) {
        case Spectrum::passing:
            return plain ? kernel<S, kWarps, Spectrum::passing, true>() : kernel<S, kWarps, Spectrum::passing, false>();
        case Spectrum::block:
            if constexpr (Shape<T, kWarps>::kTwiddleTable) {
                if (plain) { return kernel<S, kWarps, Spectrum::block, true>(); }
            }
            return {};
        case Spectrum::row:
            return plain ? kernel<S, kWarps, Spectrum::row, true>() : Kernel{};
    }
    return {};
}

template <class S>
Kernel pick_segment_kernel(int warps, bool plain, Spectrum spectrum) {
    switch (warps) {
        case 1:
            return pick_spectrum<S, 1>(plain, spectrum);
        case 2:
            return pick_spectrum<S, 2>(plain, spectrum);
        case 4:
            return pick_spectrum<S, 4>(plain, spectrum);
        case 8:
            return pick_spectrum<S, 8>(plain, spectrum);
        case 16:
            if constexpr (kMostWarps<typename Element<S>::Real> == 16) { return pick_spectrum<S, 16>(plain, spectrum); }
            return {};
        default:
            return {};
    }
}

}  // namespace tapline::cuda::overlap_save
