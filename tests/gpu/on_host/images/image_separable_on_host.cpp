// The separable rung for images as C++, with the tensor cores' product as the PTX manual defines it.
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::image_halves_rung {
alignas(128) char shared[test::on_host::kSharedBytes];
}
#define shared_memory ::tapline::cuda::image_halves_rung::shared
#include "gpu/on_host/tensor_on_host.hpp"
#define multiply multiply_on_a_gpu
#include "cuda/primitives/tf32_fragments.cuh"
#undef multiply

namespace tapline::cuda::tf32 {

// mma.m16n8k8 with its fragments' layouts; the 13 low bits of its factors are not read.
inline void multiply(float (&sum)[4], const float (&a)[4], const float (&b)[2]) {
    const float own[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
    char all[32][64];
    test::on_host::share_in_warp(own, sizeof own, all);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const auto factor = [&](int thread, int i) {
        float x = 0;
        std::memcpy(&x, all[thread] + 4 * i, sizeof x);
        return static_cast<double>(__uint_as_float(__float_as_uint(x) & 0xffffe000u));
    };
    for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8;
        const int column = lane % 4 * 2 + i % 2;
        double total = 0;
        for (int k = 0; k < 8; ++k) {
            total += factor(row % 8 * 4 + k % 4, row / 8 + k / 4 * 2) * factor(column * 4 + k % 4, 4 + k / 4);
        }
        sum[i] = static_cast<float>(sum[i] + total);
    }
}

}  // namespace tapline::cuda::tf32

namespace tapline::cuda::image_separable_rung {
alignas(128) char shared[test::on_host::kSharedBytes];
}
namespace tapline::cuda::image_boxes_rung {
alignas(128) char shared[test::on_host::kSharedBytes];
}
#include "cuda/families/separable/separable_boxes.cu"
#include "cuda/families/separable/separable_launch.cu"

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

template <int... kMore>
bool add_march_halves(std::integer_sequence<int, kMore...>) {
    namespace halves = cuda::image_halves_rung;
    (add_kernel(&halves::march_halves<halves::kFewSteps + 1 + kMore, 1, 3, halves::kFewSteps + 1 + kMore>, halves::shared), ...);
    (add_kernel(&halves::march_halves<halves::kFewSteps + 1 + kMore, 1, 2, halves::kFewSteps + 1 + kMore>, halves::shared), ...);
    (add_kernel(&halves::march_halves<halves::kFewSteps + 1 + kMore, 1, 3, 1>, halves::shared), ...);
    return true;
}
const bool added_march_halves =
    add_march_halves(std::make_integer_sequence<int, cuda::image_halves_rung::kMostSteps - cuda::image_halves_rung::kFewSteps>{});

const bool added_boxes = [] {
    namespace boxes = cuda::image_boxes_rung;
    add_kernel(&boxes::march_boxes<boxes::kUsualThreads>, boxes::shared);
    add_kernel(&boxes::march_boxes<boxes::kMostThreads>, boxes::shared);
    return true;
}();

const bool added_march_tensor = [] {
    char* const shared = cuda::image_separable_rung::shared;
    add_kernel(&cuda::image_separable_rung::march_tensor<4>, shared);
    add_kernel(&cuda::image_separable_rung::march_tensor<5>, shared);
    add_kernel(&cuda::image_separable_rung::march_tensor<6>, shared);
    add_kernel(&cuda::image_halves_rung::march_halves<3, 1, 3, 3>, cuda::image_halves_rung::shared);
    add_kernel(&cuda::image_halves_rung::march_halves<3, 3, 3, 3>, cuda::image_halves_rung::shared);
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
