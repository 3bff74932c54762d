// The one comparison: passes only if error <= tolerance, so a NaN fails.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "reference/reference.hpp"
#include "tapline/problem.hpp"

namespace tapline::test {

/// Checks the outputs of a floating-point problem against the textbook sum.
///
/// direct == true: element by element, |error| <= (k + 2) eps sum|taps||x|, eps = 2^-23 or 2^-52, which every direct sum
/// keeps (docs/numerics.md); f16 and bf16 as f32, with one rounding to 16 bits more. false: the L2 error of each row is at most
/// 1e-6 (f32) or 1e-14 (f64) times sum|taps| times the L2 norm of what the row's outputs read. An epilogue scales the tolerance by
/// |scale| and adds its own roundings; an integer output may be off by one where the sum lies next to a tie. Outputs that the
/// textbook makes NaN or infinite must be just that. Returns an empty string or what is wrong.
std::string compare(const Problem& problem, const void* out, const void* in, const void* taps, bool direct);

}  // namespace tapline::test
