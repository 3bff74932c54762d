// The module tapline._core.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "axes_filter.hpp"
#include "devices_object.hpp"
#include "docstrings.hpp"
#include "image_object.hpp"
#include "plain_call.hpp"
#include "plan_cache.hpp"
#include "plan_object.hpp"
#include "sharded_object.hpp"
#include "tapline/depthwise.hpp"
#include "tapline/info.hpp"
#include "tapline/passes.hpp"
#include "torch/torch_call.hpp"

namespace nb = nanobind;

namespace tapline::python {
namespace {

// nanobind's exception for one that Python already holds.
template <class Body>
auto checked(Body body) {
    try {
        return body();
    } catch (const PythonError&) { throw nb::python_error(); }
}

nb::tuple tuple_of(const std::vector<npy_intp>& shape) {
    nb::list list;
    for (const npy_intp count : shape) { list.append(count); }
    return nb::tuple(list);
}

nb::object numpy_dtype(Dtype dtype) {
    return nb::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(number_of_dtype(dtype))));
}

PyObject* call_plan(PyObject* self, PyObject* signal, PyObject* out) {
    PlanObject& plan = *nb::inst_ptr<PlanObject>(self);
    if (PyObject* const plain = plan.execute_plain(signal, out)) { return plain; }
    if (!is_on_gpu(signal) && !is_on_gpu(out)) { return plan.execute(signal, out); }
    const Owned module(PyImport_ImportModule("tapline._gpu"));
    const Owned call(PyObject_GetAttrString(module.get(), "call_plan"));
    PyObject* const values[] = {self, signal, out};
    return PyObject_Vectorcall(call.get(), values, 3, nullptr);
}

// plan(signal, out=None) as a type's slot: nanobind's way to a method named __call__ costs 0.2 us.
PyObject* plan_slot(PyObject* self, PyObject* arguments, PyObject* named) {
    return guarded([=]() -> PyObject* {
        static std::array names{"signal", "out"};
        std::array<char*, 3> keywords{const_cast<char*>(names[0]), const_cast<char*>(names[1]), nullptr};
        PyObject *signal = nullptr, *out = Py_None;
        if (named == nullptr && (PyTuple_Size(arguments) == 1 || PyTuple_Size(arguments) == 2)) {
            signal = PyTuple_GetItem(arguments, 0);
            if (PyTuple_Size(arguments) == 2) { out = PyTuple_GetItem(arguments, 1); }
        } else if (PyArg_ParseTupleAndKeywords(arguments, named, "O|O:Plan", keywords.data(), &signal, &out) == 0) {
            return nullptr;
        }
        if (!nb::inst_ready(self)) { raise(PyExc_TypeError, "Plan: __init__ was not called"); }
        return call_plan(self, signal, out);
    });
}
PyType_Slot plan_slots[] = {{Py_tp_call, reinterpret_cast<void*>(plan_slot)}, {0, nullptr}};

