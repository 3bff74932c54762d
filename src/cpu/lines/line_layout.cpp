#include "cpu/lines/line_layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/problem/arrange.hpp"
#include "core/problem/elements.hpp"

namespace tapline::cpu {
namespace {

using core::Batch;
using core::Resolved;

// Samples of 16 bits are summed in f32.
Dtype type_of_sums(const Resolved& p) { return core::is_half(p.sum_dtype) ? Dtype::f32 : p.sum_dtype; }

// Executables of one filter each take some memory.
constexpr std::int64_t kMostFilters = 1 << 14;

// Rows whose neighbours in memory are those of other rows, in input or output.
bool are_near(const Resolved& p) {
    const auto is_near = [](std::int64_t row, std::int64_t sample) { return row != 0 && std::abs(row) < std::abs(sample); };
    const auto is_near_axis = [&](const Batch& b) {
        return b.length > 1 && (is_near(b.in_stride, p.x.in_stride) || is_near(b.out_stride, p.x.out_stride));
    };
    return p.x.n != kUnknownLength && (is_near_axis(p.batch) || std::any_of(p.outer.begin(), p.outer.end(), is_near_axis));
}

// Strides of taps become those of a list of all filters, in the order of their sets. How many there are.
std::int64_t number_filters(Resolved& p) {
    if (p.filters > 1) { p.batch.taps_stride = 1; }
    std::int64_t filters = p.filters;
    for (auto axis = p.outer.rbegin(); axis != p.outer.rend(); ++axis) {
        if (axis->taps_stride == 0) { continue; }
        axis->taps_stride = filters;
        filters *= axis->length;
    }
    return filters;
}

// Rows that step by one element inside of what a sample steps by.
bool is_side_by_side(const Resolved& p, const Batch& rows) {
    return rows.length > 1 && rows.in_stride == 1 && rows.out_stride == 1 && std::abs(p.x.in_stride) >= rows.length &&
           std::abs(p.x.out_stride) >= rows.length;
}

// Puts the axis that `better` prefers to all others into `batch`.
template <class Better>
void choose_batch(LineLayout& layout, const Better& better) {
    Resolved& p = layout.problem;
    for (Batch& axis : p.outer) {
        if (axis.length == 1 || (p.batch.length > 1 && !better(axis, p.batch))) { continue; }
        std::swap(axis, p.batch);
        layout.reordered = true;
    }
    std::stable_partition(p.outer.begin(), p.outer.end(), [](const Batch& b) { return b.length > 1; });
}

}  // namespace

LineLayout line_layout(const Resolved& problem, LineAbilities abilities) {
    LineLayout layout{.problem = problem};
    Resolved& p = layout.problem;
    if (p.rank != 1 || p.changes_rate() || p.is_exact()) { return layout; }
    const bool widens = p.dtype != type_of_sums(p);
    layout.filters = number_filters(p);
    if (layout.filters > 1) {
        const bool in_tiles = widens || layout.filters > p.filters || are_near(p);
        if (!in_tiles || (layout.filters > kMostFilters && !abilities.all_filters)) { return layout; }
        abilities.side_by_side = false;
    }
    const bool known = p.x.n != kUnknownLength;
    const bool in_apart = known && p.x.n > 1 && p.x.in_stride != 1, out_apart = known && p.x.outputs > 1 && p.x.out_stride != 1;
    const bool many = p.batch.length > 1 || p.has_outer();
    // One strided row is gathered by every algorithm as it needs it.
    if (!widens && !p.has_outer() && (!many || (!in_apart && !out_apart))) { return layout; }

    const bool in_turn = p.filters > 1 && p.filters != p.batch.length;
    if (in_turn) {
        // `batch`, which has them, stays what it is.
    } else if (in_apart) {
        choose_batch(layout, [](const Batch& a, const Batch& b) { return std::abs(a.in_stride) < std::abs(b.in_stride); });
    } else if (out_apart) {
        choose_batch(layout, [](const Batch& a, const Batch& b) { return std::abs(a.out_stride) < std::abs(b.out_stride); });
    } else {
        choose_batch(layout, [](const Batch& a, const Batch& b) { return a.length > b.length; });
    }
    if (!in_turn) { p.filters = p.batch.taps_stride == 0 ? 1 : p.batch.length; }
    if (!widens && abilities.side_by_side && is_side_by_side(p, p.batch)) {
        layout.way = LineLayout::Way::side_by_side;
        return layout;
    }
    layout.way = LineLayout::Way::tiles;
    layout.gathers = widens || in_apart;
    layout.scatters = out_apart || core::is_half(p.output_dtype);
    return layout;
}

Resolved problem_of_lines(const Resolved& problem, std::int64_t rows) {
    Resolved lines = core::without_outer(problem);
    lines.filters = 1;
    const std::int64_t n = std::max<std::int64_t>(lines.x.n, 1), outputs = std::max<std::int64_t>(lines.x.outputs, 1);
    lines.dtype = lines.sum_dtype = type_of_sums(problem);
    if (core::is_half(problem.output_dtype)) { lines.output_dtype = lines.dtype; }
    lines.trivial_epilogue = !problem.changes_sums() && lines.output_dtype == lines.dtype;
    lines.x.in_stride = lines.x.out_stride = 1;
    lines.batch = {.length = rows, .in_stride = n, .out_stride = outputs};
    return lines;
}

core::OuterElement element_of(const Resolved& problem, bool reordered, const core::Output& output, const core::Input& input,
                              std::int64_t index) {
    core::OuterElement element = core::outer_element(problem, output, input, index);
    if (reordered) {
        element.output.batch_stride = problem.batch.out_stride;
        element.input.main.batch_stride = element.input.extra.batch_stride = problem.batch.in_stride;
    }
    return element;
}

}  // namespace tapline::cpu
