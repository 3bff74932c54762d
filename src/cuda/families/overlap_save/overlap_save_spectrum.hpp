// A filter's spectrum made on the GPU, from taps that lie there.
#pragma once

#include "cuda/families/overlap_save/overlap_save_points.hpp"

namespace tapline::cuda::overlap_save {

enum class SpectrumOrder : int { plain, couples, halves };

/// What depends on the way of overlap-save.
struct SpectrumShape {
    std::int64_t ready_bytes;
    int skip;
    int rows, warps;  // of a segment, of a row
    int for_block;    // the factors are as rung 27 takes them
    SpectrumOrder order;
};

struct SpectrumJob {
    const void* given;  // (k) in device memory, of the plan's type of taps
    const void* ready;  // what lies before the spectrum in a rung's tables
    void* tables;       // the same, then the spectrum
    void* taps;         // (k) in correlation order
    int k;
    int is_complex, real_taps;  // the samples; the taps
    int reversed, conjugated;   // correlation order is the given one reversed, conjugated
    SpectrumShape shape;
};

using SpectrumKernel = void (*)(SpectrumJob job);

/// For segments of rows * 1024 * warps points and one filter.
struct SpectrumPlan {
    SpectrumKernel kernel = nullptr;
    unsigned blocks = 0;
    SpectrumJob job{};  // but for pointers and what is given
};
SpectrumPlan load_spectrum(const Problem& p, const SpectrumShape& shape);
void launch_spectrum(const SpectrumPlan& plan, const void* ready, void* tables, void* taps, const cuda_abi::DeviceTaps& given,
                     cudaStream_t stream);

}  // namespace tapline::cuda::overlap_save
