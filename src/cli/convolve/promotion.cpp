#include "cli/convolve/promotion.hpp"

#include "cli/shared/shared_options.hpp"
#include "tapline/convolve.hpp"

namespace tapline::cli {
namespace {

// Integers with integers stay exact. Else the wider floating type, except that taps which are written in place or are a sound
// take the signal's, and an --dtype that is wider is computed in.
void set_types(Problem& problem, const ConvolveJob& job, const io::Info& info, const TapsSet& taps) {
    const bool integers = is_integer(info.dtype) && is_integer(taps.dtype);
    if (integers && (!job.dtype || is_integer(*job.dtype))) {
        problem.dtype = info.dtype;
        problem.output_dtype = job.dtype;
        return;
    }
    Dtype real = floating_of(info.dtype);
    if (!taps.adapts && info.format != io::Format::audio) real = wider(real, floating_of(taps.dtype));
    if (job.dtype && !is_integer(*job.dtype)) real = wider(real, real_part_of(*job.dtype));
    problem.complex_taps = is_complex(taps.dtype);
    const bool complex = is_complex(info.dtype) || problem.complex_taps || (job.dtype && is_complex(*job.dtype));
    problem.dtype = complex ? complex_of(real) : real;
    problem.output_dtype = job.dtype;
}

// u64 signals take u64 taps, other integers i64: what does not fit is refused, never wrapped.
void check_integer_taps(const Problem& problem, const TapsSet& taps) {
    if (!is_integer(problem.dtype)) return;
    const auto count = taps.filters * taps.taps;
    if (taps.dtype == Dtype::u64 && problem.dtype != Dtype::u64) {
        detail::check_tap_range(reinterpret_cast<const std::uint64_t*>(taps.data.data()), count);
    }
    if (taps.dtype != Dtype::u64 && problem.dtype == Dtype::u64) {
        const Bytes wide = taps.rows_as(Dtype::i64, 0, taps.filters);
        detail::check_signed_taps(reinterpret_cast<const std::int64_t*>(wide.data()), count);
    }
}

}  // namespace

Problem promoted_problem(const ConvolveJob& job, const io::Info& info, const TapsSet& taps) {
    Problem problem;
    problem.taps = taps.taps;
    apply_rules(problem, job);
    problem.origin = job.origin;
    problem.overflow = job.overflow;
    set_types(problem, job, info, taps);
    check_integer_taps(problem, taps);
    return problem;
}

}  // namespace tapline::cli
