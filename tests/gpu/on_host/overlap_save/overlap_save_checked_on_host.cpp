// The rung of checked segments as C++, and plain segments of 16-bit samples as a rung of their own.
#include "gpu/on_host/cuda_on_host.hpp"

#define cudaMemsetAsync(to, value, bytes, stream) (std::memset(to, value, bytes), static_cast<void>(stream), cudaSuccess)
#define __popcll(bits) __builtin_popcountll(bits)
namespace tapline::cuda::overlap_save {
extern uint4 shared[test::on_host::kSharedBytes / sizeof(uint4)];  // overlap_save_large_test.cpp has it
alignas(128) uint4 repair_shared[test::on_host::kSharedBytes / sizeof(uint4)];
}  // namespace tapline::cuda::overlap_save
#include "cuda/families/overlap_save/checked/overlap_save_bound.cpp"
#include "cuda/families/overlap_save/checked/overlap_save_checked.cpp"
#include "cuda/families/overlap_save/checked/overlap_save_checked_kernels.cuh"
#include "cuda/families/overlap_save/checked/overlap_save_repair.cu"
#include "cuda/families/overlap_save/overlap_save_points.cpp"
#include "cuda/families/overlap_save/row/overlap_save_row.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_cut.cpp"
#include "cuda/families/overlap_save/segment/overlap_save_estimate.cpp"
#include "cuda/families/overlap_save/segment/overlap_save_launch.cpp"
#include "cuda/families/overlap_save/segment/overlap_save_make_tables.cpp"
#include "cuda/families/overlap_save/segment/overlap_save_narrow.cuh"
#include "cuda/families/overlap_save/segment/overlap_save_tiles_shape.cpp"

// What checked segments never ask for.
cudaError_t cudaOccupancyMaxActiveClusters(int* /*clusters*/, const void* /*kernel*/, const cudaLaunchConfig_t* /*config*/) {
    return cudaErrorNotSupported;
}
namespace tapline::cuda::overlap_save {
SegmentKernel ahead_kernel(bool /*is_complex*/) { return nullptr; }
template <class S>
Kernel pick_segment_kernel(int /*warps*/, Spectrum /*spectrum*/) {
    return {};
}
template <class Raw>
Kernel pick_narrow_kernel(int warps) {
    return warps == 1   ? plain_kernel<Narrow<Raw>, 1, Spectrum::block>()
           : warps == 2 ? plain_kernel<Narrow<Raw>, 2, Spectrum::block>()
                        : plain_kernel<Narrow<Raw>, 4, Spectrum::block>();
}
Kernel pick_to_bytes_kernel(int warps) {
    return warps == 1   ? plain_kernel<ToBytes, 1, Spectrum::block>()
           : warps == 2 ? plain_kernel<ToBytes, 2, Spectrum::block>()
                        : plain_kernel<ToBytes, 4, Spectrum::block>();
}
// Never launched, but its tables are those of all.
template <class X>
Kernel pick_tiles_kernel(int warps) {
    Kernel kernel = pick_narrow_kernel<std::int16_t>(warps);
    kernel.function = nullptr;
    return kernel;
}

namespace {

class NarrowSegments final : public Rung {
public:
    NarrowSegments() : Rung({.name = "narrow segments", .is_local = 0}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& /*device*/) const override {
        return takes_narrow(p, 1) ? "" : "other types";
    }
    [[nodiscard]] double estimate_seconds(const Problem& /*p*/, const cuda_abi::Device& /*device*/) const override { return 1; }
    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override {
        return prepared.chosen_as<ChosenNarrow>().plan.cut.outputs;
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenNarrow>();
        const Problem& p = prepared.problem;
        chosen->plan = load_segments(segment_kernel_of, prepared, cut_of(p, p.x.k < 800 ? 1 : p.x.k < 1600 ? 2 : 4, p.x.k));
        return chosen;
    }
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        const SegmentPlan& plan = prepared.chosen_as<ChosenNarrow>().plan;
        std::vector<std::byte> bytes = make_tables(plan);
        append_spectra(bytes, prepared, plan);
        return bytes;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* /*workspace*/,
                cudaStream_t stream) const override {
        Launch launch;
        launch.rows = job.batch;
        launch.count = job.count;
        launch_segments(prepared, prepared.chosen_as<ChosenNarrow>().plan, job, on_device, launch, stream);
    }

private:
    struct ChosenNarrow : Chosen {
        SegmentPlan plan;
    };
};

}  // namespace

const Rung& narrow_segments() {
    static const NarrowSegments rung;
    return rung;
}
int rows_at_once(int /*warps*/) { return 1; }
bool takes_rows(const Problem& /*p*/, int /*warps*/, const cuda_abi::Device& /*device*/) { return false; }
bool takes_halves(const Problem& /*p*/, int /*warps*/, const cuda_abi::Device& /*device*/) { return false; }
SpectrumPlan load_plan_spectra(const Prepared& /*prepared*/, const SpectrumShape& /*shape*/, const SpectrumTaps& /*taps*/) {
    return {};
}
}  // namespace tapline::cuda::overlap_save

namespace tapline::test::on_host {
namespace {

using namespace cuda::overlap_save;

template <class S>
void add_segments() {
    for (const int warps : kCheckedWarpCounts) {
        for (const Spectrum spectrum : {Spectrum::passing, Spectrum::block}) {
            const Kernel kernel = pick_checked_kernel<S>(warps, spectrum);
            if (kernel.function != nullptr) { add_kernel(kernel.function, reinterpret_cast<char*>(cuda::overlap_save::shared)); }
        }
    }
}

void add_narrow(Kernel (*pick)(int warps)) {
    for (const int warps : {1, 2, 4}) { add_kernel(pick(warps).function, reinterpret_cast<char*>(cuda::overlap_save::shared)); }
}

const bool added = [] {
    add_narrow(&pick_narrow_kernel<std::int16_t>);
    add_narrow(&pick_narrow_kernel<std::uint16_t>);
    add_narrow(&pick_narrow_kernel<__half>);
    add_narrow(&pick_narrow_kernel<__nv_bfloat16>);
    add_narrow(&pick_to_bytes_kernel);
    add_segments<cuda::WideFloat>();
    add_segments<cuda::WideComplex>();
    char* const memory = reinterpret_cast<char*>(repair_shared);
    add_kernel(&repair_kernel<float, float>, memory);
    add_kernel(&repair_kernel<float2, float>, memory);
    add_kernel(&repair_kernel<float2, float2>, memory);
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