void add_plan(nb::module_& module) {
    nb::class_<PlanObject>(module, "Plan", kPlanDoc, nb::type_slots(plan_slots))
        .def(
            "__init__",
            [](PlanObject* self, const nb::args& arguments, const nb::kwargs& named) {
                checked([&] { new (self) PlanObject(arguments.ptr(), named.ptr()); });
            },
            nb::sig("def __init__(self, shape, taps, mode='full', *, dtype=None, axis=-1, boundary='zero', constant=0, "
                    "origin=None, operation='convolution', accuracy='standard', effort='estimate', device='auto', "
                    "algorithm=None, threads=0, scale=1.0, bias=0.0, clamp=None, overflow='error')"))
        .def("explain", &PlanObject::explain, kPlanExplainDoc)
        .def(
            "_on_gpu",
            [](PlanObject& self, const std::string& dtype, const std::string& device) {
                return checked([&] { return self.on_gpu(dtype, device); });
            },
            "What tapline._gpu runs.")
        .def("__repr__",
             [](const PlanObject& self) {
                 const std::string text = self.explain();
                 return "<tapline.Plan: " + text.substr(11, text.find('\n') - 11) + "; " + self.plan().algorithm() + " on " +
                        self.plan().device() + ">";
             })
        .def(
            "_repr_html_", [](nb::handle self) { return nb::module_::import_("tapline._plot").attr("plan_html")(self); },
            "What notebooks show: the facts of the plan and its filter's taps and response.")
        .def(
            "plot",
            [](nb::handle self, nb::handle rate, nb::handle axes) {
                return nb::module_::import_("tapline._plot").attr("plot_taps")(self.attr("taps"), rate, axes);
            },
            nb::arg("rate").none() = nb::none(), nb::arg("axes").none() = nb::none(), kPlanPlotDoc)
        .def_prop_ro(
            "workspace_bytes", [](const PlanObject& self) { return self.plan().workspace_bytes(); },
            "Bytes of scratch memory that an execution uses.")
        .def_prop_ro(
            "algorithm", [](const PlanObject& self) { return self.plan().algorithm(); },
            "The name of the algorithm that was chosen, one of those that `tapline bench --algorithms all` lists.")
        .def_prop_ro(
            "device", [](const PlanObject& self) { return self.plan().device(); },
            "Where signals in host memory are computed: 'cpu' or 'cuda:N'.")
        .def_prop_ro(
            "threads", [](const PlanObject& self) { return self.plan().threads(); }, "CPU threads that an execution may use.")
        .def_prop_ro(
            "predicted_seconds", [](const PlanObject& self) { return self.plan().predicted_seconds(); },
            "What the cost model expects of one execution.")
        .def_prop_ro(
            "taps", [](const PlanObject& self) { return nb::steal(checked([&] { return self.taps(); })); },
            "A copy of the filter, in the type that it is used in and with its axis last.")
        .def_prop_ro(
            "shape", [](const PlanObject& self) { return tuple_of(self.input_shape()); }, "The signal's shape.")
        .def_prop_ro(
            "output_shape", [](const PlanObject& self) { return tuple_of(self.output_shape()); }, "The output's shape.")
        .def_prop_ro(
            "dtype", [](const PlanObject& self) { return numpy_dtype(self.types().signal); }, "The signal's type.")
        .def_prop_ro(
            "output_dtype", [](const PlanObject& self) { return numpy_dtype(self.types().output); }, "The output's type.");
}

// `options`: convolve's keyword arguments but for arrays and types.
// `taps`: an array in host memory, or the shape of those that lie where the signal does.
GpuCall make_gpu_call(const std::string& function, const std::vector<npy_intp>& shape, const std::string& dtype, nb::handle taps,
                      const std::string& taps_dtype, const std::optional<std::string>& output_dtype, const std::string& device,
                      const nb::dict& options, bool as_stored) {
    constexpr std::array kNamed{Keyword::mode,   Keyword::axis,     Keyword::boundary, Keyword::constant,
                                Keyword::origin, Keyword::accuracy, Keyword::scale,    Keyword::bias,
                                Keyword::clamp,  Keyword::overflow, Keyword::threads};
    const Signature signature{function.c_str(), {}, 0, kNamed};
    const nb::tuple none = nb::make_tuple();
    const Values values = collect(signature, none.ptr(), options.ptr());
    const Request request = request_of(values, function == "correlate" ? Operation::correlation : Operation::convolution);
    std::optional<Dtype> wanted;
    if (output_dtype) { wanted = known_dtype("out", *output_dtype); }
    const Dtype signal = known_dtype("signal", dtype);
    const Types types =
        gpu_types_of(signal, known_dtype("taps", taps_dtype), wanted, as_stored && stays_as_stored(request.problem, signal));
    if (!nb::isinstance<nb::tuple>(taps)) {
        return {request, device, prepare(request, shape, types, as_array(taps.ptr(), "taps"))};
    }
    auto taps_shape = nb::cast<std::vector<npy_intp>>(taps);
    const Owned outline(PyArray_ZEROS(static_cast<int>(taps_shape.size()), taps_shape.data(), number_of_dtype(types.taps), 0));
    return {request, device, prepare(request, shape, types, outline), true};
}

PyArrayObject* array_of(nb::handle object) { return reinterpret_cast<PyArrayObject*>(object.ptr()); }

