// One line on a terminal for work that takes longer than a second.
#pragma once

#include <chrono>
#include <cstdint>

namespace tapline::cli {

class Progress {
public:
    /// `total` frames, or kUnknownLength; `sample_rate` 0 if there is none. Silent if standard error is no terminal.
    Progress(std::int64_t total, double sample_rate, bool enabled);
    /// Clears the line.
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void update(std::int64_t frames);

private:
    using Clock = std::chrono::steady_clock;
    std::int64_t total_;
    double sample_rate_;
    bool enabled_;
    bool shown_ = false;
    Clock::time_point start_ = Clock::now();
    Clock::time_point next_ = start_ + std::chrono::seconds(1);
};

}  // namespace tapline::cli
