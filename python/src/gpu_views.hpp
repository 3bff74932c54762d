// Arrays of CuPy and PyTorch in GPU memory read without the package's Python: where they lie and how; new ones beside them; the
// stream that their library works on. Other libraries, and whatever is not plain about an array, are for tapline/_gpu/libraries.py.
#pragma once

#include <array>

#include "gpu_call.hpp"

namespace tapline::python {

/// Axes that a View has room for; arrays of more go the long way.
inline constexpr int kViewAxes = 6;

/// Where an array lies, and how.
struct View {
    std::uintptr_t address = 0;
    Dtype dtype = Dtype::f32;
    int device = 0;
    int axes = 0;
    std::array<npy_intp, kViewAxes> shape{}, strides{};  ///< strides in bytes
};

/// A library of arrays in GPU memory.
class GpuLibrary {
public:
    virtual ~GpuLibrary() = default;
    GpuLibrary(const GpuLibrary&) = delete;
    GpuLibrary& operator=(const GpuLibrary&) = delete;

    /// False: it is not on a GPU, of a type that the engine has not, requires a gradient, or otherwise needs a closer look.
    virtual bool read(PyObject* array, View& view) const = 0;
    /// An uninitialised array in the memory of `like`; null where the library's current device is another one. `shape` is a tuple,
    /// `dtype` what dtype_object() gave.
    virtual PyObject* empty(PyObject* like, const View& view, PyObject* shape, PyObject* dtype) const = 0;
    /// The library's object for an element type; a new reference.
    [[nodiscard]] virtual PyObject* dtype_object(Dtype dtype) const = 0;
    /// The cudaStream_t that the library's work on a device goes to.
    [[nodiscard]] virtual std::uintptr_t stream(int device) const = 0;

protected:
    GpuLibrary() = default;
};

/// The library whose arrays are of exactly this type; null for all others.
const GpuLibrary* plain_library_of(PyTypeObject* type);

}  // namespace tapline::python
