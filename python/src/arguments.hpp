// Python's arguments, by position and by keyword, as what the library takes.
#pragma once

#include <array>
#include <span>

#include "numpy_api.hpp"
#include "tapline/plan.hpp"

namespace tapline::python {

/// Every keyword of every function here.
enum class Keyword {
    signal,
    taps,
    shape,
    mode,
    axis,
    boundary,
    constant,
    origin,
    accuracy,
    device,
    out,
    dtype,
    scale,
    bias,
    clamp,
    overflow,
    threads,
    operation,
    effort,
    algorithm,
};
inline constexpr std::size_t kKeywords = static_cast<std::size_t>(Keyword::algorithm) + 1;

/// What the caller gave, borrowed; null where nothing was given.
class Values {
public:
    PyObject*& operator[](Keyword keyword) { return values_[static_cast<std::size_t>(keyword)]; }
    PyObject* operator[](Keyword keyword) const { return values_[static_cast<std::size_t>(keyword)]; }

private:
    std::array<PyObject*, kKeywords> values_{};
};

/// What a function takes: `positional` may also be given by name, `named` must be.
struct Signature {
    const char* function;
    std::span<const Keyword> positional;
    std::size_t required;  ///< of the positional ones
    std::span<const Keyword> named;
};

/// The vectorcall convention: `count` arguments by position, then one for each of `names` (a tuple, or null).
Values collect(const Signature& signature, PyObject* const* arguments, Py_ssize_t count, PyObject* names);

/// The same from a tuple and a dictionary (which may be null).
Values collect(const Signature& signature, PyObject* tuple, PyObject* dictionary);

/// What was given, as a dictionary of keyword arguments.
Owned dictionary_of(const Values& values);

/// Everything about a call but its arrays. `problem` lacks sizes, strides and types.
struct Request {
    Problem problem;
    PlanOptions options;
    int axis = -1;
    std::optional<Dtype> output_dtype = std::nullopt;
};

Request request_of(const Values& values, Operation operation);

/// "reflect": ValueError for a name that is none.
Boundary boundary_of_name(const std::string& name);

/// An element type by name, numpy.dtype or NumPy's scalar type.
Dtype dtype_argument(PyObject* object);

/// Interns the keywords' names; once, when the module is loaded.
void intern_keywords();

}  // namespace tapline::python
