// A kernel of segments and what its launch has to know; the kernels that each type has.
#pragma once

#include "cuda/families/overlap_save/overlap_save.hpp"

namespace tapline::cuda::overlap_save {

struct Kernel {
    SegmentKernel function = nullptr;
    int most_threads = 0;
    int table_points = 0;  ///< before the spectra
    int blocks = 1;        ///< of a cluster, that share a segment
    bool twiddle_table = false;
    bool tiles = false;       ///< takes any layout, and samples that it widens
    bool in_runs = false;     ///< for several filters
    bool in_couples = false;  ///< its tables of lanes: couples of pairs in their turn, of twiddles that are a table, of spectra
    SharedLayout layout{};
};

/// The kernel of samples S for so many warps a segment, or none. `plain`: unit strides and the signal's type in and out.
template <class S>
Kernel pick_segment_kernel(int warps, bool plain, Spectrum spectrum);

}  // namespace tapline::cuda::overlap_save
