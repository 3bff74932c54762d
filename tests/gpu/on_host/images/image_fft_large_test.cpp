// Rung 49, its kernels run on the host by one block, which does all tasks in their order, against the textbook: masks of every
// size, several tiles, channels, layouts and types, samples that are not finite. TAPLINE_PROPERTY_CASES and TAPLINE_PROPERTY_SEED
// as elsewhere.
#include <gtest/gtest.h>

#include <limits>

#include "gpu/on_host/cuda_on_host.hpp"

#include "cuda/families/image_fft/image_fft.hpp"
#include "cuda/families/image_fft_large/image_fft_large.hpp"
#include "gpu/on_host/drawn_on_host.hpp"
#include "support/case.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr int kShards = 4;
constexpr std::int64_t kDefaultCases = 80;

// Whether the rung took it.
bool run_case(std::uint64_t seed) {
    return run_drawn_image(seed, 60, 300, [&](const Problem& p, const core::Resolved& r, Random& random) {
        return run_drawn(cuda::image_fft_large(), p, r, seed, random);
    });
}

class ImageFftLargeProperty : public ::testing::TestWithParam<int> {};
TEST_P(ImageFftLargeProperty, AgreesWithTheTextbook) { run_shard(GetParam(), kShards, kDefaultCases, 8, run_case); }
INSTANTIATE_TEST_SUITE_P(Shards, ImageFftLargeProperty, ::testing::Range(0, kShards));

// Tiles of every size, also those that such small images would not get, channels that share sectors, windows that hold samples
// that are not finite and those beside them.
TEST(ImageFftLarge, TilesOfEverySize) {
    Random random(11);
    for (const int size : {256, 512, 1024, 2048}) {
        for (const int channels : {1, 4}) {
            if (size > 512 && channels != 1) { continue; }  // a fiber a thread takes its time
            Problem p{.mode = Mode::same, .boundary = Boundary::mirror};
            p.axes = {FilteredAxis{.length = 37, .taps = 9, .input_stride = 41 * channels, .output_stride = 41 * channels},
                      FilteredAxis{.length = 41, .taps = 8, .input_stride = channels, .output_stride = channels}};
            if (channels != 1) { p.batch_axes = {BatchAxis{.length = channels, .input_stride = 1, .output_stride = 1}}; }
            Case c = draw_case(p, random);
            const core::Resolved r = core::resolve(p);
            auto* const samples = const_cast<float*>(static_cast<const float*>(c.first_in()));  // NOLINT
            samples[5 * channels] = std::numeric_limits<float>::quiet_NaN();
            samples[(20 * 41 + 30) * channels + channels - 1] = std::numeric_limits<float>::infinity();
            PreparedOnHost prepared(cuda::image_fft_large(), r, c.taps.data(), 1, 9, Accuracy::standard, size);
            ASSERT_EQ(prepared.make(), "") << describe(p);
            prepared.launch(job_of(r, c.first_out(), c.first_in(), 0, r.y.outputs));
            ASSERT_EQ(compare(p, c.first_out(), c.first_in(), c.taps.data(), false), "") << size << ": " << describe(p);
        }
    }
}

// The cost model says what an H100 took, and leaves smaller masks to rung 07.
TEST(ImageFftLarge, CostsWhatWasMeasured) {
    struct Measured {
        std::int64_t height, width, channels, side;
        double seconds;
        bool other_is_faster;
    };
    const cuda_abi::Device device = device_of(132, 9);
    for (const Measured& m : {Measured{4096, 4096, 1, 31, 174e-6, true},
                              {4096, 4096, 1, 63, 207e-6, true},
                              {4096, 4096, 1, 101, 193e-6, false},
                              {4096, 4096, 1, 401, 404e-6, false},
                              {4096, 4096, 1, 1001, 647e-6, false},
                              {1500, 1500, 1, 101, 51e-6, false},
                              {512, 512, 1, 101, 29e-6, false},
                              {200, 200, 1, 401, 31e-6, false},
                              {1024, 1024, 32, 31, 383e-6, true}}) {
        const ImageProblem p{
            .height = m.height, .width = m.width, .channels = m.channels, .mask_height = m.side, .mask_width = m.side};
        cuda::Problem asked;
        static_cast<core::Resolved&>(asked) = core::resolve(p);
        const double seconds = cuda::image_fft_large().estimate_seconds(asked, device);
        EXPECT_NEAR(seconds / m.seconds, 1, 0.2) << describe(p);
        if (m.channels != 1) { continue; }  // rung 12 is not here
        const bool other =
            cuda::image_fft().supports(asked, device).empty() && cuda::image_fft().estimate_seconds(asked, device) < seconds;
        EXPECT_EQ(other, m.other_is_faster) << describe(p);
    }
}

// Masks larger than the image, of whose windows most rows lie outside.
TEST(ImageFftLarge, MasksLargerThanTheImage) {
    Random random(12);
    for (const Boundary boundary : {Boundary::zero, Boundary::wrap}) {
        Problem p{.mode = Mode::full, .boundary = boundary};
        p.axes = {FilteredAxis{.length = 19, .taps = 61, .input_stride = 23, .output_stride = 183},
                  FilteredAxis{.length = 23, .taps = 161, .input_stride = 1, .output_stride = 1}};
        Case c = draw_case(p, random);
        const core::Resolved r = core::resolve(p);
        PreparedOnHost prepared(cuda::image_fft_large(), r, c.taps.data(), 1);
        ASSERT_EQ(prepared.make(), "") << describe(p);
        prepared.launch(job_of(r, c.first_out(), c.first_in(), 0, r.y.outputs));
        ASSERT_EQ(compare(p, c.first_out(), c.first_in(), c.taps.data(), false), "") << describe(p);
    }
}

}  // namespace
}  // namespace tapline::test
