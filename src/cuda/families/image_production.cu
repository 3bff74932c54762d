#include "cuda/families/image_production.hpp"

#include "cuda/check.hpp"

namespace tapline::cuda {

Type image_type_of(const Problem& p, const cuda_abi::Device& device) {
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

double image_bytes(const Problem& p) {
    const auto elements = [&](std::int64_t height, std::int64_t width) {
        return static_cast<double>(p.batch.length) * static_cast<double>(height) * static_cast<double>(width) *
               static_cast<double>(p.channels.length);
    };
    return elements(p.y.n, p.x.n) * image_type_of(p, {}).bytes +
           elements(p.y.outputs, p.x.outputs) * stored_bytes(p.output_dtype);
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

ImageArguments image_arguments_of(const Prepared& prepared, const Job& job) {
    const Problem& p = prepared.problem;
    ImageArguments a{};
    a.out = job.out;
    a.in = job.in;
    a.taps = prepared.taps;
    a.table = prepared.table;
    a.first = job.first;
    a.rows = job.count;
    a.out_row = job.out_stride;
    a.out_image = job.out_batch;
    a.in_first = job.in_first;
    a.in_last = job.in_last;
    a.in_row = job.in_stride;
    a.in_image = job.in_batch;
    a.images = job.batch;
    a.height = p.y.n;
    a.width = p.x.n;
    a.row_elements = p.x.n * p.channels.length;
    a.out_elements = p.x.outputs * p.channels.length;
    a.origin_y = p.y.origin;
    a.origin_x = p.x.origin;
    a.mask_taps = p.filters > 1 ? p.y.k * p.x.k : 0;
    a.mask_height = static_cast<int>(p.y.k);
    a.mask_width = static_cast<int>(p.x.k);
    a.channels = static_cast<int>(p.channels.length);
    a.exact_edges = p.x.boundary == kZero && !prepared.taps_finite;
    a.integers = is_pixel_type(p.dtype);
    a.common.boundary = p.x.boundary;
    a.common.output_type = p.output_dtype;
    a.common.converts = p.output_dtype != p.dtype;
    a.common.plain_store = p.scale == 1 && p.bias == 0 && !p.has_clamp;
    a.common.has_clamp = p.has_clamp;
    a.common.constant_real = p.constant.real();
    a.common.constant_imag = p.constant.imag();
    a.common.scale = p.scale;
    a.common.bias = p.bias;
    a.common.low = p.clamp.low;
    a.common.high = p.clamp.high;
    return a;
}

}  // namespace tapline::cuda
