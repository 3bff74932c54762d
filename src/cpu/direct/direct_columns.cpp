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
#include "cpu/caches.hpp"
#include "cpu/direct/calls/direct_shape.hpp"
#include "cpu/direct/column_blocks.hpp"
#include "cpu/direct/simd_columns.hpp"
#include "cpu/lines/line_moves.hpp"
#include "cpu/lines/line_store.hpp"
#include "cpu/lines/simd_few.hpp"

namespace tapline::cpu {
namespace {

using core::Input;
using core::Output;
using core::Piece;
using core::Resolved;

// Elements of a block's outputs: they and what they read stay in the L2 cache, beside few samples that two blocks read.
constexpr std::int64_t kBlockElements = 8192;
constexpr std::int64_t kAhead = 32;      // lines that are asked for before they are read: each lies in a page of its own
constexpr std::int64_t kMostBlocks = 8;  // below each other in a task, for which the table of taps is made once
constexpr std::int64_t kCacheLine = 64;
constexpr std::int64_t kElementsOfACall = 512;  // outputs between which some lines of the cache are asked for
constexpr std::int64_t kNearRows = 2;           // times a row's length from one to the next
// Rows that stay side by side: elements of a window in the L1 cache, columns at most, elements of a block's outputs, of which so
// many times the taps, and those that are summed before more are read. 4,096 samples of 1,024 columns of 16 bits under 9 taps
// take 3.5 ms so and 9.6 in blocks of 64 columns, of 256 columns 0.39 and 0.50 (one thread, AVX-512).
constexpr std::int64_t kFlowWindow = 6144, kMostFlowColumns = 1024, kFlowElements = 32768, kFlowTaps = 4, kFlowStep = 2048;
constexpr std::int64_t kMostAsRead = 8;     // taps, under which samples are widened as often as they are read
constexpr std::int64_t kInsideOfEnds = 16;  // outputs that are summed as samples lie, for each at the ends of rows that is not

/// T: float or double, the type of sums.
///
/// A block is some columns of some outputs: `pitch` elements from one output to the next, `columns` of each channel side by side.
template <class T>
class Columns final : public core::Executable {
public:
    Columns(const ColumnBlocks& blocks, std::int64_t filters, const void* taps, const core::Request& request)
        : problem_(blocks.problem),
          reordered_(blocks.reordered),
          parts_(blocks.parts),
          in_pairs_(blocks.in_pairs),
          own_(filters > 1),
          frame_(problem_.channels.length),
          read_turned_((problem_.batch.in_stride != 1 && !are_apart(problem_)) || frame_ > 1),
          turns_(problem_.batch.out_stride != 1 || frame_ > 1),
          flows_(!read_turned_ && !turns_ && !own_),
          step_(read_turned_ ? std::max<std::int64_t>(std::abs(problem_.x.in_stride) / frame_, 1) : 1),
          lines_(problem_of_lines(problem_, 1)),
          moves_(current_target(), problem_.dtype, lines_.dtype, lines_.dtype, lines_.dtype),
          taps_(static_cast<const T*>(taps), static_cast<const T*>(taps) + filters * problem_.x.k),
          target_(current_target()),
          sum_(direct_kernels(target_).of<T>().real),
          join_(line_kernels(target_).of<T>().join),
          sum_own_(columns_kernels(target_).of<T>().sum),
          most_held_(columns_kernels(target_).of<T>().most_held),
          put_(problem_, lines_, target_),
          threads_(request.threads) {
        const LineTable& moves = line_kernels(target_);
        if (problem_.dtype != lines_.dtype) { widen_ = moves.widening(problem_.dtype, lines_.dtype == Dtype::f64); }
        // Of short rows as many columns as of longer ones outputs.
        const std::int64_t window = std::max<std::int64_t>(problem_.x.outputs, 1) + problem_.x.k - 1;
        const std::int64_t unit = frame_ > 1 ? kColumnsLanes : kMostColumns;
        const std::int64_t wide = own_ ? 0 : kBlockElements / (window * frame_) / unit * unit;
        columns_ = std::min(problem_.batch.length, std::max(unit, wide));
        const std::int64_t wanted = std::max(divide_up(kBlockElements, columns_ * frame_), 2 * problem_.x.k);
        // Few columns: whole vectors of outputs.
        outputs_ = std::clamp<std::int64_t>(problem_.x.outputs, 1, own_ ? round_up(wanted, kColumnsLanes) : wanted);
        const ColumnsKernels<T>& kernels = columns_kernels(target_).of<T>();
        if (const auto rows = rows_of_memory(problem_, flows_ ? kernels.most_alike : 0)) {
            sum_alike_ = kernels.sum_alike;
            columns_ = rows->columns;
            outputs_ = rows->outputs;
            copies_ = rows->share_sets || widen_ != nullptr;
        } else if (flows_) {
            choose_flow();
        }
        if (flows_ && widen_ != nullptr && problem_.x.k <= std::min(kMostAsRead, taps_in_order(target_, sizeof(T)))) {
            few_ = few_kernels(target_).of<T>().along(problem_.dtype, false, 1);
        }
    }

