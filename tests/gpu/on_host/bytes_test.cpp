// Rung 36, its kernels run on the host: every output is the rounding of the sum in double, whichever sum in whole numbers decided
// it.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "gpu/on_host/cuda_on_host.hpp"

#include "core/problem/window.hpp"
#include "cuda/families/bytes/bytes.hpp"
#include "gpu/on_host/rung_on_host.hpp"
#include "support/case.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

enum class Image { random, flat, blocks, ramp };
enum class Taps { gaussian, box, any };

struct Asked {
    std::int64_t lines, length, taps, shift;
    bool across;
    Image image;
    Taps kind;
    Boundary boundary;
};

std::vector<double> taps_of(const Asked& asked, Random& random) {
    std::vector<double> taps(static_cast<std::size_t>(asked.taps), 1.0);
    if (asked.kind == Taps::box) { return taps; }
    const double middle = static_cast<double>(asked.taps - 1) / 2;
    double sum = 0;
    for (std::size_t t = 0; t < taps.size(); ++t) {
        const double x = (static_cast<double>(t) - middle) / (static_cast<double>(asked.taps) / 8);
        taps[t] = asked.kind == Taps::gaussian ? std::exp(-x * x / 2) : static_cast<double>(between(-1000, 1000, random)) / 997;
        sum += taps[t];
    }
    if (asked.kind == Taps::gaussian) {
        for (double& tap : taps) { tap /= sum; }
    }
    return taps;
}

std::uint8_t pixel_of(Image image, std::int64_t line, std::int64_t at, Random& random) {
    if (image == Image::random) { return static_cast<std::uint8_t>(between(0, 255, random)); }
    if (image == Image::flat) { return 77; }
    // Under a symmetric filter each sum is an integer, but at the edges.
    if (image == Image::ramp) { return static_cast<std::uint8_t>((line / 3 + at) % 256); }
    return (line / 20 + at / 50) % 2 == 0 ? 0 : 255;
}

// Outputs that are not the rounded sum, and sums that are too near to a half to tell are passed over.
std::int64_t wrong_outputs(const Asked& asked, Random& random) {
    constexpr double kNudge = 1 + 1e-14;
    const std::vector<double> taps = taps_of(asked, random);
    Problem p{.mode = Mode::same, .boundary = asked.boundary, .dtype = Dtype::u8, .output_dtype = Dtype::u8};
    p.operation = Operation::correlation;
    p.real_taps = Dtype::f64;
    p.length = asked.length;
    p.taps = asked.taps;
    p.batch = asked.lines;
    p.scale = asked.kind == Taps::box ? kNudge / static_cast<double>(asked.taps) : kNudge;
    p.bias = -0.5;
    if (asked.boundary == Boundary::constant) { p.constant = 9; }
    const std::int64_t step = asked.across ? asked.lines : 1;
    const std::int64_t by_line = asked.across ? 1 : asked.length;
    p.input_sample_stride = p.output_sample_stride = step;
    p.input_row_stride = p.output_row_stride = by_line;
    const core::Resolved r = core::resolve(p);
    const auto all = static_cast<std::size_t>(asked.lines * asked.length);
    std::vector<std::uint8_t> in(all + 64);
    GuardedBuffer out(all + 64);
    auto* const first_in = in.data() + (-reinterpret_cast<std::uintptr_t>(in.data()) % 16) + asked.shift;
    auto* const first_out = static_cast<std::uint8_t*>(static_cast<void*>(out.data())) + asked.shift;
    for (std::int64_t line = 0; line < asked.lines; ++line) {
        for (std::int64_t i = 0; i < asked.length; ++i) {
            first_in[line * by_line + i * step] = pixel_of(asked.image, line, i, random);
        }
    }
    PreparedOnHost prepared(cuda::direct_bytes(), r, taps.data());
    EXPECT_EQ(prepared.make(), "");
    prepared.launch(job_of(r, first_out, first_in, 0, r.x.outputs));
    EXPECT_TRUE(out.guards_intact());
    std::int64_t wrong = 0;
    for (std::int64_t line = 0; line < asked.lines; ++line) {
        for (std::int64_t o = 0; o < asked.length; ++o) {
            long double sum = 0;
            for (std::int64_t t = 0; t < asked.taps; ++t) {
                const std::int64_t at = core::boundary_index(asked.boundary, o + t - r.x.origin, asked.length);
                const int sample = at >= 0 ? first_in[line * by_line + at * step] : asked.boundary == Boundary::constant ? 9 : 0;
                sum += static_cast<long double>(taps[static_cast<std::size_t>(t)]) * sample;
            }
            const long double exact = sum * p.scale + p.bias;
            const auto rounded = [](long double x) { return std::clamp(std::nearbyint(x), 0.0L, 255.0L); };
            const int output = first_out[line * by_line + o * step];
            const long double off = 1e-15L * 256 * static_cast<long double>(asked.kind == Taps::any ? 400 : 1);
            if (output != rounded(exact) && output != rounded(exact - off) && output != rounded(exact + off)) { ++wrong; }
        }
    }
    return wrong;
}

