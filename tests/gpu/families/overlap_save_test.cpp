// Overlap-save: segments of every size, long filters, what transforms endanger: NaN, infinity, overflow, unlike magnitudes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "gpu/rung_test.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr const char* kName = "overlap_save";

class OverlapSave : public RungTest {
protected:
    OverlapSave() : RungTest(kName) {}

    // Every size of segment that takes the problem.
    void expect_right(const Problem& p, const std::vector<float>& in, const std::vector<float>& taps, int* sizes = nullptr) const {
        const auto allowed_here = [&](const std::vector<float>& out) { return allowed(in, taps, out.size()); };
        expect_right_with(policies_of(rung_, p), p, in, taps, allowed_here, sizes);
    }

    // Two results that are both within the promise differ by so much at most.
    static double allowed(const std::vector<float>& in, const std::vector<float>& taps, std::size_t outputs) {
        double taps_sum = 0;
        for (const float tap : taps) { taps_sum += std::abs(tap); }
        // A boundary reads samples again, at most as often as a window of all outputs holds the signal.
        const double again = static_cast<double>(outputs + taps.size()) / static_cast<double>(in.size()) + 1;
        return 2e-6 * taps_sum * norm_of(in) * std::sqrt(again);
    }
};

TEST_F(OverlapSave, SegmentsOfEverySize) {
    Random random(80);
    int sizes = 0;
    for (const std::int64_t k : {1, 2, 127, 511, 1023, 2000, 2047, 4095, 8191, 16000}) {
        const std::int64_t n = k < 1000 ? 70001 : k < 4000 ? 20011 : 9001;
        for (const Boundary boundary : {Boundary::zero, Boundary::mirror}) {
            Problem p = correlation_of(n, k, boundary == Boundary::zero ? Mode::full : Mode::causal);
            p.boundary = boundary;
            expect_right(p, random_floats(n, random), random_floats(k, random), &sizes);
            if (HasFatalFailure()) { return; }
        }
    }
    EXPECT_GT(sizes, 2 * 10) << "only one size for each filter";
}

TEST_F(OverlapSave, ManySegmentsOfTheLargestSize) {
    Random random(87);
    const Problem p = correlation_of(70003, 4500);
    expect_right(p, random_floats(p.length, random), random_floats(p.taps, random));
}

// Segments enough for several rounds of a device's multiprocessors, the last of which is not full: those that have one more read
// first. The textbook would take minutes: direct summation is the reference.
TEST_F(OverlapSave, RoundsThatAreNotFull) {
    const Rung direct = rung_named("direct");
    ASSERT_TRUE(direct);
    Random random(94);
    for (const std::int64_t n : {std::int64_t{4600000}, std::int64_t{9100003}}) {
        const Problem p = correlation_of(n, 501);
        const std::vector<float> in = random_floats(n, random);
        const std::vector<float> taps = random_floats(p.taps, random);
        const RungRun right = run_rung(direct, p, in, taps);
        ASSERT_EQ(right.failure, "") << describe(p);
        for (const cuda_abi::Policy& policy : policies_of(rung_, p)) {
            const RungRun run = run_rung(rung_, p, in, taps, policy);
            ASSERT_EQ(run.failure, "") << policy.threads_per_block << " threads: " << describe(p);
            ASSERT_EQ(difference(run.out, right.out, allowed(in, taps, right.out.size())), "")
                << policy.threads_per_block << " threads: " << describe(p);
        }
    }
}

TEST_F(OverlapSave, LengthsNextToWholeSegments) {
    Random random(81);
    for (const std::int64_t n : {1, 31, 700, 1536, 1537, 2046, 2047, 2048, 3071, 3072, 3073, 4095, 6143, 6145}) {
        for (const std::int64_t origin : {-5000, -3, 0, 255, 600, 4000}) {
            Problem p = correlation_of(n, 512);
            p.origin = origin;
            p.boundary = origin % 2 == 0 ? Boundary::zero : Boundary::wrap;
            expect_right(p, random_floats(n, random), random_floats(512, random));
            if (HasFatalFailure()) { return; }
        }
    }
}

