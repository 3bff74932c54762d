// Few taps over samples in other orders than their outputs, which are summed as they lie: the bits of each row by itself.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "cpu/every_target.hpp"
#include "support/buffers.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using test::GuardedBuffer;
using test::Random;

std::size_t bytes_of(std::int64_t elements, Dtype dtype) { return static_cast<std::size_t>(elements) * size_of(dtype); }

struct Views {
    Problem row;  // one of them by itself
    std::int64_t rows = 1, row_step = 1, sample_step = 1, out_gap = 0;
    std::size_t offset = 0;    // of the outputs, from a line of the cache
    bool own = false;          // a filter for each row
    bool across = false;       // outputs lie side by side, too
    std::int64_t checked = 1;  // every so-manyth row
    [[nodiscard]] std::int64_t out_row() const { return across ? 1 : output_length(row) + out_gap; }
    [[nodiscard]] std::int64_t out_step() const { return across ? rows + out_gap : 1; }
};

Problem problem_of(const Views& of) {
    Problem p = of.row;
    p.length = p.taps = 0;
    p.axes = {{.length = of.row.length,
               .taps = of.row.taps,
               .mode = of.row.mode,
               .boundary = of.row.boundary,
               .input_stride = of.sample_step,
               .output_stride = of.out_step()}};
    p.batch_axes = {
        {.length = of.rows, .input_stride = of.row_step, .output_stride = of.out_row(), .taps_stride = of.own ? of.row.taps : 0}};
    return p;
}

// Whether outputs were summed without lines.
bool expect_the_bits_of_rows(const Views& of, int threads, Random& random) {
    const Problem p = problem_of(of);
    const Dtype dtype = p.dtype, of_taps = taps_dtype(p), of_outputs = output_dtype(p);
    const std::int64_t length = of.row.length, outputs = output_length(of.row);
    std::vector<std::byte> in(bytes_of(input_extent(p), dtype)), filters(bytes_of(taps_extent(p), of_taps));
    GuardedBuffer out(bytes_of(output_extent(p), of_outputs), of.offset);
    test::fill_random(in.data(), dtype, input_extent(p), random);
    test::fill_random(filters.data(), of_taps, taps_extent(p), random);
    const Plan plan = make_plan(p, filters.data(), {.device = "cpu", .algorithm = "direct", .threads = threads});
    const std::byte* const first = in.data() + input_start(p) * static_cast<std::int64_t>(size_of(dtype));
    plan.execute(out.data(), first);
    EXPECT_TRUE(out.guards_intact()) << test::describe(p);

    const std::size_t in_bytes = size_of(dtype), out_bytes = size_of(of_outputs);
    std::vector<std::byte> alone_in(bytes_of(length, dtype)), alone(bytes_of(outputs, of_outputs));
    for (std::int64_t r = 0; r < of.rows; r += of.checked) {
        for (std::int64_t s = 0; s < length; ++s) {
            std::memcpy(alone_in.data() + static_cast<std::size_t>(s) * in_bytes,
                        first + (r * of.row_step + s * of.sample_step) * static_cast<std::int64_t>(in_bytes), in_bytes);
        }
        const auto* const own = filters.data() + (of.own ? bytes_of(r * of.row.taps, of_taps) : 0);
        make_plan(of.row, own, {.device = "cpu", .algorithm = "direct", .threads = 1}).execute(alone.data(), alone_in.data());
        const bool same =
            !of.across && std::memcmp(out.data() + bytes_of(r * of.out_row(), of_outputs), alone.data(), alone.size()) == 0;
        for (std::int64_t o = 0; o < (same ? 0 : outputs); ++o) {
            const unsigned char* const made = out.data() + bytes_of(r * of.out_row() + o * of.out_step(), of_outputs);
            if (std::memcmp(made, alone.data() + static_cast<std::size_t>(o) * out_bytes, out_bytes) == 0) { continue; }
            ADD_FAILURE() << "output " << o << " of row " << r << ": " << test::describe(p) << "\n" << plan.explain();
            return false;
        }
    }
    return plan.explain().find("as they lie") != std::string::npos;
}

Problem draw_row(std::int64_t length, Random& random) {
    constexpr std::array kDtypes{Dtype::f32, Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16,
                                 Dtype::i8,  Dtype::u8,  Dtype::i16, Dtype::u16,       Dtype::bf16,       Dtype::i32};
    Problem row{.length = length,
                .taps = test::between(1, test::chance(0.2, random) ? 20 : 6, random),
                .mode = test::pick(std::array{Mode::same, Mode::full, Mode::valid, Mode::causal}, random),
                .boundary = test::pick(std::array{Boundary::zero, Boundary::constant, Boundary::reflect, Boundary::wrap}, random),
                .dtype = test::pick(kDtypes, random)};
    row.constant = row.boundary == Boundary::constant ? 3 : 0;
    if (is_integer(row.dtype)) { row.real_taps = row.output_dtype = test::chance(0.8, random) ? Dtype::f32 : Dtype::f64; }
    if (test::chance(0.3, random) && !is_complex(row.dtype)) {
        row.scale = 0.5;
        row.bias = 1;
        if (test::chance(0.5, random)) { row.output_dtype = Dtype::u8; }
    }
    return row;
}

