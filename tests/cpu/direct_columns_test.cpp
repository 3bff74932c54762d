// Short rows, which become columns of a block: the bits of each row by itself, also where every row has a filter of its own.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "cpu/every_target.hpp"
#include "support/buffers.hpp"
#include "support/draw.hpp"
#include "support/sanitized.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using test::GuardedBuffer;
using test::Random;

std::size_t bytes_of(std::int64_t elements, Dtype dtype) { return static_cast<std::size_t>(elements) * size_of(dtype); }

// Recordings of interleaved channels: sample i of channel c of recording r is at (r * length + i) * channels + c.
struct Recordings {
    std::int64_t recordings, length, channels;
    bool own;  // a filter for each channel of each recording
};

Problem problem_of(const Recordings& of, std::int64_t taps, Dtype dtype, Mode mode, Boundary boundary) {
    Problem p{.boundary = boundary, .dtype = dtype};
    if (is_integer(dtype)) { p.real_taps = p.output_dtype = Dtype::f32; }
    const std::int64_t outputs = output_length({.length = of.length, .taps = taps, .mode = mode});
    p.axes.push_back({.length = of.length, .taps = taps, .mode = mode, .input_stride = of.channels, .output_stride = of.channels});
    p.batch_axes.push_back({.length = of.recordings,
                            .input_stride = of.length * of.channels,
                            .output_stride = outputs * of.channels,
                            .taps_stride = of.own ? taps * of.channels : 0});
    p.batch_axes.push_back({.length = of.channels, .input_stride = 1, .output_stride = 1, .taps_stride = of.own ? taps : 0});
    return p;
}

// Executes a problem_of() and each of its rows by itself, whose bits are the same; counts in `columns` whether it goes by those.
void expect_rows_by_themselves(const Recordings& of, const Problem& p, Random& random, int& columns) {
    const std::int64_t taps = p.axes[0].taps;
    const Dtype of_taps = taps_dtype(p), of_outputs = output_dtype(p);
    GuardedBuffer in(bytes_of(input_extent(p), p.dtype), 0), filters(bytes_of(taps_extent(p), of_taps), 0);
    GuardedBuffer out(bytes_of(output_extent(p), of_outputs), 0);
    test::fill_random(in.data(), p.dtype, input_extent(p), random);
    test::fill_random(filters.data(), of_taps, taps_extent(p), random);
    const PlanOptions options{.device = "cpu", .algorithm = "direct", .threads = 2};
    const Plan plan = make_plan(p, filters.data(), options);
    columns += plan.explain().find("columns of") != std::string::npos ? 1 : 0;
    plan.execute(out.data(), in.data());
    ASSERT_TRUE(out.guards_intact()) << test::describe(p);

    Problem row{.length = of.length,
                .taps = taps,
                .mode = p.axes[0].mode.value_or(p.mode),
                .boundary = p.boundary,
                .constant = p.constant,
                .dtype = p.dtype};
    row.real_taps = p.real_taps;
    row.output_dtype = p.output_dtype;
    row.scale = p.scale;
    const std::int64_t outputs = output_length(row);
    std::vector<std::byte> alone_in(bytes_of(of.length, p.dtype)), alone(bytes_of(outputs, of_outputs));
    const std::size_t in_bytes = size_of(p.dtype), out_bytes = size_of(of_outputs);
    for (std::int64_t r = 0; r < of.recordings * of.channels; ++r) {
        const std::int64_t recording = r / of.channels, channel = r % of.channels;
        const auto at = [&](std::int64_t length, std::int64_t sample, std::size_t bytes) {
            return static_cast<std::size_t>((recording * length + sample) * of.channels + channel) * bytes;
        };
        for (std::int64_t s = 0; s < of.length; ++s) {
            std::memcpy(alone_in.data() + static_cast<std::size_t>(s) * in_bytes, in.data() + at(of.length, s, in_bytes), in_bytes);
        }
        const auto* const own = filters.data() + (of.own ? bytes_of(r * taps, of_taps) : 0);
        make_plan(row, own, options).execute(alone.data(), alone_in.data());
        for (std::int64_t o = 0; o < outputs; ++o) {
            ASSERT_EQ(std::memcmp(out.data() + at(outputs, o, out_bytes), alone.data() + static_cast<std::size_t>(o) * out_bytes,
                                  out_bytes),
                      0)
                << "output " << o << " of channel " << channel << " of recording " << recording << ": " << test::describe(p);
        }
    }
}

