#include "cpu/lines/line_tiles.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/plan/parallel.hpp"
#include "core/plan/repeated.hpp"
#include "core/problem/elements.hpp"
#include "cpu/caches.hpp"
#include "cpu/direct/calls/direct_cost.hpp"
#include "cpu/direct/calls/direct_shape.hpp"
#include "cpu/lines/few_taps.hpp"
#include "cpu/lines/line_moves.hpp"

namespace tapline::cpu {
namespace {

using core::Input;
using core::Output;
using core::Piece;
using core::Resolved;

constexpr std::int64_t kCacheLine = 64;
// Samples that lie side by side fill whole cache lines of a tile; two of them where the first is seldom the first of a line, as
// each is in a page of its own. 2,671 columns of 1,337 samples under own filters of 322 taps take 13.0 ms, 15.0 with one (one
// thread, AVX-512), 64 columns of 2^17 under 1,023 taps 9.7 ms with one and 10.9 with two (two threads), which leave the L2 cache.
constexpr std::int64_t kLinesTogether = 2;
constexpr std::int64_t kMostRows = 16;
constexpr std::int64_t kMostShortRows = 64;
// From so many rows on all tiles but the last are full; of fewer, rows are shared out evenly.
constexpr std::int64_t kRowsOfManyTiles = 64, kManyTiles = 16;
// Outputs of a line in a tile: so many that neither the call for it nor the k - 1 samples that neighbours share count, and few
// enough that all lines stay in the L2 cache. An algorithm that works in blocks takes whole ones.
constexpr std::int64_t kOutputs = 1024;
// More of few rows, and where outputs stay where they are made: 807 columns of 11,573 bytes under 10 taps take 0.75 times as long.
constexpr std::int64_t kOutputsOfFewRows = 4096;
// But of so many bytes: 134 columns of 15,596 numbers of 16 bits under 2 taps take 0.9 times as long in tiles of 64 x 2,048.
constexpr std::int64_t kWideBytes = std::int64_t{512} << 10;
// Of very long filters, whose windows are longer still, fewer rows at a time. 16,385 taps down 64 columns (2^22 samples): tiles of
// 8 columns, in 4 MiB, take 26 to 33 ms, of 16 in 12 MiB 22 to 24 (one thread, AVX2); 32,767 taps 24.4 ms and, in 13 MiB, 18.2,
// 2^17 taps down 16 columns of 2^18 samples 14.3 and, in 32 MiB, 11.9 (two threads, AVX-512).
constexpr std::int64_t kTileBytes = std::int64_t{24} << 20;
constexpr std::int64_t kAllTilesBytes = std::int64_t{48} << 20;
// Shorter lines are not stored past the caches: after each of them memory is waited for. 31,884 columns of 184 under 2 taps take 57
// ms so, and 8 by plain stores.
constexpr std::int64_t kFewestPastCaches = 2048;
// An element of the outer axes that takes longer is divided among all threads; of shorter ones, if there are many, each thread
// takes some. One of 8 columns of 13,129 under 7 taps takes 22 us, divided 14 (two threads).
constexpr double kElementSeconds = 25e-6;
// 3 interleaved channels of 3,000 under 700 taps take 20 us together and 22 apart, 2 of 26,216 under filters of their own 88
// and 64.
constexpr std::int64_t kMostChannels = 4;
constexpr double kChannelsSeconds = 60e-6;
// Transforms count as many taps' worth.
constexpr double kMostTapsThatCount = 100;

// Elements from line to line: an odd number of cache lines, so that the lines of a tile do not share sets of a cache.
std::int64_t pitch_of(std::int64_t elements, std::int64_t bytes) {
    const std::int64_t lines = round_up(elements * bytes, kCacheLine) / kCacheLine;
    return (lines | 1) * kCacheLine / bytes;
}

// About what so many outputs of so many rows take one thread.
double seconds_of(const Resolved& p, std::int64_t rows, std::int64_t outputs) {
    const double products = std::min(static_cast<double>(p.x.k), kMostTapsThatCount) + kProductsOfAnOutput;
    return products * static_cast<double>(rows) * static_cast<double>(outputs) *
           direct_product_seconds(current_target(), size_of(real_part_of(p.sum_dtype)));
}

class Tiles final : public core::Executable {
public:
    Tiles(const LineLayout& layout, const core::Request& request, std::int64_t together, bool all_filters,
          const PrepareLines& prepare)
        : problem_(layout.problem),
          reordered_(layout.reordered),
          gathers_(layout.gathers),
          scatters_(layout.scatters && problem_.x.out_stride != 1),
          narrows_(layout.scatters && !scatters_),
          together_(problem_.batch.length > 1 ? together : 1),
          filters_(layout.filters),
          lines_(problem_of_lines(problem_, together_)),
          moves_(current_target(), problem_.dtype, lines_.dtype, lines_.output_dtype, problem_.output_dtype),
          in_bytes_(static_cast<std::int64_t>(size_of(lines_.dtype))),
          line_bytes_(static_cast<std::int64_t>(size_of(lines_.output_dtype))),
          out_bytes_(static_cast<std::int64_t>(size_of(problem_.output_dtype))) {
        choose_rows(request.threads);
        // Few tiles, of very long filters: all threads inside each of them.
        const bool few = tiles_about() < request.threads && !(all_filters && filters_ > 1);
        core::Request each = request;
        each.threads = few ? request.threads : 1;
        prepare_filters(each, all_filters, few ? 1 : request.threads, prepare);
        choose_outputs();
        if (!few && tiles_of(outputs_) < request.threads) {
            share_rows(request.threads);
            choose_outputs();
        }
        extends_ = lines_of_ != nullptr && lines_of_->takes_extended_lines();
        if (gathers_ && !scatters_ && lines_of_ != nullptr && lines_of_->taps_in_order(0) != nullptr) {
            few_ = FewTaps(layout, lines_, rows_, current_target());
        }
        window_ = outputs_ + problem_.x.k - 1 + lookahead();
        in_pitch_ = gathers_ ? pitch_of(window_, in_bytes_) : 0;
        out_pitch_ = pitch_of(outputs_, line_bytes_);
        slots_ = static_cast<int>(std::clamp<std::int64_t>(kAllTilesBytes / slot_bytes(), 1, few ? 1 : request.threads));
    }

