// Masks of one row or column: what they filter are signals.
#pragma once

#include <cstdint>
#include <optional>

#include "cpu/wrapped_algorithm.hpp"

namespace tapline::cpu {

/// Lines of images: the one axis that has taps is the only filtered one, the others are batch axes.
struct Signals {
    core::Resolved problem;
    std::int64_t first = 0;  ///< the elements of the images before the first sample
};

/// None where several axes have taps, or where one without them has outputs beyond its samples.
std::optional<Signals> as_signals(const core::Resolved& images);

/// Whether line masks are left to an algorithm for signals.
enum class Lines { never, if_sooner, always };

/// An algorithm for images, and one for signals that has the problems of line masks which `goes` says; parts go as their whole
/// does. `signals` has to outlive this.
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
    [[nodiscard]] std::optional<Signals> signals_of(const core::Resolved& problem, const core::Request& request) const;

    const core::Algorithm& signals_;
    Goes goes_;
};

}  // namespace tapline::cpu
