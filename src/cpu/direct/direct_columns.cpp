#include "cpu/direct/direct_columns.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/plan/parallel.hpp"
#include "core/plan/repeated.hpp"
#include "core/problem/elements.hpp"
#include "core/problem/epilogue.hpp"
#include "core/problem/window.hpp"
#include "cpu/direct/direct_cost.hpp"
#include "cpu/direct/direct_shape.hpp"
#include "cpu/direct/simd_columns.hpp"
#include "cpu/lines/line_store.hpp"

namespace tapline::cpu {
namespace {

using core::Input;
using core::Output;
using core::Piece;
using core::Resolved;

// Columns of a block: so many samples side by side that a line of the cache is read whole, of bytes too.
constexpr std::int64_t kMostColumns = 64;
// Elements of a block's outputs: they and what they read stay in the L2 cache, beside few samples that two blocks read.
constexpr std::int64_t kBlockElements = 8192;
// Lines that are asked for before they are read: each lies in a page of its own.
constexpr std::int64_t kAhead = 16;
// Blocks below each other in a task, for which the table of taps is made once.
constexpr std::int64_t kMostBlocks = 8;
// Longer rows of outputs than this become lines before they are summed: 243 columns of 3,431 samples under 10 taps take 367 us so
// and 435 us in blocks, 99,485 of 11 samples under 13 taps 6.8 and 0.72 ms (one thread, AVX-512).
constexpr std::int64_t kMostTurned = 128;
// Short rows that follow each other are turned, too, if there are enough of them: 2,197 samples in rows of 13 under 3 taps take
// 8 us one after the other. Of few columns the ends take longer than all else where they are done row by row.
constexpr std::int64_t kMostOfShortRows = 48, kFewestRows = 16, kFewColumns = 16;
// Longer filters are summed in groups (simd_direct.hpp), along lines.
constexpr std::int64_t kMostTaps = kDirectGroup;
// A load for each product, and an element on its way to the block or out of it.
constexpr double kProductFactor = 1.6;
constexpr double kMoveSeconds = 0.15e-9;

double seconds_of(const Resolved& p, double outputs) {
    const double product = direct_product_seconds(current_target(), size_of(real_part_of(p.sum_dtype)));
    return outputs * ((static_cast<double>(p.x.k) * kProductFactor + kProductsOfAnOutput) * product + 2 * kMoveSeconds);
}

/// T: float or double, the type of sums.
///
/// A block is some columns of some outputs: `columns` of them side by side, `pitch` elements from one output to the next.
template <class T>
class Columns final : public core::Executable {
public:
    Columns(const LineLayout& layout, const void* taps, const core::Request& request)
        : problem_(layout.problem),
          reordered_(layout.reordered),
          own_(layout.filters > 1),
          read_turned_(problem_.batch.in_stride != 1),
          turns_(problem_.batch.out_stride != 1),
          lines_(problem_of_lines(problem_, 1)),
          taps_(static_cast<const T*>(taps), static_cast<const T*>(taps) + layout.filters * problem_.x.k),
          target_(current_target()),
          sum_(direct_kernels(target_).of<T>().real),
          sum_own_(columns_kernels(target_).of<T>().sum),
          store_(lines_, target_),
          threads_(request.threads) {
        const LineTable& moves = line_kernels(target_);
        if (problem_.dtype != lines_.dtype) { widen_ = moves.widening(problem_.dtype, lines_.dtype == Dtype::f64); }
        if (lines_.output_dtype != problem_.output_dtype) { narrow_ = moves.narrowing(problem_.output_dtype); }
        // Of short rows as many columns as of longer ones outputs.
        const std::int64_t window = std::max<std::int64_t>(problem_.x.outputs, 1) + problem_.x.k - 1;
        const std::int64_t wide = own_ ? 0 : kBlockElements / window / kMostColumns * kMostColumns;
        columns_ = std::min(problem_.batch.length, std::max(kMostColumns, wide));
        const std::int64_t wanted = std::max(divide_up(kBlockElements, columns_), 2 * problem_.x.k);
        outputs_ = std::clamp<std::int64_t>(problem_.x.outputs, 1, wanted);
    }

    [[nodiscard]] std::size_t workspace_bytes() const override {
        return static_cast<std::size_t>(slot_elements() * threads_) * sizeof(T);
    }
    [[nodiscard]] std::string describe() const override {
        return "columns of " + std::to_string(columns_) + " rows side by side, " + to_string(target_);
    }

