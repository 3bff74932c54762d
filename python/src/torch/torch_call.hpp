// tapline.torch.conv1d of tensors in GPU memory without Python on the way.
#pragma once

#include "numpy_api.hpp"

namespace tapline::python {

/// conv1d_on_gpu(x, taps, padding, apply), in the vectorcall convention: the result; None where something is not plain (a tensor of
/// another type or place, with gaps, or wrong; an operator's call that is to be seen by a mode or a transformation), which the
/// caller then looks at. Where a gradient is wanted, apply(x, taps, origin, length) gives the result.
PyObject* conv1d_on_gpu(PyObject* module, PyObject* const* arguments, Py_ssize_t count);

/// correlate_rows_on_gpu(x, taps, origin, length): x (batch, channels, n), taps (channels, k), packed and of one type; the same
/// None.
PyObject* correlate_rows_on_gpu(PyObject* module, PyObject* const* arguments, Py_ssize_t count);

}  // namespace tapline::python