TEST(Bytes, OutputsAreTheRoundedSums) {
    Random random(1);
    on_host::set_seed(1);
    const Boundary boundaries[] = {Boundary::zero,    Boundary::constant, Boundary::nearest,
                                   Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    int i = 0;
    for (const bool across : {false, true}) {
        for (const std::int64_t taps : {2, 3, 24, 25, 26, 57, 81}) {
            for (const Taps kind : {Taps::gaussian, Taps::box, Taps::any}) {
                const Image image = i % 4 == 1 ? Image::flat : i % 4 == 3 ? Image::blocks : Image::random;
                const Asked asked{.lines = i % 3 == 0 ? 80 : 67,
                                  .length = i % 5 == 0   ? 37
                                            : i % 5 == 1 ? 272
                                                         : 201,
                                  .taps = taps,
                                  .shift = i % 7 == 6 ? 3 : 0,
                                  .across = across,
                                  .image = image,
                                  .kind = kind,
                                  .boundary = boundaries[i % 6]};
                EXPECT_EQ(wrong_outputs(asked, random), 0) << "case " << i << ", " << taps << " taps, across: " << across;
                ++i;
            }
        }
    }
}

TEST(Bytes, SumsThatAreIntegers) {
    Random random(2);
    on_host::set_seed(2);
    for (const bool across : {false, true}) {
        for (const std::int64_t taps : {9, 25, 49, 81}) {
            const Asked asked{.lines = 67,
                              .length = 272,
                              .taps = taps,
                              .shift = 0,
                              .across = across,
                              .image = Image::ramp,
                              .kind = Taps::gaussian,
                              .boundary = Boundary::reflect};
            EXPECT_EQ(wrong_outputs(asked, random), 0) << taps << " taps, across: " << across;
        }
    }
}

// Samples along lines begin on 16 bytes, windows with a sample on 4: 25 taps need no room before them.
TEST(Bytes, StepsAreThoseOfTheWindow) {
    const auto steps = [](std::int64_t taps, std::int64_t origin) {
        const std::vector<double> values(static_cast<std::size_t>(taps), 0.01);
        Problem p{.mode = Mode::same, .dtype = Dtype::u8, .output_dtype = Dtype::u8};
        p.operation = Operation::correlation;
        p.real_taps = Dtype::f64;
        p.length = 4096;
        p.taps = taps;
        p.origin = origin;
        p.batch = 64;
        PreparedOnHost prepared(cuda::direct_bytes(), core::resolve(p), values.data());
        EXPECT_EQ(prepared.make(), "");
        return cuda::direct_bytes().describe(prepared.get()).substr(0, 7);
    };
    EXPECT_EQ(steps(25, 12), "1 steps");
    EXPECT_EQ(steps(25, 11), "2 steps");
    EXPECT_EQ(steps(22, 11), "1 steps");
    EXPECT_EQ(steps(57, 28), "2 steps");
}

}  // namespace
}  // namespace tapline::test
