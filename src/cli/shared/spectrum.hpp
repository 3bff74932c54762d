// Power spectra for pictures.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/fft/fft.hpp"

namespace tapline::cli {

/// Mean power over frequency of a signal that arrives in pieces: Hann windows that overlap by half (Welch). Windows
/// with NaN or infinity are left out. A long signal is sampled ever more sparsely, so that the work grows with the logarithm of
/// its length.
class SpectrumEstimator {
public:
    static constexpr std::int64_t kSegment = 8192;

    SpectrumEstimator();

    void add(const std::complex<double>* samples, std::int64_t count);

    /// Power at frequencies f / kSegment of the sampling rate, 0 <= f < kSegment (the upper half is the negative ones); a sine of
    /// amplitude 1 has power 1 at its peak. Empty if there was no sample. A signal shorter than a segment counts as one.
    [[nodiscard]] std::vector<double> power() const;

private:
    void transform(std::int64_t samples);

    std::shared_ptr<const cpu::NaturalFft> fft_;
    std::vector<std::complex<double>> segment_;
    std::vector<double> sum_;
    std::int64_t segments_ = 0;   // transformed
    std::int64_t stride_ = 1;     // of so many segments one is transformed
    std::int64_t added_ = 0;      // samples so far
    std::int64_t bad_until_ = 0;  // samples up to the last one that is not finite
    std::int64_t since_ = 0;      // segments since the last transformed one
};

/// |H(f)|^2 of taps at frequencies f / size; size, a power of two, is the result's.
std::vector<double> power_response(const std::vector<std::complex<double>>& taps);

}  // namespace tapline::cli
