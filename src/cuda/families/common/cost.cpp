#include "cuda/families/common/cost.hpp"

#include <algorithm>

#include "cuda/primitives/arguments.hpp"

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

}  // namespace tapline::cuda
