#include "cpu/lines/lined_algorithm.hpp"

#include <algorithm>

#include "core/plan/parallel.hpp"
#include "core/problem/arrange.hpp"
#include "cpu/lines/line_tiles.hpp"

namespace tapline::cpu {
namespace {

using core::Resolved;
using Way = LineLayout::Way;

// The problem of all rows, as the algorithm is to take them.
Resolved problem_of_all(const LineLayout& layout) {
    Resolved all = layout.way == Way::tiles ? problem_of_lines(layout.problem, 1) : core::without_outer(layout.problem);
    if (layout.way == Way::tiles) {
        all.batch.length = layout.problem.batch.length * layout.problem.outer_length();
        all.filters = std::min(layout.filters, all.batch.length);
    }
    return all;
}

}  // namespace

LineLayout LinedAlgorithm::layout_of(const Resolved& problem) const {
    LineAbilities abilities{.side_by_side = true, .all_filters = all_filters_};
    LineLayout layout = line_layout(problem, abilities);
    const bool itself = layout.way == Way::side_by_side && takes_side_by_side_(layout.problem);
    if (itself || layout.way != Way::side_by_side) { return layout; }
    abilities.side_by_side = false;
    return line_layout(problem, abilities);
}

bool LinedAlgorithm::takes_outer(const Resolved& problem, const core::Request& /*request*/) const {
    return layout_of(problem).way != Way::as_given;
}

bool LinedAlgorithm::keeps_local(const Resolved& problem, const core::Request& request) const {
    return inner().keeps_local(problem_of_all(layout_of(problem)), request);
}

core::Support LinedAlgorithm::supports(const Resolved& problem, const core::Request& request) const {
    return inner().supports(problem_of_all(layout_of(problem)), request);
}

double LinedAlgorithm::estimate_seconds(const Resolved& problem, const core::Request& request) const {
    const LineLayout layout = layout_of(problem);
    if (goes_by_columns(layout, request)) { return core::seconds_on_threads(columns_.seconds(layout), request.threads); }
    if (layout.way == Way::side_by_side) {
        // The rows of all outer axes as if they were longer ones.
        Resolved all = problem_of_all(layout);
        all.x.n *= layout.problem.outer_length();
        all.x.outputs *= layout.problem.outer_length();
        return inner().estimate_seconds(all, request);
    }
    return inner().estimate_seconds(problem_of_all(layout), request) + seconds_of_moving(layout, request.threads) / request.threads;
}

std::unique_ptr<core::Executable> LinedAlgorithm::prepare(const Resolved& problem, const void* taps,
                                                          const core::Request& request) const {
    const LineLayout layout = layout_of(problem);
    const std::int64_t filter_bytes = problem.x.k * static_cast<std::int64_t>(size_of(problem.taps_dtype));
    const auto prepare = [&](const Resolved& lines, const core::Request& asked, std::int64_t filter) {
        return inner().prepare(lines, static_cast<const std::byte*>(taps) + filter * filter_bytes, asked);
    };
    if (goes_by_columns(layout, request)) {
        if (auto columns = columns_.prepare(layout, taps, request)) { return columns; }
    }
    if (layout.way == Way::as_given) { return inner().prepare(problem, taps, request); }
    if (layout.way == Way::side_by_side) { return prepare_side_by_side(layout, request, prepare); }
    const bool in_pairs = !inner().is_local() && !is_complex(problem.dtype) && layout.filters == 1;
    return prepare_tiles(layout, request, in_pairs ? 2 : 1, all_filters_, prepare);
}

}  // namespace tapline::cpu
