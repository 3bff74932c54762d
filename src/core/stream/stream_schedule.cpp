#include "core/stream/stream_schedule.hpp"

#include <algorithm>

namespace tapline::core {

namespace {

// How many samples at one end of the signal `reach` positions past it are mapped to. (For wrap they are those of the other end.)
std::int64_t mapped_samples(Boundary boundary, std::int64_t reach) {
    if (reach <= 0) { return 0; }
    switch (boundary) {
        case Boundary::nearest:
            return 1;
        case Boundary::reflect:
            return reach;
        case Boundary::mirror:
            return reach + 1;
        default:
            return 0;
    }
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

StreamSchedule::StreamSchedule(const Resolved& problem, std::int64_t granularity, std::int64_t lookahead)
    : mode_(problem.mode),
      boundary_(problem.x.boundary),
      k_(problem.x.k),
      // Beyond the limit every window lies outside of any signal, wherever exactly.
      origin_(std::clamp(problem.x.origin, -kStreamLimit, kStreamLimit)),
      granularity_(granularity),
      lookahead_(lookahead),
      extra_outputs_(output_length_of(mode_, 0, k_)) {
    // The last block reads positions up to n - 1 + overhang: its end is at most granularity - 1 outputs past the last output.
    const std::int64_t overhang = extra_outputs_ + granularity_ - 1 - origin_ + k_ - 1 + lookahead_;
    tail_ = mapped_samples(boundary_, overhang);
    if (boundary_ == Boundary::wrap) { head_ = std::max<std::int64_t>(overhang, 0); }
}

// How many samples must be there before output `computed` can be. (For wrap the tail is given; nothing to wait for.)
std::int64_t StreamSchedule::samples_for_start(std::int64_t computed) const {
    return mapped_samples(boundary_, origin_ - computed);
}

std::int64_t StreamSchedule::ready(std::int64_t received, std::int64_t computed, std::int64_t n) const {
    const bool known = n != kUnknownLength;
    if (known && received == n) { return std::max<std::int64_t>(n + extra_outputs_, 0); }
    if (received == 0) { return computed; }
    const std::int64_t needed_at_start = samples_for_start(computed);
    if (received < (known ? std::min(needed_at_start, n) : needed_at_start)) { return computed; }
    const std::int64_t window_inside = received - lookahead_ - (k_ - 1) + origin_;
    // While n is unknown: an algorithm may take positions that no output reads as zeros, so a block waits until all of its
    // window is certain to be read, lookahead included.
    const std::int64_t certain_outputs = (known ? n : received - lookahead_) + extra_outputs_;
    const std::int64_t limit = std::min(window_inside, certain_outputs);
    return std::max(computed, limit > 0 ? limit / granularity_ * granularity_ : 0);
}

std::int64_t StreamSchedule::keep_from(std::int64_t received, std::int64_t computed) const {
    return std::clamp<std::int64_t>(std::min(computed - origin_, received - tail_), 0, received);
}

StreamSchedule::Window StreamSchedule::window(std::int64_t begin, std::int64_t end) const {
    return {begin - origin_, round_up(end, granularity_) - origin_ + k_ - 1 + lookahead_};
}

std::int64_t StreamSchedule::samples_for(std::int64_t computed, std::int64_t end) const {
    return std::max(end - std::min(origin_ - (k_ - 1), extra_outputs_) + lookahead_, samples_for_start(computed));
}

std::int64_t StreamSchedule::most_kept() const {
    // Samples from computed - origin on are kept; samples_for() says how far `computed` lags behind what was received.
    const std::int64_t behind = std::max(k_ - 1, origin_ - extra_outputs_) + lookahead_;
    return std::max({behind, tail_, samples_for_start(0), std::int64_t{1}});
}

std::int64_t StreamSchedule::latency(std::int64_t run, bool known_length) const {
    // Output o's last input is o - origin + k - 1. Its run is complete when the window of the run's last output is there and,
    // while n is unknown, when it is certain that there are so many outputs.
    const std::int64_t uncertain = known_length ? 0 : std::max<std::int64_t>(origin_ - k_ + 1 - extra_outputs_, 0);
    return run - 1 + lookahead_ + uncertain;
}

}  // namespace tapline::core
