// Rows by ways of their own: across memory by way of rows one after the other; few taps of short rows, of interleaved ones and of
// samples that are widened.
#include <array>
#include <cmath>
#include <cstdlib>

#include "gpu/rung_test.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

class RowsTest : public RungTest {
protected:
    using RungTest::RungTest;

    /// As expect_right_anywhere(), where outputs may be of another type, whose addresses are multiples of that one's size.
    void expect_right_from_anywhere(const Problem& p, Random& random) const {
        const std::vector<std::byte> in = random_elements(p.dtype, input_extent(p), random);
        const std::vector<std::byte> taps = random_elements(taps_dtype(p), taps_extent(p), random);
        const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = name_});
        for (const std::size_t in_offset : {std::size_t{0}, size_of(real_part_of(p.dtype))}) {
            const std::vector<std::byte> out = execute_on_device<std::byte>(plan, in.data(), 0, in_offset);
            const std::byte* const first = in.data() + input_start(p) * static_cast<std::int64_t>(size_of(p.dtype));
            ASSERT_EQ(compare(p, out.data(), first, taps.data(), false), "") << describe(p);
        }
    }
};

class TransposedRows : public RowsTest {
protected:
    TransposedRows() : RowsTest("transposed_rows") {}

    /// Rows of three batch axes, the last one nearest in memory: (outer, samples, middle, near), `gap` elements behind each `near`.
    static Problem across(std::int64_t outer, std::int64_t n, std::int64_t middle, std::int64_t near, std::int64_t k,
                          std::int64_t gap) {
        Problem p;
        const std::int64_t line = near + gap;
        const auto out = [&](std::int64_t outputs) {
            p.batch_axes = {{outer, n * middle * line, outputs * middle * line}, {middle, line, line}, {near, 1, 1}};
        };
        out(n);
        FilteredAxis axis;
        axis.length = n;
        axis.taps = k;
        axis.mode = Mode::same;
        axis.input_stride = axis.output_stride = middle * line;
        p.axes = {axis};
        return p;
    }
};

TEST_F(TransposedRows, AnyTypeBoundaryAndAlignment) {
    Random random(201);
    constexpr std::array kTypes{Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16, Dtype::i16, Dtype::u8};
    constexpr std::array kBoundaries{Boundary::zero, Boundary::constant, Boundary::wrap, Boundary::mirror};
    std::size_t turn = 0;
    for (const std::int64_t near : {2, 3, 31, 70}) {
        for (const Dtype type : kTypes) {
            Problem p{.length = 700 + static_cast<std::int64_t>(turn), .taps = 256 + near, .batch = near, .mode = Mode::same};
            p.dtype = type;
            p.boundary = kBoundaries.at(turn++ % kBoundaries.size());
            p.constant = p.boundary == Boundary::constant ? 3 : 0;
            if (is_integer(type)) { p.real_taps = p.output_dtype = Dtype::f32; }
            p.input_row_stride = p.output_row_stride = 1;
            p.input_sample_stride = near + 1;
            p.output_sample_stride = near;
            expect_right_from_anywhere(p, random);
        }
    }
}

// However many rows go at a time.
TEST_F(TransposedRows, InPartsOfSeveralBatchAxes) {
    Random random(202);
    for (const bool reversed : {false, true}) {
        for (const std::int64_t near : {5, 40}) {
            Problem p = across(3, 600, 2, near, 300, 1);
            if (reversed) { p.axes[0].output_stride = 2 * near; }
            if (reversed) { p.batch_axes = {{3, 600 * 2 * (near + 1), 600 * 2 * near}, {2, near + 1, near}, {near, 1, 1}}; }
            const std::vector<float> in = random_floats(input_extent(p), random);
            const std::vector<float> taps = random_floats(300, random);
            for (const int rows : {0, 1, 3, 7, 16, 100}) {
                cuda_abi::Policy policy;
                policy.tiles_per_block = rows;
                expect_right_with(
                    std::array{policy}, p, in, taps, [](const std::vector<float>&) { return 0.0F; }, nullptr);
            }
        }
    }
}

