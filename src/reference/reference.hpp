// The textbook sum, slowly and carefully: the oracle of every test. Shares no code with the engines.
#pragma once

#include <vector>

#include "tapline/problem.hpp"

namespace tapline::reference {

/// Sums before the epilogue, in long double (64-bit mantissa on x86), rows packed one after the other.
struct Sums {
    std::vector<long double> real;
    std::vector<long double> imag;            ///< zeros for real dtypes
    std::vector<long double> real_magnitude;  ///< sum |taps||x| over the real products that make the real component
    std::vector<long double> imag_magnitude;
};

/// in and taps are laid out as the problem says (strides), taps in the user's order (the operation is applied here).
Sums sums(const Problem& problem, const void* in, const void* taps);

/// Exact sums of an integer problem (they must fit 127 bits), rows packed.
std::vector<__int128> integer_sums(const Problem& problem, const void* in, const void* taps);

/// The whole problem with its epilogue, written to `out` as the problem lays it out.
void convolve(const Problem& problem, void* out, const void* in, const void* taps);

}  // namespace tapline::reference