    void execute(const Output& output, const Input& input, std::span<std::byte> workspace, void*) const override {
        if (output.count <= 0) { return; }
        const std::int64_t blocks = divide_up(output.count, outputs_);
        const std::int64_t across = divide_up(problem_.batch.length, columns_);
        const std::int64_t all = problem_.outer_length() * across;
        const std::int64_t together = std::clamp<std::int64_t>(all * blocks / (4 * threads_), 1, std::min(blocks, kMostBlocks));
        const std::int64_t tasks = divide_up(blocks, together);
        const auto task = [&](std::int64_t index, int slot) {
            const core::OuterElement element = element_of(problem_, reordered_, output, input, index / tasks / across);
            Block block{.output = element.output, .input = element.input};
            block.column = index / tasks % across * columns_;
            block.columns = std::min(columns_, problem_.batch.length - block.column);
            T* const scratch = reinterpret_cast<T*>(workspace.data()) + slot * slot_elements();
            block.samples = scratch + table_elements();
            block.sums = block.samples + window_elements();
            block.rows = block.sums + sums_elements();
            block.taps = scratch;
            fill_table(block, element.taps, scratch);
            const std::int64_t first = output.first + index % tasks * together * outputs_;
            const std::int64_t end = std::min(first + together * outputs_, output.first + output.count);
            for (std::int64_t o = first; o < end; o += outputs_) { run(block, o, std::min(outputs_, end - o)); }
        };
        core::parallel_for(all * tasks, threads_, std::cref(task),
                           seconds_of(problem_, static_cast<double>(problem_.batch.length * problem_.outer_length()) *
                                                    static_cast<double>(output.count)));
    }

private:
    struct Block {
        Output output;
        Input input;
        std::int64_t column = 0, columns = 0;
        std::int64_t pitch = 0, period = 0;
        const T* taps = nullptr;
        T *samples = nullptr, *sums = nullptr;
        T* rows = nullptr;  ///< widened ones, before they are columns
    };

    // From output to output of a block: with filters of their own whole vectors of columns, or so few that several outputs fill
    // them.
    [[nodiscard]] std::int64_t pitch_of(std::int64_t columns) const {
        return own_ && columns > kColumnsLanes ? round_up(columns, kColumnsLanes) : columns;
    }
    [[nodiscard]] std::int64_t widest_pitch() const { return pitch_of(columns_); }
    // A table of taps repeats after so many elements, at most.
    [[nodiscard]] std::int64_t longest_period() const {
        return own_ ? std::max(round_up(columns_, kColumnsLanes), kColumnsLanes * kColumnsLanes) : 0;
    }
    [[nodiscard]] std::int64_t table_elements() const { return problem_.x.k * longest_period(); }
    [[nodiscard]] std::int64_t window_elements() const {
        return round_up((outputs_ + problem_.x.k - 1) * widest_pitch() + longest_period() + kDirectPadding, kColumnsLanes);
    }
    [[nodiscard]] std::int64_t sums_elements() const {
        return round_up(outputs_ * widest_pitch() + longest_period() + kDirectPadding, kColumnsLanes);
    }
    [[nodiscard]] std::int64_t rows_elements() const {
        return read_turned_ && widen_ != nullptr ? round_up((outputs_ + problem_.x.k - 1) * columns_, kColumnsLanes) : 0;
    }
    [[nodiscard]] std::int64_t slot_elements() const {
        return table_elements() + window_elements() + sums_elements() + rows_elements();
    }

    void fill_table(Block& block, std::int64_t filter, T* table) const {
        block.pitch = pitch_of(block.columns);
        if (!own_) {
            block.taps = taps_.data();
            return;
        }
        block.period = std::lcm(block.pitch, kColumnsLanes);
        const std::int64_t k = problem_.x.k;
        for (std::int64_t j = 0; j < block.pitch; ++j) {
            const std::int64_t row = block.column + std::min(j, block.columns - 1);
            const T* const own = taps_.data() + (filter + row % problem_.filters * problem_.batch.taps_stride) * k;
            for (std::int64_t t = 0; t < k; ++t) { table[t * block.period + j] = own[t]; }
        }
        for (std::int64_t t = 0; t < k; ++t) {
            T* const line = table + t * block.period;
            for (std::int64_t j = block.pitch; j < block.period; ++j) { line[j] = line[j - block.pitch]; }
        }
    }

