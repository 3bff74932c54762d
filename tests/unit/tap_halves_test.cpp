// Which taps halves hold: what a plan for signals of 16 bits is told before an algorithm is chosen.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/cuda_library.hpp"
#include "core/half.hpp"
#include "core/tap_halves.hpp"

namespace tapline::core {
namespace {

Problem problem_of(std::size_t taps, Dtype dtype = Dtype::bf16) {
    Problem p;
    p.length = 1000;
    p.taps = static_cast<std::int64_t>(taps);
    p.dtype = dtype;
    return p;
}

bool halves(const std::vector<float>& taps, Dtype dtype = Dtype::bf16) {
    return taps_are_halves(resolve(problem_of(taps.size(), dtype)), taps.data());
}

TEST(TapHalves, WhatWasOfSixteenBitsIsOneHalf) {
    EXPECT_TRUE(halves({0.5F, -1.0F, 3.0F}));
    EXPECT_TRUE(halves({0.0F, -0.0F}));
    EXPECT_TRUE(halves({2047.0F, 1.0F, -1024.0F}));
    std::vector<float> taps;
    for (int i = 1; i <= 511; ++i) { taps.push_back(from_bf16(to_bf16(std::sin(i) / i))); }
    EXPECT_TRUE(halves(taps));
    EXPECT_TRUE(halves(taps, Dtype::f16));
    for (float& tap : taps) { tap = from_f16(to_f16(tap)); }
    EXPECT_TRUE(halves(taps));
}

TEST(TapHalves, OthersAreNot) {
    EXPECT_FALSE(halves({1.0F, 0.1F}));
    EXPECT_FALSE(halves({2049.0F, 1.0F}));
    EXPECT_FALSE(halves({1.0F, std::numeric_limits<float>::infinity()}));
    EXPECT_FALSE(halves({1.0F, std::numeric_limits<float>::quiet_NaN()}));
}

// The largest tap comes to 2^14 or more: 2^-38 of it is the least half.
TEST(TapHalves, OnePowerOfTwoIsForAll) {
    for (const float scale : {1.0F, 0x1p-100F, 0x1p100F}) {
        EXPECT_TRUE(halves({1.5F * scale, 0x1p-37F * scale}));
        EXPECT_TRUE(halves({1.0F * scale, 0x1p-38F * scale}));
        EXPECT_FALSE(halves({1.0F * scale, 0x1p-39F * scale})) << scale;
        EXPECT_FALSE(halves({1.0F * scale, 1.5F * 0x1p-38F * scale}));
    }
    EXPECT_TRUE(halves({0x1p-149F, 0x1p-126F})) << "the factor is a float: 2^126 at most";
}

TEST(TapHalves, OnlyWhereAskedAndKnown) {
    const std::vector<float> taps{0.5F, 1.0F};
    EXPECT_FALSE(halves(taps, Dtype::f32));
    EXPECT_FALSE(taps_are_halves(resolve(problem_of(2)), nullptr));
    Problem rows = problem_of(1);
    rows.batch = 2;
    rows.filters = Filters::per_row;
    EXPECT_FALSE(taps_are_halves(resolve(rows), taps.data()));
}

TEST(TapHalves, TheEngineIsTold) {
    const Resolved resolved = resolve(problem_of(2));
    EXPECT_EQ(to_abi(resolved, {}).taps_are_halves, 0);
    EXPECT_EQ(to_abi(resolved, {.taps_are_halves = true}).taps_are_halves, 1);
}

}  // namespace
}  // namespace tapline::core
