// Depthwise correlation with taps in GPU memory and its gradients: what training a sequence model needs. Where the taps stay the
// same from call to call, a Plan with Filters::per_row is the better way.
#pragma once

#include <cstddef>

#include "tapline/types.hpp"

namespace tapline {

/// y[b][c][o] = sum_t taps[c][t] * x[b][c][o + t - origin], 0 <= o < outputs; terms outside x are absent. All tensors are packed
/// and in memory of one GPU: x (batch, channels, length), y (batch, channels, outputs), taps (channels, taps).
struct DepthwiseProblem {
    std::int64_t batch = 1;     ///< signals of x, at least 1
    std::int64_t channels = 1;  ///< rows of a signal, at least 1
    std::int64_t length = 0;    ///< samples of a row of x, at least 1
    std::int64_t outputs = 0;   ///< of a row of y, at least 1
    std::int64_t taps = 0;      ///< at least 1
    std::int64_t origin = 0;    ///< which tap sits on the output; any integer
    Dtype dtype = Dtype::f32;   ///< of all tensors: f32, f64, f16 or bf16, the last two with sums in f32
};

/// y from x and taps, on a stream (a cudaStream_t) of GPU number `device`. Direct summation for any number of taps; allocates
/// nothing, does not wait, may be captured. Throws Error if there is no such device, or for what it refuses.
TAPLINE_EXPORT void depthwise_correlate(const DepthwiseProblem& problem, void* y, const void* x, const void* taps, int device,
                                        void* stream);

/// Bytes of device memory that the next function needs; 0 where direct summation is the fastest. The first call for a problem
/// loads what its executions launch; so does the first of depthwise_workspace_bytes().
TAPLINE_EXPORT std::size_t depthwise_correlate_workspace_bytes(const DepthwiseProblem& problem, int device);

/// The same by whatever is the fastest, for long filters transforms, whose spectra are made in the workspace at each call: its
/// accuracy is Accuracy::standard. The address of `workspace` is a multiple of 256. A captured call may be replayed until 256 other
/// problems have been asked for.
TAPLINE_EXPORT void depthwise_correlate(const DepthwiseProblem& problem, void* y, const void* x, const void* taps, void* workspace,
                                        std::size_t workspace_bytes, int device, void* stream);

/// Bytes of device memory that depthwise_gradients() needs; often 0.
TAPLINE_EXPORT std::size_t depthwise_workspace_bytes(const DepthwiseProblem& problem, int device);

/// grad_x (as x) and grad_taps (as taps) from grad_y (as y), of short filters by one kernel, of long ones by transforms; grad_x and
/// taps may be null: then only grad_taps. The order of every sum, and so every bit, depends on the problem and the GPU's model
/// alone. The address of `workspace` is a multiple of 256.
TAPLINE_EXPORT void depthwise_gradients(const DepthwiseProblem& problem, void* grad_x, void* grad_taps, const void* grad_y,
                                        const void* x, const void* taps, void* workspace, std::size_t workspace_bytes, int device,
                                        void* stream);

}  // namespace tapline
