#include "layout.hpp"

#include <algorithm>
#include <cstdlib>

namespace tapline::python {
namespace {

// The floating type that an element takes beside floating ones.
bool needs_double(Dtype dtype) {
    const Dtype real = real_part_of(dtype);
    return real == Dtype::f64 || (is_integer(real) && size_of(real) > 2);
}

bool stays_half(Dtype dtype) { return dtype == Dtype::f16 || (is_integer(dtype) && size_of(dtype) == 1); }

std::int64_t stride_at(PyArrayObject* array, int dimension) {
    return PyArray_DIM(array, dimension) == 1 ? 0 : PyArray_STRIDE(array, dimension);
}

// Neighbours that lie in memory as one longer axis become one.
void merge(std::vector<Dimension>& dimensions) {
    std::size_t last = 0;
    for (std::size_t i = 1; i < dimensions.size(); ++i) {
        Dimension& a = dimensions[last];
        const Dimension& b = dimensions[i];
        const bool one = a.in_stride == b.count * b.in_stride && a.out_stride == b.count * b.out_stride &&
                         a.taps_stride == b.count * b.taps_stride;
        if (one) {
            a = {a.count * b.count, b.in_stride, b.out_stride, b.taps_stride};
        } else {
            dimensions[++last] = b;
        }
    }
    if (!dimensions.empty()) { dimensions.resize(last + 1); }
}

// Whether the rows of a dimension can be the batch of one problem.
bool can_be_batch(const Dimension& d, const Problem& problem, std::int64_t outputs) {
    const auto in = static_cast<std::int64_t>(size_of(problem.dtype));
    const auto out = static_cast<std::int64_t>(size_of(*problem.output_dtype));
    if (d.out_stride == 0 || d.in_stride % in != 0 || d.out_stride % out != 0) { return false; }
    const std::int64_t row = std::abs(d.out_stride / out), sample = std::abs(*problem.output_sample_stride);
    return row >= (outputs - 1) * sample + 1 || sample >= (d.count - 1) * row + 1;
}

}  // namespace

Types types_of(Dtype signal, Dtype taps, std::optional<Dtype> output) {
    if (is_integer(signal) && is_integer(taps)) {
        return {signal, signal == Dtype::u64 ? Dtype::u64 : Dtype::i64, output.value_or(Dtype::i64), false};
    }
    const bool wide = needs_double(signal) || needs_double(taps);
    const bool complex_taps = is_complex(taps);
    const Dtype real = wide ? Dtype::f64 : Dtype::f32;
    const Dtype complex = wide ? Dtype::complex128 : Dtype::complex64;
    const Dtype common = complex_taps || is_complex(signal) ? complex : real;
    const Dtype natural = stays_half(signal) && stays_half(taps) ? Dtype::f16 : common;
    return {common, complex_taps ? complex : real, output.value_or(natural), complex_taps};
}

std::int64_t Layout::executions() const {
    std::int64_t count = empty ? 0 : 1;
    for (const Dimension& d : outer) { count *= d.count; }
    return count;
}

bool Layout::has_one_filter() const {
    return std::all_of(outer.begin(), outer.end(), [](const Dimension& d) { return d.taps_stride == 0; });
}

Shape shape_of(std::span<const npy_intp> signal, PyArrayObject* taps, int axis) {
    const int dimensions = static_cast<int>(signal.size());
    if (dimensions == 0) { raise(PyExc_ValueError, "signal: a single number; give an array with at least one axis"); }
    if (axis < -dimensions || axis >= dimensions) {
        raise(PyExc_ValueError, "axis: " + std::to_string(axis) + " is out of range for a signal with " +
                                    std::to_string(dimensions) + (dimensions == 1 ? " axis" : " axes"));
    }
    Shape shape;
    shape.axis = axis < 0 ? axis + dimensions : axis;
    shape.length = signal[static_cast<std::size_t>(shape.axis)];
    shape.output.assign(signal.begin(), signal.end());
    if (PyArray_NDIM(taps) == 1) {
        shape.taps = PyArray_DIM(taps, 0);
        return shape;
    }
    if (PyArray_NDIM(taps) != dimensions) {
        raise(PyExc_ValueError, "taps: " + std::to_string(PyArray_NDIM(taps)) + " axes; give one axis, or as many as the signal (" +
                                    std::to_string(dimensions) + ") for a filter of each row's own");
    }
    shape.taps = PyArray_DIM(taps, shape.axis);
    for (int d = 0; d < dimensions; ++d) {
        if (d == shape.axis) { continue; }
        const npy_intp a = signal[static_cast<std::size_t>(d)];
        const npy_intp b = PyArray_DIM(taps, d);
        if (a != b && a != 1 && b != 1) {
            raise(PyExc_ValueError, "taps: " + std::to_string(b) + " filters along axis " + std::to_string(d) +
                                        " of a signal with " + std::to_string(a) + " rows there; give as many, or 1");
        }
        shape.output[static_cast<std::size_t>(d)] = a == 1 ? b : a;
    }
    return shape;
}

bool is_steppable(PyArrayObject* array, int axis) {
    if (PyArray_DIM(array, axis) <= 1) { return true; }
    const npy_intp stride = PyArray_STRIDE(array, axis);
    return stride != 0 && stride % PyArray_ITEMSIZE(array) == 0;
}

Layout layout_of(Problem& problem, const Shape& shape, PyArrayObject* signal, PyArrayObject* output, PyArrayObject* taps) {
    const int axis = shape.axis;
    const auto samples_apart = [axis](PyArrayObject* array) {
        // Arrays without elements may have strides of 0.
        const npy_intp stride = PyArray_STRIDE(array, axis) / PyArray_ITEMSIZE(array);
        return PyArray_DIM(array, axis) <= 1 || stride == 0 ? 1 : stride;
    };
    problem.input_sample_stride = samples_apart(signal);
    problem.output_sample_stride = samples_apart(output);
    const std::int64_t outputs = PyArray_DIM(output, axis);

    Layout layout;
    std::vector<Dimension>& outer = layout.outer;
    const bool own_filters = PyArray_NDIM(taps) > 1;
    int taps_dimension = 0;
    for (int d = 0; d < PyArray_NDIM(output); ++d) {
        if (d == axis) { continue; }
        const std::int64_t count = PyArray_DIM(output, d);
        if (count == 0) { layout.empty = true; }
        const std::int64_t taps_stride = own_filters ? stride_at(taps, taps_dimension++) / PyArray_ITEMSIZE(taps) : 0;
        if (count != 1) { outer.push_back({count, stride_at(signal, d), stride_at(output, d), taps_stride}); }
    }
    if (outer.empty() || layout.empty) { return layout; }
    merge(outer);
    auto best = outer.end();
    for (auto it = outer.begin(); it != outer.end(); ++it) {
        if (can_be_batch(*it, problem, outputs) && (best == outer.end() || it->count > best->count)) { best = it; }
    }
    if (best == outer.end()) { return layout; }
    layout.batch = *best;
    outer.erase(best);
    problem.batch = layout.batch.count;
    problem.input_row_stride = layout.batch.in_stride / static_cast<std::int64_t>(size_of(problem.dtype));
    problem.output_row_stride = layout.batch.out_stride / static_cast<std::int64_t>(size_of(*problem.output_dtype));
    if (layout.batch.taps_stride != 0) {
        problem.filters = Filters::per_row;
        problem.taps_row_stride = layout.batch.taps_stride;
    }
    return layout;
}

void fold_outer(Problem& problem, Layout& layout) {
    const auto in = static_cast<std::int64_t>(size_of(problem.dtype));
    const auto out = static_cast<std::int64_t>(size_of(*problem.output_dtype));
    std::vector<Dimension> all = layout.outer;
    if (layout.batch.count > 1) { all.push_back(layout.batch); }
    const bool fits = std::all_of(all.begin(), all.end(), [&](const Dimension& d) {
        return d.in_stride % in == 0 && d.out_stride % out == 0 && d.out_stride != 0 && d.taps_stride >= 0;
    });
    if (layout.outer.empty() || all.size() > problem.batch_axes.capacity() || !fits) { return; }
    for (const Dimension& d : all) { problem.batch_axes.push_back({d.count, d.in_stride / in, d.out_stride / out, d.taps_stride}); }
    const Problem plain;
    problem.batch = plain.batch;
    problem.filters = plain.filters;
    problem.input_row_stride = problem.output_row_stride = problem.taps_row_stride = std::nullopt;
    layout.batch = {1, 0, 0, 0};
    layout.outer.clear();
}

Layout host_layout_of(Problem& problem, const Shape& shape, PyArrayObject* signal, PyArrayObject* output, PyArrayObject* taps) {
    Layout layout = layout_of(problem, shape, signal, output, taps);
    // A plan holds something for each filter; of more of them it is made for one execution after the other.
    constexpr std::int64_t kMostFilters = 1 << 14;
    // Of few taps that are summed directly in floating point, as small integers are, it holds nothing else.
    constexpr std::int64_t kMostFewTaps = 64, kMostFiltersOfFewTaps = 1 << 20;
    std::int64_t filters = layout.batch.taps_stride != 0 ? layout.batch.count : 1;
    for (const Dimension& d : layout.outer) { filters *= d.taps_stride != 0 ? d.count : 1; }
    const bool wide = is_integer(problem.dtype) && !problem.real_taps && size_of(problem.dtype) > 2;
    const std::int64_t most = !wide && problem.taps <= kMostFewTaps ? kMostFiltersOfFewTaps : kMostFilters;
    if (layout.batch.count > 1 && filters <= most) { fold_outer(problem, layout); }
    return layout;
}

}  // namespace tapline::python
