// Rounded passes, their kernel run on the host: every output is the truncated sum in double of samples that were truncated before.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "gpu/on_host/cuda_on_host.hpp"

#include "core/problem/window.hpp"
#include "cuda/families/rounded_passes/rounded_passes.hpp"
#include "gpu/on_host/rung_on_host.hpp"
#include "support/draw.hpp"

namespace tapline::test {
namespace {

using cuda_abi::RoundedPass;
using cuda_abi::RoundedPasses;

enum class Image { random, flat, blocks, ramp, plane };
enum class Weights { gaussian, mean, difference };

constexpr double kNudge = 1 + 1e-14;

std::vector<double> weights_of(Weights kind, int taps) {
    std::vector<double> weights(static_cast<std::size_t>(taps), 1.0);
    if (kind == Weights::mean) { return weights; }
    if (kind == Weights::difference) {
        for (int t = 0; t < taps; ++t) { weights[static_cast<std::size_t>(t)] = t - taps / 2; }
        return weights;
    }
    double sum = 0;
    for (int t = 0; t < taps; ++t) {
        const double x = (t - taps / 2) / (taps / 8.0);
        sum += weights[static_cast<std::size_t>(t)] = std::exp(-x * x / 2);
    }
    for (double& w : weights) { w /= sum; }
    return weights;
}

std::int64_t pixel_of(Image image, Dtype dtype, std::int64_t row, std::int64_t column, Random& random) {
    const std::int64_t least = dtype == Dtype::i16 ? -32768 : 0;
    const std::int64_t most = dtype == Dtype::u8 ? 255 : dtype == Dtype::i16 ? 32767 : 65535;
    if (image == Image::random) { return between(least, most, random); }
    if (image == Image::flat) { return dtype == Dtype::i16 ? -77 : 77; }
    if (image == Image::plane) { return dtype == Dtype::u8 ? row + column / 2 : least / 8 + 30 * row - 7 * column + 3000; }
    if (image == Image::ramp) { return least + (row / 3 + column) % 256; }
    return (row / 20 + column / 50) % 2 == 0 ? least : most;
}

// One line, summed and truncated.
template <class T>
void filter_line(std::vector<T>& all, std::int64_t first, std::int64_t step, std::int64_t n, const RoundedPass& pass,
                 double constant) {
    std::vector<double> line;
    for (std::int64_t i = 0; i < n; ++i) { line.push_back(all[static_cast<std::size_t>(first + i * step)]); }
    for (std::int64_t i = 0; i < n; ++i) {
        long double sum = 0;
        for (int t = 0; t < pass.taps; ++t) {
            const std::int64_t at = core::boundary_index(pass.boundary, i + t - pass.origin, n);
            sum += static_cast<long double>(pass.weights[t]) * (at < 0 ? constant : line[static_cast<std::size_t>(at)]);
        }
        const double scaled = static_cast<double>(sum / static_cast<long double>(pass.divisor));
        all[static_cast<std::size_t>(first + i * step)] = static_cast<T>(static_cast<std::int64_t>(scaled * kNudge));
    }
}

struct Asked {
    Dtype dtype;
    std::int64_t images, rows, columns, gap;
    int down, along;
    Weights kind;
    Image image;
    Boundary boundary;
};

template <class T>
void check(const Asked& asked, Random& random) {
    const std::vector<double> down = weights_of(asked.kind, std::max(asked.down, 1));
    const std::vector<double> along = weights_of(asked.kind, std::max(asked.along, 1));
    const std::int64_t row = asked.columns + asked.gap;
    const auto pass_of = [&](const std::vector<double>& weights, int taps) {
        return RoundedPass{.weights = weights.data(),
                           .taps = taps,
                           .origin = taps == 0 ? 0 : static_cast<std::int32_t>(between(0, taps - 1, random)),
                           .boundary = asked.boundary,
                           .divisor = asked.kind == Weights::mean ? std::max(taps, 1) : 1.0};
    };
    const RoundedPasses p{.dtype = asked.dtype,
                          .images = asked.images,
                          .rows = asked.rows,
                          .columns = asked.columns,
                          .in_image = asked.rows * row,
                          .in_row = row,
                          .out_image = asked.rows * asked.columns,
                          .out_row = asked.columns,
                          .down = pass_of(down, asked.down),
                          .along = pass_of(along, asked.along),
                          .constant = asked.dtype == Dtype::i16 ? -5.0 : 5.0};
    std::vector<T> in(static_cast<std::size_t>(asked.images * asked.rows * row - asked.gap));
    for (std::size_t i = 0; i < in.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        in[i] = static_cast<T>(pixel_of(asked.image, asked.dtype, at / row, at % row, random));
    }
    const auto count = static_cast<std::size_t>(asked.images * asked.rows * asked.columns);
    std::vector<T> wanted(count);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) {
        wanted[static_cast<std::size_t>(i)] = in[static_cast<std::size_t>(i / asked.columns * row + i % asked.columns)];
    }
    for (std::int64_t line = 0; asked.down > 0 && line < asked.images * asked.columns; ++line) {
        filter_line(wanted, line / asked.columns * p.out_image + line % asked.columns, asked.columns, asked.rows, p.down,
                    p.constant);
    }
    for (std::int64_t line = 0; asked.along > 0 && line < asked.images * asked.rows; ++line) {
        filter_line(wanted, line * asked.columns, 1, asked.columns, p.along, p.constant);
    }
    const FencedBuffer fenced(in.data(), in.size() * sizeof(T), between(0, 1, random) == 0);
    for (const int single_to_double : {2, 64}) {  // in double, and in whole numbers
        cuda_abi::Device device = device_of(between(0, 1, random) == 0 ? 1 : 132, 9);
        device.single_to_double = single_to_double;
        if (single_to_double == 2) { device.copy_bytes_per_second = 1; }  // then bytes take long
        const auto prepared = cuda::rounded_passes::prepare_passes(p, device);
        ASSERT_EQ(prepared.in_double != nullptr, single_to_double == 2);
        GuardedBuffer out(count * sizeof(T));
        cuda::rounded_passes::launch_passes(prepared, prepared.tables.data(), out.data(), fenced.data(), nullptr);
        const auto* const got = reinterpret_cast<const T*>(out.data());
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(got[i], wanted[i]) << "output " << i << " of " << asked.images << " x " << asked.rows << " x "
                                         << asked.columns << ", weights " << asked.down << " x " << asked.along << ", kind "
                                         << static_cast<int>(asked.kind) << ", image " << static_cast<int>(asked.image) << ", type "
                                         << static_cast<int>(asked.dtype) << ", boundary " << static_cast<int>(asked.boundary)
                                         << ", f32 operations for one of f64 " << single_to_double;
        }
        EXPECT_TRUE(out.guards_intact());
    }
}

