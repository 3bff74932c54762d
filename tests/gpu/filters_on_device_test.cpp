// Plans without taps whose rows have filters of their own: what depends on them is made on the device, in groups where it is much.
#include <array>

#include "gpu/gpu.hpp"
#include "gpu/own_process.hpp"
#include "support/case.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "support/drawn_cases.hpp"
#include "support/errors.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr int kShards = 8;
constexpr std::int64_t kDefaultCases = 160;

class FiltersOnDevice : public GpuTest {
protected:
    static void expect_right(const Problem& p, const PlanOptions& options, Random& random, bool spoiled = false) {
        const Plan plan = make_plan_without_taps(p, options);
        std::vector<std::byte> in = random_elements(p.dtype, input_extent(p), random);
        if (spoiled) { spoil(in.data(), p.dtype, input_extent(p), random); }
        const std::vector<std::byte> taps = random_elements(taps_dtype(p), taps_extent(p), random);
        const std::vector<std::byte> values = executed_with_taps(plan, in, taps);
        EXPECT_EQ(compare(p, values.data(), in.data(), taps.data(), is_elementwise(plan)), "") << plan.explain() << describe(p);
    }

    static PlanOptions by(const char* algorithm) {
        PlanOptions options{.device = "cuda"};
        options.algorithm = algorithm;
        return options;
    }
};

class FiltersDrawn : public FiltersOnDevice, public ::testing::WithParamInterface<int> {};

TEST_P(FiltersDrawn, AgreeWithTheTextbook) {
    constexpr std::array<Dtype, 6> kTypes{Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::complex64, Dtype::complex128};
    constexpr std::array<Mode, 4> kModes{Mode::full, Mode::same, Mode::causal, Mode::leading};
    constexpr std::array<std::int64_t, 5> kMostTaps{8, 64, 300, 3000, 9000};
    const auto shard = static_cast<std::uint64_t>(GetParam());
    for_each_seed({.cases = kDefaultCases, .shares = kShards, .first = 1 + shard, .step = kShards}, [&](std::uint64_t seed) {
        SCOPED_TRACE("TAPLINE_PROPERTY_SEED=" + std::to_string(seed));
        Random random(seed);
        Problem p;
        p.taps = between(1, pick(kMostTaps, random), random);
        const bool is_long = p.taps > 300;
        p.length = between(1, is_long ? 400 : 3000, random);
        p.batch = between(2, is_long ? 6 : 13, random);
        p.filters = Filters::per_row;
        if (chance(0.4, random)) { p.filter_count = between(1, p.batch, random); }
        if (chance(0.4, random)) { p.taps_row_stride = p.taps + between(0, 40, random); }
        p.mode = is_long ? Mode::same : pick(kModes, random);
        p.boundary = chance(0.5, random) ? Boundary::zero : Boundary::reflect;
        p.operation = chance(0.5, random) ? Operation::convolution : Operation::correlation;
        p.dtype = pick(kTypes, random);
        p.complex_taps = is_complex(p.dtype) && chance(0.5, random);
        if (chance(0.2, random)) { p.input_sample_stride = 2; }
        if (p.batch % std::max<std::int64_t>(p.filter_count, 1) != 0) { p.filter_count = 0; }
        expect_right(p, {.device = "cuda"}, random, chance(0.2, random));
    });
}

INSTANTIATE_TEST_SUITE_P(Shards, FiltersDrawn, ::testing::Range(0, kShards));

// Rows that one transform takes as a whole, so many that plans take them so.
TEST_F(FiltersOnDevice, OfWholeRows) {
    Random random(5);
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
        for (const std::int64_t n : {1000, 1024, 2500, 4096}) {
            Problem p;
            p.length = n;
            p.taps = n - 30;
            p.batch = 600;
            p.filters = Filters::per_row;
            if (n == 2500) { p.filter_count = 200; }
            p.mode = Mode::valid;
            p.dtype = dtype;
            const Plan plan = make_plan_without_taps(p, by("overlap_save"));
            if (n == 1024 || n == 4096) { EXPECT_NE(plan.details().find("whole rows"), std::string::npos) << plan.explain(); }
            expect_right(p, by("overlap_save"), random, n == 1024);
            if (HasFailure()) { return; }
        }
    }
}

