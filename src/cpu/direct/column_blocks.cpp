#include "cpu/direct/column_blocks.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/problem/elements.hpp"
#include "cpu/caches.hpp"
#include "cpu/direct/calls/direct_cost.hpp"
#include "cpu/direct/calls/direct_shape.hpp"
#include "cpu/direct/direct_columns.hpp"
#include "cpu/targets.hpp"

namespace tapline::cpu {
namespace {

using core::Resolved;

// Longer rows of outputs than this become lines before they are summed: 243 columns of 3,431 samples under 10 taps take 367 us so
// and 435 us in blocks, 99,485 of 11 samples under 13 taps 6.8 and 0.72 ms (one thread, AVX-512).
constexpr std::int64_t kMostTurned = 128;
// Short rows that follow each other are turned, too, if there are enough of them: 100 samples under 9 taps take 0.6 times as long
// so, 150 0.7 times, 200 1.2 times (2,000 rows); of doubles 64 take 0.9 times as long and 150 1.1 times. Of few columns the ends
// take longer than all else where they are done row by row.
constexpr std::int64_t kMostRowBytes = 640, kFewestRows = 16, kFewColumns = 16;
// So are frames of interleaved channels, and complex samples, which are two of them: 64 samples of 4 channels take 0.8 times as
// long so, 64 of 8 1.2 to 1.5 times (1,000 rows under 9 taps; all of this on one thread, AVX-512).
constexpr std::int64_t kMostFrameBytes = 1600, kMostChannels = 16;
// Samples that lie further apart are not read for the sake of those between them.
constexpr std::int64_t kMostStep = 2;
// Longer filters are summed in groups (simd_direct.hpp), along lines.
constexpr std::int64_t kMostTaps = kDirectGroup;
// A load for each product, and an element on its way to the block or out of it.
constexpr double kProductFactor = 1.2;
constexpr double kMoveSeconds = 0.15e-9;
// Of filters of their own a tap on its way to the table.
constexpr double kTapSeconds = 0.5e-9;

bool alike(const Resolved& p) { return p.x.boundary != Boundary::constant || p.constant.real() == p.constant.imag(); }

// Complex samples under real taps as two interleaved channels of real ones, which have the same sums.
bool has_parts(const Resolved& p) {
    return is_complex(p.dtype) && !p.complex_taps && p.output_dtype == p.dtype && p.bias == 0 && !p.has_clamp && alike(p);
}
Resolved in_parts(const Resolved& problem) {
    Resolved p = problem;
    for (std::int64_t* stride : {&p.x.in_stride, &p.x.out_stride, &p.batch.in_stride, &p.batch.out_stride}) { *stride *= 2; }
    for (core::Batch& axis : p.outer) {
        axis.in_stride *= 2;
        axis.out_stride *= 2;
    }
    p.dtype = p.output_dtype = p.sum_dtype = real_part_of(problem.dtype);
    p.constant = problem.constant.real();
    return p;
}

// Frames: short rows whose samples hold channels, side by side without gaps.
std::optional<ColumnBlocks> frames_of(const LineLayout& layout) {
    ColumnBlocks blocks{.problem = layout.problem, .reordered = layout.reordered};
    if (is_complex(layout.problem.dtype)) {
        if (!has_parts(layout.problem)) { return std::nullopt; }
        blocks.problem = in_parts(layout.problem);
        blocks.parts = true;
    }
    Resolved& p = blocks.problem;
    core::Batch channels{.length = 1, .in_stride = 1, .out_stride = 1};
    if (blocks.parts) { channels.length = 2; }
    const auto follows = [&](const core::Batch& axis) {
        return axis.length > 1 && axis.in_stride == channels.length && axis.out_stride == channels.length;
    };
    if (follows(p.batch)) {
        if (p.filters > 1 && p.filters != p.batch.length) { return std::nullopt; }  // filters in turn
        channels.length *= p.batch.length;
        channels.taps_stride = p.batch.taps_stride;
        const auto longest =
            std::max_element(p.outer.begin(), p.outer.end(), [](const auto& a, const auto& b) { return a.length < b.length; });
        p.batch = *longest;
        p.filters = p.batch.taps_stride == 0 ? 1 : p.batch.length;
        *longest = {};
        std::stable_partition(p.outer.begin(), p.outer.end(), [](const core::Batch& b) { return b.length > 1; });
        blocks.reordered = true;
    }
    p.channels = channels;
    const std::int64_t frame = channels.length, step = std::abs(p.x.in_stride);
    const bool dense =
        p.x.n > 1 && step >= frame && step % frame == 0 && step <= kMostStep * frame && p.x.outputs > 1 && p.x.out_stride == frame;
    const std::int64_t of_sums = p.sum_dtype == Dtype::f64 ? sizeof(double) : sizeof(float);
    const std::int64_t bytes = std::max(p.x.outputs, p.x.n) * frame * of_sums;
    const bool packed = frame == 1 || layout.way == LineLayout::Way::as_given;
    const bool are_short = frame <= kMostChannels && bytes <= (packed ? kMostRowBytes : kMostFrameBytes);
    if (!dense || !are_short || p.batch.length < kFewestRows) { return std::nullopt; }
    return blocks;
}

// Complex rows side by side with filters of their own are twice as many real ones: 38 samples of 1,296 rows under 9 taps take 36 us
// so and 114 as lines, 100 recordings of 1,000 of 8 channels under 3 0.10 and 0.51 ms, 2,000 of 300 under 20 0.63 and 0.52, 300 of
// 3 channels under 12 0.38 and 0.31 (two threads, AVX-512).
constexpr std::int64_t kFewestPairs = 4, kMostTapsOfPairs = 15, kMostTapBytesOfPairs = 64;
std::optional<ColumnBlocks> pairs_of(const LineLayout& layout) {
    const core::Batch& rows = layout.problem.batch;
    const bool near = rows.length >= kFewestPairs && rows.in_stride == 1 && rows.out_stride == 1;
    const std::int64_t k = layout.problem.x.k, part_bytes = static_cast<std::int64_t>(size_of(real_part_of(layout.problem.dtype)));
    const bool own = layout.filters > 1 && k <= kMostTapsOfPairs && k * part_bytes <= kMostTapBytesOfPairs;
    if (!near || !own || !is_complex(layout.problem.dtype) || !has_parts(layout.problem)) { return std::nullopt; }
    ColumnBlocks blocks{.problem = in_parts(layout.problem), .reordered = layout.reordered, .parts = true, .in_pairs = true};
    Resolved& p = blocks.problem;
    p.batch.length *= 2;
    p.batch.in_stride = p.batch.out_stride = 1;
    p.filters *= 2;
    for (core::Batch& axis : p.outer) { axis.taps_stride *= 2; }
    return blocks;
}

// Samples of 16 bits are summed in f32.
std::int64_t sum_bytes(const Resolved& p) {
    return static_cast<std::int64_t>(size_of(core::is_half(p.sum_dtype) ? Dtype::f32 : p.sum_dtype));
}

// Rows side by side whose window leaves the L1 cache, of real samples: here they are stored past the caches and asked for ahead.
// 512 columns of 13,865 under 42 taps take 5.6 ms so and 6.9 in panels, 1,000 of 8,000 doubles under 25 9.7 and 13 (two threads).
// Where samples move through registers (AVX-512) also those of smaller windows, of which vectors are nearly full: 32 columns of
// 100,092 under 31 taps take 2.2 ms so and 3.2 as one long row, 20 of 20,000 under 40 0.27 and 0.21.
constexpr std::int64_t kVectorBytes = 64, kFullness = 5;  // at most one lane of so many has nothing
bool in_panels(const Resolved& p) {
    const std::int64_t size = sum_bytes(p);
    const std::int64_t window = p.x.k * p.batch.length * size, lanes = kVectorBytes / size;
    const std::int64_t spare = round_up(p.batch.length, lanes) - p.batch.length;
    const bool moves = taps_in_order(current_target(), static_cast<std::size_t>(size)) == lanes &&
                       p.batch.length >= kMinPanelWidth && spare * kFullness <= p.batch.length;
    const bool leaves = p.batch.length >= kMostColumns && window > kFlatBytes;
    return p.filters == 1 && p.x.k >= kMinPanelTaps && (moves || leaves);
}

}  // namespace

ColumnBlocks column_blocks(const LineLayout& layout) {
    if (const auto frames = frames_of(layout)) { return *frames; }
    return pairs_of(layout).value_or(ColumnBlocks{.problem = layout.problem, .reordered = layout.reordered});
}

std::vector<std::byte> taps_in_pairs(const ColumnBlocks& blocks, std::int64_t filters, const void* taps) {
    const auto* const from = static_cast<const std::byte*>(taps);
    const auto bytes = blocks.problem.x.k * static_cast<std::int64_t>(size_of(blocks.problem.taps_dtype));
    std::vector<std::byte> all;
    for (std::int64_t f = 0; f < filters; ++f) {
        for (int part = 0; part < 2; ++part) { all.insert(all.end(), from + f * bytes, from + (f + 1) * bytes); }
    }
    return all;
}

bool are_apart(const Resolved& p) {
    constexpr std::int64_t kMostBetween = 4;
    const std::int64_t step = std::abs(p.batch.in_stride), line = std::abs(p.x.in_stride);
    return p.filters == 1 && p.batch.in_stride != 1 && step >= 1 && step <= kMostBetween && p.batch.length > 1 &&
           line >= step * p.batch.length && p.batch.out_stride == 1;
}

std::optional<RowsOfMemory> rows_of_memory(const Resolved& p, std::int64_t most_taps) {
    // Shorter signals have more ends than these are worth; two windows stay in the L2 cache.
    constexpr std::int64_t kLeastLengths = 16, kBytes = std::int64_t{512} << 10, kOutputsOfATap = 4;
    const std::int64_t size = sum_bytes(p);
    if (p.x.k > most_taps || p.batch.in_stride != 1 || p.x.n < kLeastLengths * p.x.k || !in_panels(p)) { return std::nullopt; }
    const std::int64_t fitting = std::max(kBytes / size / (2 * p.x.k), kMostColumns), blocks = divide_up(p.batch.length, fitting);
    return RowsOfMemory{.columns = std::min(p.batch.length, round_up(divide_up(p.batch.length, blocks), kMinPanelWidth)),
                        .outputs = std::clamp<std::int64_t>(p.x.outputs, 1, kOutputsOfATap * p.x.k),
                        .share_sets = share_sets(p.x.in_stride * size)};
}

// Short runs with others between them begin and end inside lines of the cache: 37 columns of 248,566 under taps of their own
// take 5.2 ms past the caches and 3.1 by plain stores, 52 of 150,000 3.3 and 2.4, 161 of 50,000 4.1 and 4.5 (two threads, AVX-512).
bool streams_rows(std::int64_t columns, std::int64_t pitch, std::int64_t stride, std::int64_t element_bytes) {
    constexpr std::int64_t kLine = 64, kLeastBytes = 384;
    const std::int64_t row = columns * element_bytes, step = stride * element_bytes;
    return pitch == stride || row >= kLeastBytes || (row % kLine == 0 && step % kLine == 0);
}

double seconds_in_columns(const Resolved& p, double outputs) {
    const double product = direct_product_seconds(current_target(), size_of(real_part_of(p.sum_dtype)));
    return outputs * ((static_cast<double>(p.x.k) * kProductFactor + kProductsOfAnOutput) * product + 2 * kMoveSeconds);
}

bool takes_columns(const LineLayout& layout, const core::Request& request) {
    const Resolved& p = layout.problem;
    const bool finite = request.facts.finite || p.x.boundary != Boundary::zero;
    const bool plain = p.rank == 1 && !p.changes_rate() && !p.is_exact() && p.x.n != kUnknownLength;
    if (!plain || !finite || p.x.k > kMostTaps) { return false; }
    if (frames_of(layout) || pairs_of(layout)) { return true; }
    if (is_complex(p.sum_dtype) || p.batch.length == 1) { return false; }
    const bool near = p.batch.in_stride == 1 || are_apart(p), stored_near = p.batch.out_stride == 1;
    const bool stored_in_rows = p.x.out_stride == 1 && p.x.outputs > 1;
    switch (layout.way) {
        case LineLayout::Way::tiles:
            return near && (stored_near || (stored_in_rows && p.x.outputs <= kMostTurned));
        case LineLayout::Way::side_by_side:
            if (near && stored_near && in_panels(p)) { return true; }
            return p.batch.length < kFewColumns && p.x.outputs <= kMostTurned;
        default:
            return false;
    }
}

double seconds_of_columns(const LineLayout& layout) {
    const Resolved p = column_blocks(layout).problem;
    const double rows = static_cast<double>(p.batch.length * p.outer_length() * p.channels.length);
    const double tables = layout.filters > 1 ? rows * static_cast<double>(p.x.k) * kTapSeconds : 0;
    return seconds_in_columns(p, rows * static_cast<double>(p.x.outputs)) + tables;
}

}  // namespace tapline::cpu
