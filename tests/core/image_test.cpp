// Images as users meet them: conventions with hand-written numbers, choice and explanation, the same bits for any number of
// threads, what non-finite pixels reach, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "core/problem/mask_rank.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "support/sanitized.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using test::Random;
using Floats = std::vector<float>;

ImageProblem problem_of(std::int64_t height, std::int64_t width, std::int64_t mask_height, std::int64_t mask_width) {
    ImageProblem p;
    p.height = height;
    p.width = width;
    p.mask_height = mask_height;
    p.mask_width = mask_width;
    return p;
}

Floats random_floats(std::int64_t count, std::uint64_t seed) {
    Random random(seed);
    Floats values(static_cast<std::size_t>(count));
    test::fill_reals<float>(values.data(), count, random);
    return values;
}

// gauss(y) gauss(x), as rounded as a user's mask.
Floats gaussian(std::int64_t size) {
    Floats mask;
    const double centre = static_cast<double>(size - 1) / 2, sigma = static_cast<double>(size) / 6;
    const auto gauss = [&](std::int64_t i) { return std::exp(-0.5 * std::pow((static_cast<double>(i) - centre) / sigma, 2)); };
    for (std::int64_t i = 0; i < size * size; ++i) { mask.push_back(static_cast<float>(gauss(i / size) * gauss(i % size))); }
    return mask;
}

Floats run(const ImageProblem& p, const Floats& taps, const Floats& in, const PlanOptions& options = {}) {
    Floats out(static_cast<std::size_t>(output_extent(p)), NAN);
    make_plan(p, taps, options).execute(std::span<float>(out), std::span<const float>(in));
    return out;
}

std::string algorithm_of(const ImageProblem& p, const Floats& taps, Accuracy accuracy = Accuracy::standard) {
    return make_plan(p, taps, {.device = "cpu", .accuracy = accuracy}).algorithm();
}

// Where image and mask are flat all roundings go the same way, and one sum of all products in turn is 18 times as far off as
// accuracy `standard` allows; of random pixels it is not.
TEST(Image, DirectSumsOfLargeMasksKeepThePromise) {
    for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{40, 40}, {1, 1256}, {1256, 1}, {13, 97}}) {
        for (const bool flat : {true, false}) {
            if (test::kSanitized && (!flat || width == 1256)) { continue; }
            Problem p = problem_of(std::max<std::int64_t>(height, 24), std::max<std::int64_t>(width, 24), height, width);
            p.dtype = Dtype::u8;
            p.real_taps = Dtype::f32;
            p.output_dtype = Dtype::f32;
            p.boundary = Boundary::reflect;
            Random random(7);
            std::vector<std::uint8_t> in(static_cast<std::size_t>(input_extent(p)), 150);
            for (std::uint8_t& pixel : in) { pixel = flat ? 150 : static_cast<std::uint8_t>(test::between(0, 255, random)); }
            Floats mask;
            for (std::int64_t i = 0; i < height * width; ++i) {
                const double y = static_cast<double>(i / width) - 19.5, x = static_cast<double>(i % width) - 19.5;
                mask.push_back(height != 40 || y * y + x * x < 400 ? 1 / 1256.0F : 0);  // a disk
            }
            for (const std::string& target : cpu_targets()) {
                force_cpu_target(target);
                Floats out(static_cast<std::size_t>(output_extent(p)), NAN);
                make_plan(p, mask.data(), {.device = "cpu", .algorithm = "direct"}).execute_host(out.data(), in.data());
                EXPECT_EQ(test::compare(p, out.data(), in.data(), mask.data(), false), "") << height << " x " << width << target;
            }
            force_cpu_target("");
        }
    }
}

TEST(Image, ConvolutionTurnsTheMaskAndCorrelationDoesNot) {
    const Floats image{1, 2, 3, 4, 5, 6, 7, 8, 9}, mask{1, 2, 3, 4};
    // scipy.signal.convolve2d(image, mask, mode="same")
    EXPECT_EQ(convolve_image(image, {3, 3}, mask, {2, 2}), (Floats{1, 4, 7, 7, 23, 33, 19, 53, 63}));
    ImageProblem correlation;
    correlation.operation = Operation::correlation;
    correlation.mode = Mode::valid;
    EXPECT_EQ(convolve_image(image, {3, 3}, mask, {2, 2}, correlation), (Floats{37, 47, 67, 77}));
}

