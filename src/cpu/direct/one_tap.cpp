#include "cpu/direct/one_tap.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "core/plan/parallel.hpp"
#include "core/plan/repeated.hpp"
#include "core/problem/arrange.hpp"
#include "core/problem/window.hpp"
#include "cpu/caches.hpp"
#include "cpu/direct/calls/direct_shape.hpp"
#include "cpu/lines/line_layout.hpp"
#include "cpu/lines/line_moves.hpp"
#include "cpu/lines/line_store.hpp"
#include "cpu/lines/line_tiles.hpp"
#include "cpu/lines/simd_few.hpp"

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

// Of a sample that is moved: 122 rows of every second one of 161 complex128 take 20 us.
double seconds_of_moved(const Resolved& p, const Request& request) {
    const double elements = std::max(static_cast<double>(size_of(p.dtype)) / sizeof(float), 1.0);
    return std::abs(p.x.in_stride) > 2 ? seconds_apart(p, request.threads) : kWidenSeconds * elements;
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

// Elements of a block, which stay in the L1 cache. Where neighbours in memory are those of other rows they are a line of it, of
// bytes half a line, and a block goes further along the rows, as lines are asked for ahead.
constexpr std::int64_t kBlockElements = 4096, kElementsAcross = 16384, kFewestAcross = 16, kMostAcross = 32, kCacheLine = 64;
// Shorter runs are not stored past the caches: after each of them memory is waited for.
constexpr std::int64_t kFewestPastCaches = 1024;
// Short rows are packed, too, where their outputs are one run.
constexpr std::int64_t kShortRow = 256;
// Shorter rows that are read backwards become columns in registers (direct_columns.hpp).
constexpr std::int64_t kFewestReversed = 16;

/// Blocks of rows of any layout, packed, times the tap, to where their outputs lie side by side. T: of the sums' real numbers.
template <class T>
class MovedRows final : public core::Executable {
public:
    MovedRows(const Resolved& problem, T tap, const Request& request)
        : problem_(problem),
          lines_(problem_of_lines(problem, 1)),
          parts_(is_complex(problem.dtype) ? 2 : 1),
          finish_{.scale = tap},
          tap_(tap),
          scale_(line_kernels(current_target()).of<T>().finishing(real_part_of(lines_.sum_dtype), false)),
          moves_(current_target(), problem.dtype, lines_.dtype, lines_.output_dtype, problem.output_dtype),
          put_(problem, lines_, current_target()),
          packs_(problem.dtype != lines_.dtype || problem.x.in_stride != 1 ||
                 (problem.x.n <= kShortRow && problem.batch.out_stride == problem.x.n)) {
        const Batch& batch = problem.batch;
        const bool across = std::abs(batch.in_stride) == 1;
        const auto bytes = static_cast<std::int64_t>(size_of(problem.dtype));
        const std::int64_t near = std::clamp<std::int64_t>(kCacheLine / bytes, kFewestAcross, kMostAcross);
        rows_ = std::min(batch.length, across ? near : std::max<std::int64_t>(kBlockElements / problem.x.n, 1));
        count_ = std::clamp<std::int64_t>((across ? kElementsAcross : kBlockElements) / rows_, 1, problem.x.n);
        if (problem.x.n <= 2 * count_) { count_ = problem.x.n; }
        const auto samples = static_cast<double>(batch.length * problem.outer_length() * problem.x.n);
        const bool long_runs = count_ >= kFewestPastCaches || (packs_ && batch.out_stride == count_);
        past_caches_ = put_.as_made() && long_runs &&
                       stores_past_caches(samples * static_cast<double>(size_of(problem.dtype)),
                                          samples * static_cast<double>(size_of(problem.output_dtype)), request.threads);
        seconds_ = samples * seconds_of_moved(problem, request);
        threads_ = core::worthwhile_threads(seconds_, request.threads);
        if (put_.as_made()) { choose_kernel(); }
    }

    [[nodiscard]] std::size_t workspace_bytes() const override {
        return static_cast<std::size_t>(2 * slot_elements() * threads_) * sizeof(T);
    }
    [[nodiscard]] std::string describe() const override {
        return "blocks of " + std::to_string(rows_) + " x " + std::to_string(count_) + (few_ != nullptr ? " as they lie, " : ", ") +
               to_string(current_target());
    }
    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const override {
        const std::int64_t lead = rows_to_boundary(input), of_row = divide_up(problem_.x.n, count_);
        const std::int64_t of_rows = 1 + divide_up(problem_.batch.length - lead, rows_);
        const auto task = [&](std::int64_t index, int slot) {
            const core::OuterElement element = core::outer_element(problem_, output, input, index / (of_rows * of_row));
            const std::int64_t block = index / of_row % of_rows, first = index % of_row * count_;
            const std::int64_t row = block == 0 ? 0 : lead + (block - 1) * rows_;
            const std::int64_t rows = block == 0 ? lead : std::min(rows_, problem_.batch.length - row);
            run(element, row, rows, first, std::min(count_, problem_.x.n - first),
                reinterpret_cast<T*>(workspace.data()) + 2 * slot * slot_elements());
        };
        core::parallel_for(problem_.outer_length() * of_rows * of_row, threads_, std::cref(task), seconds_);
    }

private:
    // Rows of the first block, after which the others begin where a line of the cache does.
    [[nodiscard]] std::int64_t rows_to_boundary(const core::Input& input) const {
        const auto bytes = static_cast<std::int64_t>(size_of(problem_.dtype));
        const std::int64_t lead = elements_to_line(input.main.data, bytes);
        const bool whole_lines = problem_.batch.in_stride == 1 && rows_ * bytes % kCacheLine == 0;
        return whole_lines && lead > 0 && lead < rows_ ? lead : rows_;
    }

    // What takes samples as they lie, if there is such a kernel and rows do not share sets of the caches.
    void choose_kernel() {
        const FewKernels<T>& kernels = few_kernels(current_target()).template of<T>();
        const Batch& batch = problem_.batch;
        const std::int64_t out_bytes = batch.out_stride * parts_ * static_cast<std::int64_t>(sizeof(T));
        // 900 columns of 9,000 floats take 4.3 ms so and 2.9 packed, 3,000 of 3,000 bytes 2.5 and 3.7 (two threads, AVX-512).
        const bool in_parts_of_lines = past_caches_ && out_bytes % kCacheLine != 0 && problem_.dtype == lines_.dtype;
        turns_ = batch.in_stride == 1 && std::abs(problem_.x.in_stride) > 1;
        if (turns_) {
            few_ = share_sets(out_bytes) || in_parts_of_lines ? nullptr : kernels.turned(problem_.dtype, parts_ == 2);
        } else {
            few_ = kernels.along(problem_.dtype, parts_ == 2, problem_.x.in_stride);
        }
    }

    [[nodiscard]] std::int64_t slot_elements() const {
        return round_up(rows_ * count_ * parts_ + kElementsBehind, kElementsBehind);
    }

    void run(const core::OuterElement& element, std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t count,
             T* packed) const {
        const Batch& batch = problem_.batch;
        const auto in_bytes = static_cast<std::int64_t>(size_of(problem_.dtype));
        const auto out_bytes = static_cast<std::int64_t>(size_of(problem_.output_dtype));
        const std::int64_t from = row * batch.in_stride + first * problem_.x.in_stride, to = row * batch.out_stride + first;
        const std::int64_t elements = count * parts_;
        const std::byte* const in = static_cast<const std::byte*>(element.input.main.data) + from * in_bytes;
        if (few_ != nullptr && (turns_ ? rows >= kFewestTurned && count >= kFewestAlong : count >= kFewestInPlace)) {
            return few_({.out = reinterpret_cast<T*>(static_cast<std::byte*>(element.output.data) + to * out_bytes),
                         .in = in,
                         .taps = &tap_,
                         .k = 1,
                         .count = count,
                         .lines = rows,
                         .step = problem_.x.in_stride,
                         .line = batch.in_stride,
                         .out_line = batch.out_stride,
                         .stream = past_caches_});
        }
        if (packs_) {
            moves_.gather(reinterpret_cast<std::byte*>(packed), count, in, {batch.in_stride, problem_.x.in_stride}, rows, count);
        }
        std::byte* const out = static_cast<std::byte*>(element.output.data) + to * out_bytes;
        const std::int64_t runs = packs_ && batch.out_stride == count ? 1 : rows, length = rows * elements / runs;
        for (std::int64_t r = 0; r < runs; ++r) {
            std::byte* const line = out + r * batch.out_stride * out_bytes;
            T* const products = packed + r * length;
            const T* const samples = packs_ ? products : reinterpret_cast<const T*>(in) + r * batch.in_stride * parts_;
            if (put_.as_made() && !past_caches_) {
                scale_(line, samples, length, finish_);
                continue;
            }
            scale_(products, samples, length, finish_);
            if (past_caches_) {
                line_kernels(current_target()).stream(line, 0, products, 0, length * static_cast<std::int64_t>(sizeof(T)), 1);
            } else {
                put_(line, products, packed + slot_elements(), length);
            }
        }
    }

    static constexpr std::int64_t kElementsBehind = 16;
    // Lines so far from each other share sets of the caches; and shorter runs are packed sooner than they are called for.
    static constexpr std::int64_t kFewestInPlace = 64;

    Resolved problem_, lines_;
    std::int64_t parts_;
    SumsFinish<T> finish_;
    T tap_;
    FewSums<T> few_ = nullptr;
    bool turns_ = false;
    FinishSums<T> scale_;
    LineMoves moves_;
    RunStore<T> put_;
    bool packs_, past_caches_ = false;
    std::int64_t rows_ = 1, count_ = 1;
    double seconds_ = 0;
    int threads_ = 1;
};

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

// Rows of any layout and type whose outputs lie side by side: the longest of them, beside those that are read nearest to each
// other.
std::optional<Resolved> as_moved(const Resolved& problem, const Request& request) {
    const Dtype real = real_part_of(problem_of_lines(problem, 1).sum_dtype);
    const bool known = is_each_its_own(problem) && !problem.is_exact() && !problem.complex_taps && request.facts.finite;
    const bool sums = (real == Dtype::f32 || real == Dtype::f64) && current_target() != Target::scalar;
    if (!known || !sums || (is_complex(problem.sum_dtype) && !problem.trivial_epilogue)) { return std::nullopt; }
    std::vector<Batch> axes(problem.outer.begin(), problem.outer.end());
    axes.push_back(problem.batch);
    axes.push_back({.length = problem.x.n, .in_stride = problem.x.in_stride, .out_stride = problem.x.out_stride});
    std::erase_if(axes, [](const Batch& b) { return b.length == 1; });
    const auto take = [&](auto is_it) -> std::optional<Batch> {
        const auto axis = std::find_if(axes.begin(), axes.end(), is_it);
        if (axis == axes.end()) { return std::nullopt; }
        const Batch taken = *axis;
        axes.erase(axis);
        return taken;
    };
    std::optional<Batch> row = take([](const Batch& b) { return b.out_stride == 1; });
    const bool reversed = row && (row->in_stride == -1 || row->in_stride == -2);
    if (!row || (reversed && row->length < kFewestReversed)) { return std::nullopt; }
    const auto follows = [&](const Batch& b) { return b.in_stride == row->in_stride * row->length && b.out_stride == row->length; };
    for (auto next = take(follows); next; next = take(follows)) { row->length *= next->length; }
    Resolved moved = problem;
    moved.mode = Mode::same;
    moved.x = {.n = row->length, .outputs = row->length, .in_stride = row->in_stride, .out_stride = 1};
    moved.batch = {};
    moved.outer = {};
    std::sort(axes.begin(), axes.end(),
              [](const Batch& a, const Batch& b) { return std::abs(a.in_stride) < std::abs(b.in_stride); });
    if (!axes.empty()) {
        moved.batch = axes.front();
        std::copy(axes.begin() + 1, axes.end(), moved.outer.begin());
    }
    return moved;
}

// How rows under one tap are executed.
enum class Way { as_given, as_they_lie, moved };
struct Rows {
    Resolved problem;
    Way way;
};
std::optional<Rows> rows_of(const Resolved& problem, const Request& request) {
    const std::optional<Resolved> longest = as_longest_row(problem);
    const Resolved& rows = longest ? *longest : problem;
    if (is_each_its_own(problem) && takes_rows(rows, request)) { return Rows{rows, Way::as_they_lie}; }
    const bool plain = rows.x.in_stride == 1 && rows.x.out_stride == 1 && rows.trivial_epilogue && rows.dtype == rows.sum_dtype;
    if (!plain) {
        if (const auto moved = as_moved(problem, request)) { return Rows{*moved, Way::moved}; }
    }
    return longest ? std::optional(Rows{rows, Way::as_given}) : std::nullopt;
}

template <class T>
std::unique_ptr<const core::Executable> rows_of_type(const Rows& rows, const void* taps, const Request& request) {
    const T tap = *static_cast<const T*>(taps);
    if (rows.way == Way::as_they_lie) { return std::make_unique<ScaledRows<T>>(rows.problem, tap, request); }
    return std::make_unique<MovedRows<T>>(rows.problem, tap, request);
}

}  // namespace

