// The kernels whose samples stay in registers, for every 16-bit type, number of chunks and one or two halves of a tap.
#include <algorithm>
#include <string_view>

#include "cuda/ladder/conv1d/tensor_rows.cuh"

namespace tapline::cuda {
namespace {

constexpr int kLeastChunks = 3;

template <class S, int kChunks = kLeastChunks>
const void* kernel_with(int chunks, int pieces) {
    if (chunks <= kChunks) {
        return pieces == 1 ? reinterpret_cast<const void*>(&tensor::rows_kernel<S, kChunks, 1>)
                           : reinterpret_cast<const void*>(&tensor::rows_kernel<S, kChunks, 2>);
    }
    if constexpr (kChunks < tensor::kMostChunks) { return kernel_with<S, kChunks + 1>(chunks, pieces); }
    return nullptr;
}

}  // namespace

TensorRowsKernel tensor_rows_kernel_of(int dtype, int chunks, int pieces) {
    constexpr bool kBuilt = std::string_view(TAPLINE_CUDA_BUILT_FOR).find("90a") != std::string_view::npos;
    if (!kBuilt || chunks > tensor::kMostChunks) { return {}; }
    const int built = std::max(chunks, kLeastChunks);
    const void* const entry = dtype == kF16    ? kernel_with<__half>(built, pieces)
                              : dtype == kBf16 ? kernel_with<__nv_bfloat16>(built, pieces)
                                               : nullptr;
    return {entry, tensor::kRowsThreads, static_cast<std::size_t>(tensor::row_shared_bytes(built))};
}

}  // namespace tapline::cuda
