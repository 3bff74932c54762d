// Roots of unity and factors of transforms, as tables of numbers T, floats or doubles, computed in double on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <vector>

#include "cuda/primitives/fft.cuh"

namespace tapline::cuda::image_transforms {

using Complex = std::complex<double>;

/// exp(-2 pi i m / period), m < period.
inline std::vector<Complex> roots_of(int period) {
    std::vector<Complex> roots;
    for (int m = 0; m < period; ++m) {
        const double angle = -2 * std::numbers::pi * m / period;
        roots.emplace_back(std::cos(angle), std::sin(angle));
    }
    return roots;
}

template <class T>
void append(std::vector<T>& to, double x, double y) {
    to.push_back(static_cast<T>(x));
    to.push_back(static_cast<T>(y));
}

/// The pairs (c, t) of a transform of `points` points with this phi. An angle of pi/2 has no tangent, but w = c (1 + i t) is i to
/// all of its digits with this one too.
template <class T>
void append_pairs(std::vector<T>& to, int points, double phi) {
    constexpr double kMostTangent = static_cast<double>(std::int64_t{1} << (sizeof(T) == 4 ? 30 : 60));
    to.resize(to.size() + static_cast<std::size_t>(points));
    T* const pairs = to.data() + to.size() - points;
    for (int step = 0; step < fft::log2_of(points); ++step) {
        for (int b = 0; b < std::max(1, (1 << step) / 2); ++b) {
            const double angle = fft::pair_angle(phi, step, b);
            const double sine = std::sin(angle);
            double cosine = std::cos(angle);
            if (std::fabs(cosine) < 1 / kMostTangent) { cosine = 1 / kMostTangent; }
            T* const pair = pairs + std::ptrdiff_t{2} * fft::pair_index(step, b);
            pair[0] = static_cast<T>(cosine);
            pair[1] = static_cast<T>(sine / cosine);
        }
    }
}

}  // namespace tapline::cuda::image_transforms
