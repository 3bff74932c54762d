// Where samples come from and go to: pieces of a signal in memory, and the boundary rule.
#pragma once

#include "core/problem/resolved.hpp"

namespace tapline::core {

/// Samples [first, last) along the cut axis (x of a signal, y of an image) of every item of the batch in memory; `data` is the
/// address of sample `first` of item 0. Along other axes memory steps as the problem says.
struct Piece {
    const void* data = nullptr;
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t batch_stride = 0;  ///< elements, from one item to the next
    std::int64_t stride = 1;        ///< elements, along the cut axis
};

/// What an execution may read. A whole call has main = [0, n); a stream has its history in `main` and, for Boundary::wrap,
/// the other end of the signal in `extra`. Samples that no wanted output needs may be missing.
struct Input {
    Piece main;
    /// Empty unless first < last. May also sit at positions outside [0, n), which then read it instead of the boundary rule:
    /// a wrapped stream whose length is not known yet has the signal's tail at [-tail, 0).
    Piece extra;
    std::int64_t n = 0;  ///< length of the whole signal; kUnknownLength while a stream does not know it
};

/// Outputs [first, first + count) along the cut axis of every item; `data` is the address of output `first` of item 0.
struct Output {
    void* data = nullptr;
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::int64_t batch_stride = 0;
    std::int64_t stride = 1;
};

/// Everything of a whole call.
Input whole_input(const Resolved& problem, const void* in);
Output whole_output(const Resolved& problem, void* out);

/// The sample that x(position) reads under a boundary rule: an index in [0, n), or -1 for a sample of the zero or constant
/// boundary. n >= 1. Positions may be any distance away (reflect and wrap repeat). Formulas: scipy.ndimage's modes.
std::int64_t boundary_index(Boundary boundary, std::int64_t position, std::int64_t n);

/// destination[i] = x(first + i) of one row for 0 <= i < count, as packed elements of type T, which is the C++ type of the
/// problem's dtype (std::complex for complex ones, bool as std::uint8_t, f16 and bf16 as std::uint16_t); boundary rule applied
/// (zero boundary: zeros). Samples of [0, n) which are in neither piece read as zero: only outputs that nobody asked for may depend
/// on them. Instantiated for every element type.
template <class T>
void gather(T* destination, const Resolved& problem, const Input& input, std::int64_t row, std::int64_t first, std::int64_t count);

/// The address of x(first) of one row if [first, first + count) lies inside `main` with sample stride 1, else nullptr.
template <class T>
const T* direct_view(const Input& input, std::int64_t row, std::int64_t first, std::int64_t count) {
    const Piece& piece = input.main;
    if (piece.stride != 1 || first < piece.first || first + count > piece.last) { return nullptr; }
    return static_cast<const T*>(piece.data) + row * piece.batch_stride + (first - piece.first);
}

}  // namespace tapline::core
