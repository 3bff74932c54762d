// A validated image problem with every default filled in: what image algorithms see.
#pragma once

#include "core/problem/resolved.hpp"
#include "tapline/image.hpp"

namespace tapline::core {

/// Everything is a correlation here: taps reach algorithms already turned or conjugated.
struct ResolvedImage {
    ImageProblem problem;  ///< as given
    std::int64_t height = 0, width = 0, channels = 1, batch = 1;
    std::int64_t mask_height = 0, mask_width = 0;
    std::int64_t masks = 1;  ///< 1 or channels
    std::int64_t origin_y = 0, origin_x = 0;
    std::int64_t out_height = 0, out_width = 0;
    Dtype dtype = Dtype::f32;
    Dtype taps_dtype = Dtype::f32;
    Dtype sum_dtype = Dtype::f32;  ///< in which sums are formed: dtype, f32 for integers
    Dtype output_dtype = Dtype::f32;
    std::int64_t in_row = 0, in_image = 0, out_row = 0, out_image = 0;  ///< strides, elements
    bool trivial_epilogue = true;                                       ///< no scale, bias, clamp or change of type
    Resolved epilogue;  ///< scale, bias, clamp and output type as core::store takes them; nothing else is set

    [[nodiscard]] std::int64_t taps() const { return mask_height * mask_width; }
    [[nodiscard]] bool per_channel() const { return problem.masks == Masks::per_channel; }
};

/// Validates and fills in. Throws Error.
ResolvedImage resolve(const ImageProblem& problem);

}  // namespace tapline::core
