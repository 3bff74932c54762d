// An algorithm for images of packed pixels, extended to pixels in any order and of types that are narrower than their sums.
#pragma once

#include "cpu/wrapped_algorithm.hpp"

namespace tapline::cpu {

/// `inner` reads and writes by ImageLines, so that a row's elements lie side by side wherever it looks.
class PixelAlgorithm final : public WrappedAlgorithm {
public:
    using WrappedAlgorithm::WrappedAlgorithm;

    [[nodiscard]] core::Support supports(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] double estimate_seconds(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const core::Resolved& problem, const void* taps,
                                                            const core::Request& request) const override;
};

}  // namespace tapline::cpu
