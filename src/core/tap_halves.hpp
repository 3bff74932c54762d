// Taps that a 16-bit type holds: tensor cores then need one product where others need two.
#pragma once

#include "core/resolved.hpp"

namespace tapline::core {

/// Whether every tap is finite and a half (f16) after scaling by the power of two that brings the largest into [2^14, 2^15): what
/// was f16, and what was bf16 down to 2^-31 of the largest. Asked for one filter on signals of 16 bits, otherwise false; so it is
/// for `taps` == nullptr, k values that are not known yet. The order of the taps does not matter.
bool taps_are_halves(const Resolved& problem, const void* taps);

}  // namespace tapline::core
