// One call: arrays of any kind in, the library's problem solved, an array out.
#pragma once

#include <complex>
#include <functional>
#include <span>

#include "arguments.hpp"
#include "layout.hpp"

namespace tapline::python {

/// A call up to its buffers.
struct Prepared {
    Types types;
    Shape shape;
    Problem problem;  ///< complete but for strides and batch; its output type is never f16
    Owned taps;       ///< converted, contiguous, the axis last
};

/// Checks and converts the taps and settles types and shapes. `out_dtype` is that of the caller's `out`, if any.
Prepared prepare(const Request& request, std::span<const npy_intp> signal_shape, Dtype signal_dtype, PyObject* taps,
                 std::optional<Dtype> out_dtype);

/// The same with types at hand; the problem's output type is `types.output`. `taps`: as the caller gave them, in host memory.
Prepared prepare(const Request& request, std::span<const npy_intp> signal_shape, const Types& types, const Owned& taps);

/// Whether a number has a value of this type, an integer one or float16: of that one 11 bits wide.
bool is_value_of(Dtype dtype, std::complex<double> number);

/// Leaves integers beside real taps and float16 to the engine, which widens them as it reads, unless the boundary's constant is
/// none of theirs. `dtype` is that of the caller's signal.
const Prepared& keep_narrow(Prepared& prepared, Dtype dtype, const PlanOptions& options);

/// The element type of an array; TypeError with the remedy for those that tapline does not know.
Dtype dtype_of_array(PyArrayObject* array, const char* argument);

/// `signal` as the engine reads it: itself wherever its type and strides allow, else a copy.
Owned readable(const Owned& signal, const Prepared& prepared);

/// Where the engine writes (`work`) and what the caller gets; mostly the same array.
struct Output {
    Owned work;
    Owned result;
    bool same = true;

    /// Copies `work` to `result` if they differ, and gives the result.
    PyObject* finish();
};

/// A new array, or the caller's `out` (which may be null or None) after checking it.
Output output_of(const Prepared& prepared, PyObject* out);

/// The element type of the caller's `out`; nothing for null or None. TypeError if it is no array.
std::optional<Dtype> dtype_of_out(PyObject* out);

/// host_layout_of() where the host may execute it, else layout_of().
Layout arrangement(Problem& problem, const PlanOptions& options, const Shape& shape, PyArrayObject* signal, PyArrayObject* output,
                   PyArrayObject* taps);

/// Executes all of a layout. Called with the GIL held; released while the work is worth it.
void execute(const Problem& problem, const PlanOptions& options, const Layout& layout, PyArrayObject* out, PyArrayObject* in,
             PyArrayObject* taps);

/// The same with a plan at hand, where one filter (or one a row of the batch) serves all.
void execute(const Plan& plan, const Layout& layout, void* out, const void* in);

/// tapline.convolve and tapline.correlate, in the vectorcall convention.
PyObject* convolve(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* names);
PyObject* correlate(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* names);

/// Runs `body`; a tapline::Error or std::bad_alloc becomes a Python exception. Null if there was one.
PyObject* guarded(const std::function<PyObject*()>& body);

/// Sets the Python exception for an Error: ValueError, TypeError, NotImplementedError, MemoryError, OSError or RuntimeError.
void set_python_error(const Error& error);

}  // namespace tapline::python