    [[nodiscard]] std::size_t workspace_bytes() const override { return static_cast<std::size_t>(slot_bytes() * slots_); }
    [[nodiscard]] std::int64_t granularity() const override { return inner_.front()->granularity(); }
    [[nodiscard]] std::int64_t lookahead() const override { return inner_.front()->lookahead(); }
    [[nodiscard]] std::string describe() const override {
        return "tiles of " + std::to_string(rows_) + (rows_ == 1 ? " line" : " lines") + (few_.any() ? " as they lie: " : ": ") +
               inner_.front()->describe();
    }

    void execute(const Output& output, const Input& input, std::span<std::byte> workspace, void*) const override {
        if (output.count <= 0) { return; }
        const std::int64_t outer = problem_.outer_length();
        const std::int64_t lead = rows_to_boundary(output, input);
        const std::int64_t of_rows = 1 + (problem_.batch.length - lead + rows_ - 1) / rows_;
        const std::int64_t of_outputs = (output.count + outputs_ - 1) / outputs_;
        const double all_rows = static_cast<double>(problem_.batch.length * outer);
        const bool past_caches =
            !narrows_ && (scatters_ || std::min(outputs_, output.count) >= kFewestPastCaches) &&
            stores_past_caches(all_rows * static_cast<double>(output.count * static_cast<std::int64_t>(size_of(problem_.dtype))),
                               all_rows * static_cast<double>(output.count * out_bytes_), slots_);
        // Rows that share lines of memory follow each other; of others what lies side by side does.
        const bool rows_first = has_neighbours();
        const auto task = [&](std::int64_t index, int slot) {
            const core::OuterElement element = element_of(problem_, reordered_, output, input, index / (of_rows * of_outputs));
            const std::int64_t tile = rows_first ? index % of_rows : index / of_outputs % of_rows;
            const std::int64_t row = tile == 0 ? 0 : lead + (tile - 1) * rows_;
            const std::int64_t rows = tile == 0 ? lead : rows_;
            const std::int64_t first = (rows_first ? index / of_rows : index) % of_outputs * outputs_;
            run({.output = element.output,
                 .input = element.input,
                 .taps = element.taps,
                 .row = row,
                 .rows = std::min(rows, problem_.batch.length - row),
                 .first = output.first + first,
                 .count = std::min(outputs_, output.count - first),
                 .past_caches = past_caches},
                workspace.data() + slot * slot_bytes());
        };
        core::parallel_for(outer * of_rows * of_outputs, slots_, std::cref(task),
                           seconds_of(problem_, problem_.batch.length * outer, output.count));
    }

private:
    struct Tile {
        Output output;
        Input input;
        std::int64_t taps, row, rows, first, count;
        bool past_caches;
    };

