// The few-taps kernels for interleaved rows of f32.
#include <array>
#include <utility>

#include "cuda/families/direct/rows/direct_few_interleaved.cuh"

namespace tapline::cuda::few {
namespace {

template <int kChannels, int... kChunks>
RowsKernel pick(int chunks, std::integer_sequence<int, kChunks...>) {
    static constexpr std::array<RowsKernel, sizeof...(kChunks)> kKernels{&direct_few_interleaved_kernel<kChannels, kChunks + 1>...};
    return kKernels.at(static_cast<std::size_t>(chunks - 1));
}

}  // namespace

RowsKernel interleaved_kernel(int channels, int chunks) {
    constexpr auto kAll = std::make_integer_sequence<int, kFewTaps / 4>{};
    return channels == 3 ? pick<3>(chunks, kAll) : pick<4>(chunks, kAll);
}

}  // namespace tapline::cuda::few
