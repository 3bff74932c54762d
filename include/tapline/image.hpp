// Short forms of the problem in two and three dimensions, and the one-call function for images.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tapline/convolve.hpp"

namespace tapline {

/// One mask for every channel, or one for each.
enum class Masks { shared, per_channel };

/// "shared" or "per_channel".
TAPLINE_EXPORT const char* to_string(Masks masks) noexcept;

/// A Problem of images with interleaved channels: two filtered axes, y and x, and as batch axes the images and the channels.
///
///     output[y][x][c] = cast(clamp(scale * sum_{i < mask_height} sum_{j < mask_width}
///                                  taps[i][j] * image(y + i - origin_y, x + j - origin_x, c) + bias))
///
/// Convolution turns the mask by 180 degrees, correlation uses it as it is (complex taps conjugated). Pixels of a row lie side by
/// side. Strides count elements, not bytes; 0 asks for the default named beside it. Images of integers have
/// f32 taps and sums (Problem::real_taps).
struct ImageProblem {
    std::int64_t height = 0;                              ///< rows of an image, at least 1
    std::int64_t width = 0;                               ///< pixels of a row, at least 1
    std::int64_t channels = 1;                            ///< interleaved elements of a pixel, at least 1
    std::int64_t batch = 1;                               ///< images, at least 1
    std::int64_t mask_height = 0;                         ///< rows of a mask, at least 1
    std::int64_t mask_width = 0;                          ///< taps of a row, at least 1
    Masks masks = Masks::shared;                          ///< per_channel: `channels` masks, one after the other
    Mode mode = Mode::same;                               ///< along both axes
    Boundary boundary = Boundary::zero;                   ///< along both axes
    std::complex<double> constant = 0;                    ///< for Boundary::constant; may be NaN
    std::optional<std::int64_t> origin_y = std::nullopt;  ///< row of the mask that sits on the output, after any turning
    std::optional<std::int64_t> origin_x = std::nullopt;  ///< and its column; default: the mode's
    Operation operation = Operation::convolution;         ///< convolution turns the mask
    Dtype dtype = Dtype::f32;                          ///< f32, f64, complex64, complex128; u8, u16 (GPU: f16, bf16) with f32 sums
    bool complex_taps = false;                         ///< complex taps; needs a complex dtype
    std::optional<Dtype> output_dtype = std::nullopt;  ///< default: dtype. Another real type: a saturating cast, rounded to even
    double scale = 1;                                  ///< finite or infinite, not NaN
    double bias = 0;                                   ///< added to the real part; not NaN
    std::optional<Clamp> clamp = std::nullopt;         ///< real dtypes only
    std::int64_t input_row_stride = 0;                 ///< default: width * channels
    std::int64_t input_image_stride = 0;               ///< default: height * input_row_stride
    std::int64_t output_row_stride = 0;                ///< default: output width * channels
    std::int64_t output_image_stride = 0;              ///< default: output height * output_row_stride

    /// Throws Error (argument) for what only this form has: channels and masks. Its other fields are checked with the problem.
    TAPLINE_EXPORT operator Problem() const;  // NOLINT(google-explicit-constructor): it is one, written shorter
};

/// A Problem of packed volumes: three filtered axes, z, y and x, and one batch axis.
struct VolumeProblem {
    std::int64_t depth = 0;                            ///< layers of a volume, at least 1
    std::int64_t height = 0;                           ///< rows of a layer, at least 1
    std::int64_t width = 0;                            ///< samples of a row, at least 1
    std::int64_t batch = 1;                            ///< volumes, at least 1
    std::int64_t mask_depth = 0;                       ///< layers of the mask, at least 1
    std::int64_t mask_height = 0;                      ///< its rows, at least 1
    std::int64_t mask_width = 0;                       ///< taps of a row, at least 1
    Mode mode = Mode::same;                            ///< along all axes
    Boundary boundary = Boundary::zero;                ///< along all axes
    std::complex<double> constant = 0;                 ///< for Boundary::constant; may be NaN
    Operation operation = Operation::convolution;      ///< convolution turns the mask
    Dtype dtype = Dtype::f32;                          ///< of the volume
    bool complex_taps = false;                         ///< complex taps; needs a complex dtype
    std::optional<Dtype> output_dtype = std::nullopt;  ///< default: dtype
    double scale = 1;                                  ///< not NaN
    double bias = 0;                                   ///< added to the real part; not NaN
    std::optional<Clamp> clamp = std::nullopt;         ///< real dtypes only

    /// The sizes are checked with the problem.
    TAPLINE_EXPORT operator Problem() const;  // NOLINT(google-explicit-constructor): it is one, written shorter
};

/// Rows and pixels a row of an image, or of a mask.
struct ImageSize {
    std::int64_t height = 0;                                               ///< rows
    std::int64_t width = 0;                                                ///< pixels of a row
    friend bool operator==(const ImageSize&, const ImageSize&) = default;  ///< both are the same
};

/// The output's size of a problem of two filtered axes. Throws Error if the problem is not valid or has another number of axes.
TAPLINE_EXPORT ImageSize image_output_size(const Problem& problem);
/// The row and the column of the origin; throws as image_output_size().
TAPLINE_EXPORT ImageSize image_origin(const Problem& problem);

/// out = the convolution of one packed image with one mask for all channels: `image` holds size.height * size.width * channels
/// elements, `taps` mask.height * mask.width. The number of channels follows from the range's size; `problem` gives the rest (mode,
/// boundary, epilogue ...); its sizes, strides and types are replaced.
template <detail::ElementRange S, detail::ElementRange T>
std::vector<detail::ElementOf<S>> convolve_image(const S& image, ImageSize size, const T& taps, ImageSize mask,
                                                 ImageProblem problem = {}, const PlanOptions& options = {}) {
    using Pixel = detail::ElementOf<S>;
    problem.height = size.height;
    problem.width = size.width;
    problem.channels = problem.batch = 1;
    problem.input_row_stride = problem.input_image_stride = problem.output_row_stride = problem.output_image_stride = 0;
    problem.mask_height = mask.height;
    problem.mask_width = mask.width;
    problem.dtype = dtype_of<Pixel>;
    problem.output_dtype = dtype_of<Pixel>;
    problem.complex_taps = detail::kIsComplex<detail::ElementOf<T>>;
    problem.masks = Masks::shared;
    validate(problem);  // the sizes are positive and far from overflowing
    const auto elements = static_cast<std::int64_t>(std::ranges::size(image));
    problem.channels = elements / (size.height * size.width);
    if (problem.channels * size.height * size.width != elements) {
        throw Error(ErrorCode::argument, "image: " + std::to_string(elements) + " elements are no multiple of " +
                                             std::to_string(size.height) + " x " + std::to_string(size.width) + " pixels");
    }
    const Plan plan = make_plan(problem, detail::view(taps), options);
    std::vector<Pixel> out(static_cast<std::size_t>(output_extent(problem)));
    plan.execute(std::span<Pixel>(out), detail::view(image));
    return out;
}

}  // namespace tapline