    // Rows of the first tile: so many that the others begin where a line of the cache does. Memory that came from malloc lies 16
    // bytes behind such a place, and a tile's part of each row would lie in two of them. Rows that are computed together stay
    // together, so bits do not depend on it.
    [[nodiscard]] std::int64_t rows_to_boundary(const Output& output, const Input& input) const {
        const bool in_place = !gathers_ || problem_.x.in_stride == 1;
        const std::int64_t bytes = in_place ? out_bytes_ : static_cast<std::int64_t>(size_of(problem_.dtype));
        const std::int64_t stride = in_place ? problem_.batch.out_stride : problem_.batch.in_stride;
        const void* const address = in_place ? output.data : input.main.data;
        const std::int64_t lead = elements_to_line(address, bytes);
        const bool whole_lines = stride == 1 && rows_ * bytes % kCacheLine == 0 && lead % together_ == 0;
        return whole_lines && lead > 0 && lead < rows_ ? lead : std::min(rows_, problem_.batch.length);
    }

    void prepare_filters(const core::Request& each, bool all_filters, int threads, const PrepareLines& prepare) {
        if (all_filters && (each.threads == 1 || filters_ > 1)) {
            Resolved all = lines_;
            all.filters = all.batch.length = filters_;
            inner_.push_back(prepare(all, each, 0));
            lines_of_ = dynamic_cast<const LinesExecutable*>(inner_.front().get());
        } else {
            inner_.resize(static_cast<std::size_t>(filters_));
            core::parallel_for(filters_, threads, [&](std::int64_t filter, int /*slot*/) {
                inner_[static_cast<std::size_t>(filter)] = prepare(lines_, each, filter);
            });
        }
        for (const auto& one : inner_) {
            inner_bytes_ = std::max(inner_bytes_, round_up(static_cast<std::int64_t>(one->workspace_bytes()), kCacheLine));
        }
    }

    void choose_rows(int threads) {
        if (!gathers_ && !scatters_ && !narrows_) {
            rows_ = together_;
            return;
        }
        const std::int64_t length = problem_.batch.length;
        const std::int64_t window = std::max(kOutputsOfFewRows, 4 * problem_.x.k);
        std::int64_t most = has_neighbours() ? rows_of_a_line() : rows_of_their_own();
        while (most > together_ && most * window * (in_bytes_ + line_bytes_) > kTileBytes) { most /= 2; }
        if (length <= most && (has_neighbours() || length <= together_)) {
            rows_ = length;
            if (tiles_about() < threads) { share_rows(threads); }
            return;
        }
        if (length >= kRowsOfManyTiles && (has_neighbours() || length >= kManyTiles * most)) {
            rows_ = most;
            return;
        }
        std::int64_t tiles = (length + most - 1) / most;
        if (!has_neighbours()) { tiles = round_up(tiles, threads); }
        rows_ = round_up((length + tiles - 1) / tiles, together_);
    }

