// What rungs for real numbers are off by in f64, whatever they do (docs/numerics.md).
#pragma once

#include <algorithm>
#include <cmath>

namespace tapline::cuda {

/// An output of `products` is off by less than so many times the largest magnitude of a sample times the taps' L2 norm: by
/// transforms of at most N points of a signal that reaches over `reached` samples, under taps that reach over `span` of them, or by
/// sums of the products one after the other. Taps of zero between the others add nothing to a sum.
inline double error_in_double(double reached, double span, double products) {
    constexpr double kUnit = 0x1p-53;
    constexpr double kLeastLong = 262145;
    const double most = std::max(span < kLeastLong ? 0x1p24 : 0x1p29, 8 * span);
    const double points = std::min(4 * reached, most);
    const double transforms = (60 * (std::log2(points) + 1) + 256) * std::sqrt(points);
    return kUnit * std::max(transforms, products * std::sqrt(products));
}

}  // namespace tapline::cuda