TEST(Image, BoundariesAreThoseOfNdimage) {
    const Floats image{1, 2, 3, 4}, mask{1, 0, 0, 0, 0, 0, 0, 0, 0};  // correlation: the pixel above and to the left
    const std::pair<Boundary, Floats> cases[] = {
        {Boundary::zero, {0, 0, 0, 1}},    {Boundary::constant, {9, 9, 9, 1}}, {Boundary::nearest, {1, 1, 1, 1}},
        {Boundary::reflect, {1, 1, 1, 1}}, {Boundary::mirror, {4, 3, 2, 1}},   {Boundary::wrap, {4, 3, 2, 1}},
    };
    for (const auto& [boundary, wanted] : cases) {
        ImageProblem p;
        p.operation = Operation::correlation;
        p.boundary = boundary;
        p.constant = 9;
        EXPECT_EQ(convolve_image(image, {2, 2}, mask, {3, 3}, p), wanted) << to_string(boundary);
    }
}

TEST(Image, ModesHaveTheSizesOfOneDimension) {
    ImageProblem p = problem_of(5, 7, 2, 3);
    const std::pair<Mode, ImageSize> cases[] = {
        {Mode::full, {6, 9}}, {Mode::same, {5, 7}}, {Mode::valid, {4, 5}}, {Mode::causal, {5, 7}}, {Mode::leading, {5, 7}}};
    for (const auto& [mode, size] : cases) {
        p.mode = mode;
        EXPECT_EQ(image_output_size(p), size) << to_string(mode);
    }
    p.mode = Mode::same;
    EXPECT_EQ(image_origin(p), (ImageSize{1, 1}));
}

