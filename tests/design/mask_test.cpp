// Masks that are written: values by hand, properties, and what is refused.
#include "design/mask.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "design/design.hpp"
#include "support/errors.hpp"

namespace tapline::design {
namespace {

double sum(const Mask& mask) { return std::accumulate(mask.taps.begin(), mask.taps.end(), 0.0); }

double at(const Mask& mask, std::int64_t y, std::int64_t x) { return mask.taps[static_cast<std::size_t>(y * mask.width + x)]; }

void refused(const std::string& text, const std::string& piece) {
    test::expect_error(ErrorCode::argument, piece, [&] { parse_mask(text); });
}

TEST(Mask, RowsAreSeparatedBySemicolons) {
    const Mask mask = parse_mask("0,-1, 0; -1,5.5,-1;0 ,-1e0,+0");
    EXPECT_EQ(mask.height, 3);
    EXPECT_EQ(mask.width, 3);
    EXPECT_EQ(mask.taps, (std::vector<double>{0, -1, 0, -1, 5.5, -1, 0, -1, 0}));
    EXPECT_EQ(parse_mask("1,2,3").height, 1);
    EXPECT_EQ(parse_mask("1;2;3").width, 1);
    EXPECT_EQ(parse_mask("7").taps, std::vector<double>{7});
}

TEST(Mask, GaussianIsTheProductOfTwo) {
    const Mask mask = parse_mask("gaussian:2,0.5");
    const std::vector<double> y = gaussian(2), x = gaussian(0.5);
    ASSERT_EQ(mask.height, static_cast<std::int64_t>(y.size()));
    ASSERT_EQ(mask.width, static_cast<std::int64_t>(x.size()));
    EXPECT_DOUBLE_EQ(at(mask, 3, 1), y[3] * x[1]);
    EXPECT_NEAR(sum(mask), 1, 1e-12);
    EXPECT_EQ(parse_mask("gaussian:2").height, parse_mask("gaussian:2").width);
    EXPECT_EQ(parse_mask("gaussian:0,1").height, 1);
}

TEST(Mask, BoxIsAMean) {
    const Mask mask = parse_mask("box:2,5");
    EXPECT_EQ(mask.height, 2);
    EXPECT_EQ(mask.width, 5);
    for (const double tap : mask.taps) { EXPECT_DOUBLE_EQ(tap, 0.1); }
}

TEST(Mask, MotionLiesOnItsLine) {
    const Mask level = parse_mask("motion:15,0");
    EXPECT_EQ(level.height, 1);
    EXPECT_EQ(level.width, 15);
    for (const double tap : level.taps) { EXPECT_DOUBLE_EQ(tap, 1.0 / 15); }
    const Mask upright = parse_mask("motion:15,90");
    EXPECT_EQ(upright.height, 15);
    EXPECT_EQ(upright.width, 1);
    const Mask rising = parse_mask("motion:9,45");
    EXPECT_NEAR(sum(rising), 1, 1e-12);
    EXPECT_GT(at(rising, 0, rising.width - 1), 0);  // the upper right end
    EXPECT_EQ(at(rising, 0, 0), 0);
    for (std::size_t i = 0; i < rising.taps.size(); ++i) {
        EXPECT_NEAR(rising.taps[i], rising.taps[rising.taps.size() - 1 - i], 1e-15);
    }
}

TEST(Mask, GradientsAreConvolutionMasks) {
    EXPECT_EQ(parse_mask("sobel-x").taps, (std::vector<double>{1, 0, -1, 2, 0, -2, 1, 0, -1}));
    EXPECT_EQ(parse_mask("sobel-y").taps, (std::vector<double>{1, 2, 1, 0, 0, 0, -1, -2, -1}));
    EXPECT_EQ(sum(parse_mask("laplacian")), 0);
    EXPECT_EQ(sum(parse_mask("sharpen")), 1);
    EXPECT_EQ(sum(parse_mask("emboss")), 1);
}

TEST(Mask, NamesAndNumbersAreNoFiles) {
    for (const char* text : {"sharpen", "gaussian:2", "box:x", "1,2;3,4", "-1", ".5", "1;", "motion:3,"}) {
        EXPECT_TRUE(is_mask(text)) << text;
    }
    for (const char* text : {"", "psf.npy", "./sharpen", "sharpen:1", "gaussian", "e", "sobel-z", "-"}) {
        EXPECT_FALSE(is_mask(text)) << text;
    }
}

TEST(Mask, MistakesAreExplained) {
    refused("1,2;3", "row 2 has 1 taps");
    refused("1,,2", "finite number");
    refused("1,2;", "finite number");
    refused("1e999", "finite number");
    refused("gaussian:-1", "gaussian:SIGMA");
    refused("gaussian:1,2,3", "wrong number of values");
    refused("box:0", "box:K");
    refused("box:2.5", "whole number");
    refused("box:100000", "taps");
    refused("motion:0,30", "from 1 to 4096");
    refused("motion:5", "motion:LENGTH,DEGREES");
    refused("motion:nan,0", "finite number");
}

TEST(Mask, AWrongNameSuggestsTheNearOne) {
    EXPECT_NE(mask_advice("gausian:2").find("did you mean gaussian:2? (gaussian:SIGMA[,SIGMA_X])"), std::string::npos);
    EXPECT_NE(mask_advice("sobelx").find("did you mean sobel-x?"), std::string::npos);
    EXPECT_NE(mask_advice("sharpn:3").find("did you mean sharpen? (sharpen)"), std::string::npos);
    EXPECT_EQ(mask_advice("mask.npy"), "");
}

}  // namespace
}  // namespace tapline::design
