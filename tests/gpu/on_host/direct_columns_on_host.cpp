// The rung for columns as C++; what it shares with others is in direct_tiles_on_host.cpp.
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::columns {
alignas(128) uint4 shared[test::on_host::kSharedBytes / sizeof(uint4)];
}
#include "cuda/families/direct/columns/direct_columns.cpp"
#include "cuda/families/direct/columns/direct_columns_along_kernels.cu"
#include "cuda/families/direct/columns/direct_columns_kernels.cu"
#include "cuda/families/direct/columns/direct_columns_own_kernels.cu"

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    constexpr std::array kTypes{std::pair{Dtype::f32, Dtype::f32},        std::pair{Dtype::f64, Dtype::f64},
                                std::pair{Dtype::complex64, Dtype::f32},  std::pair{Dtype::complex64, Dtype::complex64},
                                std::pair{Dtype::complex128, Dtype::f64}, std::pair{Dtype::complex128, Dtype::complex128},
                                std::pair{Dtype::u8, Dtype::f32},         std::pair{Dtype::f16, Dtype::f32}};
    for (const auto& [samples, taps] : kTypes) {
        for (const bool own : {false, true}) {
            for (const auto way :
                 {cuda::columns::Way::alone, cuda::columns::Way::vector, cuda::columns::Way::apart, cuda::columns::Way::along}) {
                const cuda::columns::Kernel kernel = cuda::columns::kernel_of(samples, taps, way, own);
                if (kernel != nullptr) { add_kernel(kernel, reinterpret_cast<char*>(cuda::columns::shared)); }
            }
        }
    }
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
