// Transforms with a row in each SIMD lane: rows side by side, of any number, boundary and place.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "support/buffers.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "support/sanitized.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using test::GuardedBuffer;
using test::Random;

// `pieces` arrays of (length, rows) elements, with `gap` between lines of memory in the input.
Problem side_by_side(std::int64_t pieces, std::int64_t length, std::int64_t rows, std::int64_t taps, std::int64_t gap, Mode mode) {
    Problem p;
    const std::int64_t outputs = output_length({.length = length, .taps = taps, .mode = mode});
    p.axes.push_back({.length = length, .taps = taps, .mode = mode, .input_stride = rows + gap, .output_stride = rows});
    p.batch_axes.push_back({.length = pieces, .input_stride = length * (rows + gap), .output_stride = outputs * rows});
    p.batch_axes.push_back({.length = rows, .input_stride = 1, .output_stride = 1});
    return p;
}

Plan plan_of(const Problem& p, const void* taps, int threads = 2) {
    return make_plan(p, taps, {.device = "cpu", .algorithm = "overlap_save", .threads = threads});
}

bool goes_side_by_side(const Plan& plan) { return plan.explain().find("rows side by side") != std::string::npos; }

// Where the vectors of this machine fill lines of the cache.
bool has_vectors() {
    const Problem p = side_by_side(1, 4000, 16, 200, 0, Mode::same);
    const std::vector<float> taps(200, 1.0F);
    return goes_side_by_side(plan_of(p, taps.data()));
}

std::size_t bytes_of(std::int64_t elements, Dtype dtype) { return static_cast<std::size_t>(elements) * size_of(dtype); }

TEST(ColumnTransforms, AnyBoundaryModeAndNumberOfRows) {
    Random random(71);
    int taken = 0;
    constexpr int kCases = test::kSanitized ? 20 : 40;
    for (int i = 0; i < kCases; ++i) {
        const std::int64_t rows = test::pick(std::vector<std::int64_t>{12, 16, 29, 32, 45, 64, 80}, random);
        const std::int64_t length = test::between(100, 1200, random),
                           taps = test::between(65, std::min<std::int64_t>(length, 500), random);
        const Mode mode = test::pick(std::vector<Mode>{Mode::same, Mode::full, Mode::causal, Mode::valid}, random);
        Problem p = side_by_side(test::between(1, 2, random), length, rows, taps, test::between(0, 3, random), mode);
        p.boundary = test::pick(std::vector<Boundary>{Boundary::zero, Boundary::reflect, Boundary::wrap, Boundary::mirror,
                                                      Boundary::nearest, Boundary::constant},
                                random);
        if (p.boundary == Boundary::constant) { p.constant = 0.7; }
        p.dtype = test::chance(0.6, random) ? Dtype::f32 : Dtype::complex64;
        GuardedBuffer in(bytes_of(input_extent(p), p.dtype), 0), h(bytes_of(taps, taps_dtype(p)), 0);
        GuardedBuffer out(bytes_of(output_extent(p), p.dtype), 0);
        test::fill_random(in.data(), p.dtype, input_extent(p), random);
        test::fill_random(h.data(), taps_dtype(p), taps, random);
        const Plan plan = plan_of(p, h.data());
        taken += goes_side_by_side(plan) ? 1 : 0;
        plan.execute(out.data(), in.data());
        ASSERT_TRUE(out.guards_intact()) << test::describe(p);
        ASSERT_EQ(test::compare(p, out.data(), in.data(), h.data(), false), "") << test::describe(p);
    }
    if (has_vectors()) { EXPECT_GT(taken, kCases / 2); }
}

// The bits depend neither on the number of threads nor on what lies in other rows, but for a NaN's, which stays where it belongs.
TEST(ColumnTransforms, RowsDoNotTouchEachOther) {
    Random random(72);
    constexpr std::int64_t kLength = 3000, kRows = 40, kTaps = 150;
    const Problem p = side_by_side(1, kLength, kRows, kTaps, 0, Mode::same);
    const bool alone = has_vectors();  // else two rows share a transform
    std::vector<float> in(kLength * kRows), taps(kTaps), one(in.size()), two(in.size());
    test::fill_random(in.data(), Dtype::f32, kLength * kRows, random);
    test::fill_random(taps.data(), Dtype::f32, kTaps, random);
    plan_of(p, taps.data(), 1).execute(one.data(), in.data());
    plan_of(p, taps.data(), 2).execute(two.data(), in.data());
    EXPECT_EQ(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)), 0);
    for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        std::vector<float> other = in;
        other[1500 * kRows + 17] = odd;
        plan_of(p, taps.data()).execute(two.data(), other.data());
        ASSERT_EQ(test::compare(p, two.data(), other.data(), taps.data(), false), "");
        for (std::int64_t o = 0; alone && o < kLength; ++o) {
            for (std::int64_t row = 0; row < kRows; ++row) {
                const auto at = static_cast<std::size_t>(o * kRows + row);
                if (row != 17) { ASSERT_EQ(two[at], one[at]) << "output " << o << " of row " << row; }
            }
        }
    }
}

