// Exact sums of integers of any type in any layout: what the kernel and its launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/families/integer/integer_overflow.hpp"

namespace tapline::cuda {

const Rung& integer_signals();
const Rung& integer_images();
const Rung& integer_volumes();

namespace integer {

inline constexpr int kThreads = 256;

/// A filtered axis: outputs [first, first + count), samples [in_first, in_last) that are there, the first of them at its place.
struct AnyAxis {
    std::int64_t n, k, origin, first, count, outputs, in_first, in_last, in_stride, out_stride;
    Boundary boundary;
};

/// An axis that outputs are counted along, in memory's order.
enum class Role : std::int32_t { z, y, x, channel, batch, outer };
struct Walked {
    std::int64_t length, out_stride;
    Role role;
    int outer;  // which of them
};

struct Any {
    static constexpr int kOuter = 4;
    static constexpr int kAxes = 5 + kOuter;
    AnyAxis z, y, x;
    const void* in;
    void* out;
    const void* taps;
    // The filter is the row's of those of a batch, in the set that outer axes step to, or the channel's.
    std::int64_t filter_bytes, filters, of_rank_1;
    std::int64_t first_set, first_in_set;  // of rank 1: the first row's set, as a filter, and its number there
    std::int64_t batch_first, batch, batch_in, batch_out, channels, channel_in, channel_out;
    std::int64_t outer_length[kOuter], outer_in[kOuter], outer_out[kOuter], outer_filters[kOuter];
    Walked walked[kAxes];
    int axes;
    std::int64_t outputs;  // of the job, all axes
    std::int64_t constant;
    Finish finish;
    Found* found;  // null: nothing can overflow
    std::int32_t is_bool;
    std::int32_t wholes;           // samples and taps are u64
    std::int32_t unless_fits = 0;  // nothing is to be done where no sample is larger than `most`
    std::uint64_t most = 0;
};

/// A job's. `found` may be null.
Any any_of(const Prepared& prepared, const Job& job, const OnDevice& on_device, Found* found);

using AnyKernel = void (*)(Any g);
/// The boundary's constant.
std::int64_t constant_of(const Problem& p);
/// A stream's outputs of a row: more than there are.
inline constexpr std::int64_t kOfStream = std::int64_t{1} << 40;

/// For samples of a type and sums of 64 or 192 bits.
AnyKernel any_kernel(Dtype dtype, int sum_bits);
/// By one block for each kThreads outputs, or so many.
void launch_any(AnyKernel kernel, const Any& g, cudaStream_t stream, std::int64_t most_blocks = 0);
/// One thread: what the output is that was found.
AnyKernel found_kernel(Dtype dtype);
/// One thread: nothing was found yet.
using ClearKernel = void (*)(Found* found);
ClearKernel clear_kernel();

}  // namespace integer
}  // namespace tapline::cuda
