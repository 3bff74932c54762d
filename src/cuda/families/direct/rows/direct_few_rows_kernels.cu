// The few-taps kernels for short rows of f32.
#include <array>
#include <utility>

#include "cuda/families/direct/rows/direct_few_rows.cuh"

namespace tapline::cuda::few {
namespace {

constexpr auto kAll = std::make_integer_sequence<int, kFewTaps / 4>{};

template <bool kOwn, int... kChunks>
RowsKernel pick_rows(int chunks, std::integer_sequence<int, kChunks...>) {
    static constexpr std::array<RowsKernel, sizeof...(kChunks)> kKernels{
        &direct_few_rows_kernel<kChunks + 1, row_vectors(kChunks + 1), kOwn>...};
    return kKernels.at(static_cast<std::size_t>(chunks - 1));
}

template <int... kChunks>
RowsKernel pick_line(int chunks, std::integer_sequence<int, kChunks...>) {
    static constexpr std::array<RowsKernel, sizeof...(kChunks)> kKernels{
        &direct_few_line_kernel<kChunks + 1, row_vectors(kChunks + 1)>...};
    return kKernels.at(static_cast<std::size_t>(chunks - 1));
}

}  // namespace

RowsKernel rows_kernel(int chunks, bool row_taps) {
    return row_taps ? pick_rows<true>(chunks, kAll) : pick_rows<false>(chunks, kAll);
}
RowsKernel line_kernel(int chunks) { return pick_line(chunks, kAll); }

}  // namespace tapline::cuda::few
