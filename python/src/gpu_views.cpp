#include "gpu_views.hpp"

#include <cstring>

namespace tapline::python {
namespace {

// Attributes and methods by interned name.
class Name {
public:
    explicit Name(const char* text) : object_(Owned(PyUnicode_InternFromString(text)).release()) {}
    [[nodiscard]] Owned of(PyObject* object) const { return Owned(PyObject_GetAttr(object, object_)); }
    [[nodiscard]] Owned call(PyObject* object) const { return Owned(PyObject_CallMethodNoArgs(object, object_)); }

private:
    PyObject* object_;
};

std::uintptr_t address_of(PyObject* number) {
    const std::uintptr_t value = PyLong_AsSize_t(number);
    if (value == static_cast<std::uintptr_t>(-1) && PyErr_Occurred() != nullptr) { throw PythonError{}; }
    return value;
}

npy_intp number_in(PyObject* tuple, int index) {
    const npy_intp value = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, index));
    if (value == -1 && PyErr_Occurred() != nullptr) { throw PythonError{}; }
    return value;
}

// Shape and strides, the latter in units of `unit` bytes.
bool read_axes(const Owned& shape, const Owned& strides, npy_intp unit, View& view) {
    if (!PyTuple_Check(shape.get()) || !PyTuple_Check(strides.get())) { return false; }
    const Py_ssize_t axes = PyTuple_GET_SIZE(shape.get());
    if (axes > kViewAxes || PyTuple_GET_SIZE(strides.get()) != axes) { return false; }
    view.axes = static_cast<int>(axes);
    for (int d = 0; d < view.axes; ++d) {
        const auto at = static_cast<std::size_t>(d);
        view.shape[at] = number_in(shape.get(), d);
        view.strides[at] = unit * number_in(strides.get(), d);
    }
    return true;
}

Owned attribute_of_module(const char* module, std::initializer_list<const char*> path) {
    Owned at(PyImport_ImportModule(module));
    for (const char* name : path) { at = Owned(PyObject_GetAttrString(at.get(), name)); }
    return at;
}

class Cupy final : public GpuLibrary {
public:
    explicit Cupy(PyTypeObject* type)
        : type_(type),
          get_device_(attribute_of_module("cupy", {"cuda", "runtime", "getDevice"})),
          get_stream_(attribute_of_module("cupy", {"cuda", "get_current_stream"})) {}

    bool read(PyObject* array, View& view) const override {
        const Owned dtype = dtype_.of(array);
        if (!PyArray_DescrCheck(dtype.get())) { return false; }
        const auto* const descr = reinterpret_cast<const PyArray_Descr*>(dtype.get());
        const std::optional<Dtype> known = dtype_of_number(descr->type_num);
        if (!known || descr->byteorder == '>') { return false; }
        view.dtype = *known;
        const Owned data = data_.of(array);
        view.address = address_of(ptr_.of(data.get()).get());
        view.device = static_cast<int>(address_of(device_.of(data.get()).get()));
        return read_axes(shape_.of(array), strides_.of(array), 1, view);
    }
    PyObject* empty(PyObject* /*like*/, const View& view, PyObject* shape, PyObject* dtype) const override {
        const Owned current(PyObject_CallNoArgs(get_device_.get()));
        if (PyLong_AsLong(current.get()) != view.device) { return nullptr; }
        PyObject* const arguments[] = {shape, dtype};
        return Owned(PyObject_Vectorcall(reinterpret_cast<PyObject*>(type_), arguments, 2, nullptr)).release();
    }
    [[nodiscard]] PyObject* dtype_object(Dtype dtype) const override {
        return Owned(reinterpret_cast<PyObject*>(PyArray_DescrFromType(number_of_dtype(dtype)))).release();
    }
    [[nodiscard]] std::uintptr_t stream(int device) const override {
        const Owned number(PyLong_FromLong(device));
        const Owned current(PyObject_CallOneArg(get_stream_.get(), number.get()));
        return address_of(ptr_.of(current.get()).get());
    }

private:
    PyTypeObject* type_;
    Owned get_device_, get_stream_;
    Name dtype_{"dtype"}, data_{"data"}, ptr_{"ptr"}, device_{"device_id"}, shape_{"shape"}, strides_{"strides"};
};

