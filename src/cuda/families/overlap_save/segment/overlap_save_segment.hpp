// A kernel of segments and what its launch has to know; the kernels that each type has.
#pragma once

#include "cuda/families/overlap_save/overlap_save.hpp"
#include "cuda/primitives/widened.hpp"

namespace tapline::cuda::overlap_save {

struct Kernel {
    SegmentKernel function = nullptr;
    int most_threads = 0;
    int table_points = 0;  ///< before the spectra
    int blocks = 1;        ///< of a cluster, that share a segment
    bool twiddle_table = false;
    bool tiles = false;       ///< takes any layout, and samples that it widens
    bool checked = false;     ///< of f32 in double, whose outputs it checks
    bool in_runs = false;     ///< for several filters
    bool in_couples = false;  ///< its tables of lanes: couples of pairs in their turn, of twiddles that are a table, of spectra
    SharedLayout layout{};
    int staged_lines = 0;  ///< of tiles that it stages; 0: of none
};

/// What all kernels of a size share.
template <class S, int kWarps, class Sizes>
Kernel kernel_of_size() {
    Kernel k;
    k.most_threads = Sizes::kThreads;
    k.table_points = kPairs * kWarps + kPoints * (Sizes::kTwiddleTable ? kWarps : 1);
    k.twiddle_table = Sizes::kTwiddleTable;
    k.checked = kIsWidened<S>;
    k.in_couples = Sizes::kTwiddleTable && kInCouples<typename PointOf<typename Element<S>::Real>::Type>;
    return k;
}

/// The kernel of samples S side by side for so many warps a segment, or none.
template <class S>
Kernel pick_segment_kernel(int warps, Spectrum spectrum);
/// The one of any layout whose samples are widened to sums X.
template <class X>
Kernel pick_tiles_kernel(int warps);

}  // namespace tapline::cuda::overlap_save
