#include "cpu/direct/one_tap.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "core/plan/parallel.hpp"
#include "core/plan/repeated.hpp"
#include "core/problem/arrange.hpp"
#include "core/problem/window.hpp"
#include "cpu/lines/simd_lines.hpp"

namespace tapline::cpu {
namespace {

using core::Batch;
using core::Request;
using core::Resolved;

// Longer rows are as fast as what they are in direct sums.
constexpr std::int64_t kMostElements = 1024;
// A row, and an element of it in the caches: 2,016 rows of 94 with gaps between them take 79 us as direct sums.
constexpr double kRowSeconds = 6e-9, kElementSeconds = 0.05e-9;

// Rows whose samples and outputs lie side by side, real and of the sums' type or of pairs of it, under a real tap.
bool takes_rows(const Resolved& p, const Request& request) {
    const bool plain = p.rank == 1 && p.trivial_epilogue && !p.complex_taps && p.x.in_stride == 1 && p.x.out_stride == 1;
    const bool many = p.batch.length > 1 && p.x.n * (is_complex(p.dtype) ? 2 : 1) <= kMostElements;
    const Dtype real = real_part_of(p.sum_dtype);
    const bool as_sums = p.dtype == p.sum_dtype && (real == Dtype::f32 || real == Dtype::f64);
    return plain && many && as_sums && request.facts.finite && current_target() != Target::scalar;
}

/// Each row times the tap, where it lies. T: of the sums' real numbers.
template <class T>
class ScaledRows final : public core::Executable {
public:
    ScaledRows(const Resolved& problem, T tap, const Request& request)
        : problem_(problem),
          parts_(is_complex(problem.dtype) ? 2 : 1),
          elements_(problem.x.n * parts_),
          finish_{.scale = tap},
          scale_(line_kernels(current_target()).of<T>().finishing(real_part_of(problem.sum_dtype), false)),
          rows_(problem.batch.length * problem.outer_length()),
          seconds_(static_cast<double>(rows_) * (kRowSeconds + static_cast<double>(elements_) * kElementSeconds)),
          threads_(core::worthwhile_threads(seconds_, request.threads)) {}

    [[nodiscard]] std::size_t workspace_bytes() const override { return 0; }
    [[nodiscard]] std::string describe() const override {
        return "rows of " + std::to_string(problem_.x.n) + " as they lie, " + to_string(current_target());
    }
    void execute(const core::Output& output, const core::Input& input, std::span<std::byte>, void*) const override {
        const std::int64_t tasks = std::clamp<std::int64_t>(core::good_number_of_tasks(seconds_, threads_), 1, rows_);
        const std::int64_t of_task = (rows_ + tasks - 1) / tasks;
        const auto task = [&](std::int64_t index, int) {
            const std::int64_t end = std::min((index + 1) * of_task, rows_);
            for (std::int64_t row = index * of_task; row < end;) {
                const core::OuterElement element = core::outer_element(problem_, output, input, row / problem_.batch.length);
                const std::int64_t first = row % problem_.batch.length;
                const std::int64_t some = std::min(problem_.batch.length - first, end - row);
                const T* from = static_cast<const T*>(element.input.main.data) + first * problem_.batch.in_stride * parts_;
                T* to = static_cast<T*>(element.output.data) + first * problem_.batch.out_stride * parts_;
                for (std::int64_t r = 0; r < some; ++r) {
                    scale_(to + r * problem_.batch.out_stride * parts_, from + r * problem_.batch.in_stride * parts_, elements_,
                           finish_);
                }
                row += some;
            }
        };
        core::parallel_for(tasks, threads_, std::cref(task), seconds_);
    }

private:
    Resolved problem_;
    std::int64_t parts_, elements_;
    SumsFinish<T> finish_;
    FinishSums<T> scale_;
    std::int64_t rows_;
    double seconds_;
    int threads_;
};

std::unique_ptr<const core::Executable> rows_as_they_lie(const Resolved& problem, const void* taps, const Request& request) {
    if (real_part_of(problem.sum_dtype) == Dtype::f64) {
        return std::make_unique<ScaledRows<double>>(problem, *static_cast<const double*>(taps), request);
    }
    return std::make_unique<ScaledRows<float>>(problem, *static_cast<const float*>(taps), request);
}

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

// Whether every output is its own sample times one and the same tap.
bool is_each_its_own(const Resolved& problem) {
    const core::Axis& x = problem.x;
    const bool of_itself = x.k == 1 && x.origin == 0 && x.outputs == x.n && x.n != kUnknownLength;
    const auto has_own = [](const Batch& b) { return b.length > 1 && b.taps_stride != 0; };
    return problem.rank == 1 && of_itself && !problem.changes_rate() && problem.filters == 1 && !has_own(problem.batch) &&
           std::none_of(problem.outer.begin(), problem.outer.end(), has_own);
}

}  // namespace

std::optional<Resolved> as_longest_row(const Resolved& problem) {
    const core::Axis& x = problem.x;
    if (!is_each_its_own(problem)) { return std::nullopt; }
    std::vector<Batch> axes(problem.outer.begin(), problem.outer.end());
    axes.push_back(problem.batch);
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

namespace {

// The rows that a problem is executed as, and whether each as it lies.
struct Rows {
    Resolved problem;
    bool as_they_lie;
};
std::optional<Rows> rows_of(const Resolved& problem, const Request& request) {
    const std::optional<Resolved> longest = as_longest_row(problem);
    const Resolved& rows = longest ? *longest : problem;
    const bool as_they_lie = is_each_its_own(problem) && takes_rows(rows, request);
    return longest || as_they_lie ? std::optional(Rows{rows, as_they_lie}) : std::nullopt;
}

}  // namespace

double OneTapAlgorithm::estimate_seconds(const Resolved& problem, const Request& request) const {
    const std::optional<Rows> rows = rows_of(problem, request);
    return core::seconds_with_outer(inner(), rows ? rows->problem : problem, request);
}

bool OneTapAlgorithm::takes_outer(const Resolved& problem, const Request& request) const {
    return inner().takes_outer(problem, request) || rows_of(problem, request).has_value();
}

std::unique_ptr<core::Executable> OneTapAlgorithm::prepare(const Resolved& problem, const void* taps,
                                                           const Request& request) const {
    const std::optional<Rows> rows = rows_of(problem, request);
    if (!rows) { return inner().prepare(problem, taps, request); }
    return std::make_unique<OneTap>(problem, rows->problem, core::prepare_with_outer(inner(), problem, taps, request),
                                    rows->as_they_lie ? rows_as_they_lie(rows->problem, taps, request)
                                                      : core::prepare_with_outer(inner(), rows->problem, taps, request));
}

}  // namespace tapline::cpu
