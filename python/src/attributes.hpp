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
    [[nodiscard]] Owned call(PyObject* object) const { return Owned(PyObject_VectorcallMethod(object_, &object, 1, nullptr)); }

private:
    PyObject* object_;
};

/// function(argument).
inline Owned call_of(const Owned& function, PyObject* argument) {
    return Owned(PyObject_Vectorcall(function.get(), &argument, 1, nullptr));
}

/// module.path[0].path[1]...
Owned attribute_of_module(const char* module, std::initializer_list<const char*> path);

/// An address as Python has it. Throws PythonError for what is none.
std::uintptr_t address_of(PyObject* number);

/// `view`'s axes from tuples; the strides are in units of `unit` bytes. False: more axes than there is room for.
bool read_axes(const Owned& shape, const Owned& strides, npy_intp unit, View& view);

/// The only T, made when it is first asked for; null where that was an error of Python's. No guard of C++'s: T() may hand the GIL
/// to a thread that would wait for it.
template <class T>
const T* made_once() {
    static const T* made = nullptr;
    static bool asked = false;
    if (!asked) {
        try {
            made = new T;
        } catch (const PythonError&) { PyErr_Clear(); }
        asked = true;
    }
    return made;
}

}  // namespace tapline::python
