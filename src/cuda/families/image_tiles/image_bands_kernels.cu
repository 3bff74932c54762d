// The kernels of rung 10 for many small images.
#include "cuda/families/image_tiles/image_bands.cuh"

namespace tapline::cuda::image_tiles_rung {
namespace {

template <class Raw>
BandKernel kernel_of_raw(int by_value) {
    switch (by_value) {
        case 3:
            return &image_bands_kernel<4, 3, Raw>;
        case 5:
            return &image_bands_kernel<4, 5, Raw>;
        case 7:
            return &image_bands_kernel<3, 7, Raw>;
        case 9:
            return &image_bands_kernel<3, 9, Raw>;
        default:
            return &image_bands_kernel<3, 0, Raw>;
    }
}

}  // namespace

BandKernel band_kernel_of(int mask_height, int mask_width, int pixel_bytes) {
    const int by_value = takes_taps_by_value(mask_height, mask_width) ? mask_width : 0;
    return pixel_bytes == 1   ? kernel_of_raw<std::uint8_t>(by_value)
           : pixel_bytes == 2 ? kernel_of_raw<std::uint16_t>(by_value)
                              : kernel_of_raw<float>(by_value);
}

}  // namespace tapline::cuda::image_tiles_rung