TEST(Image, IntegersRoundToEvenAndSaturate) {
    const std::vector<std::uint8_t> image{1, 3, 5, 200, 255, 0};
    EXPECT_EQ(convolve_image(image, {1, 6}, Floats{0.5F}, {1, 1}), (std::vector<std::uint8_t>{0, 2, 2, 100, 128, 0}));
    EXPECT_EQ(convolve_image(image, {1, 6}, Floats{-1}, {1, 1}), (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(convolve_image(image, {1, 6}, Floats{2}, {1, 1}), (std::vector<std::uint8_t>{2, 6, 10, 255, 255, 0}));
    const std::vector<std::uint16_t> deep{1, 3, 40000};
    EXPECT_EQ(convolve_image(deep, {1, 3}, Floats{1.5F}, {1, 1}), (std::vector<std::uint16_t>{2, 4, 60000}));
}

TEST(Image, TheMaskDecidesTheAlgorithm) {
    const ImageProblem small = problem_of(2048, 2048, 3, 3), large = problem_of(2048, 2048, 31, 31);
    EXPECT_EQ(algorithm_of(small, random_floats(9, 1)), "direct");
    EXPECT_EQ(algorithm_of(large, random_floats(31 * 31, 1)), "overlap_save");
    EXPECT_EQ(algorithm_of(large, gaussian(31)), "separable");
    EXPECT_EQ(algorithm_of(large, gaussian(31), Accuracy::strict), "overlap_save");
    EXPECT_EQ(algorithm_of(small, random_floats(9, 1), Accuracy::strict), "direct");
    Floats special = random_floats(9, 1);
    special[4] = NAN;
    EXPECT_EQ(algorithm_of(small, special), "textbook");
}

// Of integers of all sizes, too; longer masks of volumes than it has windows for are the textbook's.
TEST(Image, VolumesAndImagesOfIntegersWithRealTapsAreSummedByTiles) {
    for (const Dtype dtype : {Dtype::boolean, Dtype::i8, Dtype::i16, Dtype::u32, Dtype::i64, Dtype::f32, Dtype::complex128}) {
        for (const std::int64_t depth : {0, 3, 65}) {
            Problem p;
            p.mode = Mode::same;
            p.dtype = dtype;
            if (is_integer(dtype)) { p.real_taps = Dtype::f64; }
            if (depth > 0) { p.axes.push_back({.length = 70, .taps = depth}); }
            p.axes.push_back({.length = 12, .taps = 3});
            p.axes.push_back({.length = 33, .taps = 5});
            const std::vector<double> taps(static_cast<std::size_t>(taps_extent(p)), 1);
            const std::vector<float> narrow(taps.size(), 1);
            const Plan plan =
                make_plan(p, dtype == Dtype::f32 ? static_cast<const void*>(narrow.data()) : taps.data(), {.device = "cpu"});
            EXPECT_EQ(plan.algorithm() == "textbook", depth > 64) << to_string(dtype) << ", depth " << depth;
        }
    }
}

TEST(Image, TheNamedAlgorithmRunsAndIsExplained) {
    const ImageProblem p = problem_of(100, 120, 7, 7);
    const Floats mask = gaussian(7);
    for (const AlgorithmInfo& info : algorithms(p, "cpu", Accuracy::standard, 0, mask.data())) {
        if (info.name == "integer_floats") { continue; }
        ASSERT_TRUE(info.supported) << info.name;
        const Plan plan = make_plan(p, mask, {.algorithm = info.name});
        EXPECT_EQ(plan.algorithm(), info.name);
        const std::string text = plan.explain();
        EXPECT_NE(text.find("algorithm: " + info.name + " on cpu"), std::string::npos) << text;
        EXPECT_NE(text.find("100 x 120 f32 pixels with a 7 x 7 mask"), std::string::npos) << text;
        EXPECT_NE(text.find("asked for by name"), std::string::npos) << text;
    }
    EXPECT_NE(make_plan(p, mask).explain().find("fastest by the cost model"), std::string::npos);
}

TEST(Image, TheSameBitsForAnyNumberOfThreadsAndAnyAlignment) {
    ImageProblem p = problem_of(301, 333, 9, 9);
    p.channels = 3;
    const Floats mask = gaussian(9), in = random_floats(input_extent(p), 2);
    for (const char* algorithm : {"direct", "separable", "overlap_save"}) {
        const Floats one = run(p, mask, in, {.algorithm = algorithm, .threads = 1});
        for (const int threads : {2, 3, 8}) {
            const Floats many = run(p, mask, in, {.algorithm = algorithm, .threads = threads});
            EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(float)), 0) << algorithm;
        }
        const Plan plan = make_plan(p, mask, {.algorithm = algorithm});
        for (const std::size_t offset : {1, 5, 15}) {
            Floats shifted_in(in.size() + offset), shifted_out(one.size() + offset);
            std::copy(in.begin(), in.end(), shifted_in.begin() + static_cast<std::ptrdiff_t>(offset));
            plan.execute(shifted_out.data() + offset, shifted_in.data() + offset);
            EXPECT_EQ(std::memcmp(one.data(), shifted_out.data() + offset, one.size() * sizeof(float)), 0) << algorithm;
        }
    }
}

// Large enough for streaming stores, several bands and segments, and rows that do not start at cache lines.
TEST(Image, LargeImagesAgreeBetweenAlgorithms) {
    for (const auto& [width, size] : {std::pair<std::int64_t, std::int64_t>{2048, 11}, {2051, 11}, {2048, 7}, {2051, 7}}) {
        ImageProblem p = problem_of(1200, width, size, size);
        const Floats mask = gaussian(size), in = random_floats(input_extent(p), 3);
        const Floats direct = run(p, mask, in, {.algorithm = "direct"});
        for (const char* algorithm : {"separable", "overlap_save"}) {
            const Floats other = run(p, mask, in, {.algorithm = algorithm});
            double largest = 0;
            for (std::size_t i = 0; i < direct.size(); ++i) {
                const double error = std::abs(static_cast<double>(direct[i]) - static_cast<double>(other[i]));
                largest = error <= largest ? largest : error;
            }
            EXPECT_LE(largest, 1e-4) << algorithm << " " << width << " " << size;
        }
    }
}