// Borrowed.
std::vector<PyObject*> items_of(PyObject* tuple) {
    std::vector<PyObject*> items(static_cast<std::size_t>(PyTuple_Size(tuple)));
    for (std::size_t i = 0; i < items.size(); ++i) { items[i] = PyTuple_GetItem(tuple, static_cast<Py_ssize_t>(i)); }
    return items;
}

// Called by tapline._image and tapline._gpu.images alone.
void add_image(nb::module_& module) {
    using Origin = std::optional<std::int64_t>;
    nb::class_<ImageObject>(module, "ImagePlan", "A mask prepared for images of one arrangement: what tapline._image keeps.")
        .def("__init__",
             [](ImageObject* self, const nb::dict& options, bool correlation, const Outline& image, const Outline& out,
                nb::handle taps, Origin origin_y, Origin origin_x) {
                 checked([&] {
                     new (self) ImageObject(image_request(options, correlation), layout_of(image, "image"), layout_of(out, "out"),
                                            array_of(taps), origin_y, origin_x);
                 });
             })
        .def("run", &ImageObject::run)
        .def_prop_ro("workspace_bytes", [](const ImageObject& self) { return self.plan().workspace_bytes(); })
        .def_prop_ro("predicted_seconds", [](const ImageObject& self) { return self.plan().predicted_seconds(); })
        .def_prop_ro("predicted_copy_seconds", [](const ImageObject& self) { return self.plan().predicted_copy_seconds(); })
        .def("execute",
             [](const ImageObject& self, nb::handle out, nb::handle image) { self.execute(array_of(out), array_of(image)); })
        .def("execute_again", [](const ImageObject& self, nb::handle out,
                                 nb::handle image) { return self.execute_again(array_of(out), array_of(image)); })
        .def_prop_ro("is_kept", &ImageObject::is_kept)
        .def("explain", [](const ImageObject& self) { return self.plan().explain(); })
        .def_prop_ro("algorithm", [](const ImageObject& self) { return self.plan().algorithm(); });
    module.def(
        "keep_plain_image",
        [](nb::handle image, nb::handle taps, nb::handle out, const nb::tuple& options, const ImageObject& plan,
           const std::vector<npy_intp>& shape, const std::string& dtype) {
            const std::vector<PyObject*> given = items_of(options.ptr());
            const ImageCall call{image.ptr(), taps.ptr(), out.ptr(), given};
            checked([&] { keep_plain_image(call, plan.plan(), shape, known_dtype("image", dtype)); });
        },
        nb::arg("image"), nb::arg("taps"), nb::arg("out").none(), nb::arg("options"), nb::arg("plan"), nb::arg("shape"),
        nb::arg("dtype"));
    module.def("image_size", [](const nb::dict& options, std::int64_t height, std::int64_t width, std::int64_t mask_height,
                                std::int64_t mask_width) {
        const ImageSize size = checked([&] {
            return image_size_of(image_request(options, false), {height, width}, {mask_height, mask_width});
        });
        return nb::make_tuple(size.height, size.width);
    });
}

void add_gpu_call(nb::module_& module) {
    nb::class_<GpuCall>(module, "GpuCall", "A call for an array in GPU memory: what tapline._gpu uses.")
        .def("__init__",
             [](GpuCall* self, const std::string& function, const std::vector<npy_intp>& shape, const std::string& dtype,
                nb::handle taps, const std::string& taps_dtype, const std::optional<std::string>& output_dtype,
                const std::string& device, const nb::dict& options, bool as_stored) {
                 checked([&] {
                     new (self)
                         GpuCall(make_gpu_call(function, shape, dtype, taps, taps_dtype, output_dtype, device, options, as_stored));
                 });
             })
        .def_prop_ro("signal_type", [](const GpuCall& self) { return numpy_name(self.signal_type()); })
        .def_prop_ro("taps_type", [](const GpuCall& self) { return numpy_name(self.taps_type()); })
        .def_prop_ro("output_type", [](const GpuCall& self) { return numpy_name(self.output_type()); })
        .def_prop_ro("output_shape", [](const GpuCall& self) { return tuple_of(self.output_shape()); })
        .def("arrange", [](GpuCall& self, const std::vector<npy_intp>& in, const std::vector<npy_intp>& out) {
            return checked([&] { return self.arrange(in, out); });
        });
    nb::class_<ArrangedCall>(module, "ArrangedCall", "The call for the strides of its arrays.")
        .def_prop_ro("can_be_read", &ArrangedCall::can_be_read)
        .def_prop_ro("can_be_written", &ArrangedCall::can_be_written)
        .def_prop_ro("executions", &ArrangedCall::executions)
        .def_prop_ro("predicted_seconds", &ArrangedCall::predicted_seconds)
        .def_prop_ro("algorithm", &ArrangedCall::algorithm)
        .def_prop_ro("workspace_bytes", &ArrangedCall::workspace_bytes)
        .def("run", &ArrangedCall::run, nb::arg("out"), nb::arg("signal"), nb::arg("workspace"), nb::arg("stream"),
             nb::arg("taps") = 0);
}

