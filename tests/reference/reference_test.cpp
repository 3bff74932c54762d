// The oracle itself: against formulas written out, and values of other tools.
#include "reference/reference.hpp"

#include <gtest/gtest.h>

#include "support/case.hpp"

namespace tapline::reference {
namespace {

using Doubles = std::vector<double>;

Doubles solved(const Problem& p, const Doubles& in, const Doubles& taps) {
    Doubles out(static_cast<std::size_t>(output_extent(p)), NAN);
    convolve(p, out.data() + output_start(p), in.data() + input_start(p), taps.data());
    return out;
}

Doubles upfirdn(const Doubles& taps, const Doubles& in, std::int64_t up, std::int64_t down) {
    return solved({.length = static_cast<std::int64_t>(in.size()),
                   .taps = static_cast<std::int64_t>(taps.size()),
                   .dtype = Dtype::f64,
                   .up = up,
                   .down = down},
                  in, taps);
}

// scipy.signal.upfirdn(h, x, up, down), the examples of its documentation.
TEST(Reference, RatesAreThoseOfUpfirdn) {
    EXPECT_EQ(upfirdn({1, 1, 1}, {1, 1, 1}, 1, 1), (Doubles{1, 2, 3, 2, 1}));
    EXPECT_EQ(upfirdn({1}, {1, 2, 3}, 3, 1), (Doubles{1, 0, 0, 2, 0, 0, 3}));
    EXPECT_EQ(upfirdn({1, 1, 1}, {1, 2, 3}, 3, 1), (Doubles{1, 1, 1, 2, 2, 2, 3, 3, 3}));
    EXPECT_EQ(upfirdn({0.5, 1, 0.5}, {1, 2, 3}, 2, 1), (Doubles{0.5, 1, 1.5, 2, 2.5, 3, 1.5}));
    const Doubles ten{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    EXPECT_EQ(upfirdn({1}, ten, 1, 3), (Doubles{0, 3, 6, 9}));
    EXPECT_EQ(upfirdn({0.5, 1, 0.5}, ten, 2, 3), (Doubles{0, 1, 2.5, 4, 5.5, 7, 8.5}));
}

// Rates by making the zeros and the gaps, and leaving outputs out.
TEST(Reference, RatesAreZerosBetweenSamplesGapsBetweenTapsAndOutputsLeftOut) {
    test::Random random(1);
    for (int i = 0; i < 400; ++i) {
        Problem p{.length = test::between(1, 20, random), .taps = test::between(1, 9, random), .dtype = Dtype::f64};
        p.mode = static_cast<Mode>(test::between(0, 4, random));
        p.operation = static_cast<Operation>(test::between(0, 1, random));
        p.up = test::between(1, 4, random);
        p.down = test::between(1, 4, random);
        p.dilation = test::between(1, 4, random);
        if (test::chance(0.3, random)) { p.origin = test::between(-9, 20, random); }
        const bool inside = p.mode == Mode::full || p.mode == Mode::valid;
        Problem plain = p;
        plain.up = plain.down = plain.dilation = 1;
        plain.length = inside ? (p.length - 1) * p.up + 1 : p.length * p.up;
        plain.taps = (p.taps - 1) * p.dilation + 1;
        if (p.mode == Mode::valid && plain.taps > plain.length) { continue; }
        Doubles in(static_cast<std::size_t>(p.length)), taps(static_cast<std::size_t>(p.taps));
        test::fill_reals<double>(in.data(), p.length, random);
        test::fill_reals<double>(taps.data(), p.taps, random);
        Doubles wide(static_cast<std::size_t>(plain.length)), gaps(static_cast<std::size_t>(plain.taps));
        for (std::size_t s = 0; s < in.size(); ++s) { wide[s * static_cast<std::size_t>(p.up)] = in[s]; }
        for (std::size_t t = 0; t < taps.size(); ++t) { gaps[t * static_cast<std::size_t>(p.dilation)] = taps[t]; }
        const Doubles got = solved(p, in, taps), all = solved(plain, wide, gaps);
        ASSERT_EQ(got.size(), (all.size() + static_cast<std::size_t>(p.down) - 1) / static_cast<std::size_t>(p.down));
        for (std::size_t o = 0; o < got.size(); ++o) {
            ASSERT_NEAR(got[o], all[o * static_cast<std::size_t>(p.down)], 1e-12) << test::describe(p);
        }
    }
}

// The index of a position outside, as tapline/types.hpp draws it.
std::int64_t index_of(Boundary boundary, std::int64_t p, std::int64_t n) {
    const auto modulo = [](std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; };
    if (p >= 0 && p < n) { return p; }
    switch (boundary) {
        case Boundary::nearest:
            return p < 0 ? 0 : n - 1;
        case Boundary::wrap:
            return modulo(p, n);
        case Boundary::reflect:
            return modulo(p, 2 * n) < n ? modulo(p, 2 * n) : 2 * n - 1 - modulo(p, 2 * n);
        default:
            return -1;
    }
}

// out[z][y][x] written out for one small volume, in every mode and with boundaries that differ by axis.
TEST(Reference, VolumesAreTheSumOverThreeAxes) {
    constexpr std::int64_t kSize[3] = {4, 5, 6}, kMask[3] = {2, 3, 4};
    Doubles in(4 * 5 * 6), taps(2 * 3 * 4);
    for (std::size_t i = 0; i < in.size(); ++i) { in[i] = static_cast<double>(i * i % 31); }
    for (std::size_t t = 0; t < taps.size(); ++t) { taps[t] = static_cast<double>(t % 7) - 2; }
    for (const Boundary first : {Boundary::zero, Boundary::nearest, Boundary::wrap, Boundary::reflect}) {
        for (int mode = 0; mode <= 4; ++mode) {
            Problem p = VolumeProblem{.depth = 4, .height = 5, .width = 6, .mask_depth = 2, .mask_height = 3, .mask_width = 4};
            p.dtype = Dtype::f64;
            p.mode = static_cast<Mode>(mode);
            const Boundary boundaries[3] = {first, Boundary::reflect, Boundary::wrap};
            for (std::size_t a = 0; a < 3; ++a) { p.axes[a].boundary = boundaries[a]; }
            const auto shape = output_shape(p), zero = origins(p);
            const Doubles got = solved(p, in, taps);
            std::size_t at = 0;
            for (std::int64_t z = 0; z < shape[0]; ++z) {
                for (std::int64_t y = 0; y < shape[1]; ++y) {
                    for (std::int64_t x = 0; x < shape[2]; ++x) {
                        double sum = 0;
                        for (std::int64_t t = 0; t < 24; ++t) {
                            const std::int64_t position[3] = {z + t / 12 - zero[0], y + t / 4 % 3 - zero[1], x + t % 4 - zero[2]};
                            std::int64_t index = 0;
                            for (std::size_t a = 0; a < 3; ++a) {
                                const std::int64_t i = index_of(boundaries[a], position[a], kSize[a]);
                                index = i < 0 || index < 0 ? -1 : index * kSize[a] + i;
                            }
                            if (index >= 0) { sum += in[static_cast<std::size_t>(index)] * taps[static_cast<std::size_t>(23 - t)]; }
                        }
                        ASSERT_EQ(got[at++], sum) << test::describe(p) << " mask " << kMask[0];
                    }
                }
            }
        }
    }
}

TEST(Reference, ZeroOnOneAxisLeavesTheTermOutWhateverTheOtherSays) {
    Problem p = ImageProblem{.height = 1, .width = 1, .mask_height = 3, .mask_width = 3, .constant = 10, .dtype = Dtype::f64};
    p.axes[1].boundary = Boundary::constant;
    // Only the middle row of the mask has terms: the constant, the pixel, the constant.
    EXPECT_EQ(solved(p, {1}, Doubles(9, 1.0)), Doubles{21});
    p.axes[0].boundary = Boundary::constant;
    EXPECT_EQ(solved(p, {1}, Doubles(9, 1.0)), Doubles{81});
}

TEST(Reference, FiltersInTurnAndSharedSignals) {
    // Four rows of two filters in turn; each row is one sample.
    Problem p{.length = 1, .taps = 1, .batch = 4, .filters = Filters::per_row, .dtype = Dtype::f64, .filter_count = 2};
    EXPECT_EQ(solved(p, {1, 2, 3, 4}, {10, 100}), (Doubles{10, 200, 30, 400}));
    // One signal, three filters, read backwards.
    Problem many{.dtype = Dtype::f64};
    many.axes = {{.length = 3, .taps = 1, .input_stride = -1}};
    many.batch_axes = {{.length = 3, .input_stride = 0, .taps_stride = 1}};
    EXPECT_EQ(solved(many, {1, 2, 3}, {1, 10, 100}), (Doubles{3, 2, 1, 30, 20, 10, 300, 200, 100}));
}

// What a comparison must not let pass.
TEST(Comparison, RefusesNanZeroesAndWhatLiesJustOutside) {
    const Problem p{.length = 100, .taps = 5};
    test::Random random(1);
    test::Case c = test::draw_case(p, random);
    test::fill_random(c.in.data(), p.dtype, 100, random);
    test::fill_random(c.taps.data(), p.dtype, 5, random);
    auto* const out = static_cast<float*>(c.first_out());
    for (const bool elementwise : {true, false}) {
        EXPECT_NE(test::compare(p, out, c.in.data(), c.taps.data(), elementwise), "") << "poison passes";
        convolve(p, out, c.in.data(), c.taps.data());
        EXPECT_EQ(test::compare(p, out, c.in.data(), c.taps.data(), elementwise), "");
        const Sums exact = sums(p, c.in.data(), c.taps.data());
        const float right = out[50];
        out[50] += static_cast<float>(2 * 7 * 0x1p-23L * exact.real_magnitude[50]);
        EXPECT_EQ(test::compare(p, out, c.in.data(), c.taps.data(), elementwise) == "", !elementwise);
        out[50] = right + 1e-4F;
        EXPECT_NE(test::compare(p, out, c.in.data(), c.taps.data(), elementwise), "");
        out[50] = NAN;
        EXPECT_NE(test::compare(p, out, c.in.data(), c.taps.data(), elementwise), "");
        std::memset(out, 0xFF, c.out.size());
    }
}

// The promise is relative to what a block of outputs reads: elsewhere a signal may be as loud as it likes.
TEST(Comparison, ABlockHasTheScaleOfItsOwnInput) {
    const Problem p{.length = 200, .taps = 3, .mode = Mode::same};
    std::vector<float> in(200, 1.0F), taps{1, 1, 1}, out(200);
    for (std::size_t i = 100; i < 200; ++i) { in[i] = 1e6F; }
    convolve(p, out.data(), in.data(), taps.data());
    out[10] += 1e-3F;
    EXPECT_EQ(test::compare(p, out.data(), in.data(), taps.data(), false), "");
    EXPECT_NE(test::compare(p, out.data(), in.data(), taps.data(), false, {50}), "");
}

}  // namespace
}  // namespace tapline::reference
