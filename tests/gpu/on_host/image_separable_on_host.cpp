// The separable rung for images as C++.
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::image_separable_rung {
alignas(128) char shared[test::on_host::kSharedBytes];
}
#include "cuda/ladder/conv2d/separable.cu"

namespace tapline::test::on_host {
namespace {

template <int... kAcross>
bool add(std::integer_sequence<int, kAcross...>) {
    char* const shared = cuda::image_separable_rung::shared;
    (add_kernel(&cuda::image_separable_rung::kernel<true, kAcross>, shared), ...);
    (add_kernel(&cuda::image_separable_rung::kernel<false, kAcross>, shared), ...);
    return true;
}
const bool added =
    add(std::integer_sequence<int, cuda::image_separable_rung::kAcrossOne, cuda::image_separable_rung::kAcrossMany>{});

template <int... kChannels>
bool add_march(std::integer_sequence<int, kChannels...>) {
    (add_kernel(&cuda::image_separable_rung::march<1 + kChannels>, cuda::image_separable_rung::shared), ...);
    return true;
}
const bool added_march = add_march(std::make_integer_sequence<int, cuda::image_separable_rung::kMostChannels>{});

}  // namespace
}  // namespace tapline::test::on_host