// (shape, strides in bytes, the type's name), (axis, origin, boundary): what tapline._gpu.programs and tapline.ndimage
// call.
using Lying = std::tuple<std::vector<npy_intp>, std::vector<npy_intp>, std::string>;
using Filtered = std::tuple<int, std::int64_t, std::string>;

Lies lies_of(const Lying& array, const char* name) {
    const auto& [shape, strides, dtype] = array;
    return {shape, strides, known_dtype(name, dtype)};
}

void add_filters(nb::module_& module) {
    const auto plan_of = [](const Lying& in, const Lying& out, const std::vector<Filtered>& axes, nb::handle taps,
                            const nb::dict& options, bool as_in_c, Rows rows) {
        std::vector<FilterAxis> filtered;
        filtered.reserve(axes.size());
        for (const auto& [axis, origin, boundary] : axes) { filtered.push_back({axis, origin, boundary_of_name(boundary)}); }
        return filter_plan(image_request(options, false), lies_of(in, "input"), lies_of(out, "output"), filtered, array_of(taps),
                           as_in_c, rows);
    };
    module.def("gpu_filter", [plan_of](const Lying& in, const Lying& out, const std::vector<Filtered>& axes, nb::handle taps,
                                       const nb::dict& options, bool as_in_c) {
        return checked(
            [&] { return std::make_shared<ArrangedCall>(plan_of(in, out, axes, taps, options, as_in_c, Rows::of_input)); });
    });
    module.def("host_filter", [plan_of](const Lying& in, const Lying& out, const std::vector<Filtered>& axes, nb::handle taps,
                                        const nb::dict& options, bool as_in_c) {
        return checked([&] { return ImageObject(plan_of(in, out, axes, taps, options, as_in_c, Rows::of_output)); });
    });
    module.def("is_within", [](nb::handle array, double limit) { return is_within(array_of(array), limit); });
}

void add_passes(nb::module_& module) {
    // Images, rows, columns; strides of images and rows of the input, then of the output.
    using Sizes = std::array<std::int64_t, 7>;
    using Pass = std::tuple<std::vector<double>, std::int64_t, std::string, double>;
    nb::class_<RoundedPassesPlan>(module, "RoundedPassesPlan", "Passes over images in GPU memory that are rounded in between.")
        .def_prop_ro("predicted_seconds", &RoundedPassesPlan::predicted_seconds)
        .def("run", [](const RoundedPassesPlan& plan, std::uintptr_t out, std::uintptr_t in, std::uintptr_t stream) {
            const WithoutGil without_gil;
            plan.execute(at_address(out), at_address(in), at_address(stream));
        });
    module.def("gpu_passes",
               [](const Sizes& sizes, const std::string& dtype, const std::vector<Pass>& passes, double constant, int device) {
                   RoundedPasses p;
                   p.dtype = known_dtype("input", dtype);
                   std::tie(p.images, p.rows, p.columns, p.input_image_stride, p.input_row_stride, p.output_image_stride,
                            p.output_row_stride) = std::tuple_cat(sizes);
                   p.constant = constant;
                   for (std::size_t i = 0; i < passes.size(); ++i) {
                       const auto& [weights, origin, boundary, divisor] = passes[i];
                       (i == 0 ? p.down : p.along) = {weights, origin, boundary_of_name(boundary), divisor};
                   }
                   return checked([&] { return RoundedPassesPlan(p, device); });
               });
}

