#include "gpu_call.hpp"

#include <algorithm>

#include "plan_cache.hpp"

namespace tapline::python {
namespace {

// DLPack's numbers for memory that a GPU reads: kDLCUDA and kDLCUDAManaged.
constexpr long kCudaDevice = 2;
constexpr long kManagedDevice = 13;

constexpr std::array<const char*, 15> kNames{"float32", "float64", "complex64", "complex128", "bool",
                                             "int8",    "int16",   "int32",     "int64",      "uint8",
                                             "uint16",  "uint32",  "uint64",    "float16",    "bfloat16"};
static_assert(static_cast<std::size_t>(Dtype::bf16) == kNames.size() - 1);

// Arrangements in memory that a call remembers: the output's new array and a caller's, views of a few kinds.
constexpr std::size_t kMaxArrangements = 8;

// What never lies on a GPU and is not asked.
bool is_plainly_host(PyObject* object) {
    return object == nullptr || object == Py_None || PyArray_CheckExact(object) || PyList_CheckExact(object) ||
           PyTuple_CheckExact(object) || PyFloat_CheckExact(object) || PyLong_CheckExact(object);
}

// An array that is only looked at: shape, strides and the size of an element.
Owned outline(const std::vector<npy_intp>& shape, const std::vector<npy_intp>& strides, Dtype dtype) {
    static std::max_align_t nothing{};
    const int number = dtype == Dtype::bf16 ? NPY_USHORT : number_of_dtype(dtype);
    auto* dims = const_cast<npy_intp*>(shape.data());
    auto* steps = const_cast<npy_intp*>(strides.data());
    return Owned(
        PyArray_New(&PyArray_Type, static_cast<int>(shape.size()), dims, number, steps, &nothing, 0, NPY_ARRAY_WRITEABLE, nullptr));
}

[[noreturn]] void raise_without_gpu(const Error& error, const std::string& device) {
    raise(PyExc_RuntimeError, "signal: in the memory of " + device +
                                  ", which tapline cannot use; copy it to host memory (CuPy: .get(), PyTorch: .cpu(), JAX: "
                                  "numpy.asarray). " +
                                  error.what());
}

// Whether taps that lie on the GPU are looked at all the same: the transforms of which every output is checked are made for their
// values, and without those a strict filter is summed directly. That takes longer than looking (120 us) from about so many products
// on (H100).
bool needs_values(const Request& request, const Shape& shape, const Layout& layout) {
    constexpr double kManyProducts = 3e9;
    if (request.options.accuracy != Accuracy::strict || !layout.has_one_filter()) { return false; }
    double products = static_cast<double>(shape.taps) * static_cast<double>(shape.length);
    for (std::size_t d = 0; d < shape.output.size(); ++d) {
        if (static_cast<int>(d) != shape.axis) { products *= static_cast<double>(shape.output[d]); }
    }
    return products >= kManyProducts;
}

}  // namespace

bool is_on_gpu(PyObject* object) {
    if (is_plainly_host(object)) { return false; }
    static PyObject* const kName = PyUnicode_InternFromString("__dlpack_device__");
    PyObject* const device = PyObject_VectorcallMethod(kName, &object, 1, nullptr);
    if (device != nullptr) {
        const Owned keep(device);
        if (PyTuple_Check(device) && PyTuple_Size(device) == 2) {
            const Owned kind(PyNumber_Long(PyTuple_GetItem(device, 0)));
            const long type = PyLong_AsLong(kind.get());
            return type == kCudaDevice || type == kManagedDevice;
        }
    }
    PyErr_Clear();
    return PyObject_HasAttrString(object, "__cuda_array_interface__") != 0;
}

PyObject* call_on_gpu(const char* function, const Values& values) {
    static PyObject* module = nullptr;  // for good: looking it up takes a microsecond
    if (module == nullptr) { module = Owned(PyImport_ImportModule("tapline._gpu")).release(); }
    const Owned call(PyObject_GetAttrString(module, "call"));
    const Owned arguments(Py_BuildValue("(s)", function));
    return Owned(PyObject_Call(call.get(), arguments.get(), dictionary_of(values).get())).release();
}

const char* numpy_name(Dtype dtype) { return kNames[static_cast<std::size_t>(dtype)]; }

std::optional<Dtype> dtype_of_name(std::string_view name) {
    const auto* const found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) { return std::nullopt; }
    return static_cast<Dtype>(found - kNames.begin());
}

Dtype known_dtype(const char* argument, const std::string& name) {
    const std::optional<Dtype> dtype = dtype_of_name(name);
    if (!dtype) {
        raise(PyExc_TypeError, std::string(argument) + ": elements are " + name +
                                   "; convert them to float32, float64, complex64, complex128, float16 or bfloat16");
    }
    return *dtype;
}

Types gpu_types_of(Dtype signal, Dtype taps, std::optional<Dtype> output, bool as_stored) {
    Types types = types_of(is_half(signal) ? Dtype::f16 : signal, is_half(taps) ? Dtype::f16 : taps, output);
    if (as_stored && is_integer(signal) && !is_integer(taps) && !types.complex_taps) { types.signal = signal; }
    if (!is_half(signal) || types.signal != Dtype::f32) { return types; }
    types.signal = signal;
    if (!output && types.output == Dtype::f16) { types.output = is_half(taps) && taps != signal ? Dtype::f32 : signal; }
    return types;
}

