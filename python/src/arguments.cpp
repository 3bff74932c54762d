#include "arguments.hpp"

namespace tapline::python {
namespace {

constexpr std::array<const char*, kKeywords> kNames{
    "signal", "taps",  "shape", "mode", "axis",  "boundary", "constant", "origin",    "accuracy", "device",
    "out",    "dtype", "scale", "bias", "clamp", "overflow", "threads",  "operation", "effort",   "algorithm",
};

std::array<PyObject*, kKeywords>& interned() {
    static std::array<PyObject*, kKeywords> names{};
    return names;
}

std::string repr_of(PyObject* object) {
    const Owned text(PyObject_Repr(object));
    const char* utf8 = PyUnicode_AsUTF8(text.get());
    return utf8 == nullptr ? "?" : utf8;
}

const char* name_of(Keyword keyword) { return kNames[static_cast<std::size_t>(keyword)]; }

bool takes(std::span<const Keyword> keywords, Keyword keyword) {
    for (const Keyword k : keywords) {
        if (k == keyword) { return true; }
    }
    return false;
}

Keyword keyword_of(const Signature& signature, PyObject* name) {
    const auto& names = interned();
    for (std::size_t i = 0; i < kKeywords; ++i) {  // names in a program's text are interned: mostly this is enough
        if (names[i] == name) { return static_cast<Keyword>(i); }
    }
    for (std::size_t i = 0; i < kKeywords; ++i) {
        if (PyUnicode_Compare(names[i], name) == 0) { return static_cast<Keyword>(i); }
    }
    raise(PyExc_TypeError, std::string(signature.function) + "() has no argument " + repr_of(name));
}

void add_named(Values& values, const Signature& signature, PyObject* name, PyObject* value) {
    const Keyword keyword = keyword_of(signature, name);
    if (!takes(signature.named, keyword) && !takes(signature.positional, keyword)) {
        raise(PyExc_TypeError, std::string(signature.function) + "() has no argument '" + name_of(keyword) + "'");
    }
    if (values[keyword] != nullptr) {
        raise(PyExc_TypeError, std::string(signature.function) + "() got '" + name_of(keyword) + "' twice");
    }
    values[keyword] = value;
}

void add_positional(Values& values, const Signature& signature, PyObject* const* arguments, std::size_t count) {
    if (count > signature.positional.size()) {
        raise(PyExc_TypeError, std::string(signature.function) + "() takes " + std::to_string(signature.positional.size()) +
                                   " arguments by position, " + std::to_string(count) + " were given; name the others");
    }
    for (std::size_t i = 0; i < count; ++i) { values[signature.positional[i]] = arguments[i]; }
}

void check_required(const Values& values, const Signature& signature) {
    for (std::size_t i = 0; i < signature.required; ++i) {
        if (values[signature.positional[i]] == nullptr) {
            raise(PyExc_TypeError,
                  std::string(signature.function) + "() lacks its argument '" + name_of(signature.positional[i]) + "'");
        }
    }
}

std::string_view text_of(PyObject* object, Keyword keyword) {
    if (!PyUnicode_Check(object)) {
        raise(PyExc_TypeError, std::string(name_of(keyword)) + ": " + repr_of(object) + "; give a string");
    }
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == nullptr) { throw PythonError{}; }
    return {text, static_cast<std::size_t>(size)};
}

template <class E>
E choice_of(PyObject* object, Keyword keyword, std::optional<E> (*from)(std::string_view), const char* choices) {
    const std::optional<E> value = from(text_of(object, keyword));
    if (!value) { raise(PyExc_ValueError, std::string(name_of(keyword)) + ": " + repr_of(object) + "; one of " + choices); }
    return *value;
}

std::optional<Overflow> overflow_from(std::string_view name) {
    if (name == "error") { return Overflow::error; }
    if (name == "wrap") { return Overflow::wrap; }
    return std::nullopt;
}

std::optional<Effort> effort_from(std::string_view name) {
    if (name == "estimate") { return Effort::estimate; }
    if (name == "measure") { return Effort::measure; }
    return std::nullopt;
}

std::optional<Operation> operation_from(std::string_view name) {
    if (name == "convolution") { return Operation::convolution; }
    if (name == "correlation") { return Operation::correlation; }
    return std::nullopt;
}

long long integer_of(PyObject* object, Keyword keyword) {
    const Owned index(PyNumber_Index(object));
    const long long value = PyLong_AsLongLong(index.get());
    if (value == -1 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        raise(PyExc_ValueError, std::string(name_of(keyword)) + ": " + repr_of(object) + " does not fit 64 bits");
    }
    return value;
}

double number_of(PyObject* object) {
    const double value = PyFloat_AsDouble(object);
    if (value == -1 && PyErr_Occurred() != nullptr) { throw PythonError{}; }
    return value;
}

std::complex<double> complex_of(PyObject* object) {
    const Py_complex value = PyComplex_AsCComplex(object);
    if (value.real == -1 && PyErr_Occurred() != nullptr) { throw PythonError{}; }
    return {value.real, value.imag};
}

Clamp clamp_of(PyObject* object) {
    const Owned pair(PySequence_Fast(object, "clamp: give a pair of limits, (low, high)"));
    if (PySequence_Fast_GET_SIZE(pair.get()) != 2) {
        raise(PyExc_ValueError, "clamp: " + repr_of(object) + "; give a pair of limits, (low, high)");
    }
    return {number_of(PySequence_Fast_GET_ITEM(pair.get(), 0)), number_of(PySequence_Fast_GET_ITEM(pair.get(), 1))};
}

int small_of(PyObject* object, Keyword keyword) {
    const long long value = integer_of(object, keyword);
    if (value < INT32_MIN || value > INT32_MAX) {
        raise(PyExc_ValueError, std::string(name_of(keyword)) + ": " + repr_of(object) + " is out of range");
    }
    return static_cast<int>(value);
}

constexpr const char* kModes = "'full', 'same', 'valid', 'causal', 'leading'";
constexpr const char* kBoundaries = "'zero', 'constant', 'nearest', 'reflect', 'mirror', 'wrap'";

std::optional<Mode> mode_from(std::string_view name) { return mode_from_string(name); }
std::optional<Boundary> boundary_from(std::string_view name) { return boundary_from_string(name); }
std::optional<Accuracy> accuracy_from(std::string_view name) { return accuracy_from_string(name); }

void fill_problem(Problem& problem, const Values& values) {
    const auto given = [&](Keyword keyword) { return values[keyword] != nullptr && values[keyword] != Py_None; };
    if (given(Keyword::mode)) { problem.mode = choice_of(values[Keyword::mode], Keyword::mode, mode_from, kModes); }
    if (given(Keyword::boundary)) {
        problem.boundary = choice_of(values[Keyword::boundary], Keyword::boundary, boundary_from, kBoundaries);
    }
    if (given(Keyword::constant)) {
        problem.constant = complex_of(values[Keyword::constant]);
        if (problem.boundary != Boundary::constant) {
            raise(PyExc_ValueError, "constant: it has no meaning without boundary='constant'");
        }
    }
    if (given(Keyword::origin)) { problem.origin = integer_of(values[Keyword::origin], Keyword::origin); }
    if (given(Keyword::scale)) { problem.scale = number_of(values[Keyword::scale]); }
    if (given(Keyword::bias)) { problem.bias = number_of(values[Keyword::bias]); }
    if (given(Keyword::clamp)) { problem.clamp = clamp_of(values[Keyword::clamp]); }
    if (given(Keyword::overflow)) {
        problem.overflow = choice_of(values[Keyword::overflow], Keyword::overflow, overflow_from, "'error', 'wrap'");
    }
    if (given(Keyword::operation)) {
        problem.operation =
            choice_of(values[Keyword::operation], Keyword::operation, operation_from, "'convolution', 'correlation'");
    }
}

}  // namespace

void intern_keywords() {
    for (std::size_t i = 0; i < kKeywords; ++i) { interned()[i] = Owned(PyUnicode_InternFromString(kNames[i])).release(); }
}

Values collect(const Signature& signature, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    Values values;
    add_positional(values, signature, arguments, static_cast<std::size_t>(count));
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < named; ++i) { add_named(values, signature, PyTuple_GET_ITEM(names, i), arguments[count + i]); }
    check_required(values, signature);
    return values;
}

Values collect(const Signature& signature, PyObject* tuple, PyObject* dictionary) {
    Values values;
    const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    std::array<PyObject*, kKeywords> arguments{};
    for (Py_ssize_t i = 0; i < std::min<Py_ssize_t>(count, kKeywords); ++i) {
        arguments[static_cast<std::size_t>(i)] = PyTuple_GET_ITEM(tuple, i);
    }
    add_positional(values, signature, arguments.data(), static_cast<std::size_t>(count));
    PyObject* name = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t position = 0;
    while (dictionary != nullptr && PyDict_Next(dictionary, &position, &name, &value) != 0) {
        add_named(values, signature, name, value);
    }
    check_required(values, signature);
    return values;
}

Owned dictionary_of(const Values& values) {
    Owned dictionary(PyDict_New());
    for (std::size_t i = 0; i < kKeywords; ++i) {
        PyObject* const value = values[static_cast<Keyword>(i)];
        if (value != nullptr && PyDict_SetItem(dictionary.get(), interned()[i], value) < 0) { throw PythonError{}; }
    }
    return dictionary;
}

Request request_of(const Values& values, Operation operation) {
    Request request;
    request.problem.operation = operation;
    fill_problem(request.problem, values);
    const auto given = [&](Keyword keyword) { return values[keyword] != nullptr && values[keyword] != Py_None; };
    PlanOptions& options = request.options;
    if (given(Keyword::accuracy)) {
        options.accuracy = choice_of(values[Keyword::accuracy], Keyword::accuracy, accuracy_from, "'standard', 'strict', 'fast'");
    }
    if (given(Keyword::device)) { options.device = text_of(values[Keyword::device], Keyword::device); }
    if (given(Keyword::threads)) { options.threads = small_of(values[Keyword::threads], Keyword::threads); }
    if (given(Keyword::effort)) {
        options.effort = choice_of(values[Keyword::effort], Keyword::effort, effort_from, "'estimate', 'measure'");
    }
    if (given(Keyword::algorithm)) { options.algorithm = text_of(values[Keyword::algorithm], Keyword::algorithm); }
    if (given(Keyword::axis)) { request.axis = small_of(values[Keyword::axis], Keyword::axis); }
    if (given(Keyword::dtype)) { request.output_dtype = dtype_argument(values[Keyword::dtype]); }
    return request;
}

Dtype dtype_argument(PyObject* object) {
    PyArray_Descr* descr = nullptr;
    if (PyArray_DescrConverter(object, &descr) == 0) { throw PythonError{}; }
    const Owned keep(reinterpret_cast<PyObject*>(descr));
    const std::optional<Dtype> dtype = dtype_of_number(descr->type_num);
    if (!dtype) {
        raise(PyExc_TypeError, "dtype: " + repr_of(object) +
                                   "; tapline knows bool, the integers, float16, float32, float64, complex64 and complex128");
    }
    return *dtype;
}

}  // namespace tapline::python
