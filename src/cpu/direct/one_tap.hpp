// One tap: every output is its own sample's, so that any axis may be the filtered one.
#pragma once

#include <optional>

#include "core/problem/arrange.hpp"
#include "cpu/wrapped_algorithm.hpp"

namespace tapline::cpu {

/// The problem with the longest row that all its axes make where samples and outputs lie side by side; none where that is no longer
/// than the row that it has, where there are more taps than one or other outputs than samples, or a filter a row.
std::optional<core::Resolved> as_longest_row(const core::Resolved& problem);

/// `inner`, which has such problems with the longest row; short rows go where they lie, samples that lie apart or become wider in
/// blocks.
class OneTapAlgorithm final : public WrappedAlgorithm {
public:
    using WrappedAlgorithm::WrappedAlgorithm;

    [[nodiscard]] bool keeps_local(const core::Resolved& problem, const core::Request& request) const override {
        return inner().keeps_local(problem, request);
    }
    [[nodiscard]] bool takes_outer(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] core::Support supports(const core::Resolved& problem, const core::Request& request) const override {
        return inner().supports(core::without_outer(problem), request);
    }
    [[nodiscard]] double estimate_seconds(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const core::Resolved& problem, const void* taps,
                                                            const core::Request& request) const override;
};

}  // namespace tapline::cpu
