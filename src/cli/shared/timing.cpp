#include "cli/shared/timing.hpp"

#include <algorithm>

namespace tapline::cli {
namespace {

// How often a run is repeated inside one measurement; it has run once before.
int repeats_of(const std::function<void()>& run) {
    constexpr double kLeastSeconds = 50e-6;  // a thousand times the clock's own cost
    constexpr int kMostRepeats = 1 << 20;
    run();
    for (const Stopwatch watch; watch.seconds() < kLeastSeconds / 4;) { run(); }
    const Stopwatch once;
    run();
    return std::clamp(static_cast<int>(kLeastSeconds / std::max(once.seconds(), 1e-9)), 1, kMostRepeats);
}

double measured(const Timed& timed, int repeats) {
    if (timed.before) { timed.before(); }
    const Stopwatch watch;
    for (int i = 0; i < repeats; ++i) { timed.run(); }
    const double seconds = watch.seconds() / repeats;
    if (timed.after) { timed.after(); }
    return seconds;
}

Timing timing_of(std::vector<double> seconds) {
    std::ranges::sort(seconds);
    return {seconds[seconds.size() / 2], seconds.front(), seconds.back(), static_cast<int>(seconds.size())};
}

}  // namespace

Timing merged(const std::vector<Timing>& rounds) {
    std::vector<double> medians;
    Timing all = rounds.front();
    all.runs = 0;
    for (const Timing& round : rounds) {
        medians.push_back(round.median);
        all.least = std::min(all.least, round.least);
        all.most = std::max(all.most, round.most);
        all.runs += round.runs;
    }
    all.median = timing_of(std::move(medians)).median;
    return all;
}

std::vector<Timing> time_in_turns(const std::vector<Timed>& all, const TimingLimits& limits) {
    std::vector<int> repeats(all.size(), 1);
    for (std::size_t i = 0; limits.warm_up && i < all.size(); ++i) { repeats[i] = repeats_of(all[i].run); }
    std::vector<std::vector<double>> seconds(all.size());
    const Stopwatch watch;
    for (int turn = 0; turn < limits.most_turns && (turn < limits.least_turns || watch.seconds() < limits.seconds); ++turn) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (int j = 0; j < all[i].a_turn; ++j) { seconds[i].push_back(measured(all[i], repeats[i])); }
        }
    }
    std::vector<Timing> timings;
    timings.reserve(seconds.size());
    for (std::vector<double>& each : seconds) { timings.push_back(timing_of(std::move(each))); }
    return timings;
}

}  // namespace tapline::cli
