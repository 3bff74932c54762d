#include "devices_object.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "gpu_call.hpp"
#include "image_object.hpp"

namespace nb = nanobind;

namespace tapline::python {
namespace {

std::vector<void*> at_addresses(const std::vector<std::uintptr_t>& addresses) {
    std::vector<void*> all;
    all.reserve(addresses.size());
    for (const std::uintptr_t address : addresses) { all.push_back(at_address(address)); }
    return all;
}

// An array (before, axis, after) in parts.
class DevicesObject {
public:
    // `taps`: in host memory, of the type `taps_dtype`. `cuts`: none for parts as the plan likes them.
    DevicesObject(const Request& request, const std::vector<std::int64_t>& shape, const Types& types, PyObject* taps,
                  const std::vector<std::int64_t>& cuts)
        : types_(types) {
        const std::vector<npy_intp> length{shape[1]};
        const Prepared prepared = prepare(request, length, types, as_array(taps, "taps"));
        Problem problem = packed_signal(prepared.problem, shape[0], shape[2]);
        const void* const data = PyArray_DATA(prepared.taps.array());
        const WithoutGil without_gil;
        plan_.emplace(problem, data, request.options, cuts);
    }

    // Images cut along their rows, both packed.
    DevicesObject(const Request& request, const ImageLayout& image, const ImageLayout& out, PyObject* taps,
                  const std::array<std::optional<std::int64_t>, 2>& origin, const std::vector<std::int64_t>& cuts)
        : types_{.signal = image.dtype, .taps = image.dtype, .output = out.dtype, .complex_taps = false} {
        const ArrangedImage arranged =
            arranged_image(request, image, out, reinterpret_cast<PyArrayObject*>(taps), origin[0], origin[1]);
        const void* const data = PyArray_DATA(arranged.taps.array());
        const WithoutGil without_gil;
        plan_.emplace(arranged.problem, data, request.options, cuts);
    }

    void run(const std::vector<std::uintptr_t>& out, const std::vector<std::uintptr_t>& in,
             const std::vector<std::uintptr_t>& streams) const {
        const std::vector<void*> to = at_addresses(out), on = at_addresses(streams), from = at_addresses(in);
        const std::vector<const void*> read(from.begin(), from.end());
        const WithoutGil without_gil;
        plan_->execute(to, read, on);
    }

    [[nodiscard]] const DevicesPlan& plan() const { return *plan_; }
    [[nodiscard]] const Types& types() const { return types_; }

private:
    Types types_;
    std::optional<DevicesPlan> plan_;
};

// `options`: convolve's keyword arguments but for arrays, types and the axis.
Request request_with(const nb::dict& options, bool correlation) {
    constexpr std::array kNamed{Keyword::mode,     Keyword::boundary, Keyword::constant, Keyword::origin,
                                Keyword::accuracy, Keyword::device,   Keyword::scale,    Keyword::bias,
                                Keyword::clamp,    Keyword::overflow, Keyword::threads};
    const Signature signature{correlation ? "correlate" : "convolve", {}, 0, kNamed};
    const nb::tuple none = nb::make_tuple();
    return request_of(collect(signature, none.ptr(), options.ptr()), correlation ? Operation::correlation : Operation::convolution);
}

template <class Body>
auto checked(Body body) {
    try {
        return body();
    } catch (const PythonError&) { throw nb::python_error(); }
}

}  // namespace

bool is_list_on_gpus(PyObject* signal) {
    if (signal == nullptr || (!PyList_CheckExact(signal) && !PyTuple_CheckExact(signal))) { return false; }
    return PySequence_Size(signal) > 0 && is_on_gpu(Owned(PySequence_GetItem(signal, 0)).get());
}

void add_devices(nb::module_& module) {
    nb::class_<DevicesObject>(module, "DevicesPlan", "Parts of an array on several GPUs: what tapline.devices uses.")
        .def("__init__",
             [](DevicesObject* self, const nb::dict& options, bool correlation, const std::vector<std::int64_t>& shape,
                const std::string& dtype, nb::handle taps, const std::string& taps_dtype,
                const std::optional<std::string>& output_dtype, const std::vector<std::int64_t>& cuts) {
                 checked([&] {
                     std::optional<Dtype> wanted;
                     if (output_dtype) { wanted = known_dtype("out", *output_dtype); }
                     const Types types = gpu_types_of(known_dtype("signal", dtype), known_dtype("taps", taps_dtype), wanted, false);
                     new (self) DevicesObject(request_with(options, correlation), shape, types, taps.ptr(), cuts);
                 });
             })
        .def_static(
            "of_images",
            [](const nb::dict& options, bool correlation, const Outline& image, const Outline& out, nb::handle taps,
               std::optional<std::int64_t> origin_y, std::optional<std::int64_t> origin_x, const std::vector<std::int64_t>& cuts) {
                return checked([&] {
                    return DevicesObject(image_request(options, correlation), layout_of(image, "image"), layout_of(out, "out"),
                                         taps.ptr(), {origin_y, origin_x}, cuts);
                });
            })
        .def_prop_ro("signal_type", [](const DevicesObject& self) { return numpy_name(self.types().signal); })
        .def_prop_ro("output_type", [](const DevicesObject& self) { return numpy_name(self.types().output); })
        .def_prop_ro("algorithm", [](const DevicesObject& self) { return self.plan().algorithm(); })
        .def_prop_ro("predicted_seconds", [](const DevicesObject& self) { return self.plan().predicted_seconds(); })
        .def_prop_ro("device_bytes", [](const DevicesObject& self) { return self.plan().device_bytes(); })
        .def_prop_ro("parts",  // (device, samples, outputs) of each
                     [](const DevicesObject& self) {
                         nb::list parts;
                         for (const DevicePart& part : self.plan().parts()) {
                             parts.append(nb::make_tuple(part.device, part.samples.size(), part.outputs.size()));
                         }
                         return parts;
                     })
        .def("explain", [](const DevicesObject& self) { return self.plan().explain(); })
        .def("run", &DevicesObject::run, nb::arg("out"), nb::arg("signal"), nb::arg("streams"));
}

}  // namespace tapline::python