// Of several recordings, each less than a tile, one tile holds more than one.
TEST_F(TransposedRows, ManyShortRecordings) {
    Random random(217);
    std::size_t turn = 0;
    for (const Dtype type : {Dtype::u8, Dtype::f16, Dtype::f32, Dtype::complex64, Dtype::complex128}) {
        for (const std::int64_t near : {2, 3, 7, 33}) {
            for (const std::int64_t n : {5, 70, 129}) {
                const std::int64_t middle = turn % 3 == 0 ? 3 : 1;
                // Two channels without a gap would be one of complex numbers.
                const std::int64_t gap = turn % 2 == 0 || near == 2 ? 1 : 0;
                Problem p = across(19 + static_cast<std::int64_t>(turn), n, middle, near, 260, gap);
                p.dtype = type;
                p.axes[0].boundary = turn++ % 2 == 0 ? Boundary::zero : Boundary::nearest;
                if (is_integer(type)) { p.real_taps = p.output_dtype = Dtype::f32; }
                expect_right_from_anywhere(p, random);
            }
        }
    }
}

TEST_F(TransposedRows, FiltersOfTheirOwn) {
    Random random(203);
    Problem p{.length = 900, .taps = 301, .batch = 37, .filters = Filters::per_row, .mode = Mode::causal};
    p.input_row_stride = p.output_row_stride = 1;
    p.input_sample_stride = p.output_sample_stride = 37;
    expect_right_anywhere(p, random);
}

// (outer, samples, near) with filters along one or both of the other axes, which come in the order of the rows or in another one;
// short ones too.
TEST_F(TransposedRows, FiltersAlongSeveralAxes) {
    Random random(209);
    constexpr std::int64_t kOuter = 6, kNear = 5;
    for (const std::int64_t k : {3, 40, 300}) {
        for (const auto& [of_outer, of_near] : {std::pair{kNear * k, k}, std::pair{k, kOuter * k}, std::pair{std::int64_t{0}, k}}) {
            if (of_outer == 0 && k < 256) { continue; }
            Problem p = across(kOuter, 350, 1, kNear, k, 0);
            p.batch_axes = {{kOuter, 350 * kNear, 350 * kNear, of_outer}, {kNear, 1, 1, of_near}};
            p.boundary = k == 40 ? Boundary::reflect : Boundary::zero;
            expect_right_anywhere(p, random);
        }
    }
}

class Columns : public RowsTest {
protected:
    Columns() : RowsTest("direct_columns") {}

    /// Executed from host memory, piece by piece, by a plan for arrays in GPU memory.
    void expect_right_from_host(const Problem& p, Random& random) const {
        const std::vector<float> in = random_floats(input_extent(p), random);
        const std::vector<float> taps = random_floats(taps_extent(p), random);
        std::vector<float> out(static_cast<std::size_t>(output_extent(p)));
        make_plan(p, taps.data(), {.device = "cuda", .algorithm = name_}).execute_host(out.data(), in.data());
        ASSERT_EQ(compare(p, out.data(), in.data(), taps.data(), false), "") << describe(p);
    }

    /// Recordings of interleaved channels; own: filters for each channel of each, for each recording, or for each channel.
    static Problem interleaved(std::int64_t recordings, std::int64_t n, std::int64_t channels, std::int64_t k, int own) {
        Problem p;
        FilteredAxis axis;
        axis.length = n;
        axis.taps = k;
        axis.mode = Mode::same;
        axis.input_stride = axis.output_stride = channels;
        p.axes = {axis};
        const std::int64_t of_recording = own == 2 ? 0 : (own == 0 ? channels : 1) * k;
        p.batch_axes = {{recordings, n * channels, n * channels, of_recording}, {channels, 1, 1, own == 1 ? 0 : k}};
        return p;
    }
};

