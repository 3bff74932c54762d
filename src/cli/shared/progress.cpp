#include "cli/shared/progress.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "cli/shared/numbers.hpp"

namespace tapline::cli {

StatusLine::StatusLine(bool enabled) : enabled_(enabled && isatty(STDERR_FILENO) != 0) {}

void StatusLine::say(const std::string& text) {
    if (!enabled_) { return; }
    shown_ = true;
    std::fprintf(stderr, "\r\033[K%s", text.c_str());
}

void StatusLine::clear() {
    if (shown_) { std::fputs("\r\033[K", stderr); }
    shown_ = false;
}

void Progress::update(std::int64_t frames) {
    if (!line_.enabled() || frames == total_) { return; }
    const double elapsed = watch_.seconds();
    if (elapsed < next_) { return; }
    next_ = elapsed + 0.1;
    const auto done = static_cast<double>(frames);
    std::string line;
    if (total_ > 0) {
        line += std::to_string(100 * frames / total_) + "%, " +
                format_seconds(std::ceil(elapsed * static_cast<double>(total_ - frames) / done)) + " left, ";
    }
    line += sample_rate_ > 0 ? format_seconds(done / sample_rate_) + " of sound" : format_si(done) + " samples";
    line_.say(line + ", " + format_si(done / elapsed) + " samples/s");
}

}  // namespace tapline::cli
