#include "cli/shared/probe.hpp"

#include <algorithm>
#include <cmath>

#include "cli/shared/elements.hpp"

namespace tapline::cli {

void Envelope::add(double sample) {
    if (bins_.empty() || in_last_ == per_bin_) {
        if (bins_.size() == kBins) halve();
        if (in_last_ == per_bin_ || bins_.empty()) {
            bins_.emplace_back();
            in_last_ = 0;
        }
    }
    ++in_last_;
    ++samples_;
    Bin& bin = bins_.back();
    if (!std::isfinite(sample)) {
        ++bin.bad;
        return;
    }
    bin.least = std::min(bin.least, sample);
    bin.most = std::max(bin.most, sample);
    bin.sum += sample;
    bin.squares += sample * sample;
    ++bin.count;
}

// kBins is even and all bins are full.
void Envelope::halve() {
    for (std::size_t i = 0; i < kBins / 2; ++i) {
        const Bin& a = bins_[2 * i];
        const Bin& b = bins_[2 * i + 1];
        bins_[i] = {std::min(a.least, b.least), std::max(a.most, b.most), a.sum + b.sum,
                    a.squares + b.squares,      a.count + b.count,        a.bad + b.bad};
    }
    bins_.resize(kBins / 2);
    per_bin_ *= 2;
    in_last_ = per_bin_;
}

double Envelope::least() const { return bins_.empty() ? 0 : std::ranges::min_element(bins_, {}, &Bin::least)->least; }

double Envelope::most() const { return bins_.empty() ? 0 : std::ranges::max_element(bins_, {}, &Bin::most)->most; }

Probe::Probe(Dtype dtype, std::int64_t channels) : dtype_(dtype), complex_(is_complex(dtype)), channels_(channels) {
    const bool stereo = channels == 2 && !complex_;
    lanes_.resize(complex_ || stereo ? 2 : 1);
    spectra_.resize(stereo ? 2 : 1);
}

void Probe::add(const void* data, std::int64_t frames, std::int64_t channels) {
    visit_dtype(dtype_, [&]<class T>(T) {
        for (std::size_t channel = 0; channel < spectra_.size(); ++channel) {
            const auto* from = static_cast<const T*>(data) + channel;
            samples_.resize(static_cast<std::size_t>(frames));
            for (std::size_t i = 0; i < samples_.size(); ++i) {
                const T value = from[i * static_cast<std::size_t>(channels)];
                if constexpr (kIsComplex<T>) {
                    samples_[i] = value;
                    lanes_[0].add(samples_[i].real());
                    lanes_[1].add(samples_[i].imag());
                } else {
                    samples_[i] = static_cast<double>(value);
                    lanes_[channel].add(samples_[i].real());
                }
            }
            spectra_[channel].add(samples_.data(), frames);
        }
    });
}

std::vector<double> Probe::power() const {
    std::vector<double> mean = spectra_.front().power();
    if (spectra_.size() > 1) {
        const auto other = spectra_.back().power();
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = (mean[i] + other[i]) / 2;
    }
    if (complex_) {
        for (double& power : mean) power /= 4;  // a complex exponential has its whole amplitude on one side
    }
    return mean;
}

}  // namespace tapline::cli
