// Which kernels of large segments a type has.
#pragma once

#include "cuda/families/overlap_save/large/overlap_save_large.cuh"

namespace tapline::cuda::overlap_save {

template <class S, int kRadix, int kWarps>
LargeKernel large_kernel() {
    using Tile = Columns<S, kRadix, kWarps>;
    LargeKernel k;
    k.function = &overlap_save_large_kernel<S, kRadix, kWarps, false>;
    // Of the shortest segments the spectrum is made by a kernel in front: f32, 2^24 samples, 65,535 taps on an H200 149 us instead
    // of 155 by the same kernel. With 2^19 points it is 300 instead of 274 (2^25 samples), and as every part of a row reads all
    // taps, with 400,001 taps 799 instead of 324, with 1,048,575 taps and 2^22 points 5,110 instead of 444.
    if constexpr (kRadix != 8 || kWarps != 1) { k.with_taps = &overlap_save_large_kernel<S, kRadix, kWarps, true>; }
    k.radix = kRadix;
    k.warps = kWarps;
    k.shared_bytes = kLargeHeadBytes + static_cast<int>(sizeof(typename Tile::Point)) *
                                           (Tile::kTables.end + Tile::kTurns + 8 * kExchangePoints<typename Tile::Point>);
    return k;
}

// Tiles of 32 columns, whose samples come in pieces of 128 bytes, and longer rows are faster than 16 columns: f32, 2^28 samples on
// an H200, 524,287 taps, 2^20 points 2,348 us instead of 2,559, 2^21 points 2,408 instead of 2,576. But rows of one warp, which
// need no exchange between warps, are worth more: 2^19 points with 65,535 taps 1,782 us, as 256 rows of two warps 1,826.
template <class S>
LargeKernel pick_large_kernel(int bits) {
    switch (bits) {
        case 18:
            return large_kernel<S, 8, 1>();
        case 19:
            return large_kernel<S, 16, 1>();
        case 20:
            return large_kernel<S, 8, 4>();
        case 21:
            return large_kernel<S, 8, 8>();
        case 22:
            return large_kernel<S, 16, 8>();
        case 23:
            return large_kernel<S, 32, 8>();
        default:
            return {};
    }
}

}  // namespace tapline::cuda::overlap_save
