// The kernels of rung 47, for each number of chunks.
#include <string_view>

#include "cuda/families/tensor/short/short_rows.cuh"

namespace tapline::cuda::short_rows {

Kernel kernel_of(int chunks) {
    constexpr bool kFor90a = std::string_view(TAPLINE_CUDA_BUILT_FOR).find("90a") != std::string_view::npos;
    if (!kFor90a) { return nullptr; }
    switch (chunks) {
        case 1:
            return &short_rows_kernel<1>;
        case 2:
            return &short_rows_kernel<2>;
        case 3:
            return &short_rows_kernel<3>;
        case 4:
            return &short_rows_kernel<4>;
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda::short_rows
