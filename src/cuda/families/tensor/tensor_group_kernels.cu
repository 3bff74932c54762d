// The kernels of four warps a tile, for every 16-bit type and every second number of steps. They need what only code for 90a has.
#include <string_view>

#include "cuda/families/tensor/tensor_group.cuh"

namespace tapline::cuda::tensor {
namespace {

template <class S, int kSteps = 4>
TileKernel kernel_with(int steps) {
    if (steps <= kSteps) { return &warpgroup_kernel<S, kSteps>; }
    if constexpr (kSteps < kMostSteps) { return kernel_with<S, kSteps + 2>(steps); }
    return nullptr;
}

}  // namespace

TileKernel group_kernel_of(Dtype dtype, int steps) {
    constexpr bool kBuilt = std::string_view(TAPLINE_CUDA_BUILT_FOR).find("90a") != std::string_view::npos;
    if (!kBuilt) { return nullptr; }
    return dtype == kF16 ? kernel_with<__half>(steps) : dtype == kBf16 ? kernel_with<__nv_bfloat16>(steps) : nullptr;
}

}  // namespace tapline::cuda::tensor
