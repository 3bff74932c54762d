// One tap: every output is its own sample's, so that any axis may be the filtered one.
#pragma once

#include <optional>

#include "core/choice/engine.hpp"
#include "core/problem/arrange.hpp"

namespace tapline::cpu {

/// The problem with the longest row that all its axes make where samples and outputs lie side by side; none where that is no longer
/// than the row that it has, where there are more taps than one or other outputs than samples, or a filter a row.
std::optional<core::Resolved> as_longest_row(const core::Resolved& problem);

/// `inner`, which has such problems with the longest row. It has to outlive this.
class OneTapAlgorithm final : public core::Algorithm {
public:
    explicit OneTapAlgorithm(const core::Algorithm& inner) : inner_(inner) {}

    [[nodiscard]] std::string_view name() const override { return inner_.name(); }
    [[nodiscard]] std::string_view summary() const override { return inner_.summary(); }
    [[nodiscard]] bool is_local() const override { return inner_.is_local(); }
    [[nodiscard]] bool keeps_local(const core::Resolved& problem, const core::Request& request) const override {
        return inner_.keeps_local(problem, request);
    }
    [[nodiscard]] bool takes_outer(const core::Resolved& problem, const core::Request& request) const override {
        return inner_.takes_outer(problem, request) || as_longest_row(problem).has_value();
    }
    [[nodiscard]] core::Support supports(const core::Resolved& problem, const core::Request& request) const override {
        return inner_.supports(core::without_outer(problem), request);
    }
    [[nodiscard]] double estimate_seconds(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const core::Resolved& problem, const void* taps,
                                                            const core::Request& request) const override;

private:
    const core::Algorithm& inner_;
};

}  // namespace tapline::cpu
