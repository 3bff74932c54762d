// The short forms of problems: images and volumes as Problem.
#include "tapline/image.hpp"

#include "core/problem/checks.hpp"
#include "core/problem/resolved.hpp"

namespace tapline {
namespace {

// Strides are made of sizes that are checked here, so that no default can overflow; all other checks are resolve()'s.
std::int64_t product(const char* name, std::int64_t a, std::int64_t b) {
    const __int128 value = static_cast<__int128>(a) * b;
    if (value > core::kMaxCount) {
        throw Error(ErrorCode::argument, std::string(name) + ": " + std::to_string(a) + " times " + std::to_string(b) +
                                             " elements are more than any memory holds (2^56)");
    }
    return static_cast<std::int64_t>(value);
}

std::int64_t outputs_of(Mode mode, std::int64_t length, std::int64_t taps) {
    return std::max<std::int64_t>(core::output_length_of(mode, length, taps), 1);  // none: refused by resolve() with its reason
}

// What both short forms say in the same words.
template <class Short>
Problem common_of(const Short& p) {
    return {.mode = p.mode,
            .boundary = p.boundary,
            .constant = p.constant,
            .operation = p.operation,
            .dtype = p.dtype,
            .complex_taps = p.complex_taps,
            .output_dtype = p.output_dtype,
            .scale = p.scale,
            .bias = p.bias,
            .clamp = p.clamp,
            .real_taps = is_integer(p.dtype) ? std::optional(Dtype::f32) : std::nullopt};
}

std::int64_t given_or(std::int64_t given, std::int64_t fallback) { return given == 0 ? fallback : given; }

}  // namespace

const char* to_string(Masks masks) noexcept { return masks == Masks::shared ? "shared" : "per_channel"; }

ImageProblem::operator Problem() const {
    core::check_enum("masks", masks, Masks::per_channel);
    core::check_count("height", height, "an image");
    core::check_count("width", width, "an image");
    core::check_count("channels", channels, "a pixel");
    core::check_count("batch", batch, "a batch");
    core::check_count("mask_height", mask_height, "a mask");
    core::check_count("mask_width", mask_width, "a mask");
    const std::int64_t out_height = outputs_of(mode, height, mask_height), out_width = outputs_of(mode, width, mask_width);
    const std::int64_t in_row = given_or(input_row_stride, product("width", width, channels));
    const std::int64_t out_row = given_or(output_row_stride, product("output width", out_width, channels));
    Problem p = common_of(*this);
    p.axes = {{.length = height, .taps = mask_height, .origin = origin_y, .input_stride = in_row, .output_stride = out_row},
              {.length = width, .taps = mask_width, .origin = origin_x, .input_stride = channels, .output_stride = channels}};
    p.batch_axes = {{.length = batch,
                     .input_stride = given_or(input_image_stride, product("height", height, std::abs(in_row))),
                     .output_stride = given_or(output_image_stride, product("output height", out_height, std::abs(out_row)))},
                    {.length = channels,
                     .input_stride = 1,
                     .output_stride = 1,
                     .taps_stride = masks == Masks::per_channel ? product("mask", mask_height, mask_width) : 0}};
    return p;
}

VolumeProblem::operator Problem() const {
    Problem p = common_of(*this);
    p.batch = batch;
    p.axes = {{.length = depth, .taps = mask_depth}, {.length = height, .taps = mask_height}, {.length = width, .taps = mask_width}};
    return p;
}

namespace {

ImageSize size_of_two(const UpTo<std::int64_t, 3>& values) {
    if (values.size() != 2) {
        throw Error(ErrorCode::argument,
                    "problem: " + std::to_string(values.size()) + " filtered axes; an image has two: use output_shape() or origins()");
    }
    return {values[0], values[1]};
}

}  // namespace

ImageSize image_output_size(const Problem& problem) { return size_of_two(output_shape(problem)); }

ImageSize image_origin(const Problem& problem) { return size_of_two(origins(problem)); }

}  // namespace tapline
