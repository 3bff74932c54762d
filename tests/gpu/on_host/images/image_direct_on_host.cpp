// The direct rung for images as C++, and the functions of the engine that rungs call.
#include "gpu/on_host/byte_shuffles.hpp"
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::image_direct_rung {
alignas(128) char shared[test::on_host::kSharedBytes];
}
#include "cuda/families/common/images.cpp"
#include "cuda/families/common/types.cpp"
#include "cuda/families/direct/image_bytes_kernels.cu"
#include "cuda/families/direct/image_direct.cpp"
#include "cuda/families/direct/image_direct_kernels.cu"

namespace tapline::cuda {

void check(cudaError_t result, const char* what) {
    if (result != cudaSuccess) { throw CudaError(cuda_abi::Code::device, what); }
}
void check_launch(const char*) {}

}  // namespace tapline::cuda

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    char* const shared = cuda::image_direct_rung::shared;
    add_kernel(&cuda::image_direct_rung::small_kernel<3>, shared);
    add_kernel(&cuda::image_direct_rung::small_kernel<5>, shared);
    add_kernel(&cuda::image_direct_rung::small_kernel<7>, shared);
    const auto add_bytes = [shared]<int K>() {
        add_kernel(&cuda::image_bytes_rung::kernel<K, 1>, shared);
        add_kernel(&cuda::image_bytes_rung::kernel<K, 3>, shared);
        add_kernel(&cuda::image_bytes_rung::kernel<K, 4>, shared);
    };
    add_bytes.operator()<3>();
    add_bytes.operator()<5>();
    const auto add = [shared]<class S, class H>() {
        add_kernel(&cuda::image_direct_rung::kernel<S, H>, shared);
        add_kernel(&cuda::image_direct_rung::exact_kernel<S, H>, shared);
    };
    add.operator()<__half, float>();
    add.operator()<__nv_bfloat16, float>();
    add.operator()<std::uint8_t, float>();
    add.operator()<std::uint16_t, float>();
    return add_sums_and_taps(add);
}();

}  // namespace
}  // namespace tapline::test::on_host