TEST_F(Columns, AnyTypeBoundaryAndAlignment) {
    Random random(211);
    constexpr std::array kTypes{Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16, Dtype::i16, Dtype::u8};
    constexpr std::array kBoundaries{Boundary::zero,   Boundary::constant, Boundary::wrap,
                                     Boundary::mirror, Boundary::nearest,  Boundary::reflect};
    std::size_t turn = 0;
    for (const std::int64_t channels : {2, 3, 8, 13, 40, 128}) {
        for (const Dtype type : kTypes) {
            if (channels == 2 && (type == Dtype::f32 || type == Dtype::f64)) { continue; }  // these are rows of complex samples
            for (const std::int64_t n : {1, 13, 64, 1100}) {
                Problem p = interleaved(3, n, channels, 1 + n % 29, 0);
                for (auto& axis : p.batch_axes) { axis.taps_stride = 0; }
                p.dtype = type;
                p.boundary = kBoundaries.at(turn++ % kBoundaries.size());
                p.constant = p.boundary == Boundary::constant ? 3 : 0;
                if (is_integer(type)) { p.real_taps = p.output_dtype = Dtype::f32; }
                expect_right_from_anywhere(p, random);
            }
        }
    }
}

// Samples side by side, outputs along rows, as of a transposed view: of few rows, of lanes' own, and of several a thread.
TEST_F(Columns, OutputsAlongRows) {
    Random random(216);
    constexpr std::array kTypes{Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16, Dtype::i16, Dtype::u8};
    constexpr std::array kBoundaries{Boundary::zero,   Boundary::constant, Boundary::wrap,
                                     Boundary::mirror, Boundary::nearest,  Boundary::reflect};
    std::size_t turn = 0;
    const auto expect_right = [&](std::int64_t rows, std::int64_t n, std::int64_t k, Dtype type) {
        Problem p{.length = n, .taps = k, .batch = rows, .mode = Mode::same};
        p.dtype = type;
        p.input_row_stride = turn % 5 == 0 ? -1 : 1;
        p.input_sample_stride = rows + (turn % 3 == 0 ? 1 : 0);
        p.output_row_stride = n + (n == 1 ? 1 : static_cast<std::int64_t>(turn % 2));
        p.output_sample_stride = 1;
        p.filters = turn % 4 == 3 ? Filters::per_row : Filters::shared;
        p.boundary = kBoundaries.at(turn++ % kBoundaries.size());
        p.constant = p.boundary == Boundary::constant ? 3 : 0;
        if (is_integer(type)) {
            p.real_taps = Dtype::f32;
            p.output_dtype = n == 77 ? Dtype::u8 : Dtype::f32;
        }
        expect_right_from_anywhere(p, random);
    };
    for (const Dtype type : kTypes) {
        for (const std::int64_t rows : {3, 8, 37}) {
            for (const std::int64_t n : {1, 13, 77}) { expect_right(rows, n, 1 + 5 * n % 41, type); }
        }
        expect_right(7, 900, 40, type);
    }
    for (const Dtype type : {Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::f16, Dtype::u8}) { expect_right(51001, 5, 2, type); }
}

// So many rows that lanes have neighbouring ones, wherever these begin; threads of the last warp have fewer.
TEST_F(Columns, RowsThatBeginBetweenVectors) {
    Random random(214);
    constexpr std::array kTypes{Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::f16, Dtype::i16, Dtype::u8};
    constexpr std::array kBoundaries{Boundary::zero, Boundary::constant, Boundary::reflect};
    std::size_t turn = 0;
    for (const Dtype type : kTypes) {
        for (const std::int64_t channels : {43, 125}) {
            Problem p = interleaved(450, 21, channels, 7, 0);
            for (auto& axis : p.batch_axes) { axis.taps_stride = 0; }
            p.dtype = type;
            p.boundary = kBoundaries.at(turn++ % kBoundaries.size());
            p.constant = p.boundary == Boundary::constant ? 3 : 0;
            if (is_integer(type)) { p.real_taps = p.output_dtype = Dtype::f32; }
            expect_right_from_anywhere(p, random);
        }
    }
}

TEST_F(Columns, FiltersOfTheirOwnAlongAnyAxis) {
    Random random(212);
    for (const int own : {0, 1, 2}) {
        for (const std::int64_t channels : {2, 5, 32, 100}) {
            for (const std::int64_t n : {20, 700}) {
                for (const std::int64_t k : {1, 9, 33}) {
                    Problem p = interleaved(6, n, channels, k, own);
                    p.boundary = k == 9 ? Boundary::mirror : Boundary::zero;
                    expect_right_from_anywhere(p, random);
                    expect_right_from_host(p, random);
                }
            }
        }
    }
}

