// An N-dimensional call as one problem: rows in memory along the axis, a batch of them, and a loop around where needed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "numpy_api.hpp"
#include "tapline/problem.hpp"

namespace tapline::python {

/// The types of one call. 16-bit floating results are computed in f32 and rounded once.
struct Types {
    Dtype signal;
    Dtype taps;
    Dtype output;
    bool complex_taps;
};

/// NumPy's promotion: integers stay integers with an i64 result; beside a floating type they take f32 up to 16 bits, else f64.
Types types_of(Dtype signal, Dtype taps, std::optional<Dtype> output);

/// One axis beside the one that is filtered; strides in bytes, those of the taps in elements.
struct Dimension {
    std::int64_t count;
    std::int64_t in_stride;
    std::int64_t out_stride;
    std::int64_t taps_stride;  ///< 0: one filter for all
};

struct Layout {
    Dimension batch{1, 0, 0, 0};   ///< the rows of one execution
    std::vector<Dimension> outer;  ///< executed one after the other
    bool empty = false;            ///< no rows at all

    [[nodiscard]] std::int64_t executions() const;
    /// Whether all executions use the same taps.
    [[nodiscard]] bool has_one_filter() const;
};

/// What `signal` and `taps` have along the filtered axis, and the shape of everything else.
struct Shape {
    int axis = 0;
    std::int64_t length = 0;
    std::int64_t taps = 0;
    std::vector<npy_intp> output;  ///< the output's shape, `output[axis]` still to be set
};

/// `taps` is one-dimensional, or its other axes broadcast against the signal's: one filter a row. Raises ValueError.
Shape shape_of(std::span<const npy_intp> signal, PyArrayObject* taps, int axis);

/// Whether samples along the axis lie whole elements apart, to either side.
bool is_steppable(PyArrayObject* array, int axis);

/// Fills in the problem's strides and batch. Signal and output are steppable, the taps contiguous with the axis last.
Layout layout_of(Problem& problem, const Shape& shape, PyArrayObject* signal, PyArrayObject* output, PyArrayObject* taps);

/// What would be executed one after the other becomes batch axes of the problem, where that has as many and can say how they lie.
void fold_outer(Problem& problem, Layout& layout);

/// layout_of() for the host, which folds rows that share a filter or have not too many.
Layout host_layout_of(Problem& problem, const Shape& shape, PyArrayObject* signal, PyArrayObject* output, PyArrayObject* taps);

/// Calls `body(in, out, taps)` with the addresses of each execution; a tap has `taps_size` bytes.
template <class Body>
void for_each_execution(const Layout& layout, const char* in, char* out, const char* taps, std::size_t taps_size, Body body) {
    std::vector<std::int64_t> index(layout.outer.size(), 0);
    for (std::int64_t left = layout.executions(); left > 0; --left) {
        body(in, out, taps);
        for (std::size_t d = index.size(); d-- > 0;) {
            const Dimension& dimension = layout.outer[d];
            const bool carry = ++index[d] == dimension.count;
            const std::int64_t steps = carry ? 1 - dimension.count : 1;
            if (carry) { index[d] = 0; }
            in += steps * dimension.in_stride;
            out += steps * dimension.out_stride;
            taps += steps * dimension.taps_stride * static_cast<std::int64_t>(taps_size);
            if (!carry) { break; }
        }
    }
}

}  // namespace tapline::python