    [[nodiscard]] std::size_t workspace_bytes() const override {
        return static_cast<std::size_t>(slot_elements() * threads_) * sizeof(T);
    }
    [[nodiscard]] std::string describe() const override {
        const std::string place = sum_alike_ == nullptr || copies_ ? "" : " as they lie";
        return "columns of " + std::to_string(columns_ * frame_) + " rows side by side" + place + ", " + to_string(target_);
    }

    void execute(const Output& to, const Input& from, std::span<std::byte> workspace, void*) const override {
        if (to.count <= 0) { return; }
        Output output = to;
        Input input = from;
        if (parts_) {
            for (std::int64_t* stride : {&output.stride, &input.main.stride, &input.extra.stride}) { *stride *= 2; }
            for (std::int64_t* stride : {&output.batch_stride, &input.main.batch_stride, &input.extra.batch_stride}) {
                *stride = in_pairs_ ? 1 : 2 * *stride;
            }
        }
        const std::int64_t blocks = divide_up(output.count, outputs_);
        const std::int64_t lead = columns_to_boundary(output);
        const std::int64_t across = divide_up(problem_.batch.length - lead, columns_);
        const std::int64_t all = problem_.outer_length() * across;
        const std::int64_t together = std::clamp<std::int64_t>(all * blocks / (4 * threads_), 1, std::min(blocks, kMostBlocks));
        const std::int64_t tasks = divide_up(blocks, together);
        const double rows = static_cast<double>(problem_.batch.length * problem_.outer_length() * frame_);
        const bool past_caches =
            put_.as_made() && (turns_ || streams_rows(columns_, widest_pitch(), output.stride, sizeof(T))) &&
            stores_past_caches(rows * static_cast<double>(problem_.x.n) * static_cast<double>(size_of(problem_.dtype)),
                               rows * static_cast<double>(output.count) * sizeof(T), threads_);
        const auto task = [&](std::int64_t index, int slot) {
            const core::OuterElement element = element_of(problem_, reordered_, output, input, index / tasks / across);
            Block block{.output = element.output, .input = element.input};
            block.past_caches = past_caches;
            const std::int64_t place = index / tasks % across;
            block.column = place == 0 ? 0 : lead + place * columns_;
            block.columns = std::min(lead + (place + 1) * columns_, problem_.batch.length) - block.column;
            T* const scratch = reinterpret_cast<T*>(workspace.data()) + slot * slot_elements();
            block.samples = scratch + table_elements();
            block.sums = block.samples + window_elements();
            block.turned = block.sums + sums_elements();
            block.rows = block.turned + turned_elements();
            fill_table(block, element.taps, scratch);
            const std::int64_t first = output.first + index % tasks * together * outputs_;
            const std::int64_t end = std::min(first + together * outputs_, output.first + output.count);
            for (std::int64_t o = first; o < end; o += outputs_) { run(block, o, std::min(outputs_, end - o)); }
        };
        core::parallel_for(all * tasks, threads_, std::cref(task),
                           seconds_in_columns(problem_, rows * static_cast<double>(output.count)));
    }

private:
    // Columns before a line of the cache begins, if all rows of outputs lie alike: where blocks begin with one, a block's part of a
    // row lies in no line more than it fills. Memory that came from malloc lies 16 bytes behind such a place.
    [[nodiscard]] std::int64_t columns_to_boundary(const Output& output) const {
        const auto bytes = static_cast<std::int64_t>(size_of(problem_.output_dtype));
        const std::int64_t unit = kCacheLine / bytes;
        const bool alike = !turns_ && frame_ == 1 && output.batch_stride == 1 && output.stride % unit == 0;
        return alike && unit <= kColumnsLanes && columns_ < problem_.batch.length ? elements_to_line(output.data, bytes) : 0;
    }
    // Of a block: those before the first boundary are in the first one.
    [[nodiscard]] std::int64_t most_columns() const {
        return columns_ < problem_.batch.length ? columns_ + kColumnsLanes : columns_;
    }