    // Fewer rows, so that each thread that the work is worth has a tile, though tiles share lines of memory.
    void share_rows(int most_threads) {
        const std::int64_t length = problem_.batch.length;
        const double seconds = seconds_of(problem_, length * problem_.outer_length(), problem_.x.outputs);
        const int threads = core::worthwhile_threads(seconds, most_threads);
        // Channels without gaps between them are told apart in registers, all together.
        const bool channels = length <= kMostChannels && std::abs(problem_.x.in_stride) == length;
        if (length < threads || (channels && seconds < kChannelsSeconds)) { return; }
        rows_ = std::min(rows_, round_up(divide_up(length, threads), together_));
    }

    // Whether a line of memory has samples of several rows, or gets outputs of them.
    [[nodiscard]] bool has_neighbours() const {
        const std::int64_t row = std::abs(problem_.batch.in_stride);
        return scatters_ || (gathers_ && row != 0 && row < std::abs(problem_.x.in_stride));
    }

    // Neighbours that fill lines of the cache where they lie apart.
    [[nodiscard]] std::int64_t rows_of_a_line() const {
        const bool stored_apart = gathers_ && problem_.x.in_stride != 1;
        const std::int64_t bytes = stored_apart ? static_cast<std::int64_t>(size_of(problem_.dtype)) : out_bytes_;
        const std::int64_t step = stored_apart ? problem_.x.in_stride : problem_.x.out_stride;
        const std::int64_t cache_lines = step * bytes % kCacheLine == 0 ? 1 : kLinesTogether;
        return std::max(cache_lines * std::min(bytes < in_bytes_ ? 2 * kMostRows : kMostRows, kCacheLine / bytes), together_);
    }

    // Short rows, so that a tile has as many samples as one of longer rows; more of those that read the same signal.
    [[nodiscard]] std::int64_t rows_of_their_own() const {
        if (problem_.x.n == kUnknownLength) { return together_; }
        const std::int64_t samples = std::max<std::int64_t>(problem_.x.outputs + problem_.x.k, 1);
        const std::int64_t least = problem_.batch.in_stride == 0 ? kMostRows / 2 : 1;
        const std::int64_t many = problem_.x.in_stride == 1 ? kOutputsOfFewRows : 4 * kOutputsOfFewRows;
        return std::max(round_up(std::clamp(many / samples, least, kMostShortRows), together_), together_);
    }

    // Before it is known how many outputs the algorithm makes together: with transforms about as many as there are taps, or more.
    [[nodiscard]] std::int64_t tiles_about() const { return tiles_of(std::max(kOutputsOfFewRows, problem_.x.k)); }
    [[nodiscard]] std::int64_t tiles_of(std::int64_t outputs) const {
        const std::int64_t of_rows = problem_.outer_length() * divide_up(problem_.batch.length, rows_);
        const std::int64_t all = problem_.x.n == kUnknownLength ? 1 : problem_.x.outputs;
        return of_rows * std::max<std::int64_t>((all + outputs / 2) / outputs, 1);
    }

    void choose_outputs() {
        const std::int64_t unit = granularity();
        const bool wide = rows_ <= 2 || (unit == 1 && !scatters_);
        const std::int64_t of_wide = std::clamp(kWideBytes / (rows_ * in_bytes_), kOutputs, kOutputsOfFewRows);
        const std::int64_t wanted = std::max(wide ? of_wide : kOutputs, unit == 1 ? problem_.x.k : 1);
        const bool known = problem_.x.n != kUnknownLength;
        const std::int64_t all = known ? std::max<std::int64_t>(problem_.x.outputs, 1) : wanted;
        // As many in each tile.
        const std::int64_t tiles = std::max<std::int64_t>((all + wanted / 2) / wanted, 1);
        outputs_ = round_up((all + tiles - 1) / tiles, unit > 1 ? unit : kCacheLine / 4);
        if (unit > 1) { outputs_ = std::min(outputs_, round_up(wanted, unit)); }
    }

