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

// Sums of integers that lose their fraction are those of direct sums: flat areas, where they are integers but for roundings, beside
// others whose transforms have larger ones.
TEST(ImageFft, SumsThatAreCutOff) {
    constexpr std::int64_t kHeight = 140;
    constexpr std::int64_t kWidth = 190;
    constexpr double kNudge = 1e-14;
    struct Kind {
        Dtype in, out;
        bool as_in_c;
    };
    Random random(6);
    for (const Kind kind :
         {Kind{Dtype::i16, Dtype::i16, true}, Kind{Dtype::u8, Dtype::u8, false}, Kind{Dtype::u8, Dtype::i16, false},
          Kind{Dtype::i8, Dtype::i16, true}, Kind{Dtype::u16, Dtype::u16, false}}) {
        for (const auto [height, width] : {std::pair<std::int64_t, std::int64_t>{12, 12}, {27, 31}}) {
            Problem p{.mode = Mode::same, .boundary = Boundary::reflect, .dtype = kind.in, .output_dtype = kind.out};
            p.real_taps = Dtype::f64;
            p.scale = 1 + kNudge;
            if (kind.as_in_c) {
                p.overflow = Overflow::truncate;
            } else {
                p.bias = -0.5;
            }
            p.axes = {FilteredAxis{.length = kHeight, .taps = height}, FilteredAxis{.length = kWidth, .taps = width}};
            Case c = draw_case(p, random);
            const bool is_signed = kind.in == Dtype::i16 || kind.in == Dtype::i8;
            const std::int64_t bits = kind.in == Dtype::i16 || kind.in == Dtype::u16 ? 16 : 8;
            const std::int64_t low = is_signed ? -(std::int64_t{1} << (bits - 1)) : 0;
            const std::int64_t high = low + (std::int64_t{1} << bits) - 1;
            for (std::int64_t i = 0; i < kHeight * kWidth; ++i) {
                const std::int64_t x = i % kWidth;
                const std::int64_t area = x / 48 + i / kWidth / 70;
                const std::int64_t value = area == 0   ? 7
                                           : area == 1 ? high
                                           : area == 2 ? between(low, high, random)
                                           : area == 3 ? 0
                                                       : (is_signed ? -x : x);
                if (bits == 16) {
                    reinterpret_cast<std::uint16_t*>(c.in.data())[i] = static_cast<std::uint16_t>(value);
                } else {
                    reinterpret_cast<std::uint8_t*>(c.in.data())[i] = static_cast<std::uint8_t>(value);
                }
            }
            auto* const taps = reinterpret_cast<double*>(c.taps.data());
            double sum = 0;
            for (std::int64_t i = 0; i < height * width; ++i) { sum += taps[i] = static_cast<double>(between(1, 1000, random)); }
            for (std::int64_t i = 0; i < height * width; ++i) { taps[i] /= sum; }
            const core::Resolved r = core::resolve(p);
            const auto bytes = static_cast<std::size_t>(output_extent(p)) * size_of(kind.out);
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
    }
}

}  // namespace
}  // namespace tapline::test
