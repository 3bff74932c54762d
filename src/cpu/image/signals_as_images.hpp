// Many signals side by side, which are the columns of an image.
#pragma once

#include "cpu/wrapped_algorithm.hpp"

namespace tapline::cpu {

/// `image`, of all of `signals`; pieces of signals are left to `pieces`.
std::unique_ptr<core::Executable> executed_as_image(const core::Resolved& signals, std::unique_ptr<const core::Executable> image,
                                                    std::unique_ptr<const core::Executable> pieces);

/// `inner`, direct sums of signals in any layout, which has other problems than these: signals whose samples lie side by side, so
/// many of them that a window of them all leaves the L1 cache, under few taps. They go as images under a mask of one column, which
/// reads rows where they lie; the bits are the same.
class SignalsAsImagesAlgorithm final : public WrappedAlgorithm {
public:
    using WrappedAlgorithm::WrappedAlgorithm;

    [[nodiscard]] bool keeps_local(const core::Resolved& problem, const core::Request& request) const override {
        return inner().keeps_local(problem, request);
    }
    [[nodiscard]] bool takes_outer(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] core::Support supports(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] double estimate_seconds(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const core::Resolved& problem, const void* taps,
                                                            const core::Request& request) const override;
};

}  // namespace tapline::cpu
