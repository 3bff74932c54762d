// Overlap-save whose segments a cluster's blocks share: what the kernel and its launch share.
#pragma once

#include "cuda/families/overlap_save/segment/overlap_save_segment.hpp"

namespace tapline::cuda::overlap_save {

/// Warps of a block: 32 points a lane are 64 registers, in double 128.
template <class T>
inline constexpr int kBlockWarps = sizeof(T) == 8 ? 8 : 16;

/// Offsets into a block's shared memory, in bytes. `group`: warps of a remainder, `warps`: of the block.
struct ClusterLayout {
    int pairs, twiddles, divisions, points, end;
};
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr ClusterLayout
    cluster_layout(int group, int warps, int point_bytes) {
    ClusterLayout l{};
    l.pairs = 128;  // the barriers come first
    l.twiddles = l.pairs + kPairs * point_bytes;
    l.divisions = l.twiddles + 64 * warps * point_bytes;
    l.points = l.divisions + (group == 1 ? 0 : warps / group * (group + group / 2) * point_bytes);
    l.end = l.points + warps * kBufferPoints * point_bytes;
    return l;
}

/// The kernel of samples S for segments of 32 * group warps, `group` 1, 2 or 4, or none, for any strides.
template <class S>
Kernel pick_cluster_kernel(int group);

}  // namespace tapline::cuda::overlap_save

namespace tapline::cuda {

const Rung& overlap_save_cluster();

}  // namespace tapline::cuda
