#define TAPLINE_IMPORTS_NUMPY
#include "numpy_api.hpp"

#include <algorithm>
#include <array>

namespace tapline::python {

void raise(PyObject* type, const std::string& message) {
    PyErr_SetString(type, message.c_str());
    throw PythonError{};
}

void import_numpy() {
    if (_import_array() < 0) { throw PythonError{}; }
}

namespace {

// Of every Dtype in its order but the last, bf16, which NumPy does not know.
constexpr std::array kNumbers{NPY_FLOAT, NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE, NPY_BOOL, NPY_BYTE,  NPY_SHORT,
                              NPY_INT,   NPY_LONG,   NPY_UBYTE,  NPY_USHORT,  NPY_UINT, NPY_ULONG, NPY_HALF};
static_assert(static_cast<std::size_t>(Dtype::bf16) == kNumbers.size() && sizeof(long) == 8, "a 64-bit Linux");

}  // namespace

std::optional<Dtype> dtype_of_number(int type_number) {
    if (type_number == NPY_LONGLONG) { return Dtype::i64; }
    if (type_number == NPY_ULONGLONG) { return Dtype::u64; }
    const auto* const found = std::find(kNumbers.begin(), kNumbers.end(), type_number);
    return found == kNumbers.end() ? std::nullopt : std::optional(static_cast<Dtype>(found - kNumbers.begin()));
}

int number_of_dtype(Dtype dtype) { return dtype == Dtype::bf16 ? -1 : kNumbers[static_cast<std::size_t>(dtype)]; }

std::string name_of(PyArrayObject* array) {
    const Owned text(PyObject_Str(reinterpret_cast<PyObject*>(PyArray_DESCR(array))));
    const char* utf8 = PyUnicode_AsUTF8AndSize(text.get(), nullptr);
    return utf8 == nullptr ? "?" : utf8;
}

Owned as_array(PyObject* object, const char* argument) {
    if (PyArray_Check(object)) { return Owned::borrowed(object); }
    if (object == Py_None) { raise(PyExc_TypeError, std::string(argument) + ": None; give an array or a sequence of numbers"); }
    return Owned(PyArray_FROM_O(object));
}

namespace {

// Squares of so many elements stay in the L1 cache.
constexpr npy_intp kSquare = 32;

// to[i][j] = from[j * step + i] for 0 <= i < rows and 0 <= j < columns.
template <class T>
void transpose(T* to, const T* from, npy_intp step, npy_intp rows, npy_intp columns) {
    for (npy_intp i = 0; i < rows; i += kSquare) {
        for (npy_intp j = 0; j < columns; j += kSquare) {
            for (npy_intp r = i; r < std::min(i + kSquare, rows); ++r) {
                for (npy_intp c = j; c < std::min(j + kSquare, columns); ++c) { to[r * columns + c] = from[c * step + r]; }
            }
        }
    }
}

// Whether the array is a matrix whose columns lie in memory one after the other: NumPy's own copy of one takes 3 ns an element.
bool is_transposed(PyArrayObject* a) {
    const npy_intp size = PyArray_ITEMSIZE(a);
    return PyArray_NDIM(a) == 2 && (size == sizeof(float) || size == sizeof(double)) && PyArray_STRIDE(a, 0) == size &&
           PyArray_STRIDE(a, 1) > size && PyArray_STRIDE(a, 1) % size == 0 && PyArray_ISBEHAVED_RO(a);
}

Owned packed(PyArrayObject* a) {
    Owned copy(PyArray_SimpleNew(2, PyArray_DIMS(a), PyArray_TYPE(a)));
    const auto fill = [&]<class T>(T) {
        transpose(static_cast<T*>(PyArray_DATA(copy.array())), static_cast<const T*>(PyArray_DATA(a)),
                  PyArray_STRIDE(a, 1) / PyArray_ITEMSIZE(a), PyArray_DIM(a, 0), PyArray_DIM(a, 1));
    };
    PyArray_ITEMSIZE(a) == sizeof(float) ? fill(float{}) : fill(double{});
    return copy;
}

}  // namespace

Owned converted(const Owned& array, int type_number, bool contiguous) {
    PyArrayObject* const a = array.array();
    if (PyArray_TYPE(a) == type_number && PyArray_ISBEHAVED_RO(a) && (!contiguous || PyArray_IS_C_CONTIGUOUS(a))) {
        return Owned::borrowed(array.get());
    }
    if (PyArray_TYPE(a) == type_number && contiguous && is_transposed(a)) { return packed(a); }
    const int flags = NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST | (contiguous ? NPY_ARRAY_C_CONTIGUOUS : 0);
    return Owned(PyArray_FromArray(a, PyArray_DescrFromType(type_number), flags));
}

}  // namespace tapline::python
