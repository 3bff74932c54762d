// Overlap-save whose segments a cluster's blocks share: what the kernel and its launch share.
#pragma once

#include "cuda/families/overlap_save/overlap_save.hpp"

namespace tapline::cuda::overlap_save {

/// Warps of a block: 32 points a lane are 64 registers, in double 128.
template <class T>
inline constexpr int kBlockWarps = sizeof(T) == 8 ? 8 : 16;

/// Segments are divided into so many remainders first, each thread having one point of each.
inline constexpr int kRemainders = 32;

/// Offsets into a block's shared memory, in bytes. `group`: warps of a remainder, `warps`: of the block.
struct ClusterLayout {
    int pairs, twists, divisions, points, end;
};
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr ClusterLayout
    cluster_layout(int group, int warps, int point_bytes) {
    ClusterLayout l{};
    l.pairs = 128;  // the barriers come first
    l.twists = l.pairs + kPairs * point_bytes;
    l.divisions = l.twists + 64 * warps * point_bytes;
    l.points = l.divisions + (group == 1 ? 0 : warps / group * (group + group / 2) * point_bytes);
    l.end = l.points + warps * kBufferPoints * point_bytes;
    return l;
}

/// The kernel for segments of 32 * group warps, `group` 1, 2, 4 or 8, or none. `plain`: as kernel_f32.
Kernel cluster_kernel_f32(int group, bool plain);
Kernel cluster_kernel_f64(int group, bool plain);
Kernel cluster_kernel_f16(int group, bool plain);
Kernel cluster_kernel_bf16(int group, bool plain);
Kernel cluster_kernel_complex64(int group, bool plain);
Kernel cluster_kernel_complex128(int group, bool plain);

}  // namespace tapline::cuda::overlap_save

namespace tapline::cuda {

const Rung& overlap_save_cluster();

}  // namespace tapline::cuda
