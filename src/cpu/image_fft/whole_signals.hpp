// Signals that one transform of half their length holds.
#pragma once

#include "cpu/wrapped_algorithm.hpp"

namespace tapline::cpu {

/// `inner`, overlap-save of signals, which has other problems than these: real signals under a filter so long that segments are
/// mostly what they share. Each is an image of one row, in halves (image_fft_tiles.hpp).
class WholeSignalsAlgorithm final : public WrappedAlgorithm {
public:
    using WrappedAlgorithm::WrappedAlgorithm;

    [[nodiscard]] bool keeps_local(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] bool takes_outer(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] core::Support supports(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] double estimate_seconds(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const core::Resolved& problem, const void* taps,
                                                            const core::Request& request) const override;
};

}  // namespace tapline::cpu
