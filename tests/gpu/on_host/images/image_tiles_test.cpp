// Rung 10, its kernel run on the host, against the textbook: images in any order in memory, flipped, strided, of every type of
// pixels and outputs, boundaries by axis; stacks of small ones. TAPLINE_PROPERTY_CASES and TAPLINE_PROPERTY_SEED as elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "gpu/on_host/cuda_on_host.hpp"

#include "cuda/families/direct/image_direct.hpp"
#include "cuda/families/image_fft/image_fft.hpp"
#include "cuda/families/image_tiles/image_tiles.hpp"
#include "gpu/on_host/drawn_on_host.hpp"
#include "gpu/on_host/images/image_rungs.hpp"
#include "support/case.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr int kShards = 4;
constexpr std::int64_t kDefaultCases = 800;

// Whether the rung took it.
bool run_case(std::uint64_t seed) {
    return run_drawn_image(seed, 50, 200, [&](const Problem& p, const core::Resolved& r, Random& random) {
        // Whoever else takes pixels that do not lie side by side.
        if (chance(0.3, random)) { run_drawn(cuda::image_fft(), p, r, seed, random); }
        if (chance(0.3, random)) { run_drawn(cuda::image_direct(), p, r, seed, random); }
        return run_drawn(cuda::image_tiles(), p, r, seed, random);
    });
}

// Tiles inside and at edges of images that lie in every way: transposed, flipped, strided, in both directions.
TEST(ImageTiles, EveryLayoutOfLargeImages) {
    Random random(7);
    for (const auto [y, x, to_y, to_x] : {std::tuple{1, 301, 330, 1},
                                          {-301, -1, 330, 1},
                                          {660, 2, 330, 1},
                                          {1, -301, -1, 301},
                                          {2, 700, 660, 2},
                                          {301, 1, 1, 330}}) {
        for (const Dtype dtype : {Dtype::f32, Dtype::u8, Dtype::f16, Dtype::f64, Dtype::complex64}) {
            for (const auto [height, width] : {std::pair{3, 3}, {9, 30}}) {
                Problem p{.mode = Mode::same, .boundary = Boundary::reflect, .dtype = dtype, .complex_taps = is_complex(dtype)};
                p.real_taps = is_integer(dtype) ? std::optional(Dtype::f32) : std::nullopt;
                if (is_integer(dtype)) { p.output_dtype = Dtype::f32; }
                p.axes = {FilteredAxis{.length = 290, .taps = height, .input_stride = y, .output_stride = to_y},
                          FilteredAxis{.length = 300, .taps = width, .input_stride = x, .output_stride = to_x}};
                for (const cuda::Rung* rung : {&cuda::image_direct(), &cuda::image_fft()}) {
                    const bool direct = rung == &cuda::image_direct();
                    if (direct == (width > 9) || (!direct && is_complex(dtype))) { continue; }
                    Case c = draw_case(p, random);
                    const core::Resolved r = core::resolve(p);
                    PreparedOnHost prepared(*rung, r, c.taps.data());
                    ASSERT_EQ(prepared.make(), "") << describe(p);
                    prepared.launch(job_of(r, c.first_out(), c.first_in(), 0, r.y.outputs));
                    ASSERT_EQ(compare(p, c.first_out(), c.first_in(), c.taps.data(), direct), "") << describe(p);
                }
            }
        }
    }
}

class DrawnImageTiles : public ::testing::TestWithParam<int> {};

TEST_P(DrawnImageTiles, AgreeWithTheTextbook) { run_shard(GetParam(), kShards, kDefaultCases, 4, run_case); }

