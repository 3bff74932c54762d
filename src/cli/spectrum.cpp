#include "cli/spectrum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace tapline::cli {
namespace {

constexpr std::int64_t kSegmentsPerStride = 64;

double finite_power(std::complex<double> value) {
    const double power = std::norm(value);
    return std::isfinite(power) ? power : 0;
}

}  // namespace

void fourier_transform(std::vector<std::complex<double>>& x) {
    const std::size_t n = x.size();
    for (std::size_t i = 1, j = 0; i < n; ++i) {  // j is i with its bits reversed
        std::size_t bit = n >> 1;
        for (; (j & bit) != 0; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) std::swap(x[i], x[j]);
    }
    std::vector<std::complex<double>> twiddles(n / 2);
    for (std::size_t i = 0; i < n / 2; ++i) {
        twiddles[i] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n));
    }
    for (std::size_t half = 1; half < n; half *= 2) {
        const std::size_t step = n / (2 * half);
        for (std::size_t block = 0; block < n; block += 2 * half) {
            for (std::size_t i = 0; i < half; ++i) {
                const auto a = x[block + i];
                const auto b = x[block + half + i];
                const auto w = twiddles[i * step];
                // The four products by hand: std::complex's operator looks for infinities.
                const std::complex<double> wb(w.real() * b.real() - w.imag() * b.imag(), w.real() * b.imag() + w.imag() * b.real());
                x[block + i] = a + wb;
                x[block + half + i] = a - wb;
            }
        }
    }
}

void SpectrumEstimator::transform(std::int64_t samples) {
    std::vector<std::complex<double>> windowed(static_cast<std::size_t>(kSegment));
    double window_sum = 0;
    for (std::int64_t i = 0; i < samples; ++i) {
        const double phase = 2 * std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(samples);
        const double window = 0.5 - 0.5 * std::cos(phase);
        window_sum += window;
        const auto at = static_cast<std::size_t>(i);
        if (std::isfinite(segment_[at].real()) && std::isfinite(segment_[at].imag())) windowed[at] = window * segment_[at];
    }
    fourier_transform(windowed);
    sum_.resize(windowed.size());
    for (std::size_t f = 0; f < windowed.size(); ++f) sum_[f] += finite_power(windowed[f]) / (window_sum * window_sum);
    ++segments_;
}

void SpectrumEstimator::add(const std::complex<double>* samples, std::int64_t count) {
    while (count > 0) {
        const std::int64_t part = std::min(count, kSegment - static_cast<std::int64_t>(segment_.size()));
        segment_.insert(segment_.end(), samples, samples + part);
        samples += part;
        count -= part;
        if (static_cast<std::int64_t>(segment_.size()) < kSegment) return;
        if (++since_ >= stride_) {
            since_ = 0;
            transform(kSegment);
            if (segments_ % kSegmentsPerStride == 0) stride_ *= 2;
        }
        segment_.clear();
    }
}

std::vector<double> SpectrumEstimator::power() const {
    SpectrumEstimator copy = *this;
    if (segments_ == 0) {
        if (segment_.empty()) return {};
        copy.transform(static_cast<std::int64_t>(segment_.size()));
    }
    for (double& power : copy.sum_) power *= 4 / static_cast<double>(copy.segments_);  // a real sine has half its amplitude on each side
    return copy.sum_;
}

std::vector<double> power_response(const std::vector<std::complex<double>>& taps) {
    const auto size = std::max(static_cast<std::size_t>(SpectrumEstimator::kSegment), std::bit_ceil(taps.size()));
    std::vector<std::complex<double>> x(taps);
    x.resize(size);
    fourier_transform(x);
    std::vector<double> power(size);
    std::transform(x.begin(), x.end(), power.begin(), finite_power);
    return power;
}

}  // namespace tapline::cli
