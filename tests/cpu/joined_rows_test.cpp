// Short rows that follow each other are summed as one: the same results, and the bits of each row by itself.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "cpu/every_target.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "support/sanitized.hpp"
#include "tapline/plan.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using test::Random;

std::vector<unsigned char> run(const Problem& p, const unsigned char* in, const unsigned char* taps, int threads) {
    const Plan plan = make_plan(p, taps, {.device = "cpu", .algorithm = "direct", .threads = threads});
    if (p.batch > 1) { EXPECT_NE(plan.explain().find("rows as one"), std::string::npos) << plan.explain(); }
    std::vector<unsigned char> out(static_cast<std::size_t>(output_extent(p)) * size_of(output_dtype(p)), 0xAB);
    plan.execute(out.data(), in);
    return out;
}

Problem draw(Random& random) {
    constexpr std::array kTypes{Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::u8, Dtype::i16, Dtype::f16};
    constexpr std::array kModes{Mode::same, Mode::causal, Mode::leading, Mode::full, Mode::valid};
    constexpr std::array kBoundaries{Boundary::zero,    Boundary::constant, Boundary::nearest,
                                     Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    Problem p{.mode = test::pick(kModes, random), .boundary = test::pick(kBoundaries, random), .dtype = test::pick(kTypes, random)};
    p.taps = test::between(2, test::chance(0.3, random) ? 64 : 12, random);
    p.length = test::between(6 * p.taps, std::max<std::int64_t>(6 * p.taps, 640), random);
    p.batch = test::between(16, 16 + 60'000 / p.length, random);
    p.constant = 2;
    if (is_integer(p.dtype)) {
        p.real_taps = Dtype::f32;
        if (test::chance(0.5, random)) {
            p.output_dtype = p.dtype;
            if (test::chance(0.5, random)) { p.overflow = Overflow::truncate; }
        }
    }
    if (p.dtype == Dtype::f16 && test::chance(0.5, random)) { p.output_dtype = Dtype::f32; }
    if (test::chance(0.3, random) && !is_complex(p.dtype)) {
        p.scale = 0.75;
        p.bias = 3;
    }
    return p;
}

TEST(JoinedRows, GiveTheBitsOfEachRow) {
    test::on_every_target([] {
        Random random(31);
        const int cases = (cpu::current_target() == cpu::Target::scalar ? 30 : 150) / (test::kSanitized ? 3 : 1);
        for (int i = 0; i < cases; ++i) {
            const Problem p = draw(random);
            const std::size_t in_bytes = static_cast<std::size_t>(p.length) * size_of(p.dtype);
            std::vector<unsigned char> in(static_cast<std::size_t>(p.batch) * in_bytes);
            std::vector<unsigned char> taps(static_cast<std::size_t>(p.taps) * size_of(taps_dtype(p)));
            test::fill_random(in.data(), p.dtype, p.batch * p.length, random);
            test::fill_random(taps.data(), taps_dtype(p), p.taps, random);
            if (test::chance(0.2, random)) {  // equal ones, which are summed otherwise
                const std::size_t one = size_of(taps_dtype(p));
                for (std::size_t at = one; at < taps.size(); at += one) { std::memcpy(&taps[at], taps.data(), one); }
            }
            const std::vector<unsigned char> out = run(p, in.data(), taps.data(), 1);
            ASSERT_EQ(run(p, in.data(), taps.data(), 3), out) << test::describe(p);
            if (p.overflow != Overflow::truncate) {  // which comparisons do not know
                ASSERT_EQ(test::compare(p, out.data(), in.data(), taps.data(), true), "") << test::describe(p);
            }
            Problem one = p;
            one.batch = 1;
            const std::size_t row_bytes = out.size() / static_cast<std::size_t>(p.batch);
            for (const std::int64_t row : {std::int64_t{0}, test::between(0, p.batch - 1, random), p.batch - 1}) {
                const auto at = static_cast<std::size_t>(row);
                const std::vector<unsigned char> alone = run(one, in.data() + at * in_bytes, taps.data(), 1);
                ASSERT_EQ(std::memcmp(alone.data(), out.data() + at * row_bytes, row_bytes), 0)
                    << test::describe(p) << " row " << row;
            }
        }
    });
}

struct Layout {
    std::int64_t row, step, out_row;  // from row to row and from sample to sample, from row to row of outputs
    std::int64_t first;               // the place of the first sample
    std::int64_t elements;            // that hold all samples
};

// Rows with gaps, backwards, of every second sample, and across memory.
Layout draw_layout(std::int64_t rows, std::int64_t n, std::int64_t outputs, Random& random) {
    const std::int64_t gap = test::between(0, 5, random), out_row = outputs + (test::chance(0.3, random) ? 7 : 0);
    switch (test::between(0, 4, random)) {
        case 0:
            return {n + gap + 1, 1, out_row, 0, rows * (n + gap + 1)};
        case 1:
            return {n + gap, -1, out_row, n - 1, rows * (n + gap)};
        case 2:
            return {2 * n + gap, 2, out_row, 0, rows * (2 * n + gap)};
        case 3:  // the last row first
            return {-(n + gap), 1, out_row, (rows - 1) * (n + gap), rows * (n + gap)};
        default:
            return {1, rows + gap, out_row, 0, n * (rows + gap)};
    }
}

// Rows that lie in another way are packed first: the bits of packed ones, and nothing between outputs is written.
TEST(JoinedRows, OtherLayoutsGiveTheBitsOfPackedRows) {
    test::on_every_target([] {
        Random random(33);
        for (int i = 0; i < (cpu::current_target() == cpu::Target::scalar ? 30 : 150); ++i) {
            const Problem packed = draw(random);
            const std::int64_t n = packed.length, rows = packed.batch, outputs = output_length(packed);
            if (n > 512) { continue; }  // of eight bytes each
            const Layout layout = draw_layout(rows, n, outputs, random);
            Problem p = packed;
            p.axes = {{.length = n, .taps = p.taps, .input_stride = layout.step, .output_stride = 1}};
            p.batch_axes = {{.length = rows, .input_stride = layout.row, .output_stride = layout.out_row}};
            p.length = p.taps = 0;
            p.batch = 1;
            const auto bytes = static_cast<std::int64_t>(size_of(p.dtype)),
                       out_bytes = static_cast<std::int64_t>(size_of(output_dtype(p)));
            std::vector<unsigned char> in(static_cast<std::size_t>(rows * n * bytes)), taps(64 * size_of(taps_dtype(p)));
            std::vector<unsigned char> lying(static_cast<std::size_t>(layout.elements * bytes), 0xAB);
            test::fill_random(in.data(), p.dtype, rows * n, random);
            test::fill_random(taps.data(), taps_dtype(p), packed.taps, random);
            const auto place = [&](std::int64_t row, std::int64_t sample) {
                return lying.data() + (layout.first + row * layout.row + sample * layout.step) * bytes;
            };
            for (std::int64_t row = 0; row < rows; ++row) {
                for (std::int64_t sample = 0; sample < n; ++sample) {
                    std::memcpy(place(row, sample), &in[static_cast<std::size_t>((row * n + sample) * bytes)], size_of(p.dtype));
                }
            }
            const std::vector<unsigned char> wanted = run(packed, in.data(), taps.data(), 1);
            const Plan plan = make_plan(p, taps.data(), {.device = "cpu", .algorithm = "direct", .threads = 2});
            ASSERT_NE(plan.explain().find("rows as one"), std::string::npos) << plan.explain();
            std::vector<unsigned char> out(static_cast<std::size_t>(rows * layout.out_row * out_bytes), 0xAB);
            plan.execute(out.data(), place(0, 0));
            std::vector<unsigned char> expected(out.size(), 0xAB);
            for (std::int64_t row = 0; row < rows; ++row) {
                std::memcpy(&expected[static_cast<std::size_t>(row * layout.out_row * out_bytes)],
                            &wanted[static_cast<std::size_t>(row * outputs * out_bytes)],
                            static_cast<std::size_t>(outputs * out_bytes));
            }
            ASSERT_EQ(out, expected) << test::describe(p);
        }
    });
}

// Frames of channels: rows of frames as one row of them.
TEST(JoinedRows, ChannelsGiveTheBitsOfEachFrameByItself) {
    test::on_every_target([] {
        Random random(32);
        for (int i = 0; i < (cpu::current_target() == cpu::Target::scalar ? 20 : 80); ++i) {
            Problem p = draw(random);
            const std::int64_t c = test::pick(std::array<std::int64_t, 5>{2, 3, 4, 8, 32}, random), rows = p.batch;
            const std::int64_t n = std::max(std::min(p.length, 640 / c), 6 * p.taps);
            if (n * c > 640) { continue; }
            const auto outputs = [&] {
                Problem one = p;
                one.length = n;
                return output_length(one);
            }();
            p.axes = {{.length = n, .taps = p.taps, .input_stride = c, .output_stride = c}};
            p.batch_axes = {{.length = rows, .input_stride = n * c, .output_stride = outputs * c},
                            {.length = c, .input_stride = 1, .output_stride = 1}};
            p.length = p.taps = 0;
            p.batch = 1;
            std::vector<unsigned char> in(static_cast<std::size_t>(rows * n * c) * size_of(p.dtype));
            std::vector<unsigned char> taps(static_cast<std::size_t>(p.axes[0].taps) * size_of(taps_dtype(p)));
            test::fill_random(in.data(), p.dtype, rows * n * c, random);
            test::fill_random(taps.data(), taps_dtype(p), p.axes[0].taps, random);
            const PlanOptions options{.device = "cpu", .algorithm = "direct", .threads = 2};
            const Plan plan = make_plan(p, taps.data(), options);
            ASSERT_NE(plan.explain().find("rows as one"), std::string::npos) << plan.explain();
            std::vector<unsigned char> out(static_cast<std::size_t>(rows * outputs * c) * size_of(output_dtype(p)), 0xAB);
            plan.execute(out.data(), in.data());
            // The frames of one row are too few to be joined.
            Problem one = p;
            one.batch_axes[0].length = 1;
            const std::size_t in_bytes = in.size() / static_cast<std::size_t>(rows),
                              out_bytes = out.size() / static_cast<std::size_t>(rows);
            std::vector<unsigned char> alone(out_bytes);
            const Plan plan_of_one = make_plan(one, taps.data(), options);
            for (const std::int64_t row : {std::int64_t{0}, test::between(0, rows - 1, random), rows - 1}) {
                const auto at = static_cast<std::size_t>(row);
                plan_of_one.execute(alone.data(), in.data() + at * in_bytes);
                ASSERT_EQ(std::memcmp(alone.data(), out.data() + at * out_bytes, out_bytes), 0)
                    << test::describe(p) << " row " << row;
            }
        }
    });
}

// What is not finite stays in its row.
TEST(JoinedRows, ARowOfNaNsIsAloneWithThem) {
    const Problem p{.length = 40, .taps = 9, .batch = 50, .mode = Mode::same, .boundary = Boundary::wrap};
    std::vector<float> in(40 * 50, 1.0F), taps(9, 0.5F), out(in.size());
    taps[3] = 0.25F;
    std::fill_n(in.begin() + 20 * 40, 40, std::numeric_limits<float>::quiet_NaN());
    make_plan(p, taps.data(), {.device = "cpu", .algorithm = "direct"}).execute(out.data(), in.data());
    for (std::int64_t i = 0; i < 40 * 50; ++i) { ASSERT_EQ(std::isnan(out[static_cast<std::size_t>(i)]), i / 40 == 20) << i; }
}

}  // namespace
}  // namespace tapline
