// Image problems drawn at random, and the comparison of their outputs.
#pragma once

#include <string>

#include "reference/image_reference.hpp"
#include "support/draw.hpp"
#include "tapline/image.hpp"

namespace tapline::test {

/// A valid image problem: awkward sizes x modes x boundaries x types x strides, with at most about `most_products` products.
ImageProblem draw_image_problem(std::int64_t most_side, std::int64_t most_mask, std::int64_t most_products, Random& random);

/// A few NaN and infinities somewhere; nothing in integers.
void spoil(void* data, Dtype dtype, std::int64_t count, Random& random);

/// A mask that is a sum of `rank` outer products, as rounded as masks are. Real taps.
void make_separable(void* taps, const ImageProblem& problem, int rank, Random& random);

/// For messages.
std::string describe(const ImageProblem& problem);

/// Checks the outputs against the textbook sum. direct == true: element by element, |error| <= (k + 2) eps sum|taps||x|. false: the
/// L2 error of each plane is at most 1e-6 (f32) or 1e-14 (f64) times sum|taps| times the L2 norm of what its outputs read. The
/// epilogue scales and rounds; an integer output may be off by one where the sum lies next to a tie. Outputs that the textbook
/// makes NaN or infinite must be just that. Returns an empty string or what is wrong.
std::string compare(const ImageProblem& problem, const void* out, const void* in, const void* taps, bool direct);

}  // namespace tapline::test