TEST_F(OverlapSave, EveryTypeWithLongFilters) {
    Random random(82);
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16, Dtype::bf16}) {
        for (const std::int64_t k : {100, 900, 1800, 3500}) {
            for (const bool more : {false, true}) {
                Problem p = correlation_of(5003, k);
                p.dtype = dtype;
                p.complex_taps = is_complex(dtype) && more;
                p.batch = more ? 2 : 1;
                p.filters = more ? Filters::per_row : Filters::shared;
                if (more) { p.scale = 0.5; }
                expect_right_anywhere(p, random);
                if (HasFatalFailure()) { return; }
            }
        }
    }
}

// Rows that use filters in turn, at 16-byte boundaries and not, with a NaN; and rows enough to go through them filter by filter.
TEST_F(OverlapSave, FiltersInTurn) {
    Random random(89);
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f64}) {
        for (const std::int64_t k : {64, 1024, 3000}) {
            for (const std::int64_t n : {1024, 2051}) {
                Problem p = correlation_of(n, k, Mode::causal);
                p.dtype = dtype;
                p.batch = 6;
                p.filters = Filters::per_row;
                p.filter_count = 3;
                p.scale = n % 2 == 0 ? 1 : 0.5;
                std::vector<std::byte> in = random_elements(dtype, input_extent(p), random);
                std::vector<std::byte> taps = random_elements(taps_dtype(p), taps_extent(p), random);
                if (dtype == Dtype::f32) { reinterpret_cast<float*>(in.data())[4 * n + 300] = NAN; }
                for (const char* name : {kName, "overlap_save_parts"}) {
                    const auto infos = algorithms(p, "cuda", Accuracy::standard);
                    const auto found =
                        std::find_if(infos.begin(), infos.end(), [&](const auto& info) { return info.name == name; });
                    if (found == infos.end() || !found->supported) { continue; }
                    const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = name});
                    const std::vector<std::byte> out = execute_on_device<std::byte>(plan, in.data());
                    ASSERT_EQ(compare(p, out.data(), in.data(), taps.data(), false), "") << name << ", " << describe(p);
                }
            }
        }
    }
    Problem p = correlation_of(208, 100, Mode::same);
    p.batch = 1200;
    p.filters = Filters::per_row;
    p.filter_count = 400;
    const std::vector<float> in = random_floats(input_extent(p), random);
    const std::vector<float> taps = random_floats(taps_extent(p), random);
    const Plan plan = make_plan(p, taps, {.device = "cuda", .algorithm = kName});
    const std::vector<float> out = execute_on_device<float>(plan, in.data());
    ASSERT_EQ(compare(p, out.data(), in.data(), taps.data(), false), "");
}

// Filters of their own for so many rows that their spectra are made on the device, in double whatever their type.
TEST_F(OverlapSave, SpectraOfManyFilters) {
    Random random(77);
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16, Dtype::bf16}) {
        for (const bool complex_taps : {false, true}) {
            if (complex_taps && !is_complex(dtype)) { continue; }
            Problem p = correlation_of(301, 257, complex_taps ? Mode::full : Mode::same);
            p.dtype = dtype;
            p.complex_taps = complex_taps;
            p.operation = complex_taps ? Operation::convolution : Operation::correlation;
            p.boundary = is_complex(dtype) ? Boundary::zero : Boundary::mirror;
            p.batch = 41;
            p.filters = Filters::per_row;
            expect_right_anywhere(p, random);
            if (HasFatalFailure()) { return; }
        }
    }
}

