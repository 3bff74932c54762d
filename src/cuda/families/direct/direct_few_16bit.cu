// The few-taps kernel for f16 and bf16.
#include <utility>

#include "cuda/families/direct/direct_few.cuh"

namespace tapline::cuda {
namespace {

constexpr int V = kPerVector<__half>;
constexpr int kMostChunks = (kFewTaps + V - 1) / V;

template <class S, int kVectors, bool kRowTaps, int... kChunks>
const void* pick(int chunks, std::integer_sequence<int, kChunks...>) {
    const void* kernels[] = {reinterpret_cast<const void*>(&few::direct_few_kernel<S, float, kVectors, kChunks + 1, kRowTaps>)...};
    return kernels[chunks - 1];
}

template <class S>
const void* pick(int vectors, int chunks, bool row_taps) {
    constexpr auto kAll = std::make_integer_sequence<int, kMostChunks>{};
    switch (vectors) {
        case 1:
            return row_taps ? pick<S, 1, true>(chunks, kAll) : pick<S, 1, false>(chunks, kAll);
        case 3:
            return row_taps ? pick<S, 3, true>(chunks, kAll) : pick<S, 3, false>(chunks, kAll);
        default:
            return nullptr;
    }
}

template <class S, int... kChunks>
const void* pick_short(int chunks, std::integer_sequence<int, kChunks...>) {
    const void* kernels[] = {reinterpret_cast<const void*>(&few::direct_short_kernel<S, float, kChunks + 1>)...};
    return kernels[chunks - 1];
}

}  // namespace

const void* short_kernel_16bit(Dtype dtype, int chunks) {
    constexpr auto kAll = std::make_integer_sequence<int, kMostChunks>{};
    if (chunks < 1 || chunks > kMostChunks) { return nullptr; }
    return dtype == kF16 ? pick_short<__half>(chunks, kAll) : pick_short<__nv_bfloat16>(chunks, kAll);
}

const void* few_kernel_16bit(Dtype dtype, int vectors, int chunks, bool row_taps) {
    if (chunks < 1 || chunks > kMostChunks) { return nullptr; }
    return dtype == kF16 ? pick<__half>(vectors, chunks, row_taps) : pick<__nv_bfloat16>(vectors, chunks, row_taps);
}

}  // namespace tapline::cuda
