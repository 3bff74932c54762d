#include "core/problem/narrow_taps.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/problem/half.hpp"

namespace tapline::core {
namespace {

bool are_f16(std::span<const float> taps) {
    float largest = 0;
    for (const float tap : taps) { largest = std::max(largest, std::fabs(tap)); }
    // As the kernels scale them (tensor::kTopExponent), whose factor is a float.
    constexpr int kTopExponent = 14;
    constexpr int kLeastExponent = kTopExponent - 126;
    const int shift = kTopExponent - (largest > 0 ? std::max(std::ilogb(largest), kLeastExponent) : kLeastExponent);
    return std::all_of(taps.begin(), taps.end(), [&](float tap) {
        const float scaled = std::ldexp(tap, shift);
        return from_f16(to_f16(scaled)) == scaled;
    });
}

}  // namespace

bool taps_are_narrow(const Resolved& problem, const void* taps) {
    const bool asked = (problem.dtype == Dtype::f16 || problem.dtype == Dtype::bf16) && problem.filters == 1;
    if (!asked || taps == nullptr || problem.taps_dtype != Dtype::f32) { return false; }
    const std::span all(static_cast<const float*>(taps), static_cast<std::size_t>(problem.k));
    if (!std::all_of(all.begin(), all.end(), [](float tap) { return std::isfinite(tap); })) { return false; }
    if (problem.dtype == Dtype::f16) { return are_f16(all); }
    return std::all_of(all.begin(), all.end(), [](float tap) { return from_bf16(to_bf16(tap)) == tap; });
}

}  // namespace tapline::core
