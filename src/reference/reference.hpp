// The textbook sum, slowly and carefully: the oracle of every test. Shares no code with the engines or with what prepares problems
// for them: it derives lengths, origins and strides from the Problem by itself.
#pragma once

#include <array>
#include <vector>

#include "tapline/problem.hpp"

namespace tapline::reference {

/// A filtered axis with its defaults filled in. One that the problem has not is one sample under one tap.
struct Axis {
    std::int64_t n = 1, k = 1, origin = 0, outputs = 1;
    std::int64_t in_stride = 0, out_stride = 0;
    std::int64_t up = 1, down = 1, dilation = 1;
    Boundary boundary = Boundary::zero;

    /// Of tap t of output o: where the widened and extended signal is read.
    [[nodiscard]] std::int64_t position(std::int64_t o, std::int64_t t) const { return o * down + t * dilation - origin; }
};

/// What position of the widened, extended signal lies where: an index in [0, n), or one of these.
inline constexpr std::int64_t kNoTerm = -1;
inline constexpr std::int64_t kConstantTerm = -2;
std::int64_t sample_at(const Axis& axis, std::int64_t position);

/// Where one signal, image or volume begins, in elements from the first of the input, the output and the taps.
struct Item {
    std::int64_t in = 0, out = 0, taps = 0;
};

struct Shape {
    int rank = 1;              ///< filtered axes of the problem
    std::array<Axis, 3> axes;  ///< z, y, x: the problem's are the last ones
    std::vector<Item> items;   ///< packed: the batch axes as given, the last one fastest

    [[nodiscard]] const Axis& outermost() const { return axes[static_cast<std::size_t>(3 - rank)]; }
    [[nodiscard]] std::int64_t outputs() const { return axes[0].outputs * axes[1].outputs * axes[2].outputs; }  ///< of an item
    [[nodiscard]] std::int64_t taps() const { return axes[0].k * axes[1].k * axes[2].k; }
    /// Element of the output from its first, of packed output `index` of an item.
    [[nodiscard]] std::int64_t place(const Item& item, std::int64_t index) const;
};

/// Of a valid problem.
Shape shape_of(const Problem& problem);

/// Sums before the epilogue, in long double (64-bit mantissa on x86), packed: batch axes as given, outermost first, then the
/// filtered axes.
struct Sums {
    std::vector<long double> real;
    std::vector<long double> imag;            ///< zeros for real dtypes
    std::vector<long double> real_magnitude;  ///< sum |taps||x| over the real products that make the real component
    std::vector<long double> imag_magnitude;
};

/// `in` and `out` below are the addresses of the first sample and the first output, `taps` are in the caller's order. A term
/// outside the signal along an axis of zero boundary is absent, whatever the other axes' boundaries are.
Sums sums(const Problem& problem, const void* in, const void* taps);

/// Exact sums of integers with integer taps (they must fit 127 bits), packed like Sums.
std::vector<__int128> integer_sums(const Problem& problem, const void* in, const void* taps);

/// scale * sum + bias within the limits, of one component of a sum; the real one has the bias.
long double epilogue(const Problem& problem, long double sum, bool is_real_part);

/// The whole problem with its epilogue, written to `out` as the problem lays it out. Exact integers that do not fit wrap, or with
/// Overflow::error saturate: they have no result then.
void convolve(const Problem& problem, void* out, const void* in, const void* taps);

}  // namespace tapline::reference
