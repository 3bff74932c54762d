// Images of integers filtered along two axes, one after the other, rounded to their type in between as SciPy's filters are, in one
// execution on a GPU.
#pragma once

#include <memory>
#include <vector>

#include "tapline/types.hpp"

namespace tapline {

/// y[i] = trunc(sum_t weights[t] * x[i + t - origin] / divisor). Sums under whole weights, at most 127 from 0, are exact, and keep
/// their low bits without a divisor; others are those in double, of which one within 1e-14 (relative) below an integer counts as
/// that.
struct RoundedPass {
    std::vector<double> weights;            ///< 1 to 128; none: no such pass
    std::int64_t origin = 0;                ///< the weight that sits on the output
    Boundary boundary = Boundary::reflect;  ///< what is beyond the ends
    double divisor = 1;                     ///< of the sum, not 0
};

/// Images in memory of one GPU, whose rows are packed; strides count elements. Each is filtered down its columns, rounded, and then
/// along its rows.
struct RoundedPasses {
    Dtype dtype = Dtype::u8;               ///< of samples and results: u8, u16 or i16
    std::int64_t images = 1;               ///< how many
    std::int64_t rows = 1;                 ///< of an image
    std::int64_t columns = 1;              ///< of an image
    std::int64_t input_image_stride = 0;   ///< from an image of `in` to the next
    std::int64_t input_row_stride = 0;     ///< from a row of `in` to the next
    std::int64_t output_image_stride = 0;  ///< from an image of `out` to the next
    std::int64_t output_row_stride = 0;    ///< from a row of `out` to the next
    RoundedPass down;                      ///< the first one, over rows
    RoundedPass along;                     ///< the second one, over columns
    double constant = 0;  ///< what is beyond the ends before each pass, of constant boundaries: a value of the type
};

/// Passes prepared for a GPU. Executions may run side by side.
class RoundedPassesPlan {
public:
    /// Throws Error (unsupported) for what no kernel takes.
    TAPLINE_EXPORT RoundedPassesPlan(const RoundedPasses& passes, int device);

    /// From `in` to `out`, which do not overlap, on a stream (a cudaStream_t). Allocates nothing, does not wait, may be captured.
    TAPLINE_EXPORT void execute(void* out, const void* in, void* stream) const;

    /// What an execution is expected to take.
    [[nodiscard]] double predicted_seconds() const { return seconds_; }

private:
    std::shared_ptr<void> prepared_;
    double seconds_ = 0;
};

}  // namespace tapline
