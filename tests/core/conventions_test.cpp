// The conventions of docs/conventions.md, held to golden values of the tools they are compared with.
#include <gtest/gtest.h>

#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using Ints = std::vector<std::int64_t>;

Ints correlated(const std::vector<int>& signal, const std::vector<int>& taps, const ConvolveOptions& options) {
    return correlate(signal, taps, options);
}

Ints convolved(const std::vector<int>& signal, const std::vector<int>& taps, const ConvolveOptions& options = {}) {
    return convolve(signal, taps, options);
}

TEST(Conventions, BlockPuzzle) {
    EXPECT_EQ(correlated({0, 1, 2, 3, 4, 5}, {0, 1, 2}, {.mode = Mode::leading}), (Ints{5, 8, 11, 14, 5, 0}));
}

TEST(Conventions, BlockBoundaryPuzzle) {
    EXPECT_EQ(correlated({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, {0, 1, 2, 3}, {.mode = Mode::leading}),
              (Ints{14, 20, 26, 32, 38, 44, 50, 56, 62, 68, 74, 80, 41, 14, 0}));
}

TEST(Conventions, BroadcastBlock) { EXPECT_EQ(correlated({1, 2, 3, 4, 5}, {1, 0, -1}, {.mode = Mode::valid}), (Ints{-2, -2, -2})); }

TEST(Conventions, RadiusAndPadding) {
    const std::vector<int> signal{2, 1, 4, 1, 1, 0, 1, 3, 1, 2, 2, 4};
    const std::vector<int> taps{1, 4, 2, -1, -5};
    EXPECT_EQ(correlated(signal, taps, {.mode = Mode::same}), (Ints{-17, 1, 8, 18, 5, -11, -5, -1, 3, -11, 9, 18}));
    EXPECT_EQ(correlated(signal, taps, {.mode = Mode::valid}), (Ints{8, 18, 5, -11, -5, -1, 3, -11}));
}

TEST(Conventions, NumpyConvolve) {
    EXPECT_EQ(convolved({1, 2, 3}, {0, 1, 5}), (Ints{0, 1, 7, 13, 15}));
    EXPECT_EQ(convolved({1, 2, 3}, {0, 1, 5}, {.mode = Mode::same}), (Ints{1, 7, 13}));
    EXPECT_EQ(convolved({1, 2, 3}, {0, 1, 5}, {.mode = Mode::valid}), (Ints{7}));
    // numpy.convolve([1, 2, 3, 4, 5], [1, 10], "same"): an even filter's origin is k/2
    EXPECT_EQ(convolved({1, 2, 3, 4, 5}, {1, 10}, {.mode = Mode::same}), (Ints{1, 12, 23, 34, 45}));
}

TEST(Conventions, NumpyCorrelate) {
    // numpy.correlate([1, 2, 3], [0, 1, 5], "full")
    EXPECT_EQ(correlated({1, 2, 3}, {0, 1, 5}, {}), (Ints{5, 11, 17, 3, 0}));
    // numpy.correlate([1j, 2, 3-1j], [0, 1, 0.5j], "same"): the taps are conjugated
    using C = std::complex<double>;
    const std::vector<C> signal{{0, 1}, 2, {3, -1}};
    const std::vector<C> taps{0, 1, {0, 0.5}};
    EXPECT_EQ(correlate(signal, taps, {.mode = Mode::same}), (std::vector<C>{{0, 0}, {1.5, -1.5}, {3, -1}}));
}

TEST(Conventions, NdimageEvenFiltersAreAnOrigin) {
    // scipy.ndimage.correlate1d([1, 2, 3, 4], [1, 10], mode="constant") and convolve1d, whose origin is k/2 - 1
    EXPECT_EQ(correlated({1, 2, 3, 4}, {1, 10}, {.mode = Mode::same}), (Ints{10, 21, 32, 43}));
    EXPECT_EQ(convolved({1, 2, 3, 4}, {1, 10}, {.mode = Mode::same, .origin = 0}), (Ints{12, 23, 34, 40}));
}

TEST(Conventions, Boundaries) {
    // scipy.ndimage.correlate1d([1, 2, 3, 4], [1, 0, 0, 0, 0], mode=...) shows what x() is two samples before the signal
    const std::vector<int> signal{1, 2, 3, 4};
    const std::vector<int> taps{1, 0, 0, 0, 0};
    const auto shifted = [&](Boundary boundary, double constant = 0) {
        return correlated(signal, taps, {.mode = Mode::same, .boundary = boundary, .constant = constant});
    };
    EXPECT_EQ(shifted(Boundary::zero), (Ints{0, 0, 1, 2}));
    EXPECT_EQ(shifted(Boundary::constant, 9), (Ints{9, 9, 1, 2}));
    EXPECT_EQ(shifted(Boundary::nearest), (Ints{1, 1, 1, 2}));
    EXPECT_EQ(shifted(Boundary::reflect), (Ints{2, 1, 1, 2}));
    EXPECT_EQ(shifted(Boundary::mirror), (Ints{3, 2, 1, 2}));
    EXPECT_EQ(shifted(Boundary::wrap), (Ints{3, 4, 1, 2}));
}

TEST(Conventions, LengthsAndOrigins) {
    const auto problem = [](Mode mode, std::int64_t n, std::int64_t k) { return Problem{.length = n, .taps = k, .mode = mode}; };
    EXPECT_EQ(output_length(problem(Mode::full, 10, 4)), 13);
    EXPECT_EQ(origin(problem(Mode::full, 10, 4)), 3);
    EXPECT_EQ(output_length(problem(Mode::same, 10, 40)), 10);
    EXPECT_EQ(origin(problem(Mode::same, 10, 4)), 2);
    EXPECT_EQ(output_length(problem(Mode::valid, 10, 4)), 7);
    EXPECT_EQ(origin(problem(Mode::causal, 10, 4)), 3);
    EXPECT_EQ(origin(problem(Mode::leading, 10, 4)), 0);
}

TEST(Conventions, CastsRoundToEvenAndSaturate) {
    const std::vector<float> signal{0.5F, 1.5F, -0.5F, 300, -300, NAN};
    std::vector<std::int8_t> out(6);
    convolve(out, signal, std::vector<float>{1});
    EXPECT_EQ(out, (std::vector<std::int8_t>{0, 2, 0, 127, -128, 0}));
    std::vector<std::uint8_t> bytes(6);
    convolve(bytes, signal, std::vector<float>{1});
    EXPECT_EQ(bytes, (std::vector<std::uint8_t>{0, 2, 0, 255, 0, 0}));
}

TEST(Conventions, EpilogueOrderIsScaleBiasClamp) {
    const std::vector<double> signal{1, 2, 3};
    EXPECT_EQ(convolve(signal, std::vector<double>{1}, {.scale = 2, .bias = -3, .clamp = Clamp{0, 2}}),
              (std::vector<double>{0, 1, 2}));
}

TEST(Conventions, ClampPassesNan) {
    const std::vector<double> out = convolve(std::vector<double>{NAN, 5}, std::vector<double>{1}, {.clamp = Clamp{0, 1}});
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(out[1], 1);
}

TEST(Conventions, MixedTypesPromote) {
    const auto a = convolve(std::vector<float>{1, 2}, std::vector<double>{1});
    static_assert(std::is_same_v<decltype(a)::value_type, double>);
    const auto b = convolve(std::vector<std::int16_t>{1, 2}, std::vector<float>{0.5F});
    static_assert(std::is_same_v<decltype(b)::value_type, float>);
    const auto c = convolve(std::vector<float>{1, 2}, std::vector<std::complex<float>>{{0, 1}});
    EXPECT_EQ(c, (std::vector<std::complex<float>>{{0, 1}, {0, 2}}));
}

}  // namespace
}  // namespace tapline
