// What every kernel of a family gets: a Job and its problem, rows and pieces resolved.
#pragma once

#include <cstdint>

#include "cuda/forward.hpp"
#include "tapline/enums.hpp"

namespace tapline::cuda {

inline constexpr Boundary kZero = Boundary::zero, kConstant = Boundary::constant, kNearest = Boundary::nearest,
                          kReflect = Boundary::reflect, kMirror = Boundary::mirror, kWrap = Boundary::wrap;
inline constexpr Dtype kF32 = Dtype::f32, kF64 = Dtype::f64, kComplex64 = Dtype::complex64, kComplex128 = Dtype::complex128,
                       kBoolean = Dtype::boolean, kI8 = Dtype::i8, kI16 = Dtype::i16, kI32 = Dtype::i32, kI64 = Dtype::i64,
                       kU8 = Dtype::u8, kU16 = Dtype::u16, kU32 = Dtype::u32, kU64 = Dtype::u64, kF16 = Dtype::f16,
                       kBf16 = Dtype::bf16;

/// In place of an output's type: integers of its size, the low bits of sums that are truncated as C does it.
inline constexpr Dtype kLowBits = static_cast<Dtype>(64);

/// sizeof an element. Host.
constexpr int stored_bytes(Dtype type) {
    switch (type) {
        case kBoolean:
        case kI8:
        case kU8:
            return 1;
        case kI16:
        case kU16:
        case kF16:
        case kBf16:
            return 2;
        case kF32:
        case kI32:
        case kU32:
            return 4;
        case kComplex128:
            return 16;
        default:
            return 8;
    }
}

/// Whether terms that are absent under a zero boundary must stay absent: 0 * inf must not appear.
enum ExactEdges : std::int32_t {
    kMayMultiplyZeros,
    kExact,              ///< taps hold a NaN or an infinity
    kExactUnlessFinite,  ///< nobody knows before the kernel does; the job's piece is the whole signal
};

struct Arguments {
    void* out;                    // output `first` of row 0
    const void* in;               // sample in_first of row 0
    const void* taps;             // of row 0, correlation order
    std::int64_t taps_row_bytes;  // 0: one filter for all rows
    std::int64_t first, count, out_row, out_sample;
    std::int64_t in_first, in_last, in_row, in_sample;
    std::int64_t rows, n, k, origin;
    std::int64_t tiles;  // of a row
    Boundary boundary;
    Dtype output_type;
    std::int32_t plain_store;  // no epilogue, no change of type
    std::int32_t converts;     // the output's type is not the signal's
    std::int32_t exact_edges;  // an ExactEdges
    std::int32_t has_clamp;
    std::int32_t plain_layout;  // unit sample strides, the output's type is the signal's: tiles may take the fast way
    std::int32_t zero_vectors;  // zero boundary, rows begin on 16 bytes, not kExact: an edge is read as vectors of zeros
    double constant_real, constant_imag, scale, bias, low, high;
};

/// What outputs are made of sums by: the boundary's constant, the epilogue, the type; plain_store without a look at the type. Host.
void set_epilogue(Arguments& a, const Problem& p);

/// The arguments of a job on prepared taps; tiles are the kernel's own business. Host.
Arguments arguments_of(const Prepared& prepared, const Job& job, const OnDevice& on_device);

}  // namespace tapline::cuda
