// tapline.Plan: shape, types, taps and options settled once, signals given again and again.
#pragma once

#include "plain_call.hpp"

namespace tapline::python {

class PlanObject {
public:
    /// Plan(shape, taps, mode="full", *, dtype, ...): `arguments` is a tuple, `named` a dictionary or null.
    PlanObject(PyObject* arguments, PyObject* named);

    /// The output for one signal, in `out` if given.
    PyObject* execute(PyObject* signal, PyObject* out);

    /// The same filter for signals of a type ("float32") on a GPU ("cuda:0"). Made once, so that what it arranged serves later
    /// calls.
    std::shared_ptr<GpuCall> on_gpu(const std::string& dtype, const std::string& device);

    /// execute() for arrays in GPU memory of a kind that is plain (plain_call.hpp); else null, without an exception.
    PyObject* execute_plain(PyObject* signal, PyObject* out);

    [[nodiscard]] const Plan& plan() const { return plans_.front().plan; }
    [[nodiscard]] const Types& types() const { return prepared_.types; }
    [[nodiscard]] const std::vector<npy_intp>& input_shape() const { return input_shape_; }
    [[nodiscard]] const std::vector<npy_intp>& output_shape() const { return prepared_.shape.output; }
    [[nodiscard]] std::string explain() const;
    /// A copy of the filter, in the type that it is used in.
    [[nodiscard]] PyObject* taps() const { return PyArray_NewCopy(prepared_.taps.array(), NPY_CORDER); }

private:
    // The library's plan for one arrangement of input and output in memory.
    struct ForStrides {
        Problem problem;
        Layout layout;
        Plan plan;
    };
    Layout arrange(Problem& problem, PyArrayObject* in, PyArrayObject* out) const;
    ForStrides make(Problem problem, PyArrayObject* in, PyArrayObject* out) const;
    ForStrides& find(const Problem& wanted, PyArrayObject* in, PyArrayObject* out);
    struct OnGpu {
        std::string dtype, device;
        std::shared_ptr<GpuCall> call;
    };
    [[nodiscard]] GpuCall make_gpu_call(const std::string& dtype, const std::string& device, bool as_stored) const;
    /// That call, which widens integers while it reads them; null where no engine does that.
    [[nodiscard]] std::shared_ptr<GpuCall> as_stored(const std::string& dtype, const std::string& device) const;

    Request request_;
    std::vector<npy_intp> input_shape_;
    Prepared prepared_;
    std::vector<ForStrides> plans_;  // the first is for C-contiguous arrays
    std::vector<OnGpu> gpu_calls_;   // guarded by the GIL; as many as there are types and GPUs
    PlainPlans plain_;
};

}  // namespace tapline::python
