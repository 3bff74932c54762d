#include "cpu/direct/one_tap.hpp"

#include <algorithm>
#include <vector>

#include "core/plan/repeated.hpp"
#include "core/problem/arrange.hpp"
#include "core/problem/window.hpp"

namespace tapline::cpu {
namespace {

using core::Batch;
using core::Request;
using core::Resolved;

// The longest rows where all of the problem is asked for, else the rows that it has.
class OneTap final : public core::Executable {
public:
    OneTap(const Resolved& problem, const Resolved& longest, std::unique_ptr<const core::Executable> rows,
           std::unique_ptr<const core::Executable> longest_rows)
        : problem_(problem), longest_(longest), rows_(std::move(rows)), longest_rows_(std::move(longest_rows)) {}

    [[nodiscard]] std::size_t workspace_bytes() const override {
        return std::max(rows_->workspace_bytes(), longest_rows_->workspace_bytes());
    }
    [[nodiscard]] std::string describe() const override { return "one tap: " + longest_rows_->describe(); }

    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace,
                 void* stream) const override {
        const core::Piece& main = input.main;
        const bool of_whole =
            output.first == 0 && output.count == problem_.x.outputs && main.first == 0 && main.last == problem_.x.n;
        const bool as_told = output.stride == problem_.x.out_stride && output.batch_stride == problem_.batch.out_stride &&
                             main.stride == problem_.x.in_stride && main.batch_stride == problem_.batch.in_stride;
        if (!of_whole || !as_told) { return rows_->execute(output, input, workspace, stream); }
        longest_rows_->execute(core::whole_output(longest_, output.data), core::whole_input(longest_, main.data), workspace,
                               stream);
    }

private:
    Resolved problem_, longest_;
    std::unique_ptr<const core::Executable> rows_, longest_rows_;
};

}  // namespace

std::optional<Resolved> as_longest_row(const Resolved& problem) {
    const core::Axis& x = problem.x;
    const bool of_itself = x.k == 1 && x.origin == 0 && x.outputs == x.n && x.n != kUnknownLength;
    if (problem.rank != 1 || !of_itself || problem.changes_rate() || problem.filters != 1) { return std::nullopt; }
    std::vector<Batch> axes(problem.outer.begin(), problem.outer.end());
    axes.push_back(problem.batch);
    if (std::any_of(axes.begin(), axes.end(), [](const Batch& b) { return b.length > 1 && b.taps_stride != 0; })) {
        return std::nullopt;
    }
    axes.push_back({.length = x.n, .in_stride = x.in_stride, .out_stride = x.out_stride});
    std::erase_if(axes, [](const Batch& b) { return b.length == 1; });
    std::int64_t row = 1;
    const auto next = [&] {
        return std::find_if(axes.begin(), axes.end(), [&](const Batch& b) { return b.in_stride == row && b.out_stride == row; });
    };
    for (auto axis = next(); axis != axes.end(); axis = next()) {
        row *= axis->length;
        axes.erase(axis);
    }
    if (row <= x.n) { return std::nullopt; }
    Resolved longest = problem;
    longest.mode = Mode::same;
    longest.x = {.n = row, .outputs = row, .in_stride = 1, .out_stride = 1};
    longest.batch = {};
    longest.outer = {};
    core::arrange(longest, axes);
    return longest;
}

double OneTapAlgorithm::estimate_seconds(const Resolved& problem, const Request& request) const {
    return core::seconds_with_outer(inner(), as_longest_row(problem).value_or(problem), request);
}

std::unique_ptr<core::Executable> OneTapAlgorithm::prepare(const Resolved& problem, const void* taps,
                                                           const Request& request) const {
    const std::optional<Resolved> longest = as_longest_row(problem);
    if (!longest) { return inner().prepare(problem, taps, request); }
    return std::make_unique<OneTap>(problem, *longest, core::prepare_with_outer(inner(), problem, taps, request),
                                    core::prepare_with_outer(inner(), *longest, taps, request));
}

}  // namespace tapline::cpu
