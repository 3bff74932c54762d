// How rows are cut into large segments, and where those of a launch lie.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "cuda/families/common/grids.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large.hpp"
#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda::overlap_save {

struct LargeCut {
    int bits = 0;             // of a segment's points
    std::int64_t points = 0;  // 2^bits
    std::int64_t samples = 0;
    int skip = 0;     // samples that a segment begins early
    int outputs = 0;  // 0: it has no room for the taps
    int used = 0;
};

/// Segments of 2^bits points for k taps. Outputs of a segment, and what its samples begin early, come in 32, so that lines of
/// memory belong to one tile of columns.
inline LargeCut large_cut(int bits, bool is_complex, std::int64_t k, std::int64_t origin) {
    constexpr int kUnit = 32;
    LargeCut cut;
    cut.bits = bits;
    cut.points = std::int64_t{1} << bits;
    cut.samples = cut.points * (is_complex ? 1 : 2);
    cut.skip = static_cast<int>(((-origin) % kUnit + kUnit) % kUnit);
    const std::int64_t room = cut.samples - (k - 1) - cut.skip;
    cut.outputs = room < kUnit ? 0 : static_cast<int>(room / kUnit) * kUnit;
    cut.used = cut.outputs == 0 ? 0 : static_cast<int>(cut.skip + cut.outputs + k - 1);
    return cut;
}
/// The same where one segment holds a row of n samples with zeros around it: what wraps around there is zero, so that all outputs
/// are right, also those whose windows end past the segment.
inline LargeCut with_all_outputs(LargeCut cut, std::int64_t n, std::int64_t outputs, std::int64_t k, std::int64_t origin) {
    const std::int64_t read = outputs - origin + k - 1;  // where the last window ends
    if (outputs <= cut.outputs || cut.skip + outputs > cut.samples || n + origin + cut.skip > cut.samples || read > cut.samples) {
        return cut;
    }
    cut.outputs = static_cast<int>(outputs);
    cut.used = static_cast<int>(cut.samples);
    return cut;
}
inline std::int64_t segments_of_row(const LargeCut& cut, std::int64_t count) { return divide_up(count, cut.outputs); }

/// Whether rows lie side by side in memory, as many as a kernel takes together.
inline bool lie_together(const Arguments& a) {
    return a.rows % kRowsTogether == 0 && a.in_row == 1 && a.out_row == 1 && a.converts == 0;
}

/// The segments of a launch, of which there are fewer than 2^31, and how they may be read and written; `bytes`: of a sample;
/// `together`: of so many rows each.
inline void place_segments(LargeSegments& g, const LargeCut& cut, const Arguments& a, int bytes, int together = 1) {
    g.start = a.first - a.origin - cut.skip - a.in_first;
    g.outputs = cut.outputs;
    g.skip = cut.skip;
    g.used = cut.used;
    const std::int64_t of_row = segments_of_row(cut, a.count);
    g.of_row = static_cast<int>(of_row);
    const std::int64_t rows = a.rows / together;
    g.segments = static_cast<int>(of_row * rows);
    // Rows that lie closer than samples share sectors of memory, which are in the L2 cache still when the next row reads them.
    g.rows_in_turn = std::abs(a.in_row) < std::abs(a.in_sample) && rows > 1 ? static_cast<int>(rows) : 0;
    // Segments whose samples and outputs all are there.
    const std::int64_t first = g.start >= 0 ? 0 : divide_up(-g.start, cut.outputs);
    const std::int64_t room = a.in_last - a.in_first - cut.samples - g.start;
    const std::int64_t last = std::min({room < 0 ? 0 : room / cut.outputs + 1, a.count / cut.outputs, of_row});
    g.inner_first = static_cast<int>(std::min(first, of_row));
    g.inner_last = static_cast<int>(std::max<std::int64_t>(last, g.inner_first));
    // Pairs of real numbers need not be aligned as a whole.
    const auto unit = static_cast<std::uintptr_t>(bytes);
    const auto in = reinterpret_cast<std::uintptr_t>(a.in);
    const auto out = reinterpret_cast<std::uintptr_t>(a.out);
    const std::uintptr_t first_sample = in + static_cast<std::uintptr_t>(g.start) * unit;
    g.plain = a.plain_layout != 0 && in % unit == 0 && out % unit == 0;
    g.aligned = first_sample % 16 == 0 && (a.rows == 1 || a.in_row * bytes % 16 == 0);
    g.paired =
        first_sample % (2 * unit) == 0 && out % (2 * unit) == 0 && (a.rows == 1 || (a.in_row % 2 == 0 && a.out_row % 2 == 0));
    if (together > 1) { g.plain = g.paired = in % unit == 0 && out % unit == 0; }
}

}  // namespace tapline::cuda::overlap_save
