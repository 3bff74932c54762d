// What every production kernel gets: a Job and its problem, rows and pieces resolved.
#pragma once

#include <cstdint>

#include "cuda/rung.hpp"

namespace tapline::cuda {

/// Numbers of tapline::Boundary and tapline::Dtype that kernels look at; static_asserts in engine.cu tie them to the originals.
enum BoundaryRule : std::int32_t { kZero, kConstant, kNearest, kReflect, kMirror, kWrap };
enum StoredType : std::int32_t {
    kF32,
    kF64,
    kComplex64,
    kComplex128,
    kBoolean,
    kI8,
    kI16,
    kI32,
    kI64,
    kU8,
    kU16,
    kU32,
    kU64,
    kF16,
    kBf16
};

/// sizeof an element. Host.
constexpr int stored_bytes(std::int32_t type) {
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

inline constexpr std::int32_t kStrict = 1;  // of tapline::Accuracy

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
    std::int32_t boundary, output_type;
    std::int32_t plain_store;  // no epilogue, no change of type
    std::int32_t converts;     // the output's type is not the signal's
    std::int32_t exact_edges;  // an ExactEdges
    std::int32_t has_clamp;
    std::int32_t plain_layout;  // unit sample strides, the output's type is the signal's: tiles may take the fast way
    std::int32_t zero_vectors;  // zero boundary, rows begin on 16 bytes, not kExact: an edge is read as vectors of zeros
    double constant_real, constant_imag, scale, bias, low, high;
};

/// The arguments of a job on prepared taps; tiles are the kernel's own business. Host.
Arguments arguments_of(const Prepared& prepared, const Job& job);

}  // namespace tapline::cuda
