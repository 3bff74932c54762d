// Strict accuracy of images by transforms: every output's own bound, whatever lies beside it in its tile.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "cpu/both_precisions.hpp"
#include "cpu/every_target.hpp"
#include "support/sanitized.hpp"
#include "support/strict_signals.hpp"
#include "tapline/image.hpp"

namespace tapline::test {
namespace {

PlanOptions strict(int threads = 1) {
    return {.device = "cpu", .accuracy = Accuracy::strict, .algorithm = "overlap_save", .threads = threads};
}

template <class T>
std::vector<T> run(const Problem& p, const std::vector<T>& taps, const std::vector<T>& in, const PlanOptions& options = strict()) {
    std::vector<T> out(static_cast<std::size_t>(output_extent(p) * reals_of(p.dtype)), NAN);
    make_plan(p, static_cast<const void*>(taps.data()), options).execute(static_cast<void*>(out.data()), in.data());
    return out;
}

// The outputs plane by plane, as misses() has them.
template <class T>
std::vector<T> by_planes(const Problem& p, const std::vector<T>& out) {
    const reference::Shape shape = reference::shape_of(p);
    const std::int64_t reals = reals_of(p.dtype);
    std::vector<T> sorted;
    for (const reference::Item& item : shape.items) {
        for (std::int64_t i = 0; i < shape.outputs(); ++i) {
            const auto from = out.begin() + static_cast<std::ptrdiff_t>((output_start(p) + shape.place(item, i)) * reals);
            sorted.insert(sorted.end(), from, from + reals);
        }
    }
    return sorted;
}

/// Pixels of f32 and f64, complex ones too.
template <class T>
class CheckedImageFft : public BothPrecisions<T> {
protected:
    static void expect_kept(const Problem& p, const Floats& taps, const Floats& in, const std::string& what) {
        const std::vector<T> h = widened<T>(taps), x = widened<T>(in);
        EXPECT_EQ(misses(p, h, x, by_planes(p, run(p, h, x))), 0) << what;
    }
};
TYPED_TEST_SUITE(CheckedImageFft, Precisions);

Floats made(const Signal& signal, std::int64_t count, std::uint64_t seed) {
    Floats in = random_samples(count, seed);
    signal.make(in);
    return in;
}

TYPED_TEST(CheckedImageFft, EveryImageKeepsItsBound) {
    for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{9, 11}, {1, 40}, {40, 1}, {33, 20}}) {
        const ImageProblem p{
            .height = 61, .width = 83, .mask_height = height, .mask_width = width, .mode = Mode::full, .dtype = TestFixture::kReal};
        for (const Signal& signal : kSignals) {
            const Floats in = made(signal, p.height * p.width, 1);
            this->expect_kept(p, taps_for(signal, random_samples(height * width, 2)), in, signal.name);
            this->expect_kept(p, taps_for(signal, high_pass(height * width)), in,
                              std::string(signal.name) + " through a high pass");
        }
    }
}

TYPED_TEST(CheckedImageFft, ModesAndBoundaries) {
    for (const Mode mode : {Mode::full, Mode::same, Mode::valid, Mode::causal, Mode::leading}) {
        for (const Boundary boundary :
             {Boundary::zero, Boundary::constant, Boundary::nearest, Boundary::reflect, Boundary::mirror, Boundary::wrap}) {
            const ImageProblem p{.height = 40,
                                 .width = 37,
                                 .mask_height = 13,
                                 .mask_width = 17,
                                 .mode = mode,
                                 .boundary = boundary,
                                 .constant = 2,
                                 .dtype = TestFixture::kReal};
            Floats in = random_samples(p.height * p.width, 3);
            scale(in, 0, in.size() / 3, 1e9F);
            this->expect_kept(p, random_samples(13 * 17, 4), in, std::string(to_string(mode)) + ", " + to_string(boundary));
        }
    }
}

TYPED_TEST(CheckedImageFft, ChannelsImagesAndMasksOfTheirOwn) {
    for (const Masks masks : {Masks::shared, Masks::per_channel}) {
        const ImageProblem p{.height = 30,
                             .width = 50,
                             .channels = 3,
                             .batch = 3,
                             .mask_height = 12,
                             .mask_width = 9,
                             .masks = masks,
                             .dtype = TestFixture::kReal};
        for (const Signal& signal : kSignals) {
            const Floats in = made(signal, input_extent(p), 5);
            this->expect_kept(p, taps_for(signal, random_samples(taps_extent(p), 6)), in, signal.name);
        }
        // One channel is black, and one image.
        Floats in = random_samples(input_extent(p), 7);
        for (std::size_t i = 0; i < in.size(); ++i) { in[i] = i % 3 == 1 || i < in.size() / 3 ? 0 : in[i]; }
        this->expect_kept(p, random_samples(taps_extent(p), 8), in, "black");
    }
}

