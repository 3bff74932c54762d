// How rows are divided into tiles of lines for tensor cores.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/tensor/lines/tensor_lines.hpp"

namespace tapline::cuda::tensor_lines {
namespace {

// Shorter runs of neighbours cost more than their bytes. (2^20, 64) samples of f32 along the first axis, 1, 2, 4 and 8 columns a
// line, runs of 256 to 32 bytes, H100: 9 taps 201, 214, 234 and 267 us; 63 taps 237, 223, 226, 250; 127 taps -, 282, 275, 285.
constexpr double kLongRun = 256;
constexpr double kShortRunPower = 0.16;
constexpr std::int64_t kHalfShared = 113 * 1024;  // of a multiprocessor's 227 KB: two blocks

std::int64_t units_of(const Problem& p, int columns) {
    const std::int64_t outputs = std::min<std::int64_t>(p.x.outputs, std::int64_t{columns} * kColumn);
    return divide_up(before_of(p) + outputs + p.x.k - 1, kUnit);
}

bool lie_across(const Problem& p, const Rows& rows) {
    return rows.near.length > 1 && rows.near.in != 0 && std::abs(rows.near.in) < std::abs(p.x.in_stride);
}

// Lines of so many columns that a tile has room for; 0: none.
int lines_of(const Problem& p, int columns) {
    int lines = kMostLines;
    while (lines * columns > kColumnsOfTile || units_of(p, columns) > std::int64_t{kMostUnits} * (kThreads / lines)) {
        lines /= 2;
        if (lines < kGroup) { return 0; }
    }
    return lines;
}

}  // namespace

int before_of(const Problem& p) {
    const std::int64_t vector = p.dtype == kF32 ? 4 : kUnit;
    return static_cast<int>(((-p.x.origin) % vector + vector) % vector);
}

int columns_of(const Problem& p, const Rows& rows) {
    constexpr int kMost = kMostOutputs / kColumn;
    if (!lie_across(p, rows)) {
        const auto columns = static_cast<int>(std::min<std::int64_t>(divide_up(p.x.outputs, kColumn), kMost));
        return std::max(columns, 1);
    }
    int best = 1;
    double least = INFINITY;
    for (int columns = 1; columns <= kMost; columns *= 2) {
        const int lines = lines_of(p, columns);
        if (lines == 0) { continue; }
        const std::int64_t outputs = std::int64_t{columns} * kColumn;
        const std::int64_t neighbours = std::min<std::int64_t>(rows.near.length, lines);
        const std::int64_t stretches = std::clamp<std::int64_t>(lines / neighbours, 1, divide_up(p.x.outputs, outputs));
        // Where samples of all rows at one time and the next lie side by side a run has no end.
        const bool endless = neighbours * std::abs(rows.near.in) >= std::abs(p.x.in_stride);
        const double run = static_cast<double>(neighbours * stored_bytes(p.dtype));
        const double short_runs = endless ? 1 : std::max(1.0, std::pow(kLongRun / run, kShortRunPower));
        const double again = 1 + static_cast<double>(p.x.k - 1) / static_cast<double>(std::min(outputs, p.x.outputs));
        const double emptiness = static_cast<double>(lines) / static_cast<double>(neighbours * stretches);
        const double cost = (1 + again * short_runs) * std::pow(emptiness, 0.5);
        if (cost < least) {
            least = cost;
            best = columns;
        }
    }
    return best;
}

namespace {

Shape shape_of_lines(const Problem& p, const Rows& rows, int columns, int lines) {
    Shape g{};
    g.columns = columns;
    g.lines = lines;
    const std::int64_t outputs = std::int64_t{columns} * kColumn;
    g.rows = static_cast<int>(std::min<std::int64_t>(rows.near.length, g.lines));
    const std::int64_t all_stretches = std::max<std::int64_t>(divide_up(p.x.outputs, outputs), 1);
    g.stretches = static_cast<int>(std::clamp<std::int64_t>(g.lines / g.rows, 1, all_stretches));
    g.across = lie_across(p, rows) ? 1 : 0;
    g.before = before_of(p);
    g.steps = static_cast<int>((p.x.k + g.before + 14) / 16 + 1);
    g.units = 2 * (8 * columns + g.steps - 1);
    g.line_bytes = (g.units | 1) * 16;  // odd: eight lines lie in eight groups of banks
    g.low_at = g.lines * g.line_bytes;
    g.entries = (8 * g.steps + 4 + 7) / 16 * 16 + 8;  // even and odd pairs lie in different halves of the banks
    const bool low = p.dtype == kF32 || p.dtype == kI16 || p.dtype == kU16;
    g.tables_at = (low ? 2 : 1) * g.low_at;
    g.padded_at = g.tables_at + 4 * g.entries * 8;
    g.largest_at = g.padded_at + (2 * g.entries + 12) * 4;
    g.raw_at = g.largest_at + 2 * kMostLines * 4 + 3 * kPlaceBytes;
    g.raw_at += (16 - g.raw_at % 16) % 16;
    const auto units = static_cast<int>(units_of(p, columns));
    const int vector = 16 / stored_bytes(p.dtype);
    if (g.across != 0) {
        // Lanes that read units of the same rows, or of other stretches, meet in no bank.
        g.raw_unit = kUnit * g.rows + (g.rows == 8 || g.rows == 16 ? g.rows : 0);
        g.raw_line = units * g.raw_unit;
        const int wanted = static_cast<int>(divide_up(g.rows, vector)) * vector;
        if (g.stretches > 1) { g.raw_line += ((wanted - g.raw_line) % (8 * vector) + 8 * vector) % (8 * vector); }
    } else {
        g.raw_line = static_cast<int>(divide_up(units * kUnit, vector) | 1) * vector;
    }
    g.tiles = divide_up(all_stretches, g.stretches);
    return g;
}

}  // namespace

Shape shape_of(const Problem& p, const Rows& rows, int columns, std::int64_t most_shared) {
    int lines = lines_of(p, columns);
    if (lines == 0) { return {}; }
    Shape g = shape_of_lines(p, rows, columns, lines);
    while (lines > kGroup && shared_bytes_of(g, p.dtype) > std::min(kHalfShared, most_shared)) {
        lines /= 2;
        g = shape_of_lines(p, rows, columns, lines);
    }
    return g;
}

namespace {

bool add_digit(Shape& g, std::int64_t length, Digit digit) {
    if (length <= 1) { return true; }
    if (length > INT32_MAX || std::int64_t{g.all_tiles} * length > INT32_MAX) { return false; }
    digit.length = static_cast<unsigned>(length);
    // Granlund and Montgomery, Division by invariant integers using multiplication, 1994: exact for numbers below 2^31.
    while ((std::int64_t{1} << digit.shift) < length) { ++digit.shift; }
    const std::uint64_t power = std::uint64_t{1} << digit.shift;
    digit.factor = static_cast<unsigned>((power - digit.length) * (std::uint64_t{1} << 32) / digit.length + 1);
    g.digit[g.digits] = digit;
    ++g.digits;
    g.all_tiles *= digit.length;
    return true;
}

// The innermost digit first: where rows lie closer than samples blocks at work should read what memory has side by side.
bool number_tiles(Shape& g, const Arguments& a, const Rows& rows) {
    g.all_tiles = 1;
    const std::int64_t outputs = std::int64_t{g.stretches} * g.columns * kColumn;
    const Digit along{0, 0, 0, 0, outputs * a.in_sample, outputs * a.out_sample, outputs};
    const Digit across{0, 0, 0, g.rows, g.rows * rows.near.in, g.rows * rows.near.out, 0};
    const std::int64_t row_tiles = divide_up(rows.near.length, g.rows);
    const bool rows_first = std::abs(rows.near.in) < std::abs(a.in_sample) || std::abs(rows.near.out) < std::abs(a.out_sample);
    bool fits = rows_first ? add_digit(g, row_tiles, across) && add_digit(g, g.tiles, along)
                           : add_digit(g, g.tiles, along) && add_digit(g, row_tiles, across);
    for (const RowAxis& axis : rows.others) { fits = fits && add_digit(g, axis.length, {0, 0, 0, 0, axis.in, axis.out, 0}); }
    return fits;
}

}  // namespace

bool fit_to_job(Shape& g, const Arguments& a, const Rows& rows) {
    const auto whole = [&](std::int64_t RowAxis::*step, std::int64_t of) {
        bool all = rows.near.length == 1 || rows.near.*step % of == 0;
        for (const RowAxis& axis : rows.others) { all = all && (axis.length == 1 || axis.*step % of == 0); }
        return all;
    };
    const std::int64_t bytes = rows.input_bytes;
    const std::int64_t vector = bytes == 1 ? 8 : 16 / bytes;  // elements
    // Place 0 of the first line of any tile, as far as that matters: lines begin at multiples of a column of outputs.
    const std::int64_t begins = a.first - a.origin - g.before - a.in_first + g.first_output;
    const auto lies_whole = [&](std::int64_t elements) {
        return (static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(a.in) % 4096) + elements * bytes) % (vector * bytes) ==
               0;
    };
    const bool aligned = lies_whole(begins * a.in_sample) && whole(&RowAxis::in, vector);
    if (g.across == 0) {
        g.vectors = a.in_sample == 1 && aligned;
    } else {
        // All rows are in a tile, or whole vectors of them.
        const bool one_after_other = rows.near.in == 1 && g.rows == rows.near.length && a.in_sample == g.rows;
        const bool others_lie = [&] {
            bool all = true;
            for (const RowAxis& axis : rows.others) { all = all && (axis.length == 1 || axis.in % vector == 0); }
            return all;
        }();
        g.whole_units = one_after_other && others_lie && lies_whole(begins * a.in_sample) ? 1 : 0;
        const bool vectors_of_rows = rows.near.in == 1 && g.rows % vector == 0 && rows.near.length % vector == 0 &&
                                     a.in_sample % vector == 0 && others_lie && lies_whole(begins * a.in_sample);
        // A thread's piece of the first kind has no more than eight samples of a row.
        g.whole_units = g.whole_units != 0 && !vectors_of_rows ? 1 : 0;
        g.vectors = g.whole_units != 0 || vectors_of_rows ? 1 : 0;
    }
    g.pairs = a.output_type == kF32 && rows.near.out == 1 && rows.near.length % 2 == 0 && g.rows % 2 == 0 &&
              a.out_sample % 2 == 0 && reinterpret_cast<std::uintptr_t>(a.out) % 8 == 0;
    for (const RowAxis& axis : rows.others) { g.pairs = g.pairs != 0 && (axis.length == 1 || axis.out % 2 == 0); }
    return number_tiles(g, a, rows);
}

std::int64_t shared_bytes_of(const Shape& g, Dtype dtype) {
    const int lines = g.across != 0 ? g.stretches : g.lines;
    return g.raw_at + std::int64_t{lines} * g.raw_line * stored_bytes(dtype);
}

}  // namespace tapline::cuda::tensor_lines
