#include "attributes.hpp"

namespace tapline::python {
namespace {

npy_intp number_in(PyObject* tuple, int index) {
    const npy_intp value = PyLong_AsSsize_t(PyTuple_GetItem(tuple, index));
    if (value == -1 && PyErr_Occurred() != nullptr) { throw PythonError{}; }
    return value;
}

}  // namespace

Owned attribute_of_module(const char* module, std::initializer_list<const char*> path) {
    Owned at(PyImport_ImportModule(module));
    for (const char* name : path) { at = Owned(PyObject_GetAttrString(at.get(), name)); }
    return at;
}

std::uintptr_t address_of(PyObject* number) {
    const std::uintptr_t value = PyLong_AsSize_t(number);
    if (value == static_cast<std::uintptr_t>(-1) && PyErr_Occurred() != nullptr) { throw PythonError{}; }
    return value;
}

bool read_axes(const Owned& shape, const Owned& strides, npy_intp unit, View& view) {
    if (!PyTuple_Check(shape.get()) || !PyTuple_Check(strides.get())) { return false; }
    const Py_ssize_t axes = PyTuple_Size(shape.get());
    if (axes > kViewAxes || PyTuple_Size(strides.get()) != axes) { return false; }
    view.axes = static_cast<int>(axes);
    for (int d = 0; d < view.axes; ++d) {
        const auto at = static_cast<std::size_t>(d);
        view.shape[at] = number_in(shape.get(), d);
        view.strides[at] = unit * number_in(strides.get(), d);
    }
    return true;
}

}  // namespace tapline::python