// Long rows: a block has all that lie side by side, which may be a power of two, odd, or both's product, or of many as many as a
// warp has lanes; they may lie backwards and have others between them.
TEST_F(Columns, LongRows) {
    Random random(218);
    constexpr std::array kTypes{Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16, Dtype::u8};
    constexpr std::array kBoundaries{Boundary::zero, Boundary::constant, Boundary::wrap, Boundary::reflect};
    std::size_t turn = 0;
    for (const std::int64_t channels : {2, 3, 6, 7, 8, 12, 45}) {
        for (const Dtype type : kTypes) {
            for (const std::int64_t k : {1, 17, 70}) {
                Problem p = interleaved(2, 800 + channels, channels, k, static_cast<int>(turn % 3));
                p.dtype = type;
                p.boundary = kBoundaries.at(turn % kBoundaries.size());
                p.constant = p.boundary == Boundary::constant ? 3 : 0;
                if (is_integer(type)) {
                    p.real_taps = Dtype::f32;
                    p.output_dtype = k == 17 ? Dtype::u8 : Dtype::f32;
                }
                if (++turn % 5 == 0) {  // every second one of twice as many channels
                    p.axes[0].input_stride = 2 * channels;
                    p.batch_axes[0].input_stride = 2 * channels * (800 + channels);
                }
                if (turn % 7 == 0) { p.batch_axes[1].input_stride = -1; }
                expect_right_from_anywhere(p, random);
            }
        }
    }
    const Problem p = interleaved(40, 5000, 3, 20, 0);
    const std::vector<float> taps(static_cast<std::size_t>(taps_extent(p)), 1.0F);
    const std::string text = make_plan(p, taps.data(), {.device = "cuda"}).explain();
    EXPECT_NE(text.find("along rows"), std::string::npos) << text;
}

class IntegerRows : public GpuTest {};

// Sums one output a thread wait for samples that a boundary repeats, one after the other.
TEST_F(IntegerRows, LongFiltersBeyondTheEndsAreNotSummedOneByOne) {
    Problem p{.length = 1069, .taps = 1540, .batch = 9, .mode = Mode::same, .boundary = Boundary::reflect, .dtype = Dtype::i16};
    p.input_sample_stride = 2;
    p.input_row_stride = 2138;
    Random random(224);
    const std::vector<std::byte> taps = random_elements(taps_dtype(p), taps_extent(p), random);
    const Plan plan = make_plan(p, taps.data(), {.device = "cuda"});
    EXPECT_NE(plan.algorithm(), "integer_any") << plan.explain();
}

// Filters for each channel of each recording, or for each recording, in GPU memory and piece by piece.
TEST_F(IntegerRows, FiltersAlongSeveralAxes) {
    Random random(223);
    constexpr std::int64_t kRecordings = 7, kLength = 23, kChannels = 40, kTaps = 6;
    for (const auto& [of_recording, of_channel] : {std::pair{kChannels * kTaps, kTaps}, std::pair{kTaps, std::int64_t{0}}}) {
        for (const Dtype type : {Dtype::u8, Dtype::i32}) {
            Problem p;
            FilteredAxis axis;
            axis.length = kLength;
            axis.taps = kTaps;
            axis.mode = Mode::full;
            axis.input_stride = axis.output_stride = kChannels;
            p.axes = {axis};
            const std::int64_t outputs = kLength + kTaps - 1;
            p.batch_axes = {{kRecordings, kLength * kChannels, outputs * kChannels, of_recording}, {kChannels, 1, 1, of_channel}};
            p.dtype = type;
            p.overflow = Overflow::wrap;
            const std::vector<std::byte> in = random_elements(p.dtype, input_extent(p), random);
            const std::vector<std::byte> taps = random_elements(taps_dtype(p), taps_extent(p), random);
            const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = "integer_any"});
            std::vector<std::byte> out = execute_on_device<std::byte>(plan, in.data());
            ASSERT_EQ(compare(p, out.data(), in.data(), taps.data(), false), "") << describe(p);
            std::fill(out.begin(), out.end(), std::byte{0xee});
            plan.execute_host(out.data(), in.data());
            ASSERT_EQ(compare(p, out.data(), in.data(), taps.data(), false), "") << "from the host: " << describe(p);
        }
    }
}

