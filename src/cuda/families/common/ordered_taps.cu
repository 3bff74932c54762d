#include "cuda/families/common/ordered_taps.hpp"

#include <algorithm>

#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/types.hpp"
#include "cuda/launch.hpp"
#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda {
namespace {

constexpr int kThreads = 128;
constexpr std::int64_t kMostBlocksOrdering = 1024;

/// to[t] = tap t in correlation order, zeros from k to `slots`; a tap is kParts numbers.
template <class T, int kParts>
__global__ void __launch_bounds__(kThreads)
    order_taps_kernel(void* to, const void* given, std::int64_t k, std::int64_t slots, int reversed, int conjugated) {
    const std::int64_t stride = std::int64_t{kThreads} * gridDim.x;
    for (std::int64_t t = std::int64_t{kThreads} * blockIdx.x + threadIdx.x; t < slots; t += stride) {
        const T* const from = static_cast<const T*>(given) + kParts * (reversed != 0 ? k - 1 - t : t);
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
            const T value = t < k ? from[part] : T{};
            static_cast<T*>(to)[kParts * t + part] = part == 1 && conjugated != 0 ? -value : value;
        }
    }
}

OrderKernel kernel_of(const Problem& p) {
    switch (p.taps_dtype) {
        case kF64:
            return &order_taps_kernel<double, 1>;
        case kComplex64:
            return &order_taps_kernel<float, 2>;
        case kComplex128:
            return &order_taps_kernel<double, 2>;
        default:
            return &order_taps_kernel<float, 1>;
    }
}

}  // namespace

OrderedTaps::OrderedTaps(const Prepared& prepared) {
    if (!prepared.problem.taps_come_later) { return; }
    order_taps = kernel_of(prepared.problem);
    slots = (prepared.taps_pitch_bytes + kTapSlackBytes) / type_of(prepared.problem, prepared.device).tap_bytes;
    load_kernel(order_taps);
}

void DirectRung::launch_tables(const Prepared& prepared, void* /*tables*/, void* taps, const cuda_abi::DeviceTaps& given,
                               cudaStream_t stream) const {
    const auto& chosen = prepared.chosen_as<OrderedTaps>();
    const std::int64_t blocks = std::min(divide_up(chosen.slots, kThreads), kMostBlocksOrdering);
    launch_kernel(chosen.order_taps, static_cast<unsigned>(blocks), kThreads, 0, stream, taps, given.data, prepared.problem.x.k,
                  chosen.slots, given.reversed, given.conjugated);
}

}  // namespace tapline::cuda