TEST(Image, NonFinitePixelsReachExactlyTheirWindows) {
    const std::int64_t size = 200, k = 13;
    ImageProblem p = problem_of(size, size, k, k);
    const Floats mask = gaussian(k);
    Floats in = random_floats(size * size, 4);
    const Floats clean = run(p, mask, in, {.algorithm = "direct"});
    in[static_cast<std::size_t>(50 * size + 60)] = NAN;
    in[static_cast<std::size_t>(150 * size + 20)] = HUGE_VALF;
    for (const char* algorithm : {"direct", "separable", "overlap_save"}) {
        const Floats out = run(p, mask, in, {.algorithm = algorithm});
        for (std::int64_t y = 0; y < size; ++y) {
            for (std::int64_t x = 0; x < size; ++x) {
                const float value = out[static_cast<std::size_t>(y * size + x)];
                if (std::abs(y - 50) <= k / 2 && std::abs(x - 60) <= k / 2) {
                    ASSERT_TRUE(std::isnan(value)) << algorithm << " " << y << " " << x;
                } else if (std::abs(y - 150) <= k / 2 && std::abs(x - 20) <= k / 2) {
                    ASSERT_EQ(value, HUGE_VALF) << algorithm << " " << y << " " << x;
                } else {
                    ASSERT_NEAR(value, clean[static_cast<std::size_t>(y * size + x)], 1e-3) << algorithm << " " << y << " " << x;
                }
            }
        }
    }
}

// Finite pixels near the end of the type's range overflow inside a transform although no result does.
TEST(Image, LargeFinitePixelsDoNotOverflowOnTheWay) {
    ImageProblem p = problem_of(300, 300, 15, 15);
    const Floats mask(15 * 15, 1.0F / 225), in(300 * 300, 3e38F);
    for (const char* algorithm : {"direct", "separable", "overlap_save"}) {
        const Floats out = run(p, mask, in, {.algorithm = algorithm});
        EXPECT_NEAR(out[150 * 300 + 150] / 3e38F, 1, 1e-4) << algorithm;
    }
    const Floats huge(15 * 15, 1e37F), small(300 * 300, 1e-3F);
    EXPECT_NEAR(run(p, huge, small, {.algorithm = "overlap_save"})[150 * 300 + 150] / 2.25e36F, 1, 1e-4);
}

TEST(Image, SeparableMasksAreFoundByTheirRank) {
    Floats sum(21 * 17);
    Random random(5);
    std::normal_distribution<float> draw;
    for (int rank = 1; rank <= 6; ++rank) {
        Floats column(21), row(17);
        for (float& value : column) { value = draw(random); }
        for (float& value : row) { value = draw(random); }
        for (std::size_t t = 0; t < sum.size(); ++t) { sum[t] += column[t / 17] * row[t % 17]; }
        EXPECT_EQ(core::separate(sum.data(), 21, 17, Dtype::f32).rank, rank <= core::kMaxMaskRank ? rank : 0) << rank;
    }
    EXPECT_EQ(core::separate(gaussian(63).data(), 63, 63, Dtype::f32).rank, 1);
    EXPECT_EQ(core::separate(random_floats(49, 6).data(), 7, 7, Dtype::f32).rank, 0);
    EXPECT_EQ(core::separate(Floats(25, 0.0F).data(), 5, 5, Dtype::f32).rank, 0);
}

TEST(Image, AMaskLargerThanTheImageIsAsGoodAsAnyOther) {
    ImageProblem p = problem_of(3, 5, 40, 33);
    Random random(7);
    for (const Boundary boundary : {Boundary::zero, Boundary::reflect, Boundary::wrap}) {
        p.boundary = boundary;
        for (const Mode mode : {Mode::full, Mode::same}) {
            p.mode = mode;
            const Floats mask = random_floats(40 * 33, 8), in = random_floats(15, 9);
            const Floats out = run(p, mask, in);
            EXPECT_EQ(test::compare(p, out.data(), in.data(), mask.data(), false), "");
        }
    }
}

// What an Error says.
std::string refusal(const std::function<void()>& call, ErrorCode code) {
    try {
        call();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        return error.what();
    }
    return "nothing was refused";
}