// Whole images, several a block, more than blocks take at once; what does not fill the last block's band, too.
bool run_bands(std::uint64_t seed) {
    Random random(seed);
    constexpr std::array kBoundaries{Boundary::zero,    Boundary::constant, Boundary::nearest,
                                     Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    constexpr std::array kModes{Mode::same, Mode::full, Mode::valid};
    const auto side = [&] { return chance(0.5, random) ? 4 * between(2, 9, random) : between(7, 40, random); };
    const bool square = chance(0.5, random);
    ImageProblem image{.height = side(), .width = side(), .mode = pick(kModes, random), .boundary = pick(kBoundaries, random)};
    image.channels = chance(0.2, random) ? between(2, 4, random) : 1;
    image.batch = between(60, 130, random);
    image.mask_height = square ? std::min({2 * between(1, 4, random) + 1, image.height, image.width}) : between(1, 7, random);
    image.mask_width = square ? image.mask_height : between(1, std::min<std::int64_t>(14, image.width), random);
    image.constant = image.boundary == Boundary::constant ? 0.7 : 0;
    image.dtype = chance(0.5, random) ? Dtype::f32 : pick(std::array{Dtype::u8, Dtype::u16, Dtype::f16, Dtype::bf16}, random);
    if (image.dtype != Dtype::f32) { image.constant = image.boundary == Boundary::constant ? 3 : 0; }
    if (chance(0.2, random)) { image.output_dtype = pick(std::array{Dtype::u8, Dtype::f64, Dtype::f16}, random); }
    if (chance(0.3, random)) { image.scale = 1.5; }
    if (chance(0.3, random)) { image.input_row_stride = image.width * image.channels + between(0, 5, random); }
    const Problem p = image;
    const core::Resolved r = core::resolve(p);
    if (r.y.outputs <= 0 || r.x.outputs <= 0 || r.has_outer()) { return false; }
    Case c = draw_case(p, random);
    if (p.dtype == Dtype::f32 && chance(0.3, random)) { spoil(c.in.data(), p.dtype, input_extent(p), random); }
    PreparedOnHost prepared(cuda::image_tiles(), r, c.taps.data(), 1);
    on_host::set_seed(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(p));
    EXPECT_EQ(prepared.make(), "");
    if (cuda::image_tiles().describe(prepared.get()).find("whole planes") == std::string::npos) { return false; }
    prepared.launch(job_of(r, c.first_out(), c.first_in(), 0, r.y.outputs));
    EXPECT_TRUE(c.out.guards_intact() && c.gaps_untouched()) << "wrote outside the output";
    EXPECT_EQ(compare(p, c.first_out(), c.first_in(), c.taps.data(), true), "");
    // Pieces, which come in tiles, have the same bits.
    const auto bytes = static_cast<std::size_t>(output_extent(p)) * size_of(r.output_dtype);
    const auto* const out = static_cast<const std::byte*>(c.first_out());
    const std::vector<std::byte> whole(out, out + bytes);
    const std::int64_t split = between(1, std::max<std::int64_t>(r.y.outputs - 1, 1), random);
    for (const auto [first, count] : {std::pair{std::int64_t{0}, split}, std::pair{split, r.y.outputs - split}}) {
        if (count != 0) { prepared.launch(job_of(r, c.first_out(), c.first_in(), first, count)); }
    }
    EXPECT_EQ(std::memcmp(whole.data(), out, bytes), 0) << "pieces have other bits";
    return true;
}

class BandsOfImages : public ::testing::TestWithParam<int> {};

TEST_P(BandsOfImages, AgreeWithTheTextbook) { run_shard(GetParam(), kShards, 120, 6, run_bands); }

// Windows inside a wide image, of every alignment: elements that come with their neighbours. Transforms take the same pixels.
TEST(ImageTiles, PixelsOfEveryTypeInWideImages) {
    Random random(3);
    for (const Dtype dtype : {Dtype::f32, Dtype::u8, Dtype::i8, Dtype::u16, Dtype::i16, Dtype::f16, Dtype::bf16, Dtype::boolean}) {
        for (const auto [height, width, row] : {std::tuple{3, 3, 800}, {5, 9, 803}, {2, 14, 802}, {1, 1, 801}}) {
            Problem p{.mode = Mode::same, .boundary = Boundary::mirror, .dtype = dtype, .output_dtype = Dtype::f32};
            if (is_integer(dtype)) { p.real_taps = Dtype::f32; }
            p.axes = {FilteredAxis{.length = 150, .taps = height, .input_stride = row}, FilteredAxis{.length = 800, .taps = width}};
            for (const cuda::Rung* rung : {&cuda::image_tiles(), &cuda::image_fft()}) {
                const bool direct = rung == &cuda::image_tiles();
                if (!direct && width != 9) { continue; }
                Case c = draw_case(p, random);
                const core::Resolved r = core::resolve(p);
                PreparedOnHost prepared(*rung, r, c.taps.data());
                ASSERT_EQ(prepared.make(), "");
                prepared.launch(job_of(r, c.first_out(), c.first_in(), 0, r.y.outputs));
                EXPECT_EQ(compare(p, c.first_out(), c.first_in(), c.taps.data(), direct), "") << describe(p);
            }
        }
    }
}

// Pixels under taps of f64, which the drop-ins filter images of integers by: in every layout.
TEST(ImageTiles, SumsInDouble) {
    Random random(12);
    for (const Dtype dtype : {Dtype::u8, Dtype::i16, Dtype::i32, Dtype::f64}) {
        for (const auto [height, width, step] : {std::tuple{6, 6, 1}, {3, 17, 1}, {4, 4, 2}}) {
            Problem p{.mode = Mode::same, .boundary = Boundary::reflect, .dtype = dtype, .output_dtype = dtype};
            if (is_integer(dtype)) { p.real_taps = Dtype::f64; }
            p.axes = {FilteredAxis{.length = 90, .taps = height, .input_stride = 230, .output_stride = 101},
                      FilteredAxis{.length = 101, .taps = width, .input_stride = step}};
            Case c = draw_case(p, random);
            const core::Resolved r = core::resolve(p);
            PreparedOnHost prepared(cuda::image_tiles(), r, c.taps.data());
            ASSERT_EQ(prepared.make(), "") << describe(p);
            prepared.launch(job_of(r, c.first_out(), c.first_in(), 0, r.y.outputs));
            EXPECT_EQ(compare(p, c.first_out(), c.first_in(), c.taps.data(), true), "") << describe(p);
        }
    }
}

// The cost models take the rung that an H200 found to be the fastest, or one that took at most a tenth longer there.
TEST(ImageTiles, FastestRungsAreChosen) {
    struct Measured {
        Dtype dtype;
        std::int64_t batch, height, width, channels, side;
        std::string fastest;
        std::int64_t mask_width = 0;  // if not `side`
        Boundary boundary = Boundary::zero;
    };
    const std::vector<Measured> all = {
        {Dtype::u8, 1, 4096, 4096, 1, 3, "image_direct"},  {Dtype::u8, 1, 4096, 4096, 1, 15, "image_fft"},
        {Dtype::u16, 1, 4096, 4096, 1, 15, "image_fft"},   {Dtype::f16, 1, 4096, 4096, 1, 15, "image_fft"},
        {Dtype::u8, 1, 2160, 3840, 3, 3, "image_direct"},  {Dtype::u8, 1, 2160, 3840, 3, 15, "image_fft"},
        {Dtype::u16, 1, 4096, 4096, 1, 5, "image_direct"}, {Dtype::f32, 60000, 28, 28, 1, 5, "image_tiles"},
        {Dtype::u8, 60000, 28, 28, 1, 3, "image_tiles"},   {Dtype::f32, 4000, 64, 64, 1, 3, "image_tiles"},
        {Dtype::f32, 4000, 64, 64, 1, 9, "image_tiles"},   {Dtype::f32, 4000, 64, 64, 1, 15, "image_fft"},
        {Dtype::f32, 4000, 64, 64, 1, 21, "image_fft"},    {Dtype::f32, 1, 100000, 64, 1, 5, "image_tiles"},
        {Dtype::f32, 1, 4096, 4096, 1, 3, "image_direct"}, {Dtype::f32, 1, 4096, 4096, 1, 5, "image_direct"},
        {Dtype::f32, 1, 4096, 4096, 1, 7, "image_direct"}, {Dtype::f32, 1, 4096, 4096, 1, 9, "image_fft"},
        {Dtype::f32, 1, 2160, 3840, 3, 3, "image_direct"}, {Dtype::f32, 1, 1024, 1024, 32, 5, "image_direct"},
        {Dtype::f32, 1, 1024, 1024, 32, 31, "image_fft"},  {Dtype::u8, 1, 24, 138402, 1, 5, "image_tiles", 26, Boundary::mirror},
    };
    cuda_abi::Device device = device_of(132, 9);
    device.copy_bytes_per_second = 4.32e12;
    device.peak_flops = 66.9e12;
    for (const Measured& m : all) {
        const ImageProblem p{.height = m.height,
                             .width = m.width,
                             .channels = m.channels,
                             .batch = m.batch,
                             .mask_height = m.side,
                             .mask_width = m.mask_width == 0 ? m.side : m.mask_width,
                             .boundary = m.boundary,
                             .dtype = m.dtype};
        cuda::Problem asked;
        static_cast<core::Resolved&>(asked) = core::resolve(p);
        std::string told;
        std::string chosen;
        double least = INFINITY;
        for (const cuda::Rung* rung : on_host::image_rungs()) {
            if (rung->info().takes_pieces == 0 || !rung->supports(asked, device).empty()) { continue; }
            const double seconds = rung->estimate_seconds(asked, device);
            told += std::string(rung->info().name) + " " + std::to_string(seconds * 1e6) + " us; ";
            if (seconds < least) {
                least = seconds;
                chosen = rung->info().name;
            }
        }
        EXPECT_EQ(chosen, m.fastest) << describe(p) << ": " << told;
    }
}

INSTANTIATE_TEST_SUITE_P(OnHost, DrawnImageTiles, ::testing::Range(0, kShards));
INSTANTIATE_TEST_SUITE_P(OnHost, BandsOfImages, ::testing::Range(0, kShards));

}  // namespace
}  // namespace tapline::test