    // Where nothing is turned memory is read and written in its own order, by as many columns as leave a window in the L1 cache.
    void choose_flow() {
        const auto fitting = [&](std::int64_t window) {
            return std::clamp(window / problem_.x.k / kMostColumns * kMostColumns, kMostColumns, kMostFlowColumns);
        };
        // Of rows that have to be divided, too, doubles fill the cache sooner.
        const std::int64_t all = fitting(kFlowWindow),
                           of_bytes = fitting(kFlowWindow * static_cast<std::int64_t>(sizeof(float)) / sizeof(T));
        const std::int64_t most = problem_.batch.length <= all ? all : of_bytes;
        const std::int64_t blocks = divide_up(problem_.batch.length, most);
        columns_ = std::min(problem_.batch.length, round_up(divide_up(problem_.batch.length, blocks), kColumnsLanes));
        outputs_ = std::clamp<std::int64_t>(problem_.x.outputs, 1, std::max(kFlowElements / columns_, kFlowTaps * problem_.x.k));
    }

    struct Block {
        Output output;
        Input input;
        std::int64_t column = 0, columns = 0;
        std::int64_t pitch = 0, period = 0;
        bool past_caches = false;  ///< outputs are stored there
        const T* taps = nullptr;
        T *samples = nullptr, *sums = nullptr;
        T* turned = nullptr;  ///< columns, before samples that nobody asked for are left out
        T* rows = nullptr;    ///< widened ones, before they are columns
    };

    // From one channel of an output to the next: with filters of their own, and of many columns, whole vectors, or so few that
    // several outputs fill them.
    [[nodiscard]] std::int64_t step_of(std::int64_t columns) const {
        if (copies_) { return round_up(columns, kColumnsLanes) + kColumnsLanes; }
        if (flows_ && columns == problem_.batch.length && problem_.x.out_stride == columns) { return columns; }  // a run of outputs
        const std::int64_t most = own_ ? (read_turned_ ? 0 : kColumnsLanes) : flows_ ? kMostColumns : INT64_MAX;
        return columns > most ? round_up(columns, kColumnsLanes) : columns;
    }
    [[nodiscard]] std::int64_t pitch_of(std::int64_t columns) const { return step_of(columns) * frame_; }  // of outputs
    [[nodiscard]] std::int64_t widest_pitch() const { return pitch_of(most_columns()); }
    [[nodiscard]] std::int64_t longest_period() const {  // of a table of taps
        return own_ ? std::max(round_up(most_columns(), kColumnsLanes) * frame_, kColumnsLanes * kColumnsLanes) : 0;
    }
    [[nodiscard]] std::int64_t table_elements() const { return problem_.x.k * longest_period(); }
    [[nodiscard]] std::int64_t window_elements() const {
        const std::int64_t lead = flows_ ? kColumnsLanes : 0;
        return round_up((outputs_ + problem_.x.k - 1) * widest_pitch() + longest_period() + lead + kDirectPadding, kColumnsLanes);
    }
    [[nodiscard]] std::int64_t sums_elements() const {
        return round_up(outputs_ * widest_pitch() + longest_period() + kDirectPadding, kColumnsLanes);
    }
    [[nodiscard]] std::int64_t turned_elements() const {
        const bool apart = read_turned_ && (step_ > 1 || problem_.x.in_stride < 0);
        return apart ? round_up((outputs_ + problem_.x.k - 1) * step_ * widest_pitch(), kColumnsLanes) : 0;
    }
    [[nodiscard]] std::int64_t rows_elements() const {
        const std::int64_t elements = (outputs_ + problem_.x.k - 1) * step_ * most_columns() * frame_;
        return read_turned_ && widen_ != nullptr ? round_up(elements, kColumnsLanes) : 0;
    }
    [[nodiscard]] std::int64_t slot_elements() const {
        return table_elements() + window_elements() + sums_elements() + turned_elements() + rows_elements();
    }

