// A drawn problem with its data between guard zones, and running it on the CPU.
#pragma once

#include <functional>

#include "support/buffers.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/plan.hpp"

namespace tapline::test {

/// An environment variable as a number; one that is empty is not set.
std::int64_t environment_number(const char* name, std::int64_t fallback);

struct Case {
    Problem problem;
    GuardedBuffer in, taps, out;  ///< out is poisoned

    /// The first sample and the first output, which negative strides put elsewhere than at the lowest address.
    [[nodiscard]] const void* first_in() const;
    [[nodiscard]] void* first_out();
    /// Between strided outputs nothing is written: every byte there still is what the buffer was filled with.
    [[nodiscard]] bool gaps_untouched() const;
};

/// Data of all of a problem's types, at any alignment of their elements, now and then with NaN and infinities; masks of images
/// often are separable.
Case draw_case(const Problem& problem, Random& random);

/// "" or what is wrong with how the plan solves the case from host memory: outputs, or bytes written elsewhere.
std::string failure_of(Case& c, const Expected& expected, const Plan& plan, bool elementwise, const Block& block = {});

}  // namespace tapline::test
