#include "cuda/families/common/ordered_taps.hpp"

#include <algorithm>

#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/types.hpp"
#include "cuda/launch.hpp"
#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda {
namespace {

constexpr int kThreads = 128;
// Taps of a thread that it loads at once: 154 filters of 131,072 taps take 52 us on an H100, one at a time 97.
constexpr int kEach = 8;
constexpr std::int64_t kMostBlocksOrdering = 1024;
constexpr std::int64_t kMostRowsOfGrid = 65535;

/// Row i of job.to: filter (first + i) % filters in correlation order, zeros from k to the row's slots; a tap is kParts numbers.
template <class T, class Given, int kParts>
__global__ void __launch_bounds__(kThreads) order_taps_kernel(const __grid_constant__ OrderJob job) {
    const std::int64_t stride = std::int64_t{kThreads} * gridDim.x;
    const std::int64_t thread = std::int64_t{kThreads} * blockIdx.x + threadIdx.x;
    const std::int64_t start = std::int64_t{kThreads} * kEach * blockIdx.x + threadIdx.x;
    for (std::int64_t row = blockIdx.y; row < job.count; row += gridDim.y) {
        auto* const to = reinterpret_cast<T*>(static_cast<char*>(job.to) + row * job.pitch_bytes);
        const Given* const filter =
            static_cast<const Given*>(job.given) + kParts * ((job.first + row) % job.filters) * job.given_stride;
        const std::int64_t slots = row + 1 == job.count ? job.last_slots : job.slots;
        for (std::int64_t first = start; first < slots; first += kEach * stride) {
            T values[kEach][kParts];
#pragma unroll
            for (int i = 0; i < kEach; ++i) {
                const std::int64_t t = first + kThreads * i;
                const Given* const from = filter + kParts * (job.reversed != 0 ? job.k - 1 - t : t);
#pragma unroll
                for (int part = 0; part < kParts; ++part) { values[i][part] = t < job.k ? static_cast<T>(from[part]) : T{}; }
            }
#pragma unroll
            for (int i = 0; i < kEach; ++i) {
                const std::int64_t t = first + kThreads * i;
                if (t >= slots) { break; }
#pragma unroll
                for (int part = 0; part < kParts; ++part) {
                    to[kParts * t + part] = part == 1 && job.conjugated != 0 ? -values[i][part] : values[i][part];
                }
            }
        }
    }
    if (blockIdx.y != 0) { return; }
    for (std::int64_t v = thread; v < job.ready.bytes / 16; v += stride) {
        static_cast<uint4*>(job.ready.to)[v] = static_cast<const uint4*>(job.ready.from)[v];
    }
}

OrderKernel kernel_of(const Problem& p) {
    switch (p.taps_dtype) {
        case kF64:
            return &order_taps_kernel<double, double, 1>;
        case kComplex64:
            return &order_taps_kernel<float, float, 2>;
        case kComplex128:
            return &order_taps_kernel<double, double, 2>;
        default:
            return &order_taps_kernel<float, float, 1>;
    }
}

}  // namespace

OrderPlan load_order(const Prepared& prepared) {
    const Problem& p = prepared.problem;
    if (!p.taps_come_later) { return {}; }
    OrderPlan plan{.kernel = kernel_of(p), .tap_bytes = type_of(p, prepared.device).tap_bytes};
    load_kernel(plan.kernel);
    if (p.taps_dtype == kF32) {
        plan.of_f16 = &order_taps_kernel<float, __half, 1>;
        plan.of_bf16 = &order_taps_kernel<float, __nv_bfloat16, 1>;
        load_kernel(plan.of_f16);
        load_kernel(plan.of_bf16);
    }
    return plan;
}

void launch_order(const OrderPlan& plan, const Prepared& prepared, void* taps, const GivenFilters& given, const ReadyTables& ready,
                  cudaStream_t stream) {
    const Problem& p = prepared.problem;
    const OrderKernel kernel = given.dtype == p.taps_dtype ? plan.kernel
                               : given.dtype == kF16       ? plan.of_f16
                               : given.dtype == kBf16      ? plan.of_bf16
                                                           : nullptr;
    if (kernel == nullptr) { throw CudaError(cuda_abi::Code::type, "taps: are not of the plan's type of taps"); }
    const std::int64_t pitch = prepared.taps_pitch_bytes;
    const OrderJob job{.to = taps,
                       .given = given.data,
                       .pitch_bytes = pitch,
                       .given_stride = given.stride,
                       .k = p.x.k,
                       .slots = pitch / plan.tap_bytes,
                       .last_slots = (pitch + kTapSlackBytes) / plan.tap_bytes,
                       .first = given.first,
                       .count = given.count,
                       .filters = given.filters,
                       .reversed = given.reversed,
                       .conjugated = given.conjugated,
                       .ready = ready};
    const std::int64_t work = std::max(divide_up(job.last_slots, kEach), ready.bytes / 16);
    const std::int64_t rows = std::min(given.count, kMostRowsOfGrid);
    const std::int64_t blocks = std::clamp<std::int64_t>(divide_up(work, kThreads), 1, kMostBlocksOrdering);
    launch_kernel(kernel, dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(rows)), kThreads, 0, stream, job);
}

double ordering_seconds(const Problem& p, const cuda_abi::Device& device) {
    return 2 * static_cast<double>(p.filters * p.x.k) * type_of(p, device).tap_bytes / device.copy_bytes_per_second;
}

void DirectRung::launch_tables(const Prepared& prepared, void* /*tables*/, void* taps, const GivenFilters& given,
                               cudaStream_t stream) const {
    launch_order(prepared.chosen_as<OrderedTaps>().order, prepared, taps, given, {}, stream);
}

}  // namespace tapline::cuda
