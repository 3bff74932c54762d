#include "cuda/families/image_production.hpp"

#include "cuda/check.hpp"

namespace tapline::cuda {

Type image_type_of(const ImageProblem& p, const cuda_abi::Device& device) {
    switch (p.dtype) {
        case kU8:
            return {1, 4, 1, 1};
        case kU16:
            return {2, 4, 1, 1};
        default: {
            Problem signal;
            signal.dtype = p.dtype;
            signal.taps_dtype = p.taps_dtype;
            return type_of(signal, device);
        }
    }
}

double image_bytes(const ImageProblem& p) {
    const auto elements = [&](std::int64_t height, std::int64_t width) {
        return static_cast<double>(p.batch) * static_cast<double>(height) * static_cast<double>(width) *
               static_cast<double>(p.channels);
    };
    return elements(p.height, p.width) * image_type_of(p, {}).bytes +
           elements(p.out_height, p.out_width) * stored_bytes(p.output_dtype);
}

dim3 image_grid(ImageArguments& a, int tile_rows, int tile_elements) {
    a.tiles_x = divide_up(a.out_elements, tile_elements);
    a.tiles_y = divide_up(a.rows, tile_rows);
    const double blocks = static_cast<double>(a.tiles_x) * static_cast<double>(a.tiles_y) * static_cast<double>(a.images);
    if (blocks > static_cast<double>(kMostBlocks)) {
        throw CudaError(cuda_abi::Code::unsupported, "problem: more images or tiles than one launch has blocks; divide the batch");
    }
    return {static_cast<unsigned>(a.tiles_x * a.tiles_y * a.images)};
}

ImageArguments image_arguments_of(const PreparedImage& prepared, const ImageJob& job) {
    const ImageProblem& p = prepared.problem;
    ImageArguments a{};
    a.out = job.out;
    a.in = job.in;
    a.taps = prepared.taps;
    a.table = prepared.table;
    a.first = job.first;
    a.rows = job.rows;
    a.out_row = job.out_row;
    a.out_image = job.out_image;
    a.in_first = job.in_first;
    a.in_last = job.in_last;
    a.in_row = job.in_row;
    a.in_image = job.in_image;
    a.images = job.images;
    a.height = p.height;
    a.width = p.width;
    a.row_elements = p.width * p.channels;
    a.out_elements = p.out_width * p.channels;
    a.origin_y = p.origin_y;
    a.origin_x = p.origin_x;
    a.mask_taps = p.masks > 1 ? p.mask_height * p.mask_width : 0;
    a.mask_height = static_cast<int>(p.mask_height);
    a.mask_width = static_cast<int>(p.mask_width);
    a.channels = static_cast<int>(p.channels);
    a.exact_edges = p.boundary == kZero && !prepared.taps_finite;
    a.integers = is_pixel_type(p.dtype);
    a.common.boundary = p.boundary;
    a.common.output_type = p.output_dtype;
    a.common.converts = p.output_dtype != p.dtype;
    a.common.plain_store = p.scale == 1 && p.bias == 0 && p.has_clamp == 0;
    a.common.has_clamp = p.has_clamp;
    a.common.constant_real = p.constant_real;
    a.common.constant_imag = p.constant_imag;
    a.common.scale = p.scale;
    a.common.bias = p.bias;
    a.common.low = p.low;
    a.common.high = p.high;
    return a;
}

}  // namespace tapline::cuda
