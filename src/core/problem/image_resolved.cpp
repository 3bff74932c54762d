#include "core/problem/image_resolved.hpp"

#include <cmath>

#include "core/problem/checks.hpp"

namespace tapline {
namespace core {
namespace {

[[noreturn]] void refuse(ErrorCode code, const std::string& message) { throw Error(code, message); }

// Bytes from a buffer's first element to its last.
constexpr __int128 kMaxBytes = __int128{1} << 60;
constexpr std::int64_t kMaxStride = std::int64_t{1} << 56;

// Stored in 16 bits, summed as f32: on a GPU only.
bool is_half(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16; }

bool is_image_dtype(Dtype dtype) {
    return dtype == Dtype::f32 || dtype == Dtype::f64 || is_complex(dtype) || dtype == Dtype::u8 || dtype == Dtype::u16 ||
           is_half(dtype);
}

void check_types(const ImageProblem& p) {
    if (!is_image_dtype(p.dtype)) {
        refuse(ErrorCode::type,
               std::string("dtype: ") + to_string(p.dtype) +
                   " images are not supported; convert to f32, f64, complex64, complex128, u8 or u16 (on a GPU also f16 or bf16)");
    }
    const Dtype out = output_dtype(p);
    if (is_half(out) && !is_half(p.dtype)) {
        refuse(ErrorCode::unsupported, std::string("output_dtype: ") + to_string(out) + " images are not supported; take f32");
    }
    if (is_integer(p.dtype) && p.complex_taps) {
        refuse(ErrorCode::type, std::string("complex_taps: the image is ") + to_string(p.dtype) +
                                    "; complex taps need a complex image: convert it to complex64");
    }
}

// One axis is a one-dimensional problem: its own checks, words and numbers hold for it.
struct Axis {
    std::int64_t origin = 0, outputs = 0;
};

Axis resolve_axis(const ImageProblem& p, const char* name, std::int64_t length, std::int64_t taps,
                  const std::optional<std::int64_t>& origin) {
    Problem axis;
    axis.length = length;
    axis.taps = taps;
    axis.mode = p.mode;
    axis.origin = origin;
    try {
        const Resolved r = resolve(axis);
        return {r.origin, r.output_length};
    } catch (const Error& error) { throw Error(error.code(), std::string(name) + ": " + error.what()); }
}

// So are the fields that have nothing to do with sizes.
void check_common(const ImageProblem& p) {
    Problem common;
    common.length = common.taps = 1;
    common.boundary = p.boundary;
    common.constant = p.constant;
    common.dtype = p.dtype;
    common.complex_taps = p.complex_taps;
    common.output_dtype = output_dtype(p);
    common.scale = p.scale;
    common.bias = p.bias;
    common.clamp = p.clamp;
    resolve(common);
}

std::int64_t stride_of(const char* name, std::int64_t given, __int128 fallback, __int128 least) {
    if (given < 0) {
        refuse(ErrorCode::argument,
               std::string(name) + ": " + std::to_string(given) + "; strides are positive, or 0 for the default");
    }
    const __int128 stride = given == 0 ? fallback : given;
    if (stride > kMaxStride) { refuse(ErrorCode::argument, std::string(name) + ": more than 2^56 elements"); }
    if (given != 0 && given < least) {
        refuse(ErrorCode::argument, std::string(name) + ": " + std::to_string(given) + " is less than the " +
                                        std::to_string(static_cast<std::int64_t>(least)) + " elements that it steps over");
    }
    return static_cast<std::int64_t>(stride);
}

void check_extent(const char* name, __int128 elements, Dtype dtype) {
    if (elements * static_cast<__int128>(size_of(dtype)) > kMaxBytes) {
        refuse(ErrorCode::argument, std::string(name) + ": its elements and strides span more than 2^60 bytes");
    }
}

__int128 product(std::int64_t a, std::int64_t b) { return static_cast<__int128>(a) * b; }

void resolve_layout(ResolvedImage& r) {
    const ImageProblem& p = r.problem;
    const __int128 in_width = product(r.width, r.channels), out_width = product(r.out_width, r.channels);
    check_extent("width", in_width, r.dtype);
    check_extent("output width", out_width, r.output_dtype);
    r.in_row = stride_of("input_row_stride", p.input_row_stride, in_width, r.height > 1 ? in_width : 1);
    r.out_row = stride_of("output_row_stride", p.output_row_stride, out_width, r.out_height > 1 ? out_width : 1);
    const __int128 in_image = product(r.height - 1, r.in_row) + in_width;
    const __int128 out_image = product(r.out_height - 1, r.out_row) + out_width;
    check_extent("image", in_image, r.dtype);
    check_extent("output", out_image, r.output_dtype);
    r.in_image = stride_of("input_image_stride", p.input_image_stride, product(r.height, r.in_row), r.batch > 1 ? in_image : 1);
    r.out_image =
        stride_of("output_image_stride", p.output_image_stride, product(r.out_height, r.out_row), r.batch > 1 ? out_image : 1);
    check_extent("image", product(r.batch - 1, r.in_image) + in_image, r.dtype);
    check_extent("output", product(r.batch - 1, r.out_image) + out_image, r.output_dtype);
    check_extent("mask", product(r.mask_height, r.mask_width) * r.masks, r.taps_dtype);
}

}  // namespace

ResolvedImage resolve(const ImageProblem& problem) {
    check_enum("masks", problem.masks, Masks::per_channel);
    check_enum("mode", problem.mode, Mode::leading);
    check_enum("boundary", problem.boundary, Boundary::wrap);
    check_enum("operation", problem.operation, Operation::correlation);
    check_enum("dtype", problem.dtype, Dtype::bf16);
    check_enum("output_dtype", output_dtype(problem), Dtype::bf16);
    check_count("channels", problem.channels, "a pixel");
    check_count("batch", problem.batch, "a batch");
    check_types(problem);
    check_common(problem);
    const Axis y = resolve_axis(problem, "height", problem.height, problem.mask_height, problem.origin_y);
    const Axis x = resolve_axis(problem, "width", problem.width, problem.mask_width, problem.origin_x);

    ResolvedImage r;
    r.problem = problem;
    r.height = problem.height;
    r.width = problem.width;
    r.channels = problem.channels;
    r.batch = problem.batch;
    r.mask_height = problem.mask_height;
    r.mask_width = problem.mask_width;
    r.masks = r.per_channel() ? r.channels : 1;
    r.origin_y = y.origin;
    r.origin_x = x.origin;
    r.out_height = y.outputs;
    r.out_width = x.outputs;
    r.dtype = problem.dtype;
    r.taps_dtype = taps_dtype(problem);
    r.sum_dtype = is_integer(r.dtype) || is_half(r.dtype) ? Dtype::f32 : r.dtype;
    r.output_dtype = output_dtype(problem);
    r.trivial_epilogue = problem.scale == 1 && problem.bias == 0 && !problem.clamp && r.output_dtype == r.sum_dtype;
    r.epilogue.problem.scale = problem.scale;
    r.epilogue.problem.bias = problem.bias;
    r.epilogue.problem.clamp = problem.clamp;
    r.epilogue.dtype = r.sum_dtype;
    r.epilogue.output_dtype = r.output_dtype;
    r.epilogue.trivial_epilogue = r.trivial_epilogue;
    resolve_layout(r);
    return r;
}

}  // namespace core

const char* to_string(Masks masks) noexcept { return masks == Masks::shared ? "shared" : "per_channel"; }

ImageSize image_output_size(const ImageProblem& problem) {
    const core::ResolvedImage r = core::resolve(problem);
    return {r.out_height, r.out_width};
}

ImageSize image_origin(const ImageProblem& problem) {
    const core::ResolvedImage r = core::resolve(problem);
    return {r.origin_y, r.origin_x};
}

Dtype output_dtype(const ImageProblem& problem) noexcept { return problem.output_dtype.value_or(problem.dtype); }

Dtype taps_dtype(const ImageProblem& problem) noexcept {
    if (is_integer(problem.dtype) || problem.dtype == Dtype::f16 || problem.dtype == Dtype::bf16) { return Dtype::f32; }
    return problem.complex_taps ? problem.dtype : real_part_of(problem.dtype);
}

void validate(const ImageProblem& problem) { core::resolve(problem); }

std::int64_t image_input_extent(const ImageProblem& problem) {
    const core::ResolvedImage r = core::resolve(problem);
    return (r.batch - 1) * r.in_image + (r.height - 1) * r.in_row + r.width * r.channels;
}

std::int64_t image_output_extent(const ImageProblem& problem) {
    const core::ResolvedImage r = core::resolve(problem);
    return (r.batch - 1) * r.out_image + (r.out_height - 1) * r.out_row + r.out_width * r.channels;
}

std::int64_t image_taps_extent(const ImageProblem& problem) {
    const core::ResolvedImage r = core::resolve(problem);
    return r.masks * r.taps();
}

}  // namespace tapline
