#include "call.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <new>

#include "devices_object.hpp"
#include "gpu_call.hpp"
#include "plain_call.hpp"
#include "plan_cache.hpp"
#include "tapline/convolve.hpp"

namespace tapline::python {
namespace {

// Giving the GIL away and taking it back costs 0.1 us, and much more when other threads want it: worth it from here on.
constexpr double kWorthReleasingSeconds = 5e-6;

constexpr std::array kConvolvePositional{Keyword::signal, Keyword::taps, Keyword::mode};
constexpr std::array kConvolveNamed{Keyword::axis,   Keyword::boundary, Keyword::constant, Keyword::origin, Keyword::accuracy,
                                    Keyword::device, Keyword::out,      Keyword::dtype,    Keyword::scale,  Keyword::bias,
                                    Keyword::clamp,  Keyword::overflow, Keyword::threads};

// The filtered axis last, the others in their order.
Owned axis_last(const Owned& array, int axis) {
    const int dimensions = PyArray_NDIM(array.array());
    if (dimensions == 1 || axis == dimensions - 1) { return Owned::borrowed(array.get()); }
    std::vector<npy_intp> order;
    for (int d = 0; d < dimensions; ++d) {
        if (d != axis) { order.push_back(d); }
    }
    order.push_back(axis);
    PyArray_Dims permutation{order.data(), dimensions};
    return Owned(PyArray_Transpose(array.array(), &permutation));
}

// Integer taps keep their values: one that does not fit the type they take beside this signal is an error.
void check_tap_values(const Owned& taps, Dtype from, Dtype signal) {
    const std::int64_t count = PyArray_SIZE(taps.array());
    if (from == Dtype::u64 && signal != Dtype::u64) {
        const Owned wide = converted(taps, NPY_ULONG, true);
        detail::check_tap_range(static_cast<const std::uint64_t*>(PyArray_DATA(wide.array())), count);
    }
    if (signal == Dtype::u64 && from >= Dtype::i8 && from <= Dtype::i64) {
        const Owned wide = converted(taps, NPY_LONG, true);
        detail::check_signed_taps(static_cast<const std::int64_t*>(PyArray_DATA(wide.array())), count);
    }
}

Owned new_array(const Shape& shape, Dtype dtype) {
    auto* dims = const_cast<npy_intp*>(shape.output.data());
    return Owned(PyArray_SimpleNew(static_cast<int>(shape.output.size()), dims, number_of_dtype(dtype)));
}

std::string text_of_shape(const npy_intp* dims, std::size_t count) {
    std::string text = "(";
    for (std::size_t i = 0; i < count; ++i) { text += (i == 0 ? "" : ", ") + std::to_string(dims[i]); }
    return text + (count == 1 ? ",)" : ")");
}

void check_out(PyArrayObject* out, const Prepared& prepared) {
    const std::vector<npy_intp>& wanted = prepared.shape.output;
    const auto dimensions = static_cast<std::size_t>(PyArray_NDIM(out));
    if (dimensions != wanted.size() || !std::equal(wanted.begin(), wanted.end(), PyArray_DIMS(out))) {
        raise(PyExc_ValueError, "out: its shape is " + text_of_shape(PyArray_DIMS(out), dimensions) +
                                    "; this problem's output has " + text_of_shape(wanted.data(), wanted.size()));
    }
    if (!PyArray_ISWRITEABLE(out)) { raise(PyExc_ValueError, "out: the array is read-only; give one that can be written"); }
}

PyObject* call(const char* function, Operation operation, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const Signature signature{function, kConvolvePositional, 2, kConvolveNamed};
    const Values values = collect(signature, arguments, count, names);
    if (PyObject* const result = plain_call(operation, values)) { return result; }
    if (is_on_gpu(values[Keyword::signal]) || is_on_gpu(values[Keyword::taps]) || is_on_gpu(values[Keyword::out]) ||
        is_list_on_gpus(values[Keyword::signal])) {
        return call_on_gpu(function, values);
    }
    const Request request = request_of(values, operation);
    const Owned given = as_array(values[Keyword::signal], "signal");
    const Dtype dtype = dtype_of_array(given.array(), "signal");
    PyObject* const out = values[Keyword::out];
    const std::span<const npy_intp> dims(PyArray_DIMS(given.array()), static_cast<std::size_t>(PyArray_NDIM(given.array())));
    Prepared prepared = prepare(request, dims, dtype, values[Keyword::taps], dtype_of_out(out));
    const Owned signal = readable(given, keep_narrow(prepared, dtype, request.options));
    Output output = output_of(prepared, out);
    const Layout layout =
        arrangement(prepared.problem, request.options, prepared.shape, signal.array(), output.work.array(), prepared.taps.array());
    execute(prepared.problem, request.options, layout, output.work.array(), signal.array(), prepared.taps.array());
    return output.finish();
}

}  // namespace

bool is_value_of(Dtype dtype, std::complex<double> number) {
    const double value = number.real();
    if (number.imag() != 0) { return false; }
    if (dtype != Dtype::f16) {
        const bool has_sign = dtype >= Dtype::i8 && dtype <= Dtype::i64;
        const int bits = 8 * static_cast<int>(size_of(dtype)) - (has_sign ? 1 : 0);
        const double most = dtype == Dtype::boolean ? 2 : std::ldexp(1.0, bits);
        return value == std::trunc(value) && value < most && value >= (has_sign ? -most : 0);
    }
    int exponent = 0;
    const double scaled = std::ldexp(std::frexp(value, &exponent), 11);
    return value == 0 || (scaled == std::trunc(scaled) && exponent > -14 && exponent <= 16);
}

const Prepared& keep_narrow(Prepared& prepared, Dtype dtype, const PlanOptions& options) {
    Problem& problem = prepared.problem;
    Types& types = prepared.types;
    const bool real = types.signal == types.taps && !is_integer(types.signal);
    if (!real || is_complex(types.signal) || options.device.starts_with("cuda")) { return prepared; }
    if (problem.boundary == Boundary::constant && !is_value_of(dtype, problem.constant)) { return prepared; }
    if (is_integer(dtype)) {
        problem.real_taps = types.taps;
    } else if (dtype == Dtype::f16 && types.taps == Dtype::f32) {
        if (types.output == Dtype::f16) { problem.output_dtype = Dtype::f16; }
    } else {
        return prepared;
    }
    types.signal = problem.dtype = dtype;
    return prepared;
}

Dtype dtype_of_array(PyArrayObject* array, const char* argument) {
    const std::optional<Dtype> dtype = dtype_of_number(PyArray_TYPE(array));
    if (!dtype) {
        raise(PyExc_TypeError, std::string(argument) + ": elements are " + name_of(array) +
                                   "; convert them to float64, complex128 or an integer type, for example with .astype(float)");
    }
    return *dtype;
}

std::optional<Dtype> dtype_of_out(PyObject* out) {
    if (out == nullptr || out == Py_None) { return std::nullopt; }
    if (!PyArray_Check(out)) { raise(PyExc_TypeError, "out: not an array; give a numpy.ndarray of the output's shape"); }
    return dtype_of_array(reinterpret_cast<PyArrayObject*>(out), "out");
}

Prepared prepare(const Request& request, std::span<const npy_intp> signal_shape, Dtype signal_dtype, PyObject* taps,
                 std::optional<Dtype> out_dtype) {
    if (out_dtype && request.output_dtype && *out_dtype != *request.output_dtype) {
        raise(PyExc_ValueError, std::string("dtype: ") + to_string(*request.output_dtype) + ", but out has " +
                                    to_string(*out_dtype) + "; leave dtype away");
    }
    const Owned array = as_array(taps, "taps");
    const Dtype taps_dtype = dtype_of_array(array.array(), "taps");
    const std::optional<Dtype> wanted = out_dtype ? out_dtype : request.output_dtype;
    const Types types = types_of(signal_dtype, taps_dtype, wanted);
    Prepared prepared = prepare(request, signal_shape, types, array);
    if (types.output == Dtype::f16) { prepared.problem.output_dtype = Dtype::f32; }
    return prepared;
}

Prepared prepare(const Request& request, std::span<const npy_intp> signal_shape, const Types& types, const Owned& taps) {
    if (is_integer(types.signal) && is_integer(types.taps) && request.problem.overflow == Overflow::error) {
        check_tap_values(taps, dtype_of_array(taps.array(), "taps"), types.signal);
    }
    Prepared prepared{types, shape_of(signal_shape, taps.array(), request.axis), request.problem, {}};
    const bool has_axes = PyArray_NDIM(taps.array()) > 1;
    const Owned array = has_axes ? axis_last(taps, prepared.shape.axis) : Owned::borrowed(taps.get());
    prepared.taps = converted(array, number_of_dtype(types.taps), true);
    Problem& problem = prepared.problem;
    problem.length = prepared.shape.length;
    problem.taps = prepared.shape.taps;
    problem.dtype = types.signal;
    problem.complex_taps = types.complex_taps;
    if (is_integer(types.signal) && !is_integer(types.taps)) { problem.real_taps = types.taps; }
    problem.output_dtype = types.output;
    prepared.shape.output[static_cast<std::size_t>(prepared.shape.axis)] = output_length(problem);
    return prepared;
}

Owned readable(const Owned& signal, const Prepared& prepared) {
    Owned array = converted(signal, number_of_dtype(prepared.types.signal), false);
    if (is_steppable(array.array(), prepared.shape.axis)) { return array; }
    return Owned(PyArray_NewCopy(array.array(), NPY_CORDER));
}

PyObject* Output::finish() {
    if (!same && PyArray_CopyInto(result.array(), work.array()) < 0) { throw PythonError{}; }
    return result.release();
}

Output output_of(const Prepared& prepared, PyObject* out) {
    const Dtype engine = *prepared.problem.output_dtype;
    Output output;
    if (out == nullptr || out == Py_None) {
        output.result = new_array(prepared.shape, prepared.types.output);
        output.same = engine == prepared.types.output;
    } else {
        auto* const array = reinterpret_cast<PyArrayObject*>(out);
        check_out(array, prepared);
        output.result = Owned::borrowed(out);
        output.same = engine == prepared.types.output && PyArray_ISBEHAVED(array) && is_steppable(array, prepared.shape.axis);
    }
    output.work = output.same ? Owned::borrowed(output.result.get()) : new_array(prepared.shape, engine);
    return output;
}

Layout arrangement(Problem& problem, const PlanOptions& options, const Shape& shape, PyArrayObject* signal, PyArrayObject* output,
                   PyArrayObject* taps) {
    const bool on_gpu = options.device.starts_with("cuda");
    return (on_gpu ? layout_of : host_layout_of)(problem, shape, signal, output, taps);
}

void execute(const Plan& plan, const Layout& layout, void* out, const void* in) {
    const WithoutGil without_gil(plan.predicted_seconds() * static_cast<double>(layout.executions()) > kWorthReleasingSeconds);
    if (layout.outer.empty()) { return plan.execute_host(out, in); }
    for_each_execution(layout, static_cast<const char*>(in), static_cast<char*>(out), nullptr, 0,
                       [&plan](const char* from, char* to, const char*) { plan.execute_host(to, from); });
}

void execute(const Problem& problem, const PlanOptions& options, const Layout& layout, PyArrayObject* out, PyArrayObject* in,
             PyArrayObject* taps) {
    if (layout.empty) { return validate(problem); }
    if (layout.has_one_filter()) {
        return execute(cached_plan(problem, PyArray_DATA(taps), options), layout, PyArray_DATA(out), PyArray_DATA(in));
    }
    const auto* const first_taps = static_cast<const char*>(PyArray_DATA(taps));
    const WithoutGil without_gil;
    for_each_execution(layout, static_cast<const char*>(PyArray_DATA(in)), static_cast<char*>(PyArray_DATA(out)), first_taps,
                       size_of(taps_dtype(problem)), [&](const char* from, char* to, const char* own_taps) {
                           make_plan(problem, own_taps, options).execute_host(to, from);
                       });
}

void set_python_error(const Error& error) {
    switch (error.code()) {
        case ErrorCode::argument:
            return PyErr_SetString(PyExc_ValueError, error.what());
        case ErrorCode::type:
            return PyErr_SetString(PyExc_TypeError, error.what());
        case ErrorCode::unsupported:
            return PyErr_SetString(PyExc_NotImplementedError, error.what());
        case ErrorCode::memory:
            return PyErr_SetString(PyExc_MemoryError, error.what());
        case ErrorCode::io:
            return PyErr_SetString(PyExc_OSError, error.what());
        case ErrorCode::device:
            break;
    }
    PyErr_SetString(PyExc_RuntimeError, error.what());
}

PyObject* guarded(const std::function<PyObject*()>& body) {
    try {
        return body();
    } catch (const PythonError&) {
    } catch (const Error& error) { set_python_error(error); } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) { PyErr_SetString(PyExc_RuntimeError, error.what()); }
    return nullptr;
}

PyObject* convolve(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    return guarded([=] { return call("convolve", Operation::convolution, arguments, count, names); });
}

PyObject* correlate(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    return guarded([=] { return call("correlate", Operation::correlation, arguments, count, names); });
}

}  // namespace tapline::python
