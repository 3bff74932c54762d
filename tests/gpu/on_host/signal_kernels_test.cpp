// The rungs for rows of any layout, their kernels run on the host, against the textbook over problems drawn at random: layouts,
// batch axes, types, boundaries, NaN, pieces of signals. Inputs stand against memory that cannot be read, outputs between guard
// zones. TAPLINE_PROPERTY_CASES and TAPLINE_PROPERTY_SEED as elsewhere.
#include <gtest/gtest.h>

#include <array>

#include "gpu/on_host/cuda_on_host.hpp"

#include "core/problem/arrange.hpp"
#include "cuda/families/direct/direct.hpp"
#include "cuda/families/tensor/short/short_rows.hpp"
#include "gpu/on_host/rung_on_host.hpp"
#include "support/draw.hpp"
#include "support/drawn_cases.hpp"

namespace tapline::test {
namespace {

constexpr int kShards = 4;
constexpr std::int64_t kDefaultCases = 160;  // a thread a fiber takes its time

// Rows side by side, whose outputs lie side by side too, or along rows.
Problem draw_across(Random& random) {
    Problem p = draw_problem(chance(0.3, random) ? 400 : 100, chance(0.3, random) ? 150 : 30, random);
    const std::int64_t outputs = std::max<std::int64_t>(output_length(p), 1);
    p.batch = between(8, chance(0.3, random) ? 300 : 40, random);
    const bool by_vectors = chance(0.5, random);
    if (by_vectors) { p.batch = (p.batch + 3) / 4 * 4; }
    p.filters = chance(0.4, random) ? Filters::per_row : Filters::shared;
    p.filter_count = p.filters == Filters::per_row && p.batch % 2 == 0 && chance(0.5, random) ? p.batch / 2 : 0;
    p.taps_row_stride.reset();
    const auto gap = [&] { return chance(0.3, random) ? by_vectors ? 4 * between(0, 1, random) : between(0, 3, random) : 0; };
    p.input_row_stride = chance(0.2, random) && !by_vectors ? -1 : 1;
    p.input_sample_stride = (p.batch + gap()) * (chance(0.2, random) ? -1 : 1);
    const bool along = chance(0.4, random);
    p.output_row_stride = along ? outputs + gap() : 1;
    p.output_sample_stride = along ? 1 : p.batch + gap();
    return p;
}

// The same, at times of few rows, and of 8 and 16 bits under taps of f32.
Problem draw_columns(Random& random) {
    Problem p = draw_across(random);
    if (p.filters == Filters::shared && chance(0.3, random)) {
        p.batch = between(2, 7, random);  // threads along rows
        if (chance(0.5, random)) { p.batch = p.batch / 2 * 2; }
        p.input_row_stride = 1;
        p.input_sample_stride = p.output_sample_stride = p.batch;
        p.filter_count = 0;
        p.filters = chance(0.5, random) ? Filters::per_row : Filters::shared;
    }
    const bool along = chance(0.4, random);
    const std::int64_t gap = chance(0.3, random) ? 4 : 0;
    p.output_row_stride.reset();
    p.output_sample_stride.reset();
    p.output_row_stride = along ? std::max<std::int64_t>(output_length(p), 2) + gap : 1;
    p.output_sample_stride = along ? 1 : p.batch + gap;
    if (chance(0.4, random)) {
        constexpr std::array kTypes{Dtype::i8, Dtype::u8, Dtype::i16, Dtype::u16, Dtype::f16, Dtype::bf16};
        p.dtype = kTypes.at(static_cast<std::size_t>(between(0, kTypes.size() - 1, random)));
        p.complex_taps = false;
        p.real_taps = is_integer(p.dtype) ? std::optional(Dtype::f32) : std::nullopt;
        p.output_dtype = chance(0.7, random) ? Dtype::f32 : Dtype::u8;
        p.overflow = Overflow::error;
        p.constant = p.boundary == Boundary::constant ? 3 : 0;
    }
    return p;
}

// Recordings of channels with a filter for each channel of each, or for each recording, or each channel.
Problem draw_own_filters(Random& random) {
    const Problem drawn = draw_columns(random);
    Problem p;
    p.dtype = drawn.dtype;
    p.real_taps = drawn.real_taps;
    p.complex_taps = drawn.complex_taps;
    p.output_dtype = drawn.output_dtype;
    p.operation = drawn.operation;
    p.boundary = drawn.boundary;
    p.constant = drawn.constant;
    p.scale = drawn.scale;
    FilteredAxis axis;
    axis.length = between(1, chance(0.3, random) ? 700 : 60, random);
    axis.taps = between(1, chance(0.3, random) ? 60 : 12, random);
    axis.mode = chance(0.5, random) ? Mode::same : Mode::full;
    const std::int64_t channels = chance(0.4, random) ? between(2, 7, random) : 4 * between(2, 12, random);
    const std::int64_t recordings = between(2, 9, random);
    const std::int64_t outputs = axis.mode == Mode::same ? axis.length : axis.length + axis.taps - 1;
    const int own = static_cast<int>(between(0, 2, random));
    axis.input_stride = axis.output_stride = channels;
    p.axes = {axis};
    p.batch_axes = {{recordings, axis.length * channels, outputs * channels, own == 2 ? 0 : (own == 0 ? channels : 1) * axis.taps},
                    {channels, 1, 1, own == 1 ? 0 : axis.taps}};
    return p;
}

// Samples of 8 and 16 bits side by side, whose outputs are floats.
Problem draw_widened(Random& random) {
    Problem p = draw_problem(chance(0.3, random) ? 3000 : 300, 36, random);
    constexpr std::array kTypes{Dtype::i8, Dtype::u8, Dtype::i16, Dtype::u16, Dtype::f16, Dtype::bf16};
    p.dtype = kTypes.at(static_cast<std::size_t>(between(0, kTypes.size() - 1, random)));
    p.complex_taps = false;
    p.real_taps.reset();
    if (is_integer(p.dtype)) { p.real_taps = Dtype::f32; }
    p.constant = p.boundary == Boundary::constant ? 3 : 0;
    p.output_dtype = Dtype::f32;
    p.filters = Filters::shared;
    p.filter_count = 0;
    p.taps_row_stride.reset();
    p.input_sample_stride.reset();
    p.output_sample_stride.reset();
    p.output_row_stride.reset();
    p.input_row_stride = p.length + (chance(0.5, random) ? between(0, 20, random) : (16 - p.length % 16) % 16);
    return p;
}

// The same or f32, samples in any steps, outputs of other types.
Problem draw_words(Random& random) {
    Problem p = draw_widened(random);
    if (chance(0.3, random)) {
        p.dtype = Dtype::f32;
        p.real_taps.reset();
    }
    if (chance(0.5, random)) {
        constexpr std::array<std::int64_t, 4> kSteps{-1, 2, 3, -8};
        const std::int64_t step = kSteps.at(static_cast<std::size_t>(between(0, kSteps.size() - 1, random)));
        p.input_sample_stride = step;
        p.input_row_stride = p.length * std::abs(step) + between(0, 9, random);
    }
    constexpr std::array kTypes{Dtype::f32, Dtype::f32, Dtype::f16, Dtype::u8, Dtype::i16, Dtype::f64};
    p.output_dtype = kTypes.at(static_cast<std::size_t>(between(0, kTypes.size() - 1, random)));
    if (chance(0.4, random)) {  // channels of recordings
        const std::int64_t channels = between(2, 16, random);
        const std::int64_t recordings = between(1, 9, random);
        const std::int64_t outputs = output_length(p);
        FilteredAxis axis;
        axis.length = p.length;
        axis.taps = p.taps;
        axis.origin = p.origin;
        axis.input_stride = channels + between(0, 1, random);
        axis.output_stride = channels;
        p.axes = {axis};
        p.batch_axes = {{recordings, p.length * *axis.input_stride, outputs * channels, 0}, {channels, 1, 1, 0}};
        p.length = p.taps = 0;
        p.origin.reset();
        p.batch = 1;
        p.input_row_stride.reset();
        p.input_sample_stride.reset();
    }
    return p;
}

// Many short rows of f32 side by side, filters up to several times as long.
Problem draw_short(Random& random) {
    Problem p = draw_problem(chance(0.3, random) ? 128 : 50, chance(0.3, random) ? 400 : 60, random);
    p.dtype = Dtype::f32;
    p.complex_taps = false;
    p.real_taps.reset();
    p.output_dtype.reset();
    p.constant = p.boundary == Boundary::constant ? 3 : 0;
    p.filters = Filters::shared;
    p.filter_count = 0;
    p.taps_row_stride.reset();
    p.input_sample_stride.reset();
    p.output_sample_stride.reset();
    p.batch = between(1, 200, random);
    p.input_row_stride.reset();
    p.output_row_stride.reset();
    if (p.mode == Mode::valid && p.taps > p.length) { p.mode = Mode::same; }
    const std::int64_t outputs = std::max<std::int64_t>(output_length(p), 1);
    const auto row = [&](std::int64_t length) {
        return chance(0.4, random) ? (length + 3) / 4 * 4 : length + between(0, 3, random);
    };
    p.input_row_stride = row(p.length);
    p.output_row_stride = row(outputs);
    return p;
}

// The same of rows side by side: channels of recordings, times first, or complex samples.
Problem draw_short_apart(Random& random) {
    const Problem drawn = draw_short(random);
    Problem p;
    p.dtype = chance(0.3, random) ? Dtype::complex64 : Dtype::f32;
    p.operation = drawn.operation;
    p.boundary = drawn.boundary;
    p.scale = drawn.scale;
    p.bias = p.dtype == Dtype::f32 ? drawn.bias : 0;
    FilteredAxis axis;
    axis.length = drawn.length;
    axis.taps = drawn.taps;
    axis.mode = drawn.mode;
    const std::int64_t channels =
        chance(0.3, random) ? 4 * between(16, 40, random) : between(p.dtype == Dtype::f32 ? 2 : 1, 64, random);
    const std::int64_t recordings = chance(0.2, random) ? 1 : between(2, chance(0.3, random) ? 90 : 9, random);
    const std::int64_t outputs = std::max<std::int64_t>(output_length(drawn), 1);
    const std::int64_t gap = channels >= 64 && chance(0.3, random) ? 4 : 0;
    if (chance(0.3, random)) {  // every second or third sample, backwards, with gaps between rows
        const std::int64_t step = between(1, 3, random);
        axis.input_stride = step * (chance(0.3, random) ? -1 : 1);
        axis.output_stride = 1;
        p.batch_axes = {{recordings, axis.length * step + between(0, 9, random), outputs, 0}};
    } else {
        axis.input_stride = axis.output_stride = channels + gap;
        p.batch_axes = {{recordings, axis.length * (channels + gap), outputs * (channels + gap), 0}, {channels, 1, 1, 0}};
    }
    p.axes = {axis};
    return p;
}

// Whether the rung took it.
bool run(const cuda::Rung& rung, const Problem& p, std::uint64_t seed, Random& random) {
    const core::Resolved r = core::resolve(p);
    if (core::filter_sets(r) != 1 && rung.info().takes_outer != 2) { return false; }  // repeated by the plan
    Case c = draw_case(p, random);
    const FencedBuffer fenced(c.in.data(), c.in.size(), chance(0.5, random));
    const auto* const in =
        static_cast<const std::byte*>(fenced.data()) + input_start(p) * static_cast<std::int64_t>(size_of(p.dtype));
    on_host::set_seed(seed);
    PreparedOnHost prepared(rung, r, c.taps.data());
    if (!prepared.make().empty()) { return false; }
    const Expected expected(p, c.first_in(), c.taps.data());
    if (r.has_outer() && rung.info().takes_outer == 2 && chance(0.4, random)) {  // as pieces of what a host has come
        for (std::int64_t i = 0; i < r.outer_length(); ++i) {
            const core::OuterElement element =
                core::outer_element(r, core::whole_output(r, c.first_out()), core::whole_input(r, in), i);
            cuda::Job job = job_of(core::without_outer(r), element.output.data, element.input.main.data, 0, r.x.outputs);
            job.batch_first = element.set * r.batch.length;
            job.packed = 1;
            prepared.launch(job);
        }
        EXPECT_TRUE(c.out.guards_intact() && c.gaps_untouched()) << "wrote outside the outputs";
        EXPECT_EQ(expected.compare(c.first_out(), true), "");
        return true;
    }
    const std::int64_t split = chance(0.4, random) ? between(0, r.x.outputs, random) : r.x.outputs;
    for (const auto [first, count] : {std::pair{std::int64_t{0}, split}, std::pair{split, r.x.outputs - split}}) {
        if (count > 0) { prepared.launch(job_of(r, c.first_out(), in, first, count)); }
    }
    EXPECT_TRUE(c.out.guards_intact() && c.gaps_untouched()) << "wrote outside the outputs";
    EXPECT_EQ(expected.compare(c.first_out(), true), "");
    return true;
}

// Whether rungs 32, 33, 37, 47, 51 and 60 took a problem.
struct Taken {
    bool across = false, rows = false, widened = false, words = false, in_short_rows = false, in_short_rows_apart = false,
         columns = false;
};
Taken run_case(std::uint64_t seed) {
    Random random(seed);
    if (chance(0.2, random)) {
        const Problem p = draw_widened(random);
        SCOPED_TRACE("TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + describe(p));
        return {.rows = run(cuda::direct_rows(), p, seed, random), .widened = run(cuda::direct_widened(), p, seed, random)};
    }
    if (chance(0.15, random)) {
        const Problem p = draw_words(random);
        SCOPED_TRACE("TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + describe(p));
        return {.words = run(cuda::direct_words(), p, seed, random)};
    }
    if (chance(0.25, random)) {
        const bool apart = chance(0.5, random);
        const Problem p = apart ? draw_short_apart(random) : draw_short(random);
        SCOPED_TRACE("TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + describe(p));
        const bool taken = run(cuda::short_rows_rung(), p, seed, random);
        return {.in_short_rows = taken, .in_short_rows_apart = taken && apart};
    }
    if (chance(0.33, random)) {
        const Problem p = chance(0.4, random) ? draw_own_filters(random) : draw_columns(random);
        SCOPED_TRACE("TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + describe(p));
        return {.columns = run(cuda::direct_columns(), p, seed, random)};
    }
    const bool is_across = chance(0.4, random);
    const Problem p = is_across ? draw_across(random)
                                : draw_problem({.rank = 1,
                                                .most_samples = chance(0.3, random) ? 2000 : 200,
                                                .most_taps = chance(0.3, random) ? 300 : 30,
                                                .most_products = 300000,
                                                .integers = true,
                                                .layouts = true},
                                               random);
    SCOPED_TRACE("TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + describe(p));
    run(cuda::direct_tiles(), p, seed, random);
    return {.across = run(cuda::direct_across(), p, seed, random), .rows = run(cuda::direct_rows(), p, seed, random)};
}

class SignalKernels : public ::testing::TestWithParam<int> {};

TEST_P(SignalKernels, AgreeWithTheTextbook) {
    std::int64_t across = 0, rows = 0, widened = 0, words = 0, in_short_rows = 0, in_short_rows_apart = 0, columns = 0;
    const std::int64_t cases = for_each_seed(seeds_of_shard(kDefaultCases, kShards, GetParam()), [&](std::uint64_t seed) {
        const Taken taken = run_case(seed);
        across += taken.across ? 1 : 0;
        rows += taken.rows ? 1 : 0;
        widened += taken.widened ? 1 : 0;
        words += taken.words ? 1 : 0;
        in_short_rows += taken.in_short_rows ? 1 : 0;
        in_short_rows_apart += taken.in_short_rows_apart ? 1 : 0;
        columns += taken.columns ? 1 : 0;
    });
    if (cases == 0) { return; }
    EXPECT_GT(rows, cases / 12);
    EXPECT_GT(across, cases / 12);
    EXPECT_GT(widened, cases / 20);
    EXPECT_GT(words, cases / 20);
    EXPECT_GT(in_short_rows, cases / 40);
    if (cases >= 400) { EXPECT_GT(in_short_rows_apart, cases / 100); }  // few are drawn
    EXPECT_GT(columns, cases / 20);
}

// Rows that are one and the same signal, of which a tile may read no sample at all.
TEST(SignalTiles, WindowsThatLieOutsideASharedSignal) {
    Random random(217);
    for (const std::int64_t origin : {-40, 0, 40}) {
        Problem p{.length = 20, .taps = 3, .batch = 9, .filters = Filters::per_row, .mode = Mode::same, .origin = origin};
        p.input_row_stride = 0;
        EXPECT_TRUE(run(cuda::direct_tiles(), p, 217, random)) << describe(p);
    }
}

// All lines of a tile are one, of any type and step, whichever piece of the signal they are.
TEST(SignalTiles, ManyFiltersOfOneSignal) {
    Random random(219);
    std::size_t turn = 0;
    for (const Dtype type : {Dtype::f32, Dtype::i16, Dtype::u8, Dtype::f16, Dtype::complex64}) {
        for (const std::int64_t length : {9, 50, 700}) {
            Problem p{.length = length, .taps = 1 + length % 7, .batch = 45, .filters = Filters::per_row, .mode = Mode::full};
            p.dtype = type;
            if (is_integer(type)) { p.real_taps = p.output_dtype = Dtype::f32; }
            p.boundary = turn % 2 == 0 ? Boundary::reflect : Boundary::zero;
            p.input_row_stride = 0;
            p.input_sample_stride = std::array{1, -1, 2}.at(turn++ % 3);
            EXPECT_TRUE(run(cuda::direct_tiles(), p, 219, random)) << describe(p);
        }
    }
}

// Pieces from host memory hold the positions that windows reach: what a boundary repeats has to be among them.
TEST(ShortRowsOnHost, WindowsBesideTheirRowsAreRefused) {
    for (const Boundary boundary : {Boundary::zero, Boundary::reflect, Boundary::wrap, Boundary::nearest}) {
        for (const std::int64_t origin : {-3, 0, 3, 12}) {
            Problem p{.length = 4, .taps = 7, .batch = 5, .mode = Mode::same, .origin = origin};
            p.boundary = boundary;
            const bool reaches_all = origin == 0 || origin == 3;
            const std::vector<float> taps(7, 1.0F);
            PreparedOnHost prepared(cuda::short_rows_rung(), core::resolve(p), taps.data());
            EXPECT_EQ(prepared.make().empty(), boundary == Boundary::zero || reaches_all) << describe(p);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shards, SignalKernels, ::testing::Range(0, kShards));

}  // namespace
}  // namespace tapline::test
