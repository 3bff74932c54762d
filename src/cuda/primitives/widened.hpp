// Samples of f32 and complex64 that are transformed, and summed, in double. Host code reads it too.
#pragma once

#include "cuda/primitives/elements.hpp"

namespace tapline::cuda {

struct WideFloat {
    float value;
};
struct WideComplex {
    float x, y;
};
template <>
struct Element<WideFloat> {
    using Sum = double;
    using Real = double;
    static __device__ Sum widen(WideFloat x) { return x.value; }
    static __device__ WideFloat narrow(Sum x) { return {static_cast<float>(x)}; }
};
template <>
struct Element<WideComplex> {
    using Sum = double2;
    using Real = double;
    static __device__ Sum widen(WideComplex x) { return {x.x, x.y}; }
    static __device__ WideComplex narrow(Sum x) { return {static_cast<float>(x.x), static_cast<float>(x.y)}; }
};
template <>
inline constexpr bool kIsComplexElement<WideComplex> = true;

template <class S>
inline constexpr bool kIsWidened = false;
template <>
inline constexpr bool kIsWidened<WideFloat> = true;
template <>
inline constexpr bool kIsWidened<WideComplex> = true;

}  // namespace tapline::cuda
