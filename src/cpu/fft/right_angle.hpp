// Real convolutions by complex transforms of half their length: right-angle convolution (H. J. Nussbaumer, Fast Fourier Transform
// and Convolution Algorithms, 1982, section 6.5; R. Crandall and C. Pomerance, Prime Numbers, 2nd ed., algorithm 9.5.22).
//
// Polynomials with 2 M real coefficients, modulo u^M - i, are M complex ones: coefficient j + M becomes the imaginary part of
// coefficient j. With u = z t and z^M = i, z = exp(pi i / (2 M)), that is a cyclic convolution in t. So samples in halves are
// turned by z^j, transformed, multiplied, transformed back and turned back. As u^(2 M) = -1, what passes the end comes back
// negative.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/fft/fft.hpp"

namespace tapline::cpu {

template <class T>
class RightAngle {
public:
    /// `fft` has M points, and outlives this.
    explicit RightAngle(const BlockFft<T>& fft);

    /// Values in the transform's arrays, the second half in the im part, before and after a convolution.
    void turn(T* data, int threads) const { turn_by(data, threads, T{1}); }
    void turn_back(T* data, int threads) const { turn_by(data, threads, T{-1}); }

    /// The taps of a correlation, tap t at value[t] times u^-position[t], as a complex filter of M taps for prepare_taps().
    [[nodiscard]] static std::vector<T> folded(int log2_size, const T* values, const std::vector<std::int64_t>& positions);

private:
    void turn_by(T* data, int threads, T sign) const;

    const BlockFft<T>& fft_;
    std::int64_t run_;                      ///< points that have a factor in common
    std::vector<T> fine_re_, fine_im_;      ///< z^j, j < run_
    std::vector<T> coarse_re_, coarse_im_;  ///< z^(run_ j)
};

extern template class RightAngle<float>;
extern template class RightAngle<double>;

}  // namespace tapline::cpu
