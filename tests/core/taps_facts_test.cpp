// What the taps' values decide before an algorithm is chosen: finite, of the signal's 16-bit type, separable.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "core/problem/half.hpp"
#include "core/problem/taps_facts.hpp"
#include "tapline/image.hpp"

namespace tapline::core {
namespace {

Problem problem_of(std::size_t taps, Dtype dtype) {
    return {.length = 1000, .taps = static_cast<std::int64_t>(taps), .dtype = dtype};
}

bool narrow(const std::vector<float>& taps, Dtype dtype) {
    return facts_of(resolve(problem_of(taps.size(), dtype)), taps.data()).narrow;
}

TEST(EqualTaps, AreThoseOfEachFilter) {
    Problem p = problem_of(3, Dtype::f32);
    const auto equal = [&p](const std::vector<float>& taps) { return facts_of(resolve(p), taps.data()).equal; };
    EXPECT_TRUE(equal({0.5F, 0.5F, 0.5F}));
    EXPECT_FALSE(equal({0.5F, 0.5F, 0.25F}));
    EXPECT_FALSE(equal({NAN, NAN, NAN}));
    p.batch = 2;
    p.filters = Filters::per_row;
    EXPECT_TRUE(equal({1, 1, 1, 2, 2, 2}));
    EXPECT_FALSE(equal({1, 1, 1, 2, 2, 1}));
    const ImageProblem image{.height = 10, .width = 10, .mask_height = 2, .mask_width = 2};
    const auto equal_mask = [&image](const std::vector<float>& taps) { return facts_of(resolve(image), taps.data()).equal; };
    EXPECT_TRUE(equal_mask({3, 3, 3, 3}));
    EXPECT_FALSE(equal_mask({3, 3, 3, 4}));
}

TEST(NarrowTaps, WhatWasOfTheSignalsType) {
    std::vector<float> bf16;
    std::vector<float> f16;
    for (int i = 1; i <= 511; ++i) {
        bf16.push_back(from_bf16(to_bf16(std::sin(i) / i)));
        f16.push_back(from_f16(to_f16(std::sin(i) / i)));
    }
    EXPECT_TRUE(narrow(bf16, Dtype::bf16));
    EXPECT_TRUE(narrow(bf16, Dtype::f16)) << "of less than 2^31 between the largest and the least";
    EXPECT_TRUE(narrow(f16, Dtype::f16));
    EXPECT_FALSE(narrow(f16, Dtype::bf16));
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        EXPECT_TRUE(narrow({0.0F, -0.0F}, dtype));
        EXPECT_TRUE(narrow({255.0F, 1.0F, -3.0F}, dtype));
        EXPECT_FALSE(narrow({1.0F, 0.1F}, dtype));
        EXPECT_FALSE(narrow({2049.0F, 1.0F}, dtype));
        EXPECT_FALSE(narrow({1.0F, std::numeric_limits<float>::infinity()}, dtype));
        EXPECT_FALSE(narrow({1.0F, std::numeric_limits<float>::quiet_NaN()}, dtype));
    }
    EXPECT_TRUE(narrow({2047.0F}, Dtype::f16));
    EXPECT_FALSE(narrow({2047.0F}, Dtype::bf16));
}

// The largest tap comes to 2^14 or more: 2^-38 of it is the least f16.
TEST(NarrowTaps, OnePowerOfTwoIsForAll) {
    for (const float scale : {1.0F, 0x1p-100F, 0x1p100F}) {
        EXPECT_TRUE(narrow({1.5F * scale, 0x1p-38F * scale}, Dtype::f16));
        EXPECT_FALSE(narrow({1.0F * scale, 0x1p-39F * scale}, Dtype::f16)) << scale;
        EXPECT_FALSE(narrow({1.0F * scale, 1.5F * 0x1p-38F * scale}, Dtype::f16));
    }
    EXPECT_TRUE(narrow({0x1p-149F, 0x1p-126F}, Dtype::f16)) << "the factor is a float: 2^126 at most";
    EXPECT_TRUE(narrow({0x1p100F, 0x1p-126F}, Dtype::bf16)) << "a bf16 has a float's exponent";
}

TEST(NarrowTaps, OnlyWhereAskedAndKnown) {
    const std::vector<float> taps{0.5F, 1.0F};
    EXPECT_FALSE(narrow(taps, Dtype::f32));
    EXPECT_FALSE(facts_of(resolve(problem_of(2, Dtype::bf16)), nullptr).narrow);
    Problem rows = problem_of(1, Dtype::bf16);
    rows.batch = 2;
    rows.filters = Filters::per_row;
    EXPECT_FALSE(facts_of(resolve(rows), taps.data()).narrow);
}

TEST(FiniteTaps, OfEveryTypeAndAllFilters) {
    const float one_nan[] = {1, 2, std::nanf("")};
    Problem p = problem_of(3, Dtype::f32);
    EXPECT_FALSE(facts_of(resolve(p), one_nan).finite);
    p.taps = 2;
    EXPECT_TRUE(facts_of(resolve(p), one_nan).finite);
    EXPECT_TRUE(facts_of(resolve(p), nullptr).finite);
    const std::complex<double> infinite[] = {{1, 2}, {3, HUGE_VAL}};
    p.dtype = Dtype::complex128;
    p.complex_taps = true;
    EXPECT_FALSE(facts_of(resolve(p), infinite).finite);
    const std::int64_t integers[] = {1, 2};
    EXPECT_TRUE(facts_of(resolve(problem_of(2, Dtype::i32)), integers).finite);
}

TEST(IntegerTaps, BitsOfTheirMagnitudes) {
    struct Row {
        std::vector<std::int64_t> taps;
        int of_taps, of_tap;
        bool has_negative;
    };
    const std::int64_t least = std::numeric_limits<std::int64_t>::min();
    for (const Row& row : {Row{{1}, 0, 1, false}, Row{{1, 2, 1}, 2, 2, false}, Row{{1, -2, 2}, 3, 2, true},
                           Row{{127, 1}, 7, 7, false}, Row{{128, 0}, 7, 8, false}, Row{{least, 1}, 64, 64, true}}) {
        const TapsFacts facts = facts_of(resolve(problem_of(row.taps.size(), Dtype::i16)), row.taps.data());
        EXPECT_EQ(facts.bits_of_taps(), row.of_taps) << row.taps[0];
        EXPECT_EQ(facts.bits_of_tap(), row.of_tap) << row.taps[0];
        EXPECT_EQ(facts.has_negative_tap, row.has_negative) << row.taps[0];
    }
    const std::vector<std::int64_t> mask(9, 100);
    Problem image = ImageProblem{.height = 9, .width = 9, .mask_height = 3, .mask_width = 3, .dtype = Dtype::u8};
    image.real_taps.reset();
    EXPECT_EQ(facts_of(resolve(image), mask.data()).bits_of_taps(), 10);
    EXPECT_EQ(facts_of(resolve(problem_of(3, Dtype::i16)), nullptr).bits_of_taps(), 65) << "of any taps";
    EXPECT_EQ(facts_of(resolve(problem_of(3, Dtype::f32)), nullptr).bits_of_taps(), TapsFacts::kUnknownBits);
}

TEST(SeparableTaps, EveryMaskIsLookedAt) {
    const ImageProblem p{.height = 9,
                         .width = 9,
                         .channels = 2,
                         .mask_height = 3,
                         .mask_width = 3,
                         .masks = Masks::per_channel,
                         .dtype = Dtype::f64};
    const std::vector<double> box(9, 1.0);
    std::vector<double> taps = box;
    taps.insert(taps.end(), {1, 2, 1, 2, 4, 2, 1, 2, 1});
    EXPECT_EQ(facts_of(resolve(p), taps.data()).rank(), 1);
    taps[17] = 5;  // of the second mask
    EXPECT_EQ(facts_of(resolve(p), taps.data()).rank(), 2);
    taps[0] = NAN;
    EXPECT_EQ(facts_of(resolve(p), taps.data()).rank(), 0);
    const std::vector<double> row(9, 1.0);
    EXPECT_EQ(
        facts_of(resolve(ImageProblem{.height = 9, .width = 9, .mask_height = 1, .mask_width = 9, .dtype = Dtype::f64}), row.data())
            .rank(),
        0)
        << "one pass is a direct sum";
}

}  // namespace
}  // namespace tapline::core