    void fill_table(Block& block, std::int64_t filter, T* table) const {
        block.pitch = pitch_of(block.columns);
        if (!own_) {
            block.taps = taps_.data();
            return;
        }
        block.period = std::lcm(block.pitch, kColumnsLanes);
        const std::int64_t k = problem_.x.k, step = block.pitch / frame_;
        const core::Batch& channels = problem_.channels;
        const std::int64_t each = channels.taps_stride == 0 ? 0 : k * channels.taps_stride;
        for (std::int64_t c = 0; c < frame_; ++c) {
            // Parts of complex samples have one filter.
            const T* const own = taps_.data() + filter * k + (parts_ ? c / 2 : c) * each;
            const bool in_order = problem_.batch.taps_stride == 1 && problem_.filters == problem_.batch.length;
            if (in_order) { join_(table + c * step, block.period, own + block.column * k, k, block.columns, k); }
            for (std::int64_t j = in_order ? block.columns : 0; j < step; ++j) {
                const std::int64_t row = block.column + std::min(j, block.columns - 1);
                const T* const from = own + row % problem_.filters * problem_.batch.taps_stride * k;
                T* const to = table + c * step + j;
                for (std::int64_t t = 0; t < k; ++t) { to[t * block.period] = from[t]; }
            }
        }
        for (std::int64_t t = 0; t < k; ++t) {
            T* const line = table + t * block.period;
            for (std::int64_t j = block.pitch; j < block.period; j += block.pitch) {
                for (std::int64_t i = 0; i < block.pitch; ++i) { line[j + i] = line[i]; }
            }
        }
        block.taps = table;
    }

