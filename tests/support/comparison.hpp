// The one comparison: passes only if error <= tolerance, so a NaN fails.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "reference/reference.hpp"
#include "tapline/image.hpp"

namespace tapline::test {

/// Outputs along the outermost filtered axis that are transformed together, and what their transform takes in.
struct Block {
    std::int64_t outputs = 0;    ///< 0: not known
    std::int64_t lookahead = 0;  ///< positions behind the last one that the block's last output reads
};

/// What the textbook makes of a problem. `in`, `out` and `taps` are the addresses that Plan::execute and make_plan take; `in` and
/// `taps` are kept and read again.
class Expected {
public:
    Expected(const Problem& problem, const void* in, const void* taps);
    ~Expected();

    /// Checks outputs against what docs/numerics.md promises; an empty string or what is wrong.
    ///
    /// elementwise == true: |error| <= (k + 2) eps sum|taps||x| for each real component, eps = 2^-23 or 2^-52 of the type in which
    /// sums are formed, which every direct sum keeps; k of several axes is the product of theirs. false: the L2 error of each
    /// signal, image or volume is at most 1e-6 (f32) or 1e-14 (f64) times sum|taps| times the L2 norm of its samples, those outside
    /// that the boundary fills included; and the same of each block, of all signals together since a transform may hold two, with
    /// the norm of what the transforms take in: what the block's outputs read, also those past the last one that is wanted.
    ///
    /// An epilogue scales the tolerance by |scale| and adds its own roundings, storing 16 bits adds one; an integer output is the
    /// saturated cast of some number within the tolerance. Sums of integers are exact. Outputs that the textbook makes NaN or
    /// infinite must be just that.
    [[nodiscard]] std::string compare(const void* out, bool elementwise, const Block& block = {}) const;

private:
    struct Parts;
    std::unique_ptr<const Parts> parts_;
};

/// Expected(problem, in, taps).compare(out, elementwise, block).
std::string compare(const Problem& problem, const void* out, const void* in, const void* taps, bool elementwise,
                    const Block& block = {});

}  // namespace tapline::test
