// Rung 35: the rows' problem, how many rows go at a time, launches.
#include "cuda/families/transposed/transposed.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "core/problem/arrange.hpp"
#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/rung_inside.hpp"
#include "cuda/families/common/workspace.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace {

using transposed::kernel_of;
using transposed::Passage;
using transposed::Side;

constexpr std::int64_t kLeastTaps = 256;                    // shorter filters are convolved as rows lie, in less than three copies
constexpr std::int64_t kMostBytes = std::int64_t{2} << 30;  // of rows in the workspace, unless fewer lines than a tile has are more
constexpr std::int64_t kMostCopiedTaps = std::int64_t{1} << 28;  // that are put in the order of rows on the host
constexpr double kShareMoved = 0.77;  // of the copy's speed, by a pass: (2^20, 64) f32, H200, 332 us by two
// Each place of a tile takes what it takes to move so many bytes, whether it is full or not: H200, (849522, 21) f16 134 us by two
// passes.
constexpr double kLeastBytes = 8;
constexpr double kChunkSeconds = 4e-6;

// Elements from one packed row to the next: rows begin at lines of memory, or at 16 bytes where they are short. (62401, 150) of f32
// with 21,819 taps, H200, 199 us where rows begin between 16 bytes, 166 so.
std::int64_t pitch_of(std::int64_t elements, int bytes) {
    constexpr std::int64_t kLongBytes = 8192;
    const std::int64_t unit = std::max<std::int64_t>((elements * bytes >= kLongBytes ? 128 : 16) / bytes, 1);
    return divide_up(elements, unit) * unit;
}

int log2_up(std::int64_t count) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count - 1))); }

// Lines of a tile.
int lines_log2_of(std::int64_t near, int bytes) { return log2_up(std::min(near, transposed::most_lines(bytes))); }

// Elements of a tile that so many samples of those lines take, by powers of two.
std::int64_t group_of(std::int64_t near, std::int64_t samples, int bytes) {
    return std::int64_t{1} << std::max(log2_up(samples) + lines_log2_of(near, bytes), transposed::kGroupLog2);
}

// Which sides of a problem's rows are turned.
struct Turned {
    bool in = false, out = false;
};

Turned turned_sides(const Problem& p) { return {p.x.in_stride != 1 || p.has_outer(), p.x.out_stride != 1 || p.has_outer()}; }

// So many of the rows at a time: of the axis nearest in memory, and combinations of the others.
struct Chunk {
    std::int64_t near = 1, others = 1;
    std::int64_t in_bytes = 0, out_bytes = 0;  // of their rows, where that side is turned

    [[nodiscard]] std::int64_t rows() const { return near * others; }
};

std::int64_t combinations(const Rows& rows) {
    std::int64_t all = 1;
    for (const RowAxis& axis : rows.others) { all *= axis.length; }
    return all;
}

// Whether outer axes step through filters. Their sets come one after the other, the last such axis of the problem stepping first.
bool has_sets(const Problem& p) { return core::filter_sets(p) != 1; }

// `asked`: rows at a time, or 0.
Chunk chunk_of(const Problem& p, const Rows& rows, std::int64_t asked = 0) {
    const Turned turned = turned_sides(p);
    const std::int64_t in = turned.in ? pitch_of(p.x.n, rows.input_bytes) * rows.input_bytes : 0;
    const std::int64_t out = turned.out ? pitch_of(p.x.outputs, rows.output_bytes) * rows.output_bytes : 0;
    const std::int64_t least = has_sets(p) ? p.batch.length * p.outer_length() : 1;  // their filters are prepared in one piece
    const std::int64_t most = asked > 0 ? asked : std::max(kMostBytes / std::max<std::int64_t>(in + out, 1), least);
    const std::int64_t others = combinations(rows);
    // As many as lie in two lines of memory belong together.
    const std::int64_t line = 2 * 128 / rows.input_bytes / std::max<std::int64_t>(std::abs(rows.near.in), 1);
    const std::int64_t together = asked > 0 ? 1 : std::max<std::int64_t>(line, 1);
    const auto alike = [](std::int64_t all, std::int64_t at_once, std::int64_t unit) {
        const std::int64_t groups = divide_up(all, std::max(at_once / unit * unit, unit));
        return std::min(divide_up(divide_up(all, groups), unit) * unit, all);
    };
    Chunk chunk;
    chunk.near = most >= rows.near.length ? rows.near.length : alike(rows.near.length, most, together);
    chunk.others = most >= rows.near.length ? alike(others, most / rows.near.length, 1) : 1;
    chunk.in_bytes = aligned_bytes(chunk.rows() * in);
    chunk.out_bytes = aligned_bytes(chunk.rows() * out);
    return chunk;
}

