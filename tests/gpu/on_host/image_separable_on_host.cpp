// The separable rung for images as C++.
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::image_separable_rung {
alignas(128) char shared[test::on_host::kSharedBytes];
}
#include "cuda/ladder/conv2d/separable.cu"

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    char* const shared = cuda::image_separable_rung::shared;
    add_kernel(&cuda::image_separable_rung::kernel<true>, shared);
    add_kernel(&cuda::image_separable_rung::kernel<false>, shared);
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