class Torch final : public GpuLibrary {
public:
    Torch() : get_stream_(attribute_of_module("torch", {"_C", "_cuda_getCurrentRawStream"})) {
        const Owned module(PyImport_ImportModule("torch"));
        for (std::size_t i = 0; i < dtypes_.size(); ++i) {
            const char* const name = numpy_name(static_cast<Dtype>(i));
            if (PyObject_HasAttrString(module.get(), name) != 0) { dtypes_[i] = Owned(PyObject_GetAttrString(module.get(), name)); }
        }
    }

    bool read(PyObject* array, View& view) const override {
        const Owned device(get_device_.call(array));
        view.device = static_cast<int>(PyLong_AsLong(device.get()));  // -1 on the CPU
        if (view.device < 0 || is_cuda_.of(array).get() != Py_True) { return false; }
        if (requires_grad_.of(array).get() != Py_False || is_conj_.call(array).get() != Py_False ||
            is_neg_.call(array).get() != Py_False) {
            return false;
        }
        const Owned dtype = dtype_.of(array);
        std::size_t number = 0;
        while (number < dtypes_.size() && dtypes_[number].get() != dtype.get()) { ++number; }
        if (number == dtypes_.size()) { return false; }
        view.dtype = static_cast<Dtype>(number);
        view.address = address_of(data_ptr_.call(array).get());
        return read_axes(shape_.of(array), stride_.call(array), static_cast<npy_intp>(size_of(view.dtype)), view);
    }
    PyObject* empty(PyObject* like, const View& /*view*/, PyObject* shape, PyObject* dtype) const override {
        static PyObject* const name = PyUnicode_InternFromString("new_empty");
        static PyObject* const names = Py_BuildValue("(s)", "dtype");
        PyObject* const arguments[] = {like, shape, dtype};
        return Owned(PyObject_VectorcallMethod(name, arguments, 2, names)).release();
    }
    [[nodiscard]] PyObject* dtype_object(Dtype dtype) const override {
        return Owned::borrowed(dtypes_[static_cast<std::size_t>(dtype)].get()).release();
    }
    [[nodiscard]] std::uintptr_t stream(int device) const override {
        const Owned number(PyLong_FromLong(device));
        return address_of(Owned(PyObject_CallOneArg(get_stream_.get(), number.get())).get());
    }

private:
    Owned get_stream_;
    std::array<Owned, static_cast<std::size_t>(Dtype::bf16) + 1> dtypes_;
    Name get_device_{"get_device"}, is_cuda_{"is_cuda"}, requires_grad_{"requires_grad"}, is_conj_{"is_conj"}, is_neg_{"is_neg"},
        dtype_{"dtype"}, data_ptr_{"data_ptr"}, shape_{"shape"}, stride_{"stride"};
};

bool is_named(PyTypeObject* type, const char* module, const char* name) {
    const Owned of_type(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__module__"));
    const Owned own(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__name__"));
    if (!PyUnicode_Check(of_type.get()) || PyUnicode_CompareWithASCIIString(own.get(), name) != 0) { return false; }
    const char* const text = PyUnicode_AsUTF8(of_type.get());
    const std::size_t length = std::strlen(module);
    return text != nullptr && std::strncmp(text, module, length) == 0 && (text[length] == 0 || text[length] == '.');
}

// What was found out about a type, which is then kept alive; guarded by the GIL.
struct Known {
    PyTypeObject* type;
    const GpuLibrary* library;
};

const GpuLibrary* look_up(PyTypeObject* type) {
    try {
        if (is_named(type, "cupy", "ndarray")) { return new Cupy(type); }
        if (is_named(type, "torch", "Tensor")) { return new Torch; }
    } catch (const PythonError&) { PyErr_Clear(); }  // a build of the library without a GPU
    return nullptr;
}

}  // namespace

const GpuLibrary* plain_library_of(PyTypeObject* type) {
    static auto& known = *new std::vector<Known>;
    for (const Known& each : known) {
        if (each.type == type) { return each.library; }
    }
    constexpr std::size_t kMostTypes = 16;
    if (known.size() == kMostTypes) { return nullptr; }
    const GpuLibrary* const library = look_up(type);
    Py_INCREF(type);
    known.push_back({type, library});
    return library;
}

}  // namespace tapline::python
