// What production rungs have in common on the host: types, launches, the stretches that fast kernels leave.
#pragma once

#include "cuda/families/shared_memory.hpp"
#include "cuda/rung.hpp"
#include "cuda/primitives/arguments.cuh"

namespace tapline::cuda {

inline constexpr double kLaunchSeconds = 2.5e-6;  // of a kernel inside a graph, measured beside the copy of 16,384 elements
/// What a launch takes besides with a cold L2 cache: instructions, taps, the first samples. Few taps, 90,001 and 6,000,011 samples,
/// H200: 4.5 and 17.3 us, without it predicted 2.7 and 14.0.
inline constexpr double kColdSeconds = 2.3e-6;
// Shares of the device's peaks that the kernels reach on an H200 (docs/ladder.md).
inline constexpr double kShareOfCopy = 0.97;
inline constexpr double kShareOfPeak = 0.85;
inline constexpr std::int64_t kMostBlocks = 0x7fffffff;
inline constexpr std::int64_t kMostRowsAlongY = 65535;

struct Type {
    int bytes = 0;  // of a sample
    int tap_bytes = 0;
    int products = 1;  // real multiply-adds a product
    double rate = 1;   // of the f32 peak
};
Type type_of(const Problem& p, const cuda_abi::Device& device);
/// Whether kernels read the taps in memory: rows have their own, or nobody knew them when the plan was made.
inline bool taps_in_memory(const Problem& p) { return p.filters > 1 || p.taps_come_later; }
/// Integers are the CPU's.
Refusal refuse_types(const Problem& p);

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
/// Seconds of a launch with a cold L2 cache.
double estimate(const Problem& p, const cuda_abi::Device& device, const Cost& cost);

inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
void launch(const void* kernel, dim3 grid, int threads, void** arguments, std::size_t shared_bytes, cudaStream_t stream);
/// Blocks for one row along x, rows along y and z: kernels return at once for the rows that y * z has too many.
dim3 grid_of(std::int64_t blocks, std::int64_t rows);

/// How a fast kernel divides a row.
struct Division {
    int outputs;        // of a stretch
    std::int64_t size;  // samples of its window
    int segments = 1;
    std::int64_t segment_taps = 0;
    void* partial = nullptr;
};
/// Launches the edge kernel if the fast one may have left something; a.tiles is the number of stretches of a row.
void launch_edges(const Prepared& prepared, const Arguments& arguments, const Division& division, cudaStream_t stream);
void load_edges(const Prepared& prepared);

}  // namespace tapline::cuda
