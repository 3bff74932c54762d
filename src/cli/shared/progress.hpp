// One line on a terminal about work that takes longer than a second.
#pragma once

#include <cstdint>
#include <string>

#include "cli/shared/timing.hpp"

namespace tapline::cli {

/// Silent where standard error is no terminal. Gone at the end.
class StatusLine {
public:
    explicit StatusLine(bool enabled = true);
    ~StatusLine() { clear(); }
    StatusLine(const StatusLine&) = delete;
    StatusLine& operator=(const StatusLine&) = delete;

    [[nodiscard]] bool enabled() const { return enabled_; }
    void say(const std::string& text);
    void clear();

private:
    bool enabled_;
    bool shown_ = false;
};

/// How far a signal got, every tenth of a second.
class Progress {
public:
    /// `total` frames, or kUnknownLength; `sample_rate` 0 if there is none.
    Progress(std::int64_t total, double sample_rate, bool enabled) : line_(enabled), total_(total), sample_rate_(sample_rate) {}

    void update(std::int64_t frames);

private:
    StatusLine line_;
    std::int64_t total_;
    double sample_rate_;
    Stopwatch watch_;
    double next_ = 1;
};

}  // namespace tapline::cli
