#include "tapline/convolve.hpp"

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
