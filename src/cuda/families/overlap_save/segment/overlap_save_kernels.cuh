// Which overlap-save kernels a type has.
#pragma once

#include "cuda/families/overlap_save/segment/overlap_save.cuh"
#include "cuda/families/overlap_save/segment/overlap_save_segment.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_tiles.cuh"

namespace tapline::cuda::overlap_save {

/// What all kernels of a size share.
template <class S, int kWarps, class Sizes>
Kernel kernel_of_size() {
    Kernel k;
    k.most_threads = Sizes::kThreads;
    k.table_points = kPairs * kWarps + kPoints * (Sizes::kTwiddleTable ? kWarps : 1);
    k.twiddle_table = Sizes::kTwiddleTable;
    k.in_couples = Sizes::kTwiddleTable && kInCouples<typename PointOf<typename Element<S>::Real>::Type>;
    return k;
}

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

/// None of samples that are narrower than their sums: the kernel of the sums' type widens them.
template <class S, int kWarps>
Kernel tiles_kernel() {
    if constexpr (sizeof(S) >= 4) {
        using T = typename Element<S>::Real;
        using Sizes = Shape<T, kWarps>;
        Kernel k = kernel_of_size<S, kWarps, Sizes>();
        k.function = &overlap_save_tiles_kernel<S, kWarps, Sizes>;
        k.tiles = true;
        k.layout = shared_layout<Sizes, kWarps, 2 * static_cast<int>(sizeof(T)), Spectrum::passing>();
        return k;
    }
    return {};
}

/// Spectra of long segments are read from memory, that is the L2 cache, and those of tiles.
template <class S, int kWarps>
Kernel pick_spectrum(bool plain, Spectrum spectrum) {
    using T = typename Element<S>::Real;
    switch (spectrum) {
        case Spectrum::passing:
            return plain ? plain_kernel<S, kWarps, Spectrum::passing>() : tiles_kernel<S, kWarps>();
        case Spectrum::block:
            if constexpr (Shape<T, kWarps>::kTwiddleTable) {
                if (plain) { return plain_kernel<S, kWarps, Spectrum::block>(); }
            }
            return {};
        case Spectrum::row:
            return plain ? plain_kernel<S, kWarps, Spectrum::row>() : Kernel{};
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
