// The executable of integer_fft_algorithm().
#pragma once

#include <memory>

#include "core/choice/engine.hpp"
#include "cpu/integer/integer_fft_shape.hpp"

namespace tapline::cpu {

/// `shape` is integer_fft_shape() of the same; `may_sum_directly`: units of narrow sums, where that is sooner. Throws Error
/// (memory).
std::unique_ptr<core::Executable> prepare_integer_fft(const core::Resolved& problem, const void* taps, const core::Request& request,
                                                      const IntegerFftShape& shape, bool may_sum_directly);

}  // namespace tapline::cpu
