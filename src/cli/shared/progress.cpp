#include "cli/shared/progress.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "cli/shared/numbers.hpp"

namespace tapline::cli {

Progress::Progress(std::int64_t total, double sample_rate, bool enabled)
    : total_(total), sample_rate_(sample_rate), enabled_(enabled && isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::update(std::int64_t frames) {
    if (!enabled_ || frames == total_) return;
    const auto now = Clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    shown_ = true;
    const double elapsed = std::chrono::duration<double>(now - start_).count();
    const auto done = static_cast<double>(frames);
    std::string line = "\r\033[K";
    if (total_ > 0) {
        line += std::to_string(100 * frames / total_) + "%, " +
                format_seconds(std::ceil(elapsed * static_cast<double>(total_ - frames) / done)) + " left, ";
    }
    line += sample_rate_ > 0 ? format_seconds(done / sample_rate_) + " of sound" : format_si(done) + " samples";
    line += ", " + format_si(done / elapsed) + " samples/s";
    std::fputs(line.c_str(), stderr);
}

}  // namespace tapline::cli
