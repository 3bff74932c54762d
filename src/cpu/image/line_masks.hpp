// Masks of one row or column: what they filter are signals.
#pragma once

#include <optional>

#include "cpu/wrapped_algorithm.hpp"

namespace tapline::cpu {

/// The problem with the one axis that has taps as the only filtered one, and the others as batch axes. None where several axes have
/// taps, or where one without them has other outputs than samples.
std::optional<core::Resolved> as_signals(const core::Resolved& problem);

/// Whether line masks are left to an algorithm for signals.
enum class Lines { never, if_sooner, always };

/// An algorithm for images, and one for signals that has the problems of line masks which `goes` says. `signals` has to outlive
/// this.
class LineMaskAlgorithm final : public WrappedAlgorithm {
public:
    using Goes = Lines (*)(const core::Resolved& images, const core::Request& request);
    LineMaskAlgorithm(const core::Algorithm& images, const core::Algorithm& signals, Goes goes)
        : WrappedAlgorithm(images), signals_(signals), goes_(goes) {}

    [[nodiscard]] bool keeps_local(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] core::Support supports(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] double estimate_seconds(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const core::Resolved& problem, const void* taps,
                                                            const core::Request& request) const override;

private:
    [[nodiscard]] std::optional<core::Resolved> signals_of(const core::Resolved& problem, const core::Request& request) const;

    const core::Algorithm& signals_;
    Goes goes_;
};

}  // namespace tapline::cpu