// Rows no longer than a transform with filters as long, enough of them for the kernel that takes them as a whole: at 16-byte
// boundaries and not, with a NaN, and one that ends where no vector does. A few rows are compared: each is a problem of its own.
TEST_F(OverlapSave, WholeRows) {
    Random random(90);
    struct Size {
        std::int64_t n, k;
        Mode mode;
        Dtype dtype;
    };
    for (const Size& size : {Size{4096, 4096, Mode::causal, Dtype::bf16}, Size{4096, 4096, Mode::leading, Dtype::f32},
                             Size{3001, 3001, Mode::causal, Dtype::f16}, Size{1000, 3000, Mode::full, Dtype::f32},
                             Size{4096, 3000, Mode::valid, Dtype::f32}, Size{2056, 3000, Mode::same, Dtype::bf16},
                             Size{1024, 1024, Mode::causal, Dtype::bf16}, Size{1001, 1001, Mode::causal, Dtype::f32},
                             Size{1024, 1024, Mode::leading, Dtype::f32}, Size{500, 520, Mode::full, Dtype::f16}}) {
        Problem p = correlation_of(size.n, size.k, size.mode);
        p.dtype = size.dtype;
        p.batch = 700;
        p.filters = Filters::per_row;
        p.filter_count = 7;
        p.scale = size.n % 1024 == 0 ? 1 : 0.5;
        if (size.dtype == Dtype::bf16) { p.operation = Operation::convolution; }
        const std::size_t element = bytes_of(1, size.dtype);
        const std::size_t row_bytes = bytes_of(p.length, size.dtype);
        std::vector<std::byte> in = random_elements(size.dtype, input_extent(p), random);
        std::vector<std::byte> taps = random_elements(taps_dtype(p), taps_extent(p), random);
        if (size.dtype == Dtype::f32) { reinterpret_cast<float*>(in.data())[13 * p.length + 900] = NAN; }
        const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = kName});
        ASSERT_NE(plan.explain().find("whole rows"), std::string::npos) << plan.explain();
        const std::vector<std::byte> out = execute_on_device<std::byte>(plan, in.data());
        ASSERT_EQ(execute_on_device<std::byte>(plan, in.data(), element, element), out) << describe(p);
        Problem own = p;
        own.batch = 1;
        own.filters = Filters::shared;
        own.filter_count = 0;
        const std::size_t out_bytes = out.size() / 700;
        const std::size_t taps_bytes = taps.size() / 7;
        for (const std::size_t row : {0, 13, 699}) {
            ASSERT_EQ(
                compare(own, out.data() + row * out_bytes, in.data() + row * row_bytes, taps.data() + row % 7 * taps_bytes, false),
                "")
                << "row " << row << ", " << describe(p);
        }
    }
}

std::vector<float> as_floats(const std::vector<std::byte>& values, Dtype dtype) {
    std::vector<float> floats(values.size() / size_of(dtype));
    for (std::size_t i = 0; i < floats.size(); ++i) {
        const std::byte* const value = values.data() + i * size_of(dtype);
        if (dtype == Dtype::f32) {
            std::memcpy(&floats[i], value, sizeof(float));
        } else {
            std::uint16_t bits = 0;
            std::memcpy(&bits, value, sizeof bits);
            floats[i] = core::from_f16(bits);
        }
    }
    return floats;
}

// Rows that are taken as a whole, in halves by a block if they are of 16 bits, causal and many, else by a cluster, against the
// filter in parts: the textbook's sums would take minutes.
void expect_long_rows(std::int64_t length, Mode mode, Dtype dtype) {
    Random random(91);
    const std::string cluster = "overlap_save_cluster";
    Problem p = correlation_of(length, length, mode);
    p.dtype = dtype;
    p.batch = 700;
    p.filters = Filters::per_row;
    p.filter_count = 7;
    const auto infos = algorithms(p, "cuda", Accuracy::standard);
    const auto found = std::find_if(infos.begin(), infos.end(), [&](const auto& info) { return info.name == cluster; });
    if (found == infos.end() || !found->supported) { GTEST_SKIP() << "this GPU has no clusters"; }
    std::vector<std::byte> in = random_elements(dtype, input_extent(p), random);
    const std::vector<float> taps = random_floats(taps_extent(p), random);
    const auto made_by = [&](const std::string& algorithm) {
        const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = algorithm});
        if (algorithm == cluster) { EXPECT_NE(plan.explain().find("whole rows"), std::string::npos) << plan.explain(); }
        return as_floats(execute_on_device<std::byte>(plan, in.data()), dtype);
    };
    const std::vector<float> out = made_by(cluster);
    const std::vector<float> right = made_by("overlap_save_parts");
    double errors = 0;
    double squares = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        errors += std::pow(static_cast<double>(out[i]) - right[i], 2);
        squares += std::pow(static_cast<double>(right[i]), 2);
    }
    const double rounding = dtype == Dtype::f32 ? 0 : std::ldexp(1, -11);
    EXPECT_LE(std::sqrt(errors), (1e-6 + rounding) * std::sqrt(squares)) << describe(p);
    // A NaN stays where it belongs. Sums of its row are made one by one then, in float.
    const float nan = NAN;
    const std::uint16_t nan_of_16_bits = 0x7e00;
    std::memcpy(in.data() + bytes_of(6 * length - 3, dtype), dtype == Dtype::f32 ? static_cast<const void*>(&nan) : &nan_of_16_bits,
                size_of(dtype));
    const std::int64_t first_nan = mode == Mode::causal ? length - 3 : length / 2 - 2;  // sample - (taps - 1) + origin
    const double allowed_sum = 3e-7 * static_cast<double>(length);  // these have errors of 0.0014 and 0.0043 at most
    const std::vector<float> repaired = made_by(cluster);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::int64_t row = static_cast<std::int64_t>(i) / length;
        const std::int64_t at = static_cast<std::int64_t>(i) % length;
        if (row != 5) {
            ASSERT_EQ(repaired[i], out[i]) << i;
        } else if (at >= first_nan) {
            ASSERT_TRUE(std::isnan(repaired[i])) << i;
        } else {
            ASSERT_NEAR(repaired[i], right[i], allowed_sum + 2 * rounding * std::abs(right[i])) << i;
        }
    }
}

