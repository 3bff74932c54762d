// What production rungs have in common on the host.
#include "cuda/families/production.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/check.hpp"
#include "cuda/families/cost.hpp"
#include "cuda/families/direct/direct.hpp"
#include "cuda/primitives/edge_kernel.cuh"

namespace tapline::cuda {

Type type_of(const Problem& p, const cuda_abi::Device& device) {
    const bool complex_taps = p.taps_dtype == kComplex64 || p.taps_dtype == kComplex128;
    const bool fast_double = device.minor == 0;  // 8.0 and 9.0 have half as many f64 units as f32 ones, the others a few
    const double f64 = fast_double ? 0.5 : 1.0 / 32;
    switch (p.dtype) {
        case kF64:
            return {8, 8, 1, f64};
        case kComplex64:
            return {8, complex_taps ? 8 : 4, complex_taps ? 4 : 2, 1};
        case kComplex128:
            return {16, complex_taps ? 16 : 8, complex_taps ? 4 : 2, f64};
        case kF16:
        case kBf16:
            return {2, 4, 1, 1};
        default:
            return {4, 4, 1, 1};
    }
}

Refusal refuse_types(const Problem& p) {
    switch (p.dtype) {
        case kF32:
        case kF64:
        case kComplex64:
        case kComplex128:
        case kF16:
        case kBf16:
            return {};
        default:
            return "integers are exact on the CPU only";
    }
}

namespace {

double waste_of(const Cost::Waste& waste, Dtype dtype) {
    switch (dtype) {
        case kF64:
            return waste.f64;
        case kComplex64:
            return waste.complex64;
        case kComplex128:
            return waste.complex128;
        case kF16:
        case kBf16:
            return waste.half;
        default:
            return waste.f32;
    }
}

}  // namespace

double estimate(const Problem& p, const cuda_abi::Device& device, const Cost& cost) {
    constexpr double kFull = 8192;  // outputs of a multiprocessor
    const Type type = type_of(p, device);
    const double outputs = static_cast<double>(p.x.outputs) * static_cast<double>(p.batch.length);
    const double bytes = type.bytes * (outputs + static_cast<double>(p.x.n) * static_cast<double>(p.batch.length));
    const double taps = static_cast<double>(p.x.k) * waste_of(cost.waste, p.dtype) * (taps_in_memory(p) ? cost.own : 1) +
                        (type.bytes == 2 ? cost.half_output : 0);
    const double moving = bytes / (kShareOfCopy * device.copy_bytes_per_second);
    const double computing = 2 * outputs * taps * type.products / (kShareOfPeak * type.rate * device.peak_flops);
    const double both = overlapped(moving, computing, cost.norm);
    const double full = std::min(outputs / (kFull * device.multiprocessors), 1.0);
    return cost.start + both + std::min(cost.lost * both, cost.lost_most) + cost.last * full * static_cast<double>(p.x.k);
}

void launch(const void* kernel, dim3 grid, int threads, void** arguments, std::size_t shared_bytes, cudaStream_t stream) {
    check(cudaLaunchKernel(kernel, grid, dim3(static_cast<unsigned>(threads)), arguments, shared_bytes, stream), "launch");
}

void allow_shared(const void* kernel, std::size_t bytes) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "loading a kernel");  // loads it
    if (bytes <= 48 * 1024) { return; }
    // All that there is: the limit belongs to the kernel, and a smaller plan must not take from a larger one what it launches with.
    int device = 0;
    int most = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               most - static_cast<int>(attributes.sharedSizeBytes)),
          "shared memory");
}

dim3 grid_of(std::int64_t blocks, std::int64_t rows) {
    const std::int64_t y = std::min<std::int64_t>(rows, kMostRowsAlongY);
    const std::int64_t z = (rows + y - 1) / y;
    if (blocks > kMostBlocks || z > kMostRowsAlongY) {
        throw CudaError(cuda_abi::Code::unsupported, "problem: more rows or tiles than one launch has blocks; divide the batch");
    }
    return {static_cast<unsigned>(blocks), static_cast<unsigned>(y), static_cast<unsigned>(z)};
}

