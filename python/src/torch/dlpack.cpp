#include "torch/dlpack.hpp"

#include <algorithm>
#include <array>

namespace tapline::python::dlpack {
namespace {

constexpr std::uint32_t kVersion = 1;
constexpr int kSigned = 0, kUnsigned = 1, kFloating = 2, kBfloat = 4, kComplex = 5, kBool = 6;

struct Known {
    int kind, bits;
    Dtype dtype;
};
constexpr std::array kKnown{
    Known{kFloating, 32, Dtype::f32}, Known{kFloating, 64, Dtype::f64},      Known{kFloating, 16, Dtype::f16},
    Known{kBfloat, 16, Dtype::bf16},  Known{kComplex, 64, Dtype::complex64}, Known{kComplex, 128, Dtype::complex128},
    Known{kSigned, 8, Dtype::i8},     Known{kSigned, 16, Dtype::i16},        Known{kSigned, 32, Dtype::i32},
    Known{kSigned, 64, Dtype::i64},   Known{kUnsigned, 8, Dtype::u8},        Known{kUnsigned, 16, Dtype::u16},
    Known{kUnsigned, 32, Dtype::u32}, Known{kUnsigned, 64, Dtype::u64},      Known{kBool, 8, Dtype::boolean},
};

}  // namespace

const Exchange* exchange_of(PyObject* type) {
    PyObject* const capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
    if (capsule == nullptr) {
        PyErr_Clear();
        return nullptr;
    }
    const Owned keep(capsule);
    constexpr const char* kName = "dlpack_exchange_api";
    if (PyCapsule_IsValid(capsule, kName) == 0) { return nullptr; }
    const auto* const exchange = static_cast<const Exchange*>(PyCapsule_GetPointer(capsule, kName));  // lives with the library
    const bool usable = exchange->major == kVersion && exchange->look != nullptr && exchange->stream != nullptr;
    return usable ? exchange : nullptr;
}

std::optional<Dtype> dtype_of(ElementType type) {
    const auto* const found = std::find_if(kKnown.begin(), kKnown.end(), [type](const Known& known) {
        return known.kind == type.kind && known.bits == type.bits && type.lanes == 1;
    });
    if (found == kKnown.end()) { return std::nullopt; }
    return found->dtype;
}

}  // namespace tapline::python::dlpack
