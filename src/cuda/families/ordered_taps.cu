#include "cuda/families/ordered_taps.hpp"

#include <algorithm>

#include "cuda/check.hpp"
#include "cuda/families/production.hpp"

namespace tapline::cuda {
namespace {

constexpr int kThreads = 128;
constexpr std::int64_t kMostBlocksOrdering = 1024;

/// to[t] = tap t in correlation order, zeros from k to `slots`; a tap is kParts numbers.
template <class T, int kParts>
__global__ void __launch_bounds__(kThreads)
    order_taps_kernel(T* to, const T* given, std::int64_t k, std::int64_t slots, int reversed, int conjugated) {
    const std::int64_t stride = std::int64_t{kThreads} * gridDim.x;
    for (std::int64_t t = std::int64_t{kThreads} * blockIdx.x + threadIdx.x; t < slots; t += stride) {
        const T* const from = given + kParts * (reversed != 0 ? k - 1 - t : t);
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
            const T value = t < k ? from[part] : T{};
            to[kParts * t + part] = part == 1 && conjugated != 0 ? -value : value;
        }
    }
}

const void* kernel_of(const Problem& p) {
    switch (p.taps_dtype) {
        case kF64:
            return reinterpret_cast<const void*>(&order_taps_kernel<double, 1>);
        case kComplex64:
            return reinterpret_cast<const void*>(&order_taps_kernel<float, 2>);
        case kComplex128:
            return reinterpret_cast<const void*>(&order_taps_kernel<double, 2>);
        default:
            return reinterpret_cast<const void*>(&order_taps_kernel<float, 1>);
    }
}

}  // namespace

void DirectRung::load_tables(const Prepared& prepared) const { allow_shared(kernel_of(prepared.problem), 0); }

void DirectRung::launch_tables(const Prepared& prepared, void* /*tables*/, void* taps, const cuda_abi::DeviceTaps& given,
                               cudaStream_t stream) const {
    const Problem& p = prepared.problem;
    std::int64_t k = p.x.k;
    std::int64_t slots = (prepared.taps_pitch_bytes + kTapSlackBytes) / type_of(p, prepared.device).tap_bytes;
    int reversed = given.reversed;
    int conjugated = given.conjugated;
    const void* from = given.data;
    void* arguments[] = {&taps, &from, &k, &slots, &reversed, &conjugated};
    const std::int64_t blocks = std::min<std::int64_t>(divide_up(slots, kThreads), kMostBlocksOrdering);
    cuda::launch(kernel_of(p), dim3(static_cast<unsigned>(blocks)), kThreads, arguments, 0, stream);
}

}  // namespace tapline::cuda
