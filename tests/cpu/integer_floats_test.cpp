// Exact sums of integers in floats and doubles: at the edge of what these count one by one, in any layout, of images; who is
// refused.
#include <gtest/gtest.h>

#include <limits>

#include "support/buffers.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using test::Random;

constexpr const char* kName = "integer_floats";

AlgorithmInfo info_of(const Problem& p, const std::vector<std::int64_t>& taps) {
    for (const AlgorithmInfo& info : algorithms(p, "cpu", Accuracy::standard, 1, taps.data())) {
        if (info.name == kName) { return info; }
    }
    return {};
}

// Samples that are all the largest or the least of their type, under taps of one sign: the largest sums that there may be.
template <class T>
void check_edge(Dtype dtype, T sample, std::vector<std::int64_t> taps) {
    const Problem p{.length = 301,
                    .taps = static_cast<std::int64_t>(taps.size()),
                    .mode = Mode::same,
                    .dtype = dtype,
                    .output_dtype = Dtype::i64};
    const std::vector<T> in(301, sample);
    std::vector<std::int64_t> sums(301), expected(301);
    ASSERT_TRUE(info_of(p, taps).supported) << info_of(p, taps).reason;
    make_plan(p, taps, {.device = "cpu", .algorithm = kName}).execute(sums.data(), in.data());
    make_plan(p, taps, {.device = "cpu", .algorithm = "textbook"}).execute(expected.data(), in.data());
    EXPECT_EQ(sums, expected);
}

TEST(IntegerFloats, SumsAreExactAtTheEdge) {
    // 255 * 65,793 = 2^24 - 1 is a float's; one more is a double's, and so is 2^31 * (2^22 - 1).
    check_edge<std::uint8_t>(Dtype::u8, 255, {65000, 0, 700, 93});
    check_edge<std::uint8_t>(Dtype::u8, 255, {65000, 0, 700, 94});
    check_edge<std::uint8_t>(Dtype::u8, 255, {-65000, -1, -700, -91});
    check_edge<std::int16_t>(Dtype::i16, -32768, {511});
    check_edge<std::int16_t>(Dtype::i16, -32768, {-257, -255});
    check_edge<std::int16_t>(Dtype::i16, std::numeric_limits<std::int16_t>::max(), {-40001, 70003, 1});
    check_edge<std::int32_t>(Dtype::i32, std::numeric_limits<std::int32_t>::min(), {4194302, -1});
    check_edge<std::uint32_t>(Dtype::u32, std::numeric_limits<std::uint32_t>::max(), {2097151});
}

TEST(IntegerFloats, RefusesSumsThatMayPassADoubleOrTheOutput) {
    const auto supported = [](Problem p, const std::vector<std::int64_t>& taps) {
        p.length = 100;
        p.taps = static_cast<std::int64_t>(taps.size());
        return info_of(p, taps).supported;
    };
    EXPECT_FALSE(supported({.dtype = Dtype::i32, .output_dtype = Dtype::i64}, {4194304}));  // 2^31 * 2^22 = 2^53
    EXPECT_FALSE(supported({.dtype = Dtype::i64, .output_dtype = Dtype::i64}, {1}));
    EXPECT_TRUE(supported({.dtype = Dtype::u8, .output_dtype = Dtype::i16}, {127}));
    EXPECT_FALSE(supported({.dtype = Dtype::u8, .output_dtype = Dtype::i16}, {127, 2}));
    EXPECT_TRUE(supported({.dtype = Dtype::u8, .output_dtype = Dtype::i16, .overflow = Overflow::wrap}, {127, 2}));
    EXPECT_TRUE(supported({.dtype = Dtype::u8, .output_dtype = Dtype::u16}, {200, 57}));
    EXPECT_FALSE(supported({.dtype = Dtype::u8, .output_dtype = Dtype::u16}, {200, -1}));
    EXPECT_FALSE(supported({.dtype = Dtype::i16, .output_dtype = Dtype::i64, .scale = 2}, {1}));
    EXPECT_FALSE(supported({.dtype = Dtype::boolean, .output_dtype = Dtype::i64}, {1}));
}

TEST(IntegerFloats, AnyLayoutAndImagesAreTheTextbooks) {
    Random random(51);
    int solved = 0, images = 0;
    for (int i = 0; i < 4000; ++i) {
        const int rank = 1 + i % 3;
        const Problem p = test::draw_problem(
            {.rank = rank, .most_samples = 40, .most_taps = 9, .most_products = 200000, .integers = true, .layouts = true}, random);
        if (!is_integer(p.dtype) || p.real_taps) { continue; }
        std::vector<std::int64_t> taps(static_cast<std::size_t>(taps_extent(p)));
        for (std::int64_t& tap : taps) { tap = test::between(p.dtype == Dtype::u64 ? 0 : -300, 300, random); }
        if (!info_of(p, taps).supported) { continue; }
        const std::size_t in_bytes = static_cast<std::size_t>(input_extent(p)) * size_of(p.dtype);
        const std::size_t out_bytes = static_cast<std::size_t>(output_extent(p)) * size_of(output_dtype(p));
        std::vector<std::byte> in(in_bytes), sums(out_bytes), expected(out_bytes);
        test::fill_random(in.data(), p.dtype, input_extent(p), random);
        const auto* const first_in = in.data() + static_cast<std::size_t>(input_start(p)) * size_of(p.dtype);
        const std::size_t first_out = static_cast<std::size_t>(output_start(p)) * size_of(output_dtype(p));
        make_plan(p, taps, {.device = "cpu", .algorithm = kName, .threads = 2}).execute(sums.data() + first_out, first_in);
        make_plan(p, taps, {.device = "cpu", .algorithm = "textbook"}).execute(expected.data() + first_out, first_in);
        ASSERT_TRUE(sums == expected) << test::describe(p);
        ++solved;
        images += rank > 1 ? 1 : 0;
    }
    EXPECT_GT(solved, 150);
    EXPECT_GT(images, 50);
}

TEST(IntegerFloats, IsChosenForRowsSideBySideAndImages) {
    const std::vector<std::int64_t> taps{1, -2, 3, 4, -5, 6};
    Problem columns{.dtype = Dtype::i16, .output_dtype = Dtype::i64};
    columns.axes.push_back({.length = 500, .taps = 6, .input_stride = 700, .output_stride = 700});
    columns.batch_axes.push_back({.length = 700, .input_stride = 1, .output_stride = 1});
    EXPECT_EQ(make_plan(columns, taps, {.device = "cpu"}).algorithm(), kName);
    Problem image{.dtype = Dtype::u8, .output_dtype = Dtype::i32};
    image.axes.push_back({.length = 200, .taps = 2});
    image.axes.push_back({.length = 300, .taps = 3});
    EXPECT_EQ(make_plan(image, taps, {.device = "cpu"}).algorithm(), kName);
}

}  // namespace
}  // namespace tapline
