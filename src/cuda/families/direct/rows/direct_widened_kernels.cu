// The kernels of widened samples, one a type and a number of tap vectors.
#include <array>
#include <utility>

#include "cuda/families/direct/rows/direct_widened.cuh"

namespace tapline::cuda::widened {
namespace {

template <Dtype kType>
inline constexpr int kV = 16 / static_cast<int>(sizeof(RawType<kType>));  // taps of a vector

template <Dtype kType, int... kChunks>
Kernel pick(std::int64_t taps, std::integer_sequence<int, kChunks...>) {
    static constexpr std::array<Kernel, sizeof...(kChunks)> kKernels{&direct_widened_kernel<kType, kChunks + 1>...};
    return kKernels.at(static_cast<std::size_t>((taps - 1) / kV<kType>));
}

template <Dtype kType>
Kernel pick(std::int64_t taps) {
    return pick<kType>(taps, std::make_integer_sequence<int, (few::kFewTaps + kV<kType> - 1) / kV<kType>>{});
}

}  // namespace

Kernel kernel_of(Dtype dtype, std::int64_t taps) {
    if (taps < 1 || taps > few::kFewTaps) { return nullptr; }
    switch (dtype) {
        case kI8:
            return pick<kI8>(taps);
        case kU8:
            return pick<kU8>(taps);
        case kI16:
            return pick<kI16>(taps);
        case kU16:
            return pick<kU16>(taps);
        case kF16:
            return pick<kF16>(taps);
        case kBf16:
            return pick<kBf16>(taps);
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda::widened
