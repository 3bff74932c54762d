// The tensor-core rung for images as C++.
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::image_tensor_rung {
alignas(128) char shared[test::on_host::kSharedBytes];
}
#define shared_memory ::tapline::cuda::image_tensor_rung::shared
#include "gpu/on_host/tensor_on_host.hpp"

#include "cuda/families/tensor/image_tensor.cu"

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    char* const shared = cuda::image_tensor_rung::shared;
    add_kernel(&cuda::image_tensor_rung::kernel<2, false>, shared);
    add_kernel(&cuda::image_tensor_rung::kernel<2, true>, shared);
    add_kernel(&cuda::image_tensor_rung::kernel<3, true>, shared);
    add_kernel(&cuda::image_tensor_rung::kernel<4, true>, shared);
    add_kernel(&cuda::image_tensor_rung::kernel<5, true>, shared);
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
