// Predicted times of direct summation, and what all predictions have in common.
#pragma once

#include <cmath>

#include "cuda/families/common/types.hpp"

namespace tapline::cuda {

inline constexpr double kLaunchSeconds = 2.5e-6;  // of a kernel inside a graph, measured beside the copy of 16,384 elements
/// What a launch takes besides with a cold L2 cache: instructions, taps, the first samples. Few taps, 90,001 and 6,000,011 samples,
/// H200: 4.5 and 17.3 us, without it predicted 2.7 and 14.0.
inline constexpr double kColdSeconds = 2.3e-6;
// Shares of the device's peaks that the kernels reach on an H200 (docs/ladder.md).
inline constexpr double kShareOfCopy = 0.97;
inline constexpr double kShareOfPeak = 0.85;

/// Seconds of two works that hide each other the better, the larger the norm.
inline double overlapped(double one, double other, double norm) {
    return std::pow(std::pow(one, norm) + std::pow(other, norm), 1 / norm);
}

/// How far a kernel stays behind the device's peaks.
struct Cost {
    double start;  // seconds of a launch that has next to nothing to do
    // Multiply-adds done for each that is needed.
    struct Waste {
        double f32, half, f64, complex64, complex128;
    } waste;
    double own;              // times as many where taps come from memory
    double half_output;      // multiply-adds that take as long as converting an output of 16 bits and its sample
    double norm;             // of moving and computing: the larger the exponent, the better one hides the other
    double lost, lost_most;  // of a short launch, which never reaches them: a share, and seconds
    double last;             // seconds for each tap, once the device is full: the last outputs find few others at work
};
/// Bytes that memory reads at least.
inline constexpr int kSectorBytes = 32;

/// Bytes that memory moves for an element whose nearest neighbour lies so many elements away: those between them come along.
double bytes_touched(std::int64_t nearest, int bytes);

/// Times as long as with samples and outputs side by side takes a kernel whose lanes go along rows, which reads and writes what
/// lies apart one by one.
double slowdown_of_layout(const Problem& p);

/// The same of short rows, of those that begin between 16-byte boundaries, and of edges that are not zeros.
double slowdown_of_rows(const Problem& p);

/// The same of kernels whose lanes go across rows side by side that begin otherwise at each time between 16 bytes. Time first, f32,
/// H100: (101, 133337) with 3 and 31 taps 55 and 92 us, (101, 133336) 44 and 67 (direct_columns; direct_tiles 87 and 120, 74 and
/// 102).
double slowdown_of_unlike_rows(const Problem& p);

/// Seconds of a launch with a cold L2 cache, of which each thread goes through so many taps.
double estimate(const Problem& p, const cuda_abi::Device& device, const Cost& cost, double taps_of_a_thread);

}  // namespace tapline::cuda
