// Attributes of Python's objects by names that are looked up often.
#pragma once

#include <initializer_list>

#include "gpu_views.hpp"

namespace tapline::python {

/// Attributes and methods by interned name.
class Name {
public:
    explicit Name(const char* text) : object_(Owned(PyUnicode_InternFromString(text)).release()) {}
    [[nodiscard]] Owned of(PyObject* object) const { return Owned(PyObject_GetAttr(object, object_)); }
    [[nodiscard]] Owned call(PyObject* object) const { return Owned(PyObject_CallMethodNoArgs(object, object_)); }

private:
    PyObject* object_;
};

/// module.path[0].path[1]...
Owned attribute_of_module(const char* module, std::initializer_list<const char*> path);

/// An address as Python has it. Throws PythonError for what is none.
std::uintptr_t address_of(PyObject* number);

/// `view`'s axes from tuples; the strides are in units of `unit` bytes. False: more axes than there is room for.
bool read_axes(const Owned& shape, const Owned& strides, npy_intp unit, View& view);

}  // namespace tapline::python
