#include "torch/torch_views.hpp"

namespace tapline::python {

Torch::Torch()
    : get_stream_(attribute_of_module("torch", {"_C", "_cuda_getCurrentRawStream"})),
      empty_like_(attribute_of_module("torch", {"empty_like"})),
      exchange_(dlpack::exchange_of(attribute_of_module("torch", {"Tensor"}).get())) {
    const Owned module(PyImport_ImportModule("torch"));
    for (std::size_t i = 0; i < dtypes_.size(); ++i) {
        const char* const name = numpy_name(static_cast<Dtype>(i));
        if (PyObject_HasAttrString(module.get(), name) != 0) { dtypes_[i] = Owned(PyObject_GetAttrString(module.get(), name)); }
    }
}

bool Torch::read(PyObject* array, View& view) const { return !requires_grad(array) && look(array, view); }

// A lazy view's elements are not those in memory.
bool Torch::look(PyObject* tensor, View& view) const {
    if (exchange_ == nullptr) { return look_by_attributes(tensor, view); }
    dlpack::Tensor there{};
    if (exchange_->look(tensor, &there) != 0) {
        PyErr_Clear();
        return false;
    }
    const std::optional<Dtype> dtype = dlpack::dtype_of(there.type);
    if (there.device.type != dlpack::kCuda || there.axes > kViewAxes || there.strides == nullptr || !dtype) { return false; }
    if (is_neg_.call(tensor).get() != Py_False || (is_complex(*dtype) && is_conj_.call(tensor).get() != Py_False)) { return false; }
    view.dtype = *dtype;
    view.device = there.device.index;
    view.address = reinterpret_cast<std::uintptr_t>(there.data) + there.byte_offset;
    view.axes = there.axes;
    const auto size = static_cast<npy_intp>(size_of(*dtype));
    for (std::size_t d = 0; d < static_cast<std::size_t>(there.axes); ++d) {
        view.shape[d] = there.shape[d];
        view.strides[d] = size * there.strides[d];
    }
    return true;
}

bool Torch::look_by_attributes(PyObject* tensor, View& view) const {
    const Owned device(get_device_.call(tensor));
    view.device = static_cast<int>(PyLong_AsLong(device.get()));  // -1 on the CPU
    if (view.device < 0 || is_cuda_.of(tensor).get() != Py_True) { return false; }
    if (is_conj_.call(tensor).get() != Py_False || is_neg_.call(tensor).get() != Py_False) { return false; }
    const Owned dtype = dtype_.of(tensor);
    std::size_t number = 0;
    while (number < dtypes_.size() && dtypes_[number].get() != dtype.get()) { ++number; }
    if (number == dtypes_.size()) { return false; }
    view.dtype = static_cast<Dtype>(number);
    view.address = address_of(data_ptr_.call(tensor).get());
    return read_axes(shape_.of(tensor), stride_.call(tensor), static_cast<npy_intp>(size_of(view.dtype)), view);
}

PyObject* Torch::empty(PyObject* like, const View& /*view*/, PyObject* shape, PyObject* dtype) const {
    static PyObject* const name = PyUnicode_InternFromString("new_empty");
    static PyObject* const names = Py_BuildValue("(s)", "dtype");
    PyObject* const arguments[] = {like, shape, dtype};
    return Owned(PyObject_VectorcallMethod(name, arguments, 2, names)).release();
}

PyObject* Torch::empty_like(PyObject* tensor) const { return call_of(empty_like_, tensor).release(); }

PyObject* Torch::dtype_object(Dtype dtype) const {
    return Owned::borrowed(dtypes_[static_cast<std::size_t>(dtype)].get()).release();
}

std::uintptr_t Torch::stream(int device) const {
    if (exchange_ != nullptr) {
        void* current = nullptr;
        if (exchange_->stream(dlpack::kCuda, device, &current) != 0) { throw PythonError{}; }
        return reinterpret_cast<std::uintptr_t>(current);
    }
    const Owned number(PyLong_FromLong(device));
    return address_of(call_of(get_stream_, number.get()).get());
}

const Torch* torch_library() { return made_once<Torch>(); }

}  // namespace tapline::python
