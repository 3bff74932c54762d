// What kernels for signals of integers share: a row's samples and outputs wherever they lie.
#pragma once

#include <cuda_runtime.h>

#include "cuda/families/integer/integer_rung.hpp"
#include "cuda/primitives/lines/lines.hpp"

namespace tapline::cuda::integer {

/// How sums are formed.
enum class Sums : std::int32_t {
    low32,   ///< modulo 2^32: no more reaches the output, or 32 bits hold all sums
    wide32,  ///< modulo 2^64 of samples and taps that 32 bits hold
    low64,   ///< modulo 2^64
    exact    ///< 192 bits: only integer_any has them
};

/// A launch's problem.
struct Signal {
    Arguments a;  // where samples and outputs lie
    Rows rows;
    Finish finish;
    Found* found;  // null: nothing can overflow
    const void* taps;
    std::int64_t filter_bytes;
    std::int64_t constant;
    std::int64_t batch_first, outputs;  // of a row, all
    std::int32_t in_bytes, in_signed, in_bool;
};
Signal signal_of(const Prepared& prepared, const Job& job, const OnDevice& on_device, Found* found);

/// What 64 bits of a filter's taps need.
Sums sums_of(const Problem& p, const Bound& bound, double largest_tap);
/// The largest magnitude of the taps; of none the largest that there is.
double largest_tap(const Problem& p, const void* taps);

/// How a plan's sums are formed product by product, whatever they need.
struct DirectRoad {
    Sums sums = Sums::exact;

    void load(const Prepared& prepared, const ChosenInteger& chosen);
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, Found* found, cudaStream_t stream) const;
    [[nodiscard]] std::string describe() const;

private:
    void (*kernel_)(Signal g) = nullptr;
    AnyKernel any_ = nullptr;
};
/// Its sums where taps have an ordinary size, and a launch's seconds.
Sums ordinary_sums(const Problem& p);
double direct_seconds(const Problem& p, const cuda_abi::Device& device);

inline constexpr int kDirectWarps = 4;
inline constexpr int kDirectChunk = 256;  // taps whose samples are in shared memory at a time
using DirectKernel = void (*)(Signal g);
DirectKernel direct_kernel(Sums sums);
int direct_outputs(Sums sums);  // of a warp
std::size_t direct_shared_bytes(Sums sums);

}  // namespace tapline::cuda::integer

namespace tapline::cuda {
const Rung& integer_direct();
const Rung& integer_transforms();
}  // namespace tapline::cuda
