// A filter over one to three axes of an array in GPU memory of any layout, with as many outputs as samples: one execution.
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

/// `out` has the shape of `in`. `taps`: an axis for each of `axes`, in their order; beside integers real ones, in whose type sums
/// are formed, or integers. `as_in_c`: sums become integers as a C cast makes them, for outputs that are. `request`: operation,
/// constant, epilogue, accuracy and device. The plan is the cache's. Throws Error (unsupported) where no single execution does it.
std::shared_ptr<ArrangedCall> arrange_filter(const Request& request, const Lies& in, const Lies& out,
                                             const std::vector<FilterAxis>& axes, PyArrayObject* taps, bool as_in_c);

}  // namespace tapline::python
