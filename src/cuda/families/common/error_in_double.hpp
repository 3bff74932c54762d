// What rungs for real numbers are off by in f64, whatever they do (docs/numerics.md).
#pragma once

#include <algorithm>
#include <cmath>

namespace tapline::cuda {

/// An output under `taps` taps of a signal that reaches over `reached` samples is off by less than so many times the largest
/// magnitude of a sample times the taps' L2 norm: by transforms of at most N points, or by sums of products one after the other.
inline double error_in_double(double reached, double taps) {
    constexpr double kUnit = 0x1p-53;
    constexpr double kLeastLong = 262145;
    const double most = std::max(taps < kLeastLong ? 0x1p24 : 0x1p29, 8 * taps);
    const double points = std::min(4 * reached, most);
    const double transforms = (60 * (std::log2(points) + 1) + 256) * std::sqrt(points);
    return kUnit * std::max(transforms, taps * std::sqrt(taps));
}

}  // namespace tapline::cuda
