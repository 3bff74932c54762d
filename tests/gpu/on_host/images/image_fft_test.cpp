// Rung 07's transforms in double, their kernel run on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu/on_host/cuda_on_host.hpp"

#include "cuda/families/image_fft/image_fft.hpp"
#include "cuda/families/image_tiles/image_tiles.hpp"
#include "gpu/on_host/drawn_on_host.hpp"
#include "support/case.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

// Pixels in rows, in columns, with gaps and interleaved, at all edges of several tiles.
TEST(ImageFft, SumsInDouble) {
    Random random(5);
    const auto run = [&](Problem p) {
        Case c = draw_case(p, random);
        const core::Resolved r = core::resolve(p);
        PreparedOnHost prepared(cuda::image_fft(), r, c.taps.data());
        ASSERT_EQ(prepared.make(), "") << describe(p);
        prepared.launch(job_of(r, c.first_out(), c.first_in(), 0, r.y.outputs));
        EXPECT_TRUE(c.out.guards_intact() && c.gaps_untouched()) << describe(p);
        EXPECT_EQ(compare(p, c.first_out(), c.first_in(), c.taps.data(), false), "") << describe(p);
    };
    for (const Dtype dtype : {Dtype::u8, Dtype::i8, Dtype::u16, Dtype::i16, Dtype::f64}) {
        const auto real_taps = is_integer(dtype) ? std::optional(Dtype::f64) : std::nullopt;
        for (const Dtype to : {dtype, Dtype::f64, Dtype::f32}) {
            Problem p{
                .mode = Mode::same, .boundary = Boundary::reflect, .dtype = dtype, .output_dtype = to, .real_taps = real_taps};
            p.axes = {FilteredAxis{.length = 150, .taps = 11, .input_stride = 340, .output_stride = 170},
                      FilteredAxis{.length = 170, .taps = 13, .input_stride = to == Dtype::f64 ? 2 : 1}};
            run(p);
        }
        Problem columns{.mode = Mode::full, .boundary = Boundary::constant, .constant = 3, .dtype = dtype, .real_taps = real_taps};
        columns.output_dtype = dtype;
        columns.axes = {FilteredAxis{.length = 130, .taps = 30}, FilteredAxis{.length = 140, .taps = 5, .input_stride = 130}};
        run(columns);
        ImageProblem channels{.height = 60, .width = 150, .channels = 3, .mask_height = 20, .mask_width = 9, .dtype = dtype};
        Problem p = channels;
        p.real_taps = real_taps;
        p.output_dtype = dtype;
        run(p);
    }
}

constexpr std::int64_t kHeight = 140;
constexpr std::int64_t kWidth = 190;

struct Kind {
    Dtype in, out;
    bool as_in_c;
    [[nodiscard]] bool has_sign() const { return in == Dtype::i16 || in == Dtype::i8; }
    [[nodiscard]] int bits() const { return in == Dtype::i16 || in == Dtype::u16 ? 16 : 8; }
};
constexpr Kind kKinds[] = {{Dtype::i16, Dtype::i16, true},
                           {Dtype::u8, Dtype::u8, false},
                           {Dtype::u8, Dtype::i16, false},
                           {Dtype::i8, Dtype::i16, true},
                           {Dtype::u16, Dtype::u16, false}};

// As tapline.ndimage asks for them.
Problem cut_off(const Kind& kind, std::int64_t height, std::int64_t width) {
    constexpr double kNudge = 1e-14;
    Problem p{.mode = Mode::same, .boundary = Boundary::reflect, .dtype = kind.in, .output_dtype = kind.out};
    p.real_taps = Dtype::f64;
    p.scale = 1 + kNudge;
    p.bias = kind.as_in_c ? 0 : -0.5;
    p.overflow = kind.as_in_c ? Overflow::truncate : Overflow::error;
    p.axes = {FilteredAxis{.length = kHeight, .taps = height}, FilteredAxis{.length = kWidth, .taps = width}};
    return p;
}

void put(Case& c, const Kind& kind, std::int64_t at, std::int64_t value) {
    if (kind.bits() == 16) {
        reinterpret_cast<std::uint16_t*>(c.in.data())[at] = static_cast<std::uint16_t>(value);
    } else {
        reinterpret_cast<std::uint8_t*>(c.in.data())[at] = static_cast<std::uint8_t>(value);
    }
}

// Transforms and direct sums have the same outputs.
void expect_alike(Case& c, const Problem& p, const double* taps) {
    const core::Resolved r = core::resolve(p);
    const auto bytes = static_cast<std::size_t>(output_extent(p)) * size_of(r.output_dtype);
    std::vector<std::vector<std::byte>> results;
    for (const cuda::Rung* rung : {&cuda::image_tiles(), &cuda::image_fft()}) {
        PreparedOnHost prepared(*rung, r, taps);
        ASSERT_EQ(prepared.make(), "") << describe(p);
        prepared.launch(job_of(r, c.first_out(), c.first_in(), 0, r.y.outputs));
        const auto* const out = static_cast<const std::byte*>(c.first_out());
        results.emplace_back(out, out + bytes);
    }
    EXPECT_TRUE(results[0] == results[1]) << describe(p);
}

// Flat areas, where sums are integers but for roundings, beside others whose transforms have larger ones.
TEST(ImageFft, FlatAreasStayWhatTheyAre) {
    Random random(6);
    for (const Kind& kind : kKinds) {
        for (const auto [height, width] : {std::pair<std::int64_t, std::int64_t>{12, 12}, {27, 31}}) {
            const Problem p = cut_off(kind, height, width);
            Case c = draw_case(p, random);
            const std::int64_t low = kind.has_sign() ? -(std::int64_t{1} << (kind.bits() - 1)) : 0;
            const std::int64_t high = low + (std::int64_t{1} << kind.bits()) - 1;
            for (std::int64_t i = 0; i < kHeight * kWidth; ++i) {
                const std::int64_t x = i % kWidth;
                const std::int64_t ramp = kind.has_sign() ? -x / 2 : x;
                const std::int64_t areas[] = {7, high, between(low, high, random), 0, ramp};
                put(c, kind, i, areas[x / 48 + i / kWidth / 70]);
            }
            std::vector<double> taps(static_cast<std::size_t>(height * width));
            double sum = 0;
            for (double& tap : taps) { sum += tap = static_cast<double>(between(1, 1000, random)); }
            for (double& tap : taps) { tap /= sum; }
            expect_alike(c, p, taps.data());
        }
    }
}

// A sum that is nearer to an integer than what transforms are off by is below it where it is.
TEST(ImageFft, FewSumsInDoubtAreDecided) {
    constexpr double kBelow = 1e-10;
    Random random(8);
    for (const Kind& kind : kKinds) {
        for (const bool below : {true, false}) {
            const Problem p = cut_off(kind, 15, 11);
            Case c = draw_case(p, random);
            for (std::int64_t i = 0; i < kHeight * kWidth; ++i) { put(c, kind, i, 0); }
            for (const auto [y, x] : {std::pair<std::int64_t, std::int64_t>{3, 5}, {100, 130}, {139, 80}}) {
                put(c, kind, y * kWidth + x, 1);
            }
            std::vector<double> taps(15 * 11);
            for (double& tap : taps) { tap = 0.1 + 0.001 * static_cast<double>(between(0, 800, random)); }
            taps[72] = below ? 7 - kBelow : 7 + kBelow;
            expect_alike(c, p, taps.data());
        }
    }
}

}  // namespace
}  // namespace tapline::test
