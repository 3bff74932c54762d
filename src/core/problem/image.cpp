// The short forms of problems: images and volumes as Problem.
#include "tapline/image.hpp"

#include "core/problem/checks.hpp"

namespace tapline {
namespace {

// What both short forms say in the same words.
template <class Short>
Problem common_of(const Short& p) {
    Problem problem;
    problem.mode = p.mode;
    problem.boundary = p.boundary;
    problem.constant = p.constant;
    problem.operation = p.operation;
    problem.dtype = p.dtype;
    problem.complex_taps = p.complex_taps;
    problem.output_dtype = p.output_dtype;
    problem.scale = p.scale;
    problem.bias = p.bias;
    problem.clamp = p.clamp;
    if (is_integer(p.dtype)) { problem.real_taps = Dtype::f32; }
    return problem;
}

std::optional<std::int64_t> unless_zero(std::int64_t given) { return given == 0 ? std::nullopt : std::optional(given); }

// From one channel's mask to the next.
std::int64_t mask_stride(const ImageProblem& p) {
    if (p.masks == Masks::shared) { return 0; }
    core::check_count("mask_height", p.mask_height, "a mask");
    core::check_count("mask_width", p.mask_width, "a mask");
    if (static_cast<__int128>(p.mask_height) * p.mask_width > core::kMaxCount) {
        throw Error(ErrorCode::argument, "mask_height, mask_width: their product is more than any memory holds (2^56)");
    }
    return p.mask_height * p.mask_width;
}

}  // namespace

const char* to_string(Masks masks) noexcept { return masks == Masks::shared ? "shared" : "per_channel"; }

ImageProblem::operator Problem() const {
    core::check_enum("masks", masks, Masks::per_channel);
    core::check_count("channels", channels, "a pixel");
    Problem p = common_of(*this);
    p.axes = {{.length = height,
               .taps = mask_height,
               .origin = origin_y,
               .input_stride = unless_zero(input_row_stride),
               .output_stride = unless_zero(output_row_stride)},
              {.length = width, .taps = mask_width, .origin = origin_x, .input_stride = channels, .output_stride = channels}};
    p.batch_axes = {
        {.length = batch, .input_stride = unless_zero(input_image_stride), .output_stride = unless_zero(output_image_stride)},
        {.length = channels, .input_stride = 1, .output_stride = 1, .taps_stride = mask_stride(*this)}};
    return p;
}

VolumeProblem::operator Problem() const {
    Problem p = common_of(*this);
    p.batch = batch;
    p.axes = {
        {.length = depth, .taps = mask_depth}, {.length = height, .taps = mask_height}, {.length = width, .taps = mask_width}};
    return p;
}

namespace {

ImageSize size_of_two(const UpTo<std::int64_t, 3>& values) {
    if (values.size() != 2) {
        throw Error(ErrorCode::argument, "problem: " + std::to_string(values.size()) +
                                             " filtered axes; an image has two: use output_shape() or origins()");
    }
    return {values[0], values[1]};
}

}  // namespace

ImageSize image_output_size(const Problem& problem) { return size_of_two(output_shape(problem)); }

ImageSize image_origin(const Problem& problem) { return size_of_two(origins(problem)); }

}  // namespace tapline