// For each batch axis, in the order of rows_of(): how far `step(axis, filters from one of its rows to the next)` goes.
template <class Step>
Rows steps_of(const Problem& p, const Step& step) {
    Problem steps = p;
    std::int64_t filters = p.batch.taps_stride == 0 ? 1 : p.batch.length;
    steps.batch.out_stride = step(p.batch, p.batch.taps_stride == 0 ? 0 : 1);
    for (std::size_t i = p.outer.size(); i-- > 0;) {
        const core::Batch& axis = p.outer.at(i);
        const bool own = axis.length > 1 && axis.taps_stride != 0;
        steps.outer.at(i).out_stride = step(axis, own ? filters : 0);
        filters *= own ? axis.length : 1;
    }
    return rows_of(steps);
}

// Whether the steps are those of so many elements for each row, row after row.
bool follow_each_other(const Rows& steps, std::int64_t unit) {
    if (steps.near.length > 1 && steps.near.out != unit) { return false; }
    std::int64_t rows = steps.near.length;
    for (const RowAxis& axis : steps.others) {
        if (axis.length > 1 && axis.out != rows * unit) { return false; }
        rows *= axis.length;
    }
    return true;
}

Rows filters_of_rows(const Problem& p) {
    return steps_of(p, [](const core::Batch&, std::int64_t filters) { return filters; });
}

// Whether each row's filter lies where the row does in the order of the passes: among the sets, or in the caller's memory.
bool has_sets_in_order(const Problem& p) {
    if (!p.taps_come_later) { return follow_each_other(filters_of_rows(p), 1); }
    return follow_each_other(steps_of(p, [](const core::Batch& axis, std::int64_t) { return axis.taps_stride; }), p.x.k);
}

// Whether row r has filter r % filters.
bool has_filters_in_turn(const Problem& p, const Rows& rows) {
    return p.filters == 1 || (rows.batch_axis == -1 && (combinations(rows) == 1 || p.batch.length % p.filters == 0));
}

// A filter for each row, row after row.
std::vector<std::byte> filters_in_order(const Problem& p, const void* taps) {
    const Rows steps = filters_of_rows(p);
    const std::size_t bytes = static_cast<std::size_t>(p.x.k) * size_of(p.taps_dtype);
    std::vector<std::byte> all(static_cast<std::size_t>(p.batch.length * p.outer_length()) * bytes);
    std::int64_t row = 0;
    for (std::int64_t other = 0; other < combinations(steps); ++other) {
        std::int64_t filter = 0;
        std::int64_t rest = other;
        for (const RowAxis& axis : steps.others) {
            filter += rest % axis.length * axis.out;
            rest /= axis.length;
        }
        for (std::int64_t near = 0; near < steps.near.length; ++near, ++row, filter += steps.near.out) {
            std::memcpy(all.data() + static_cast<std::size_t>(row) * bytes,
                        static_cast<const std::byte*>(taps) + static_cast<std::size_t>(filter) * bytes, bytes);
        }
    }
    return all;
}

// So many rows one after the other; `apart`: each beginning at a line of memory.
Problem packed_rows(const Problem& p, std::int64_t rows, bool apart = true) {
    const Turned turned = turned_sides(p);
    Problem inner = p;
    if (has_sets(p)) {
        inner.filters = rows;
        inner.batch.taps_stride = p.x.k;
    }
    inner.x.in_stride = inner.x.out_stride = 1;
    inner.outer = {};
    inner.batch.length = rows;
    if (turned.in) { inner.batch.in_stride = apart ? pitch_of(p.x.n, stored_bytes(p.dtype)) : p.x.n; }
    if (turned.out) { inner.batch.out_stride = apart ? pitch_of(p.x.outputs, stored_bytes(p.output_dtype)) : p.x.outputs; }
    return inner;
}

