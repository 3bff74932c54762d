#include "cli/shared/spectrum.hpp"

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

SpectrumEstimator::SpectrumEstimator() : fft_(std::make_shared<const cpu::NaturalFft>(kSegment)) {}

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
    fft_->forward(windowed.data());
    sum_.resize(windowed.size());
    for (std::size_t f = 0; f < windowed.size(); ++f) sum_[f] += finite_power(windowed[f]) / (window_sum * window_sum);
    ++segments_;
}

void SpectrumEstimator::add(const std::complex<double>* samples, std::int64_t count) {
    constexpr auto kHalf = kSegment / 2;
    while (count > 0) {
        const std::int64_t part = std::min(count, kSegment - static_cast<std::int64_t>(segment_.size()));
        segment_.insert(segment_.end(), samples, samples + part);
        for (std::int64_t i = 0; i < part; ++i) {
            if (!std::isfinite(samples[i].real()) || !std::isfinite(samples[i].imag())) bad_until_ = added_ + i + 1;
        }
        samples += part;
        count -= part;
        added_ += part;
        if (static_cast<std::int64_t>(segment_.size()) < kSegment) return;
        const bool good = bad_until_ <= added_ - kSegment;
        if (++since_ >= stride_ && good) {
            since_ = 0;
            transform(kSegment);
            if (segments_ % kSegmentsPerStride == 0) stride_ *= 2;
        }
        segment_.erase(segment_.begin(), segment_.begin() + kHalf);
    }
}

std::vector<double> SpectrumEstimator::power() const {
    SpectrumEstimator copy = *this;
    if (segments_ == 0) {
        if (segment_.empty()) return {};
        copy.transform(static_cast<std::int64_t>(segment_.size()));
    }
    for (double& power : copy.sum_)
        power *= 4 / static_cast<double>(copy.segments_);  // a real sine has half its amplitude on each side
    return copy.sum_;
}

std::vector<double> power_response(const std::vector<std::complex<double>>& taps) {
    const auto size = std::max(static_cast<std::size_t>(SpectrumEstimator::kSegment), std::bit_ceil(taps.size()));
    std::vector<std::complex<double>> x(taps);
    x.resize(size);
    cpu::NaturalFft(static_cast<std::int64_t>(size)).forward(x.data());
    std::vector<double> power(size);
    std::transform(x.begin(), x.end(), power.begin(), finite_power);
    return power;
}

}  // namespace tapline::cli
