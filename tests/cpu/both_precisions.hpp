// Tests that run for samples of f32 and of f64, real and complex.
#pragma once

#include <gtest/gtest.h>

#include "tapline/tapline.hpp"

namespace tapline::test {

template <class T>
class BothPrecisions : public testing::Test {
protected:
    static constexpr Dtype kReal = sizeof(T) == sizeof(float) ? Dtype::f32 : Dtype::f64;
    static constexpr Dtype kComplex = sizeof(T) == sizeof(float) ? Dtype::complex64 : Dtype::complex128;
};
using Precisions = testing::Types<float, double>;

}  // namespace tapline::test
