// Which few-taps kernels a type has, one a number of tap vectors.
#pragma once

#include <array>
#include <utility>

#include "cuda/families/direct/direct_few.cuh"

namespace tapline::cuda::few {

template <class S>
inline constexpr int kMostChunks = (kFewTaps + kPerVector<S> - 1) / kPerVector<S>;
template <class S>
inline constexpr auto kAllChunks = std::make_integer_sequence<int, kMostChunks<S>>{};

template <class S, int kVectors, int kChunks, bool kRowTaps>
constexpr FewKernel kernel_if_built() {
    if constexpr (sizeof(S) == 2 || is_built(kVectors, kChunks, kRowTaps)) {
        return &direct_few_kernel<S, float, kVectors, kChunks, kRowTaps>;
    }
    return nullptr;
}

template <class S, int kVectors, bool kRowTaps, int... kChunks>
FewKernel pick(int chunks, std::integer_sequence<int, kChunks...>) {
    static constexpr std::array<FewKernel, sizeof...(kChunks)> kKernels{kernel_if_built<S, kVectors, kChunks + 1, kRowTaps>()...};
    return chunks < 1 || chunks > kMostChunks<S> ? nullptr : kKernels[static_cast<std::size_t>(chunks - 1)];
}

template <class S, int kVectors>
FewKernel pick(int chunks, bool row_taps) {
    return row_taps ? pick<S, kVectors, true>(chunks, kAllChunks<S>) : pick<S, kVectors, false>(chunks, kAllChunks<S>);
}

template <class S>
FewKernel pick(int vectors, int chunks, bool row_taps) {
    switch (vectors) {
        case 1:
            return pick<S, 1>(chunks, row_taps);
        case 3:
            return pick<S, 3>(chunks, row_taps);
        case 5:
            if constexpr (sizeof(S) == 4) { return pick<S, 5>(chunks, row_taps); }
            return nullptr;
        default:
            return nullptr;
    }
}

template <class S, int... kChunks>
ShortKernel pick_short(int chunks, std::integer_sequence<int, kChunks...>) {
    static constexpr std::array<ShortKernel, sizeof...(kChunks)> kKernels{&direct_short_kernel<S, float, kChunks + 1>...};
    return chunks < 1 || chunks > kMostChunks<S> ? nullptr : kKernels[static_cast<std::size_t>(chunks - 1)];
}

}  // namespace tapline::cuda::few