class WidenedRows : public RowsTest {
protected:
    WidenedRows() : RowsTest("widened_rows") {}
};

TEST_F(WidenedRows, LongFiltersOnIntegers) {
    Random random(213);
    for (const Dtype type : {Dtype::i16, Dtype::u8}) {
        // Few outputs or one row: the textbook's sums are long.
        Problem p{.length = 17001, .taps = 16385, .batch = 2, .mode = Mode::valid};
        p.dtype = type;
        p.real_taps = p.output_dtype = Dtype::f32;
        p.input_row_stride = 17003;
        if (type == Dtype::u8) {
            p.batch = 1;
            p.mode = Mode::same;
            p.boundary = Boundary::reflect;
        }
        expect_right_from_anywhere(p, random);
    }
}

TEST_F(WidenedRows, StepsAndReversal) {
    Random random(214);
    for (const Dtype type : {Dtype::i16, Dtype::u8, Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16}) {
        for (const std::int64_t step : {-1, 2, -3}) {
            Problem p{.length = 17001, .taps = 16385, .batch = 2, .mode = Mode::valid};
            if (type == Dtype::i16 && step == 2) {
                p.batch = 1;
                p.mode = Mode::same;
                p.boundary = Boundary::mirror;
            }
            p.dtype = type;
            if (is_integer(type)) { p.real_taps = p.output_dtype = Dtype::f32; }
            p.input_sample_stride = step;
            expect_right_from_anywhere(p, random);
        }
    }
}