TEST(DirectColumns, TheBitsOfEachRowByItself) {
    Random random(41);
    int columns = 0;
    for (int i = 0; i < 300; ++i) {
        const Recordings of{.recordings = test::between(16, 90, random),
                            .length = test::between(2, 60, random),
                            .channels = test::pick(std::vector<std::int64_t>{1, 1, 2, 3, 5}, random),
                            .own = test::chance(0.7, random)};
        const std::int64_t taps = test::between(1, 64, random);
        const Mode mode = test::pick(std::vector<Mode>{Mode::same, Mode::full, Mode::causal}, random);
        const Boundary boundary = test::pick(std::vector<Boundary>{Boundary::zero, Boundary::reflect, Boundary::wrap}, random);
        const Dtype dtype = test::pick(std::vector<Dtype>{Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::i16}, random);
        const Problem p = problem_of(of, taps, dtype, mode, boundary);
        ASSERT_NO_FATAL_FAILURE(expect_rows_by_themselves(of, p, random, columns));
    }
    EXPECT_GT(columns, 150);
}

// Masks of a column over views of images: backwards, every second or third pixel, with gaps between their rows.
TEST(DirectColumns, ColumnsOfViewsHaveTheBitsOfEachByItself) {
    Random random(42);
    int columns = 0;
    for (int i = 0; i < 250; ++i) {
        const std::int64_t step = test::pick(std::vector<std::int64_t>{-1, 2, -2, 3, 4}, random);
        const std::int64_t width = test::between(2, test::chance(0.3, random) ? 300 : 40, random);
        const std::int64_t length = test::between(1, test::chance(0.2, random) ? 900 : 70, random);
        const std::int64_t gap = test::chance(0.5, random) ? 0 : test::between(0, 9, random);
        const std::int64_t line = (width * std::abs(step) + gap) * (test::chance(0.5, random) ? -1 : 1);
        const std::int64_t taps = test::between(1, 64, random);
        const Mode mode = test::pick(std::vector<Mode>{Mode::same, Mode::full, Mode::causal}, random);
        const Boundary boundary = test::pick(
            std::vector<Boundary>{Boundary::zero, Boundary::constant, Boundary::reflect, Boundary::wrap, Boundary::nearest},
            random);
        const Dtype dtype =
            test::pick(std::vector<Dtype>{Dtype::f32, Dtype::f32, Dtype::f64, Dtype::f16, Dtype::i16, Dtype::u8}, random);
        Problem row{.length = length, .taps = taps, .mode = mode, .boundary = boundary, .dtype = dtype};
        if (is_integer(dtype)) { row.real_taps = row.output_dtype = Dtype::f32; }
        row.constant = boundary == Boundary::constant ? 3 : 0;
        row.scale = test::chance(0.3, random) ? 0.5 : 1;
        const std::int64_t outputs = output_length(row);
        Problem p = row;
        p.length = p.taps = 0;
        p.axes = {
            {.length = length, .taps = taps, .mode = mode, .boundary = boundary, .input_stride = line, .output_stride = width},
            {.length = width, .taps = 1, .boundary = boundary, .input_stride = step, .output_stride = 1}};
        const Dtype of_taps = taps_dtype(p), of_outputs = output_dtype(p);
        GuardedBuffer in(bytes_of(input_extent(p), dtype), 0), filter(bytes_of(taps, of_taps), 0);
        GuardedBuffer out(bytes_of(output_extent(p), of_outputs), 0);
        test::fill_random(in.data(), dtype, input_extent(p), random);
        test::fill_random(filter.data(), of_taps, taps, random);
        const PlanOptions options{.device = "cpu", .algorithm = "direct", .threads = 2};
        const Plan plan = make_plan(p, filter.data(), options);
        columns += plan.explain().find("columns of") != std::string::npos ? 1 : 0;
        const unsigned char* const first = in.data() + input_start(p) * static_cast<std::int64_t>(size_of(dtype));
        plan.execute(out.data(), first);
        ASSERT_TRUE(out.guards_intact() && in.guards_intact()) << test::describe(p);

        std::vector<std::byte> alone_in(bytes_of(length, dtype)), alone(bytes_of(outputs, of_outputs));
        const std::size_t in_bytes = size_of(dtype), out_bytes = size_of(of_outputs);
        const Plan plan_alone = make_plan(row, filter.data(), options);
        for (std::int64_t c = 0; c < width; ++c) {
            for (std::int64_t s = 0; s < length; ++s) {
                std::memcpy(alone_in.data() + static_cast<std::size_t>(s) * in_bytes,
                            first + (s * line + c * step) * static_cast<std::int64_t>(in_bytes), in_bytes);
            }
            plan_alone.execute(alone.data(), alone_in.data());
            for (std::int64_t o = 0; o < outputs; ++o) {
                ASSERT_EQ(std::memcmp(out.data() + static_cast<std::size_t>(o * width + c) * out_bytes,
                                      alone.data() + static_cast<std::size_t>(o) * out_bytes, out_bytes),
                          0)
                    << "output " << o << " of column " << c << ": " << test::describe(p) << plan.explain();
            }
        }
    }
    EXPECT_GT(columns, 150);
}