TYPED_TEST(CheckedImageFft, ComplexImages) {
    for (const bool complex_taps : {false, true}) {
        const ImageProblem p{.height = 45,
                             .width = 52,
                             .mask_height = 10,
                             .mask_width = 15,
                             .dtype = TestFixture::kComplex,
                             .complex_taps = complex_taps};
        for (const Signal& signal : kSignals) {
            for (const int only : {-1, 0, 1}) {  // one component is all zero
                Floats in = made(signal, 2 * p.height * p.width, 9);
                for (std::size_t i = 0; i < in.size() && only >= 0; ++i) { in[i] = static_cast<int>(i % 2) == only ? 0 : in[i]; }
                Floats taps = taps_for(signal, random_samples(complex_taps ? 300 : 150, 10));
                this->expect_kept(p, taps, in, signal.name);
                for (std::size_t i = 0; i < taps.size() && complex_taps; i += 2) { taps[i] = 0; }
                this->expect_kept(p, taps, in, std::string(signal.name) + ", taps of one component");
            }
        }
    }
}

TYPED_TEST(CheckedImageFft, EveryTargetKeepsItsBound) {
    const ImageProblem p{
        .height = 50, .width = 64, .mask_height = 11, .mask_width = 12, .boundary = Boundary::reflect, .dtype = TestFixture::kReal};
    on_every_target([&] {
        for (const Signal& signal : kSignals) {
            const Floats taps = taps_for(signal, random_samples(11 * 12, 11));
            this->expect_kept(p, taps, made(signal, p.height * p.width, 12), signal.name);
        }
    });
}

// Tiles of several kinds, some of them spoilt; the last so large that threads share a transform, which has columns.
TYPED_TEST(CheckedImageFft, BitsDoNotDependOnThreads) {
    using Values = std::vector<TypeParam>;
    for (const auto& [size, mask] : {std::pair<std::int64_t, std::int64_t>{300, 15}, {kSanitized ? 230 : 700, 201}}) {
        const ImageProblem p{.height = size,
                             .width = size + 3,
                             .mask_height = mask,
                             .mask_width = mask,
                             .mode = Mode::valid,
                             .dtype = TestFixture::kReal};
        for (const Signal& signal : kSignals) {
            const Values taps = widened<TypeParam>(taps_for(signal, random_samples(mask * mask, 13)));
            const Values in = widened<TypeParam>(made(signal, p.height * p.width, 14));
            const Values one = run(p, taps, in), three = run(p, taps, in, strict(3));
            EXPECT_EQ(std::memcmp(one.data(), three.data(), one.size() * sizeof(TypeParam)), 0) << signal.name;
            if (size < 300) { continue; }
            // Some outputs against the textbook, each a problem of its own.
            const std::int64_t width = p.width - mask + 1, height = p.height - mask + 1;
            for (const std::int64_t y : {std::int64_t{0}, height / 2, height - 1}) {
                for (const std::int64_t x : {std::int64_t{0}, width / 3, width - 1}) {
                    Values window;
                    for (std::int64_t r = 0; r < mask; ++r) {
                        const auto first = in.begin() + static_cast<std::ptrdiff_t>((y + r) * p.width + x);
                        window.insert(window.end(), first, first + mask);
                    }
                    const ImageProblem single{.height = mask,
                                              .width = mask,
                                              .mask_height = mask,
                                              .mask_width = mask,
                                              .mode = Mode::valid,
                                              .dtype = TestFixture::kReal};
                    EXPECT_EQ(misses(single, taps, window, {one[static_cast<std::size_t>(y * width + x)]}), 0)
                        << signal.name << " at " << y << ", " << x;
                }
            }
        }
    }
}

// A tile with a NaN is not transformed.
TYPED_TEST(CheckedImageFft, SpoiltTilesHaveTheBitsOfDirectSums) {
    using Values = std::vector<TypeParam>;
    const ImageProblem p{.height = 60, .width = 70, .mask_height = 9, .mask_width = 9, .dtype = TestFixture::kReal};
    Values in = widened<TypeParam>(random_samples(p.height * p.width, 15));
    in[2000] = NAN;
    const Values taps = widened<TypeParam>(random_samples(81, 16)), checked = run(p, taps, in);
    PlanOptions direct = strict();
    direct.algorithm = "direct";
    const Values summed = run(p, taps, in, direct);
    EXPECT_EQ(std::memcmp(checked.data(), summed.data(), summed.size() * sizeof(TypeParam)), 0);
}

}  // namespace
}  // namespace tapline::test
