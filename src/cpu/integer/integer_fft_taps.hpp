// The filters of an integer_fft plan: the spectra of their limbs.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "cpu/fft/fft.hpp"
#include "cpu/integer/integer_fft_shape.hpp"

namespace tapline::cpu {

class LimbSpectra {
public:
    /// `taps`: problem.filters rows in correlation order. `problem` and `fft` have to outlive this. Throws Error (memory).
    LimbSpectra(const core::Resolved& problem, const IntegerFftShape& shape, const BlockFft<double>& fft, const std::int64_t* taps,
                int threads);

    /// Whether they are kept. If not, make() makes one.
    [[nodiscard]] bool kept() const { return spectra_ != nullptr; }
    /// Of a partition of a filter's limb, with 1 / N.
    [[nodiscard]] const double* of(std::int64_t filter, int limb, std::int64_t partition) const {
        return spectra_.get() + ((filter * limbs_ + limb) * partitions_ + partition) * extent_;
    }
    void make(double* data, std::int64_t filter, int limb, std::int64_t partition, double* scratch, int threads) const {
        make(data, taps_.data(), filter, limb, partition, scratch, threads);
    }
    /// The L2 norm of each limb's taps, of the filter where it is largest.
    [[nodiscard]] const double* norms() const { return norms_.data(); }

private:
    void make(double* data, const std::int64_t* taps, std::int64_t filter, int limb, std::int64_t partition, double* scratch,
              int threads) const;
    void note_norms(const std::int64_t* taps);

    const core::Resolved& problem_;
    const BlockFft<double>& fft_;
    Limbs limbs_of_taps_;
    std::int64_t limbs_, partitions_, block_, extent_;
    std::unique_ptr<double[], void (*)(double*)> spectra_{nullptr, nullptr};
    std::vector<std::int64_t> taps_;  // if spectra are not kept
    std::array<double, LimbWays::kMostLimbs> norms_{};
};

}  // namespace tapline::cpu
