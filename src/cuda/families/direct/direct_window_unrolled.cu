// The window kernel for f32 with the taps unrolled: one kernel for each number of tap vectors.
#include <utility>

#include "cuda/families/direct/direct_window.cuh"

namespace tapline::cuda {
namespace {

// Code of 25 KiB still runs at full speed, 40 KiB does not (H200): 20 outputs a thread up to 80 taps, 12 above.
template <int kChunks>
inline constexpr int kVectors = kChunks <= 20 ? 5 : 3;

template <int... kIndex>
const void* pick(int index, std::integer_sequence<int, kIndex...>) {
    const void* kernels[] = {reinterpret_cast<const void*>(
        &window::direct_window_kernel<float, float, kVectors<kLeastUnrolled + kIndex>, kLeastUnrolled + kIndex, false>)...};
    return kernels[index];
}

}  // namespace

const void* window_kernel_unrolled(int taps, int* vectors) {
    const int chunks = (taps + 3) / 4;
    if (chunks < kLeastUnrolled || chunks > kMostUnrolled) { return nullptr; }
    *vectors = chunks <= 20 ? 5 : 3;
    return pick(chunks - kLeastUnrolled, std::make_integer_sequence<int, kMostUnrolled - kLeastUnrolled + 1>{});
}

}  // namespace tapline::cuda
