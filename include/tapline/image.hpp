// Convolution in two dimensions: images with interleaved channels.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tapline/convolve.hpp"
#include "tapline/info.hpp"

namespace tapline {

/// One mask for every channel, or one for each.
enum class Masks { shared, per_channel };

/// "shared" or "per_channel".
TAPLINE_EXPORT const char* to_string(Masks masks) noexcept;

/// Problem on both axes: for every image of the batch and every channel c,
///
///     output[y][x][c] = cast(clamp(scale * sum_{i < mask_height} sum_{j < mask_width}
///                                  taps[i][j] * image(y + i - origin_y, x + j - origin_x, c) + bias))
///
/// where image() is extended past its four edges by the boundary rule, each axis on its own. Convolution turns the mask by 180
/// degrees, correlation uses it as it is (complex taps conjugated). Modes, boundaries and origins mean on each axis what they mean
/// for Problem.
///
/// Pixels of a row lie side by side, their channels interleaved. Strides count elements, not bytes, and must be positive; 0 asks
/// for the default named beside it.
struct ImageProblem {
    std::int64_t height = 0;       ///< rows of an image, at least 1
    std::int64_t width = 0;        ///< pixels of a row, at least 1
    std::int64_t channels = 1;     ///< interleaved elements of a pixel, at least 1
    std::int64_t batch = 1;        ///< images, at least 1
    std::int64_t mask_height = 0;  ///< rows of a mask, at least 1
    std::int64_t mask_width = 0;   ///< taps of a row, at least 1
    Masks masks = Masks::shared;   ///< per_channel: `channels` masks, one after the other
    Mode mode = Mode::same;
    Boundary boundary = Boundary::zero;
    std::complex<double> constant = 0;                    ///< for Boundary::constant; may be NaN
    std::optional<std::int64_t> origin_y = std::nullopt;  ///< row of the mask that sits on the output, after any turning
    std::optional<std::int64_t> origin_x = std::nullopt;  ///< and its column; default: the mode's
    Operation operation = Operation::convolution;
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
};

/// Rows and pixels a row of an image, or of a mask.
struct ImageSize {
    std::int64_t height = 0;
    std::int64_t width = 0;
    friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

/// The output's size. Throws Error if the problem is not valid.
TAPLINE_EXPORT ImageSize image_output_size(const ImageProblem& problem);
/// The row and the column of the origin. Throws Error if the problem is not valid.
TAPLINE_EXPORT ImageSize image_origin(const ImageProblem& problem);
/// The element type of the output.
TAPLINE_EXPORT Dtype output_dtype(const ImageProblem& problem) noexcept;
/// The element type of the taps: complex for complex_taps, else the real type of dtype; f32 for u8, u16, f16 and bf16.
TAPLINE_EXPORT Dtype taps_dtype(const ImageProblem& problem) noexcept;
/// Throws Error with the first reason why the problem cannot be solved; returns if it can.
TAPLINE_EXPORT void validate(const ImageProblem& problem);
/// Elements that the input, output and taps buffers must hold, from their first element to their last.
TAPLINE_EXPORT std::int64_t image_input_extent(const ImageProblem& problem);
TAPLINE_EXPORT std::int64_t image_output_extent(const ImageProblem& problem);
TAPLINE_EXPORT std::int64_t image_taps_extent(const ImageProblem& problem);

namespace core {
struct ImagePlanState;
}

/// A Plan for images: immutable, cheap to copy. Calls with separate workspaces may run at once.
class TAPLINE_EXPORT ImagePlan {
public:
    /// out and in are in memory of the plan's device, the host's for a plan on the CPU, laid out as the problem says; they must not
    /// overlap. `workspace`, there too, has at least workspace_bytes() bytes at an address that is a multiple of 64; its contents
    /// need not be initialised. Allocates nothing; on a GPU it runs on `stream`, a cudaStream_t, and does not wait for the result.
    /// A plan made for device "auto" takes host buffers on any device; if it runs on a GPU, this is execute_host().
    /// Throws Error for null or overlapping buffers and a workspace that is too small.
    void execute(void* out, const void* in, std::span<std::byte> workspace, void* stream = nullptr) const;

