// Which kernels of clusters a type has.
#pragma once

#include "cuda/families/overlap_save/cluster/overlap_save_cluster.cuh"

namespace tapline::cuda::overlap_save {

template <class S, int kGroup>
Kernel cluster_kernel() {
    using T = typename Element<S>::Real;
    constexpr int kPointBytes = 2 * static_cast<int>(sizeof(T));
    constexpr ClusterLayout kLayout = cluster_layout(kGroup, kBlockWarps<T>, kPointBytes);
    Kernel k;
    k.function = &overlap_save_cluster_kernel<S, kGroup>;
    k.most_threads = 32 * kBlockWarps<T>;
    k.blocks = kRemainders * kGroup / kBlockWarps<T>;
    k.table_points = kPairs + 64 * kRemainders * kGroup + kRemainders * kDivisionPoints<kGroup>;
    k.layout.segments = kLayout.points;
    k.layout.segment_bytes = kLayout.end - kLayout.points;
    return k;
}

/// Clusters of up to 8 blocks, which every device with clusters takes.
template <class S>
Kernel pick_cluster_kernel(int group) {
    switch (group) {
        case 1:
            return cluster_kernel<S, 1>();
        case 2:
            return cluster_kernel<S, 2>();
        case 4:
            if constexpr (kBlockWarps<typename Element<S>::Real> == 16) { return cluster_kernel<S, 4>(); }
            return {};
        default:
            return {};
    }
}

}  // namespace tapline::cuda::overlap_save
