// Arrays in GPU memory: the call's problem from their shapes and types, its execution on their stream. What has to do with the
// library that an array comes from (CuPy, PyTorch, JAX) is Python: tapline/_gpu.py.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "call.hpp"

namespace tapline::python {

/// Whether an object is an array in GPU memory: it says so by DLPack, or by the CUDA array interface.
bool is_on_gpu(PyObject* object);

/// tapline._gpu.call(function, **values): a new reference.
PyObject* call_on_gpu(const char* function, const Values& values);

/// An address as Python has it, an integer.
inline void* at_address(std::uintptr_t address) {
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): there is no other way to get one from Python
}

/// NumPy's names for element types, and "bfloat16".
const char* numpy_name(Dtype dtype);
std::optional<Dtype> dtype_of_name(std::string_view name);
/// The same, and a TypeError that names the argument for what is none.
Dtype known_dtype(const char* argument, const std::string& name);

inline bool is_half(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16; }

/// As types_of(), with 16-bit floating signals read as they are stored, and, where `as_stored`, integers beside real taps, too.
Types gpu_types_of(Dtype signal, Dtype taps, std::optional<Dtype> output, bool as_stored);

/// Whether integer samples may be read as they are stored: a constant beyond the ends may be no value of their type.
bool stays_as_stored(const Problem& problem, Dtype signal);

/// A call arranged for the strides of its arrays: what is to be executed, with its plans. It never changes, so that several threads
/// may run it at once.
class ArrangedCall {
public:
    ArrangedCall() = default;
    /// One execution of a plan.
    explicit ArrangedCall(Plan plan);

    [[nodiscard]] bool can_be_read() const { return can_be_read_; }  ///< else the signal must be copied to C order first
    [[nodiscard]] bool can_be_written() const { return can_be_written_; }
    [[nodiscard]] std::int64_t executions() const { return layout_.executions(); }
    [[nodiscard]] std::size_t workspace_bytes() const { return workspace_bytes_; }
    /// What the cost model expects of all executions, in seconds.
    [[nodiscard]] double predicted_seconds() const;
    /// The algorithm of the first execution; empty where there is none.
    [[nodiscard]] std::string algorithm() const { return plans_.empty() ? "" : plans_.front().algorithm(); }

    /// Addresses in GPU memory, the workspace's a multiple of 64; `stream` is a cudaStream_t. The GIL is released.
    void run(std::uintptr_t out, std::uintptr_t in, std::uintptr_t workspace, std::uintptr_t stream, std::uintptr_t taps) const;

private:
    friend class GpuCall;
    bool can_be_read_ = true, can_be_written_ = true;
    std::optional<Dtype> taps_there_;  // their type, where run() gets them
    std::size_t workspace_bytes_ = 0;
    Layout layout_;
    std::vector<Plan> plans_;  // none, one, or one for each execution
};

/// One signal's convolution in GPU memory, in three steps: made from shapes and types, it says what it needs (signal_type(),
/// taps_type(), output_type(), output_shape()); arrange() takes the strides of both arrays; what that gives runs on addresses.
class GpuCall {
public:
    /// `device` is "cuda:N". `taps_there`: run() gets the taps' address in GPU memory; those of `prepared` are looked at for their
    /// number and type only. `given`: the type of those in GPU memory, if it is another one that the plan widens.
    GpuCall(Request request, const std::string& device, Prepared prepared, bool taps_there = false,
            std::optional<Dtype> given = {});

    [[nodiscard]] Dtype signal_type() const { return prepared_.types.signal; }
    [[nodiscard]] Dtype taps_type() const { return prepared_.types.taps; }
    [[nodiscard]] Dtype output_type() const { return prepared_.types.output; }
    [[nodiscard]] const std::vector<npy_intp>& output_shape() const { return prepared_.shape.output; }

    /// Strides in bytes, 0 along axes that a signal of one row broadcasts over. Makes the plans or finds them in the cache, and
    /// remembers: the same strides again look at no tap. With the GIL held, which is released while plans are made.
    std::shared_ptr<ArrangedCall> arrange(const std::vector<npy_intp>& in_strides, const std::vector<npy_intp>& out_strides);

private:
    struct Remembered {
        std::vector<npy_intp> in_strides, out_strides;
        std::shared_ptr<ArrangedCall> arranged;
    };
    [[nodiscard]] std::shared_ptr<ArrangedCall> find(const std::vector<npy_intp>& in_strides,
                                                     const std::vector<npy_intp>& out_strides) const;
    [[nodiscard]] ArrangedCall make(const std::vector<npy_intp>& in_strides, const std::vector<npy_intp>& out_strides) const;

    Request request_;
    Prepared prepared_;
    std::optional<Dtype> taps_there_;
    std::vector<Remembered> remembered_;  // guarded by the GIL, oldest first
};

}  // namespace tapline::python