    [[nodiscard]] std::int64_t in_tile_bytes() const { return rows_ * in_pitch_ * in_bytes_; }
    // Whole groups of rows that are computed together, also where the last one is not full.
    [[nodiscard]] std::int64_t out_tile_bytes() const {
        return (scatters_ ? round_up(rows_, together_) : together_) * out_pitch_ * line_bytes_;
    }
    [[nodiscard]] std::int64_t slot_bytes() const {
        return in_tile_bytes() + std::max(out_tile_bytes() + inner_bytes_, few_.scratch_bytes());
    }

    void run(const Tile& tile, std::byte* slot) const {
        const Piece& main = tile.input.main;
        const std::int64_t end = tile.first + tile.count, origin = problem_.x.origin;
        const std::int64_t from = std::clamp(main.first + origin, tile.first, end);
        const std::int64_t to = std::clamp(main.last + origin - problem_.x.k + 1, from, end);
        const bool as_planned = main.stride == problem_.x.in_stride && main.batch_stride == problem_.batch.in_stride;
        if (!as_planned || tile.output.stride != 1 || !few_.takes(tile.rows, to - from, to - from == tile.count)) {
            return run_lines(tile, tile.first, end, slot);
        }
        if (from > tile.first) { run_lines(tile, tile.first, from, slot); }
        const std::int64_t at_once = few_.together() ? tile.rows : 1;
        for (std::int64_t row = tile.row; row < tile.row + tile.rows; row += at_once) {
            const std::int64_t place = row * tile.output.batch_stride + from - tile.output.first;
            const std::int64_t sample = row * main.batch_stride + (from - origin - main.first) * main.stride;
            few_.run(
                {.to = static_cast<std::byte*>(tile.output.data) + place * out_bytes_,
                 .to_line = tile.output.batch_stride,
                 .from = static_cast<const std::byte*>(main.data) + sample * static_cast<std::int64_t>(size_of(problem_.dtype)),
                 .strides = {main.batch_stride, main.stride},
                 .taps = lines_of_->taps_in_order(tile.taps + row % problem_.filters * problem_.batch.taps_stride),
                 .lines = at_once,
                 .count = to - from,
                 .past_caches = tile.past_caches},
                slot + in_tile_bytes());
        }
        if (to < end) { run_lines(tile, to, end, slot); }
    }

    // Outputs [first, end) of a tile, by way of lines.
    void run_lines(const Tile& whole, std::int64_t first, std::int64_t end, std::byte* slot) const {
        Tile tile = whole;
        tile.first = first;
        tile.count = end - first;
        std::byte* const outputs = slot + in_tile_bytes();
        const std::span<std::byte> workspace{outputs + out_tile_bytes(), static_cast<std::size_t>(inner_bytes_)};
        const Input input = gathers_ ? gathered(tile, slot) : from_row(tile.input, tile.row);
        const std::int64_t place = tile.row * tile.output.batch_stride + (tile.first - tile.output.first) * tile.output.stride;
        std::byte* const out = static_cast<std::byte*>(tile.output.data) + place * out_bytes_;
        const Strides steps{tile.output.batch_stride, tile.output.stride};
        for (std::int64_t row = 0; row < tile.rows; row += together_) {
            Input lines = from_row(input, row);
            const bool full = row + together_ <= tile.rows;
            // Where a row is missing the last one is computed twice, and nobody asks for the second result.
            if (!full) { lines.main.batch_stride = lines.extra.batch_stride = 0; }
            const bool in_place = !scatters_ && !narrows_ && full;
            std::byte* const line = out + row * steps.line_stride * out_bytes_;
            std::byte* const scratch = outputs + (scatters_ ? row : 0) * out_pitch_ * line_bytes_;
            const std::int64_t filter = tile.taps + (tile.row + row) % problem_.filters * problem_.batch.taps_stride;
            const Output sums{.data = in_place ? line : scratch,
                              .first = tile.first,
                              .count = tile.count,
                              .batch_stride = in_place ? steps.line_stride : out_pitch_,
                              .stride = in_place ? steps.step : 1};
            if (lines_of_ != nullptr) {
                lines_of_->execute_line(filter, sums, lines, in_place && tile.past_caches, workspace);
            } else {
                inner_[static_cast<std::size_t>(filter)]->execute(sums, lines, workspace, nullptr);
            }
            if (!scatters_ && !in_place) {
                moves_.scatter(line, steps, scratch, out_pitch_, std::min(together_, tile.rows - row), tile.count, false);
            }
        }
        if (scatters_) { moves_.scatter(out, steps, outputs, out_pitch_, tile.rows, tile.count, tile.past_caches); }
    }

