// A validated problem with every default filled in: what algorithms see. Plain data, which the CUDA engine reads as it is.
#pragma once

#include <array>

#include "tapline/problem.hpp"

namespace tapline::core {

/// A filtered axis. One that the problem has not is one sample under one tap.
struct Axis {
    std::int64_t n = 1;  ///< samples, or kUnknownLength (streams only)
    std::int64_t k = 1;  ///< taps
    std::int64_t origin = 0;
    std::int64_t outputs = 1;  ///< 0 while n is unknown
    std::int64_t in_stride = 0, out_stride = 0;
    std::int64_t up = 1, down = 1, dilation = 1;
    Boundary boundary = Boundary::zero;
};

struct Batch {
    std::int64_t length = 1;
    std::int64_t in_stride = 0, out_stride = 0;
    std::int64_t taps_stride = 0;  ///< of the caller's taps
};

/// Everything is a correlation here: taps reach algorithms already reversed or conjugated.
///
/// A signal is an image of one row: x is always there, y from two filtered axes on, z with three. Batch axes are put in order:
/// neighbours that step alike are one; `channels` interleave with the pixels of images; one more is `batch`; over what is left,
/// `outer`, every algorithm is repeated (repeated.hpp), so that none knows it.
struct Resolved {
    int rank = 1;  ///< filtered axes
    Axis z, y, x;
    Batch batch;     ///< rows of a signal, images, volumes
    Batch channels;  ///< of an image or a volume, else one
    std::array<Batch, 4> outer{};
    /// Filters side by side, of taps() each: row r of the batch has filter r % filters, with channels each has its own.
    std::int64_t filters = 1;
    Dtype dtype = Dtype::f32;
    Dtype taps_dtype = Dtype::f32;
    Dtype output_dtype = Dtype::f32;
    Dtype sum_dtype = Dtype::f32;  ///< in which sums are formed: dtype, or the taps' type beside integers; f16 and bf16: themselves
    Operation operation = Operation::convolution;
    Mode mode = Mode::full;  ///< of x
    Overflow overflow = Overflow::error;
    bool complex_taps = false;
    std::complex<double> constant = 0;  ///< of Boundary::constant
    double scale = 1, bias = 0;
    bool has_clamp = false;
    Clamp clamp{0, 0};
    bool trivial_epilogue = true;  ///< no scale, bias, clamp or change of type

    /// Whether sums are scaled, biased or clamped before they are stored.
    [[nodiscard]] bool changes_sums() const { return scale != 1 || bias != 0 || has_clamp; }
    [[nodiscard]] std::int64_t taps() const { return z.k * y.k * x.k; }
    [[nodiscard]] std::int64_t samples() const { return z.n * y.n * x.n * batch.length * channels.length; }
    [[nodiscard]] std::int64_t outputs() const { return z.outputs * y.outputs * x.outputs * batch.length * channels.length; }
    /// visit(axis) for each filtered axis, the outermost first.
    template <class Visit>
    void for_each_axis(const Visit& visit) const {
        if (rank == 3) { visit(z); }
        if (rank >= 2) { visit(y); }
        visit(x);
    }
    /// The outermost filtered axis: pieces of a problem are ranges of it.
    [[nodiscard]] const Axis& cut() const { return rank == 1 ? x : rank == 2 ? y : z; }
    [[nodiscard]] bool has_outer() const { return outer[0].length > 1; }
    [[nodiscard]] std::int64_t outer_length() const {
        return outer[0].length * outer[1].length * outer[2].length * outer[3].length;
    }
    /// Some axis has up, down or dilation.
    [[nodiscard]] bool changes_rate() const {
        const auto changes = [](const Axis& a) { return a.up != 1 || a.down != 1 || a.dilation != 1; };
        return changes(z) || changes(y) || changes(x);
    }
    /// Sums of integers in integers.
    [[nodiscard]] bool is_exact() const { return is_integer(dtype) && is_integer(taps_dtype); }
    /// Images whose pixels are what families for images take: channels side by side, pixels side by side.
    [[nodiscard]] bool has_packed_pixels() const { return x.in_stride == channels.length && x.out_stride == channels.length; }
};

/// Validates and fills in. `allow_unknown_length` is for streams, which have one filtered axis and lay out their rows themselves.
/// Throws Error, naming the axis by its number and its role where there are several.
Resolved resolve(const Problem& problem, bool allow_unknown_length = false);

/// Outputs of a mode along an axis without up, down and dilation (the table of modes); n may be kUnknownLength, then it is 0.
std::int64_t output_length_of(Mode mode, std::int64_t n, std::int64_t k);

/// A strided buffer: elements from its lowest address to its highest, and how far from there its first element lies.
struct Extent {
    std::int64_t elements = 0;
    std::int64_t start = 0;
};
Extent input_extent_of(const Resolved& problem);
Extent output_extent_of(const Resolved& problem);

/// The role of filtered axis `index` of `rank`: "x", "y" or "z".
const char* role_of_axis(int index, int rank);

}  // namespace tapline::core
