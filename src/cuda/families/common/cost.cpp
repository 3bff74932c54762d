#include "cuda/families/common/cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cuda/primitives/arguments.hpp"
#include "cuda/primitives/lines/lines.hpp"

namespace tapline::cuda {
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

constexpr double kWindowVectors = 160;  // of 16 bytes, that a warp makes of one row

}  // namespace

double bytes_touched(std::int64_t nearest, int bytes) {
    const double apart = static_cast<double>(std::max<std::int64_t>(std::abs(nearest), 1)) * bytes;
    return std::max(std::min<double>(apart, kSectorBytes), static_cast<double>(bytes));
}

double slowdown_of_layout(const Problem& p) {
    if (p.x.in_stride == 1 && p.x.out_stride == 1 && p.output_dtype == p.dtype) { return 1; }
    // H200: every second sample of f32 and a reversed row 4.5 times as long, a transposed array 6 times, time first with 64
    // channels 30 times; f16 samples with f32 outputs 10 times.
    constexpr double kOneByOne = 5;
    const int in = stored_bytes(p.dtype);
    const int out = stored_bytes(p.output_dtype);
    return kOneByOne * (bytes_touched(p.x.in_stride, in) + bytes_touched(p.x.out_stride, out)) / (in + out);
}

double slowdown_of_rows(const Problem& p) {
    if (p.batch.length == 1 || p.x.outputs <= 0) { return 1; }
    // Of a window's outputs those that a short row has, H200, f32: rows of 256 with 31 taps 3.2 times as long as their share of one
    // long row, rows of 100 with 9 taps 3.2 times (rung 17) and 6.5 times (18), rows of 1,000 with 64 taps 1.4 times.
    const double bytes = stored_bytes(p.dtype);
    const double window = kWindowVectors * 16 / bytes;
    const auto outputs = static_cast<double>(p.x.outputs);
    const double emptiness = std::ceil(outputs / window) * window / outputs;
    // Rows that begin between 16-byte boundaries: of 777 with 7 taps 5.5 and 7 times.
    const bool alike = p.batch.in_stride * stored_bytes(p.dtype) % 16 == 0;
    constexpr double kUnlike = 3;
    // Windows at edges, unless there are zeros: 4,096 rows of 4,096, 33 taps, reflected, 1.5 times.
    constexpr double kAtEdges = 1.5;
    const double edges = p.x.boundary == kZero ? 0 : kAtEdges * std::min(2 * window / outputs, 2.0);
    return emptiness * (alike ? 1 : kUnlike) * (1 + edges);
}

double slowdown_of_unlike_rows(const Problem& p) {
    constexpr double kUnlike = 1.15;
    const Rows rows = rows_of(p);
    const bool across = rows.near.length > 1 && std::abs(rows.near.in) == 1 && std::abs(p.x.in_stride) != 1;
    return across && p.x.in_stride * stored_bytes(p.dtype) % 16 != 0 ? kUnlike : 1;
}

double estimate(const Problem& p, const cuda_abi::Device& device, const Cost& cost, double taps_of_a_thread) {
    constexpr double kFull = 8192;  // outputs of a multiprocessor
    const Type type = type_of(p, device);
    const double outputs = static_cast<double>(p.x.outputs) * static_cast<double>(p.batch.length);
    const double bytes = type.bytes * (outputs + static_cast<double>(p.x.n) * static_cast<double>(p.batch.length));
    const double taps = static_cast<double>(p.x.k) * waste_of(cost.waste, p.dtype) * (taps_in_memory(p) ? cost.own : 1) +
                        (type.bytes == 2 ? cost.half_output : 0);
    const double moving = bytes / (kShareOfCopy * device.copy_bytes_per_second);
    const double computing = 2 * outputs * taps * type.products / (kShareOfPeak * type.rate * device.peak_flops);
    const double both = overlapped(moving, computing, cost.norm) * slowdown_of_layout(p) * slowdown_of_rows(p);
    const double full = std::min(outputs / (kFull * device.multiprocessors), 1.0);
    // What is left to the edge kernel waits for the other one. H200: (151, 337, 2) f32 with 10 taps 12.2 us, (220, 92, 2), whose
    // rows begin where vectors do, with 4 taps 8.0; every second of 3 rows of 5,790 with 24 taps 12.7.
    constexpr double kElsewhereSeconds = 4.3e-6;
    const bool elsewhere = p.x.in_stride != 1 || p.x.out_stride != 1 || p.output_dtype != p.dtype ||
                           (p.batch.length > 1 && p.batch.in_stride * type.bytes % 16 != 0);
    // A thread goes through its taps one after the other, however few outputs there are. H100: 5 filters of 2,987 taps on 6,917
    // samples 91 us.
    constexpr double kTapSeconds = 28e-9;
    const double one_after_the_other = taps_of_a_thread * kTapSeconds;
    return cost.start + (elsewhere ? kElsewhereSeconds : 0) + std::max(both, one_after_the_other) +
           std::min(cost.lost * both, cost.lost_most) + cost.last * full * static_cast<double>(p.x.k);
}

}  // namespace tapline::cuda
