// NumPy's C interface, imported once (numpy_api.cpp) and shared by every file here, and what of it is used often.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_20_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tapline_numpy_api
#ifndef TAPLINE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <optional>
#include <string>
#include <utility>

#include "tapline/types.hpp"

namespace tapline::python {

/// A Python exception is set: carries nothing, because Python holds it.
struct PythonError {};

/// Sets a Python exception and throws PythonError.
[[noreturn]] void raise(PyObject* type, const std::string& message);

/// An owned reference.
class Owned {
public:
    Owned() = default;
    /// Takes a new reference; a null one means that Python has set an exception.
    explicit Owned(PyObject* object) : object_(object) {
        if (object == nullptr) { throw PythonError{}; }
    }
    Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Owned& operator=(Owned&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() { Py_XDECREF(object_); }

    static Owned borrowed(PyObject* object) {
        Py_INCREF(object);
        return Owned(object);
    }
    [[nodiscard]] PyObject* get() const { return object_; }
    [[nodiscard]] PyArrayObject* array() const { return reinterpret_cast<PyArrayObject*>(object_); }
    PyObject* release() { return std::exchange(object_, nullptr); }

private:
    PyObject* object_ = nullptr;
};

/// Other Python threads may run while this lives.
class WithoutGil {
public:
    explicit WithoutGil(bool really = true) : state_(really ? PyEval_SaveThread() : nullptr) {}
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;
    ~WithoutGil() {
        if (state_ != nullptr) { PyEval_RestoreThread(state_); }
    }

private:
    PyThreadState* state_;
};

/// Imports NumPy; throws PythonError if that fails.
void import_numpy();

/// The element type of one of NumPy's type numbers; nothing for those that tapline does not know.
std::optional<Dtype> dtype_of_number(int type_number);

/// NumPy's type number of an element type; -1 for bf16.
int number_of_dtype(Dtype dtype);

/// NumPy's name, "float32", for messages.
std::string name_of(PyArrayObject* array);

/// Any object as an array: itself, or what numpy.asarray makes of it.
Owned as_array(PyObject* object, const char* argument);

/// `array` itself if it has that type, is aligned and in native byte order (and contiguous if asked for), else a converted copy.
Owned converted(const Owned& array, int type_number, bool contiguous);

}  // namespace tapline::python
