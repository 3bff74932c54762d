#include "cuda/families/integer/integer_transforms.cuh"

namespace tapline::cuda::integer {

TransformKernel transform_kernel(Way way) {
    switch (way) {
        case Way::whole:
            return &transform_wholes_kernel;
        case Way::two:
            return &transform_limbs_kernel<Way::two>;
        case Way::four:
            return &transform_limbs_kernel<Way::four>;
        default:
            return nullptr;
    }
}

std::size_t transform_shared_bytes(Way way) {
    const std::size_t places = static_cast<std::size_t>(points_of(way)) / 8 * 9;
    return places * sizeof(double2) * (way == Way::four ? 2 : 1);
}

}  // namespace tapline::cuda::integer