    // Outputs whose windows lie in memory by themselves, if they are most of a block: they need not be gathered.
    void run(const Block& block, std::int64_t first, std::int64_t count) const {
        const Piece& main = block.input.main;
        const std::int64_t end = first + count, last = main.last + problem_.x.origin - problem_.x.k + 1;
        const std::int64_t from = std::clamp(main.first + problem_.x.origin, first, end), to = std::clamp(last, from, end);
        const std::int64_t unit = own_ ? block.period / block.pitch : 1;
        const std::int64_t inside = (to - from) / unit * unit, ends = count - inside;
        const bool own_as_read = own_ && is_read_where_it_lies() && problem_.x.k <= most_held_;
        const bool alike = sum_alike_ != nullptr && !copies_;
        const bool worth = inside >= (alike ? 1 : kInsideOfEnds) * ends && inside * block.pitch >= kElementsOfACall;
        if ((!own_as_read && few_ == nullptr && !alike) || ends == 0 || !worth) { return run_some(block, first, count); }
        if (from > first) { run_some(block, first, from - first); }
        run_some(block, from, inside);
        if (from + inside < end) { run_some(block, from + inside, end - from - inside); }
    }
    void run_some(const Block& block, std::int64_t first, std::int64_t count) const {
        const std::int64_t k = problem_.x.k;
        if (flows_) { return flow(block, first, count); }
        if (own_ && sum_in_place(block, first, count)) { return; }
        gather(block, first - problem_.x.origin, count + k - 1);
        if (own_) {
            const std::int64_t rows = divide_up(count * block.pitch, block.period);
            sum_own_({.out = block.sums,
                      .in = block.samples,
                      .taps = block.taps,
                      .rows = rows,
                      .period = block.period,
                      .columns = block.period,
                      .step = block.pitch,
                      .k = k,
                      .pitch = block.period,
                      .out_pitch = block.period});
        } else {
            const std::int64_t some = std::max<std::int64_t>(kElementsOfACall / block.pitch, 1);
            const std::int64_t bytes = bytes_ahead(block) / divide_up(count, some);
            for (std::int64_t o = 0; o < count; o += some) {
                prefetch_next(block, o / some * bytes, bytes);
                sum_({.out = block.sums + o * block.pitch,
                      .in = block.samples + o * block.pitch,
                      .taps = block.taps,
                      .count = std::min(some, count - o) * block.pitch,
                      .step = block.pitch,
                      .k = k});
            }
        }
        store(block, first, count);
    }
    // Rows side by side whose samples are of the sums' type are summed where they lie, and to where their outputs lie if these are
    // such ones too. False: others, and those with gaps between them of which each sample would be read often.
    [[nodiscard]] bool is_read_where_it_lies() const {
        return problem_.batch.in_stride == 1 && !read_turned_ && !turns_ && widen_ == nullptr;
    }
    [[nodiscard]] bool sum_in_place(const Block& block, std::int64_t first, std::int64_t count) const {
        const Piece& main = block.input.main;
        const std::int64_t begin = first - problem_.x.origin, pitch = block.pitch;
        const bool flat = main.stride == pitch && pitch == block.columns;
        // Columns of the next block may be summed, too, for nobody.
        const bool full = pitch == block.columns, there = full || block.column + pitch <= problem_.batch.length;
        // Or some of this one twice.
        const bool some_twice = !full && problem_.x.k <= most_held_ && block.columns >= kColumnsLanes && block.period == pitch;
        const bool as_read = is_read_where_it_lies() && (there || some_twice);
        const bool inside = begin >= main.first && begin + count + problem_.x.k - 1 <= main.last;
        if (!as_read || !inside || count * pitch % block.period != 0) { return false; }
        const T* const in = static_cast<const T*>(main.data) + block.column + (begin - main.first) * main.stride;
        if (problem_.x.k > most_held_) {
            // Vectors that lie in two lines of the cache each take twice as long, so many times.
            const bool in_two = block.period == pitch && reinterpret_cast<std::uintptr_t>(in) % kCacheLine != 0;
            if (!flat || in_two) { return false; }
        } else if (!flat && block.period != pitch) {
            return false;
        }
        const bool as_made =
            (full || some_twice) && put_.as_made() && !block.past_caches && (block.output.stride == pitch || block.period == pitch);
        T* const out = static_cast<T*>(block.output.data) + block.column + (first - block.output.first) * block.output.stride;
        sum_own_({.out = as_made ? out : block.sums,
                  .in = in,
                  .taps = block.taps,
                  .rows = count * pitch / block.period,
                  .period = block.period,
                  .columns = some_twice ? block.columns : block.period,
                  .step = main.stride,
                  .k = problem_.x.k,
                  .pitch = flat ? block.period : main.stride,
                  .out_pitch = as_made && block.output.stride != pitch ? block.output.stride : block.period});
        if (!as_made) { store(block, first, count); }
        return true;
    }
    // Some outputs after the other, each of which reads samples that have just been widened.
    void flow(const Block& of, std::int64_t first, std::int64_t count) const {
        if (flow_as_read(of, first, count)) { return; }
        Block block = of;
        const std::int64_t k = problem_.x.k, begin = first - problem_.x.origin;
        const Piece& main = block.input.main;
        if (sums_alike(block, count) && !copies_ && begin >= main.first && begin + count + k - 1 <= main.last) {
            const T* const in = static_cast<const T*>(main.data) + block.column + (begin - main.first) * main.stride;
            return sum_alike(block, first, count, in, main.stride);
        }
        const std::int64_t some = std::max(kFlowStep / block.columns, sum_alike_ != nullptr ? 2 * kFewestAlike : 1);
        // Without gaps, sums are outputs where they are made.
        const Output& output = block.output;
        const bool run = block.pitch == block.columns && output.stride == block.pitch && put_.as_made() && !block.past_caches;
        T* const out = static_cast<T*>(output.data) + block.column + (first - output.first) * output.stride;
        // Samples lie in lines of the cache as they do: vectors are stored in whole ones, and so they are loaded from such.
        if (run) { block.samples += reinterpret_cast<std::uintptr_t>(out) % kCacheLine / sizeof(T); }
        std::int64_t packed = 0;
        for (std::int64_t o = 0; o < count; o += some) {
            const std::int64_t now = std::min(some, count - o), needed = o + now + k - 1;
            Block more = block;
            more.samples += packed * block.pitch;
            gather(more, begin + packed, needed - packed);
            packed = needed;
            if (sums_alike(block, now)) {
                sum_alike(block, first + o, now, block.samples + o * block.pitch, block.pitch);
                continue;
            }
            const bool in_place = run && now * block.pitch >= kDirectBlock;
            sum_({.out = in_place ? out + o * block.pitch : block.sums,
                  .in = block.samples + o * block.pitch,
                  .taps = block.taps,
                  .count = now * block.pitch,
                  .step = block.pitch,
                  .k = k});
            if (!in_place) { store(block, first + o, now); }
        }
    }
    [[nodiscard]] bool sums_alike(const Block& block, std::int64_t count) const {
        return sum_alike_ != nullptr && count >= kFewestAlike && block.columns >= kColumnsLanes && block.output.batch_stride == 1;
    }
    // `count` outputs from samples that lie `pitch` elements apart, to where they belong.
    void sum_alike(const Block& block, std::int64_t first, std::int64_t count, const T* in, std::int64_t pitch) const {
        const std::int64_t place = block.column + (first - block.output.first) * block.output.stride, most = 2 * kFewestAlike;
        if (!put_.as_made() && count >= most + kFewestAlike) {  // sums stay in the caches until they are outputs
            sum_alike(block, first, most, in, pitch);
            return sum_alike(block, first + most, count - most, in + most * pitch, pitch);
        }
        sum_alike_({.out = put_.as_made() ? static_cast<T*>(block.output.data) + place : block.sums,
                    .in = in,
                    .taps = block.taps,
                    .rows = count,
                    .columns = block.columns,
                    .k = problem_.x.k,
                    .pitch = pitch,
                    .out_pitch = put_.as_made() ? block.output.stride : block.pitch});
        if (!put_.as_made()) { store(block, first, count); }
    }
    [[nodiscard]] bool flow_as_read(const Block& block, std::int64_t first, std::int64_t count) const {
        const Piece& main = block.input.main;
        const Output& output = block.output;
        const std::int64_t begin = first - problem_.x.origin, k = problem_.x.k, columns = block.columns;
        const bool inside = begin >= main.first && begin + count + k - 1 <= main.last, dense = main.stride == columns;
        if (few_ == nullptr || !inside || main.batch_stride != 1 || (!dense && columns < kColumnsLanes)) { return false; }
        const std::int64_t sample = block.column + (begin - main.first) * main.stride;
        const std::byte* const in =
            static_cast<const std::byte*>(main.data) + sample * static_cast<std::int64_t>(size_of(problem_.dtype));
        const auto sum = [&](T* out, std::int64_t out_line, std::int64_t o, std::int64_t some) {
            const bool run = dense && out_line == columns;
            few_({.out = out,
                  .in = in + o * main.stride * static_cast<std::int64_t>(size_of(problem_.dtype)),
                  .taps = block.taps,
                  .k = k,
                  .count = run ? some * columns : columns,
                  .lines = run ? 1 : some,
                  .line = main.stride,
                  .out_line = out_line,
                  .tap_step = main.stride,
                  .stream = block.past_caches && run && out != block.sums});
        };
        if (put_.as_made() && (!block.past_caches || (dense && output.stride == columns))) {
            sum(static_cast<T*>(output.data) + block.column + (first - output.first) * output.stride, output.stride, 0, count);
            return true;
        }
        const std::int64_t most = std::max<std::int64_t>(kFlowStep / columns, 1);
        for (std::int64_t o = 0; o < count; o += most) {
            const std::int64_t some = std::min(most, count - o);
            sum(block.sums, block.pitch, o, some);
            store(block, first + o, some);
        }
        return true;
    }
    // Of the next block's rows, which no hardware prefetcher foresees where many are read at once: those that follow each other.
    [[nodiscard]] std::int64_t bytes_ahead(const Block& block) const {
        const std::int64_t step = std::abs(block.input.main.batch_stride);
        if (!read_turned_ || step > kNearRows * step_ * frame_ * problem_.x.n) { return 0; }
        return block.columns * step * static_cast<std::int64_t>(size_of(problem_.dtype));
    }
    void prefetch_next(const Block& block, std::int64_t first, std::int64_t count) const {
        const Piece& main = block.input.main;
        const auto bytes = static_cast<std::int64_t>(size_of(problem_.dtype));
        const std::byte* const next =
            static_cast<const std::byte*>(main.data) + (block.column + block.columns) * main.batch_stride * bytes;
        for (std::int64_t b = first; b < first + count; b += kCacheLine) {
            __builtin_prefetch(next + (main.batch_stride < 0 ? -b : b), 0, 2);
        }
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
            copy_lines(block, piece, at, lines, to);
        };
        const auto line = [&](std::int64_t position) { return block.samples + (position - first) * block.pitch; };
        const bool padded = block.pitch != block.columns * frame_;
        if (padded && read_turned_) { std::fill_n(block.samples, count * block.pitch, T{}); }
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
        if (!padded || read_turned_) { return; }
        for (std::int64_t p = first; p < first + count; ++p) { std::fill(line(p) + block.columns, line(p) + block.pitch, T{}); }
    }
    // `lines` samples of each row from `at` on, whose neighbours are those of the next rows.
    void copy_lines(const Block& block, const Piece& piece, const std::byte* at, std::int64_t lines, T* to) const {
        constexpr std::int64_t kLines = 8;
        const auto bytes = static_cast<std::int64_t>(size_of(problem_.dtype));
        const auto gather = [&](std::int64_t first, std::int64_t some, std::int64_t count) {
            moves_.gather(reinterpret_cast<std::byte*>(to + first * block.pitch), block.pitch, at + first * piece.stride * bytes,
                          {piece.stride, piece.batch_stride}, some, count);
        };
        const bool without_gaps = piece.stride == block.columns * piece.batch_stride && block.pitch == block.columns;
        if (without_gaps) { return gather(0, 1, lines * block.columns); }
        const std::int64_t across = (block.columns - 1) * piece.batch_stride * bytes;
        for (std::int64_t i = 0; i < lines; i += kLines) {
            const std::int64_t some = std::min(kLines, lines - i);
            for (std::int64_t j = i; j < i + some; ++j) {
                const std::byte* const ahead = at + (j + kAhead) * piece.stride * bytes + std::min<std::int64_t>(across, 0);
                for (std::int64_t b = 0; b <= std::abs(across); b += kCacheLine) { __builtin_prefetch(ahead + b, 0, 2); }
            }
            gather(i, some, block.columns);
        }
    }
    // `lines` samples of each row from `at` on, as columns.
    void copy_turned(const Block& block, const Piece& piece, const std::byte* at, std::int64_t lines, T* to) const {
        if (piece.stride == frame_ || lines == 1) { return turn(block, piece, at, lines * frame_, to); }
        // All from the lowest address on, of which every step-th is wanted, from one end or the other.
        const std::int64_t step = std::abs(piece.stride) / frame_, last = (lines - 1) * step;
        const bool down = piece.stride < 0;
        const std::byte* const lowest =
            down ? at + (lines - 1) * piece.stride * static_cast<std::int64_t>(size_of(problem_.dtype)) : at;
        turn(block, piece, lowest, (last + 1) * frame_, block.turned);
        for (std::int64_t i = 0; i < lines; ++i) {
            std::copy_n(block.turned + (down ? last - i * step : i * step) * block.pitch, block.pitch, to + i * block.pitch);
        }
    }
    // `count` elements of each row, one after the other, as columns.
    void turn(const Block& block, const Piece& piece, const std::byte* at, std::int64_t count, T* to) const {
        const auto bytes = static_cast<std::int64_t>(size_of(problem_.dtype));
        const std::int64_t step = block.pitch / frame_;
        if (widen_ == nullptr) { return join_(to, step, reinterpret_cast<const T*>(at), piece.batch_stride, block.columns, count); }
        const bool one_run = piece.batch_stride == count;
        for (std::int64_t j = 0; j < (one_run ? 1 : block.columns); ++j) {
            widen(block.rows + j * count, at + j * piece.batch_stride * bytes, one_run ? block.columns * count : count);
        }
        join_(to, step, block.rows, count, block.columns, count);
    }
    void widen(T* to, const std::byte* from, std::int64_t count) const {
        if (widen_ != nullptr) { return widen_(to, from, count); }
        std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
    }