// Recordings of a filter each, whose channels are read backwards or with others between them.
TEST(DirectColumns, RecordingsOfViewsWithFiltersOfTheirOwn) {
    constexpr std::int64_t kRecordings = 3, kLength = 50;
    Random random(43);
    for (const std::int64_t step : {-1, 2, -3}) {
        for (const std::int64_t channels : {4, 16, 20, 100}) {
            for (const std::int64_t taps : {1, 5, 40}) {
                const std::int64_t line = channels * std::abs(step);
                Problem p{.dtype = Dtype::f32};
                p.axes = {{.length = kLength, .taps = taps, .mode = Mode::same, .input_stride = line, .output_stride = channels}};
                p.batch_axes = {{kRecordings, kLength * line, kLength * channels, taps}, {channels, step, 1, 0}};
                std::vector<float> in(static_cast<std::size_t>(input_extent(p)));
                std::vector<float> filters(static_cast<std::size_t>(taps_extent(p)));
                test::fill_random(in.data(), Dtype::f32, input_extent(p), random);
                test::fill_random(filters.data(), Dtype::f32, taps_extent(p), random);
                std::vector<float> out(static_cast<std::size_t>(output_extent(p))), wanted(out.size());
                const float* const first = in.data() + input_start(p);
                make_plan(p, filters.data(), {.device = "cpu", .algorithm = "direct"}).execute(out.data(), first);
                make_plan(p, filters.data(), {.device = "cpu", .algorithm = "textbook"}).execute(wanted.data(), first);
                for (std::size_t i = 0; i < out.size(); ++i) {
                    ASSERT_NEAR(out[i], wanted[i], 1e-4F * (1 + std::abs(wanted[i]))) << i << ": " << test::describe(p);
                }
            }
        }
    }
}

// Complex rows side by side with filters of their own under few taps are as many pairs of real ones.
TEST(DirectColumns, ComplexRowsWithFiltersOfTheirOwn) {
    test::on_every_target([] {
        Random random(47);
        int columns = 0;
        constexpr int kCases = 30;
        for (int i = 0; i < kCases; ++i) {
            const Recordings of{.recordings = test::between(1, 3, random),
                                .length = test::between(10, 300, random),
                                .channels = test::pick(std::vector<std::int64_t>{4, 7, 16, 33, 130}, random),
                                .own = true};
            const std::int64_t taps = test::between(1, 15, random);
            const Mode mode = test::pick(std::vector<Mode>{Mode::same, Mode::full, Mode::valid}, random);
            if (mode == Mode::valid && of.length < taps) { continue; }
            const auto boundary = static_cast<Boundary>(i % 6);
            const Dtype dtype = i % 2 == 0 ? Dtype::complex64 : Dtype::complex128;
            Problem p = problem_of(of, taps, dtype, mode, boundary);
            p.scale = i % 5 == 0 ? 0.5 : 1;
            p.constant = boundary == Boundary::constant ? 0.7 : 0;
            ASSERT_NO_FATAL_FAILURE(expect_rows_by_themselves(of, p, random, columns));
        }
        EXPECT_GT(columns, kCases / 3);
    });
}

