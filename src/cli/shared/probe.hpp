// What a picture needs to know about a signal of any length, gathered while it passes.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "cli/shared/spectrum.hpp"
#include "tapline/types.hpp"

namespace tapline::cli {

/// Extremes and level of equal stretches of a signal: at most kBins of them, each twice as long whenever they run out.
class Envelope {
public:
    static constexpr std::size_t kBins = 2048;

    struct Bin {
        double least = std::numeric_limits<double>::infinity();
        double most = -std::numeric_limits<double>::infinity();
        double sum = 0;
        double squares = 0;
        std::int64_t count = 0;  ///< finite samples; the extremes ignore the others
        std::int64_t bad = 0;    ///< NaN and infinite samples
    };

    void add(double sample);

    [[nodiscard]] const std::vector<Bin>& bins() const { return bins_; }
    [[nodiscard]] std::int64_t samples_per_bin() const { return per_bin_; }
    [[nodiscard]] std::int64_t samples() const { return samples_; }
    [[nodiscard]] double least() const;
    [[nodiscard]] double most() const;

private:
    void halve();

    std::vector<Bin> bins_;
    std::int64_t per_bin_ = 1;
    std::int64_t in_last_ = 0;
    std::int64_t samples_ = 0;
};

/// One or two lanes: the channels of mono and stereo, the parts of a complex signal; of more channels the first.
class Probe {
public:
    Probe(Dtype dtype, std::int64_t channels);

    /// Interleaved elements of the dtype.
    void add(const void* data, std::int64_t frames, std::int64_t channels);

    [[nodiscard]] const std::vector<Envelope>& lanes() const { return lanes_; }
    [[nodiscard]] bool complex() const { return complex_; }
    [[nodiscard]] std::int64_t channels() const { return channels_; }
    [[nodiscard]] std::int64_t frames() const { return lanes_.front().samples(); }
    /// Mean over the lanes' channels; see SpectrumEstimator::power.
    [[nodiscard]] std::vector<double> power() const;

private:
    Dtype dtype_;
    bool complex_;
    std::int64_t channels_;
    std::vector<Envelope> lanes_;
    std::vector<SpectrumEstimator> spectra_;  // one a channel
    std::vector<std::complex<double>> samples_;
};

}  // namespace tapline::cli
