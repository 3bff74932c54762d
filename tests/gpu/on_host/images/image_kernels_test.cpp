// The rungs for images, their kernels run on the host, against the textbook over problems drawn at random: boundaries,
// origins, channels, strides, batches, types, NaN, bands of rows. Inputs stand against memory that cannot be read, outputs between
// guard zones. TAPLINE_PROPERTY_CASES and TAPLINE_PROPERTY_SEED as elsewhere.
#include <gtest/gtest.h>

#include "gpu/on_host/cuda_on_host.hpp"

#include "cuda/families/direct/image_direct.hpp"
#include "cuda/families/separable/separable_launch.hpp"
#include "gpu/on_host/images/image_rungs.hpp"
#include "gpu/on_host/rung_on_host.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "support/drawn_cases.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr int kShards = 8;
constexpr std::int64_t kDefaultCases = 48;  // a thread a fiber takes its time

ImageProblem draw_problem(Random& random) {
    ImageProblem p = draw_image_problem(chance(0.2, random) ? 300 : 150, chance(0.25, random) ? 70 : 20, 2000000, random);
    if (chance(0.5, random) && p.dtype != Dtype::f32) {  // most rungs are for f32
        p.dtype = Dtype::f32;
        p.complex_taps = false;
        p.output_dtype = std::nullopt;
        p.constant = p.constant.real();
    }
    if (p.dtype == Dtype::f32 && chance(0.2, random)) {
        p.dtype = pick(std::vector<Dtype>{Dtype::f16, Dtype::bf16}, random);
        if (chance(0.5, random)) { p.output_dtype = Dtype::f32; }
        if (p.boundary == Boundary::constant) { p.constant = 3; }
    }
    if (chance(0.3, random)) { p.masks = Masks::shared; }
    if (chance(0.2, random)) {  // what the teaching rungs take
        p.dtype = Dtype::f32;
        p.complex_taps = false;
        p.output_dtype = std::nullopt;
        p.masks = Masks::shared;
        p.batch = 1;
        p.boundary = Boundary::zero;
        p.constant = 0;
        p.scale = 1;
        p.bias = 0;
        p.mode = Mode::same;
        p.input_row_stride = p.input_image_stride = p.output_row_stride = p.output_image_stride = 0;
    }
    if (chance(0.2, random)) {
        p.mask_height = p.mask_width = pick(std::vector<std::int64_t>{3, 5, 7}, random);
        p.origin_y = p.origin_x = std::nullopt;
        p.mode = Mode::same;
        p.output_row_stride = p.output_image_stride = 0;
    }
    return p;
}

