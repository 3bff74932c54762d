// Draws problems: awkward sizes x modes x boundaries x types x layouts.
#pragma once

#include <array>
#include <string>

#include "support/buffers.hpp"
#include "tapline/image.hpp"

namespace tapline::test {

template <class Container>
auto pick(const Container& from, Random& random) {
    return from[std::uniform_int_distribution<std::size_t>(0, std::size(from) - 1)(random)];
}

inline bool chance(double probability, Random& random) { return std::bernoulli_distribution(probability)(random); }

inline std::int64_t between(std::int64_t low, std::int64_t high, Random& random) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

/// Mostly sizes next to those where code changes its path: vectors, tiles, powers of two; otherwise anything up to `most`.
std::int64_t awkward_size(std::int64_t most, Random& random);

/// What may be drawn.
struct Drawing {
    int rank = 1;                            ///< filtered axes
    std::int64_t most_samples = 600;         ///< along an axis
    std::int64_t most_taps = 300;            ///< along an axis
    std::int64_t most_products = 100000000;  ///< of all outputs' sums together, about
    bool integers = false;                   ///< also signals of integers, with exact sums or real taps
    bool rates = false;                      ///< also up, down and dilation
    bool halves = false;                     ///< also samples of 16 floating bits, at their own rate
    /// Also the long form: batch axes, the axes in any order in memory, strides that are negative or 0, one signal for many
    /// filters, modes and boundaries that differ by axis.
    bool layouts = false;
};

/// A valid problem. Without `layouts` a signal has the short form.
Problem draw_problem(const Drawing& drawing, Random& random);

/// A signal of floating-point samples in the short form, of at most `most_samples` samples a row and `most_taps` taps.
Problem draw_problem(std::int64_t most_samples, std::int64_t most_taps, Random& random);

/// Images in the short form: floating-point ones, and 8 or 16 bits with real taps.
ImageProblem draw_image_problem(std::int64_t most_side, std::int64_t most_mask, std::int64_t most_products, Random& random);

/// Scale, bias and limits, or some of them.
void draw_epilogue(Problem& problem, Random& random);

/// A few NaN and infinities somewhere, now and then many; nothing in integers.
void spoil(void* data, Dtype dtype, std::int64_t count, Random& random);

/// Stretches of floating-point samples (not of 16 bits) become up to 10^15 times as loud or quiet, others zero, a constant or
/// nothing but single samples.
void make_uneven(void* data, Dtype dtype, std::int64_t count, Random& random);

/// Each mask becomes a sum of `rank` outer products, as rounded as masks are. Two filtered axes, real taps.
void make_separable(void* taps, const Problem& problem, int rank, Random& random);

/// For messages: everything that decides the outputs.
std::string describe(const Problem& problem);

}  // namespace tapline::test
