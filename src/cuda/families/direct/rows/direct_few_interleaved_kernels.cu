// The few-taps kernels for interleaved rows of f32.
#include <array>
#include <utility>

#include "cuda/families/direct/rows/direct_few_interleaved.cuh"

namespace tapline::cuda::few {
namespace {

template <class H, int kChannels, int... kChunks>
KernelOfRows<H> pick(int chunks, std::integer_sequence<int, kChunks...>) {
    static constexpr std::array<KernelOfRows<H>, sizeof...(kChunks)> kKernels{
        &direct_few_interleaved_kernel<H, kChannels, kChunks + 1>...};
    return kKernels.at(static_cast<std::size_t>(chunks - 1));
}
constexpr auto kInterleavedChunks = std::make_integer_sequence<int, kFewTaps / 4>{};

}  // namespace

RowsKernel interleaved_kernel(int channels, int chunks) {
    return channels == 3 ? pick<float, 3>(chunks, kInterleavedChunks) : pick<float, 4>(chunks, kInterleavedChunks);
}
KernelOfRows<float2> own_pairs_kernel(int chunks) { return pick<float2, 2>(chunks, kInterleavedChunks); }
KernelOfRows<float4> own_fours_kernel(int chunks) { return pick<float4, 4>(chunks, kInterleavedChunks); }

}  // namespace tapline::cuda::few
