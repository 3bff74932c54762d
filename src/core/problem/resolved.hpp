// A validated problem with every default filled in: what algorithms see.
#pragma once

#include "tapline/problem.hpp"

namespace tapline::core {

/// Everything is a correlation here: taps reach algorithms already reversed or conjugated.
struct Resolved {
    Problem problem;     ///< as given
    std::int64_t n = 0;  ///< signal length, or kUnknownLength (streams only)
    std::int64_t k = 0;
    std::int64_t batch = 1;
    std::int64_t origin = 0;
    std::int64_t output_length = 0;  ///< 0 while n is unknown
    Dtype dtype = Dtype::f32;
    Dtype taps_dtype = Dtype::f32;
    Dtype output_dtype = Dtype::f32;
    std::int64_t in_row = 0, in_sample = 1;
    std::int64_t out_row = 0, out_sample = 1;
    std::int64_t filters = 1;      ///< a divisor of batch: row r has filter r % filters
    bool trivial_epilogue = true;  ///< no scale, bias, clamp or change of type
};

/// Validates and fills in. `allow_unknown_length` is for streams. Throws Error.
Resolved resolve(const Problem& problem, bool allow_unknown_length = false);

/// origin and output length of a mode (DESIGN: the table of modes); n may be kUnknownLength, then the length is 0.
std::int64_t output_length_of(Mode mode, std::int64_t n, std::int64_t k);

}  // namespace tapline::core
