#include "core/problem/window.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tapline::core {
namespace {

// x(-7 .. 10) of the signal 0 1 2 3, as the pictures of the boundaries draw it.
std::vector<std::int64_t> indices(Boundary boundary, std::int64_t n) {
    std::vector<std::int64_t> result;
    for (std::int64_t p = -7; p <= 10; ++p) { result.push_back(boundary_index(boundary, p, n)); }
    return result;
}

TEST(BoundaryIndex, EveryRuleAnyDistanceAway) {
    using Indices = std::vector<std::int64_t>;
    EXPECT_EQ(indices(Boundary::nearest, 4), (Indices{0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3}));
    EXPECT_EQ(indices(Boundary::reflect, 4), (Indices{1, 2, 3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0, 1, 2}));
    EXPECT_EQ(indices(Boundary::mirror, 4), (Indices{1, 0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2}));
    EXPECT_EQ(indices(Boundary::wrap, 4), (Indices{1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2}));
    EXPECT_EQ(boundary_index(Boundary::zero, -1, 4), -1);
    EXPECT_EQ(boundary_index(Boundary::constant, 4, 4), -1);
    for (const Boundary one : {Boundary::nearest, Boundary::reflect, Boundary::mirror, Boundary::wrap}) {
        EXPECT_EQ(boundary_index(one, -5, 1), 0);
        EXPECT_EQ(boundary_index(one, 123456789012345, 1), 0);
    }
}

Resolved resolved(Boundary boundary, std::int64_t n, Dtype dtype = Dtype::f32) {
    const Problem p{.length = n, .taps = 3, .boundary = boundary, .constant = 7, .dtype = dtype};
    return resolve(p, true);
}

TEST(Gather, TakesRowsStridesAndBothPieces) {
    // Two rows interleaved; samples 2..3 in main, sample 0..1 in extra.
    const std::vector<float> late{2, 12, 3, 13};
    const std::vector<float> early{0, 10, 1, 11};
    const Input input{.main = {late.data(), 2, 4, 1, 2}, .extra = {early.data(), 0, 2, 1, 2}, .n = 4};
    std::vector<float> got(8);
    gather(got.data(), resolved(Boundary::reflect, 4), input, 1, -2, 8);
    EXPECT_EQ(got, (std::vector<float>{11, 10, 10, 11, 12, 13, 13, 12}));
}

TEST(Gather, ConstantAndZero) {
    const std::vector<double> signal{1, 2};
    const Input input{.main = {signal.data(), 0, 2, 0, 1}, .extra = {}, .n = 2};
    std::vector<double> got(5);
    gather(got.data(), resolved(Boundary::constant, 2, Dtype::f64), input, 0, -1, 5);
    EXPECT_EQ(got, (std::vector<double>{7, 1, 2, 7, 7}));
    gather(got.data(), resolved(Boundary::zero, 2, Dtype::f64), input, 0, 5, 5);
    EXPECT_EQ(got, (std::vector<double>{0, 0, 0, 0, 0}));
}

TEST(Gather, TheConstantIsRoundedTo16BitFloats) {
    const std::vector<std::uint16_t> signal{0x1234};
    const Input input{.main = {signal.data(), 0, 1, 0, 1}, .extra = {}, .n = 1};
    std::vector<std::uint16_t> got(2);
    for (const auto& [dtype, seven] : {std::pair{Dtype::f16, 0x4700}, std::pair{Dtype::bf16, 0x40E0}, std::pair{Dtype::u16, 7}}) {
        gather(got.data(), resolved(Boundary::constant, 1, dtype), input, 0, 0, 2);
        EXPECT_EQ(got, (std::vector<std::uint16_t>{0x1234, static_cast<std::uint16_t>(seven)})) << to_string(dtype);
    }
}

TEST(Gather, UnknownLengthKnowsTheBeginningOnly) {
    const std::vector<float> signal{1, 2, 3};
    const std::vector<float> tail{8, 9};
    Input input{.main = {signal.data(), 0, 3, 0, 1}, .extra = {}, .n = kUnknownLength};
    std::vector<float> got(4);
    gather(got.data(), resolved(Boundary::mirror, kUnknownLength), input, 0, -2, 4);
    EXPECT_EQ(got, (std::vector<float>{3, 2, 1, 2}));
    input.extra = {tail.data(), -2, 0, 0, 1};
    gather(got.data(), resolved(Boundary::wrap, kUnknownLength), input, 0, -2, 4);
    EXPECT_EQ(got, (std::vector<float>{8, 9, 1, 2}));
}

TEST(DirectView, OnlyInsideAndWithUnitStride) {
    const std::vector<float> signal{0, 1, 2, 3, 4, 5};
    Input input{.main = {signal.data(), 10, 16, 0, 1}, .extra = {}, .n = 100};
    EXPECT_EQ(direct_view<float>(input, 0, 12, 3), signal.data() + 2);
    EXPECT_EQ(direct_view<float>(input, 0, 9, 3), nullptr);
    EXPECT_EQ(direct_view<float>(input, 0, 14, 3), nullptr);
    input.main.stride = 2;
    EXPECT_EQ(direct_view<float>(input, 0, 12, 1), nullptr);
}

}  // namespace
}  // namespace tapline::core
