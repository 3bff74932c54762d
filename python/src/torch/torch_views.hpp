// PyTorch's tensors: what gpu_views.hpp asks of a library, and what tapline.torch does with them.
#pragma once

#include "attributes.hpp"
#include "torch/dlpack.hpp"

namespace tapline::python {

class Torch final : public GpuLibrary {
public:
    /// Throws PythonError without PyTorch, or with one that has no GPUs.
    Torch();

    bool read(PyObject* array, View& view) const override;
    PyObject* empty(PyObject* like, const View& view, PyObject* shape, PyObject* dtype) const override;
    [[nodiscard]] PyObject* dtype_object(Dtype dtype) const override;
    [[nodiscard]] std::uintptr_t stream(int device) const override;

    /// As read(), whether or not a gradient is wanted.
    bool look(PyObject* tensor, View& view) const;
    [[nodiscard]] bool requires_grad(PyObject* tensor) const { return requires_grad_.of(tensor).get() != Py_False; }
    /// torch.empty_like(tensor), a new reference.
    [[nodiscard]] PyObject* empty_like(PyObject* tensor) const;

private:
    bool look_by_attributes(PyObject* tensor, View& view) const;

    Owned get_stream_, empty_like_;
    const dlpack::Exchange* exchange_ = nullptr;  // null: attributes are read one by one
    std::array<Owned, static_cast<std::size_t>(Dtype::bf16) + 1> dtypes_;
    Name get_device_{"get_device"}, is_cuda_{"is_cuda"}, requires_grad_{"requires_grad"}, is_conj_{"is_conj"}, is_neg_{"is_neg"},
        dtype_{"dtype"}, data_ptr_{"data_ptr"}, shape_{"shape"}, stride_{"stride"};
};

/// The one that plain_library_of() gives for tensors; null without.
const Torch* torch_library();

}  // namespace tapline::python
