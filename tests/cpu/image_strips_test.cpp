// Images whose sizes lie around the borders of strips: vectors left over beside strips of three or four, rows left over below
// calls of 14, 15, 30 or 56, rows that are not in the image, pixels of one and of several elements.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using test::GuardedBuffer;
using test::Random;

struct Shape {
    std::int64_t height, width, mask_height, mask_width;
    std::int64_t channels = 1;
    Dtype dtype = Dtype::f32;
};

// The output stands at every alignment of `elements`: where a strip begins depends on it.
void check(const Shape& shape, const std::string& algorithm, std::int64_t elements, Random& random) {
    const std::vector<Boundary> boundaries{Boundary::zero, Boundary::reflect, Boundary::wrap};
    const ImageProblem p{.height = shape.height,
                         .width = shape.width,
                         .channels = shape.channels,
                         .mask_height = shape.mask_height,
                         .mask_width = shape.mask_width,
                         .boundary = test::pick(boundaries, random),
                         .dtype = shape.dtype};
    const auto bytes = [&](std::int64_t count) { return static_cast<std::size_t>(count) * size_of(p.dtype); };
    GuardedBuffer in(bytes(input_extent(p)), bytes(3)), taps(bytes(taps_extent(p)), 0),
        out(bytes(output_extent(p)), bytes(elements));
    test::fill_random(in.data(), p.dtype, input_extent(p), random);
    test::fill_random(taps.data(), p.dtype, taps_extent(p), random);
    if (algorithm == "separable") { test::make_separable(taps.data(), p, 1, random); }
    if (test::chance(0.3, random)) { test::spoil(in.data(), p.dtype, input_extent(p), random); }
    test::fill_random(out.data(), p.dtype, output_extent(p), random);
    make_plan(p, taps.data(), {.device = "cpu", .algorithm = algorithm, .threads = 2}).execute(out.data(), in.data());
    EXPECT_EQ(test::compare(p, out.data(), in.data(), taps.data(), algorithm == "direct"), "")
        << algorithm << " on " << cpu_target() << ": " << test::describe(p);
    EXPECT_TRUE(out.guards_intact());
}

TEST(ImageStrips, SevenBySevenAroundTheBorders) {
    Random random(11);
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::complex64}) {
        for (const std::int64_t channels : {1, 3}) {
            for (const std::int64_t width : {261, 262, 263, 277, 278, 279, 310}) {
                const std::int64_t height = std::vector<std::int64_t>{13, 14, 15, 17, 28, 31}[random() % 6];
                check({height, width, 7, 7, channels, dtype}, "direct", static_cast<std::int64_t>(random() % 17), random);
            }
        }
    }
}

// Widths below a vector, below a strip, and where edges and the middle are strips of their own; heights of no and of several calls.
TEST(ImageStrips, ThreeAndFiveAroundTheBorders) {
    Random random(13);
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::complex64}) {
        for (const std::int64_t side : {3, 5}) {
            for (const std::int64_t width : {15, 16, 17, 63, 64, 65, 79, 100, 128, 191, 192, 193, 255, 256, 300, 321}) {
                const std::int64_t height = std::vector<std::int64_t>{1, 2, 3, 14, 15, 16, 29, 30, 31, 33, 64, 95}[random() % 12];
                const std::int64_t channels = std::vector<std::int64_t>{1, 1, 2, 3}[random() % 4];
                check({height, width, side, side, channels, dtype}, "direct", static_cast<std::int64_t>(random() % 17), random);
            }
        }
    }
}

