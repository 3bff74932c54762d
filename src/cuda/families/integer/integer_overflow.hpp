// Which output does not fit its type, from the kernels that find it to the error that names it.
#pragma once

#include <cuda_runtime.h>

#include "cuda/families/integer/integer_finish.hpp"

namespace tapline::cuda::integer {

/// At the beginning of a launch's workspace.
struct Found {
    /// The first such output, counted through outer axes, the batch, channels, and all filtered axes; all ones: none.
    unsigned long long output;
    Sum sum;                     ///< what it is
    std::int64_t row, place;     ///< where it stands: a channel of an item, and counted along all filtered axes
    unsigned long long largest;  ///< magnitude of the samples, where a pass looks for it
};
inline constexpr std::int64_t kFoundBytes = 256;
inline constexpr unsigned long long kNone = ~0ULL;

/// Waits for the stream and throws CudaError (argument) if something was found.
void report(const Problem& p, const void* found, cudaStream_t stream);

/// The error's text.
std::string overflow_text(const Problem& p, const Found& found);

}  // namespace tapline::cuda::integer
