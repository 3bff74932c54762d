#include "cli/ladder/ladder_model.hpp"

#include <algorithm>

#include "cli/measure/problems.hpp"

namespace tapline::cli {
namespace {

bool ran(const LadderRow& row) { return row.failure.empty() && row.time.median > 0; }

const LadderRow* naive_row(const LadderTable& table) {
    const auto in_c = [](const LadderRow& row) {
        return ran(row) && row.kind == RowKind::rung && row.lesson.origin.rfind('C', 0) == 0;
    };
    auto found = std::ranges::find_if(table.rows, in_c);
    if (found == table.rows.end()) found = std::ranges::find_if(table.rows, ran);
    return found == table.rows.end() ? nullptr : &*found;
}

}  // namespace

void finish(LadderTable& table) {
    const Problem& problem = table.contest.problem;
    const double copied = 2 * static_cast<double>(input_extent(problem)) * static_cast<double>(size_of(problem.dtype));
    if (table.copy.time.median > 0) table.copy.bytes_per_second = copied / table.copy.time.median;
    const LadderRow* naive = naive_row(table);
    if (naive != nullptr) table.naive = naive->lesson.label();
    double previous = 0;
    for (auto& row : table.rows) {
        if (!ran(row)) continue;
        const double seconds = row.time.median;
        if (naive != nullptr) row.times_naive = naive->time.median / seconds;
        if (row.kind != RowKind::peer) {
            if (previous > 0) row.times_previous = previous / seconds;
            previous = seconds;
        }
        row.bytes_per_second = moved_bytes(problem) / seconds;
        row.copy_fraction = table.copy.time.median / seconds;
        row.flops = textbook_flops(problem) / seconds;
    }
}

}  // namespace tapline::cli
