// What all lessons have in common: the problems they take, and what each says for itself. ladder.cu lists them all. With it come
// the words of the problem: inside(), sample_or_zero(), clamp_pass_nan().
#pragma once

#include <complex>
#include <initializer_list>

#include "cuda/head.hpp"
#include "cuda/launch.hpp"
#include "cuda/primitives/epilogue.cuh"
#include "cuda/primitives/grid.hpp"
#include "cuda/primitives/zero_boundary.cuh"
#include "cuda/rung.hpp"

namespace tapline::cuda {

/// The lessons' problem: f32, one signal, unit strides, zero boundary:
/// out[o] = clamp(sum_t taps[t] * x(o + t - origin)), 0 <= o < m, x() zero outside [0, n).
struct Signal {
    float* out;         // (m)
    const float* in;    // (n)
    const float* taps;  // (k), correlation order
    std::int64_t n, k, m, origin;
    float low, high;               // limits of the output, -inf and inf without a clamp
    const void* tables = nullptr;  // what Lesson::points returned, in float
};

/// The lessons' problem for images: packed f32, zero boundary, out (height, width, channels) =
/// clamp(sum_{i,j} mask[i][j] * image(y + i - origin_y, x + j - origin_x, c)), image() zero outside (height, width).
struct Image {
    float* out;
    const float* in;
    const float* mask;  // (mask_height, mask_width), correlation order
    int height, width, channels, mask_height, mask_width, origin_y, origin_x;
    float low, high;  // limits of the output, -inf and inf without a clamp
};

/// The blocks of a launch, kernel<<<grid, threads, shared_bytes, stream>>>(problem); the grid has as many as all outputs take.
struct Blocks {
    dim3 threads;
    dim3 outputs = threads;  ///< of a block, along x and y
    std::size_t shared_bytes = 0;
    bool persistent = false;  ///< at most one a multiprocessor: a block goes on until there are no outputs left
};

/// Points that are computed on the host and read by kernels in float.
using Points = std::vector<std::complex<double>>;

/// A lesson: a way to compute `T`, Signal or Image. It is a constant; rungs_of() makes rungs of the table's (lesson_rung.hpp),
/// which launch the kernel.
template <class T>
struct Lesson {
    using Kernel = void (*)(T);

    Head head;
    Kernel kernel = nullptr;
    Kernel (*kernel_for)(const Problem&) = nullptr;  ///< in its place where the problem decides
    Blocks blocks{};
    Blocks (*blocks_for)(const Problem&) = nullptr;        ///< in their place where the problem decides
    void (*before)(const T&, cudaStream_t) = nullptr;      ///< what the stream does before each launch
    Points (*points)(const float* taps, int k) = nullptr;  ///< what Signal::tables holds, made of a filter in correlation order
    /// Empty, or why not: what it needs besides its problem, a large enough grid and the shared memory.
    Refusal (*needs)(const Problem&) = nullptr;
    bool clamps = false;             ///< its outputs lie in [low, high]
    bool is_local = true;            ///< an output's error depends on the terms of its own sum alone
    double seconds_per_product = 0;  ///< a rough cost
};

using SignalLesson = Lesson<Signal>;
using ImageLesson = Lesson<Image>;

/// The rungs of lessons, in their order; they live until the process ends.
template <class T>
std::vector<const Rung*> rungs_of(std::initializer_list<const Lesson<T>*> lessons);

/// images/ladder.cu.
std::vector<const Rung*> image_lessons();

}  // namespace tapline::cuda
