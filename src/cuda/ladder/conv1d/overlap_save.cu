// The rung of overlap-save: which sizes of segments it takes.
#include <limits>

#include "cuda/check.hpp"
#include "cuda/ladder/conv1d/overlap_save_host.hpp"

namespace tapline::cuda {
namespace overlap_save {
namespace {

constexpr std::int64_t kRowsOfAMultiprocessor = 4;

// Of segments in an endless signal, whatever this one's length: a stream, which does not know it, gives the same bits.
int best_warps(const Problem& p, const cuda_abi::Device& device) {
    Problem endless = p;
    endless.n = endless.output_length = std::int64_t{1} << 28;
    endless.batch = 1;
    // Rows that fill the device by themselves are often no longer than their filters: then long segments would be half empty. Rows
    // of 4,096 with as many taps: 4 warps 1152 us, 8 warps 2380; with 1,024 taps in rows of 8,192: 1 warp 513 us, 2 warps 507.
    if (p.filters > 1 && p.batch >= kRowsOfAMultiprocessor * device.multiprocessors) {
        endless.n = endless.output_length = p.k;
        endless.batch = p.batch;
    }
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const int warps : kWarpCounts) {
        if (!has_size(p, warps, p.k, device)) { continue; }
        const double seconds = estimate(endless, cut_of(p, warps, p.k), device);
        if (seconds < least) {
            least = seconds;
            best = warps;
        }
    }
    return best;
}

class OverlapSave final : public Rung {
public:
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "27";
        info.name = "overlap_save";
        info.idea =
            "segments are transformed, multiplied by the filter's spectrum and transformed back in registers; they overlap by what "
            "the filter spoils. One kernel reads the signal once and writes once";
        info.changed =
            "the next segment is copied to shared memory while this one is transformed back; segments of many warps, for longer "
            "filters; "
            "every type, boundary and layout";
        info.requirements = "fewer taps than a segment has samples (2,048 to 32,768); not for strict accuracy";
        info.limited_by = "instructions and shared memory about alike, then the signal that is read and transformed twice";
        info.source = "ladder/conv1d/27_overlap_save.cuh";
        info.takes_pieces = 1;
        info.is_local = 0;
        return info;
    }
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (fast_kernel(p, 1, device).function == nullptr) { return "integers are exact on the CPU only"; }
        if (p.accuracy == kStrict) { return "strict accuracy needs direct summation"; }
        if (best_warps(p, device) == 0) {
            return std::to_string(p.k) + " taps: more than a segment in a multiprocessor's shared memory has room for";
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
        for (const int warps : kWarpCounts) {
            if (has_size(p, warps, p.k, device)) { all.push_back({0, 32 * warps, 0, 0}); }
        }
        return all;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Cut cut = cut_of_prepared(prepared);
        return "segments of " + std::to_string(cut.samples) + " samples, " + std::to_string(cut.outputs) + " outputs each, " +
               std::to_string(cut.warps) + (cut.warps == 1 ? " warp a segment" : " warps a segment");
    }
    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override { return cut_of_prepared(prepared).outputs; }
    [[nodiscard]] std::vector<std::byte> tables(const Prepared& prepared) const override {
        return make_tables(prepared, cut_of_prepared(prepared));
    }
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
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
        if (asked > kWarpCounts.back() || (asked != 0 && !has_size(p, asked, p.k, prepared.device))) {
            throw CudaError(cuda_abi::Code::argument, "policy: no segments of this size");
        }
        return cut_of(p, asked != 0 ? asked : best_warps(p, prepared.device), p.k);
    }
};

}  // namespace
}  // namespace overlap_save

const Rung& overlap_save_rung() {
    static const overlap_save::OverlapSave rung;
    return rung;
}

}  // namespace tapline::cuda
