// The separable rung for images as C++.
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::image_separable_rung {
alignas(128) char shared[test::on_host::kSharedBytes];
}
#include "cuda/ladder/conv2d/separable.cu"

namespace tapline::test::on_host {
namespace {

template <int... kChannels>
bool add(std::integer_sequence<int, kChannels...>) {
    char* const shared = cuda::image_separable_rung::shared;
    (add_kernel(&cuda::image_separable_rung::kernel<true, kChannels>, shared), ...);
    (add_kernel(&cuda::image_separable_rung::kernel<false, kChannels>, shared), ...);
    return true;
}
const bool added = add(std::make_integer_sequence<int, 5>{});

}  // namespace
}  // namespace tapline::test::on_host
