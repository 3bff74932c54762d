// Rung 51: what it supports, which threads go where, how it is launched.
#include "cuda/families/direct/columns/direct_columns.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>

#include "core/problem/arrange.hpp"
#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/ordered_taps.hpp"
#include "cuda/families/common/shared_memory.hpp"
#include "cuda/families/direct/direct.hpp"
#include "cuda/families/direct/direct_policies.hpp"

namespace tapline::cuda {
namespace {

using columns::Columns;
using columns::kMostWarps;
using columns::kOutputs;
using columns::kRowLanes;
using columns::Way;

constexpr std::int64_t kMostTaps = 1024;
constexpr std::int64_t kLanes = 32;

struct Shape {
    Columns columns{};
    Way way = Way::alone;
    std::int64_t rows_of_thread = 1;
    std::int64_t warps = 1;    // of a block
    std::int64_t outputs = 0;  // of a row, that a block makes
    std::int64_t shared_bytes = 0;
};

// Whether outputs lie along rows, as those of a transposed view do: they go back by way of shared memory.
bool are_turned(const Rows& rows, std::int64_t out_sample) { return std::abs(rows.near.out) != 1 && std::abs(out_sample) == 1; }

// Rows of a block whose threads follow each other along them: all that lie side by side, or as many as a warp has lanes.
std::int64_t rows_along(const Rows& rows) {
    constexpr std::int64_t kFewSideBySide = 15;
    return rows.near.length <= kFewSideBySide ? rows.near.length : kLanes;
}

// How many of these a warp's lanes have.
std::int64_t rows_together(std::int64_t rows) { return rows & -rows; }

// Whether threads of a block should follow each other along rows, which are long enough for them: few rows lie side by side, or
// filters are so long that lanes with rows and filters of their own would wait for these.
bool goes_along(const Problem& p, const Rows& rows, std::int64_t out_sample) {
    constexpr std::int64_t kManyTaps = 32;
    constexpr std::int64_t kLeastOutputs = 192;
    constexpr std::int64_t kLeastOfLanes = 64;
    constexpr std::int64_t kLineBytes = 128;
    if (std::abs(rows.near.in) != 1 || (std::abs(rows.near.out) != 1 && out_sample != 1)) { return false; }
    const std::int64_t own = rows_along(rows);
    const bool all = own < kLanes;
    // What fills lines of memory comes as well without shared memory.
    const bool few_taps = p.x.k < kManyTaps && (!all || own * stored_bytes(p.dtype) >= kLineBytes);
    if (own / rows_together(own) > kMostWarps || few_taps) { return false; }
    if (all) { return p.x.outputs >= kLeastOutputs; }
    // A warp's runs of memory are lines of it.
    const std::int64_t bytes = std::max(stored_bytes(p.dtype), stored_bytes(p.output_dtype));
    return p.filters > 1 && p.x.outputs >= kLeastOfLanes && bytes * kLanes <= kLineBytes;
}

// The same of a launch of so many outputs a row: blocks alike, none of them nearly empty, and enough of them.
Shape shape_along(const Problem& p, const cuda_abi::Device& device, const Rows& rows, std::int64_t outputs, bool turned) {
    constexpr std::int64_t kFewTaps = 16;
    constexpr std::int64_t kFewWarps = 6;                         // they wait less for each other
    const std::int64_t least_blocks = p.x.k <= kFewTaps ? 4 : 2;  // of a multiprocessor
    const Type type = type_of(p, device);
    const int sum_bytes = stored_bytes(sums_of(p));
    const std::int64_t near = rows_along(rows);
    const std::int64_t together = rows_together(near);
    const std::int64_t groups = near / together;
    const std::int64_t of_warp = kLanes / together * columns::along_outputs(sum_bytes);  // outputs of a row
    const std::int64_t needed = divide_up(outputs, of_warp);
    std::int64_t units = divide_up(rows.near.length, near);
    for (const RowAxis& axis : rows.others) { units *= axis.length; }
    const std::int64_t of_block = (p.x.k <= kFewTaps ? kFewWarps : kMostWarps) / groups;
    const std::int64_t most =
        std::clamp<std::int64_t>(needed * units / (least_blocks * device.multiprocessors), 1, std::max<std::int64_t>(of_block, 1));
    Shape s;
    s.way = Way::along;
    const std::int64_t alike = divide_up(needed, divide_up(needed, most));
    s.warps = std::max<std::int64_t>(alike, 1) * groups;
    s.outputs = s.warps / groups * of_warp;
    s.columns.outputs = static_cast<int>(s.outputs);
    s.columns.rows = static_cast<int>(near);
    s.columns.together = static_cast<int>(together);
    const std::int64_t tap_vectors =
        divide_up(p.x.k * type.tap_bytes, std::int64_t{16}) | 1;  // an odd number: rows' taps lie in other banks
    s.columns.tap_pitch = static_cast<int>(tap_vectors * 16 / type.tap_bytes);
    const auto whole = [](std::int64_t bytes) { return divide_up(bytes, std::int64_t{16}) * 16; };
    // Rows' outputs begin in shared memory as in memory between 16-byte boundaries; there is room for as many samples and more.
    const std::int64_t vector = 16 / sum_bytes;
    const std::int64_t past = ((rows.near.out - s.outputs) % vector + vector) % vector;
    s.columns.stage_pitch = turned ? static_cast<int>(s.outputs + past) : 0;
    // With what precedes the window up to 16 bytes, and samples that are read too far.
    const std::int64_t in_bytes = stored_bytes(p.dtype);
    const std::int64_t samples = 16 / in_bytes + (s.outputs + p.x.k + 16 / sum_bytes) * near;
    s.columns.samples_at = static_cast<int>(tap_vectors * 16 * (p.filters > 1 ? near : 1));
    s.columns.sums_at = s.columns.samples_at + (in_bytes < sum_bytes ? static_cast<int>(whole(samples * in_bytes)) : 0);
    s.shared_bytes = s.columns.sums_at + whole(samples * sum_bytes);
    return s;
}

// Of a launch of so many outputs a row.
Shape shape_of(const Problem& p, const cuda_abi::Device& device, std::int64_t outputs, Way way, const Rows& rows, bool turned) {
    if (way == Way::along) { return shape_along(p, device, rows, outputs, turned); }
    Shape s;
    s.way = way;
    s.rows_of_thread = columns::rows_of_thread(way, stored_bytes(p.dtype));
    const std::int64_t threads = divide_up(outputs, std::int64_t{kOutputs});  // of a row
    // Blocks alike, none of them nearly empty.
    const std::int64_t blocks = divide_up(threads, std::int64_t{kMostWarps});
    s.warps = std::clamp<std::int64_t>(divide_up(threads, std::max<std::int64_t>(blocks, 1)), 1, kMostWarps);
    s.outputs = s.warps * kOutputs;
    const std::int64_t cell = type_of(p, device).tap_bytes * (p.filters > 1 ? s.rows_of_thread * kLanes : 1);
    s.columns.places_at = static_cast<int>(divide_up(p.x.k, std::int64_t{kOutputs}) * kOutputs * cell);
    s.shared_bytes = s.columns.places_at + (s.outputs + p.x.k) * static_cast<std::int64_t>(sizeof(std::int64_t));
    if (turned) {
        s.columns.stage_pitch = static_cast<int>(s.outputs | 1);  // an odd number: lanes' rows lie in other banks
        s.columns.stage_at = static_cast<int>(divide_up(s.shared_bytes, std::int64_t{16}) * 16);
        s.shared_bytes = s.columns.stage_at + s.rows_of_thread * kLanes * s.columns.stage_pitch * stored_bytes(sums_of(p));
    }
    return s;
}
Shape shape_of(const Problem& p, const cuda_abi::Device& device, std::int64_t outputs, Way way) {
    const Rows rows = rows_of(p);
    return shape_of(p, device, outputs, way, rows, are_turned(rows, p.x.out_stride));
}

std::int64_t filters_of_batch(const Problem& p) { return p.filters / core::filter_sets(p); }

// Which filters rows have: sets of those of the batch, of which each step along other axes has its own. Those that come later are
// in the caller's order.
void set_filters(Columns& g, const Problem& p, const Job& job, std::int64_t pitch_bytes) {
    if (p.filters == 1) { return; }
    g.filter_bytes = pitch_bytes;
    struct Axis {
        std::int64_t in, out;
        columns::FilterStep filters;
    };
    std::array<Axis, 1 + std::tuple_size_v<decltype(p.outer)>> axes{};
    std::size_t count = 0;
    const std::int64_t in_turn = filters_of_batch(p);
    const std::int64_t given = p.taps_come_later && core::filter_sets(p) != 1 ? core::filters_step(p, in_turn) : 0;
    // Rows of a piece of what a host has are numbered on from set to set.
    g.first_filter = job.batch_first / p.batch.length * in_turn;
    const auto step_of = [&](std::int64_t in_sets, const core::Batch& axis) {
        return given != 0 ? axis.taps_stride / given : in_sets;
    };
    axes.at(count++) = {job.in_batch, job.out_batch, {step_of(1, p.batch), in_turn, job.batch_first % p.batch.length % in_turn}};
    std::int64_t step = in_turn;
    for (auto axis = p.outer.rbegin(); axis != p.outer.rend(); ++axis) {
        if (axis->length == 1 || axis->taps_stride == 0) { continue; }
        axes.at(count++) = {axis->in_stride, axis->out_stride, {step_of(step, *axis), axis->length, 0}};
        step *= axis->length;
    }
    const Rows rows = rows_of(p, job);
    const auto filters_of = [&](const RowAxis& row) {
        for (std::size_t i = 0; i < count; ++i) {
            if (row.length > 1 && axes.at(i).in == row.in && axes.at(i).out == row.out) { return axes.at(i).filters; }
        }
        return columns::FilterStep{};
    };
    g.near = filters_of(rows.near);
    for (std::size_t i = 0; i < Rows::kMostOthers; ++i) { g.others[i] = filters_of(rows.others[i]); }
}

// Whether vectors of as many rows as a thread may have hold neighbouring ones: `in` and `out` are addresses of the first.
bool fits_vectors(const Problem& p, const Rows& rows, std::int64_t in_sample, std::int64_t out_sample, const void* in,
                  const void* out) {
    const std::int64_t count = columns::rows_of_thread(Way::vector, rows.input_bytes);
    bool whole = count > 1 && rows.near.in == 1 && rows.near.out == 1 && rows.near.length % count == 0 && in_sample % count == 0 &&
                 out_sample % count == 0;
    for (const RowAxis& axis : rows.others) { whole = whole && axis.in % count == 0 && axis.out % count == 0; }
    const auto at = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
    const auto in_vector = static_cast<std::uintptr_t>(count * rows.input_bytes);
    const auto out_vector = static_cast<std::uintptr_t>(std::min<std::int64_t>(count * rows.output_bytes, 16));
    return whole && at(in) % in_vector == 0 && at(out) % out_vector == 0 && !is_complex(p.dtype) == !is_complex(p.output_dtype);
}

// Whether lanes of a warp have neighbouring rows wherever they begin, most of the threads' rows exist, and a device has enough to
// do where a block has so many more rows.
bool fits_lanes(const Rows& rows, const Shape& shape, std::int64_t outputs, const cuda_abi::Device& device, bool turned) {
    constexpr double kLeastFilled = 0.6;
    constexpr std::int64_t kLeastBlocks = 3;  // of a multiprocessor
    const std::int64_t of_warp = kRowLanes * columns::rows_of_thread(Way::apart, rows.input_bytes);
    const auto filled = static_cast<double>(rows.near.length) / static_cast<double>(divide_up(rows.near.length, of_warp) * of_warp);
    std::int64_t blocks = divide_up(rows.near.length, of_warp) * divide_up(outputs, shape.outputs);
    for (const RowAxis& axis : rows.others) { blocks *= axis.length; }
    return rows.near.in == 1 && (rows.near.out == 1 || turned) && filled >= kLeastFilled &&
           blocks >= kLeastBlocks * device.multiprocessors;
}

class DirectColumns final : public DirectRung {
public:
    static constexpr Head kHead{"51", "direct_columns", "", R"(
Idea: where rows lie side by side, a thread makes a few outputs of neighbouring rows from a window that it reads itself; what its
neighbours read too comes from the first-level cache
Changed: rows of a few samples, and a filter for each row, cost what memory moves: no ring of shared memory fills and empties
first
Requires: rows whose samples of one time are neighbours in memory; at most 1,024 taps, of own filters as many as shared memory
holds columns of; samples of the type of sums, or of 8 and 16 bits with taps of f32
Limited by: memory up to some thirty taps, then multiply-adds and the first-level cache
)"};