    void run(const Block& block, std::int64_t first, std::int64_t count) const {
        const std::int64_t k = problem_.x.k;
        gather(block, first - problem_.x.origin, count + k - 1);
        if (own_) {
            const std::int64_t rows = divide_up(count * block.pitch, block.period);
            sum_own_({.out = block.sums,
                      .in = block.samples,
                      .taps = block.taps,
                      .rows = rows,
                      .period = block.period,
                      .step = block.pitch,
                      .k = k});
        } else {
            sum_({.out = block.sums,
                  .in = block.samples,
                  .taps = block.taps,
                  .count = count * block.pitch,
                  .step = block.pitch,
                  .k = k});
        }
        store(block, first, count);
    }

    // The samples at positions [first, first + count), and numbers behind them, which sums that nobody asked for read.
    void gather(const Block& block, std::int64_t first, std::int64_t count) const {
        const Piece& main = block.input.main;
        const std::int64_t from = std::clamp(main.first, first, first + count), end = std::clamp(main.last, from, first + count);
        const auto copy = [&](const Piece& piece, std::int64_t position, std::int64_t lines, T* to) {
            const std::int64_t offset = block.column * piece.batch_stride + (position - piece.first) * piece.stride;
            const auto bytes = static_cast<std::int64_t>(size_of(problem_.dtype));
            const std::byte* at = static_cast<const std::byte*>(piece.data) + offset * bytes;
            if (read_turned_) { return copy_turned(block, piece, at, lines, to); }
            if (piece.stride == block.columns && block.pitch == block.columns) { return widen(to, at, lines * block.columns); }
            for (std::int64_t i = 0; i < lines; ++i) {
                __builtin_prefetch(at + std::min(i + kAhead, lines - 1) * piece.stride * bytes);
                widen(to + i * block.pitch, at + i * piece.stride * bytes, block.columns);
            }
        };
        const auto line = [&](std::int64_t position) { return block.samples + (position - first) * block.pitch; };
        if (from < end) { copy(main, from, end - from, line(from)); }
        const auto beyond = [&](std::int64_t position) {
            const auto holds = [](const Piece& piece, std::int64_t p) { return p >= piece.first && p < piece.last; };
            std::int64_t index = position;
            if (!holds(main, index) && !holds(block.input.extra, index)) {
                index = core::boundary_index(problem_.x.boundary, position, block.input.n);
            }
            if (index >= from && index < end) { return static_cast<void>(std::copy_n(line(index), block.pitch, line(position))); }
            for (const Piece* piece : {&main, &block.input.extra}) {
                if (holds(*piece, index)) { return copy(*piece, index, 1, line(position)); }
            }
            const bool outside = index < 0 && problem_.x.boundary == Boundary::constant;
            std::fill_n(line(position), block.pitch, static_cast<T>(outside ? problem_.constant.real() : 0.0));
        };
        for (std::int64_t p = first; p < from; ++p) { beyond(p); }
        for (std::int64_t p = end; p < first + count; ++p) { beyond(p); }
        std::fill_n(line(first + count), block.period + kDirectPadding, T{});
        if (block.pitch == block.columns) { return; }
        for (std::int64_t p = first; p < first + count; ++p) { std::fill(line(p) + block.columns, line(p) + block.pitch, T{}); }
    }
    // `lines` samples of each row from `at` on, as columns.
    void copy_turned(const Block& block, const Piece& piece, const std::byte* at, std::int64_t lines, T* to) const {
        const auto bytes = static_cast<std::int64_t>(size_of(problem_.dtype));
        if (piece.stride != 1 || lines == 1) {
            for (std::int64_t i = 0; i < lines; ++i) {
                for (std::int64_t j = 0; j < block.columns; ++j) {
                    widen(to + i * block.pitch + j, at + (i * piece.stride + j * piece.batch_stride) * bytes, 1);
                }
            }
            return;
        }
        const auto join = line_kernels(target_).of<T>().join;
        if (widen_ == nullptr) {
            return join(to, block.pitch, reinterpret_cast<const T*>(at), piece.batch_stride, block.columns, lines);
        }
        const bool one_run = piece.batch_stride == lines;
        for (std::int64_t j = 0; j < (one_run ? 1 : block.columns); ++j) {
            widen(block.rows + j * lines, at + j * piece.batch_stride * bytes, one_run ? block.columns * lines : lines);
        }
        join(to, block.pitch, block.rows, lines, block.columns, lines);
    }
    void widen(T* to, const std::byte* from, std::int64_t count) const {
        if (widen_ != nullptr) { return widen_(to, from, count); }
        std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
    }