void check(const Asked& asked, Random& random) {
    if (asked.dtype == Dtype::u8) { return check<std::uint8_t>(asked, random); }
    if (asked.dtype == Dtype::u16) { return check<std::uint16_t>(asked, random); }
    check<std::int16_t>(asked, random);
}

TEST(RoundedPasses, AreSumsInDoubleTruncatedTwice) {
    Random random(7);
    constexpr Boundary kBoundaries[] = {Boundary::reflect, Boundary::mirror, Boundary::nearest, Boundary::wrap, Boundary::constant};
    for (const Dtype dtype : {Dtype::u8, Dtype::u16, Dtype::i16}) {
        for (const Weights kind : {Weights::gaussian, Weights::mean, Weights::difference}) {
            for (const Image image : {Image::random, Image::flat, Image::blocks, Image::ramp, Image::plane}) {
                const Boundary boundary = kBoundaries[between(0, 4, random)];
                const int down = static_cast<int>(between(1, 33, random)), along = static_cast<int>(between(0, 40, random));
                check({dtype, 1, between(1, 90, random), between(1, 170, random), between(0, 3, random), down, along, kind, image,
                       boundary},
                      random);
            }
        }
    }
}

TEST(RoundedPasses, OfManyWeightsAndImages) {
    Random random(8);
    check({Dtype::u8, 3, 40, 67, 0, 25, 25, Weights::gaussian, Image::random, Boundary::reflect}, random);
    check({Dtype::i16, 3, 33, 35, 1, 9, 9, Weights::gaussian, Image::random, Boundary::constant}, random);
    check({Dtype::u8, 1, 150, 140, 0, 127, 128, Weights::gaussian, Image::random, Boundary::reflect}, random);
    check({Dtype::u16, 1, 20, 30, 0, 121, 99, Weights::mean, Image::random, Boundary::mirror}, random);
    check({Dtype::i16, 2, 5, 3, 0, 65, 64, Weights::gaussian, Image::random, Boundary::wrap}, random);
    check({Dtype::i16, 1, 100, 150, 1, 25, 25, Weights::gaussian, Image::plane, Boundary::reflect}, random);
    check({Dtype::u8, 1, 100, 150, 0, 9, 49, Weights::gaussian, Image::plane, Boundary::reflect}, random);
}

