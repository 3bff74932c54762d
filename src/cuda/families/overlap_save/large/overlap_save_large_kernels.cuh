// Which kernels of large segments a type has.
#pragma once

#include "cuda/families/overlap_save/large/overlap_save_large.cuh"

namespace tapline::cuda::overlap_save {

template <class S, int kRadix, int kWarps>
LargeKernel large_kernel() {
    using Tile = Columns<S, kRadix, kWarps>;
    LargeKernel k;
    k.function = &overlap_save_large_kernel<S, kRadix, kWarps>;
    if constexpr (std::is_same_v<S, float2> && kRadix == 8 && kWarps == 1) {
        k.together = &overlap_save_large_kernel<S, kRadix, kWarps, kRowsTogether>;
    }
    k.radix = kRadix;
    k.warps = kWarps;
    k.shared_bytes = kLargeHeadBytes + static_cast<int>(sizeof(typename Tile::Point)) *
                                           (Tile::kTables.end + Tile::kTurns + 8 * kExchangePoints<typename Tile::Point>);
    return k;
}

template <class S>
LargeKernel pick_large_kernel(int bits) {
    return with_large_shape(bits, [&]<int kRadix, int kWarps>() { return large_kernel<S, kRadix, kWarps>(); });
}

}  // namespace tapline::cuda::overlap_save