// Up to 128 taps a quiet passage beside a loud one keeps its digits.
TEST(ColumnTransforms, QuietPassagesKeepTheirDigits) {
    Random random(73);
    constexpr std::int64_t kLength = 4000, kRows = 30, kTaps = 100;
    for (const Dtype dtype : {Dtype::f32, Dtype::complex64}) {
        Problem p = side_by_side(1, kLength, kRows, kTaps, 0, Mode::same);
        p.dtype = dtype;
        const std::int64_t parts = dtype == Dtype::f32 ? 1 : 2;
        std::vector<float> in(static_cast<std::size_t>(kLength * kRows * parts)), out(in.size()),
            taps(static_cast<std::size_t>(kTaps * parts));
        test::fill_random(in.data(), dtype, kLength * kRows, random);
        test::fill_random(taps.data(), taps_dtype(p), kTaps, random);
        for (std::int64_t i = 1000; i < 2000; ++i) {
            for (std::int64_t row = 0; row < kRows; row += 3) {
                for (std::int64_t part = 0; part < parts; ++part) {
                    in[static_cast<std::size_t>((i * kRows + row) * parts + part)] *= 1e-6F;
                }
            }
        }
        plan_of(p, taps.data()).execute(out.data(), in.data());
        EXPECT_EQ(test::compare(p, out.data(), in.data(), taps.data(), true), "") << to_string(dtype);
    }
}

// Vectors begin where lines of the cache do, so that rows at both ends share some: which ones changes no bit.
TEST(ColumnTransforms, WhereverTheSamplesLie) {
    Random random(75);
    for (const Dtype dtype : {Dtype::f32, Dtype::complex64}) {
        const std::size_t size = size_of(dtype);
        for (const auto& [rows, taps] : {std::pair<std::int64_t, std::int64_t>{64, 100}, {80, 150}, {136, 70}}) {
            Problem p = side_by_side(1, 2500, rows, taps, 0, Mode::same);
            p.dtype = dtype;
            p.boundary = Boundary::mirror;
            const auto bytes = bytes_of(input_extent(p), dtype);
            std::vector<unsigned char> h(bytes_of(taps, taps_dtype(p))), in(bytes), expected(bytes_of(output_extent(p), dtype));
            test::fill_random(in.data(), dtype, input_extent(p), random);
            test::fill_random(h.data(), taps_dtype(p), taps, random);
            const auto sample = [&, rows = rows](std::int64_t position, std::int64_t row) {
                return reinterpret_cast<float*>(&in[static_cast<std::size_t>(position * rows + row) * size]);
            };
            for (std::int64_t i = 800; i < 1600; ++i) {
                for (const std::int64_t row : {std::int64_t{1}, std::int64_t{20}, rows - 2}) { *sample(i, row) *= 1e-6F; }
            }
            *sample(300, 2) = *sample(2000, rows - 1) = std::numeric_limits<float>::quiet_NaN();
            const Plan plan = plan_of(p, h.data());
            for (const std::size_t elements : {0, 1, 5, 7, 15}) {
                std::vector<unsigned char> from(bytes + 256), to(expected.size() + 256);
                const auto placed = [&](std::vector<unsigned char>& memory, std::size_t beyond) {
                    return &memory[(64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64 + beyond * size];
                };
                unsigned char* const out = placed(to, (3 * elements) % 16);
                std::memcpy(placed(from, elements), in.data(), bytes);
                plan.execute(out, placed(from, elements));
                if (elements == 0) {
                    std::memcpy(expected.data(), out, expected.size());
                    ASSERT_EQ(test::compare(p, out, in.data(), h.data(), false), "") << test::describe(p);
                }
                ASSERT_EQ(std::memcmp(out, expected.data(), expected.size()), 0) << test::describe(p) << " from " << elements;
            }
        }
    }
}

// The longest transforms.
TEST(ColumnTransforms, ManyTaps) {
    Random random(76);
    const std::int64_t length = test::kSanitized ? 1200 : 4500, rows = 16, taps = 1150;
    const Problem p = side_by_side(1, length, rows, taps, 0, Mode::same);
    std::vector<float> in(static_cast<std::size_t>(length * rows)), h(static_cast<std::size_t>(taps)), out(in.size());
    test::fill_random(in.data(), Dtype::f32, length * rows, random);
    test::fill_random(h.data(), Dtype::f32, taps, random);
    const Plan plan = plan_of(p, h.data());
    if (has_vectors()) { EXPECT_NE(plan.explain().find("FFT of 4096 points"), std::string::npos) << plan.explain(); }
    plan.execute(out.data(), in.data());
    EXPECT_EQ(test::compare(p, out.data(), in.data(), h.data(), false), "");
}

// Taps that no spectrum holds go by tiles.
TEST(ColumnTransforms, TapsThatAreNotFinite) {
    Random random(74);
    constexpr std::int64_t kLength = 2000, kRows = 16, kTaps = 300;
    const Problem p = side_by_side(1, kLength, kRows, kTaps, 0, Mode::same);
    std::vector<float> in(kLength * kRows), taps(kTaps), out(in.size());
    test::fill_random(in.data(), Dtype::f32, kLength * kRows, random);
    test::fill_random(taps.data(), Dtype::f32, kTaps, random);
    taps[7] = std::numeric_limits<float>::infinity();
    const Plan plan = plan_of(p, taps.data());
    EXPECT_FALSE(goes_side_by_side(plan));
    plan.execute(out.data(), in.data());
    EXPECT_EQ(test::compare(p, out.data(), in.data(), taps.data(), false), "");
}

}  // namespace
}  // namespace tapline