// Under zero boundaries rows go whole, ends masked; under others their middle goes by strips. Where windows stay in the image the
// bits are the same, and so are they as in an image with the zeros written around it.
TEST(ImageStrips, WholeRowsUnderThreeHaveTheBitsOfStripsAndOfWrittenZeros) {
    Random random(14);
    for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
        const std::size_t size = size_of(dtype);
        for (const std::int64_t width : {3, 4, 7, 15, 16, 17, 31, 33, 64, 100, 129, 300, 4097}) {
            for (const std::int64_t height : {1, 2, 3, 5, 6, 7, 11, 13, 61, 130}) {
                if (width > 1000 && height > 11) { continue; }
                const auto elements = [](std::int64_t count) { return static_cast<std::size_t>(count); };
                ImageProblem p{.height = height, .width = width, .mask_height = 3, .mask_width = 3, .dtype = dtype};
                p.mode = test::pick(std::vector<Mode>{Mode::same, Mode::full, Mode::causal, Mode::leading}, random);
                const std::int64_t before = p.mode == Mode::same ? 1 : p.mode == Mode::leading ? 0 : 2;
                const std::int64_t grown = p.mode == Mode::full ? 2 : 0;
                ImageProblem around = p, other = p;
                around.height = height + grown + 2;
                around.width = width + grown + 2;
                around.mode = Mode::valid;
                other.boundary = Boundary::reflect;
                std::vector<unsigned char> in(elements(input_extent(p)) * size), taps(9 * size);
                std::vector<unsigned char> padded(elements(input_extent(around)) * size);
                test::fill_random(in.data(), dtype, input_extent(p), random);
                test::fill_random(taps.data(), dtype, 9, random);
                for (std::int64_t y = 0; y < height; ++y) {
                    std::memcpy(&padded[elements((y + before) * around.width + before) * size], &in[elements(y * width) * size],
                                elements(width) * size);
                }
                const auto made = [&](const ImageProblem& problem, const void* samples, int threads, std::size_t offset) {
                    GuardedBuffer out(elements(output_extent(problem)) * size, offset * size);
                    make_plan(problem, taps.data(), {.device = "cpu", .algorithm = "direct", .threads = threads})
                        .execute(out.data(), samples);
                    EXPECT_TRUE(out.guards_intact()) << test::describe(problem);
                    return std::vector<unsigned char>{out.data(), out.data() + out.size()};
                };
                const auto out = made(p, in.data(), 1, elements(test::between(0, 17, random)));
                ASSERT_EQ(out, made(p, in.data(), 3, 0)) << test::describe(p);
                ASSERT_EQ(out, made(around, padded.data(), 1, 5)) << test::describe(p);
                const auto strips = made(other, in.data(), 1, 0);
                const std::int64_t row = width + grown;
                for (std::int64_t y = before; y < height - 2 + before; ++y) {
                    const std::size_t at = elements(y * row + before) * size;
                    ASSERT_EQ(std::memcmp(&out[at], &strips[at], elements(width - 2) * size), 0)
                        << test::describe(p) << " row " << y;
                }
            }
        }
    }
}

TEST(ImageStrips, RankOneAroundTheBorders) {
    Random random(12);
    for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
        const std::int64_t most = dtype == Dtype::f32 ? 16 : 8;  // a row's taps that a vector holds
        for (const std::int64_t mask_width : {most - 1, most, most + 1, 2 * most, 2 * most + 1}) {
            for (const std::int64_t mask_height : {2, 15, 20, 32, 33}) {
                const std::int64_t height = std::vector<std::int64_t>{5, 55, 56, 57, 112, 115}[random() % 6];
                const std::int64_t width =
                    std::vector<std::int64_t>{14, 16, 17, 63, 65, 88, 127, 128, 270, 311, 349}[random() % 11];
                check({height, width, mask_height, mask_width, 1, dtype}, "separable", static_cast<std::int64_t>(random() % 17),
                      random);
            }
        }
    }
}

// Outputs have the same bits in a part of the image that is too narrow for strips.
TEST(ImageStrips, BitsAreThoseOfNarrowParts) {
    Random random(14);
    for (const std::string algorithm : {"direct", "separable"}) {
        for (const std::int64_t side : {3, 5, 7, 9, 16, 17, 20, 25, 32}) {
            if (algorithm == "direct" && side > 9) { continue; }
            const std::int64_t height = 70, width = 600 + side - 1, columns = 9 + side - 1;
            ImageProblem p{.height = height, .width = width, .mask_height = side, .mask_width = side, .mode = Mode::valid};
            std::vector<float> in(static_cast<std::size_t>(height * width)), taps(static_cast<std::size_t>(side * side));
            test::fill_random(in.data(), Dtype::f32, height * width, random);
            test::fill_random(taps.data(), Dtype::f32, side * side, random);
            if (algorithm == "separable") { test::make_separable(taps.data(), p, 1, random); }
            const auto run = [&](const ImageProblem& problem, const std::vector<float>& samples) {
                std::vector<float> out(static_cast<std::size_t>(output_extent(problem)));
                make_plan(problem, taps.data(), {.device = "cpu", .algorithm = algorithm, .threads = 1})
                    .execute(static_cast<void*>(out.data()), static_cast<const void*>(samples.data()));
                return out;
            };
            const std::vector<float> whole = run(p, in);
            for (const std::int64_t first : {std::int64_t{0}, std::int64_t{301}, width - columns}) {
                std::vector<float> some;
                for (std::int64_t y = 0; y < height; ++y) {
                    const auto row = in.begin() + static_cast<std::ptrdiff_t>(y * width + first);
                    some.insert(some.end(), row, row + columns);
                }
                ImageProblem narrow = p;
                narrow.width = columns;
                const std::vector<float> part = run(narrow, some);
                for (std::int64_t y = 0; y < height - side + 1; ++y) {
                    const float* const a = whole.data() + y * (width - side + 1) + first;
                    EXPECT_EQ(std::memcmp(a, part.data() + y * 9, 9 * sizeof(float)), 0)
                        << algorithm << ", " << side << " x " << side << ", row " << y << ", from " << first;
                }
            }
        }
    }
}

}  // namespace
}  // namespace tapline
