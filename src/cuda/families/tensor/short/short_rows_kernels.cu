// The kernels of rung 47, for each number of chunks.
#include <string_view>

#include "cuda/families/tensor/short/short_rows.cuh"

namespace tapline::cuda::short_rows {

namespace {

template <bool kApart>
Kernel pick(int chunks) {
    switch (chunks) {
        case 1:
            return &short_rows_kernel<1, kApart>;
        case 2:
            return &short_rows_kernel<2, kApart>;
        case 3:
            return &short_rows_kernel<3, kApart>;
        case 4:
            return &short_rows_kernel<4, kApart>;
        default:
            return nullptr;
    }
}

}  // namespace

Kernel kernel_of(int chunks, bool apart) {
    constexpr bool kFor90a = std::string_view(TAPLINE_CUDA_BUILT_FOR).find("90a") != std::string_view::npos;
    if (!kFor90a) { return nullptr; }
    return apart ? pick<true>(chunks) : pick<false>(chunks);
}

}  // namespace tapline::cuda::short_rows