// Where checked segments want samples side by side in the type of sums.
TEST_F(WidenedRows, StrictAccuracy) {
    Random random(215);
    for (const Dtype type : {Dtype::i8, Dtype::u16, Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::complex64}) {
        for (const Boundary boundary : {Boundary::zero, Boundary::constant, Boundary::reflect}) {
            Problem p{.length = 20'000, .taps = 1023, .batch = 2, .mode = Mode::full, .boundary = boundary};
            p.dtype = type;
            if (size_of(type) == 2) { p.output_dtype = Dtype::f32; }
            p.constant = boundary == Boundary::constant ? 3.3 : 0;
            if (is_integer(type)) {
                p.real_taps = p.output_dtype = Dtype::f32;
                p.constant = std::floor(p.constant.real());
            }
            if (size_of(type) > 2) { p.input_sample_stride = -2; }
            const std::vector<std::byte> in = random_elements(type, input_extent(p), random);
            const std::vector<std::byte> taps = random_elements(taps_dtype(p), taps_extent(p), random);
            const Plan plan =
                make_plan(p, taps.data(), {.device = "cuda", .accuracy = Accuracy::strict, .algorithm = "widened_rows"});
            const std::vector<std::byte> out = execute_on_device<std::byte>(plan, in.data());
            const std::byte* const first = in.data() + input_start(p) * static_cast<std::int64_t>(size_of(type));
            EXPECT_EQ(compare(p, out.data(), first, taps.data(), true), "") << describe(p);
        }
    }
}

class WidenedSamples : public RowsTest {
protected:
    WidenedSamples() : RowsTest("direct_widened") {}
};

TEST_F(WidenedSamples, AnyTypeBoundaryAndAlignment) {
    Random random(208);
    constexpr std::array kTypes{Dtype::i8, Dtype::u8, Dtype::i16, Dtype::u16, Dtype::f16, Dtype::bf16};
    constexpr std::array kBoundaries{Boundary::zero,   Boundary::zero,    Boundary::constant, Boundary::nearest,
                                     Boundary::mirror, Boundary::reflect, Boundary::wrap};
    std::size_t turn = 0;
    for (const Dtype type : kTypes) {
        for (const std::int64_t n : {1, 31, 512, 1027, 4100}) {
            for (const std::int64_t k : {1, 7, 8, 9, 16, 17, 31, 33, 36}) {
                Problem p{.length = n, .taps = k, .batch = 1 + n % 3, .mode = k % 2 == 0 ? Mode::full : Mode::same};
                p.dtype = type;
                p.output_dtype = Dtype::f32;
                if (is_integer(type)) { p.real_taps = Dtype::f32; }
                p.boundary = kBoundaries.at(turn++ % kBoundaries.size());
                p.constant = p.boundary == Boundary::constant ? 3 : 0;
                if (n % 2 == 0) { p.input_row_stride = (n + 15) / 16 * 16; }
                expect_right_from_anywhere(p, random);
            }
        }
    }
}

class Words : public RowsTest {
protected:
    Words() : RowsTest("direct_words") {}
};

TEST_F(Words, AnyTypeBoundaryStepAndAlignment) {
    Random random(215);
    constexpr std::array kTypes{Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i16, Dtype::u16, Dtype::i8, Dtype::u8};
    constexpr std::array kBoundaries{Boundary::zero,   Boundary::constant, Boundary::wrap,
                                     Boundary::mirror, Boundary::nearest,  Boundary::reflect};
    constexpr std::array kModes{Mode::same, Mode::full, Mode::causal};
    std::size_t turn = 0;
    for (const std::int64_t n : {1, 7, 8, 33, 250, 3001}) {
        for (const std::int64_t step : {1, 2, -1}) {
            for (const Dtype type : kTypes) {
                Problem p{.length = n, .taps = 1 + (n + static_cast<std::int64_t>(turn)) % 40, .batch = 70};
                p.mode = kModes.at(turn % kModes.size());
                p.dtype = type;
                p.boundary = kBoundaries.at(turn++ % kBoundaries.size());
                p.constant = p.boundary == Boundary::constant ? 3 : 0;
                if (is_integer(type)) { p.real_taps = p.output_dtype = Dtype::f32; }
                p.input_sample_stride = step;
                p.input_row_stride = n * std::abs(step) + n % 3;
                expect_right_from_anywhere(p, random);
            }
        }
    }
}

TEST_F(Words, InterleavedChannelsOfRecordings) {
    Random random(216);
    for (const std::int64_t channels : {2, 3, 5, 16}) {
        for (const Dtype type : {Dtype::f32, Dtype::f16, Dtype::u8}) {
            if (channels == 2 && type == Dtype::f32) { continue; }  // rungs are asked about them as complex samples
            Problem p;
            FilteredAxis axis;
            axis.length = 25;
            axis.taps = 1 + channels;
            axis.mode = Mode::same;
            axis.input_stride = axis.output_stride = channels;
            p.axes = {axis};
            p.batch_axes = {{301, 25 * channels, 25 * channels, 0}, {channels, 1, 1, 0}};
            p.dtype = type;
            p.boundary = Boundary::mirror;
            if (is_integer(type)) { p.real_taps = p.output_dtype = Dtype::f32; }
            expect_right_from_anywhere(p, random);
        }
    }
}

// What the cost model takes them for.
TEST_F(Words, AreChosenForShortRowsOfNarrowSamples) {
    Problem p{.length = 184, .taps = 2, .batch = 250000, .mode = Mode::same};
    p.dtype = Dtype::u8;
    p.real_taps = p.output_dtype = Dtype::f32;
    const Plan plan = make_plan(p, std::vector<float>{0.5F, 0.25F}, {.device = "cuda"});
    EXPECT_EQ(plan.algorithm(), name_) << plan.explain();
}

class FewTapsOfRows : public RungTest {
protected:
    FewTapsOfRows() : RungTest("direct_few") {}

    /// Right at any address, and described so.
    void expect_way(const Problem& p, const std::string& way, Random& random) const {
        const std::vector<float> taps = random_floats(taps_extent(p), random);
        const std::string text = make_plan(p, taps.data(), {.device = "cuda", .algorithm = name_}).explain();
        ASSERT_NE(text.find(way), std::string::npos) << describe(p) << text;
        expect_right_anywhere(p, random);
    }
    void expect_interleaved(std::int64_t channels, Filters filters, Random& random) const {
        for (const std::int64_t n : {1, 5, 100, 1279, 1280, 5000}) {
            for (const std::int64_t k : {1, 2, 4, 9, 31, 36}) {
                for (const Mode mode : {Mode::same, Mode::full, Mode::leading}) {
                    Problem p{.length = n, .taps = k, .batch = channels, .filters = filters, .mode = mode};
                    p.input_row_stride = p.output_row_stride = 1;
                    p.input_sample_stride = p.output_sample_stride = channels;
                    expect_way(p, "interleaved rows as one", random);
                }
            }
        }
    }
};

TEST_F(FewTapsOfRows, ShortRowsOnVectors) {
    Random random(204);
    for (const std::int64_t n : {4, 5, 99, 100, 257, 1030}) {
        for (const std::int64_t k : {1, 4, 5, 12, 13, 16, 33, 36}) {
            for (const Mode mode : {Mode::same, Mode::full, Mode::causal}) {
                for (const bool each : {false, true}) {
                    Problem p{.length = n, .taps = k, .batch = 300 / n + 3, .mode = mode};
                    if (each) { p.filters = Filters::per_row; }
                    p.input_row_stride = n % 2 == 0 ? (n + 3) / 4 * 4 : n % 4 == 1 ? 0 : (n + 11) / 4 * 4;
                    if (k % 2 == 0) {
                        p.boundary = Boundary::constant;
                        p.constant = 1.5;
                    }
                    expect_way(p, "short rows", random);
                }
            }
        }
    }
}

TEST_F(FewTapsOfRows, RowsOnALine) {
    Random random(205);
    for (const std::int64_t n : {17, 18, 99, 101, 777}) {
        for (const std::int64_t k : {1, 7, 8, 14, 31, 36}) {
            for (const Mode mode : {Mode::same, Mode::causal, Mode::leading}) {
                Problem p{.length = n, .taps = k, .batch = 1300 / n + 2, .mode = mode};
                if (k % 2 == 0) {
                    p.boundary = Boundary::constant;
                    p.constant = -2.5;
                }
                expect_way(p, "rows one after the other", random);
            }
        }
    }
}

TEST_F(FewTapsOfRows, InterleavedRows) {
    Random random(206);
    for (const std::int64_t channels : {3, 4}) { expect_interleaved(channels, Filters::shared, random); }
}

TEST_F(FewTapsOfRows, InterleavedRowsWithFiltersOfTheirOwn) {
    Random random(214);
    for (const std::int64_t channels : {2, 4}) { expect_interleaved(channels, Filters::per_row, random); }
}

// Neither a neighbour's sample nor a tap that is not there is multiplied.
TEST_F(FewTapsOfRows, NanStaysInItsRow) {
    Random random(207);
    for (const std::int64_t n : {100, 101, 0}) {
        const bool interleaved = n == 0;
        Problem p{.length = interleaved ? 400 : n, .taps = 9, .batch = interleaved ? 3 : 20, .mode = Mode::same};
        if (interleaved) {
            p.input_row_stride = p.output_row_stride = 1;
            p.input_sample_stride = p.output_sample_stride = 3;
        }
        const auto at = [&](std::int64_t row, std::int64_t i) {
            return static_cast<std::size_t>(interleaved ? 3 * i + row : row * p.length + i);
        };
        std::vector<float> in = random_floats(p.batch * p.length, random);
        const std::vector<float> taps = random_floats(p.taps, random);
        in[at(1, p.length - 1)] = NAN;
        in[at(2, 0)] = NAN;
        const RungRun run = run_rung(rung_, p, in, taps);
        ASSERT_EQ(run.failure, "");
        for (std::int64_t row = 0; row < p.batch; ++row) {
            for (std::int64_t o = 0; o < p.length; ++o) {
                const bool sees = (row == 1 && o + 4 >= p.length - 1) || (row == 2 && o <= 4);
                ASSERT_EQ(std::isnan(run.out[at(row, o)]), sees) << "row " << row << ", output " << o << ": " << describe(p);
            }
        }
    }
}

}  // namespace
}  // namespace tapline::test