TEST(Image, NonsenseIsRefusedWithTheNameAndTheRemedy) {
    const auto of = [](auto change, ErrorCode code = ErrorCode::argument) {
        ImageProblem p = problem_of(10, 10, 3, 3);
        change(p);
        return refusal([&] { validate(p); }, code);
    };
    const auto contains = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
    constexpr std::int64_t kMany = std::int64_t{1} << 40;
    EXPECT_TRUE(contains(of([](auto& p) { p.height = 0; }), "axis 0 (y): length: 0"));
    EXPECT_TRUE(contains(of([](auto& p) { p.width = -3; }), "axis 1 (x): length: -3"));
    EXPECT_TRUE(contains(of([](auto& p) { p.channels = 0; }), "channels"));
    EXPECT_TRUE(contains(of([](auto& p) { p.batch = 0; }), "batch"));
    EXPECT_TRUE(contains(of([](auto& p) { p.mask_width = 0; }), "axis 1 (x): taps: 0"));
    EXPECT_TRUE(contains(of([](auto& p) { p.height = p.width = kMany; }), "2^60 bytes"));
    EXPECT_TRUE(contains(of([](auto& p) { p.mask_height = p.mask_width = kMany; }), "2^56"));
    EXPECT_TRUE(contains(of([](auto& p) { p.width = p.channels = kMany; }), "2^60 bytes"));
    EXPECT_TRUE(contains(of([](auto& p) { p.output_row_stride = 9; }), "output stride: 9"));
    EXPECT_TRUE(contains(of([](auto& p) { p.output_row_stride = -1; }), "output stride: "));
    EXPECT_TRUE(contains(of([](auto& p) { p.batch = 2, p.output_image_stride = 99; }), "output stride: 99"));
    EXPECT_TRUE(
        contains(of([](auto& p) { p.mode = Mode::valid, p.mask_height = 11; }), "axis 0 (y): taps: 11 taps are longer than"));
    EXPECT_TRUE(contains(of([](auto& p) { p.scale = NAN; }), "scale: NaN"));
    EXPECT_TRUE(contains(of([](auto& p) { p.clamp = Clamp{1, 0}; }), "clamp"));
    EXPECT_TRUE(contains(of([](auto& p) { p.complex_taps = true; }, ErrorCode::type), "complex_taps"));
    EXPECT_TRUE(contains(of([](auto& p) { p.output_dtype = Dtype::complex64; }, ErrorCode::type), "output_dtype"));
    EXPECT_TRUE(contains(of([](auto& p) { p.mode = static_cast<Mode>(77); }), "mode"));
    EXPECT_TRUE(contains(of([](auto& p) { p.boundary = Boundary::constant, p.dtype = Dtype::u8, p.constant = 300; }), "constant"));
}

TEST(Image, WrongBuffersAreRefused) {
    const ImageProblem p = problem_of(10, 10, 3, 3);
    const Floats mask(9, 1.0F);
    Floats in(100), out(100);
    const Plan plan = make_plan(p, mask);
    refusal([&] { plan.execute(nullptr, in.data()); }, ErrorCode::argument);
    refusal([&] { plan.execute(out.data(), nullptr); }, ErrorCode::argument);
    EXPECT_NE(refusal([&] { plan.execute(in.data() + 50, in.data()); }, ErrorCode::argument).find("overlaps"), std::string::npos);
    refusal([&] { plan.execute(std::span<float>(out).first(99), std::span<const float>(in)); }, ErrorCode::argument);
    refusal([&] { plan.execute(out.data(), in.data(), {}); }, ErrorCode::argument);
    refusal([&] { make_plan(p, Floats(8, 1.0F)); }, ErrorCode::argument);
    refusal([&] { make_plan(p, std::vector<double>(9, 1.0)); }, ErrorCode::type);
    refusal([&] { make_plan(p, nullptr); }, ErrorCode::argument);
    refusal([&] { make_plan(p, mask, {.device = "cuda:1000"}); }, ErrorCode::device);
    refusal([&] { make_plan(p, mask, {.device = "tpu"}); }, ErrorCode::argument);
    refusal([&] { make_plan(p, mask, {.algorithm = "magic"}); }, ErrorCode::argument);
    refusal([&] { make_plan(p, mask, {.threads = -1}); }, ErrorCode::argument);
    EXPECT_NE(refusal(
                  [&] {
                      convolve_image(Floats(101), {10, 10}, mask, {3, 3});
                  },
                  ErrorCode::argument)
                  .find("no multiple"),
              std::string::npos);
}

}  // namespace
}  // namespace tapline
