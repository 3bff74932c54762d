// Which overlap-save kernels of any layout a type of sums has.
#pragma once

#include "cuda/families/overlap_save/segment/overlap_save_ahead.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_tiles.cuh"

namespace tapline::cuda::overlap_save {

template <class X, int kWarps>
Kernel tiles_kernel() {
    using T = typename Element<X>::Real;
    using Sizes = Shape<T, kWarps>;
    Kernel k = kernel_of_size<X, kWarps, Sizes>();
    k.function = &overlap_save_tiles_kernel<X, kWarps, Sizes>;
    k.tiles = true;
    k.staged_lines = staged_lines<X, kWarps, Sizes>();
    k.layout = tiles_layout<Sizes, kWarps, typename PointOf<T>::Type>();
    return k;
}

template <class X>
Kernel pick_tiles_kernel(int warps) {
    return with_warps<kMostWarps<typename Element<X>::Real>>(warps, [&]<int kWarps>() { return tiles_kernel<X, kWarps>(); });
}

}  // namespace tapline::cuda::overlap_save
