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
    static constexpr Head kHead{"30", "overlap_save_cluster", "", R"(
Idea: a segment of up to 262,144 samples is transformed in the registers of a cluster's blocks, which read and write each other's
shared memory
Changed: segments are longer than one multiprocessor holds and yet pass through global memory only as samples and outputs: the
warps' exchanges, which were a block's, are a cluster's
Requires: compute capability 9.0; fewer taps than a segment has samples (65,536 to 262,144); not for strict accuracy
Limited by: instructions, then the barriers at which a cluster's blocks wait for each other
)"};

    OverlapSaveCluster()
        : SegmentRung(
              kHead,
              {.source = "src/cuda/families/overlap_save/cluster/overlap_save_cluster.cuh", .takes_pieces = 1, .is_local = 0},
              kClusterWarpCounts, cluster_kernel_of, "a cluster") {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (device.major < 9) { return "clusters need compute capability 9.0"; }
        return SegmentRung::supports(p, device);
    }
};

}  // namespace
}  // namespace overlap_save

const Rung& overlap_save_cluster() { return core::only<overlap_save::OverlapSaveCluster>(); }

}  // namespace tapline::cuda