TEST(RoundedPasses, AlongRowsAlone) {
    Random random(9);
    for (const Dtype dtype : {Dtype::u8, Dtype::u16, Dtype::i16}) {
        for (const Image image : {Image::random, Image::flat, Image::plane}) {
            for (const int taps : {3, 30, 73}) {
                check({dtype, 2, 70, 150, between(0, 3, random), 0, taps, Weights::gaussian, image, Boundary::reflect}, random);
            }
            check({dtype, 1, 33, 90, 1, 0, 7, Weights::mean, image, Boundary::constant}, random);
        }
    }
}

// Where there are few units for doubles, and where products of bytes are sooner, sums are whole numbers.
TEST(RoundedPasses, GoInDoubleWhereThatIsSooner) {
    const auto goes_in_double = [&](Dtype dtype, Weights kind, int taps, int single_to_double) {
        const std::vector<double> weights = weights_of(kind, taps);
        const RoundedPass pass{
            .weights = weights.data(), .taps = taps, .origin = taps / 2, .divisor = kind == Weights::mean ? double(taps) : 1.0};
        const RoundedPasses p{
            .dtype = dtype, .rows = 4096, .columns = 4096, .in_row = 4096, .out_row = 4096, .down = pass, .along = pass};
        cuda_abi::Device device = device_of(132, 9);
        device.single_to_double = single_to_double;
        return cuda::rounded_passes::prepare_passes(p, device).in_double != nullptr;
    };
    EXPECT_TRUE(goes_in_double(Dtype::i16, Weights::gaussian, 9, 2));
    EXPECT_TRUE(goes_in_double(Dtype::u8, Weights::gaussian, 9, 2));
    EXPECT_FALSE(goes_in_double(Dtype::u8, Weights::mean, 33, 2));
    EXPECT_FALSE(goes_in_double(Dtype::i16, Weights::mean, 33, 2));
    EXPECT_FALSE(goes_in_double(Dtype::i16, Weights::gaussian, 9, 64));
}

// What is too long for the kernel, or has no such type.
TEST(RoundedPasses, RefuseWhatTheyDoNotTake) {
    const std::vector<double> weights(200, 1.0);
    const auto refuses = [&](Dtype dtype, int taps, int major) {
        const RoundedPasses p{.dtype = dtype,
                              .rows = 10,
                              .columns = 10,
                              .in_row = 10,
                              .out_row = 10,
                              .down = {.weights = weights.data(), .taps = taps},
                              .along = {.weights = weights.data(), .taps = 3}};
        try {
            cuda::rounded_passes::prepare_passes(p, device_of(132, major));
        } catch (const cuda::CudaError& e) { return e.code() == cuda_abi::Code::unsupported; }
        return false;
    };
    EXPECT_FALSE(refuses(Dtype::u8, 128, 9));
    EXPECT_TRUE(refuses(Dtype::u8, 129, 9));
    EXPECT_TRUE(refuses(Dtype::i32, 3, 9));
    EXPECT_TRUE(refuses(Dtype::u8, 3, 7));
}

}  // namespace
}  // namespace tapline::test