    void store_turned(const Block& block, std::int64_t first, std::int64_t count) const {
        const Output& output = block.output;
        const auto bytes = static_cast<std::int64_t>(size_of(problem_.output_dtype));
        const std::int64_t offset = block.column * output.batch_stride + (first - output.first) * frame_;
        std::byte* const to = static_cast<std::byte*>(output.data) + offset * bytes;
        const auto split = line_kernels(target_).of<T>().split;
        const std::int64_t elements = count * frame_, step = block.pitch / frame_;
        if (block.past_caches && output.batch_stride == elements) {
            split(block.samples, elements, block.sums, step, block.columns, elements);
            return line_kernels(target_).stream(to, 0, block.samples, 0, block.columns * elements * bytes, 1);
        }
        if (put_.as_made()) {
            return split(reinterpret_cast<T*>(to), output.batch_stride, block.sums, step, block.columns, elements);
        }
        T* const rows = block.samples;  // which nobody reads any more
        split(rows, elements, block.sums, step, block.columns, elements);
        const bool one_run = output.batch_stride == elements;
        for (std::int64_t j = 0; j < (one_run ? 1 : block.columns); ++j) {
            put_(to + j * output.batch_stride * bytes, rows + j * elements, block.sums,
                 one_run ? block.columns * elements : elements);
        }
    }