void launch_edges(const Prepared& prepared, const Arguments& arguments, const Division& division, cudaStream_t stream) {
    const Type type = type_of(prepared.problem, prepared.device);
    const std::int64_t per_vector = 16 / type.bytes;
    const bool aligned = reinterpret_cast<std::uintptr_t>(arguments.in) % static_cast<std::uintptr_t>(type.bytes) == 0;
    if (arguments.plain_layout != 0 && aligned && arguments.zero_vectors != 0) { return; }
    Arguments a = arguments;
    std::int64_t head = a.tiles;
    std::int64_t tail = 0;
    // As place_of: whose window begins before the piece, whose ends behind it. Where taps are not finite even a piece may hold
    // terms that are absent: there none is fast.
    if (a.plain_layout != 0 && aligned && a.exact_edges != kExact) {
        const std::int64_t offset = a.first - a.origin - a.in_first;
        const std::int64_t last = offset + (division.segments - 1) * division.segment_taps;
        head = std::clamp<std::int64_t>(divide_up(std::max<std::int64_t>(per_vector - offset, 0), division.outputs), 0, a.tiles);
        const std::int64_t room = (a.in_last - a.in_first) - division.size - last;
        const std::int64_t first_tail = room < 0 ? 0 : room / division.outputs + 1;
        tail = a.tiles - std::clamp(first_tail, head, a.tiles);
    }
    if (head + tail == 0) { return; }
    int outputs = division.outputs;
    std::int64_t size = division.size;
    int segments = division.segments;
    std::int64_t segment_taps = division.segments > 1 ? division.segment_taps : a.k;
    void* partial = division.partial;
    const std::int64_t tile = 32 * per_vector;
    const std::int64_t blocks = divide_up((head + tail) * divide_up(outputs, tile), kEdgeThreads / 32) * segments;
    const std::size_t shared = static_cast<std::size_t>(kEdgeThreads / 32 * (tile + kEdgeSlots)) * type.bytes;
    void* values[] = {&a, &outputs, &size, &head, &tail, &segments, &segment_taps, &partial};
    launch(edge_kernel_of(prepared.problem.dtype, prepared.problem.taps_dtype), grid_of(blocks, a.rows), kEdgeThreads, values,
           shared, stream);
}

void load_edges(const Prepared& prepared) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, edge_kernel_of(prepared.problem.dtype, prepared.problem.taps_dtype)),
          "loading a kernel");
}

Arguments arguments_of(const Prepared& prepared, const Job& job) {
    const Problem& p = prepared.problem;
    Arguments a{};
    a.out = job.out;
    a.in = job.in;
    a.taps_row_bytes = p.filters > 1 ? prepared.taps_pitch_bytes : 0;
    a.taps = static_cast<const char*>(prepared.taps) + job.batch_first * a.taps_row_bytes;
    a.first = job.first;
    a.count = job.count;
    a.out_row = job.out_batch;
    a.out_sample = job.out_stride;
    a.in_first = job.in_first;
    a.in_last = job.in_last;
    a.in_row = job.in_batch;
    a.in_sample = job.in_stride;
    a.rows = job.batch;
    a.n = job.n;
    a.k = p.x.k;
    a.origin = p.x.origin;
    a.boundary = p.x.boundary;
    a.output_type = p.output_dtype;
    a.plain_store = p.trivial_epilogue;
    a.converts = p.output_dtype != p.dtype;
    a.exact_edges = p.x.boundary != kZero      ? kMayMultiplyZeros
                    : p.taps_come_later ? kExactUnlessFinite
                    : !prepared.taps_finite  ? kExact
                                             : kMayMultiplyZeros;
    a.has_clamp = p.has_clamp;
    const auto type_bytes = static_cast<std::int64_t>(type_of(p, prepared.device).bytes);
    a.plain_layout = job.in_stride == 1 && job.out_stride == 1 && a.converts == 0;
    a.zero_vectors = p.x.boundary == kZero && a.exact_edges != kExact && reinterpret_cast<std::uintptr_t>(job.in) % 16 == 0 &&
                     (job.batch == 1 || job.in_batch * type_bytes % 16 == 0);
    a.constant_real = p.constant.real();
    a.constant_imag = p.constant.imag();
    a.scale = p.scale;
    a.bias = p.bias;
    a.low = p.clamp.low;
    a.high = p.clamp.high;
    return a;
}

}  // namespace tapline::cuda
