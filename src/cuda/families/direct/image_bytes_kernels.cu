// The kernels for small masks on pixels of a byte.
#include "cuda/families/direct/image_bytes.cuh"

namespace tapline::cuda::image_bytes_rung {
namespace {

template <int K>
Chosen with_channels(std::int64_t channels) {
    switch (channels) {
        case 1:
            return {&kernel<K, 1>, K};
        case 3:
            return {&kernel<K, 3>, K};
        case 4:
            return {&kernel<K, 4>, K};
        default:
            return {};
    }
}

}  // namespace

Chosen kernel_of(std::int64_t mask_height, std::int64_t mask_width, std::int64_t channels) {
    const std::int64_t side = mask_height > mask_width ? mask_height : mask_width;
    return side <= 3 ? with_channels<3>(channels) : side <= kMostMask ? with_channels<kMostMask>(channels) : Chosen{};
}

}  // namespace tapline::cuda::image_bytes_rung
