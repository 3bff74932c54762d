#include "cuda/families/integer/digits/integer_group.cuh"

#include <string_view>

namespace tapline::cuda::integer {

GroupKernel group_kernel(const Digits& d) {
    constexpr bool kFor90a = std::string_view(TAPLINE_CUDA_BUILT_FOR).find("90a") != std::string_view::npos;
    if (!kFor90a) { return nullptr; }
    switch (100 * d.samples + 10 * d.taps + d.sums) {
        case 111:
            return &group_digits_kernel<1, 1, 1>;
        case 122:
            return &group_digits_kernel<1, 2, 2>;
        case 212:
            return &group_digits_kernel<2, 1, 2>;
        case 222:
            return &group_digits_kernel<2, 2, 2>;
        case 223:
            return &group_digits_kernel<2, 2, 3>;
        case 245:
            return &group_digits_kernel<2, 4, 5>;
        case 414:
            return &group_digits_kernel<4, 1, 4>;
        case 424:
            return &group_digits_kernel<4, 2, 4>;
        case 425:
            return &group_digits_kernel<4, 2, 5>;
        case 444:
            return &group_digits_kernel<4, 4, 4>;
        case 447:
            return &group_digits_kernel<4, 4, 7>;
        case 818:
            return &group_digits_kernel<8, 1, 8>;
        case 828:
            return &group_digits_kernel<8, 2, 8>;
        case 848:
            return &group_digits_kernel<8, 4, 8>;
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda::integer