TEST_F(OverlapSave, LongRows) { expect_long_rows(17000, Mode::causal, Dtype::f16); }
// As long as the transform: rows that are taken as they are.
TEST_F(OverlapSave, LongestRows) { expect_long_rows(32768, Mode::causal, Dtype::f16); }
TEST_F(OverlapSave, LongRowsByClusters) { expect_long_rows(17000, Mode::same, Dtype::f16); }
TEST_F(OverlapSave, LongestRowsByClusters) { expect_long_rows(32768, Mode::causal, Dtype::f32); }

TEST_F(OverlapSave, NanAndInfinityReachTheirWindowsOnly) {
    Random random(83);
    for (const std::int64_t k : {130, 1200, 4000}) {
        const Problem p = correlation_of(12011, k);
        const Drawn d = spoiled(p, random);
        expect_right(p, d.in, d.taps);
        if (HasFatalFailure()) { return; }
    }
}

TEST_F(OverlapSave, Overflow) {
    Random random(84);
    const auto [p, d] = correlation_near_overflow(9001, random);
    expect_right(p, d.in, d.taps);
}

// The promise is about the norm of what a transform's outputs read: checked for each segment on its own here.
TEST_F(OverlapSave, ErrorsOfASegmentAreThoseOfItsOwnSamples) {
    Random random(85);
    constexpr std::int64_t kPart = 16000;
    for (const std::int64_t k : {200, 3000}) {
        Problem p = correlation_of(3 * kPart, k, Mode::valid);
        std::vector<float> in = random_floats(p.length, random);
        for (std::int64_t i = 0; i < kPart; ++i) {
            in[static_cast<std::size_t>(i)] *= 1e6F;                                   // loud, then quiet
            in[static_cast<std::size_t>(kPart + i)] += 1e6F;                           // a large constant
            in[static_cast<std::size_t>(2 * kPart + i)] += i % 2 == 0 ? 1e6F : -1e6F;  // alternating
        }
        const std::vector<float> taps = random_floats(k, random);
        for (const cuda_abi::Policy& policy : policies_of(rung_, p)) {
            const RungRun run = run_rung(rung_, p, in, taps, policy);
            ASSERT_EQ(run.failure, "");
            const std::int64_t segment = std::int64_t{64} * policy.threads_per_block;
            const std::int64_t outputs = (segment - (k - 1)) / 32 * 32;
            for (std::int64_t first = 0; first + outputs <= output_length(p); first += outputs) {
                Problem own = correlation_of(outputs + k - 1, k, Mode::valid);
                ASSERT_EQ(compare(own, run.out.data() + first, in.data() + first, taps.data(), false), "")
                    << policy.threads_per_block << " threads, outputs from " << first;
            }
        }
    }
}

// So many segments that warps take them as they come: rows of one launch against each row alone, which is too short for that.
TEST_F(OverlapSave, WarpsTakeSegments) {
    Random random(90);
    for (const std::int64_t k : {101, 300}) {
        const Problem p = correlation_of(23000007, k);
        Problem rows = p;
        rows.batch = 4;
        std::vector<float> in = repeated(random_floats(1000003, random), input_extent(rows));
        const std::vector<float> taps = random_floats(k, random);
        in[30000001] = NAN;
        const Plan all = make_plan(rows, taps.data(), {.device = "cuda", .algorithm = kName});
        const Plan one = make_plan(p, taps.data(), {.device = "cuda", .algorithm = kName});
        EXPECT_NE(all.workspace_bytes(), 0U) << all.explain();
        const std::vector<float> out = execute_on_device<float>(all, in.data());
        for (std::int64_t row = 0; row < rows.batch; ++row) {
            const std::vector<float> right = execute_on_device<float>(one, in.data() + row * p.length);
            ASSERT_EQ(std::memcmp(out.data() + row * p.length, right.data(), right.size() * sizeof(float)), 0)
                << "row " << row << ": " << describe(rows);
        }
    }
}

