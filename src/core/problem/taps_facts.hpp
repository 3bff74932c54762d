// Taps that the 16-bit type of their signal holds: tensor cores then need one product where others need two.
#pragma once

#include "core/problem/resolved.hpp"

namespace tapline::core {

/// Whether every tap is finite and a number of the signal's type: a bf16, or an f16 after scaling by the power of two that brings
/// the largest into [2^14, 2^15). Asked for one filter on signals of 16 bits, otherwise false; so it is for `taps` == nullptr,
/// values that are not known yet. The order of the taps does not matter.
bool taps_are_narrow(const Resolved& problem, const void* taps);

}  // namespace tapline::core