    // What row `row` and those after it read, in samples of the type of their sums.
    [[nodiscard]] Input from_row(const Input& input, std::int64_t row) const {
        Input from = input;
        for (Piece* piece : {&from.main, &from.extra}) {
            if (piece->data == nullptr) { continue; }
            piece->data = static_cast<const std::byte*>(piece->data) + row * piece->batch_stride * in_bytes_;
        }
        return from;
    }

    // The tile's window as packed lines. Beyond the ends of the signal the boundary's samples are copied too, but for zeros and
    // constants: which those are the algorithm has to know.
    [[nodiscard]] Input gathered(const Tile& tile, std::byte* to) const {
        const Piece& main = tile.input.main;
        const bool known = tile.input.n != kUnknownLength;
        std::int64_t first = tile.first - problem_.x.origin, last = first + window_ - (outputs_ - tile.count);
        // No output reads further, though transforms are longer.
        if (known && problem_.x.n != kUnknownLength) {
            last = std::min(last, problem_.x.outputs - problem_.x.origin + problem_.x.k - 1);
        }
        const bool plain = problem_.x.boundary == Boundary::zero || problem_.x.boundary == Boundary::constant;
        const bool fills = plain && tile.input.extra.first >= tile.input.extra.last;
        if (fills && !extends_) {
            first = std::clamp(first, main.first, main.last);
            last = std::clamp(last, first, main.last);
        }
        last = std::max(last, first);
        const std::int64_t from = std::clamp(main.first, first, last), end = std::clamp(main.last, from, last);
        const std::int64_t lines = main.batch_stride == 0 ? 1 : tile.rows;  // one signal under many filters
        copy(to, main, tile, from, end - from, from - first, lines);
        if (fills) {
            fill(to, lines, 0, from - first);
            fill(to, lines, end - first, last - first);
        } else {
            for (const auto& [begin, stop] : {std::pair{first, from}, std::pair{end, last}}) {
                for (std::int64_t p = begin; p < stop;) {
                    Run run = run_at(tile.input, p, stop);
                    if (run.index >= from && run.index < end) {
                        if (run.step != 0) {
                            run.count = std::min(run.count, run.step > 0 ? end - run.index : run.index - from + 1);
                        }
                        repeat(to, lines, run.index - first, run.step, p - first, run.count);
                    } else if (run.step != 0 && holds(main, run.index)) {
                        run.count = std::min(run.count, run.step > 0 ? main.last - run.index : run.index - main.first + 1);
                        copy(to, main, tile, run.index, run.count, p - first, lines, run.step);
                    } else {
                        copy_one(to, tile, p, p - first, lines);
                        if (run.step == 0) {
                            repeat(to, lines, p - first, 0, p + 1 - first, run.count - 1);
                        } else {
                            run.count = 1;
                        }
                    }
                    p += run.count;
                }
            }
        }
        return {.main = {.data = to, .first = first, .last = last, .batch_stride = lines == 1 ? 0 : in_pitch_, .stride = 1},
                .extra = {},
                .n = tile.input.n};
    }

    // The constant beyond the ends to places [first, last) of the lines.
    void fill(std::byte* to, std::int64_t lines, std::int64_t first, std::int64_t last) const {
        const std::complex<double> constant = problem_.x.boundary == Boundary::constant ? problem_.constant : 0.0;
        core::with_type_of<float, double, std::complex<float>, std::complex<double>>(lines_.dtype, [&]<class T>(T) {
            for (std::int64_t line = 0; line < lines; ++line) {
                T* const samples = reinterpret_cast<T*>(to) + line * in_pitch_;
                std::fill(samples + first, samples + last, core::element_of<T>(constant));
            }
        });
    }

