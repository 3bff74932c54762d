#include "tapline/convolve.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/plan/parallel.hpp"
#include "tapline/info.hpp"

namespace tapline::detail {

void check_tap_range(const std::uint64_t* taps, std::int64_t count) {
    for (std::int64_t t = 0; t < count; ++t) {
        if (taps[t] > static_cast<std::uint64_t>(INT64_MAX)) {
            throw Error(ErrorCode::type,
                        "taps: " + std::to_string(taps[t]) +
                            " does not fit i64, the type of taps beside this signal; use a u64 signal or floating types");
        }
    }
}

void check_signed_taps(const std::int64_t* taps, std::int64_t count) {
    for (std::int64_t t = 0; t < count; ++t) {
        if (taps[t] < 0) {
            throw Error(ErrorCode::type,
                        "taps: " + std::to_string(taps[t]) +
                            " is negative beside a u64 signal, whose taps are u64; use an i64 signal or floating types");
        }
    }
}

bool same_bytes(const void* a, const void* b, std::size_t bytes) {
    constexpr std::size_t kShort = std::size_t{128} << 10;  // 10 us
    constexpr double kBytesPerSecond = 1e10;                // of one thread, from memory
    if (bytes <= kShort) { return std::memcmp(a, b, bytes) == 0; }
    const int threads = available_threads();
    const double seconds = static_cast<double>(bytes) / kBytesPerSecond;
    const std::int64_t tasks = core::good_number_of_tasks(seconds, threads);
    const std::size_t share = (bytes / static_cast<std::size_t>(tasks) + 64) / 64 * 64;
    std::atomic<bool> same{true};
    const auto compare = [&](std::int64_t task, int /*slot*/) {
        const std::size_t first = static_cast<std::size_t>(task) * share;
        if (first >= bytes || !same.load(std::memory_order_relaxed)) { return; }
        const std::size_t count = std::min(share, bytes - first);
        if (std::memcmp(static_cast<const char*>(a) + first, static_cast<const char*>(b) + first, count) != 0) {
            same.store(false, std::memory_order_relaxed);
        }
    };
    core::parallel_for(tasks, threads, compare, seconds);
    return same.load();
}

void convolve_once(void* out, std::int64_t out_size, const void* signal, const void* taps, const Problem& problem,
                   const PlanOptions& options) {
    const std::int64_t wanted = output_length(problem);
    if (out_size != wanted) {
        throw Error(ErrorCode::argument,
                    "out: " + std::to_string(out_size) + " elements; this problem has " + std::to_string(wanted) + " outputs");
    }
    make_plan(problem, taps, options).execute_host(out, signal);
}

}  // namespace tapline::detail
