// The rung of segments that a cluster's blocks share: which sizes it takes.
#include "cuda/families/overlap_save/cluster/overlap_save_cluster.hpp"

#include "cuda/families/overlap_save/segment/overlap_save_rung.hpp"

namespace tapline::cuda {
namespace overlap_save {
namespace {

Kernel cluster_kernel_of(const Problem& p, int warps, bool /*plain*/, Spectrum spectrum) {
    if (spectrum != Spectrum::passing) { return {}; }
    return with_sample_type(p.dtype, [&]<class S>(ElementType<S>) { return pick_cluster_kernel<S>(warps / kRemainders); });
}

class OverlapSaveCluster final : public SegmentRung {
public:
    OverlapSaveCluster() : SegmentRung(kClusterWarpCounts, cluster_kernel_of, "a cluster") {}
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "30";
        info.name = "overlap_save_cluster";
        info.idea =
            "a segment of up to 262,144 samples is transformed in the registers of a cluster's blocks, which read and write each "
            "other's shared memory";
        info.changed =
            "segments are longer than one multiprocessor holds and yet pass through global memory only as samples and outputs: the "
            "warps' exchanges, which were a block's, are a cluster's";
        info.requirements =
            "compute capability 9.0; fewer taps than a segment has samples (65,536 to 262,144); not for strict accuracy";
        info.limited_by = "instructions, then the barriers at which a cluster's blocks wait for each other";
        info.source = "src/cuda/families/overlap_save/cluster/overlap_save_cluster.cuh";
        info.takes_pieces = 1;
        info.is_local = 0;
        return info;
    }
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (device.major < 9) { return "clusters need compute capability 9.0"; }
        return SegmentRung::supports(p, device);
    }
};

}  // namespace
}  // namespace overlap_save

const Rung& overlap_save_cluster() {
    static const overlap_save::OverlapSaveCluster rung;
    return rung;
}

}  // namespace tapline::cuda
