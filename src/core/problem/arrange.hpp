// Batch axes in the order in which algorithms take them.
#pragma once

#include <algorithm>
#include <vector>

#include "core/problem/resolved.hpp"

namespace tapline::core {

/// Puts the batch axes of a problem into r.channels, r.batch and r.outer, and sets r.filters. r's filtered axes are set.
///
/// Axes of one element are dropped, an axis whose every step is the whole of another's is one with it. Of images and volumes the
/// axis whose elements lie side by side where a pixel ends is `channels`. The longest of the others is `batch`; a signal's rows may
/// have filters in turn, those of images share one. What is left is `outer`, with as many filters as it likes.
void arrange(Resolved& r, std::vector<Batch> axes);

/// Two interleaved channels of real samples under one filter of real taps are one row of complex samples: the same problem with
/// half as many elements, each twice as large, or the problem as it is. A GPU has its fastest road for it.
Resolved with_pairs(const Resolved& problem);

/// Images of complex samples under one mask of real taps are images of twice as many real channels: the same problem, or the
/// problem as it is. Masks of one row stay: their rows are signals of complex samples.
Resolved with_parts(const Resolved& problem);

/// The problem of one element of the outer axes.
Resolved without_outer(const Resolved& problem);

/// How many sets of filters the outer axes step through: 1 where they share one.
inline std::int64_t filter_sets(const Resolved& problem) {
    std::int64_t sets = 1;
    for (const Batch& axis : problem.outer) { sets *= axis.taps_stride == 0 ? 1 : axis.length; }
    return sets;
}

/// Elements from one filter to the next where those of all batch axes follow each other in the caller's memory, whichever axis
/// steps first; 0 where they do not. `of_batch`: filters of the axis `batch`.
inline std::int64_t filters_step(const Resolved& problem, std::int64_t of_batch) {
    struct Step {
        std::int64_t taps, filters;
    };
    std::vector<Step> steps;
    const auto add = [&](std::int64_t taps, std::int64_t filters) {
        if (taps != 0 && filters > 1) { steps.push_back({taps, filters}); }
    };
    add(problem.batch.taps_stride, of_batch);
    for (const Batch& axis : problem.outer) { add(axis.taps_stride, axis.length); }
    std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.taps < b.taps; });
    if (steps.empty()) { return 0; }
    std::int64_t next = steps.front().taps;
    for (const Step& step : steps) {
        if (step.taps != next) { return 0; }
        next *= step.filters;
    }
    return steps.front().taps;
}

}  // namespace tapline::core
