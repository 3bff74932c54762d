#include "torch/torch_call.hpp"

#include <algorithm>

#include "plain_call.hpp"
#include "tapline/depthwise.hpp"
#include "torch/torch_views.hpp"

namespace tapline::python {
namespace {

// What tells whether a call is to be seen: PyTorch's functions, each with what it answers where nobody looks.
class Watchers {
public:
    // Whether an operator's call would be followed: traced, transformed, differentiated forward, or watched by a mode. Compilation
    // is asked for in Python, where the compiler sees the question.
    [[nodiscard]] bool any() const {
        return !is_zero(function_modes_) || !is_zero(dispatch_modes_) || !is_none(tracing_) || !is_none(transform_) ||
               PyLong_AsLong(forward_level_.of(forward_ad_.get()).get()) >= 0;
    }
    [[nodiscard]] bool gradients_are_wanted() const { return Owned(PyObject_CallNoArgs(grad_enabled_.get())).get() == Py_True; }
    [[nodiscard]] bool is_parameter(PyObject* tensor) const {
        return reinterpret_cast<PyObject*>(Py_TYPE(tensor)) == parameter_.get();
    }

private:
    static bool is_zero(const Owned& function) { return PyLong_AsLong(Owned(PyObject_CallNoArgs(function.get())).get()) == 0; }
    static bool is_none(const Owned& function) { return Owned(PyObject_CallNoArgs(function.get())).get() == Py_None; }

