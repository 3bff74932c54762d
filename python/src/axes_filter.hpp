// A filter over one to three axes of an array of any layout, with as many outputs as samples: one execution.
#pragma once

#include "gpu_call.hpp"

namespace tapline::python {

/// How an array lies: strides in bytes.
struct Lies {
    std::vector<npy_intp> shape, strides;
    Dtype dtype = Dtype::f32;
};

/// One axis that is filtered; `origin` is the tap, after any reversal, that sits on the output.
struct FilterAxis {
    int axis = 0;
    std::int64_t origin = 0;
    Boundary boundary = Boundary::zero;
};

/// Along which array's nearest neighbours rows lie.
enum class Rows { of_input, of_output };

/// `out` has the shape of `in`. `taps`: an axis for each of `axes`, in their order; beside integers real ones, in whose type sums
/// are formed, or integers. `as_in_c`: sums become integers as a C cast makes them, for outputs that are. `request`: operation,
/// constant, epilogue, accuracy and device. The plan is the cache's. Throws Error (unsupported) where no single execution does it.
Plan filter_plan(const Request& request, const Lies& in, const Lies& out, const std::vector<FilterAxis>& axes, PyArrayObject* taps,
                 bool as_in_c, Rows rows);

/// Whether all numbers of an array of integers or bools are less than a power of two from 0 that is at most `limit`; of f32 and f64
/// whether they are at most `limit` from 0, which a NaN is not.
bool is_within(PyArrayObject* array, double limit);

}  // namespace tapline::python