    void store(const Block& block, std::int64_t first, std::int64_t count) const {
        if (turns_) { return store_turned(block, first, count); }
        const Output& output = block.output;
        const std::int64_t offset = block.column * output.batch_stride + (first - output.first) * output.stride;
        const auto bytes = static_cast<std::int64_t>(size_of(problem_.output_dtype));
        std::byte* const to = static_cast<std::byte*>(output.data) + offset * bytes;
        const bool one_run = output.stride == block.columns && block.pitch == block.columns;
        const std::int64_t length = one_run ? count * block.columns : block.columns, runs = one_run ? 1 : count;
        if (block.past_caches) {
            const auto of_sums = static_cast<std::int64_t>(sizeof(T));
            return line_kernels(target_).stream(to, output.stride * bytes, block.sums, block.pitch * of_sums, length * bytes, runs);
        }
        for (std::int64_t i = 0; i < runs; ++i) {
            put_(to + i * output.stride * bytes, block.sums + i * block.pitch, block.samples, length);
        }
    }

    Resolved problem_;
    bool reordered_, parts_, in_pairs_, own_, copies_ = false;
    std::int64_t frame_;        // channels of a sample, which follow each other
    bool read_turned_, turns_;  // samples, outputs of a row lie side by side, not those of neighbouring rows
    bool flows_;                // neither
    std::int64_t step_;         // from a sample to the next, in frames
    Resolved lines_;            // as if rows were lines: with the types of sums and of what is made of them
    LineMoves moves_;
    std::vector<T> taps_;
    Target target_;
    typename DirectKernels<T>::Kernel sum_;
    decltype(LineKernels<T>::join) join_;
    void (*sum_own_)(const ColumnsCall<T>&);
    std::int64_t most_held_;  // taps of which it reads each sample once
    RunStore<T> put_;
    Convert widen_ = nullptr;
    FewSums<T> few_ = nullptr;
    void (*sum_alike_)(const ColumnsCall<T>&) = nullptr;  // null: these are summed otherwise
    int threads_;
    std::int64_t columns_ = 1, outputs_ = 1;  // of a block
};

}  // namespace

std::unique_ptr<core::Executable> prepare_columns(const LineLayout& layout, const void* taps, const core::Request& request) {
    const ColumnBlocks blocks = column_blocks(layout);
    const std::vector<std::byte> pairs = blocks.in_pairs ? taps_in_pairs(blocks, layout.filters, taps) : std::vector<std::byte>();
    const std::int64_t filters = layout.filters * (blocks.in_pairs ? 2 : 1);
    if (blocks.in_pairs) { taps = pairs.data(); }
    if (blocks.problem.sum_dtype == Dtype::f64) { return std::make_unique<Columns<double>>(blocks, filters, taps, request); }
    return std::make_unique<Columns<float>>(blocks, filters, taps, request);
}

}  // namespace tapline::cpu