    // Sums of each column to the row of outputs that it is.
    void store_turned(const Block& block, std::int64_t first, std::int64_t count) const {
        const Output& output = block.output;
        const auto bytes = static_cast<std::int64_t>(size_of(problem_.output_dtype));
        std::byte* const to =
            static_cast<std::byte*>(output.data) + (block.column * output.batch_stride + first - output.first) * bytes;
        const auto split = line_kernels(target_).of<T>().split;
        if (lines_.trivial_epilogue && narrow_ == nullptr) {
            return split(reinterpret_cast<T*>(to), output.batch_stride, block.sums, block.pitch, block.columns, count);
        }
        T* const rows = block.samples;  // which nobody reads any more
        split(rows, count, block.sums, block.pitch, block.columns, count);
        for (std::int64_t j = 0; j < block.columns; ++j) {
            put(to + j * output.batch_stride * bytes, rows + j * count, block.sums, count);
        }
    }

    // Sums that lie side by side to outputs that do. `spare`: room for as many.
    void put(std::byte* to, T* sums, T* spare, std::int64_t count) const {
        Output packed{.data = to, .first = 0, .count = count, .batch_stride = 0, .stride = 1};
        if (narrow_ == nullptr) { return store_(lines_, packed, 0, 0, count, sums); }
        if (!lines_.trivial_epilogue) {
            packed.data = spare;
            store_(lines_, packed, 0, 0, count, sums);
            sums = spare;
        }
        narrow_(to, sums, count);
    }

    void store(const Block& block, std::int64_t first, std::int64_t count) const {
        if (turns_) { return store_turned(block, first, count); }
        const Output& output = block.output;
        const std::int64_t offset = block.column * output.batch_stride + (first - output.first) * output.stride;
        const auto bytes = static_cast<std::int64_t>(size_of(problem_.output_dtype));
        std::byte* const to = static_cast<std::byte*>(output.data) + offset * bytes;
        const bool one_run = output.stride == block.columns && block.pitch == block.columns;
        const std::int64_t length = one_run ? count * block.columns : block.columns;
        for (std::int64_t i = 0; i < (one_run ? 1 : count); ++i) {
            put(to + i * output.stride * bytes, block.sums + i * block.pitch, block.samples, length);
        }
    }

    Resolved problem_;
    bool reordered_, own_;
    bool read_turned_, turns_;  // samples, outputs of a row lie side by side, not those of neighbouring rows
    Resolved lines_;            // as if rows were lines: with the types of sums and of what is made of them
    std::vector<T> taps_;
    Target target_;
    typename DirectKernels<T>::Kernel sum_;
    void (*sum_own_)(const ColumnsCall<T>&);
    LineStore<T> store_;
    Convert widen_ = nullptr, narrow_ = nullptr;
    int threads_;
    std::int64_t columns_ = 1, outputs_ = 1;  // of a block
};

}  // namespace

bool takes_columns(const LineLayout& layout, const core::Request& request) {
    const Resolved& p = layout.problem;
    const bool finite = request.facts.finite || p.x.boundary != Boundary::zero;
    const bool plain = p.rank == 1 && !p.changes_rate() && !p.is_exact() && !is_complex(p.sum_dtype) && p.x.n != kUnknownLength;
    if (!plain || !finite || p.batch.length == 1 || p.x.k > kMostTaps) { return false; }
    const bool near = p.batch.in_stride == 1, stored_near = p.batch.out_stride == 1;
    const bool in_rows = p.x.in_stride == 1 && p.x.n > 1, stored_in_rows = p.x.out_stride == 1 && p.x.outputs > 1;
    const bool are_short = layout.filters == 1 && p.batch.length >= kFewestRows && in_rows && stored_in_rows &&
                           std::max(p.x.outputs, p.x.n) <= kMostOfShortRows;
    switch (layout.way) {
        case LineLayout::Way::tiles:
            return are_short || (near && (stored_near || (stored_in_rows && p.x.outputs <= kMostTurned)));
        case LineLayout::Way::side_by_side:
            return p.batch.length < kFewColumns && p.x.outputs <= kMostTurned;
        default:
            return are_short && !p.has_outer();
    }
}

double seconds_of_columns(const LineLayout& layout) {
    const Resolved& p = layout.problem;
    return seconds_of(p, static_cast<double>(p.batch.length * p.outer_length()) * static_cast<double>(p.x.outputs));
}

std::unique_ptr<core::Executable> prepare_columns(const LineLayout& layout, const void* taps, const core::Request& request) {
    if (layout.problem.sum_dtype == Dtype::f64) { return std::make_unique<Columns<double>>(layout, taps, request); }
    return std::make_unique<Columns<float>>(layout, taps, request);
}

}  // namespace tapline::cpu