bool stays_as_stored(const Problem& problem, Dtype signal) {
    if (problem.boundary != Boundary::constant || !is_integer(signal)) { return true; }
    return is_value_of(signal, problem.constant.real());
}

GpuCall::GpuCall(Request request, const std::string& device, Prepared prepared, bool taps_there, std::optional<Dtype> given)
    : request_(std::move(request)), prepared_(std::move(prepared)) {
    if (taps_there) { taps_there_ = given.value_or(prepared_.types.taps); }
    request_.options.device = device;
}

std::shared_ptr<ArrangedCall> GpuCall::find(const std::vector<npy_intp>& in_strides,
                                            const std::vector<npy_intp>& out_strides) const {
    for (const Remembered& known : remembered_) {
        if (known.in_strides == in_strides && known.out_strides == out_strides) { return known.arranged; }
    }
    return nullptr;
}

std::shared_ptr<ArrangedCall> GpuCall::arrange(const std::vector<npy_intp>& in_strides, const std::vector<npy_intp>& out_strides) {
    std::shared_ptr<ArrangedCall> known = find(in_strides, out_strides);
    if (known != nullptr) { return known; }
    auto made = std::make_shared<ArrangedCall>(make(in_strides, out_strides));
    known = find(in_strides, out_strides);  // another thread may have been faster while the GIL was released
    if (known != nullptr) { return known; }
    if (remembered_.size() == kMaxArrangements) { remembered_.erase(remembered_.begin()); }
    remembered_.push_back({in_strides, out_strides, made});
    return made;
}

ArrangedCall GpuCall::make(const std::vector<npy_intp>& in_strides, const std::vector<npy_intp>& out_strides) const {
    const Shape& shape = prepared_.shape;
    std::vector<npy_intp> in_shape = shape.output;
    in_shape[static_cast<std::size_t>(shape.axis)] = shape.length;
    const Owned in = outline(in_shape, in_strides, signal_type());
    const Owned out = outline(shape.output, out_strides, output_type());
    ArrangedCall result;
    result.taps_there_ = taps_there_;
    result.can_be_read_ = is_steppable(in.array(), shape.axis);
    result.can_be_written_ = is_steppable(out.array(), shape.axis);
    if (!result.can_be_read_ || !result.can_be_written_) { return result; }
    Problem problem = prepared_.problem;
    result.layout_ = layout_of(problem, shape, in.array(), out.array(), prepared_.taps.array());
    if (result.layout_.empty) {
        validate(problem);
        return result;
    }
    fold_outer(problem, result.layout_);
    std::vector<Plan>& plans = result.plans_;
    try {
        const auto* const taps = static_cast<const char*>(PyArray_DATA(prepared_.taps.array()));
        if (taps_there_) {
            if (needs_values(request_, shape, result.layout_)) {
                throw Error(ErrorCode::unsupported, "taps: their values decide how a long filter is held to strict accuracy");
            }
            const WithoutGil without_gil;
            plans.push_back(make_plan_without_taps(problem, request_.options));
        } else if (result.layout_.has_one_filter()) {
            plans.push_back(cached_plan(problem, taps, request_.options));
        } else {
            for_each_execution(
                result.layout_, nullptr, nullptr, taps, size_of(taps_dtype(problem)),
                [&](const char*, char*, const char* own) { plans.push_back(cached_plan(problem, own, request_.options)); });
        }
    } catch (const Error& error) {
        if (error.code() == ErrorCode::device) { raise_without_gpu(error, request_.options.device); }
        throw;
    }
    for (const Plan& plan : plans) { result.workspace_bytes_ = std::max(result.workspace_bytes_, plan.workspace_bytes()); }
    return result;
}

ArrangedCall::ArrangedCall(Plan plan) : workspace_bytes_(plan.workspace_bytes()) { plans_.push_back(std::move(plan)); }

double ArrangedCall::predicted_seconds() const {
    double seconds = 0;
    for (const Plan& plan : plans_) { seconds += plan.predicted_seconds(); }
    return plans_.size() == 1 ? seconds * static_cast<double>(executions()) : seconds;
}

void ArrangedCall::run(std::uintptr_t out, std::uintptr_t in, std::uintptr_t workspace, std::uintptr_t stream,
                       std::uintptr_t taps) const {
    if (plans_.empty()) { return; }
    const WithoutGil without_gil;
    std::size_t execution = 0;
    const bool one = plans_.size() == 1;
    for_each_execution(
        layout_, static_cast<const char*>(at_address(in)), static_cast<char*>(at_address(out)), nullptr, 0,
        [&](const char* from, char* to, const char*) {
            const Plan& plan = plans_[one ? 0 : execution];
            ++execution;
            const std::span<std::byte> scratch{static_cast<std::byte*>(at_address(workspace)), plan.workspace_bytes()};
            if (taps_there_) {
                plan.execute_with_taps(to, from, at_address(taps), *taps_there_, scratch, at_address(stream));
            } else {
                plan.execute(to, from, scratch, at_address(stream));
            }
        });
}

}  // namespace tapline::python
