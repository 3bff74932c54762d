#include "core/tap_halves.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/half.hpp"

namespace tapline::core {

bool taps_are_halves(const Resolved& problem, const void* taps) {
    const bool asked = (problem.dtype == Dtype::f16 || problem.dtype == Dtype::bf16) && problem.filters == 1;
    if (!asked || taps == nullptr || problem.taps_dtype != Dtype::f32) { return false; }
    const std::span all(static_cast<const float*>(taps), static_cast<std::size_t>(problem.k));
    float largest = 0;
    for (const float tap : all) {
        if (!std::isfinite(tap)) { return false; }
        largest = std::max(largest, std::fabs(tap));
    }
    // As the kernels scale them (tensor::kTopExponent), whose factor is a float.
    constexpr int kTopExponent = 14;
    constexpr int kLeastExponent = kTopExponent - 126;
    const int shift = kTopExponent - (largest > 0 ? std::max(std::ilogb(largest), kLeastExponent) : kLeastExponent);
    return std::all_of(all.begin(), all.end(), [&](float tap) {
        const float scaled = std::ldexp(tap, shift);
        return from_f16(to_f16(scaled)) == scaled;
    });
}

}  // namespace tapline::core