    // `count` samples of a piece, which holds them, from `first` on, upwards or downwards, to place `at` of the lines.
    void copy(std::byte* to, const Piece& piece, const Tile& tile, std::int64_t first, std::int64_t count, std::int64_t at,
              std::int64_t lines, std::int64_t step = 1) const {
        if (count <= 0) { return; }
        const std::int64_t offset = tile.row * piece.batch_stride + (first - piece.first) * piece.stride;
        moves_.gather(to + at * in_bytes_, in_pitch_,
                      static_cast<const std::byte*>(piece.data) + offset * static_cast<std::int64_t>(size_of(problem_.dtype)),
                      {piece.batch_stride, step * piece.stride}, lines, count);
    }

    static bool holds(const Piece& piece, std::int64_t position) { return position >= piece.first && position < piece.last; }

    // The sample that a position stands for.
    [[nodiscard]] std::int64_t index_in(const Input& input, std::int64_t position) const {
        if (holds(input.main, position) || holds(input.extra, position)) { return position; }
        return core::boundary_index(problem_.x.boundary, position, input.n);
    }

    // Positions that stand for neighbouring samples: those of index, index + step, ...
    struct Run {
        std::int64_t index, count, step;
    };
    // From position p on, which neither piece holds, or else of one sample.
    [[nodiscard]] Run run_at(const Input& input, std::int64_t p, std::int64_t stop) const {
        const std::int64_t index = index_in(input, p), n = input.n;
        const bool held = holds(input.main, p) || holds(input.extra, p);
        if (held || index < 0 || n == kUnknownLength || p + 1 >= stop) { return {index, 1, 1}; }
        if (problem_.x.boundary == Boundary::nearest) { return {index, (p < 0 ? std::min<std::int64_t>(stop, 0) : stop) - p, 0}; }
        const std::int64_t step = index_in(input, p + 1) - index;
        if (step == 1) { return {index, std::min(stop - p, n - index), 1}; }
        return {index, step == -1 ? std::min(stop - p, index + 1) : 1, step == -1 ? -1 : 1};
    }

    // What is at places from, from + step, ... of the lines, at others.
    void repeat(std::byte* lines_at, std::int64_t lines, std::int64_t from, std::int64_t step, std::int64_t at,
                std::int64_t count) const {
        core::with_type_of<float, double, std::complex<float>, std::complex<double>>(lines_.dtype, [&]<class T>(T) {
            T* const samples = reinterpret_cast<T*>(lines_at);
            for (std::int64_t line = 0; line < lines; ++line) {
                const T* const source = samples + line * in_pitch_ + from;
                for (std::int64_t i = 0; i < count; ++i) { samples[line * in_pitch_ + at + i] = source[i * step]; }
            }
        });
    }

    void copy_one(std::byte* to, const Tile& tile, std::int64_t position, std::int64_t at, std::int64_t lines) const {
        const Input& input = tile.input;
        const std::int64_t index = index_in(input, position);
        for (const Piece* piece : {&input.main, &input.extra}) {
            if (holds(*piece, index)) { return copy(to, *piece, tile, index, 1, at, lines); }
        }
        // Only outputs that nobody asked for read it.
        for (std::int64_t row = 0; row < lines; ++row) {
            std::fill_n(to + (row * in_pitch_ + at) * in_bytes_, in_bytes_, std::byte{0});
        }
    }