std::size_t draw_offset(const Problem& row, Random& random) {
    return size_of(output_dtype(row)) * static_cast<std::size_t>(test::between(0, 15, random));
}

TEST(FewTaps, RowsAcrossMemoryHaveTheBitsOfEachByItself) {
    test::on_every_target([] {
        Random random(51);
        int as_they_lie = 0;
        for (int i = 0; i < 250; ++i) {
            const std::int64_t rows = test::between(2, 70, random),
                               gap = test::chance(0.5, random) ? 0 : test::between(1, 40, random);
            const std::int64_t length = test::chance(0.2, random) ? 1024 : test::between(40, 1500, random);
            const std::int64_t down = test::chance(0.2, random) ? -1 : 1;
            Views of{.row = draw_row(length, random), .rows = rows, .row_step = 1, .sample_step = down * (rows + gap)};
            of.out_gap = test::chance(0.5, random) ? 0 : test::between(1, 20, random);
            of.offset = draw_offset(of.row, random);
            of.own = test::chance(0.1, random);
            as_they_lie += expect_the_bits_of_rows(of, static_cast<int>(test::between(1, 3, random)), random) ? 1 : 0;
            if (testing::Test::HasFailure()) { return; }
        }
        if (cpu::current_target() != cpu::Target::scalar) { EXPECT_GT(as_they_lie, 25); }
    });
}

TEST(FewTaps, RowsInOtherOrdersHaveTheBitsOfEachByItself) {
    test::on_every_target([] {
        Random random(52);
        int as_they_lie = 0;
        for (int i = 0; i < 250; ++i) {
            const std::int64_t step = test::pick(std::array<std::int64_t, 5>{-1, -1, 1, 2, -2}, random);
            const std::int64_t length = test::between(1, test::chance(0.7, random) ? 9000 : 300, random);
            Views of{.row = draw_row(length, random), .rows = test::between(1, 5, random), .sample_step = step};
            of.row.taps = of.row.mode == Mode::valid ? std::min(of.row.taps, length) : of.row.taps;
            of.row_step = length * std::abs(step) + test::between(0, 9, random);
            of.out_gap = test::chance(0.5, random) ? 0 : test::between(1, 20, random);
            of.offset = draw_offset(of.row, random);
            of.own = test::chance(0.2, random);
            as_they_lie += expect_the_bits_of_rows(of, static_cast<int>(test::between(1, 3, random)), random) ? 1 : 0;
            if (testing::Test::HasFailure()) { return; }
        }
        if (cpu::current_target() != cpu::Target::scalar) { EXPECT_GT(as_they_lie, 25); }
    });
}

// Rows that stay side by side, widened as they are read or each under its own filter.
TEST(FewTaps, RowsThatStaySideBySideHaveTheBitsOfEachByItself) {
    test::on_every_target([] {
        Random random(54);
        for (int i = 0; i < 150; ++i) {
            const std::int64_t rows = test::between(2, test::chance(0.3, random) ? 300 : 70, random);
            const std::int64_t gap = test::chance(0.6, random) ? 0 : test::between(1, 20, random);
            Views of{.row = draw_row(test::between(20, 400, random), random), .rows = rows, .sample_step = rows + gap};
            of.across = true;
            of.out_gap = test::chance(0.6, random) ? 0 : test::between(1, 20, random);
            of.offset = draw_offset(of.row, random);
            of.own = test::chance(0.5, random);
            if (test::chance(0.2, random)) { of.row.taps = test::between(17, 40, random); }
            if (of.row.mode == Mode::valid) { of.row.taps = std::min(of.row.taps, of.row.length); }
            expect_the_bits_of_rows(of, static_cast<int>(test::between(1, 3, random)), random);
            if (testing::Test::HasFailure()) { return; }
        }
    });
}

// Results past the caches.
TEST(FewTaps, LargeResults) {
    Random random(53);
    constexpr std::int64_t kRows = 16, kLength = 400'000;
    for (const std::int64_t gap : {0, 3}) {
        for (const std::int64_t taps : {1, 3}) {
            if (gap == 0 && taps == 1) { continue; }
            const Problem row{.length = kLength, .taps = taps, .dtype = Dtype::f32};
            Views of{.row = row, .rows = kRows, .row_step = 1, .sample_step = kRows, .out_gap = gap};
            of.offset = gap == 0 ? 16 : 0;
            of.checked = 6;
            expect_the_bits_of_rows(of, 2, random);
            of.row_step = kLength;
            of.sample_step = -1;
            expect_the_bits_of_rows(of, 2, random);
            of.row_step = 2 * kLength;
            of.sample_step = 2;
            expect_the_bits_of_rows(of, 2, random);
            Views wide{.row = row, .rows = kRows, .sample_step = kRows, .out_gap = gap, .offset = of.offset, .checked = 6};
            wide.row.dtype = Dtype::i16;
            wide.row.real_taps = wide.row.output_dtype = Dtype::f32;
            wide.across = true;
            expect_the_bits_of_rows(wide, 2, random);
        }
    }
}

}  // namespace
}  // namespace tapline