TEST_F(FiltersOnDevice, OfLongRows) {
    Random random(8);
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
        for (const std::int64_t n : {20000, 32768}) {
            for (const std::int64_t rows : {2, 140}) {
                Problem p;
                p.length = n;
                p.taps = n - 30;
                p.batch = rows;
                p.filters = Filters::per_row;
                p.mode = Mode::valid;
                p.dtype = dtype;
                expect_right(p, {.device = "cuda"}, random);
                if (HasFailure()) { return; }
            }
        }
    }
}

TEST_F(FiltersOnDevice, OfEveryLongWay) {
    Random random(6);
    for (const char* name : {"overlap_save", "overlap_save_parts", "overlap_save_large", "overlap_save_cluster"}) {
        for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::complex64}) {
            for (const std::int64_t k : {20001, 40001}) {
                Problem p;
                p.length = 150;
                p.taps = k;
                p.batch = 4;
                p.filters = Filters::per_row;
                p.filter_count = 2;
                p.mode = Mode::same;
                p.dtype = dtype;
                p.operation = k == 20001 ? Operation::correlation : Operation::convolution;
                p.complex_taps = is_complex(dtype);
                try {
                    make_plan_without_taps(p, by(name));
                } catch (const Error& error) {  // not every way has every size
                    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
                    continue;
                }
                expect_right(p, by(name), random);
                if (HasFailure()) { return; }
            }
        }
    }
}

// (trials, samples, channels) with a filter for each trial and channel, in the order of either: one launch, not one for each trial.
TEST_F(FiltersOnDevice, AlongTwoAxesOfColumns) {
    Random random(9);
    for (const auto& [trials, channels] : {std::pair<std::int64_t, std::int64_t>{40, 6}, {3, 40}, {7, 7}}) {
        for (const std::int64_t k : {1, 9, 33, 64}) {
            for (const bool channels_first : {false, true}) {
                Problem p;
                FilteredAxis axis;
                axis.length = 50;
                axis.taps = k;
                axis.mode = Mode::same;
                axis.boundary = k == 9 ? Boundary::mirror : Boundary::zero;
                axis.input_stride = axis.output_stride = channels;
                p.axes = {axis};
                p.batch_axes = {{trials, 50 * channels, 50 * channels, channels_first ? k : channels * k},
                                {channels, 1, 1, channels_first ? trials * k : k}};
                const Plan plan = make_plan_without_taps(p, {.device = "cuda"});
                EXPECT_EQ(plan.algorithm(), "direct_columns") << plan.explain();
                expect_right(p, by("direct_columns"), random);
                if (HasFailure()) { return; }
            }
        }
    }
}

// With 16 MiB of memory what is made of taps takes 2 MiB.
TEST_F(FiltersOnDevice, InGroups) {
    if (!in_own_process({"TAPLINE_CUDA_MEMORY_LIMIT=16777216"})) { return; }
    Random random(7);
    for (const std::int64_t k : {40, 700, 3000, 5000}) {
        for (const std::int64_t filters : {60, 120}) {
            Problem p;
            p.length = 300;
            p.taps = k;
            p.batch = 120;
            p.filters = Filters::per_row;
            p.filter_count = filters;
            p.mode = Mode::same;
            expect_right(p, {.device = "cuda"}, random);
            if (HasFailure()) { return; }
        }
    }
}

TEST_F(FiltersOnDevice, OfChannelsOfImagesAreRefused) {
    ImageProblem image;
    image.width = image.height = 20;
    image.mask_width = image.mask_height = 3;
    image.channels = 2;
    image.masks = Masks::per_channel;
    expect_error(ErrorCode::unsupported, "taps", [&] { make_plan_without_taps(image, {.device = "cuda"}); });
}

}  // namespace
}  // namespace tapline::test
