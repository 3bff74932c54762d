// The module tapline._core.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "docstrings.hpp"
#include "plan_cache.hpp"
#include "plan_object.hpp"
#include "tapline/info.hpp"

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

void add_plan(nb::module_& module) {
    nb::class_<PlanObject>(module, "Plan", kPlanDoc)
        .def(
            "__init__",
            [](PlanObject* self, const nb::args& arguments, const nb::kwargs& named) {
                checked([&] { new (self) PlanObject(arguments.ptr(), named.ptr()); });
            },
            nb::sig("def __init__(self, shape, taps, mode='full', *, dtype=None, axis=-1, boundary='zero', constant=0, "
                    "origin=None, operation='convolution', accuracy='standard', effort='estimate', device='auto', "
                    "algorithm=None, threads=0, scale=1.0, bias=0.0, clamp=None, overflow='error')"))
        .def(
            "__call__",
            [](PlanObject& self, nb::handle signal, nb::handle out) {
                return nb::steal(checked([&] { return self.execute(signal.ptr(), out.ptr()); }));
            },
            nb::arg("signal"), nb::arg("out").none() = nb::none(), "The output for one signal, in `out` if given.")
        .def("explain", &PlanObject::explain, "What was chosen, why, and how fast it should be.")
        .def("__repr__",
             [](const PlanObject& self) {
                 std::string text = self.explain();
                 return "<tapline.Plan: " + text.substr(11, text.find('\n') - 11) + ">";
             })
        .def_prop_ro(
            "workspace_bytes", [](const PlanObject& self) { return self.plan().workspace_bytes(); },
            "Bytes of scratch memory that an execution uses.")
        .def_prop_ro("algorithm", [](const PlanObject& self) { return self.plan().algorithm(); })
        .def_prop_ro("device", [](const PlanObject& self) { return self.plan().device(); })
        .def_prop_ro("threads", [](const PlanObject& self) { return self.plan().threads(); })
        .def_prop_ro(
            "predicted_seconds", [](const PlanObject& self) { return self.plan().predicted_seconds(); },
            "What the cost model expects of one execution.")
        .def_prop_ro(
            "shape", [](const PlanObject& self) { return tuple_of(self.input_shape()); }, "The signal's shape.")
        .def_prop_ro("output_shape", [](const PlanObject& self) { return tuple_of(self.output_shape()); })
        .def_prop_ro(
            "dtype", [](const PlanObject& self) { return numpy_dtype(self.types().signal); }, "The signal's type.")
        .def_prop_ro("output_dtype", [](const PlanObject& self) { return numpy_dtype(self.types().output); });
}

nb::list engines_as_list() {
    nb::list list;
    for (const EngineInfo& engine : engines()) {
        nb::list devices;
        for (const DeviceInfo& device : engine.devices) {
            nb::dict d;
            d["name"] = device.name;
            d["description"] = device.description;
            d["instruction_set"] = device.instruction_set;
            d["threads"] = device.threads;
            d["memory_bytes"] = device.memory_bytes;
            devices.append(d);
        }
        nb::dict e;
        e["name"] = engine.name;
        e["available"] = engine.available;
        e["reason"] = engine.reason;
        e["devices"] = devices;
        list.append(e);
    }
    return list;
}

// With the problem of a plan, since what an algorithm can do depends on it.
nb::list algorithms_as_list(const PlanObject& plan, const std::string& device) {
    nb::list list;
    const Problem& problem = plan.plan().problem();
    for (const AlgorithmInfo& algorithm : algorithms(problem, device, Accuracy::standard, plan.plan().threads())) {
        nb::dict d;
        d["name"] = algorithm.name;
        d["summary"] = algorithm.summary;
        d["supported"] = algorithm.supported;
        d["reason"] = algorithm.reason;
        d["predicted_seconds"] = algorithm.predicted_seconds;
        list.append(d);
    }
    return list;
}

PyCFunction as_function(PyObject* (*vectorcall)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(vectorcall));
}

PyMethodDef functions[] = {
    {"convolve", as_function(convolve), METH_FASTCALL | METH_KEYWORDS, kConvolveDoc.c_str()},
    {"correlate", as_function(correlate), METH_FASTCALL | METH_KEYWORDS, kCorrelateDoc.c_str()},
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
        } catch (const tapline::Error& error) { set_python_error(error); }
    });
    if (PyModule_AddFunctions(module.ptr(), functions) < 0) { throw nb::python_error(); }
    add_plan(module);
    module.attr("__version__") = tapline::version();
    module.def("engines", &engines_as_list, "Every engine that this build knows, usable or not.");
    module.def("algorithms", &algorithms_as_list, nb::arg("plan"), nb::arg("device") = "cpu",
               "What each algorithm of a device says about a plan's problem.");
    module.def("cpu_targets", &tapline::cpu_targets, "The instruction sets that can run here, best first.");
    module.def("cpu_target", &tapline::cpu_target, "The instruction set in use.");
    module.def("wisdom_path", &tapline::wisdom_path, "Where `tapline tune` remembers what it measured.");
    module.def("available_threads", &tapline::available_threads, "CPU threads that this process may run on.");
    module.def("clear_plan_cache", &clear_plan_cache, "Forget the plans of recent calls.");
    module.def("plan_cache_size", &plan_cache_size, "How many plans of recent calls are kept.");
}
