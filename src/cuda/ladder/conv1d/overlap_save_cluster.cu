// The rung of segments that a cluster's blocks share: which sizes it takes.
#include "cuda/ladder/conv1d/overlap_save_cluster.hpp"

#include <algorithm>
#include <limits>

#include "cuda/check.hpp"
#include "cuda/ladder/conv1d/overlap_save_host.hpp"

namespace tapline::cuda {
namespace overlap_save {
namespace {

// Of segments in an endless signal, whatever this one's length: a stream, which does not know it, gives the same bits.
int best_warps(const Problem& p, const cuda_abi::Device& device) {
    Problem endless = p;
    endless.n = endless.output_length = std::int64_t{1} << 28;
    endless.batch = 1;
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const int warps : kClusterWarpCounts) {
        if (!has_size(p, warps, p.k, device)) { continue; }
        const double seconds = estimate(endless, cut_of(p, warps, p.k), device);
        if (seconds < least) {
            least = seconds;
            best = warps;
        }
    }
    return best;
}

class OverlapSaveCluster final : public Rung {
public:
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
        info.source = "ladder/conv1d/30_overlap_save_cluster.cuh";
        info.takes_pieces = 1;
        info.is_local = 0;
        return info;
    }
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (device.major < 9) { return "clusters need compute capability 9.0"; }
        if (slow_kernel(p, kClusterWarpCounts.front()).function == nullptr) { return "integers are exact on the CPU only"; }
        if (p.accuracy == kStrict) { return "strict accuracy needs direct summation"; }
        if (best_warps(p, device) == 0) {
            return std::to_string(p.k) + " taps: more than a segment in a cluster's shared memory has room for";
        }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        return estimate(p, cut_of(p, best_warps(p, device), p.k), device);
    }
    [[nodiscard]] std::vector<Policy> policies(const Problem& p, const cuda_abi::Device& device) const override {
        std::vector<Policy> all;
        const int best = best_warps(p, device);
        if (best != 0) { all.push_back({0, 32 * best, 0, 0}); }
        for (const int warps : kClusterWarpCounts) {
            if (has_size(p, warps, p.k, device)) { all.push_back({0, 32 * warps, 0, 0}); }
        }
        return all;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Cut cut = cut_of_prepared(prepared);
        return "segments of " + std::to_string(cut.samples) + " samples, " + std::to_string(cut.outputs) + " outputs each, " +
               std::to_string(slow_kernel(prepared.problem, cut.warps).blocks) + " blocks a segment";
    }
    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override { return cut_of_prepared(prepared).outputs; }
    [[nodiscard]] std::vector<std::byte> tables(const Prepared& prepared) const override {
        return make_tables(prepared, cut_of_prepared(prepared));
    }
    void load(const Prepared& prepared) const override { load_kernels(prepared, cut_of_prepared(prepared).warps); }
    void launch(const Prepared& prepared, const Job& job, void*, cudaStream_t stream) const override {
        Launch launch;
        launch.rows = job.rows;
        launch.count = job.count;
        launch_segments(prepared, job, cut_of_prepared(prepared), launch, stream);
    }

private:
    static Cut cut_of_prepared(const Prepared& prepared) {
        const Problem& p = prepared.problem;
        const int asked = prepared.policy.threads_per_block / 32;
        const bool known = std::find(kClusterWarpCounts.begin(), kClusterWarpCounts.end(), asked) != kClusterWarpCounts.end();
        if (asked != 0 && !(known && has_size(p, asked, p.k, prepared.device))) {
            throw CudaError(cuda_abi::Code::argument, "policy: no segments of this size");
        }
        return cut_of(p, asked != 0 ? asked : best_warps(p, prepared.device), p.k);
    }
};

}  // namespace
}  // namespace overlap_save

const Rung& overlap_save_cluster() {
    static const overlap_save::OverlapSaveCluster rung;
    return rung;
}

}  // namespace tapline::cuda
