#define TAPLINE_IMPORTS_NUMPY
#include "numpy_api.hpp"

namespace tapline::python {

void raise(PyObject* type, const std::string& message) {
    PyErr_SetString(type, message.c_str());
    throw PythonError{};
}

void import_numpy() {
    if (_import_array() < 0) { throw PythonError{}; }
}

std::optional<Dtype> dtype_of_number(int type_number) {
    static_assert(sizeof(long) == 8 && sizeof(int) == 4, "a 64-bit Linux");
    switch (type_number) {
        case NPY_BOOL:
            return Dtype::boolean;
        case NPY_BYTE:
            return Dtype::i8;
        case NPY_SHORT:
            return Dtype::i16;
        case NPY_INT:
            return Dtype::i32;
        case NPY_LONG:
        case NPY_LONGLONG:
            return Dtype::i64;
        case NPY_UBYTE:
            return Dtype::u8;
        case NPY_USHORT:
            return Dtype::u16;
        case NPY_UINT:
            return Dtype::u32;
        case NPY_ULONG:
        case NPY_ULONGLONG:
            return Dtype::u64;
        case NPY_HALF:
            return Dtype::f16;
        case NPY_FLOAT:
            return Dtype::f32;
        case NPY_DOUBLE:
            return Dtype::f64;
        case NPY_CFLOAT:
            return Dtype::complex64;
        case NPY_CDOUBLE:
            return Dtype::complex128;
        default:
            return std::nullopt;
    }
}

int number_of_dtype(Dtype dtype) {
    switch (dtype) {
        case Dtype::boolean:
            return NPY_BOOL;
        case Dtype::i8:
            return NPY_BYTE;
        case Dtype::i16:
            return NPY_SHORT;
        case Dtype::i32:
            return NPY_INT;
        case Dtype::i64:
            return NPY_LONG;
        case Dtype::u8:
            return NPY_UBYTE;
        case Dtype::u16:
            return NPY_USHORT;
        case Dtype::u32:
            return NPY_UINT;
        case Dtype::u64:
            return NPY_ULONG;
        case Dtype::f16:
            return NPY_HALF;
        case Dtype::f32:
            return NPY_FLOAT;
        case Dtype::f64:
            return NPY_DOUBLE;
        case Dtype::complex64:
            return NPY_CFLOAT;
        case Dtype::complex128:
            return NPY_CDOUBLE;
        case Dtype::bf16:
            break;
    }
    return -1;
}

std::string name_of(PyArrayObject* array) {
    const Owned text(PyObject_Str(reinterpret_cast<PyObject*>(PyArray_DESCR(array))));
    const char* utf8 = PyUnicode_AsUTF8(text.get());
    return utf8 == nullptr ? "?" : utf8;
}

Owned as_array(PyObject* object, const char* argument) {
    if (PyArray_Check(object)) { return Owned::borrowed(object); }
    if (object == Py_None) { raise(PyExc_TypeError, std::string(argument) + ": None; give an array or a sequence of numbers"); }
    return Owned(PyArray_FROM_O(object));
}

Owned converted(const Owned& array, int type_number, bool contiguous) {
    PyArrayObject* const a = array.array();
    if (PyArray_TYPE(a) == type_number && PyArray_ISBEHAVED_RO(a) && (!contiguous || PyArray_IS_C_CONTIGUOUS(a))) {
        return Owned::borrowed(array.get());
    }
    const int flags = NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST | (contiguous ? NPY_ARRAY_C_CONTIGUOUS : 0);
    return Owned(PyArray_FromArray(a, PyArray_DescrFromType(type_number), flags));
}

}  // namespace tapline::python
