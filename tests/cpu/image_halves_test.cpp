// Images that one tile holds, whose halves are the parts of one transform: masks of the image's own size and larger ones, zeros
// behind an image that are those before it, samples that are no numbers, numbers that overflow on the way.
#include <gtest/gtest.h>

#include <cmath>

#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using test::GuardedBuffer;
using test::Random;

bool is_in_halves(const Plan& plan) {
    return plan.explain().find(" points, halves of ") != std::string::npos ||
           plan.explain().find(" points, planes of ") != std::string::npos;
}

struct Counts {
    int all = 0, in_halves = 0;
};

void check(ImageProblem p, Random& random, Counts& counts) {
    if (p.mode == Mode::valid && (p.mask_height > p.height || p.mask_width > p.width)) { return; }
    const auto bytes = [&](std::int64_t count) { return static_cast<std::size_t>(count) * size_of(p.dtype); };
    const Dtype of_taps = p.dtype == Dtype::u8 ? Dtype::f32 : real_part_of(p.dtype);
    GuardedBuffer in(bytes(input_extent(p)), 0), out(bytes(output_extent(p)), bytes(1));
    GuardedBuffer taps(static_cast<std::size_t>(taps_extent(p)) * size_of(of_taps), 0);
    test::fill_random(in.data(), p.dtype, input_extent(p), random);
    test::fill_random(taps.data(), of_taps, taps_extent(p), random);
    if (test::chance(0.4, random)) { test::spoil(in.data(), p.dtype, input_extent(p), random); }
    const Plan plan = make_plan(p, taps.data(), {.device = "cpu", .algorithm = "overlap_save", .threads = 2});
    plan.execute(out.data(), in.data());
    EXPECT_EQ(test::compare(p, out.data(), in.data(), taps.data(), false), "") << test::describe(p) << "\n" << plan.explain();
    EXPECT_TRUE(out.guards_intact());
    ++counts.all;
    counts.in_halves += is_in_halves(plan) ? 1 : 0;
}

TEST(ImageHalves, AgreeWithTheTextbook) {
    Random random(17);
    Counts counts;
    const std::vector<Boundary> boundaries{Boundary::zero, Boundary::zero, Boundary::constant, Boundary::reflect, Boundary::wrap};
    for (const Mode mode : {Mode::same, Mode::full, Mode::valid, Mode::causal, Mode::leading}) {
        for (const std::int64_t size : {1, 13, 31, 70}) {
            if ((size == 70) != (mode == Mode::valid)) { continue; }
            for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::u8}) {
                const std::int64_t channels = test::chance(0.3, random) ? 2 : 1,
                                   mask = 64 + static_cast<std::int64_t>(random() % 6);
                check({.height = size,
                       .width = size + static_cast<std::int64_t>(random() % 5),
                       .channels = channels,
                       .batch = 1 + static_cast<std::int64_t>(random() % 2),
                       .mask_height = mask,
                       .mask_width = mask + static_cast<std::int64_t>(random() % 2),
                       .masks = test::chance(0.5, random) ? Masks::shared : Masks::per_channel,
                       .mode = mode,
                       .boundary = test::pick(boundaries, random),
                       .dtype = dtype},
                      random, counts);
            }
        }
    }
    EXPECT_GT(counts.in_halves, counts.all / 3) << "of " << counts.all;
}

// Also those that are widened on the way, and sums that are no outputs yet.
TEST(ImageHalves, SignalsAboutAsLongAsTheirFilter) {
    Random random(19);
    for (const Mode mode : {Mode::same, Mode::full, Mode::valid, Mode::leading}) {
        for (const Boundary boundary : {Boundary::zero, Boundary::mirror}) {
            const std::vector<Dtype> dtypes{Dtype::f32, mode == Mode::same   ? Dtype::i16
                                                        : mode == Mode::full ? Dtype::f16
                                                                             : Dtype::f64};
            for (const Dtype dtype : dtypes) {
                if (boundary == Boundary::mirror && dtype != dtypes.back()) { continue; }
                Problem p{.length = 5000, .taps = 4200, .mode = mode, .boundary = boundary, .dtype = dtype};
                if (is_integer(dtype)) { p.real_taps = p.output_dtype = Dtype::f32; }
                if (dtype == Dtype::f64) { p.scale = 0.5; }
                const Dtype of_taps = taps_dtype(p);
                const auto bytes = [](std::int64_t count, Dtype of) { return static_cast<std::size_t>(count) * size_of(of); };
                GuardedBuffer in(bytes(input_extent(p), dtype), 0), taps(bytes(p.taps, of_taps), 0);
                GuardedBuffer out(bytes(output_extent(p), output_dtype(p)), 0);
                test::fill_random(in.data(), dtype, input_extent(p), random);
                test::fill_random(taps.data(), of_taps, p.taps, random);
                if (dtype == Dtype::f32) { reinterpret_cast<float*>(in.data())[100] = std::nanf(""); }
                const Plan plan = make_plan(p, taps.data(), {.device = "cpu", .algorithm = "overlap_save", .threads = 2});
                plan.execute(out.data(), in.data());
                EXPECT_EQ(test::compare(p, out.data(), in.data(), taps.data(), false), "") << plan.explain();
                EXPECT_TRUE(out.guards_intact());
                if (boundary == Boundary::zero && (mode == Mode::full || mode == Mode::same)) {
                    EXPECT_TRUE(is_in_halves(plan)) << plan.explain();
                }
            }
        }
    }
}

// Larger than any other, so that its transform has columns and both threads work on it.
TEST(ImageHalves, SharedTransforms) {
    const std::int64_t size = 400, mask = 301;
    const ImageProblem p{.height = size, .width = size, .mask_height = mask, .mask_width = mask};
    std::vector<float> image(static_cast<std::size_t>(size * size)), taps(static_cast<std::size_t>(mask * mask));
    Random random(18);
    test::fill_reals<float>(image.data(), size * size, random);
    test::fill_reals<float>(taps.data(), mask * mask, random);
    image[12345] = std::nanf("");
    std::vector<float> one(image.size()), two(image.size());
    const auto run = [&](std::vector<float>& out, int threads) {
        const Plan plan = make_plan(p, taps.data(), {.device = "cpu", .algorithm = "overlap_save", .threads = threads});
        EXPECT_TRUE(is_in_halves(plan)) << plan.explain();
        plan.execute(out.data(), image.data());
    };
    run(one, 1);
    run(two, 2);
    EXPECT_EQ(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)), 0);
    const std::int64_t bad_y = 12345 / size, bad_x = 12345 % size, reach = mask / 2;
    for (const std::int64_t y : {0, 17, 181, 182, 399}) {
        for (const std::int64_t x : {0, 100, 195, 196, 399}) {
            double sum = 0;
            for (std::int64_t i = std::max<std::int64_t>(0, y - reach); i <= std::min(size - 1, y + reach); ++i) {
                for (std::int64_t j = std::max<std::int64_t>(0, x - reach); j <= std::min(size - 1, x + reach); ++j) {
                    sum += static_cast<double>(image[static_cast<std::size_t>(i * size + j)]) *
                           taps[static_cast<std::size_t>((y - i + reach) * mask + (x - j + reach))];
                }
            }
            const bool sees = std::abs(y - bad_y) <= reach && std::abs(x - bad_x) <= reach;
            const float got = one[static_cast<std::size_t>(y * size + x)];
            EXPECT_EQ(std::isnan(got), sees) << y << ", " << x;
            if (!sees) { EXPECT_NEAR(got, sum, 1e-3) << y << ", " << x; }
        }
    }
}

}  // namespace
}  // namespace tapline
