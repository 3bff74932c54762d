// What is used of DLPack's interface for C (its version 1): an array as its library describes it, and the functions that libraries
// offer under `__dlpack_c_exchange_api__` of their arrays' type.
#pragma once

#include <cstdint>

#include "numpy_api.hpp"

namespace tapline::python::dlpack {

inline constexpr std::int32_t kCuda = 2;

struct Device {
    std::int32_t type, index;
};

/// A number of DLPack for the kind of element (0 signed, 1 unsigned, 2 floating, 4 bfloat, 5 complex, 6 bool), and its size.
struct ElementType {
    std::uint8_t kind, bits;
    std::uint16_t lanes;
};

struct Tensor {
    void* data;
    Device device;
    std::int32_t axes;
    ElementType type;
    const std::int64_t* shape;
    const std::int64_t* strides;  ///< in elements
    std::uint64_t byte_offset;
};

/// Both functions return 0, or -1 with a Python exception set.
struct Exchange {
    std::uint32_t major, minor;
    const void* older;
    const void *make, *take, *give;         ///< arrays themselves, which is not done here
    int (*look)(void* object, Tensor* to);  ///< what it fills in lives as long as the object does
    int (*stream)(std::int32_t device_type, std::int32_t device, void** to);
};

/// Of a library's arrays; null where it has none of this version.
const Exchange* exchange_of(PyObject* type);

/// Nothing for those that tapline does not know.
std::optional<Dtype> dtype_of(ElementType type);

}  // namespace tapline::python::dlpack
