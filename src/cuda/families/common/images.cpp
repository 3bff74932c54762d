#include "cuda/families/common/images.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cuda/check.hpp"

namespace tapline::cuda {

namespace {

bool stays_inside(const core::Axis& a) { return a.origin <= 0 && a.outputs - 1 + a.k - 1 - a.origin < a.n; }

}  // namespace

Refusal refuse_boundaries(const Problem& p) {
    if (p.x.boundary == p.y.boundary || stays_inside(p.x) || stays_inside(p.y)) { return {}; }
    return "takes one rule for what lies outside the image, not one for each axis";
}

Refusal refuse_image_layout(const Problem& p) {
    return p.has_packed_pixels() ? refuse_boundaries(p) : "takes images whose pixels lie side by side";
}

Refusal refuse_pixels(const Problem& p) {
    if (is_pixel_type(p.dtype)) { return p.taps_dtype == kF32 ? "" : "takes u8 and u16 with f32 taps only"; }
    return is_integer(p.dtype) ? "takes no integers but u8 and u16" : refuse_types(p);
}

Refusal refuse_image(const Problem& p) {
    Refusal refusal = refuse_image_layout(p);
    return refusal.empty() ? refuse_pixels(p) : refusal;
}

Refusal refuse_stepped_image(const Problem& p) {
    if (p.channels.length != 1 && !p.has_packed_pixels()) { return "takes pixels of several channels that lie side by side"; }
    Refusal refusal = refuse_boundaries(p);
    return refusal.empty() ? refuse_pixels(p) : refusal;
}

Type image_type_of(const Problem& p, const cuda_abi::Device& device) {
    switch (p.dtype) {
        case kU8:
            return {1, 4, 1, 1};
        case kU16:
            return {2, 4, 1, 1};
        default:
            return type_of(p, device);
    }
}

Boundary image_boundary(const Problem& p) { return stays_inside(p.y) ? p.x.boundary : p.y.boundary; }

bool goes_down_columns(const Problem& p) { return std::abs(p.y.in_stride) < std::abs(p.x.in_stride); }

double outputs_in_tiles(const Problem& p, double tile_rows, double tile_elements) {
    // 60,000 images of 28 x 28 pixels with 5 x 5 taps, reflected: rung 04 takes 3.4 ms, of which its whole tiles' sums are 0.6,
    // rung 07 5.9 ms.
    constexpr double kAtEdges = 4;
    const double down = std::ceil(static_cast<double>(p.y.outputs) / tile_rows);
    const double across = std::ceil(static_cast<double>(p.x.outputs * p.channels.length) / tile_elements);
    const double inner = std::max(down - 2, 0.0) * std::max(across - 2, 0.0);
    const double edges = 1 - inner / (down * across);
    return (1 + kAtEdges * edges * edges) * down * across * tile_rows * tile_elements * static_cast<double>(p.batch.length);
}

double image_bytes(const Problem& p) {
    return static_cast<double>(p.samples()) * image_type_of(p, {}).bytes + image_outputs(p) * stored_bytes(p.output_dtype);
}

double seconds_to_move_planes(const Problem& p, const cuda_abi::Device& device) {
    // Bytes for each that is needed.
    const auto touched = [&](std::int64_t x, std::int64_t y, int bytes) {
        const std::int64_t step = std::min(std::abs(x), std::abs(y));
        const bool found_in_cache = p.channels.length > 1 && step * bytes < kSectorBytes;
        return found_in_cache ? 1.0 : bytes_touched(step, bytes) / bytes;
    };
    const int in_bytes = image_type_of(p, {}).bytes;
    const int out_bytes = stored_bytes(p.output_dtype);
    const double moved = static_cast<double>(p.samples()) * in_bytes * touched(p.x.in_stride, p.y.in_stride, in_bytes) +
                         image_outputs(p) * out_bytes * touched(p.x.out_stride, p.y.out_stride, out_bytes);
    return moved / (kShareOfCopy * device.copy_bytes_per_second);
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

dim3 image_grid_of_planes(ImageArguments& a, int tile_rows, int tile_pixels) {
    dim3 grid = image_grid(a, tile_rows, tile_pixels * a.channels);
    if (std::int64_t{grid.x} * a.channels > kMostBlocks) {
        throw CudaError(cuda_abi::Code::unsupported, "problem: more tiles than one launch has blocks; divide the batch");
    }
    grid.x *= static_cast<unsigned>(a.channels);
    return grid;
}

ImageArguments image_arguments_of(const Prepared& prepared, const Job& job, const OnDevice& on_device) {
    const Problem& p = prepared.problem;
    const Boundary boundary = image_boundary(p);
    ImageArguments a{};
    a.out = job.out;
    a.in = job.in;
    a.taps = on_device.taps;
    a.table = on_device.tables;
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
    const bool is_packed = job.packed != 0 || p.channels.length != 1;
    a.in_step = is_packed ? 1 : p.x.in_stride;
    a.out_step = is_packed ? 1 : p.x.out_stride;
    a.by_columns = !is_packed && goes_down_columns(p);
    a.origin_y = p.y.origin;
    a.origin_x = p.x.origin;
    a.mask_taps = p.filters > 1 ? prepared.taps_pitch_bytes / image_type_of(p, prepared.device).tap_bytes : 0;
    a.mask_height = static_cast<int>(p.y.k);
    a.mask_width = static_cast<int>(p.x.k);
    a.channels = static_cast<int>(p.channels.length);
    a.exact_edges = boundary == kZero && !p.taps_finite;
    a.integers = is_pixel_type(p.dtype);
    a.common.boundary = boundary;
    set_epilogue(a.common, p);
    return a;
}

}  // namespace tapline::cuda