    Owned function_modes_ = attribute_of_module("torch", {"_C", "_len_torch_function_stack"});
    Owned dispatch_modes_ = attribute_of_module("torch", {"_C", "_len_torch_dispatch_stack"});
    Owned tracing_ = attribute_of_module("torch", {"_C", "_get_tracing_state"});
    Owned transform_ = attribute_of_module("torch", {"_C", "_functorch", "maybe_current_level"});
    Owned forward_ad_ = attribute_of_module("torch", {"autograd", "forward_ad"});
    Owned grad_enabled_ = attribute_of_module("torch", {"is_grad_enabled"});
    Owned parameter_ = attribute_of_module("torch", {"nn", "Parameter"});
    Name forward_level_{"_current_level"};
};

bool is_summed(Dtype dtype) { return dtype == Dtype::f32 || dtype == Dtype::f64 || dtype == Dtype::f16 || dtype == Dtype::bf16; }

bool are_packed(const View& x, const View& taps) {
    const auto packed = [](const View& view) {
        auto step = static_cast<npy_intp>(size_of(view.dtype));
        for (auto d = static_cast<std::size_t>(view.axes); d-- > 0;) {
            if (view.shape[d] == 0 || (view.shape[d] > 1 && view.strides[d] != step)) { return false; }
            step *= view.shape[d];
        }
        return true;
    };
    return x.dtype == taps.dtype && x.device == taps.device && is_summed(x.dtype) && packed(x) && packed(taps);
}

// The problem's x as the engine takes it has three axes, or two, with one element in its batch; taps two, or one for all rows.
DepthwiseProblem problem_of(const View& x, const View& taps, std::int64_t origin, std::int64_t length) {
    const auto last = static_cast<std::size_t>(x.axes) - 1;
    DepthwiseProblem problem{.batch = x.axes == 3 ? x.shape[0] : 1,
                             .channels = x.shape[last - 1],
                             .length = x.shape[last],
                             .outputs = length,
                             .taps = taps.shape[static_cast<std::size_t>(taps.axes) - 1],
                             .origin = origin,
                             .dtype = x.dtype};
    if (taps.axes == 1) {  // all rows are signals of one channel
        problem.batch *= problem.channels;
        problem.channels = 1;
    }
    return problem;
}

PyObject* new_tensor(const Torch& torch, PyObject* like, const View& view, std::vector<npy_intp> shape, Dtype dtype) {
    const Owned of_shape = tuple_of_shape(shape), of_dtype(torch.dtype_object(dtype));
    return torch.empty(like, view, of_shape.get(), of_dtype.get());
}

PyObject* correlated(const Torch& torch, PyObject* tensor, const View& x, const View& taps, std::int64_t origin,
                     std::int64_t length) {
    const DepthwiseProblem problem = problem_of(x, taps, origin, length);
    Owned result;
    if (length == problem.length) {
        result = Owned(torch.empty_like(tensor));
    } else {
        std::vector<npy_intp> shape(x.shape.begin(), x.shape.begin() + x.axes);
        shape.back() = length;
        result = Owned(new_tensor(torch, tensor, x, shape, x.dtype));
    }
    View y, scratch;
    if (!torch.look(result.get(), y)) { return nullptr; }
    const std::size_t bytes = depthwise_correlate_workspace_bytes(problem, x.device);
    Owned workspace;
    if (bytes > 0) {  // long filters: what is made of them
        workspace = Owned(new_tensor(torch, tensor, x, {static_cast<npy_intp>(bytes)}, Dtype::u8));
        if (!torch.look(workspace.get(), scratch)) { return nullptr; }
    }
    void* const stream = at_address(torch.stream(x.device));
    {
        const WithoutGil without_gil;
        depthwise_correlate(problem, at_address(y.address), at_address(x.address), at_address(taps.address),
                            at_address(scratch.address), bytes, x.device, stream);
    }
    return result.release();
}

struct Outputs {
    std::int64_t origin, length;
};

// Nothing for what is no padding, or leaves no output.
std::optional<Outputs> outputs_of(PyObject* padding, std::int64_t n, std::int64_t k) {
    if (PyUnicode_CheckExact(padding)) {
        if (PyUnicode_CompareWithASCIIString(padding, "causal") == 0) { return Outputs{k - 1, n}; }
        if (PyUnicode_CompareWithASCIIString(padding, "same") == 0) { return Outputs{(k - 1) / 2, n}; }
        return std::nullopt;
    }
    if (!PyLong_CheckExact(padding)) { return std::nullopt; }
    const long zeros = PyLong_AsLong(padding);
    PyErr_Clear();
    constexpr long kMost = 1L << 40;
    if (zeros < 0 || zeros > kMost || n + 2 * zeros - k + 1 < 1) { return std::nullopt; }
    return Outputs{zeros, n + 2 * zeros - k + 1};
}

PyObject* none() { return Owned::borrowed(Py_None).release(); }

PyObject* conv1d(PyObject* tensor, PyObject* of_taps, PyObject* padding, PyObject* apply) {
    const GpuLibrary* const library = plain_library_of(Py_TYPE(tensor));
    const Torch* const torch = torch_library();
    const Watchers* const watching = made_once<Watchers>();  // null without those functions
    if (library == nullptr || library != torch || watching == nullptr) { return none(); }
    if (Py_TYPE(of_taps) != Py_TYPE(tensor) && !watching->is_parameter(of_taps)) { return none(); }
    View x, taps;
    if (!torch->look(tensor, x) || !torch->look(of_taps, taps) || !are_packed(x, taps) || watching->any()) { return none(); }
    const bool fits = (x.axes == 2 || x.axes == 3) &&
                      (taps.axes == 1 || (taps.axes == 2 && taps.shape[0] == x.shape[static_cast<std::size_t>(x.axes) - 2]));
    if (!fits) { return none(); }
    const std::int64_t n = x.shape[static_cast<std::size_t>(x.axes) - 1], k = taps.shape[static_cast<std::size_t>(taps.axes) - 1];
    const std::optional<Outputs> outputs = outputs_of(padding, n, k);
    if (!outputs) { return none(); }
    if ((torch->requires_grad(tensor) || torch->requires_grad(of_taps)) && watching->gradients_are_wanted()) {
        if (x.axes != 3 || taps.axes != 2) { return none(); }
        const Owned origin(PyLong_FromLongLong(outputs->origin)), length(PyLong_FromLongLong(outputs->length));
        PyObject* const arguments[] = {tensor, of_taps, origin.get(), length.get()};
        return Owned(PyObject_Vectorcall(apply, arguments, 4, nullptr)).release();
    }
    PyObject* const result = correlated(*torch, tensor, x, taps, outputs->origin, outputs->length);
    return result == nullptr ? none() : result;
}

PyObject* correlate_rows(PyObject* tensor, PyObject* of_taps, PyObject* origin, PyObject* length) {
    const Torch* const torch = torch_library();
    View x, taps;
    if (torch == nullptr || !torch->look(tensor, x) || !torch->look(of_taps, taps) || !are_packed(x, taps)) { return none(); }
    if (x.axes != 3 || taps.axes != 2 || taps.shape[0] != x.shape[1]) { return none(); }
    const std::int64_t first = PyLong_AsLongLong(origin), outputs = PyLong_AsLongLong(length);
    if (PyErr_Occurred() != nullptr) { throw PythonError{}; }
    if (outputs < 1) { return none(); }
    PyObject* const result = correlated(*torch, tensor, x, taps, first, outputs);
    return result == nullptr ? none() : result;
}

PyObject* with_four(PyObject* const* arguments, Py_ssize_t count,
                    PyObject* (*function)(PyObject*, PyObject*, PyObject*, PyObject*)) {
    return guarded([=] {
        if (count != 4) { raise(PyExc_TypeError, "four arguments are taken"); }
        return function(arguments[0], arguments[1], arguments[2], arguments[3]);
    });
}

}  // namespace

PyObject* conv1d_on_gpu(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) {
    return with_four(arguments, count, conv1d);
}

PyObject* correlate_rows_on_gpu(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) {
    return with_four(arguments, count, correlate_rows);
}

}  // namespace tapline::python