// Several segments a warp, one after the other, whose outputs do not lie side by side or are of another type: the next one's
// samples must not come to where these outputs still are. Against outputs that are stored plainly.
TEST_F(OverlapSave, ManySegmentsOfOutputsApart) {
    Random random(89);
    for (const std::int64_t k : {1800, 3900, 7900, 16000, 32000}) {
        const Problem p = correlation_of(std::int64_t{1} << 21, k);
        const std::vector<float> in = random_floats(p.length, random);
        const std::vector<float> taps = random_floats(k, random);
        for (const cuda_abi::Policy& policy : policies_of(rung_, p)) {
            const RungRun together = run_rung(rung_, p, in, taps, policy);
            ASSERT_EQ(together.failure, "") << describe(p);
            Problem apart = p;
            apart.output_sample_stride = 2;
            const RungRun run = run_rung(rung_, apart, in, taps, policy);
            ASSERT_EQ(run.failure, "") << describe(apart);
            for (std::size_t o = 0; o < together.out.size(); ++o) {
                ASSERT_EQ(run.out[2 * o], together.out[o])
                    << "output " << o << ", " << policy.threads_per_block << " threads: " << describe(apart);
            }
        }
    }
}

// Rows whose samples lie beside each other, with every size of segment: by 16 bytes at a time, from odd addresses, of fewer rows
// than go together, at edges of every kind. As many rows apart have the same bits; a NaN changes nothing in other rows.
TEST_F(OverlapSave, NeighbouringRowsGoTogether) {
    Random random(95);
    constexpr std::array<Boundary, 3> kBoundaries{Boundary::zero, Boundary::mirror, Boundary::constant};
    std::size_t turn = 0;
    for (const std::int64_t rows : {3, 8, 12, 13, 14}) {
        for (const std::int64_t k : {200, 1500, 3000, 7000}) {
            Problem apart = correlation_of(9001, k, Mode::same);
            apart.batch = rows;
            apart.boundary = kBoundaries.at(turn++ % kBoundaries.size());
            apart.constant = apart.boundary == Boundary::constant ? 2.5 : 0;
            Problem beside = apart;
            beside.input_row_stride = beside.output_row_stride = 1;
            beside.input_sample_stride = beside.output_sample_stride = rows;
            const std::vector<float> in = random_floats(rows * apart.length, random);
            const std::vector<float> taps = random_floats(k, random);
            const auto interleaved = [&](std::int64_t row, std::int64_t at) { return static_cast<std::size_t>(at * rows + row); };
            std::vector<float> in_beside(in.size());
            for (std::int64_t row = 0; row < rows; ++row) {
                for (std::int64_t at = 0; at < apart.length; ++at) {
                    in_beside[interleaved(row, at)] = in[static_cast<std::size_t>(row * apart.length + at)];
                }
            }
            std::vector<float> spoiled = in_beside;
            spoiled[interleaved(1, 4500)] = NAN;
            for (const cuda_abi::Policy& policy : policies_of(rung_, apart)) {
                const std::string what = std::to_string(policy.threads_per_block) + " threads: " + describe(beside);
                const RungRun right = run_rung(rung_, apart, in, taps, policy);
                const RungRun run = run_rung(rung_, beside, in_beside, taps, policy);
                const RungRun with_nan = run_rung(rung_, beside, spoiled, taps, policy);
                ASSERT_EQ(right.failure + run.failure + with_nan.failure, "") << what;
                for (std::int64_t row = 0; row < rows; ++row) {
                    for (std::int64_t o = 0; o < apart.length; ++o) {
                        const float expected = right.out[static_cast<std::size_t>(row * apart.length + o)];
                        ASSERT_EQ(run.out[interleaved(row, o)], expected) << "row " << row << ", output " << o << ", " << what;
                        if (row == 1) { continue; }
                        ASSERT_EQ(with_nan.out[interleaved(row, o)], expected) << "beside a NaN, row " << row << ", " << what;
                    }
                }
                for (const std::int64_t o : {std::int64_t{0}, 4500 - k, 4500 + k, apart.length - 1}) {
                    if (o < 0 || o >= apart.length) { continue; }
                    const bool reads_it = std::abs(o - 4500) <= k / 2 - 1;
                    ASSERT_EQ(std::isnan(with_nan.out[interleaved(1, o)]), reads_it) << "output " << o << ", " << what;
                }
                ASSERT_TRUE(std::isnan(with_nan.out[interleaved(1, 4500)])) << what;
            }
        }
    }
}

