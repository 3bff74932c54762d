// What families ask of a problem's types.
#pragma once

#include "cuda/families/common/with_types.hpp"
#include "cuda/rung.hpp"

namespace tapline::cuda {

struct Type {
    int bytes = 0;  // of a sample
    int tap_bytes = 0;
    int products = 1;  // real multiply-adds a product
    double rate = 1;   // of the f32 peak

    /// Samples of 16 bytes.
    [[nodiscard]] int per_vector() const { return 16 / bytes; }
};
Type type_of(const Problem& p, const cuda_abi::Device& device);

/// Whether there are half as many units for f64 as for f32, or so; else there are few.
inline bool has_fast_double(const cuda_abi::Device& device) { return device.single_to_double <= 4; }

/// Whether kernels read the taps in memory: rows have their own, or nobody knew them when the plan was made.
inline bool taps_in_memory(const Problem& p) { return p.filters > 1 || p.taps_come_later; }

/// The type that sums are formed in where samples are widened to it.
inline Dtype sums_of(const Problem& p) {
    if (is_integer(p.taps_dtype)) { return p.taps_dtype; }
    return is_complex(p.dtype) ? p.dtype : p.taps_dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
}

/// Integers are the CPU's.
Refusal refuse_types(const Problem& p);

}  // namespace tapline::cuda
