#include "gpu_views.hpp"

#include <cstring>

#include "attributes.hpp"
#include "torch/torch_views.hpp"

namespace tapline::python {
namespace {

// A C function that a module of Cython's offers to others; null without it, or where its type is not this one.
void* function_of_cython(const char* module, const char* name, const char* type) {
    PyObject* function = nullptr;
    try {
        const Owned all = attribute_of_module(module, {"__pyx_capi__"});
        function = PyDict_Check(all.get()) ? PyDict_GetItemString(all.get(), name) : nullptr;
    } catch (const PythonError&) { PyErr_Clear(); }
    return function != nullptr && PyCapsule_IsValid(function, type) != 0 ? PyCapsule_GetPointer(function, type) : nullptr;
}

class Cupy final : public GpuLibrary {
public:
    explicit Cupy(PyTypeObject* type)
        : type_(type),
          get_device_(attribute_of_module("cupy", {"cuda", "runtime", "getDevice"})),
          get_stream_(attribute_of_module("cupy", {"cuda", "get_current_stream"})),
          stream_of_(
              reinterpret_cast<StreamOf>(function_of_cython("cupy_backends.cuda.stream", "get_stream_ptr", "intptr_t (int)"))) {}

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
        if (stream_of_ != nullptr) {
            const std::intptr_t current = stream_of_(device);
            if (current == -1 && PyErr_Occurred() != nullptr) { throw PythonError{}; }
            return static_cast<std::uintptr_t>(current);
        }
        const Owned number(PyLong_FromLong(device));
        const Owned current(call_of(get_stream_, number.get()));
        return address_of(ptr_.of(current.get()).get());
    }

private:
    using StreamOf = std::intptr_t (*)(int);
    PyTypeObject* type_;
    Owned get_device_, get_stream_;
    StreamOf stream_of_;  // null: CuPy is asked by its Python function
    Name dtype_{"dtype"}, data_{"data"}, ptr_{"ptr"}, device_{"device_id"}, shape_{"shape"}, strides_{"strides"};
};

bool is_named(PyTypeObject* type, const char* module, const char* name) {
    const Owned of_type(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__module__"));
    const Owned own(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__name__"));
    if (!PyUnicode_Check(of_type.get()) || PyUnicode_CompareWithASCIIString(own.get(), name) != 0) { return false; }
    const char* const text = PyUnicode_AsUTF8AndSize(of_type.get(), nullptr);
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
        if (is_named(type, "torch", "Tensor")) { return torch_library(); }
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
    Py_INCREF(reinterpret_cast<PyObject*>(type));
    known.push_back({type, library});
    return library;
}

}  // namespace tapline::python
