// Sums narrowed to every type that an output may have, as lines and images store them, against the conversion that asks for each
// element by itself: limits, halves between two integers, NaN and infinity.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gpu/on_host/cuda_on_host.hpp"

#include "cuda/primitives/lines/lines.cuh"

namespace tapline::test {
namespace {

template <class X>
std::vector<X> awkward_sums() {
    std::vector<X> all{
        std::numeric_limits<X>::quiet_NaN(), std::numeric_limits<X>::infinity(), X{0}, X{0.25}, X{0.5}, X{0.75}, X{1.5}, X{2.5}};
    for (const int bits : {7, 8, 15, 16, 31, 32, 63, 64, 65}) {
        const X top = std::ldexp(X{1}, bits);
        for (const X x : {std::nextafter(top, X{0}), top, std::nextafter(top, 2 * top), top - X{1}, top - X{0.5}, top + X{0.5}}) {
            all.push_back(x);
        }
    }
    for (std::size_t i = 0, count = all.size(); i < count; ++i) { all.push_back(-all[i]); }
    return all;
}

template <class X, class Raw>
void expect_as_converted(Dtype type) {
    cuda::Arguments a{};
    a.output_type = type;
    for (const X x : awkward_sums<X>()) {
        const X sums[1] = {x};
        Raw raw[1];
        cuda::narrow_real_to_raw(type, sums, raw);
        Raw expected{};
        cuda::store_converted(a, &expected, 0, x);
        EXPECT_EQ(raw[0], expected) << x << " as a type of number " << static_cast<int>(type);
    }
}

template <class X>
void expect_all_as_converted() {
    for (const Dtype type : {cuda::kI8, cuda::kU8, cuda::kBoolean}) { expect_as_converted<X, std::uint8_t>(type); }
    for (const Dtype type : {cuda::kI16, cuda::kU16}) { expect_as_converted<X, std::uint16_t>(type); }
    for (const Dtype type : {cuda::kI32, cuda::kU32}) { expect_as_converted<X, std::uint32_t>(type); }
    for (const Dtype type : {cuda::kI64, cuda::kU64}) { expect_as_converted<X, std::uint64_t>(type); }
}

TEST(NarrowedSums, OfF32AreAsConvertedOneByOne) { expect_all_as_converted<float>(); }
TEST(NarrowedSums, OfF64AreAsConvertedOneByOne) { expect_all_as_converted<double>(); }

}  // namespace
}  // namespace tapline::test