    DirectColumns()
        : DirectRung(kHead, {.source = "src/cuda/families/direct/columns/direct_columns.cuh",
                             .takes_pieces = 1,
                             .takes_outer = 2,
                             .truncates = 1}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        const Rows rows = rows_of(p);
        if (rows.near.length < 2 || std::abs(rows.near.in) != 1) { return "rows do not lie side by side"; }
        const bool turned = are_turned(rows, p.x.out_stride);
        if (std::abs(rows.near.out) != 1 && !turned) { return "outputs have no neighbours in memory"; }
        if (p.is_exact() && !p.whole_sums) { return "integers are exact on the CPU only"; }
        if (p.x.k > kMostTaps) { return "more than " + std::to_string(kMostTaps) + " taps"; }
        if (columns::kernel_of(p.dtype, p.taps_dtype, Way::alone, p.filters > 1) == nullptr) {
            return "samples are neither of the type of sums nor of 8 and 16 bits";
        }
        if (p.taps_come_later && core::filter_sets(p) != 1 && core::filters_step(p, filters_of_batch(p)) == 0) {
            return "filters along several axes do not follow each other in memory";
        }
        if (!constant_fits(p)) { return "the boundary's constant is no value of the samples' type"; }
        if (!fits(p, device, Way::alone, rows, turned)) { return "more taps than shared memory holds columns of"; }
        return {};
    }
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const Shape shape = shape_of(p, device, p.x.outputs, best_way(p, device));
        const Rows rows = rows_of(p);
        const Type type = type_of(p, device);
        const double all_rows = static_cast<double>(p.outer_length() * p.batch.length);
        const auto outputs = static_cast<double>(p.x.outputs);
        const auto taps = static_cast<double>(p.x.k);
        const double own = p.filters > 1 ? all_rows * taps * type.tap_bytes : 0;
        const double bytes = all_rows * (type.bytes * static_cast<double>(p.x.n) + outputs * stored_bytes(p.output_dtype)) + own;
        if (shape.way == Way::along) { return seconds_along(p, device, shape, bytes); }
        const auto of_thread = static_cast<double>(shape.rows_of_thread);
        const bool turned = are_turned(rows, p.x.out_stride);
        // Rows that fill less than a line of memory come and go in pieces.
        const double filled = std::min(1.0, static_cast<double>(rows.near.length * type.bytes) / kLineBytes);
        const double share = (turned ? kTurnedShare : kMovingShare) - kPiecesShare * (1 - filled);
        const double moving = bytes / (share * device.copy_bytes_per_second);
        // Lanes without rows take as long as others.
        const bool apart = shape.way == Way::apart;
        const double of_warp = of_thread * static_cast<double>(kLanes);
        const auto near = static_cast<double>(rows.near.length);
        const double units = apart ? all_rows / near * std::ceil(near / of_warp) * kLanes : all_rows / of_thread;
        const double lanes = std::ceil(units / kLanes) * kLanes;
        const double blocks = std::ceil(outputs / static_cast<double>(shape.outputs));
        const double warps = lanes * blocks * static_cast<double>(shape.warps) / kLanes;
        const double at_ends = std::min(1.0, 2 * std::ceil(taps / static_cast<double>(shape.outputs)) / blocks);
        const double of_tap =
            kOutputs * of_thread * type.products / type.rate * kWaste + kLoadInstructions * (apart ? of_thread : 1);
        const bool plain = p.trivial_epilogue;
        const double instructions =
            kInstructions + taps * of_tap + at_ends * (kInstructions + kEndInstructions * of_thread) +
            (type.bytes <= 2 ? kNarrowInstructions * (kOutputs + taps) : 0) +
            kOutputs * of_thread * ((plain ? kOutputInstructions : kEpilogueInstructions) + (turned ? kTurnedInstructions : 0)) +
            kLineInstructions * (lines_of_load(shape, rows, p) - 1) * (kOutputs + std::min(taps, kLineTaps));
        const double computing = warps * instructions / (device.peak_flops / 64);
        const double chunks = 1 + taps / kOutputs;  // each waits for its samples
        const double working = overlapped(moving, computing, kNorm) *
                               (core::filter_sets(p) != 1 ? slowdown_of_sets(shape, device) : 1) *
                               (apart && type.bytes <= 2 ? 1 : slowdown_of_unlike_rows(p));
        return kStartSeconds + (turned ? kTurnedSeconds : 0) + std::max(working, chunks * kChunkSeconds);
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Shape s =
            shape_of(prepared.problem, prepared.device, prepared.problem.x.outputs, best_way(prepared.problem, prepared.device));
        return std::to_string(s.warps) + (s.warps == 1 ? " warp" : " warps") +
               (s.way == Way::along ? " along rows, " : " across rows, ") + std::to_string(s.rows_of_thread) +
               (s.rows_of_thread == 1 ? " row a thread" : " rows a thread");
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenColumns>(prepared);
        const Way best = best_way(p, prepared.device);
        for (const Way way : kWays) {
            // Rows that fit vectors may begin elsewhere in a job.
            if ((way == Way::vector || way == Way::along) && best != way) { continue; }
            const columns::Kernel kernel = columns::kernel_of(p.dtype, p.taps_dtype, way, p.filters > 1);
            if (kernel == nullptr) { continue; }
            load_kernel(kernel, static_cast<std::size_t>(prepared.device.shared_bytes_per_block), prepared.device);
            chosen->kernels.at(static_cast<std::size_t>(way)) = kernel;
        }
        if (chosen->kernels.at(static_cast<std::size_t>(Way::alone)) == nullptr) { refuse_policy(); }
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenColumns>();
        Arguments a = arguments_of(prepared, job, on_device);
        a.taps = on_device.taps;
        Rows rows = rows_of(p, job);
        const auto has = [&](Way way) { return chosen.kernels.at(static_cast<std::size_t>(way)) != nullptr; };
        // A piece's outputs may lie along rows where the problem's do not, and shared memory have no room for them.
        const bool turned = are_turned(rows, a.out_sample) && fits(p, prepared.device, Way::alone, rows, true);
        const bool in_vectors = has(Way::vector) && fits_vectors(p, rows, a.in_sample, a.out_sample, a.in, a.out);
        const bool along = has(Way::along) && goes_along(p, rows, a.out_sample);
        const Way way = best_way(p, prepared.device, rows, turned, in_vectors, along);
        Shape shape = shape_of(p, prepared.device, a.count, way, rows, turned);
        set_filters(shape.columns, p, job, prepared.taps_pitch_bytes);
        a.tiles = divide_up(a.count, shape.outputs);
        const bool of_block = way == Way::apart || way == Way::along;  // a unit of rows
        const std::int64_t lines = shape.rows_of_thread * (way == Way::apart ? kRowLanes : 1);
        set_tiles(rows, static_cast<int>(way == Way::along ? rows_along(rows) : lines), 1);
        shape.columns.near_units = rows.near_tiles;
        shape.columns.units = rows.tiles;
        const std::int64_t groups = of_block ? rows.tiles : divide_up(rows.tiles, kLanes);
        if (groups > kMostBlocks / a.tiles) { refuse_launch(); }
        const std::int64_t blocks = groups * a.tiles;
        launch_kernel(chosen.kernels.at(static_cast<std::size_t>(way)), static_cast<unsigned>(blocks),
                      static_cast<unsigned>(kLanes * shape.warps), static_cast<std::size_t>(shape.shared_bytes), stream, a, rows,
                      shape.columns);
    }

private:
    static constexpr std::array kWays{Way::alone, Way::vector, Way::apart, Way::along};
    struct ChosenColumns : OrderedTaps {
        using OrderedTaps::OrderedTaps;
        std::array<columns::Kernel, kWays.size()> kernels{};
    };