void add_depthwise(nb::module_& module) {
    // batch, channels, samples, outputs, taps, origin
    using Sizes = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
    const auto problem_of = [](const Sizes& p, const std::string& dtype) {
        const auto& [batch, channels, length, outputs, taps, origin] = p;
        return DepthwiseProblem{.batch = batch,
                                .channels = channels,
                                .length = length,
                                .outputs = outputs,
                                .taps = taps,
                                .origin = origin,
                                .dtype = known_dtype("x", dtype)};
    };
    module.def("depthwise_workspace_bytes", [=](const Sizes& sizes, const std::string& dtype, int device) {
        return depthwise_workspace_bytes(problem_of(sizes, dtype), device);
    });
    module.def("depthwise_gradients",
               [=](const Sizes& sizes, const std::string& dtype, std::uintptr_t grad_x, std::uintptr_t grad_taps,
                   std::uintptr_t grad_y, std::uintptr_t x, std::uintptr_t taps, std::uintptr_t workspace,
                   std::size_t workspace_bytes, int device, std::uintptr_t stream) {
                   const DepthwiseProblem problem = problem_of(sizes, dtype);
                   const WithoutGil without_gil;
                   depthwise_gradients(problem, at_address(grad_x), at_address(grad_taps), at_address(grad_y), at_address(x),
                                       at_address(taps), at_address(workspace), workspace_bytes, device, at_address(stream));
               });
}

nb::dict dict_of(std::initializer_list<std::pair<const char*, nb::object>> items) {
    nb::dict dict;
    for (const auto& [name, value] : items) { dict[name] = value; }
    return dict;
}

nb::list engines_as_list() {
    nb::list list;
    for (const EngineInfo& engine : engines()) {
        nb::list devices;
        for (const DeviceInfo& device : engine.devices) {
            devices.append(dict_of({{"name", nb::cast(device.name)},
                                    {"description", nb::cast(device.description)},
                                    {"instruction_set", nb::cast(device.instruction_set)},
                                    {"threads", nb::cast(device.threads)},
                                    {"memory_bytes", nb::cast(device.memory_bytes)}}));
        }
        list.append(dict_of({{"name", nb::cast(engine.name)},
                             {"available", nb::cast(engine.available)},
                             {"reason", nb::cast(engine.reason)},
                             {"devices", devices}}));
    }
    return list;
}

// With the problem of a plan, since what an algorithm can do depends on it.
nb::list algorithms_as_list(const PlanObject& plan, const std::string& device) {
    nb::list list;
    const Problem& problem = plan.plan().problem();
    for (const AlgorithmInfo& algorithm : algorithms(problem, device, Accuracy::standard, plan.plan().threads())) {
        list.append(dict_of({{"name", nb::cast(algorithm.name)},
                             {"summary", nb::cast(algorithm.summary)},
                             {"supported", nb::cast(algorithm.supported)},
                             {"reason", nb::cast(algorithm.reason)},
                             {"predicted_seconds", nb::cast(algorithm.predicted_seconds)}}));
    }
    return list;
}

nb::dict plan_cache_as_dict() {
    const PlanCacheInfo info = plan_cache_info();
    return dict_of({{"plans", nb::cast(info.plans)},
                    {"host_bytes", nb::cast(info.host_bytes)},
                    {"device_bytes", nb::cast(info.device_bytes)},
                    {"limit_bytes", nb::cast(info.limit_bytes)},
                    {"preparation_seconds", nb::cast(info.preparation_seconds)},
                    {"hits", nb::cast(info.hits)},
                    {"misses", nb::cast(info.misses)}});
}

PyCFunction as_function(PyObject* (*vectorcall)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(vectorcall));
}

PyCFunction as_function(PyObject* (*fastcall)(PyObject*, PyObject* const*, Py_ssize_t)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(fastcall));
}

// image, taps, out, options
PyObject* remembered_image(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) {
    return guarded([&] {
        if (count != 4 || !PyTuple_Check(arguments[3])) { raise(PyExc_TypeError, "plain_image takes three arrays and a tuple"); }
        const std::vector<PyObject*> options = items_of(arguments[3]);
        PyObject* const result = plain_image({arguments[0], arguments[1], arguments[2], options});
        return result == nullptr ? Owned::borrowed(Py_None).release() : result;
    });
}