// An axis whose rows are one row of memory: which of two is nearer is not known of it.
bool is_shared(const core::Batch& axis) { return axis.length > 1 && axis.in_stride == 0; }

// Whether elements of neighbouring rows lie closer than those of a row.
bool lies_across(std::int64_t sample, std::int64_t near) { return near != 0 && std::abs(near) < std::abs(sample); }

class TransposedRows final : public Rung, public TakesTapsOnDevice {
public:
    static constexpr Head kHead{"35", "transposed_rows", "", R"(
Idea: rows that lie across memory are turned into rows one after the other, the fastest rung for those convolves them, and its
outputs are turned back: each pass reads and writes whole lines
Changed: long filters cost two copies more than on contiguous rows, in any layout
Requires: 256 taps or more; neighbouring rows closer in memory than samples; whole signals; workspace
Limited by: the passes, and what limits the rung of rows
)"};

    TransposedRows() : Rung(kHead, {.source = "src/cuda/families/transposed/transposed.cu", .takes_outer = 2, .is_local = 0}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.x.k < kLeastTaps && !has_sets(p)) {
            return "fewer than " + std::to_string(kLeastTaps) + " taps: rows are convolved as they lie";
        }
        const Turned turned = turned_sides(p);
        const Rows rows = rows_of(p);
        if (rows.near.length == 1 || (!turned.in && !turned.out) || (turned.in && !lies_across(p.x.in_stride, rows.near.in)) ||
            (turned.out && !lies_across(p.x.out_stride, rows.near.out))) {
            return "samples of a row lie closer than rows do";
        }
        const Chunk chunk = chunk_of(p, rows);
        if (device.memory_bytes > 0 && chunk.in_bytes + chunk.out_bytes > device.memory_bytes / 2) {
            return "the rows of a line of memory need more than half of the device's memory";
        }
        const std::int64_t all = p.batch.length * p.outer_length();
        if (has_sets(p)) {
            if (chunk.rows() != all || is_shared(p.batch) || std::any_of(p.outer.begin(), p.outer.end(), is_shared)) {
                return "filters along several axes: takes all rows in one pass, none of them shared";
            }
            if (p.filters != core::filter_sets(p) * (p.batch.taps_stride == 0 ? 1 : p.batch.length)) {
                return "filters of an axis repeat";
            }
            if (!has_sets_in_order(p) && (p.taps_come_later || all * p.x.k > kMostCopiedTaps)) {
                return "filters do not follow each other as rows do in memory";
            }
        } else if (p.filters > 1 && (p.taps_come_later || !has_filters_in_turn(p, rows) || chunk.near != rows.near.length)) {
            return "rows that lie side by side do not have filters in turn";
        }
        return best_rung(packed_rows(p, p.batch.length * p.outer_length()), device).rung < 0 ? "no rung takes the rows" : "";
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const Turned turned = turned_sides(p);
        const Rows rows = rows_of(p);
        const std::int64_t all = p.batch.length * p.outer_length();
        const auto moved = [&](bool is_turned, std::int64_t count, std::int64_t sample, std::int64_t near, int bytes) {
            if (!is_turned) { return 0.0; }
            const auto lines = static_cast<double>(rows.near.length);
            // Of the rows' elements at a time memory reads whole sectors, or all up to the next ones.
            const double apart = std::max(lines * bytes_touched(near, bytes),
                                          std::min(double{kSectorBytes}, static_cast<double>(std::abs(sample)) * bytes));
            const auto filled = [](std::int64_t length, std::int64_t unit) {
                return static_cast<double>(divide_up(length, unit) * unit) / static_cast<double>(length);
            };
            const std::int64_t of_tile = std::int64_t{1} << lines_log2_of(rows.near.length, bytes);
            const std::int64_t tile = transposed::tile_elements(bytes);
            const bool grouped = rows.near.length <= of_tile && combinations(rows) > 1;
            const std::int64_t samples = (grouped ? std::min(group_of(rows.near.length, count, bytes), tile) : tile) / of_tile;
            const double made = filled(rows.near.length, of_tile) * filled(count, samples);
            return static_cast<double>(count * all) * std::max(apart / lines + bytes, kLeastBytes * made);
        };
        const double bytes = moved(turned.in, p.x.n, p.x.in_stride, rows.near.in, rows.input_bytes) +
                             moved(turned.out, p.x.outputs, p.x.out_stride, rows.near.out, rows.output_bytes);
        const auto chunks = static_cast<double>(divide_up(all, chunk_of(p, rows).rows()));
        return chunks * kChunkSeconds + bytes / (kShareMoved * device.copy_bytes_per_second) +
               best_rung(packed_rows(p, all, false), device).seconds;
    }
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenTransposed>();
        return std::to_string(chosen.chunk.rows()) + " rows at a time, " + by_inside(*chosen.inner);
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenTransposed>();
        chosen->turned = turned_sides(p);
        chosen->chunk = chunk_of(p, rows_of(p), p.filters > 1 ? 0 : prepared.policy.tiles_per_block);
        const auto load_all = [near = rows_of(p).near.length](std::int64_t samples, int bytes, bool to_rows) {
            for (const bool halved : {false, true}) {
                load_kernel(kernel_of(bytes, halved, to_rows, false));
                if (group_of(near, samples, bytes) < transposed::tile_elements(bytes)) {
                    load_kernel(kernel_of(bytes, halved, to_rows, true));
                }
            }
        };
        if (chosen->turned.in) { load_all(p.x.n, stored_bytes(p.dtype), true); }
        if (chosen->turned.out) { load_all(p.x.outputs, stored_bytes(p.output_dtype), false); }
        const void* taps = prepared.given.taps;
        std::vector<std::byte> in_order;
        if (taps != nullptr && has_sets(p) && !has_sets_in_order(p)) {
            in_order = filters_in_order(p, taps);
            taps = in_order.data();
        }
        chosen->inner = prepare_inside(packed_rows(p, chosen->chunk.rows()), taps, prepared.device);
        return chosen;
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenTransposed>();
        return kWorkspaceAlignment + chosen.chunk.in_bytes + chosen.chunk.out_bytes + chosen.inner->workspace_bytes;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice&, void* workspace, cudaStream_t stream) const override {
        const RungInside& inner = prepared.chosen_as<ChosenTransposed>().inner;
        launch_chunks(prepared, job, workspace, stream,
                      [&](const Job& rows, void* own, bool) { inner->rung->launch(*inner, rows, inner->on_device, own, stream); });
    }

    // What is made of taps that come later is made once, in the workspace of the rung inside.
    [[nodiscard]] std::int64_t made_table_bytes(const Prepared&) const override { return 0; }
    [[nodiscard]] double making_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        return making_seconds_inside(packed_rows(p, p.batch.length * p.outer_length()), device);
    }
    void load_tables(const Prepared&) const override {}  // the rung inside has
    void launch_with_taps(const Prepared& prepared, const Job& job, void* workspace, const MadeTables& made,
                          cudaStream_t stream) const override {
        const RungInside& inner = prepared.chosen_as<ChosenTransposed>().inner;
        if (has_sets(prepared.problem)) {
            launch_chunks(prepared, job, workspace, stream, [&](const Job& rows, void* own, bool) {
                tapline::cuda::launch_with_taps(*inner, rows, made.given, own, stream);
            });
            return;
        }
        const auto& maker = dynamic_cast<const TakesTapsOnDevice&>(*inner->rung);
        launch_chunks(prepared, job, workspace, stream, [&](const Job& rows, void* own, bool is_first) {
            const MadeTables of_rows = made_inside(inner, made.given, own);
            if (is_first) {
                maker.launch_with_taps(*inner, rows, own, of_rows, stream);
            } else {
                inner->rung->launch(*inner, rows, {of_rows.taps, of_rows.tables}, own, stream);
            }
        });
    }

