// 16-bit floating types: every value there and back, and rounding against an independent formula.
#include "core/problem/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/reference.hpp"
#include "support/buffers.hpp"
#include "tapline/problem.hpp"

namespace tapline::core {
namespace {

TEST(Half, EveryValueSurvivesTheWayThereAndBack) {
    for (std::uint32_t i = 0; i < 0x10000; ++i) {
        const auto bits = static_cast<std::uint16_t>(i);
        if (std::isnan(from_f16(bits))) {
            EXPECT_TRUE(std::isnan(from_f16(to_f16(from_f16(bits)))));
        } else {
            ASSERT_EQ(to_f16(from_f16(bits)), bits);
        }
        if (std::isnan(from_bf16(bits))) {
            EXPECT_TRUE(std::isnan(from_bf16(to_bf16(from_bf16(bits)))));
        } else {
            ASSERT_EQ(to_bf16(from_bf16(bits)), bits);
        }
    }
}

TEST(Half, KnownValues) {
    EXPECT_EQ(to_f16(1.0), 0x3C00);
    EXPECT_EQ(to_f16(-2.0), 0xC000);
    EXPECT_EQ(to_f16(65504.0), 0x7BFF);
    EXPECT_EQ(to_f16(65519.99), 0x7BFF);
    EXPECT_EQ(to_f16(65520.0), 0x7C00);
    EXPECT_EQ(to_f16(0x1p-24), 0x0001);
    EXPECT_EQ(to_f16(0x1p-25), 0x0000);                // a tie, to even
    EXPECT_EQ(to_f16(0x1.0000000000001p-25), 0x0001);  // just above it
    EXPECT_EQ(to_f16(-0x1p-26), 0x8000);
    EXPECT_EQ(to_f16(HUGE_VAL), 0x7C00);
    EXPECT_EQ(to_bf16(1.0), 0x3F80);
    EXPECT_EQ(to_bf16(3.4e38), 0x7F80);
    EXPECT_EQ(to_bf16(std::numeric_limits<double>::denorm_min()), 0x0000);
    // Rounded once: as a float this would become 1 + 2^-11, a tie that goes down.
    EXPECT_EQ(to_f16(1 + 0x1p-11 + 0x1p-40), 0x3C01);
    EXPECT_EQ(from_f16(0x0001), 0x1p-24F);
    EXPECT_EQ(from_f16(0xFBFF), -65504.0F);
    EXPECT_EQ(from_bf16(0x0001), 0x1p-133F);
}

// The reference rounds by another formula; one tap, scaled, is a way to it.
TEST(Half, RoundsAsTheReference) {
    test::Random random(1);
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        const Problem p{.length = 1, .taps = 1, .dtype = Dtype::f64, .output_dtype = dtype};
        const double tap = 1;
        for (int i = 0; i < 20000; ++i) {
            const int exponent = std::uniform_int_distribution<int>(-145, 140)(random);
            double value =
                std::ldexp(std::uniform_real_distribution<double>(-2, 2)(random), dtype == Dtype::f16 ? exponent / 6 : exponent);
            if (i % 2 == 0) { value = static_cast<double>(static_cast<float>(value)); }
            if (i % 4 == 0) { value = std::ldexp(std::nearbyint(std::ldexp(value, 14)), -14); }  // ties
            if (value == 0) { continue; }  // a sum that begins with 0 has no -0
            std::uint16_t wanted = 0;
            reference::convolve(p, &wanted, &value, &tap);
            ASSERT_EQ(dtype == Dtype::f16 ? to_f16(value) : to_bf16(value), wanted) << value;
        }
    }
}

}  // namespace
}  // namespace tapline::core
