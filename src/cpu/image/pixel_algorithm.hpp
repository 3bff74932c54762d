// An algorithm for images of packed pixels, extended to pixels in any order and of types that are narrower than their sums.
#pragma once

#include "core/choice/engine.hpp"

namespace tapline::cpu {

/// `inner` reads and writes by ImageLines, so that a row's elements lie side by side wherever it looks. It has to outlive this.
class PixelAlgorithm final : public core::Algorithm {
public:
    explicit PixelAlgorithm(const core::Algorithm& inner) : inner_(inner) {}

    [[nodiscard]] std::string_view name() const override { return inner_.name(); }
    [[nodiscard]] std::string_view summary() const override { return inner_.summary(); }
    [[nodiscard]] bool is_local() const override { return inner_.is_local(); }
    [[nodiscard]] bool takes_rank(int rank) const override { return inner_.takes_rank(rank); }
    [[nodiscard]] core::Support supports(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] double estimate_seconds(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const core::Resolved& problem, const void* taps,
                                                            const core::Request& request) const override;

private:
    const core::Algorithm& inner_;
};

}  // namespace tapline::cpu
