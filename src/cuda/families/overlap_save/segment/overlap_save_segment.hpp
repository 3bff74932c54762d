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

/// Blocks of fewer segments with places for spectra than this, of rows with filters of their own, give way to blocks without.
constexpr int least_keeping(int warps) { return warps < 12 ? 12 / warps : 1; }

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

/// body.operator()<warps>() for so many warps a segment, a power of 2 of up to kMost; no kernel for others.
template <int kMost, int kWarps = 1, class Body>
Kernel with_warps(int warps, const Body& body) {
    if (warps == kWarps) { return body.template operator()<kWarps>(); }
    if constexpr (kWarps < kMost) { return with_warps<kMost, 2 * kWarps>(warps, body); }
    return {};
}

/// The kernel of samples S side by side for so many warps a segment, or none.
template <class S>
Kernel pick_segment_kernel(int warps, Spectrum spectrum);
/// The one of any layout whose samples are widened to sums X.
template <class X>
Kernel pick_tiles_kernel(int warps);
/// The one of samples Raw of 16 bits side by side and outputs of f32, under one filter.
template <class Raw>
Kernel pick_narrow_kernel(int warps);
/// The one of samples of f32 and outputs of u8.
Kernel pick_to_bytes_kernel(int warps);
/// The one of samples S, WideFloat or WideComplex, whose outputs are checked.
template <class S>
Kernel pick_checked_kernel(int warps, Spectrum spectrum);

}  // namespace tapline::cuda::overlap_save