// Recordings of interleaved channels with a filter for each channel of each, or for each recording, in one launch.
TEST_F(OverlapSave, FiltersAlongSeveralAxes) {
    Random random(96);
    std::size_t turn = 0;
    for (const std::int64_t channels : {2, 3, 8, 13}) {
        for (const std::int64_t k : {90, 700, 1500, 5000}) {
            constexpr std::int64_t kRecordings = 5;
            FilteredAxis axis;
            axis.length = 6001;
            axis.taps = k;
            axis.mode = Mode::same;
            axis.boundary = turn % 2 == 0 ? Boundary::zero : Boundary::reflect;
            axis.input_stride = axis.output_stride = channels;
            Problem p;
            p.dtype = turn % 3 == 2 ? Dtype::f16 : Dtype::f32;
            p.axes = {axis};
            const std::int64_t recording = channels * axis.length;
            // The channels' filters of a recording one after the other, or the recordings' of a channel.
            const bool outer_first = ++turn % 2 == 0;
            p.batch_axes = {{kRecordings, recording, recording, outer_first ? k : channels * k},
                            {channels, 1, 1, outer_first ? kRecordings * k : k}};
            expect_right_anywhere(p, random);
            const std::vector<std::byte> taps = random_elements(taps_dtype(p), taps_extent(p), random);
            const std::string explained = make_plan(p, taps.data(), {.device = "cuda", .algorithm = "overlap_save"}).explain();
            EXPECT_EQ(explained.find(" times"), std::string::npos) << explained;
        }
    }
}

// Rows side by side in several rounds of blocks, whose samples come while tiles before theirs are computed, have the bits that they
// have from addresses where they come straight from memory.
TEST_F(OverlapSave, SamplesThatComeAhead) {
    Random random(97);
    struct Case {
        Dtype type;
        std::int64_t rows, gap;
        Boundary boundary;
        bool own_filters;
    };
    for (const Case& c : {Case{Dtype::f32, 64, 0, Boundary::zero, false}, Case{Dtype::f32, 60, 8, Boundary::mirror, true},
                          Case{Dtype::complex64, 30, 0, Boundary::wrap, false}, Case{Dtype::complex64, 64, 2, Boundary::zero, true},
                          Case{Dtype::f16, 64, 8, Boundary::nearest, false}, Case{Dtype::i16, 72, 0, Boundary::zero, false}}) {
        Problem p{.length = 70'001, .taps = 203, .batch = c.rows, .mode = Mode::same};
        p.dtype = c.type;
        if (is_integer(c.type)) { p.real_taps = p.output_dtype = Dtype::f32; }
        p.boundary = c.boundary;
        p.filters = c.own_filters ? Filters::per_row : Filters::shared;
        p.input_row_stride = p.output_row_stride = 1;
        p.input_sample_stride = c.rows + c.gap;
        p.output_sample_stride = c.rows;
        const std::vector<std::byte> in = random_elements(p.dtype, input_extent(p), random);
        const std::vector<std::byte> taps = random_elements(taps_dtype(p), taps_extent(p), random);
        const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = name_});
        const std::size_t part = size_of(real_part_of(p.dtype));
        const std::vector<std::byte> ahead = execute_on_device<std::byte>(plan, in.data());
        ASSERT_EQ(execute_on_device<std::byte>(plan, in.data(), 0, part), ahead) << describe(p);
    }
}