// Many rows under one filter of many taps are summed where their samples lie, or from copies where these share sets of a cache or
// are widened; sums that are no outputs yet become them block by block.
TEST(DirectColumns, ManyTapsHaveTheBitsOfEachRowByItself) {
    test::on_every_target([] {
        Random random(45);
        int as_they_lie = 0;
        const int cases = test::kSanitized ? 10 : 40;
        for (int i = 0; i < cases; ++i) {
            const std::int64_t rows =
                i % 6 == 5 ? 512 : test::pick(std::vector<std::int64_t>{16, 32, 48, 100, 130, 200, 257, 520}, random);
            const std::int64_t taps = test::between(i % 2 == 0 ? 17 : 33, i % 2 == 0 ? 32 : 64, random), gap = i % 6 == 4 ? 3 : 0;
            const std::int64_t least = i % 7 == 6 ? taps : 16 * taps, pieces = test::between(1, 2, random);
            const std::int64_t length = least + test::between(0, 50, random);
            Problem p{.dtype = i % 5 == 4 ? Dtype::i16 : i % 3 == 1 ? Dtype::f64 : Dtype::f32};
            if (is_integer(p.dtype)) { p.real_taps = p.output_dtype = Dtype::f32; }
            if (i % 4 == 2 || i % 10 == 9) {
                p.scale = 0.5;
                p.bias = 40;
                if (i % 8 == 2) { p.output_dtype = Dtype::u8; }
            }
            const Dtype of_taps = taps_dtype(p), of_outputs = output_dtype(p);
            const Mode mode = test::pick(std::vector<Mode>{Mode::same, Mode::full, Mode::valid}, random);
            const std::int64_t outputs = output_length({.length = length, .taps = taps, .mode = mode});
            const auto boundary = static_cast<Boundary>(i % 6);
            const std::int64_t step = (i % 4 == 3 ? -1 : 1) * (rows + gap);
            p.axes.push_back(
                {.length = length, .taps = taps, .mode = mode, .boundary = boundary, .input_stride = step, .output_stride = rows});
            p.constant = boundary != Boundary::constant ? 0 : is_integer(p.dtype) ? 2 : 0.7;
            p.batch_axes.push_back({.length = pieces, .input_stride = length * (rows + gap), .output_stride = outputs * rows});
            p.batch_axes.push_back({.length = rows, .input_stride = 1, .output_stride = 1});
            const std::size_t size = size_of(p.dtype), out_size = size_of(of_outputs);
            GuardedBuffer in(bytes_of(pieces * length * (rows + gap), p.dtype), 0), filter(bytes_of(taps, of_taps), 0);
            GuardedBuffer out(bytes_of(output_extent(p), of_outputs), 0);
            test::fill_random(in.data(), p.dtype, pieces * length * (rows + gap), random);
            test::fill_random(filter.data(), of_taps, taps, random);
            const PlanOptions options{.device = "cpu", .algorithm = "direct", .threads = 2};
            const Plan plan = make_plan(p, filter.data(), options);
            as_they_lie += plan.explain().find("as they lie") != std::string::npos ? 1 : 0;
            const std::int64_t first = step < 0 ? (length - 1) * (rows + gap) : 0;
            plan.execute(out.data(), in.data() + static_cast<std::size_t>(first) * size);
            ASSERT_TRUE(out.guards_intact()) << test::describe(p);

            Problem row{.length = length, .taps = taps, .mode = mode, .boundary = boundary, .dtype = p.dtype};
            row.constant = p.constant;
            row.real_taps = p.real_taps;
            row.output_dtype = p.output_dtype;
            row.scale = p.scale;
            row.bias = p.bias;
            const Plan of_row = make_plan(row, filter.data(), options);
            std::vector<std::byte> alone_in(bytes_of(length, p.dtype)), alone(bytes_of(outputs, of_outputs));
            for (const std::int64_t r : {std::int64_t{0}, test::between(1, rows - 2, random), rows - 16, rows - 1}) {
                const std::int64_t piece = pieces - 1;
                for (std::int64_t s = 0; s < length; ++s) {
                    const std::int64_t at = (piece * length + (step < 0 ? length - 1 - s : s)) * (rows + gap) + r;
                    std::memcpy(&alone_in[static_cast<std::size_t>(s) * size], in.data() + static_cast<std::size_t>(at) * size,
                                size);
                }
                of_row.execute(alone.data(), alone_in.data());
                for (std::int64_t o = 0; o < outputs; ++o) {
                    const std::size_t at = static_cast<std::size_t>((piece * outputs + o) * rows + r) * out_size;
                    ASSERT_EQ(std::memcmp(out.data() + at, &alone[static_cast<std::size_t>(o) * out_size], out_size), 0)
                        << test::describe(p) << " row " << r << " output " << o;
                }
            }
        }
        if (cpu::current_target() == cpu::Target::avx512) { EXPECT_GT(as_they_lie, cases / 5); }
    });
}

}  // namespace
}  // namespace tapline
