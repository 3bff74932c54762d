// The window kernel for f32 with the taps unrolled: one kernel for each number of tap vectors.
#include <array>
#include <utility>

#include "cuda/families/direct/direct_window.cuh"

namespace tapline::cuda::window {
namespace {

// Code of 25 KiB still runs at full speed, 40 KiB does not (H200): 20 outputs a thread up to 80 taps, 12 above.
constexpr int vectors_of(int chunks) { return chunks <= 20 ? 5 : 3; }

template <int... kIndex>
constexpr auto kernels_of(std::integer_sequence<int, kIndex...>) {
    return std::array<KernelWithTaps<float>, sizeof...(kIndex)>{
        &direct_window_kernel<float, float, vectors_of(kLeastUnrolled + kIndex), kLeastUnrolled + kIndex, false>...};
}

}  // namespace

KernelWithTaps<float> unrolled_kernel(int taps, int* vectors) {
    static constexpr auto kKernels = kernels_of(std::make_integer_sequence<int, kMostUnrolled - kLeastUnrolled + 1>{});
    const int chunks = (taps + 3) / 4;
    if (chunks < kLeastUnrolled || chunks > kMostUnrolled) { return nullptr; }
    *vectors = vectors_of(chunks);
    return kKernels[static_cast<std::size_t>(chunks - kLeastUnrolled)];
}

}  // namespace tapline::cuda::window