    /// The same with a workspace of its own: on the CPU kept by the calling thread up to 16 MiB and freed above that, on a GPU
    /// allocated for the call, which then waits.
    void execute(void* out, const void* in) const;

    /// out and in are in host memory, for a plan on any device. A GPU gets the image whole, or in bands of rows where its memory is
    /// short.
    void execute_host(void* out, const void* in) const;

    /// Host buffers; sizes and element types are checked against the problem.
    template <Element Out, Element In>
    void execute(std::span<Out> out, std::span<const In> in) const {
        check_buffer("out", dtype_of<Out>, static_cast<std::int64_t>(out.size()), true);
        check_buffer("in", dtype_of<In>, static_cast<std::int64_t>(in.size()), false);
        execute_host(static_cast<void*>(out.data()), static_cast<const void*>(in.data()));
    }

    [[nodiscard]] std::size_t workspace_bytes() const noexcept;
    [[nodiscard]] ImageSize output_size() const noexcept;
    [[nodiscard]] const ImageProblem& problem() const noexcept;
    [[nodiscard]] const std::string& algorithm() const noexcept;
    [[nodiscard]] const std::string& device() const noexcept;
    [[nodiscard]] int threads() const noexcept;
    /// What the cost model expects of one execution, in seconds.
    [[nodiscard]] double predicted_seconds() const noexcept;
    /// The problem, the algorithm, why it was chosen, the predicted time and its share of the copy's speed.
    [[nodiscard]] std::string explain() const;

    explicit ImagePlan(std::shared_ptr<const core::ImagePlanState> state) : state_(std::move(state)) {}
    /// For the library's own tools.
    [[nodiscard]] const core::ImagePlanState& state() const noexcept { return *state_; }

private:
    void check_buffer(const char* name, Dtype dtype, std::int64_t size, bool is_output) const;

    std::shared_ptr<const core::ImagePlanState> state_;
};

/// `taps` points to image_taps_extent(problem) elements of type taps_dtype(problem), row by row; they are copied. Effort::measure
/// is not there for images and counts as estimate. Throws Error if the problem is not valid or nothing can solve it.
TAPLINE_EXPORT ImagePlan make_image_plan(const ImageProblem& problem, const void* taps, const PlanOptions& options = {});

/// The same, checking type and size.
template <Element T>
ImagePlan make_image_plan(const ImageProblem& problem, std::span<const T> taps, const PlanOptions& options = {}) {
    if (dtype_of<T> != taps_dtype(problem)) {
        throw Error(ErrorCode::type, std::string("taps: elements are ") + to_string(dtype_of<T>) + ", the problem needs " +
                                         to_string(taps_dtype(problem)));
    }
    if (static_cast<std::int64_t>(taps.size()) != image_taps_extent(problem)) {
        throw Error(ErrorCode::argument, "taps: " + std::to_string(taps.size()) + " elements, the problem needs " +
                                             std::to_string(image_taps_extent(problem)));
    }
    return make_image_plan(problem, static_cast<const void*>(taps.data()), options);
}

template <Element T>
ImagePlan make_image_plan(const ImageProblem& problem, const std::vector<T>& taps, const PlanOptions& options = {}) {
    return make_image_plan(problem, std::span<const T>(taps), options);
}

/// The algorithms for images of a device with what each says about the problem. `taps` as for make_image_plan, or null: then
/// what depends on them (whether the mask is separable) is answered with no.
TAPLINE_EXPORT std::vector<AlgorithmInfo> image_algorithms(const ImageProblem& problem, const void* taps,
                                                           const PlanOptions& options = {});

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
    const ImagePlan plan = make_image_plan(problem, detail::view(taps), options);
    std::vector<Pixel> out(static_cast<std::size_t>(image_output_extent(problem)));
    plan.execute(std::span<Pixel>(out), detail::view(image));
    return out;
}

}  // namespace tapline