private:
    struct ChosenTransposed final : Chosen {
        Turned turned;
        Chunk chunk;
        RungInside inner;
    };

    // Between their passes convolve(job of packed rows, workspace, whether they are the first ones).
    template <class Convolve>
    static void launch_chunks(const Prepared& prepared, const Job& job, void* workspace, cudaStream_t stream,
                              const Convolve& convolve) {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenTransposed>();
        const Rows rows = rows_of(p, job);
        const Problem& inner = chosen.inner->problem;
        char* const memory = aligned(workspace);
        char* const before = memory;
        char* const after = before + chosen.chunk.in_bytes;
        char* const own = after + chosen.chunk.out_bytes;
        const std::int64_t others = combinations(rows);
        bool is_first = true;
        for (std::int64_t other = 0; other < others; other += chosen.chunk.others) {
            for (std::int64_t near = 0; near < rows.near.length; near += chosen.chunk.near) {
                const std::int64_t lines = std::min(chosen.chunk.near, rows.near.length - near);
                const std::int64_t count = std::min(chosen.chunk.others, others - other);
                Job packed = job;
                packed.in_first = 0;
                packed.in_stride = packed.out_stride = 1;
                packed.batch_first = job.batch_first + near;
                packed.batch = lines * count;
                auto* const in = static_cast<char*>(const_cast<void*>(job.in)) +
                                 (near * rows.near.in - job.in_first * job.in_stride) * rows.input_bytes;
                auto* const out = static_cast<char*>(job.out) + near * rows.near.out * rows.output_bytes;
                packed.in = in;
                packed.out = out;
                if (chosen.turned.in) {
                    pass(rows, true,
                         {in, before, side_of(rows, job.in_stride, &RowAxis::in), p.x.n, inner.batch.in_stride, lines, {}, other},
                         count, stream);
                    packed.in = before;
                    packed.in_batch = inner.batch.in_stride;
                }
                if (chosen.turned.out) {
                    packed.out = after;
                    packed.out_batch = inner.batch.out_stride;
                }
                convolve(packed, own, is_first);
                is_first = false;
                if (chosen.turned.out) {
                    pass(rows, false,
                         {after,
                          out,
                          side_of(rows, job.out_stride, &RowAxis::out),
                          p.x.outputs,
                          inner.batch.out_stride,
                          lines,
                          {},
                          other},
                         count, stream);
                }
            }
        }
    }

    static Side side_of(const Rows& rows, std::int64_t sample, std::int64_t RowAxis::*step) {
        Side side{sample, rows.near.*step, {}};
        for (std::size_t i = 0; i < Rows::kMostOthers; ++i) { side.others[i] = rows.others[i].*step; }
        return side;
    }

    static void pass(const Rows& rows, bool to_rows, Passage p, std::int64_t others, cudaStream_t stream) {
        const int bytes = to_rows ? rows.input_bytes : rows.output_bytes;
        const std::int64_t tile = transposed::tile_elements(bytes);
        p.lines_log2 = lines_log2_of(p.near, bytes);
        p.near_tiles = divide_up(p.near, std::int64_t{1} << p.lines_log2);
        p.sample_tiles = divide_up(p.samples, tile >> p.lines_log2);
        for (std::size_t i = 0; i < Rows::kMostOthers; ++i) { p.lengths[i] = rows.others[i].length; }
        const std::int64_t group = group_of(p.near, p.samples, bytes);
        const bool grouped =
            p.near_tiles == 1 && p.sample_tiles == 1 && others == combinations(rows) && p.lengths[0] > 1 && group < tile;
        if (grouped) {
            p.width_log2 = log2_up(group) - p.lines_log2;
            p.group_length = std::exchange(p.lengths[0], 1);
            p.group_step = p.apart.others[0];
            p.group_tiles = divide_up(p.group_length, tile / group);
            others /= p.group_length;
        }
        const std::int64_t tiles = p.near_tiles * p.group_tiles;  // of which at most one is not 1
        if (tiles > kMostBlocks / p.sample_tiles || tiles * p.sample_tiles > kMostBlocks / others) { refuse_launch(); }
        const void* const apart = to_rows ? p.from : p.to;
        const bool halved = reinterpret_cast<std::uintptr_t>(apart) % static_cast<std::uintptr_t>(bytes) != 0;
        launch_kernel(kernel_of(bytes, halved, to_rows, grouped), static_cast<unsigned>(tiles * p.sample_tiles * others),
                      transposed::kThreads, 0, stream, p);
    }
};

}  // namespace

const Rung& transposed_rows() { return core::only<TransposedRows>(); }

}  // namespace tapline::cuda
