// Long filters of integers by transforms in double: what the kernels and their launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/families/integer/integer_signal.hpp"

namespace tapline::cuda::integer {

/// How a segment's samples and its outputs are made of real numbers. A limb is a digit of 16 bits with a sign.
enum class Way : std::int32_t {
    whole,  ///< two segments of samples as they are: the parts of one complex signal
    two,    ///< a segment of two limbs: outputs modulo 2^32
    four,   ///< a segment of four limbs, in two complex signals: outputs modulo 2^64
    impossible
};

inline constexpr int kTransformThreads = 512;
/// Points of a way's transforms.
__host__ __device__ constexpr int points_bits(Way way) { return way == Way::four ? 12 : 13; }
__host__ __device__ constexpr int points_of(Way way) { return 1 << points_bits(way); }
__host__ __device__ constexpr int limbs_of(Way way) { return way == Way::four ? 4 : way == Way::two ? 2 : 1; }
/// Taps of the longest filter: three quarters of the points.
__host__ __device__ constexpr std::int64_t most_taps(Way way) { return points_of(way) / 4 * 3; }

/// Doubles of a filter's spectra: of `whole` all points, of the others for each limb the frequencies up to half of them, in the
/// order in which threads multiply by them.
__host__ __device__ constexpr std::int64_t spectrum_doubles(Way way) {
    return way == Way::whole ? 2 * std::int64_t{points_of(way)} : limbs_of(way) * (std::int64_t{points_of(way)} + 2);
}

struct Transforms {
    Signal signal;
    const double2* roots;   // e^(-2 pi i j / points), j < points / 2
    const double* spectra;  // of each filter spectrum_doubles()
    std::int64_t outputs;   // of a segment
    std::int64_t work;      // segments of a row, or pairs of them
};

using TransformKernel = void (*)(Transforms g);
TransformKernel transform_kernel(Way way);
std::size_t transform_shared_bytes(Way way);

/// Where frequency f lies after a transform of 2^bits points.
__host__ __device__ constexpr int place_of_frequency(int f, int bits) {
    const int first = bits == 13 ? 4 : 3;
    const int radix = 1 << first;
    int at = f % radix;
    f /= radix;
    at = at * 8 + f % 8;
    f /= 8;
    at = at * 8 + f % 8;
    return at * 8 + f / 8;
}

/// The frequency at a place.
__host__ __device__ constexpr int frequency_at(int place, int bits) {
    const int first = bits == 13 ? 4 : 3;
    const int radix = 1 << first;
    return place / 512 + radix * (place / 64 % 8 + 8 * (place / 8 % 8 + 8 * (place % 8)));
}
/// Product `i` of a way in limbs, i <= points / 2, is that of this place: the first four of each eight have the frequencies below
/// half of the points, the last product is that one's.
__host__ __device__ constexpr int place_of_pair(int i, int bits) { return i == (1 << bits) / 2 ? 4 : i / 4 * 8 + i % 4; }

/// What an output before rounding is off by at most where samples are of this type, for filters with these taps; `taps` as in
/// bound_of(), not null.
double error_of(Way way, const Problem& p, const void* taps);
inline constexpr double kMostError = 0.45;

/// The tables: roots, then spectra of all filters.
std::vector<std::byte> transform_tables(Way way, const Problem& p, const void* taps);

}  // namespace tapline::cuda::integer