    static bool fits(const Problem& p, const cuda_abi::Device& device, Way way, const Rows& rows, bool turned) {
        return columns::kernel_of(p.dtype, p.taps_dtype, way, p.filters > 1) != nullptr &&
               shape_of(p, device, p.x.outputs, way, rows, turned).shared_bytes <= device.shared_bytes_per_block;
    }
    // How threads' rows lie. No output's bits depend on that.
    static Way best_way(const Problem& p, const cuda_abi::Device& device, const Rows& rows, bool turned, bool in_vectors,
                        bool along) {
        if (along && fits(p, device, Way::along, rows, turned)) { return Way::along; }
        if (in_vectors && fits(p, device, Way::vector, rows, turned)) { return Way::vector; }
        const bool in_lanes = fits_lanes(rows, shape_of(p, device, p.x.outputs, Way::apart), p.x.outputs, device, turned);
        return in_lanes && fits(p, device, Way::apart, rows, turned) ? Way::apart : Way::alone;
    }
    static Way best_way(const Problem& p, const cuda_abi::Device& device) {
        const Rows rows = rows_of(p);
        return best_way(p, device, rows, are_turned(rows, p.x.out_stride),
                        fits_vectors(p, rows, p.x.in_stride, p.x.out_stride, nullptr, nullptr),
                        goes_along(p, rows, p.x.out_stride));
    }
    // Lines of memory that the lanes' loads at a time touch where each has all of a recording's rows.
    static double lines_of_load(const Shape& shape, const Rows& rows, const Problem& p) {
        if (shape.way != Way::vector || rows.near.length != shape.rows_of_thread) { return 1; }
        const auto recording = static_cast<double>(p.x.n * rows.near.length * stored_bytes(p.dtype));
        return std::clamp(kLanes * recording / kLineBytes, 1.0, static_cast<double>(kLanes));
    }
    // Of rows that a block's threads follow each other along, which move so many bytes.
    static double seconds_along(const Problem& p, const cuda_abi::Device& device, const Shape& shape, double bytes) {
        const Type type = type_of(p, device);
        const Rows rows = rows_of(p);
        const auto near = static_cast<double>(rows_along(rows));
        const auto taps = static_cast<double>(p.x.k);
        const auto of_block = static_cast<double>(shape.outputs);
        const auto warps = static_cast<double>(shape.warps);
        const auto of_thread = static_cast<double>(columns::along_outputs(stored_bytes(sums_of(p))));
        const double units = static_cast<double>(p.outer_length() * p.batch.length / rows.near.length) *
                             std::ceil(static_cast<double>(rows.near.length) / near);
        const double blocks = units * std::ceil(static_cast<double>(p.x.outputs) / of_block);
        const double window = (of_block + taps) * near / (kLanes * warps);  // samples of a thread
        const double of_taps = (p.filters > 1 ? near : 1) * taps / (kLanes * warps) * kAlongOwnTap;
        const bool narrow = type.bytes < stored_bytes(sums_of(p));
        const double brought = window * (narrow ? kAlongNarrow : kAlongSample) + of_taps;
        const double stored = of_thread * (p.trivial_epilogue ? kOutputInstructions : kEpilogueInstructions);
        const double of_tap = of_thread * type.products / type.rate * kAlongWaste + kAlongTap;
        const double instructions = kAlongInstructions + brought + stored + taps * of_tap;
        // Many at a time take longer than one waits.
        const double narrow_at_once = near < kFewRows ? kAlongNarrowOfFew : kAlongNarrowAtOnce;
        const double at_once = narrow ? window * (narrow_at_once - kAlongNarrow) : 0;
        const double computing = blocks * warps * (instructions + at_once) / (device.peak_flops / 64);
        const double moving = bytes / (kAlongShare * device.copy_bytes_per_second);
        // Copies of a few warps wait longer than they take.
        const double one_after_the_other = (instructions * std::ceil(warps / 4) + kAlongWaits * brought) * kAlongIssueSeconds;
        const double turned = are_turned(rows, p.x.out_stride) ? kAlongTurnedSeconds : 0;
        return kStartSeconds + turned + std::max(overlapped(moving, computing, kNorm), one_after_the_other);
    }
    // A filter for each row of several axes, which each block has to itself. H100, (26, 1954, 512) with 111 taps 325 us, (44,
    // 45779, 128) f16 with 50 taps 1,932, (94303, 21, 128) with 10 taps 906, (6289, 97, 512) with 8 taps 1,405: 1.1 to 1.45 times
    // as long; (4226, 211, 128) with 9, 33 and 281 taps 744, 1,094 and 8,527: 2.1, 2.1 and 2.8 times.
    static double slowdown_of_sets(const Shape& shape, const cuda_abi::Device& device) {
        constexpr double kSets = 1.5;
        constexpr double kAlone = 1.9;  // times, where a multiprocessor holds one block
        return kSets * (2 * shape.shared_bytes > device.shared_bytes_per_block ? kAlone : 1);
    }
    // Fitted on an H100, f32, 2^25 samples of 128 rows side by side: rows of 16 with 2, 9, 31 and 100 taps 98, 104, 143 and 303 us,
    // of 64 96, 110, 146 and 334, of 256 96, 97, 121 and 279, the copy 101. (14588, 13, 128) with 15 taps, full, wrapped, 169 us.
    static constexpr double kStartSeconds = 5e-6;
    static constexpr double kChunkSeconds = 0.9e-6;
    static constexpr double kMovingShare = 0.97;
    static constexpr double kPiecesShare = 0.45;
    static constexpr double kLineBytes = 128;
    static constexpr double kWaste = 2.3;
    static constexpr double kInstructions = 250;  // of a warp
    static constexpr double kLoadInstructions = 3;
    static constexpr double kNarrowInstructions = 12;
    static constexpr double kEndInstructions = 185;
    static constexpr double kOutputInstructions = 4;
    static constexpr double kEpilogueInstructions = 25;
    // Outputs along rows. H200: transposed, 749,200 rows of 43 f32 with 2 taps 149 us, 836,670 of 29 with 17 taps, wrapped, 134,
    // 225,598 of 110 f16 with 7 taps 113; 28,324 of 37 f16 with 9 taps 10.0.
    static constexpr double kTurnedSeconds = 8e-6;
    static constexpr double kTurnedShare = 0.5;
    static constexpr double kTurnedInstructions = 10;
    // H200: (124527, 31, 2) f16 with 3 taps, wrapped, 69 us, (41968, 19, 2) with 16 taps 16.
    static constexpr double kLineInstructions = 4;
    static constexpr double kLineTaps = 16;
    // H100: (126, 55044, 3) f32 with 3 taps 64 us, (1291, 11924, 2) with 8 taps 94, (914, 1231, 8) with 120 taps 82, (7, 18682, 8)
    // with 192 taps 19, (1090, 887, 32) with 116 taps 221, (9, 3830, 128) with 348 taps 98; (15, 65957, 2) complex128 with 17 taps
    // 36; (433, 186) with 61 taps, which few warps wait for, 16.
    static constexpr double kAlongShare = 0.85;
    static constexpr double kAlongWaits = 3;
    static constexpr double kAlongInstructions = 500;
    static constexpr double kAlongSample = 3;
    static constexpr double kAlongNarrow = 9;
    // H200: (93, 26647, 8) i16 with 2 taps 53 us; (42418, 271, 2) f16 with one tap 90, (10175, 365, 3) with 14 taps 78.
    static constexpr double kAlongNarrowAtOnce = 40;
    static constexpr double kAlongNarrowOfFew = 62;
    static constexpr double kFewRows = 8;
    static constexpr double kAlongOwnTap = 40;
    static constexpr double kAlongTap = 6;
    static constexpr double kAlongWaste = 1.45;
    static constexpr double kAlongIssueSeconds = 0.67e-9;
    static constexpr double kAlongTurnedSeconds = 1.5e-6;  // H200: 4 transposed rows of 18,899 f32 with 12 taps 8.0 us
    static constexpr double kNorm = 3;
};

}  // namespace

const Rung& direct_columns() { return core::only<DirectColumns>(); }

}  // namespace tapline::cuda
