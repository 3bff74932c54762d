// Many short rows that follow each other in memory, of interleaved channels, too.
#pragma once

#include "cpu/wrapped_algorithm.hpp"

namespace tapline::cpu {

/// `inner`, direct sums of signals in any layout, which has other problems than these: rows that follow each other, in input and
/// output, under one filter. They are summed as one long row, whose outputs at the rows' ends are then replaced: those are summed
/// for many rows side by side.
class JoinedRowsAlgorithm final : public WrappedAlgorithm {
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
