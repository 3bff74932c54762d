// The kernels whose samples stay in registers, for every 16-bit type, number of chunks and kind of taps.
#include <cstddef>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "cuda/families/tensor/tensor_rows.cuh"

namespace tapline::cuda::tensor {
namespace {

// For so many chunks and fewer, down to the next, whose tiles are the same. With one product memory limits where 7 are enough
// for 6.
constexpr int kBuilt[] = {3, 5, 6, 7, 8, 9, 11, 13, 15, 17, 18};
static_assert(kBuilt[std::size(kBuilt) - 1] == kMostChunksOnce);
constexpr bool is_built(int chunks, int pieces) { return chunks != 6 || pieces == 2; }

/// `H` is multiplied: where it is not the signal's type, or taps are two pieces, up to kMostChunks.
template <class S, class H, int kPieces, std::size_t kIndex = 0>
Rows kernel_with(int chunks) {
    constexpr int kChunks = kBuilt[kIndex];
    if constexpr (kChunks <= kMostChunks || (std::is_same_v<S, H> && kPieces == 1)) {
        if constexpr (is_built(kChunks, kPieces)) {
            if (chunks <= kChunks) {
                return {&rows_kernel<S, H, kChunks, kPieces>, row_threads(kChunks),
                        static_cast<std::size_t>(row_shared_bytes(kChunks, kPieces))};
            }
        }
        if constexpr (kIndex + 1 < std::size(kBuilt)) { return kernel_with<S, H, kPieces, kIndex + 1>(chunks); }
    }
    return {};
}

}  // namespace

Rows rows_kernel_of(Dtype dtype, int chunks, int pieces, bool narrow_taps) {
    constexpr bool kFor90a = std::string_view(TAPLINE_CUDA_BUILT_FOR).find("90a") != std::string_view::npos;
    if (!kFor90a) { return {}; }
    if (dtype == kF16) { return pieces == 1 ? kernel_with<__half, __half, 1>(chunks) : kernel_with<__half, __half, 2>(chunks); }
    if (dtype != kBf16) { return {}; }
    if (narrow_taps) { return kernel_with<__nv_bfloat16, __nv_bfloat16, 1>(chunks); }
    return pieces == 1 ? kernel_with<__nv_bfloat16, __half, 1>(chunks) : kernel_with<__nv_bfloat16, __half, 2>(chunks);
}

}  // namespace tapline::cuda::tensor
