// Times, and the one loop that takes them by the clock: copies, plans on a CPU, transfers. GPUs time themselves (measure/cuda.hpp).
#pragma once

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

namespace tapline::cli {

/// Seconds of one execution, over so many runs.
struct Timing {
    double median = 0;
    double least = 0;
    double most = 0;
    int runs = 0;
};

/// The median of the rounds' medians, and their extremes.
Timing merged(const std::vector<Timing>& rounds);

/// Something that is timed. `before` and `after` are not.
struct Timed {
    std::function<void()> run;
    int a_turn = 1;  ///< measurements in a row
    std::function<void()> before = {};
    std::function<void()> after = {};
};

struct TimingLimits {
    double seconds = 0;  ///< no turn but the least ones begins after so long
    int least_turns = 3;
    int most_turns = 10000;
    /// Each runs before it counts, which touches memory and wakes threads, and tells how often short ones are repeated inside one
    /// measurement, so that the clock does not count.
    bool warm_up = true;
};

/// They take turns, so that what else happens on the machine meets all alike. A Timing for each.
std::vector<Timing> time_in_turns(const std::vector<Timed>& all, const TimingLimits& limits);

class Stopwatch {
public:
    [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
    /// Seconds since it was made, or since the last lap.
    double lap() {
        const Clock::time_point now = Clock::now();
        return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
    }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now();
};

}  // namespace tapline::cli
