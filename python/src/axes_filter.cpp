#include "axes_filter.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <type_traits>

#include "plan_cache.hpp"

namespace tapline::python {
namespace {

[[noreturn]] void refuse(const char* why) { throw Error(ErrorCode::unsupported, why); }

std::int64_t in_elements(npy_intp bytes, Dtype dtype) {
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    if (bytes % size != 0) { refuse("strides: elements do not lie whole elements apart"); }
    return bytes / size;
}

// Neighbours that step as one axis are one; axes of one element are none.
std::vector<BatchAxis> batch_axes_of(const Lies& in, const Lies& out, const std::vector<FilterAxis>& axes) {
    std::vector<BatchAxis> all;
    for (std::size_t d = 0; d < in.shape.size(); ++d) {
        const bool is_filtered =
            std::any_of(axes.begin(), axes.end(), [d](const FilterAxis& a) { return a.axis == static_cast<int>(d); });
        if (is_filtered || in.shape[d] == 1) { continue; }
        const std::int64_t from = in_elements(in.strides[d], in.dtype), to = in_elements(out.strides[d], out.dtype);
        const std::int64_t count = in.shape[d];
        if (!all.empty() && *all.back().input_stride == count * from && *all.back().output_stride == count * to) {
            all.back() = {all.back().length * count, from, to, 0};
        } else {
            all.push_back({count, from, to, 0});
        }
    }
    return all;
}

}  // namespace

Plan filter_plan(const Request& request, const Lies& in, const Lies& out, const std::vector<FilterAxis>& axes, PyArrayObject* taps,
                 bool as_in_c, Rows rows) {
    Problem problem = request.problem;
    problem.mode = Mode::same;
    problem.dtype = in.dtype;
    problem.output_dtype = out.dtype;
    const Dtype taps_type = dtype_of_array(taps, "taps");
    problem.complex_taps = is_complex(taps_type);
    if (as_in_c) { problem.overflow = is_integer(taps_type) ? Overflow::wrap : Overflow::truncate; }
    if (is_integer(in.dtype) && !is_integer(taps_type)) { problem.real_taps = taps_type; }

    // The axis along which neighbours lie in memory is the innermost: kernels for images take it as a row.
    const Lies& array = rows == Rows::of_output ? out : in;
    std::vector<std::size_t> order(axes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto stride_of = [&](std::size_t i) { return std::abs(array.strides[static_cast<std::size_t>(axes[i].axis)]); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return stride_of(a) > stride_of(b); });
    std::vector<npy_intp> permutation;
    for (const std::size_t i : order) {
        const FilterAxis& a = axes[i];
        const auto d = static_cast<std::size_t>(a.axis);
        problem.axes.push_back({.length = in.shape[d],
                                .taps = PyArray_DIM(taps, static_cast<int>(i)),
                                .boundary = a.boundary,
                                .origin = a.origin,
                                .input_stride = in_elements(in.strides[d], in.dtype),
                                .output_stride = in_elements(out.strides[d], out.dtype)});
        permutation.push_back(static_cast<npy_intp>(i));
    }
    const std::vector<BatchAxis> batch = batch_axes_of(in, out, axes);
    if (batch.size() > problem.batch_axes.capacity()) { refuse("batch_axes: more than one launch steps through"); }
    for (const BatchAxis& axis : batch) { problem.batch_axes.push_back(axis); }

    PyArray_Dims dims{permutation.data(), static_cast<int>(permutation.size())};
    const Owned arranged(PyArray_Transpose(taps, &dims));
    const Owned ready = converted(arranged, number_of_dtype(taps_dtype(problem)), true);
    return cached_plan(problem, PyArray_DATA(ready.array()), request.options);
}

namespace {

// Calls holds(address, count) for runs of elements that lie side by side, until it is false of one: rows of two axes where they
// lie, else all of a packed copy.
template <class T, class Holds>
bool all_runs(PyArrayObject* array, const Holds& holds) {
    const bool in_rows = PyArray_NDIM(array) == 2 && PyArray_STRIDE(array, 1) == sizeof(T) && PyArray_ISALIGNED(array);
    if (!in_rows) {
        const Owned packed = converted(Owned::borrowed(reinterpret_cast<PyObject*>(array)), PyArray_TYPE(array), true);
        return holds(static_cast<const T*>(PyArray_DATA(packed.array())), PyArray_SIZE(packed.array()));
    }
    const auto* const first = static_cast<const char*>(PyArray_DATA(array));
    for (npy_intp row = 0; row < PyArray_DIM(array, 0); ++row) {
        if (!holds(reinterpret_cast<const T*>(first + row * PyArray_STRIDE(array, 0)), PyArray_DIM(array, 1))) { return false; }
    }
    return true;
}

}  // namespace

bool is_within(PyArrayObject* array, double limit) {
    // Numbers from -bound to below bound, or from 0, become ones without the bits above: sums and ors are whole vectors everywhere.
    const auto within = [&]<class T>(T) {
        using Bits = std::make_unsigned_t<T>;
        constexpr int kMost = std::numeric_limits<Bits>::digits - 2;
        const Bits bound = Bits{1} << std::clamp(limit >= 1 ? std::ilogb(limit) : 0, 0, kMost);
        const Bits up = std::is_signed_v<T> ? bound : 0;
        return all_runs<T>(array, [=](const T* at, npy_intp n) {
            Bits all = 0;
            for (npy_intp i = 0; i < n; ++i) { all |= static_cast<Bits>(at[i]) + up; }
            return all < bound + up;
        });
    };
    // Magnitudes of floats compare as their bits do: those beyond the limit reach the highest bit.
    const auto real_within = [&]<class T>(T) {
        using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
        constexpr Bits kMagnitude = std::numeric_limits<Bits>::max() / 2;
        const Bits up = kMagnitude - (std::bit_cast<Bits>(static_cast<T>(limit)) & kMagnitude);
        return all_runs<T>(array, [=](const T* at, npy_intp n) {
            Bits all = 0;
            for (npy_intp i = 0; i < n; ++i) { all |= (std::bit_cast<Bits>(at[i]) & kMagnitude) + up; }
            return all <= kMagnitude;
        });
    };
    switch (dtype_of_array(array, "array")) {
        case Dtype::f32:
            return real_within(float{});
        case Dtype::f64:
            return real_within(double{});
        case Dtype::i32:
            return within(std::int32_t{});
        case Dtype::u32:
            return within(std::uint32_t{});
        case Dtype::i64:
            return within(std::int64_t{});
        case Dtype::u64:
            return within(std::uint64_t{});
        default:
            return limit >= 65535;
    }
}

}  // namespace tapline::python
