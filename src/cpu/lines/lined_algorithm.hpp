// An algorithm for signals, extended to every layout and to samples that are narrower than their sums.
#pragma once

#include "cpu/lines/line_layout.hpp"
#include "cpu/wrapped_algorithm.hpp"

namespace tapline::cpu {

/// A way of an algorithm's own through rows of a layout.
struct ByColumns {
    bool (*takes)(const LineLayout& layout, const core::Request& request) = nullptr;
    double (*seconds)(const LineLayout& layout) = nullptr;  ///< of all threads together
    /// Null where these taps are left to the ways of all others.
    std::unique_ptr<core::Executable> (*prepare)(const LineLayout& layout, const void* taps,
                                                 const core::Request& request) = nullptr;
};

/// `inner` goes on without knowing outer axes, gaps or integers.
class LinedAlgorithm final : public WrappedAlgorithm {
public:
    /// Whether `inner` has a way of its own through rows that lie side by side, as fast as one through packed lines.
    using TakesSideBySide = bool (*)(const core::Resolved& problem);
    /// `all_filters`: of one row it prepares a LinesExecutable, which holds any number of filters.
    LinedAlgorithm(const core::Algorithm& inner, TakesSideBySide takes_side_by_side, bool all_filters, ByColumns columns = {})
        : WrappedAlgorithm(inner), takes_side_by_side_(takes_side_by_side), all_filters_(all_filters), columns_(columns) {}

    [[nodiscard]] bool keeps_local(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] bool takes_outer(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] core::Support supports(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] double estimate_seconds(const core::Resolved& problem, const core::Request& request) const override;
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const core::Resolved& problem, const void* taps,
                                                            const core::Request& request) const override;

private:
    [[nodiscard]] LineLayout layout_of(const core::Resolved& problem) const;
    [[nodiscard]] bool goes_by_columns(const LineLayout& layout, const core::Request& request) const {
        return columns_.takes != nullptr && columns_.takes(layout, request);
    }

    TakesSideBySide takes_side_by_side_;
    bool all_filters_;
    ByColumns columns_;
};

}  // namespace tapline::cpu
