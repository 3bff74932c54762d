// Which kernels of large segments a type has.
#pragma once

#include "cuda/families/overlap_save/large/overlap_save_large.cuh"

namespace tapline::cuda::overlap_save {

template <class S, int kRadix, int kWarps>
LargeKernel large_kernel() {
    using Tile = Columns<S, kRadix, kWarps>;
    LargeKernel k;
    k.function = &overlap_save_large_kernel<S, kRadix, kWarps>;
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