// The same 4 and 8 bytes at a time, of rows that lie on no more, and beyond the ends a constant: the bits of as many rows apart.
TEST_F(OverlapSave, SamplesThatComeAheadInPieces) {
    Random random(98);
    for (const std::int64_t rows : {125, 126, 128}) {
        for (const Boundary boundary : {Boundary::zero, Boundary::constant, Boundary::reflect}) {
            Problem apart = correlation_of(70'001, 203, Mode::same);
            apart.batch = rows;
            apart.boundary = boundary;
            apart.constant = boundary == Boundary::constant ? 2.5 : 0;
            Problem beside = apart;
            beside.input_row_stride = beside.output_row_stride = 1;
            beside.input_sample_stride = beside.output_sample_stride = rows;
            const std::vector<float> in = random_floats(rows * apart.length, random);
            const std::vector<float> taps = random_floats(apart.taps, random);
            std::vector<float> in_beside(in.size());
            for (std::size_t at = 0; at < in.size(); ++at) {
                const auto row = static_cast<std::int64_t>(at) / apart.length;
                in_beside[static_cast<std::size_t>((static_cast<std::int64_t>(at) % apart.length) * rows + row)] = in[at];
            }
            cuda_abi::Policy policy{};
            policy.threads_per_block = 32;
            const RungRun right = run_rung(rung_, apart, in, taps, policy);
            const RungRun run = run_rung(rung_, beside, in_beside, taps, policy);
            ASSERT_EQ(right.failure + run.failure, "") << describe(beside);
            std::int64_t others = 0;
            for (std::size_t at = 0; at < right.out.size(); ++at) {
                const auto row = static_cast<std::int64_t>(at) / apart.length;
                const auto place = static_cast<std::size_t>((static_cast<std::int64_t>(at) % apart.length) * rows + row);
                others += run.out[place] == right.out[at] ? 0 : 1;
            }
            ASSERT_EQ(others, 0) << describe(beside);
        }
    }
}

// Filters longer than a segment, in parts: of one row and of several, with NaN, an epilogue and other types.
TEST_F(OverlapSave, FiltersInParts) {
    Random random(88);
    for (const std::int64_t k : {16385, 40000}) {
        for (const bool more : {false, true}) {
            Problem p = correlation_of(1501, k, more ? Mode::same : Mode::full);
            p.boundary = more ? Boundary::reflect : Boundary::zero;
            p.batch = more ? 2 : 1;
            p.filters = more ? Filters::per_row : Filters::shared;
            if (more) {
                p.scale = 0.25;
                p.bias = 3;
                p.clamp = Clamp{-100, HUGE_VAL};
            }
            std::vector<float> in = random_floats(input_extent(p), random);
            if (k == 40000 && !more) { in[1234] = NAN; }
            const std::vector<float> taps = random_floats(taps_extent(p), random);
            const Plan plan = make_plan(p, taps, {.device = "cuda", .algorithm = "overlap_save_parts"});
            const std::vector<float> out = execute_on_device<float>(plan, in.data());
            ASSERT_EQ(compare(p, out.data(), in.data(), taps.data(), false), "") << describe(p);
        }
    }
    Problem p = correlation_of(4001, 9000);
    p.dtype = Dtype::complex128;
    std::vector<double> in(static_cast<std::size_t>(2 * p.length));
    std::vector<double> taps(static_cast<std::size_t>(p.taps));
    fill_random(in.data(), Dtype::complex128, p.length, random);
    fill_random(taps.data(), Dtype::f64, p.taps, random);
    const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = "overlap_save_parts"});
    const std::vector<double> out = execute_on_device<double>(plan, in.data());
    ASSERT_EQ(compare(p, out.data(), in.data(), taps.data(), false), "") << describe(p);
}

TEST_F(OverlapSave, StrictRefusesIt) {
    for (const AlgorithmInfo& info : algorithms(correlation_of(100000, 1000), "cuda", Accuracy::strict)) {
        if (info.name == kName) { EXPECT_FALSE(info.supported); }
    }
}

TEST_F(OverlapSave, LongFiltersChooseIt) {
    Random random(86);
    for (const std::int64_t k : {300, 1000, 5000}) {
        const Problem p = correlation_of(std::int64_t{1} << 22, k);
        const Plan plan = make_plan(p, random_floats(k, random), {.device = "cuda"});
        EXPECT_EQ(plan.algorithm(), kName) << plan.explain();
    }
}

}  // namespace
}  // namespace tapline::test