    Resolved problem_;
    bool reordered_, gathers_, scatters_, narrows_;
    bool extends_ = false;  // lines go on beyond the signal's ends also where that is zero or a constant
    std::int64_t together_, filters_;
    Resolved lines_;  // what the algorithm solves
    LineMoves moves_;
    // Of an element in a line, of an output in a line and in the caller's memory.
    std::int64_t in_bytes_, line_bytes_, out_bytes_;
    std::vector<std::unique_ptr<core::Executable>> inner_;  // of each filter, or one of all:
    const LinesExecutable* lines_of_ = nullptr;
    FewTaps few_;
    std::int64_t inner_bytes_ = 0;               // of workspace, that the most of them ask for
    std::int64_t rows_ = 1, outputs_ = 1;        // of a tile
    std::int64_t window_ = 0;                    // samples of a tile's line
    std::int64_t in_pitch_ = 0, out_pitch_ = 0;  // elements from line to line
    int slots_ = 1;
};

class SideBySide final : public core::Executable {
public:
    // One element of the outer axes after the other by all threads, or, where that is little work, each by one.
    SideBySide(const LineLayout& layout, const core::Request& request, const PrepareLines& prepare)
        : problem_(layout.problem), reordered_(layout.reordered) {
        core::Request each = request;
        const std::int64_t rows = problem_.batch.length;
        const bool many = problem_.outer_length() >= request.threads;
        if (many && seconds_of(problem_, rows, problem_.x.outputs) < kElementSeconds) {
            each.threads = 1;
            slots_ =
                core::worthwhile_threads(seconds_of(problem_, rows * problem_.outer_length(), problem_.x.outputs), request.threads);
        }
        inner_ = prepare(problem_, each, 0);
    }

    [[nodiscard]] std::size_t workspace_bytes() const override { return slot_bytes() * static_cast<std::size_t>(slots_); }
    [[nodiscard]] std::int64_t granularity() const override { return inner_->granularity(); }
    [[nodiscard]] std::int64_t lookahead() const override { return inner_->lookahead(); }
    [[nodiscard]] std::string describe() const override { return "rows side by side: " + inner_->describe(); }

    void execute(const Output& output, const Input& input, std::span<std::byte> workspace, void*) const override {
        const auto task = [&](std::int64_t index, int slot) {
            const core::OuterElement element = element_of(problem_, reordered_, output, input, index);
            inner_->execute(element.output, element.input,
                            workspace.subspan(static_cast<std::size_t>(slot) * slot_bytes(), inner_->workspace_bytes()), nullptr);
        };
        core::parallel_for(problem_.outer_length(), slots_, std::cref(task));
    }

private:
    [[nodiscard]] std::size_t slot_bytes() const {
        return static_cast<std::size_t>(round_up(static_cast<std::int64_t>(inner_->workspace_bytes()), kCacheLine));
    }

    Resolved problem_;
    bool reordered_;
    int slots_ = 1;
    std::unique_ptr<core::Executable> inner_;
};

}  // namespace

std::unique_ptr<core::Executable> prepare_tiles(const LineLayout& layout, const core::Request& request, std::int64_t rows_together,
                                                bool all_filters, const PrepareLines& prepare) {
    return std::make_unique<Tiles>(layout, request, rows_together, all_filters, prepare);
}

std::unique_ptr<core::Executable> prepare_side_by_side(const LineLayout& layout, const core::Request& request,
                                                       const PrepareLines& prepare) {
    return std::make_unique<SideBySide>(layout, request, prepare);
}

namespace {

double rows_of(const Resolved& p) { return static_cast<double>(p.batch.length) * static_cast<double>(p.outer_length()); }
double samples_of(const Resolved& p) { return p.x.n == kUnknownLength ? 1 : static_cast<double>(p.x.n); }
double outputs_of(const Resolved& p) { return p.x.n == kUnknownLength ? 1 : static_cast<double>(p.x.outputs); }

}  // namespace

double seconds_apart(const Resolved& p, int threads) {
    const bool far = stores_past_caches(rows_of(p) * samples_of(p) * static_cast<double>(size_of(p.dtype)),
                                        rows_of(p) * outputs_of(p) * static_cast<double>(size_of(p.output_dtype)), threads);
    return far ? kApartSeconds : kApartNearSeconds;
}

double seconds_of_moving(const LineLayout& layout, int threads) {
    const Resolved& p = layout.problem;
    const double apart = seconds_apart(p, threads);
    const double gather = !layout.gathers ? 0 : p.x.in_stride == 1 ? kWidenSeconds : apart;
    const double scatter = !layout.scatters ? 0 : p.x.out_stride == 1 ? kWidenSeconds : apart;
    return rows_of(p) * (gather * samples_of(p) + scatter * outputs_of(p));
}

}  // namespace tapline::cpu
