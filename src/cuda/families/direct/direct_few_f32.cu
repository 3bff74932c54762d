// The few-taps kernel for f32, one a number of tap vectors.
#include <utility>

#include "cuda/families/direct/direct_few.cuh"

namespace tapline::cuda {
namespace {

constexpr int kMostChunks = kFewTaps / kPerVector<float>;

template <int kVectors, bool kRowTaps, int... kChunks>
const void* pick(int chunks, std::integer_sequence<int, kChunks...>) {
    const void* kernels[] = {
        reinterpret_cast<const void*>(&few::direct_few_kernel<float, float, kVectors, kChunks + 1, kRowTaps>)...};
    return kernels[chunks - 1];
}

template <int kVectors>
const void* pick(int chunks, bool row_taps) {
    constexpr auto kAll = std::make_integer_sequence<int, kMostChunks>{};
    return row_taps ? pick<kVectors, true>(chunks, kAll) : pick<kVectors, false>(chunks, kAll);
}

template <int... kChunks>
const void* pick_short(int chunks, std::integer_sequence<int, kChunks...>) {
    const void* kernels[] = {reinterpret_cast<const void*>(&few::direct_short_kernel<float, float, kChunks + 1>)...};
    return kernels[chunks - 1];
}

}  // namespace

const void* short_kernel_f32(int chunks) {
    if (chunks < 1 || chunks > kMostChunks) { return nullptr; }
    return pick_short(chunks, std::make_integer_sequence<int, kMostChunks>{});
}

const void* few_kernel_f32(int vectors, int chunks, bool row_taps) {
    if (chunks < 1 || chunks > kMostChunks) { return nullptr; }
    switch (vectors) {
        case 1:
            return pick<1>(chunks, row_taps);
        case 3:
            return pick<3>(chunks, row_taps);
        case 5:
            return pick<5>(chunks, row_taps);
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda
