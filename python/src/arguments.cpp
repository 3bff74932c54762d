#include "arguments.hpp"

#include <algorithm>

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
    const char* utf8 = PyUnicode_AsUTF8AndSize(text.get(), nullptr);
    return utf8 == nullptr ? "?" : utf8;
}

const char* name_of(Keyword keyword) { return kNames[static_cast<std::size_t>(keyword)]; }

bool takes(std::span<const Keyword> keywords, Keyword keyword) {
    return std::find(keywords.begin(), keywords.end(), keyword) != keywords.end();
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

constexpr std::array kModes{Mode::full, Mode::same, Mode::valid, Mode::causal, Mode::leading};
constexpr std::array kBoundaries{Boundary::zero,    Boundary::constant, Boundary::nearest,
                                 Boundary::reflect, Boundary::mirror,   Boundary::wrap};
constexpr std::array kAccuracies{Accuracy::standard, Accuracy::strict, Accuracy::fast};
constexpr std::array kEfforts{Effort::estimate, Effort::measure};
constexpr std::array kOverflows{Overflow::error, Overflow::wrap, Overflow::truncate};
constexpr std::array kOperations{Operation::convolution, Operation::correlation};

const char* to_string(Effort effort) { return effort == Effort::measure ? "measure" : "estimate"; }
const char* to_string(Overflow overflow) {
    return overflow == Overflow::error ? "error" : overflow == Overflow::wrap ? "wrap" : "truncate";
}

template <class E, std::size_t kCount>
E choice_of(PyObject* object, Keyword keyword, const std::array<E, kCount>& choices) {
    const std::string_view text = text_of(object, keyword);
    for (const E choice : choices) {
        if (text == to_string(choice)) { return choice; }
    }
    std::string all;
    for (const E choice : choices) { all += (all.empty() ? "'" : ", '") + std::string(to_string(choice)) + "'"; }
    raise(PyExc_ValueError, std::string(name_of(keyword)) + ": " + repr_of(object) + "; one of " + all);
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

double number_of(PyObject* object, Keyword /*keyword*/) {
    const double value = PyFloat_AsDouble(object);
    if (value == -1 && PyErr_Occurred() != nullptr) { throw PythonError{}; }
    return value;
}

std::complex<double> complex_of(PyObject* object) {
    // Of a number that is none of Python's complex ones Python makes one; a text stays an error, though Python would read it.
    Owned number = Owned::borrowed(object);
    if (!PyComplex_Check(object) && PyObject_HasAttrString(object, "__complex__") != 0) {
        number = Owned(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyComplex_Type), object, nullptr));
    }
    const double real = PyComplex_RealAsDouble(number.get());
    if (real == -1 && PyErr_Occurred() != nullptr) { throw PythonError{}; }
    return {real, PyComplex_ImagAsDouble(number.get())};
}

Clamp clamp_of(PyObject* object, Keyword keyword) {
    const Owned pair(PySequence_Fast(object, "clamp: give a pair of limits, (low, high)"));
    if (PySequence_Size(pair.get()) != 2) {
        raise(PyExc_ValueError, "clamp: " + repr_of(object) + "; give a pair of limits, (low, high)");
    }
    const Owned low(PySequence_GetItem(pair.get(), 0)), high(PySequence_GetItem(pair.get(), 1));
    return {number_of(low.get(), keyword), number_of(high.get(), keyword)};
}

int small_of(PyObject* object, Keyword keyword) {
    const long long value = integer_of(object, keyword);
    if (value < INT32_MIN || value > INT32_MAX) {
        raise(PyExc_ValueError, std::string(name_of(keyword)) + ": " + repr_of(object) + " is out of range");
    }
    return static_cast<int>(value);
}

// Arguments that were given and are not None.
class Given {
public:
    explicit Given(const Values& values) : values_(values) {}

    [[nodiscard]] PyObject* at(Keyword keyword) const { return values_[keyword] == Py_None ? nullptr : values_[keyword]; }
    /// to = read(object, keyword), if there is one.
    template <class T, class Read>
    void read(Keyword keyword, T& to, const Read& read) const {
        if (PyObject* const object = at(keyword)) { to = read(object, keyword); }
    }
    template <class E, std::size_t kCount>
    void choose(Keyword keyword, E& to, const std::array<E, kCount>& choices) const {
        if (PyObject* const object = at(keyword)) { to = choice_of(object, keyword, choices); }
    }

private:
    const Values& values_;
};

void fill_problem(Problem& problem, const Given& given) {
    given.choose(Keyword::mode, problem.mode, kModes);
    given.choose(Keyword::boundary, problem.boundary, kBoundaries);
    if (given.at(Keyword::constant) != nullptr) {
        problem.constant = complex_of(given.at(Keyword::constant));
        if (problem.boundary != Boundary::constant) {
            raise(PyExc_ValueError, "constant: it has no meaning without boundary='constant'");
        }
    }
    given.read(Keyword::origin, problem.origin, integer_of);
    given.read(Keyword::scale, problem.scale, number_of);
    given.read(Keyword::bias, problem.bias, number_of);
    given.read(Keyword::clamp, problem.clamp, clamp_of);
    given.choose(Keyword::overflow, problem.overflow, kOverflows);
    given.choose(Keyword::operation, problem.operation, kOperations);
}

}  // namespace

void intern_keywords() {
    for (std::size_t i = 0; i < kKeywords; ++i) { interned()[i] = Owned(PyUnicode_InternFromString(kNames[i])).release(); }
}

Values collect(const Signature& signature, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    Values values;
    add_positional(values, signature, arguments, static_cast<std::size_t>(count));
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_Size(names);
    for (Py_ssize_t i = 0; i < named; ++i) { add_named(values, signature, PyTuple_GetItem(names, i), arguments[count + i]); }
    check_required(values, signature);
    return values;
}

Values collect(const Signature& signature, PyObject* tuple, PyObject* dictionary) {
    Values values;
    const Py_ssize_t count = PyTuple_Size(tuple);
    std::array<PyObject*, kKeywords> arguments{};
    for (Py_ssize_t i = 0; i < std::min<Py_ssize_t>(count, kKeywords); ++i) {
        arguments[static_cast<std::size_t>(i)] = PyTuple_GetItem(tuple, i);
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
    const Given given(values);
    fill_problem(request.problem, given);
    given.choose(Keyword::accuracy, request.options.accuracy, kAccuracies);
    given.read(Keyword::device, request.options.device, text_of);
    given.read(Keyword::threads, request.options.threads, small_of);
    given.choose(Keyword::effort, request.options.effort, kEfforts);
    given.read(Keyword::algorithm, request.options.algorithm, text_of);
    given.read(Keyword::axis, request.axis, small_of);
    given.read(Keyword::dtype, request.output_dtype, [](PyObject* object, Keyword) { return dtype_argument(object); });
    return request;
}

Boundary boundary_of_name(const std::string& name) {
    const Owned text(PyUnicode_FromString(name.c_str()));
    return choice_of(text.get(), Keyword::boundary, kBoundaries);
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
