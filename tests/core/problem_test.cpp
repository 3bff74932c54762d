// The one problem: axes, batch axes, how they are arranged for algorithms, short forms beside the long one.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/problem/arrange.hpp"
#include "core/problem/resolved.hpp"
#include "reference/reference.hpp"
#include "support/draw.hpp"
#include "tapline/plan.hpp"

namespace tapline::core {
namespace {

using Triple = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // of input, output and taps

// Where every signal, image or volume begins, as algorithms and the outer axes' loop step through them.
std::vector<Triple> items_of(const Resolved& r) {
    std::vector<Triple> items{{0, 0, 0}};
    const auto times = [&](const Batch& axis, std::int64_t filters) {
        std::vector<Triple> finer;
        for (const auto& [in, out, taps] : items) {
            for (std::int64_t i = 0; i < axis.length; ++i) {
                finer.emplace_back(in + i * axis.in_stride, out + i * axis.out_stride, taps + i % filters * axis.taps_stride);
            }
        }
        items = finer;
    };
    for (const Batch& axis : r.outer) { times(axis, axis.length); }
    times(r.channels, r.channels.length);
    times(r.batch, r.channels.taps_stride != 0 ? 1 : r.filters);
    std::sort(items.begin(), items.end());
    return items;
}

std::vector<Triple> items_of(const reference::Shape& shape) {
    std::vector<Triple> items;
    for (const reference::Item& item : shape.items) { items.emplace_back(item.in, item.out, item.taps); }
    std::sort(items.begin(), items.end());
    return items;
}

void expect_same_axis(const Axis& got, const reference::Axis& wanted, const std::string& told) {
    EXPECT_EQ(got.n, wanted.n) << told;
    EXPECT_EQ(got.k, wanted.k) << told;
    EXPECT_EQ(got.origin, wanted.origin) << told;
    EXPECT_EQ(got.outputs, wanted.outputs) << told;
    EXPECT_EQ(got.boundary, wanted.boundary) << told;
    EXPECT_EQ(std::tuple(got.up, got.down, got.dilation), std::tuple(wanted.up, wanted.down, wanted.dilation)) << told;
    if (got.n > 1) { EXPECT_EQ(got.in_stride, wanted.in_stride) << told; }
    if (got.outputs > 1) { EXPECT_EQ(got.out_stride, wanted.out_stride) << told; }
}

// Lowest and highest element from the first.
struct Reach {
    std::int64_t low = 0, high = 0;
    void step(std::int64_t length, std::int64_t stride) { (stride < 0 ? low : high) += (length - 1) * stride; }
};

// The resolved problem says the same as the oracle's own reading of it.
void expect_same(const Problem& p) {
    const Resolved r = resolve(p);
    const reference::Shape shape = reference::shape_of(p);
    const std::string told = test::describe(p);
    expect_same_axis(r.x, shape.axes[2], told);
    if (r.rank > 1) { expect_same_axis(r.y, shape.axes[1], told); }
    if (r.rank > 2) { expect_same_axis(r.z, shape.axes[0], told); }
    EXPECT_EQ(r.rank, shape.rank) << told;
    EXPECT_EQ(items_of(r), items_of(shape)) << told;
    Reach in, out, taps;
    for (const reference::Axis& axis : shape.axes) {
        in.step(axis.n, axis.in_stride);
        out.step(axis.outputs, axis.out_stride);
    }
    const auto widen = [&](Reach& reach, auto part) {
        std::int64_t low = 0, high = 0;
        for (const reference::Item& item : shape.items) {
            low = std::min(low, item.*part);
            high = std::max(high, item.*part);
        }
        reach.low += low;
        reach.high += high;
    };
    widen(in, &reference::Item::in);
    widen(out, &reference::Item::out);
    widen(taps, &reference::Item::taps);
    EXPECT_EQ(input_extent(p), in.high - in.low + 1) << told;
    EXPECT_EQ(input_start(p), -in.low) << told;
    EXPECT_EQ(output_extent(p), out.high - out.low + 1) << told;
    EXPECT_EQ(output_start(p), -out.low) << told;
    EXPECT_EQ(taps_extent(p), taps.high + shape.taps()) << told;
}

TEST(ProblemTest, ResolvesToWhatTheOracleReads) {
    for (std::uint64_t seed = 0; seed < 6000 && !::testing::Test::HasFailure(); ++seed) {
        test::Random random(seed);
        const int rank = static_cast<int>(seed % 4);
        if (rank == 0) {
            expect_same(test::draw_image_problem(130, 40, 100000000, random));
        } else {
            expect_same(test::draw_problem({.rank = rank,
                                            .most_samples = 100,
                                            .most_taps = 50,
                                            .most_products = std::int64_t{1} << 50,
                                            .integers = true,
                                            .rates = true,
                                            .layouts = true},
                                           random));
        }
    }
}

Problem axes_of(UpTo<FilteredAxis, 3> axes, UpTo<BatchAxis, 4> batch_axes = {}) {
    Problem p;
    p.axes = axes;
    p.batch_axes = batch_axes;
    p.mode = Mode::same;
    return p;
}

// ---- Arranging ----

TEST(Arrange, NeighboursThatStepAlikeAreOne) {
    const Resolved r = resolve(axes_of({{.length = 10, .taps = 3}}, {{.length = 2}, {.length = 3}, {.length = 4}, {.length = 5}}));
    EXPECT_EQ(r.batch.length, 120);
    EXPECT_EQ(r.batch.in_stride, 10);
    EXPECT_FALSE(r.has_outer());
    const Resolved padded =
        resolve(axes_of({{.length = 10, .taps = 3}}, {{.length = 2, .input_stride = 100, .output_stride = 200}, {.length = 3}}));
    EXPECT_EQ(padded.batch.length, 3) << "the longest goes to the algorithm";
    EXPECT_EQ(padded.outer[0].length, 2);
    EXPECT_EQ(padded.outer[0].in_stride, 100);
    EXPECT_EQ(padded.outer[0].out_stride, 200);
}

TEST(Arrange, AxesThatInterleaveInBothAreOneToo) {
    // Time first: samples outermost, two batch axes side by side inside.
    const Resolved r = resolve(
        axes_of({{.length = 10, .taps = 3, .input_stride = 6, .output_stride = 6}},
                {{.length = 2, .input_stride = 3, .output_stride = 3}, {.length = 3, .input_stride = 1, .output_stride = 1}}));
    EXPECT_EQ(r.batch.length, 6);
    EXPECT_EQ(r.batch.in_stride, 1);
    EXPECT_EQ(r.x.in_stride, 6);
    EXPECT_FALSE(r.has_outer());
}

TEST(Arrange, AnAxisOfOneDisappears) {
    const Resolved r =
        resolve(axes_of({{.length = 10, .taps = 3}}, {{.length = 1, .input_stride = 77, .taps_stride = 5}, {.length = 4}}));
    EXPECT_EQ(r.batch.length, 4);
    EXPECT_EQ(r.filters, 1);
    EXPECT_FALSE(r.has_outer());
}

TEST(Arrange, ChannelsLieBesideOneAnotherWhereAPixelEnds) {
    const Resolved r = resolve(ImageProblem{
        .height = 7, .width = 5, .channels = 3, .batch = 2, .mask_height = 2, .mask_width = 2, .masks = Masks::per_channel});
    EXPECT_EQ(r.rank, 2);
    EXPECT_EQ(r.channels.length, 3);
    EXPECT_EQ(r.channels.taps_stride, 4);
    EXPECT_EQ(r.filters, 3);
    EXPECT_EQ(r.batch.length, 2);
    EXPECT_EQ(r.batch.in_stride, 105);
    EXPECT_EQ(r.y.in_stride, 15);
    EXPECT_TRUE(r.has_packed_pixels());
    EXPECT_FALSE(r.has_outer());
    // Planes: the same channels, one after the other, each with a mask of its own.
    const Resolved planes =
        resolve(axes_of({{.length = 7, .taps = 2}, {.length = 5, .taps = 2}}, {{.length = 3, .taps_stride = 4}}));
    EXPECT_EQ(planes.channels.length, 1);
    EXPECT_EQ(planes.filters, 1);
    EXPECT_EQ(planes.batch.length, 1) << "images of a batch share their masks";
    EXPECT_EQ(planes.outer[0].length, 3);
    EXPECT_EQ(planes.outer[0].taps_stride, 4);
}

TEST(Arrange, FiltersInTurn) {
    const Problem in_short{.length = 10, .taps = 3, .batch = 6, .filters = Filters::per_row, .filter_count = 2};
    for (const Problem& p : {in_short, axes_of({{.length = 10, .taps = 3}}, {{.length = 3}, {.length = 2, .taps_stride = 3}})}) {
        const Resolved r = resolve(p);
        EXPECT_EQ(r.batch.length, 6);
        EXPECT_EQ(r.filters, 2);
        EXPECT_EQ(r.batch.taps_stride, 3);
        EXPECT_FALSE(r.has_outer());
        EXPECT_EQ(taps_extent(p), 6);
    }
}

TEST(Arrange, ChannelsWithFiltersGoTogether) {
    // Channels last, a filter for each: the batch is what lies side by side, however many recordings there are.
    const auto channels_last = [](std::int64_t recordings, std::int64_t channels, std::int64_t taps_of_recording) {
        return resolve(axes_of({{.length = 20000, .taps = 3, .input_stride = channels, .output_stride = channels}},
                               {{.length = recordings,
                                 .input_stride = 20000 * channels,
                                 .output_stride = 20000 * channels,
                                 .taps_stride = taps_of_recording},
                                {.length = channels, .input_stride = 1, .output_stride = 1, .taps_stride = 3}}));
    };
    const Resolved shared = channels_last(1000, 8, 0);
    EXPECT_EQ(shared.batch.length, 8);
    EXPECT_EQ(shared.filters, 8);
    EXPECT_EQ(shared.outer[0].length, 1000);
    // Where recordings have their own too, one of the axes is repeated: the one that costs less.
    EXPECT_EQ(channels_last(9, 8, 24).batch.length, 8);
    EXPECT_EQ(channels_last(9, 8, 24).outer[0].taps_stride, 24);
    EXPECT_EQ(channels_last(1000, 2, 6).batch.length, 1000);
}

TEST(Arrange, OneSignalForManyFilters) {
    const Problem p = axes_of({{.length = 100, .taps = 9}}, {{.length = 64, .input_stride = 0, .taps_stride = 9}});
    const Resolved r = resolve(p);
    EXPECT_EQ(r.batch.length, 64);
    EXPECT_EQ(r.batch.in_stride, 0);
    EXPECT_EQ(r.filters, 64);
    EXPECT_EQ(input_extent(p), 100);
    EXPECT_EQ(output_extent(p), 6400);
    EXPECT_EQ(taps_extent(p), 576);
}

// ---- Short forms ----

// As algorithms see them.
void expect_equal(const Problem& a, const Problem& b) {
    const Resolved x = resolve(a), y = resolve(b);
    const auto axis = [](const Axis& s) {
        return std::tuple(s.n, s.k, s.origin, s.outputs, s.in_stride, s.out_stride, s.up, s.down, s.dilation, s.boundary);
    };
    const auto batch = [](const Batch& s) { return std::tuple(s.length, s.in_stride, s.out_stride, s.taps_stride); };
    EXPECT_EQ(axis(x.x), axis(y.x));
    EXPECT_EQ(axis(x.y), axis(y.y));
    EXPECT_EQ(axis(x.z), axis(y.z));
    EXPECT_EQ(batch(x.batch), batch(y.batch));
    EXPECT_EQ(batch(x.channels), batch(y.channels));
    for (std::size_t i = 0; i < 4; ++i) { EXPECT_EQ(batch(x.outer[i]), batch(y.outer[i])); }
    EXPECT_EQ(std::tuple(x.rank, x.filters, x.dtype, x.taps_dtype, x.output_dtype, x.sum_dtype, x.mode, x.trivial_epilogue),
              std::tuple(y.rank, y.filters, y.dtype, y.taps_dtype, y.output_dtype, y.sum_dtype, y.mode, y.trivial_epilogue));
}

TEST(ShortForms, ASignalIsOneAxisAndItsRows) {
    Problem p{.length = 50, .taps = 4, .batch = 3, .filters = Filters::per_row, .mode = Mode::same, .origin = 7};
    expect_equal(p, axes_of({{.length = 50, .taps = 4, .origin = 7}}, {{.length = 3, .taps_stride = 4}}));
    p.input_row_stride = 1;
    p.input_sample_stride = 3;
    p.output_row_stride = -60;
    p.up = 2;
    p.down = 3;
    p.dilation = 2;
    expect_equal(p, axes_of({{.length = 50, .taps = 4, .origin = 7, .input_stride = 3, .up = 2, .down = 3, .dilation = 2}},
                            {{.length = 3, .input_stride = 1, .output_stride = -60, .taps_stride = 4}}));
}

TEST(ShortForms, AnImageIsTwoAxesImagesAndChannels) {
    const ImageProblem image{
        .height = 8, .width = 6, .channels = 3, .batch = 2, .mask_height = 3, .mask_width = 2, .mode = Mode::same};
    expect_equal(image, axes_of({{.length = 8, .taps = 3, .input_stride = 18, .output_stride = 18},
                                 {.length = 6, .taps = 2, .input_stride = 3, .output_stride = 3}},
                                {{.length = 2, .input_stride = 144, .output_stride = 144},
                                 {.length = 3, .input_stride = 1, .output_stride = 1}}));
    Problem bytes = ImageProblem{.height = 8, .width = 6, .mask_height = 1, .mask_width = 1, .dtype = Dtype::u8};
    EXPECT_EQ(bytes.real_taps, Dtype::f32);
    EXPECT_EQ(resolve(bytes).sum_dtype, Dtype::f32);
    EXPECT_EQ(output_dtype(bytes), Dtype::u8);
}

TEST(ShortForms, AVolumeIsThreeAxes) {
    const VolumeProblem volume{.depth = 4, .height = 5, .width = 6, .batch = 2, .mask_depth = 1, .mask_height = 2, .mask_width = 3};
    expect_equal(volume, axes_of({{.length = 4, .taps = 1}, {.length = 5, .taps = 2}, {.length = 6, .taps = 3}}, {{.length = 2}}));
    EXPECT_EQ(output_length(volume), 6);
    EXPECT_EQ(origins(volume)[2], 1);
    EXPECT_EQ(input_extent(volume), 240);
}

TEST(ShortForms, AnImageOfOneRowIsTheSignal) {
    const Resolved image = resolve(ImageProblem{.height = 1, .width = 100, .mask_height = 1, .mask_width = 5});
    const Resolved signal = resolve(Problem{.length = 100, .taps = 5, .mode = Mode::same});
    EXPECT_EQ(image.x.outputs, signal.x.outputs);
    EXPECT_EQ(image.x.origin, signal.x.origin);
    EXPECT_EQ(image.x.in_stride, signal.x.in_stride);
    EXPECT_EQ(image.y.outputs, 1);
}

// ---- Types ----

TEST(Types, RealTapsBesideIntegersMakeSumsOfTheirType) {
    Problem p{.length = 10, .taps = 3, .dtype = Dtype::i16};
    EXPECT_EQ(taps_dtype(p), Dtype::i64);
    EXPECT_EQ(output_dtype(p), Dtype::i64);
    EXPECT_TRUE(resolve(p).is_exact());
    p.real_taps = Dtype::f64;
    EXPECT_EQ(taps_dtype(p), Dtype::f64);
    EXPECT_EQ(output_dtype(p), Dtype::i16);
    EXPECT_EQ(resolve(p).sum_dtype, Dtype::f64);
    EXPECT_FALSE(resolve(p).is_exact());
    EXPECT_FALSE(resolve(p).trivial_epilogue) << "the output is cast";
}

TEST(Types, TruncatedSumsAreOfRealTaps) {
    Problem p{.length = 10, .taps = 3, .dtype = Dtype::i16, .overflow = Overflow::truncate};
    EXPECT_THROW(resolve(p), Error) << "exact sums have no fraction";
    p.real_taps = Dtype::f32;
    EXPECT_EQ(resolve(p).overflow, Overflow::truncate);
    p.output_dtype = Dtype::f32;
    EXPECT_THROW(resolve(p), Error);
    p.output_dtype = Dtype::boolean;
    EXPECT_THROW(resolve(p), Error);
    p.output_dtype = Dtype::u8;
    const std::vector<float> taps{0.75F, 0, 0};
    const std::vector<std::int16_t> in{4, 5, -5, 341, 342, -342, 0, 1, 2, 3};
    std::vector<std::uint8_t> out(12);
    make_plan(p, taps.data(), {.device = "cpu"}).execute(out.data(), in.data());
    EXPECT_EQ(out, (std::vector<std::uint8_t>{3, 3, 253, 255, 0, 0, 0, 0, 1, 2, 0, 0}));
}

// ---- Filters along several axes ----

TEST(FiltersStep, IsKnownWhereFiltersFollowEachOtherInAnyOrderOfTheAxes) {
    Resolved r;
    r.batch = {.length = 5, .in_stride = 1, .out_stride = 1, .taps_stride = 3};
    EXPECT_EQ(filters_step(r, 5), 3) << "one axis";
    r.outer[0] = {.length = 7, .in_stride = 50, .out_stride = 50, .taps_stride = 15};
    EXPECT_EQ(filters_step(r, 5), 3) << "the batch steps first";
    std::swap(r.batch.taps_stride, r.outer[0].taps_stride);
    EXPECT_EQ(filters_step(r, 5), 0) << "15 is not 7 filters of 3";
    r.batch.taps_stride = 21;
    EXPECT_EQ(filters_step(r, 5), 3) << "the other axis steps first";
    r.outer[1] = {.length = 2, .in_stride = 999, .out_stride = 999, .taps_stride = 0};
    EXPECT_EQ(filters_step(r, 5), 3) << "an axis that shares filters has no say";
    r.outer[1].taps_stride = 106;
    EXPECT_EQ(filters_step(r, 5), 0) << "a gap";
    r.batch.taps_stride = r.outer[0].taps_stride = r.outer[1].taps_stride = 0;
    EXPECT_EQ(filters_step(r, 1), 0) << "one filter";
}

TEST(UpTo, HoldsSoManyAndRefusesMore) {
    UpTo<int, 3> three{1, 2};
    EXPECT_EQ(three.size(), 2U);
    three.push_back(3);
    EXPECT_EQ(std::vector<int>(three.begin(), three.end()), (std::vector<int>{1, 2, 3}));
    EXPECT_THROW(three.push_back(4), Error);
}

}  // namespace
}  // namespace tapline::core