PyMethodDef functions[] = {
    {"convolve", as_function(convolve), METH_FASTCALL | METH_KEYWORDS, kConvolveDoc.c_str()},
    {"correlate", as_function(correlate), METH_FASTCALL | METH_KEYWORDS, kCorrelateDoc.c_str()},
    {"plain_image", as_function(remembered_image), METH_FASTCALL, "What tapline.image calls first."},
    {"conv1d_on_gpu", as_function(conv1d_on_gpu), METH_FASTCALL, "What tapline.torch calls first."},
    {"correlate_rows_on_gpu", as_function(correlate_rows_on_gpu), METH_FASTCALL, "What tapline.torch's operator is on a GPU."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace
}  // namespace tapline::python

NB_MODULE(_core, module) {
    using namespace tapline::python;
    checked([] {
        import_numpy();
        intern_keywords();
    });
    nb::register_exception_translator([](const std::exception_ptr& exception, void*) {
        try {
            std::rethrow_exception(exception);
        } catch (const tapline::Error& error) { set_python_error(error); } catch (const PythonError&) {  // Python holds it
        }
    });
    if (PyModule_AddFunctions(module.ptr(), functions) < 0) { throw nb::python_error(); }
    add_plan(module);
    add_gpu_call(module);
    add_filters(module);
    add_passes(module);
    add_depthwise(module);
    add_image(module);
    add_shards(module);
    add_devices(module);
    module.def(
        "is_on_gpu", [](nb::handle object) { return is_on_gpu(object.ptr()); }, "Whether an array is in GPU memory.");
    module.attr("__version__") = tapline::version();
    module.def("engines", &engines_as_list, "Every engine that this build knows, usable or not.");
    module.def("algorithms", &algorithms_as_list, nb::arg("plan"), nb::arg("device") = "cpu",
               "What each algorithm of a device says about a plan's problem.");
    module.def("cpu_targets", &tapline::cpu_targets, "The instruction sets that can run here, best first.");
    module.def("cpu_target", &tapline::cpu_target, "The instruction set in use.");
    module.def("wisdom_path", &tapline::wisdom_path, "Where `tapline tune` remembers what it measured.");
    module.def("available_threads", &tapline::available_threads, "CPU threads that this process may run on.");
    module.attr("gpu_calls") = nb::dict();     // tapline._gpu.calls fills it
    module.attr("gpu_programs") = nb::dict();  // tapline._gpu.programs
    module.attr("host_calls") = nb::dict();    // tapline._host_calls
    module.def("plain_calls", &plain_calls, "Of the calls that are remembered: whether each runs without Python.");
    module.def(
        "is_too_long_to_keep",
        [](std::size_t bytes) {
            constexpr std::size_t kLeast = std::size_t{1} << 20;  // of fewer a plan is made in little time
            return bytes >= kLeast && is_too_long_to_keep(bytes, true);
        },
        "Whether so many bytes of taps are more than the cache of plans keeps on a GPU.");
    module.def(
        "clear_plan_cache",
        [] {
            clear_plan_cache();
            clear_plain_calls();
            for (const char* name : {"gpu_calls", "gpu_programs", "host_calls"}) {
                nb::module_::import_("tapline._core").attr(name).attr("clear")();
            }
        },
        kClearPlanCacheDoc);
    module.def("plan_cache_size", &plan_cache_size, "How many plans of recent calls are kept.");
    module.def("explain_latest_plan", &explain_latest_plan, "explain() of the plan that was asked for last; empty without one.");
    module.def("plan_cache_info", &plan_cache_as_dict, "What the cache of plans holds, and how it was used.");
    module.def(
        "set_plan_cache_limit",
        [](std::size_t bytes) {
            set_plan_cache_limit(bytes);
            clear_plain_calls();
            nb::module_::import_("tapline._core").attr("host_calls").attr("clear")();
        },
        nb::arg("bytes"), kSetPlanCacheLimitDoc);
}
