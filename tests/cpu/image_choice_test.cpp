// What is chosen for thin and small images, whose rows end in parts of vectors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cpu/targets.hpp"
#include "support/buffers.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

struct Sizes {
    std::int64_t height, width, mask_height, mask_width;
};

std::string chosen(const Sizes& of, bool separable) {
    const ImageProblem p{
        .height = of.height, .width = of.width, .mask_height = of.mask_height, .mask_width = of.mask_width, .mode = Mode::same};
    std::vector<float> mask(static_cast<std::size_t>(of.mask_height * of.mask_width));
    test::Random random(5);
    test::fill_reals<float>(mask.data(), of.mask_height * of.mask_width, random);
    for (std::int64_t i = 0; separable && i < of.mask_height; ++i) {
        for (std::int64_t j = 0; j < of.mask_width; ++j) {
            mask[static_cast<std::size_t>(i * of.mask_width + j)] =
                static_cast<float>(std::exp(-0.01 * static_cast<double>(i * i)) * std::exp(-0.02 * static_cast<double>(j * j)));
        }
    }
    return make_plan(p, mask, {.device = "cpu", .threads = 1}).algorithm();
}

// What was measured with AVX-512: direct sums of a few columns take several times as long an output as those of many, a term of a
// mask has a call for each row, and rows that follow each other are nothing beside a transform.
TEST(ImageChoice, ThinImagesUnderLargeMasks) {
    if (cpu::current_target() != cpu::Target::avx512) { GTEST_SKIP(); }
    for (const Sizes& of : {Sizes{4710, 17, 115, 3}, Sizes{4710, 8, 60, 3}, Sizes{300, 8, 31, 7}, Sizes{1000, 30, 13, 13},
                            Sizes{64, 64, 15, 15}, Sizes{40, 40, 12, 12}}) {
        EXPECT_EQ(chosen(of, false), "overlap_save") << of.height << " x " << of.width;
    }
    for (const Sizes& of : {Sizes{100, 100, 33, 3}, Sizes{300, 17, 31, 3}, Sizes{40, 40, 33, 2}, Sizes{16, 16, 12, 12}}) {
        EXPECT_EQ(chosen(of, false), "direct") << of.height << " x " << of.width;
    }
    EXPECT_EQ(chosen({40, 40, 65, 65}, true), "overlap_save");
    EXPECT_EQ(chosen({1000, 1000, 31, 31}, true), "separable");
    EXPECT_EQ(chosen({64, 64, 13, 13}, true), "separable");
}

// Of an impulse under the outer product of two rows of a few dozen taps nothing is left outside the mask.
TEST(ImageChoice, OuterProductsOfFewTapsStayInTheirWindow) {
    constexpr std::int64_t kSide = 51;
    for (const std::int64_t side : {60, 80, 100, 120, 150}) {
        const std::int64_t middle = side / 2;
        std::vector<double> mask(static_cast<std::size_t>(kSide * kSide)), in(static_cast<std::size_t>(side * side)),
            out(in.size());
        for (std::int64_t i = 0; i < kSide * kSide; ++i) {
            const auto y = static_cast<double>(i / kSide - kSide / 2), x = static_cast<double>(i % kSide - kSide / 2);
            mask[static_cast<std::size_t>(i)] = std::exp(-0.02 * y * y) * std::exp(-0.02 * x * x);
        }
        in[static_cast<std::size_t>(middle * side + middle)] = 1;
        ImageProblem p{.height = side, .width = side, .mask_height = kSide, .mask_width = kSide, .mode = Mode::same};
        p.dtype = Dtype::f64;
        make_plan(p, mask, {.device = "cpu", .threads = 1}).execute(out.data(), in.data());
        for (std::int64_t i = 0; i < side * side; ++i) {
            const std::int64_t away = std::max(std::abs(i / side - middle), std::abs(i % side - middle));
            EXPECT_EQ(out[static_cast<std::size_t>(i)] != 0, away <= kSide / 2) << side << ", pixel " << i;
        }
    }
}

}  // namespace
}  // namespace tapline
