// Predicted times: what they have in common.
#pragma once

#include <cmath>

namespace tapline::cuda {

/// Seconds of two works that hide each other the better, the larger the norm.
inline double overlapped(double one, double other, double norm) {
    return std::pow(std::pow(one, norm) + std::pow(other, norm), 1 / norm);
}

}  // namespace tapline::cuda
