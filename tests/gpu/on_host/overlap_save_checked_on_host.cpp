// The rung of checked segments as C++.
#include "gpu/on_host/cuda_on_host.hpp"

#define __cvta_generic_to_shared(address) reinterpret_cast<std::uintptr_t>(address)
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

// What checked segments never ask for.
cudaError_t cudaOccupancyMaxActiveClusters(int* /*clusters*/, const void* /*kernel*/, const cudaLaunchConfig_t* /*config*/) {
    return cudaErrorNotSupported;
}
namespace tapline::cuda::overlap_save {
template <class S>
Kernel pick_segment_kernel(int /*warps*/, Spectrum /*spectrum*/) {
    return {};
}
template <class X>
Kernel pick_tiles_kernel(int /*warps*/) {
    return {};
}
template <class Raw>
Kernel pick_narrow_kernel(int /*warps*/) {
    return {};
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

const bool added = [] {
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
