#include "cuda/families/integer/digits/integer_group.cuh"

#include <string_view>

namespace tapline::cuda::integer {

GroupKernel group_kernel(const Digits& d) {
    constexpr bool kFor90a = std::string_view(TAPLINE_CUDA_BUILT_FOR).find("90a") != std::string_view::npos;
    if (!kFor90a) { return nullptr; }
    return with_digits<111, 122, 212, 222, 223, 245, 414, 424, 425, 444, 447, 818, 828, 848>(
        d, [&]<int kSamples, int kTaps, int kSums>() -> GroupKernel { return &group_digits_kernel<kSamples, kTaps, kSums>; });
}

}  // namespace tapline::cuda::integer