void run_case(std::uint64_t seed) {
    Random random(seed);
    const ImageProblem p = draw_problem(random);
    const core::Resolved r = core::resolve(p);
    if (r.has_outer() || !r.has_packed_pixels()) { return; }  // refused before any rung is asked
    GuardedBuffer in(bytes_of(input_extent(p), p.dtype)), taps(bytes_of(taps_extent(p), taps_dtype(p)));
    fill_random(in.data(), p.dtype, input_extent(p), random);
    fill_random(taps.data(), taps_dtype(p), taps_extent(p), random);
    if (!p.complex_taps && chance(0.5, random)) { make_separable(taps.data(), p, static_cast<int>(between(1, 4, random)), random); }
    if (chance(0.15, random)) { spoil(in.data(), p.dtype, input_extent(p), random); }
    if (chance(0.05, random)) { spoil(taps.data(), taps_dtype(p), taps_extent(p), random); }
    const FencedBuffer fenced(in.data(), in.size(), chance(0.5, random));
    on_host::set_seed(seed);
    for (const cuda::Rung* rung : on_host::image_rungs()) {
        const std::string name = rung->info().name;
        const auto told = [&] { return "TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + name + ": " + describe(p); };
        PreparedOnHost prepared(*rung, r, taps.data());
        if (!prepared.make().empty()) { continue; }
        GuardedBuffer out(bytes_of(output_extent(p), output_dtype(p)),
                          static_cast<std::size_t>(between(0, 5, random)) * size_of(real_part_of(output_dtype(p))));
        const bool takes_pieces = rung->info().takes_pieces != 0;
        const std::int64_t split = takes_pieces && chance(0.4, random) ? between(0, r.y.outputs, random) : r.y.outputs;
        for (const auto [first, rows] : {std::pair{std::int64_t{0}, split}, std::pair{split, r.y.outputs - split}}) {
            if (rows == 0) { continue; }
            ASSERT_NO_THROW(prepared.launch(job_of(r, out.data(), fenced.data(), first, rows))) << told();
        }
        ASSERT_TRUE(out.guards_intact()) << "wrote outside the output: " << told();
        const bool direct = name != "image_separable" && name != "image_tensor" && name != "image_fft";
        ASSERT_EQ(compare(p, out.data(), in.data(), taps.data(), direct), "") << told();
    }
}

class ImageKernels : public ::testing::TestWithParam<int> {};

TEST_P(ImageKernels, AgreeWithTheTextbook) { for_each_seed(seeds_of_shard(kDefaultCases, kShards, GetParam()), run_case); }

// Bytes under small masks: one channel and several, rows of every alignment, narrower than a strip too, every boundary, an
// epilogue, bands of rows.
TEST(ImageKernels, BytesUnderSmallMasks) {
    const Boundary boundaries[] = {Boundary::zero,    Boundary::constant, Boundary::nearest,
                                   Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    Random random(11);
    int turn = 0;
    for (const auto [height, width] : {std::pair{3, 3}, {1, 3}, {2, 2}, {5, 5}, {4, 3}, {5, 1}}) {
        for (const auto [columns, channels] : {std::pair{160, 1}, {67, 1}, {5, 1}, {48, 3}, {21, 3}, {33, 4}, {1, 4}}) {
            ImageProblem p{.height = 37,
                           .width = columns,
                           .channels = channels,
                           .batch = 2,
                           .mask_height = height,
                           .mask_width = width,
                           .dtype = Dtype::u8};
            p.boundary = boundaries[turn++ % 6];
            p.mode = turn % 4 == 0 ? Mode::full : Mode::same;
            p.constant = 77;
            if (turn % 3 == 0) {
                p.scale = 0.5;
                p.bias = 20;
            }
            GuardedBuffer in(bytes_of(input_extent(p), p.dtype)), taps(bytes_of(taps_extent(p), Dtype::f32)),
                out(bytes_of(output_extent(p), p.dtype), static_cast<std::size_t>(turn % 5));
            fill_random(in.data(), p.dtype, input_extent(p), random);
            fill_random(taps.data(), Dtype::f32, taps_extent(p), random);
            const FencedBuffer fenced(in.data(), in.size(), turn % 2 == 0);
            const core::Resolved r = core::resolve(p);
            PreparedOnHost prepared(cuda::image_direct(), r, taps.data());
            ASSERT_EQ(prepared.make(), "");
            const std::int64_t split = turn % 3 == 1 ? 11 : r.y.outputs;
            prepared.launch(job_of(r, out.data(), fenced.data(), 0, split));
            if (split < r.y.outputs) { prepared.launch(job_of(r, out.data(), fenced.data(), split, r.y.outputs - split)); }
            ASSERT_TRUE(out.guards_intact()) << describe(p);
            ASSERT_EQ(compare(p, out.data(), in.data(), taps.data(), true), "") << describe(p);
        }
    }
}

// Pixels of 1 and 2 bytes, whose rows are words of memory, all, some or none of them, at edges of every kind.
TEST(ImageKernels, NarrowPixelsAtEdges) {
    const Boundary boundaries[] = {Boundary::zero,    Boundary::constant, Boundary::nearest,
                                   Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    Random random(12);
    int turn = 0;
    for (const Dtype dtype : {Dtype::u8, Dtype::u16, Dtype::f16}) {
        for (const auto [columns, channels] : {std::pair{160, 1}, {163, 1}, {162, 1}, {5, 32}, {30, 3}, {70, 2}, {9, 1}}) {
            ImageProblem p{.height = 21,
                           .width = columns,
                           .channels = channels,
                           .batch = 2,
                           .mask_height = 4,
                           .mask_width = 19,
                           .dtype = dtype};
            p.boundary = boundaries[turn++ % 6];
            p.mode = turn % 4 == 0 ? Mode::full : Mode::same;
            p.constant = 77;
            GuardedBuffer in(bytes_of(input_extent(p), p.dtype)), taps(bytes_of(taps_extent(p), Dtype::f32)),
                out(bytes_of(output_extent(p), p.dtype));
            fill_random(in.data(), p.dtype, input_extent(p), random);
            fill_random(taps.data(), Dtype::f32, taps_extent(p), random);
            const FencedBuffer fenced(in.data(), in.size(), turn % 2 == 0);
            const core::Resolved r = core::resolve(p);
            PreparedOnHost prepared(cuda::image_direct(), r, taps.data());
            ASSERT_EQ(prepared.make(), "");
            prepared.launch(job_of(r, out.data(), fenced.data(), 0, r.y.outputs));
            ASSERT_TRUE(out.guards_intact()) << describe(p);
            ASSERT_EQ(compare(p, out.data(), in.data(), taps.data(), true), "") << describe(p);
        }
    }
}

// A rung on a whole image of random f32 pixels with a mask of the rank (0: of equal taps, kSmallIntegers: of rank one too), by a
// kernel that is described with the words `how`; empty, or what is wrong.
constexpr int kSmallIntegers = -1;
std::string run_whole(const cuda::Rung& rung, const ImageProblem& p, int rank, bool spoiled = false, int multiprocessors = 0,
                      int major = 9, const std::string& how = {}) {
    Random random(9);
    std::vector<float> in(static_cast<std::size_t>(input_extent(p))), taps(static_cast<std::size_t>(taps_extent(p)));
    std::vector<float> out(static_cast<std::size_t>(output_extent(p)), NAN);
    fill_random(in.data(), Dtype::f32, static_cast<std::int64_t>(in.size()), random);
    fill_random(taps.data(), Dtype::f32, static_cast<std::int64_t>(taps.size()), random);
    if (rank > 0) {
        make_separable(taps.data(), p, rank, random);
    } else if (rank == kSmallIntegers) {
        const auto width = static_cast<std::size_t>(p.mask_width);
        for (std::size_t i = 0; i < taps.size(); ++i) { taps[i] = static_cast<float>((1 + i / width % 2) * (1 + i % width % 3)); }
    } else {
        std::fill(taps.begin(), taps.end(), 1 / static_cast<float>(taps.size()));
    }
    if (spoiled) {
        in[in.size() / 2] = NAN;
        in[in.size() / 7] = INFINITY;
    }
    const core::Resolved r = core::resolve(p);
    PreparedOnHost prepared(rung, r, taps.data(), multiprocessors, major);
    const std::string refusal = prepared.make();
    if (!refusal.empty()) { return refusal; }
    const std::string described = rung.describe(prepared.get());
    if (described.find(how) == std::string::npos) { return described; }
    prepared.launch(job_of(r, out.data(), in.data(), 0, r.y.outputs));
    const bool direct = rung.info().takes_pieces == 0 || std::string(rung.info().name) == "image_direct";
    return compare(p, out.data(), in.data(), taps.data(), direct);
}

// None of them refuses what they are all for; E5 to E7 clamp as their write-up does.
TEST(ImageKernels, EveryRungTakesAPlainImage) {
    ImageProblem p{.height = 150, .width = 170, .channels = 3, .mask_height = 15, .mask_width = 15};
    p.clamp = Clamp{0, 1};
    ASSERT_EQ(on_host::image_rungs().size(), 8U);
    for (const cuda::Rung* rung : on_host::image_rungs()) { EXPECT_EQ(run_whole(*rung, p, 1), "") << rung->info().name; }
}

// Many channels make wide tiles: the sums that a thread holds over the ranks must reach to their last row.
TEST(ImageKernels, SumsOverTheRanksReachTheLastRowOfWideTiles) {
    for (const std::int64_t channels : {17, 32}) {
        const ImageProblem p{.height = 70, .width = 11, .channels = channels, .mask_height = 3, .mask_width = 3};
        EXPECT_EQ(run_whole(cuda::image_separable(), p, 2), "") << channels;
    }
}

// Strips that end in the middle, segments of one step and (on a small device) of several, masks whose taps are no multiple of four,
// every boundary; NaN and infinity.
TEST(ImageKernels, MarchesDownStrips) {
    const Boundary boundaries[] = {Boundary::zero,    Boundary::constant, Boundary::nearest,
                                   Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    for (const auto [channels, height, width] :
         {std::tuple{1, 2, 2}, {1, 5, 31}, {1, 32, 18}, {2, 3, 32}, {3, 15, 7}, {4, 30, 2}}) {
        ImageProblem p{
            .height = 131, .width = 300 / channels + 1, .channels = channels, .mask_height = height, .mask_width = width};
        p.boundary = boundaries[(height + width) % 6];
        if (p.boundary == Boundary::constant) { p.constant = 3; }
        for (const int multiprocessors : {132, 1}) {
            for (const bool spoiled : {false, true}) {
                EXPECT_EQ(run_whole(cuda::image_separable(), p, 1, spoiled, multiprocessors, 8), "")
                    << channels << " " << height << " " << width;
            }
        }
    }
}

// The same on tensor cores, for each number of steps, one channel and three, and every boundary: images whose rows lie in vectors
// and others, narrower than a window too, and windows that cannot begin in vectors.
TEST(ImageKernels, MarchesDownStripsOnTensorCores) {
    const Boundary boundaries[] = {Boundary::zero,    Boundary::constant, Boundary::nearest,
                                   Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    int turn = 0;
    for (const auto [height, width] : {std::pair{15, 15}, {17, 14}, {16, 17}, {25, 20}, {22, 25}, {31, 31}, {32, 32}, {20, 32}}) {
        for (const auto [columns, channels] : {std::pair{200, 1}, {137, 1}, {7, 1}, {80, 3}, {75, 3}}) {
            ImageProblem p{.height = 61, .width = columns, .channels = channels, .mask_height = height, .mask_width = width};
            p.boundary = boundaries[turn++ % 6];
            if (p.boundary == Boundary::constant) { p.constant = 3; }
            if (turn % 5 == 0) { p.clamp = Clamp{-1, 1}; }
            EXPECT_EQ(run_whole(cuda::image_separable(), p, 1, turn % 4 == 0, turn % 7 < 3 ? 132 : 1), "")
                << height << " " << width << " " << columns << " " << channels << " " << static_cast<int>(p.boundary);
        }
    }
}

// Masks of more rows and columns on tensor cores: each number of steps, taps that are single halves and others.
TEST(ImageKernels, MarchesDownStripsWithManyTaps) {
    const Boundary boundaries[] = {Boundary::zero,    Boundary::constant, Boundary::nearest,
                                   Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    int turn = 0;
    for (const auto [height, width, rank, columns] : {std::tuple{49, 34, 1, 200},
                                                      {40, 45, kSmallIntegers, 72},
                                                      {65, 40, 1, 72},
                                                      {3, 61, kSmallIntegers, 8},
                                                      {81, 81, 1, 200},
                                                      {70, 80, kSmallIntegers, 8},
                                                      {97, 1, 1, 136},
                                                      {60, 90, 1, 72},
                                                      {97, 33, kSmallIntegers, 72},
                                                      {101, 101, kSmallIntegers, 136},
                                                      {113, 20, 1, 72}}) {
        ImageProblem p{.height = 53, .width = columns, .mask_height = height, .mask_width = width};
        p.boundary = boundaries[turn++ % 6];
        if (p.boundary == Boundary::constant) { p.constant = 3; }
        if (turn % 5 == 0) { p.clamp = Clamp{-1, 1}; }
        if (turn % 7 == 0) { p.mode = Mode::full; }
        EXPECT_EQ(run_whole(cuda::image_separable(), p, rank, turn % 4 == 0, 132, 9, "as halves"), "")
            << height << " " << width << " " << columns << " " << static_cast<int>(p.boundary);
    }
}

// Large images, whose kernel nobody waits for here.
TEST(ImageKernels, MeansOfLargeImagesAreAddedUpByRuns) {
    const ImageProblem p{.height = 4096, .width = 4096, .mask_height = 101, .mask_width = 101};
    const std::vector<float> taps(101 * 101, 1 / 10201.0F);
    PreparedOnHost prepared(cuda::image_separable(), core::resolve(p), taps.data(), 132);
    ASSERT_EQ(prepared.make(), "");
    EXPECT_EQ(cuda::image_separable().describe(prepared.get()), "a mean, down strips of 256 pixels, 16 rows a step");
}

// Means: windows of whole runs and others, down columns and along rows, narrow images and some strips, one segment and several, NaN
// and infinity; jobs of some rows have the bits of the whole image.
TEST(ImageKernels, MarchesDownStripsOfMeans) {
    const Boundary boundaries[] = {Boundary::zero,    Boundary::constant, Boundary::nearest,
                                   Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    int turn = 0;
    for (const auto [height, width, columns] :
         {std::tuple{40, 33, 200}, {101, 101, 136}, {16, 101, 300}, {150, 16, 9}, {65, 128, 72}, {33, 250, 280}}) {
        for (const int multiprocessors : {132, 4}) {
            ImageProblem p{.height = 213, .width = columns, .mask_height = height, .mask_width = width};
            p.boundary = boundaries[turn++ % 6];
            if (p.boundary == Boundary::constant) { p.constant = 3; }
            if (turn % 5 == 0) { p.clamp = Clamp{-0.01, 0.01}; }
            if (turn % 7 == 0) { p.mode = Mode::full; }
            EXPECT_EQ(run_whole(cuda::image_separable(), p, 0, turn % 3 == 0, multiprocessors, 8, "a mean"), "")
                << height << " " << width << " " << columns << " " << static_cast<int>(p.boundary);
        }
    }
}

// Halves need scales: rows of other sizes, dark rows and columns, sizes near the ends of a float's range. Jobs of 16 rows, which do
// not see the rows before that a scale may depend on, give the whole image's bits where one scale fits all rows (pattern 0).
TEST(ImageKernels, ScalesOnTensorCores) {
    for (const auto [height, width, channels] : {std::tuple{31, 31, 1}, {9, 30, 3}, {70, 50, 1}}) {
        const ImageProblem p{.height = 84, .width = 40, .channels = channels, .mask_height = height, .mask_width = width};
        const core::Resolved r = core::resolve(p);
        const auto row = static_cast<std::size_t>(r.y.in_stride);
        for (int pattern = 0; pattern < 6; ++pattern) {
            Random random(static_cast<std::uint64_t>(pattern));
            std::vector<float> in(row * 84), taps(static_cast<std::size_t>(height * width)), whole(in.size(), NAN),
                parts(in.size(), NAN);
            fill_random(in.data(), Dtype::f32, static_cast<std::int64_t>(in.size()), random);
            fill_random(taps.data(), Dtype::f32, static_cast<std::int64_t>(taps.size()), random);
            make_separable(taps.data(), p, 1, random);
            for (std::size_t i = 0; i < in.size(); ++i) {
                const std::size_t y = i / row;
                if (pattern == 0) { in[i] *= y % 37 < 20 ? 1 : 50; }
                if (pattern == 1) { in[i] *= y % 41 < 30 ? 0.0F : 1e20F; }
                if (pattern == 2) { in[i] *= std::ldexp(1.0F, static_cast<int>(y % 29) - 12); }
                if (pattern == 3) { in[i] *= y % 50 == 0 ? 5000 : i % row < row / 2 ? 0 : 3; }
                if (pattern == 4) { in[i] *= y < 42 ? 1e-25F : 1e25F; }
                if (pattern == 5) { in[i] *= y < 20 || y > 70 ? 1 : 1e-36F; }
            }
            PreparedOnHost prepared(cuda::image_separable(), r, taps.data(), height > 32 ? 132 : 1);
            ASSERT_EQ(prepared.make(), "");
            ASSERT_EQ(cuda::image_separable().granularity(prepared.get()), 16);
            prepared.launch(job_of(r, whole.data(), in.data(), 0, 84));
            EXPECT_EQ(compare(p, whole.data(), in.data(), taps.data(), false), "") << height << " " << channels << " " << pattern;
            for (std::int64_t first = 0, rows = 0; first < 84; first += rows) {
                rows = std::min<std::int64_t>(first % 3 == 0 ? 16 : 48, 84 - first);
                cuda::Job job = job_of(r, parts.data(), nullptr, first, rows);
                job.in_first = std::max<std::int64_t>(first - r.y.origin, 0);
                job.in_last = std::min<std::int64_t>(first + rows - r.y.origin + height - 1, 84);
                job.in = in.data() + static_cast<std::size_t>(job.in_first) * row;
                prepared.launch(job);
            }
            EXPECT_EQ(compare(p, parts.data(), in.data(), taps.data(), false), "") << height << " " << channels << " " << pattern;
            if (pattern == 0) {
                EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)), 0) << height << " " << channels;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(OnHost, ImageKernels, ::testing::Range(0, kShards));

}  // namespace
}  // namespace tapline::test
