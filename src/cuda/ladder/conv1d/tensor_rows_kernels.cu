// The kernels whose samples stay in registers, for every 16-bit type, number of chunks and one or two halves of a tap.
#include <cstddef>
#include <iterator>
#include <string_view>

#include "cuda/ladder/conv1d/tensor_rows.cuh"

namespace tapline::cuda {
namespace {

// For up to so many taps, each with the chunks before; above kMostChunks of one half only.
constexpr int kBuilt[] = {3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 17, 18};
static_assert(kBuilt[std::size(kBuilt) - 1] == tensor::kMostChunksOnce);

template <class S, std::size_t kIndex = 0>
TensorRowsKernel kernel_with(int chunks, int pieces) {
    constexpr int kChunks = kBuilt[kIndex];
    if (chunks <= kChunks) {
        const void* entry = reinterpret_cast<const void*>(&tensor::rows_kernel<S, kChunks, 1>);
        if (pieces == 2) {
            entry = nullptr;
            if constexpr (kChunks <= tensor::kMostChunks) {
                entry = reinterpret_cast<const void*>(&tensor::rows_kernel<S, kChunks, 2>);
            }
        }
        return {entry, tensor::row_threads(kChunks), static_cast<std::size_t>(tensor::row_shared_bytes(kChunks, pieces))};
    }
    if constexpr (kIndex + 1 < std::size(kBuilt)) { return kernel_with<S, kIndex + 1>(chunks, pieces); }
    return {};
}

}  // namespace

TensorRowsKernel tensor_rows_kernel_of(int dtype, int chunks, int pieces) {
    constexpr bool kFor90a = std::string_view(TAPLINE_CUDA_BUILT_FOR).find("90a") != std::string_view::npos;
    if (!kFor90a) { return {}; }
    return dtype == kF16    ? kernel_with<__half>(chunks, pieces)
           : dtype == kBf16 ? kernel_with<__nv_bfloat16>(chunks, pieces)
                            : TensorRowsKernel{};
}

}  // namespace tapline::cuda