double OneTapAlgorithm::estimate_seconds(const Resolved& problem, const Request& request) const {
    const std::optional<Rows> rows = rows_of(problem, request);
    if (rows && rows->way == Way::moved) {
        const Resolved& p = rows->problem;
        const auto samples = static_cast<double>(p.batch.length * p.outer_length() * p.x.n);
        return core::seconds_on_threads(samples * (seconds_of_moved(p, request) + kElementSeconds), request.threads);
    }
    return core::seconds_with_outer(inner(), rows ? rows->problem : problem, request);
}

bool OneTapAlgorithm::takes_outer(const Resolved& problem, const Request& request) const {
    return inner().takes_outer(problem, request) || rows_of(problem, request).has_value();
}

std::unique_ptr<core::Executable> OneTapAlgorithm::prepare(const Resolved& problem, const void* taps,
                                                           const Request& request) const {
    const std::optional<Rows> rows = rows_of(problem, request);
    if (!rows) { return inner().prepare(problem, taps, request); }
    const bool wide = real_part_of(problem_of_lines(problem, 1).sum_dtype) == Dtype::f64;
    return std::make_unique<OneTap>(problem, rows->problem, core::prepare_with_outer(inner(), problem, taps, request),
                                    rows->way == Way::as_given ? core::prepare_with_outer(inner(), rows->problem, taps, request)
                                    : wide                     ? rows_of_type<double>(*rows, taps, request)
                                                               : rows_of_type<float>(*rows, taps, request));
}

}  // namespace tapline::cpu
