// The door for passes over images of integers that are rounded in between: a table of its own beside abi.hpp's, so that the kernels
// of all others do not depend on it.
#pragma once

#include <cstdint>

#include "cuda/abi.hpp"

namespace tapline::cuda_abi {

inline constexpr std::uint32_t kPassesVersion = 1;
inline constexpr const char* kPassesEntryName = "tapline_cuda_passes_entry";  // const Passes* (*)(std::uint32_t caller's version)

/// y[i] = trunc(sum_t weights[t] * x[i + t - origin] / divisor), weights in host memory. Whole weights under 128 give exact sums,
/// of which without a divisor the low bits are kept; others a sum in double, and one within 1e-14 below an integer is that.
struct RoundedPass {
    const double* weights = nullptr;
    std::int32_t taps = 0;  ///< 0: no such pass
    std::int32_t origin = 0;
    Boundary boundary = Boundary::reflect;
    double divisor = 1;
};

/// Down the columns of each image, then along its rows, which are packed. Strides count elements.
struct RoundedPasses {
    Dtype dtype = Dtype::u8;  ///< of samples and results: u8, u16 or i16
    std::int64_t images = 1, rows = 1, columns = 1;
    std::int64_t in_image = 0, in_row = 0, out_image = 0, out_row = 0;
    RoundedPass down, along;
    double constant = 0;  ///< beyond the ends, before each pass
};

struct PreparedPasses;

struct Passes {
    std::uint32_t version;
    std::uint32_t bytes;  ///< of this table
    /// Null with the reason in the status where the device or the kernel does not take them.
    PreparedPasses* (*prepare)(std::int32_t device, const RoundedPasses*, double* seconds, Status*);
    void (*release)(PreparedPasses*);
    /// Launches: no allocation, no synchronisation, may be captured.
    bool (*execute)(const PreparedPasses*, void* out, const void* in, Stream*, Status*);
};

using PassesEntry = const Passes* (*)(std::uint32_t);

}  // namespace tapline::cuda_abi
