// Overlap-save by transforms larger than shared memory: every size of segment, lengths next to whole segments, types, epilogues,
// boundaries, batches, and what transforms endanger.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "gpu/rung_test.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr const char* kName = "overlap_save_large";
constexpr const char* kParts = "overlap_save_parts";

class OverlapSaveLarge : public RungTest {
protected:
    OverlapSaveLarge() : RungTest(kName) {}
};

// The ends of segments of every size.
TEST_F(OverlapSaveLarge, SegmentsOfEverySize) {
    Random random(90);
    constexpr std::int64_t kTaps = 5001;
    const std::int64_t n = std::int64_t{9} << 20;
    const Problem p = correlation_of(n, kTaps, Mode::full);
    const std::vector<float> in = random_floats(n, random);
    const std::vector<float> taps = random_floats(kTaps, random);
    std::vector<float> right;
    int sizes = 0;
    for (const cuda_abi::Policy& policy : policies_of(rung_, p)) {
        const RungRun run = run_rung(rung_, p, in, taps, policy);
        ASSERT_EQ(run.failure, "") << policy.threads_per_block;
        const std::int64_t samples = std::int64_t{64} * policy.threads_per_block;
        const std::int64_t outputs = (samples - (kTaps - 1) - 32) / 32 * 32;
        for (const std::int64_t at : {std::int64_t{0}, outputs, samples / 2, 2 * outputs, output_length(p) - 40}) {
            expect_exact(p, run.out, in, taps, std::min(at, output_length(p) - 40) - 40, 80);
            if (HasFatalFailure()) { return; }
        }
        if (right.empty()) {
            right = run.out;
        } else {
            ASSERT_EQ(difference(run.out, right, 1e-6 * norm_of(right)), "") << policy.threads_per_block << " threads";
        }
        if (HasFatalFailure()) { return; }
        ++sizes;
    }
    EXPECT_EQ(sizes, 7) << "the best one and every size from 2^18 to 2^23 points";
}

TEST_F(OverlapSaveLarge, LengthsNextToWholeSegments) {
    Random random(91);
    constexpr std::int64_t kTaps = 300000;
    constexpr std::int64_t kSkip = 3;  // with origin 29: a segment begins at a multiple of 32
    constexpr std::int64_t kOutputs = ((std::int64_t{1} << 19) - (kTaps - 1) - kSkip) / 32 * 32;
    const std::vector<float> taps = random_floats(kTaps, random);
    const std::vector<float> all = random_floats(3 * kOutputs + kTaps + 100, random);
    for (const std::int64_t count : {std::int64_t{1}, kOutputs - 1, kOutputs, kOutputs + 1, 3 * kOutputs + 1}) {
        Problem p = correlation_of(count, kTaps);
        p.origin = 29;
        const std::vector<float> in(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
        const RungRun run = run_rung(rung_, p, in, taps, policies_of(rung_, p)[1]);
        ASSERT_EQ(run.failure, "") << describe(p);
        expect_exact(p, run.out, in, taps, 0, 3);
        expect_exact(p, run.out, in, taps, count - 3, 3);
        if (count > kOutputs - 2) { expect_exact(p, run.out, in, taps, kOutputs - 2, 4); }
        if (HasFatalFailure()) { return; }
    }
}

// Filters about as long as the signal: one segment, in which windows end in zeros that wrap around. The spectrum is made on the
// device, when the plan is made or of taps that come later.
TEST_F(OverlapSaveLarge, FiltersAsLongAsTheSignal) {
    Random random(99);
    constexpr std::int64_t kLong = std::int64_t{1} << 18;
    struct Sizes {
        std::int64_t n, k;
        Mode mode;
    };
    for (const auto& [n, k, mode] : {Sizes{kLong, kLong, Mode::full}, Sizes{kLong + 1, kLong, Mode::full},
                                     Sizes{kLong - 77, kLong + 78, Mode::full}, Sizes{1000, 2 * kLong - 999, Mode::full},
                                     Sizes{2 * kLong - 40, kLong / 2, Mode::causal}, Sizes{4 * kLong, 4 * kLong, Mode::full}}) {
        Problem p = correlation_of(n, k, mode);
        const std::vector<float> in = random_floats(n, random);
        const std::vector<float> taps = random_floats(k, random);
        const RungRun run = run_rung(rung_, p, in, taps);
        ASSERT_EQ(run.failure, "") << describe(p);
        const std::int64_t outputs = output_length(p);
        for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 10, outputs - 20}) {
            expect_exact(p, run.out, in, taps, std::min(at, outputs - 20), 20);
        }
        const Plan later = make_plan_without_taps(p, {.device = "cuda", .algorithm = kName});
        const DeviceBuffer device_in = DeviceBuffer::of(in), device_taps = DeviceBuffer::of(taps);
        const DeviceBuffer out(run.out.size() * sizeof(float)), workspace(later.workspace_bytes());
        const DeviceStream stream;
        later.execute_with_taps(out.data(), device_in.data(), device_taps.data(), workspace.span(), stream.get());
        stream.synchronize();
        ASSERT_TRUE(out.guards_intact() && workspace.guards_intact() && device_taps.guards_intact());
        ASSERT_EQ(difference(out.values<float>(), run.out, 1e-6 * norm_of(run.out)), "") << describe(p);
        if (HasFatalFailure()) { return; }
    }
}

TEST_F(OverlapSaveLarge, EveryTypeModeAndBoundary) {
    Random random(92);
    int number = 0;
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16, Dtype::bf16}) {
        for (const Mode mode : {Mode::full, Mode::same, Mode::causal}) {
            Problem p = correlation_of(3001, 5003, mode);
            p.dtype = dtype;
            p.complex_taps = is_complex(dtype) && mode != Mode::full;
            p.boundary = static_cast<Boundary>(number++ % 6);
            p.batch = mode == Mode::same ? 3 : 1;
            if (mode != Mode::full) {
                p.scale = 0.5;
                p.bias = is_complex(dtype) ? 0 : 2;
            }
            expect_right_anywhere(p, random);
            if (HasFatalFailure()) { return; }
        }
    }
}

// Filters whose segments have rows of four and eight warps. Most taps that no output reads are zero: the bound grows with the sum
// of all, and 700,001 drawn ones would let outputs pass that are nothing but zeros.
TEST_F(OverlapSaveLarge, LongRowsOfEveryType) {
    constexpr std::int64_t kDrawn = 400;
    Random random(98);
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16, Dtype::bf16}) {
        for (const std::int64_t points : {std::int64_t{1} << 20, std::int64_t{1} << 21}) {
            const std::int64_t samples = is_complex(dtype) ? points : 2 * points;
            const std::int64_t k = samples / 8;
            Problem p = correlation_of(301, k, Mode::same);
            p.dtype = dtype;
            p.complex_taps = is_complex(dtype);
            std::vector<std::byte> in(bytes_of(input_extent(p), dtype));
            std::vector<std::byte> taps(bytes_of(taps_extent(p), taps_dtype(p)));
            fill_random(in.data(), dtype, input_extent(p), random);
            for (const std::int64_t first : {std::int64_t{0}, origin(p) - kDrawn, origin(p), k - kDrawn}) {
                fill_random(taps.data() + bytes_of(first, taps_dtype(p)), taps_dtype(p), kDrawn, random);
            }
            const RungRunOf<std::byte> run = run_rung_bytes(rung_, p, in, taps.data(), {0, static_cast<int>(points / 32), 0, 0});
            ASSERT_EQ(run.failure, "") << describe(p);
            ASSERT_EQ(compare(p, run.out.data(), in.data(), taps.data(), false), "") << describe(p);
        }
    }
}

// Of the longest segments that f32 has a kernel of its own for, samples come while the outputs before are completed, if they lie at
// 16 bytes; else each thread reads its own. One that is not finite makes its segment's be read again.
TEST_F(OverlapSaveLarge, SamplesThatComeEarly) {
    Random random(99);
    constexpr std::int64_t kTaps = 2500001;
    const Problem p = correlation_of(std::int64_t{33700003}, kTaps, Mode::valid);
    std::vector<float> in = random_floats(p.length, random);
    const std::vector<float> taps = random_floats(kTaps, random);
    const Plan plan = make_plan(p, taps, {.device = "cuda", .algorithm = kName});
    ASSERT_NE(plan.explain().find("segments of 8388608 samples"), std::string::npos) << plan.explain();
    const std::vector<float> early = execute_on_device<float>(plan, in.data());
    for (const std::size_t offset : {sizeof(float), 2 * sizeof(float)}) {
        const std::vector<float> out = execute_on_device<float>(plan, in.data(), 0, offset);
        ASSERT_EQ(std::memcmp(out.data(), early.data(), out.size() * sizeof(float)), 0) << offset;
    }
    const std::int64_t outputs = (8388608 - (kTaps - 1)) / 32 * 32;
    for (const std::int64_t at : {std::int64_t{0}, 3 * outputs - 4, 4 * outputs - 4, output_length(p) - 8}) {
        expect_exact(p, early, in, taps, at, 8);
        if (HasFatalFailure()) { return; }
    }
    // Of segments 3 and 4, whose samples come early: the ring has three places, and the last segment is not whole.
    const std::int64_t of_nan = 4 * outputs + 1500000;
    in[static_cast<std::size_t>(of_nan)] = NAN;
    std::vector<float> out = execute_on_device<float>(plan, in.data());
    const auto first = out.begin() + (of_nan - (kTaps - 1));
    const auto last = out.begin() + (of_nan + 1);
    EXPECT_TRUE(std::all_of(first, last, [](float x) { return std::isnan(x); }));
    std::copy(early.begin() + (first - out.begin()), early.begin() + (last - out.begin()), first);
    EXPECT_EQ(difference(out, early, 1e-6 * norm_of(early)), "");
}

// Of the shortest segments samples and outputs move in pairs, if these are aligned; else one by one. The last segment's number of
// outputs is odd.
TEST_F(OverlapSaveLarge, PairsAtAnyAddress) {
    constexpr std::int64_t kTaps = 5001;
    Random random(100);
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::complex64}) {
        const std::int64_t samples = std::int64_t{1} << (is_complex(dtype) ? 18 : 19);
        Problem p = correlation_of(4 * samples + 1235, kTaps);
        p.dtype = dtype;
        std::vector<std::byte> in = random_elements(dtype, input_extent(p), random);
        std::vector<std::byte> taps = random_elements(taps_dtype(p), taps_extent(p), random);
        const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = kName});
        ASSERT_NE(plan.explain().find("segments of " + std::to_string(samples) + " samples"), std::string::npos) << plan.explain();
        const std::vector<std::byte> out = execute_on_device<std::byte>(plan, in.data());
        const std::size_t own = size_of(dtype);
        for (const auto& [of_out, of_in] :
             {std::pair{own, std::size_t{0}}, {std::size_t{0}, own}, {own, own}, {2 * own, 2 * own}}) {
            ASSERT_EQ(execute_on_device<std::byte>(plan, in.data(), of_out, of_in), out) << describe(p) << of_out << ", " << of_in;
        }
        if (dtype != Dtype::f32) { continue; }
        // Rows whose lengths are odd: every other one begins between pairs. Each is as it is alone.
        Problem rows = p;
        rows.batch = 3;
        rows.length -= 2 * samples;
        const Problem row = [&] {
            Problem one = rows;
            one.batch = 1;
            return one;
        }();
        const Plan of_rows = make_plan(rows, taps.data(), {.device = "cuda", .algorithm = kName});
        const Plan of_row = make_plan(row, taps.data(), {.device = "cuda", .algorithm = kName});
        const std::vector<float> all = random_floats(3 * rows.length, random);
        const std::vector<float> together = execute_on_device<float>(of_rows, all.data());
        for (std::int64_t r = 0; r < 3; ++r) {
            const std::vector<float> alone = execute_on_device<float>(of_row, all.data() + r * rows.length);
            ASSERT_EQ(std::memcmp(alone.data(), together.data() + r * rows.length, alone.size() * sizeof(float)), 0) << r;
        }
        const std::vector<float> values(reinterpret_cast<const float*>(in.data()),
                                        reinterpret_cast<const float*>(in.data() + in.size()));
        const std::vector<float> reals(reinterpret_cast<const float*>(taps.data()),
                                       reinterpret_cast<const float*>(taps.data()) + kTaps);
        std::vector<float> outputs(values.size());
        std::memcpy(outputs.data(), out.data(), out.size());
        for (const std::int64_t at : {std::int64_t{0}, samples - kTaps - 20, 2 * samples, p.length - 9}) {
            expect_exact(p, outputs, values, reals, at, 9);
            if (HasFatalFailure()) { return; }
        }
    }
}

// Strides and another type of output go one by one; rows that lie closer than their samples take turns.
TEST_F(OverlapSaveLarge, StridesAndOtherOutputs) {
    Random random(93);
    for (const int kind : {0, 1, 2}) {
        Problem p = correlation_of(2500, 4100);
        if (kind == 2) {
            p.batch = 3;
            p.input_sample_stride = p.output_sample_stride = 3;
            p.input_row_stride = p.output_row_stride = 1;
        } else if (kind == 1) {
            p.output_dtype = Dtype::i16;
            p.scale = 20;
        } else {
            p.input_sample_stride = 3;
            p.output_sample_stride = 2;
        }
        const std::vector<float> in = random_floats(input_extent(p), random);
        const std::vector<float> taps = random_floats(p.taps, random);
        const Plan plan = make_plan(p, taps, {.device = "cuda", .algorithm = kName});
        const std::vector<std::byte> out = execute_on_device<std::byte>(plan, in.data());
        ASSERT_EQ(compare(p, out.data(), in.data(), taps.data(), false), "") << describe(p);
    }
}

// Samples that are not finite are transformed as zeros and their terms added: few or many. Compared with the rung that sums all
// terms directly where something is not finite.
TEST_F(OverlapSaveLarge, NanAndInfinityReachTheirWindowsOnly) {
    Random random(94);
    for (const int bad : {3, 2000}) {
        const Problem p = correlation_of(40000, 17001);
        std::vector<float> in = random_floats(p.length, random);
        for (int i = 0; i < bad; ++i) {
            const std::array<float, 3> values{NAN, HUGE_VALF, -HUGE_VALF};
            const std::int64_t at = bad == 3 ? between(0, p.length - 1, random) : between(30000, 33000, random);
            in[static_cast<std::size_t>(at)] = values[static_cast<std::size_t>(i % 3)];
        }
        const std::vector<float> taps = random_floats(p.taps, random);
        const Plan plan = make_plan(p, taps, {.device = "cuda", .algorithm = kName});
        const Plan parts = make_plan(p, taps, {.device = "cuda", .algorithm = kParts});
        const std::vector<float> out = execute_on_device<float>(plan, in.data());
        const std::vector<float> right = execute_on_device<float>(parts, in.data());
        ASSERT_EQ(difference(out, right, 2e-6 * norm_of(right)), "") << bad << " samples";
        if (HasFatalFailure()) { return; }
    }
}

TEST_F(OverlapSaveLarge, Overflow) {
    Random random(95);
    const Problem p = correlation_of(3000, 4500);
    const Drawn d = near_overflow(p, 1000, 2000, 1e-4F, random);
    const RungRun run = run_rung(rung_, p, d.in, d.taps);
    ASSERT_EQ(run.failure, "");
    ASSERT_EQ(compare(p, run.out.data(), d.in.data(), d.taps.data(), false), "");
}

// More long segments than the ring has places, whose columns and rows alternate, against short ones.
TEST_F(OverlapSaveLarge, LongSegmentsInTurn) {
    Random random(99);
    const Problem p = correlation_of(60000011, 60001);
    const std::vector<float> in = repeated(random_floats(1000003, random), p.length);
    const std::vector<float> taps = random_floats(p.taps, random);
    std::vector<float> right;
    for (const int bits : {18, 21, 22}) {
        const RungRun run = run_rung(rung_, p, in, taps, {0, 1 << (bits - 5), 0, 0});
        ASSERT_EQ(run.failure, "") << bits;
        if (right.empty()) {
            right = run.out;
            for (const std::int64_t first : {std::int64_t{0}, p.length / 2, p.length - 40}) {
                expect_exact(p, right, in, taps, first, 40);
                if (HasFatalFailure()) { return; }
            }
        } else {
            ASSERT_EQ(difference(run.out, right, 1e-6 * norm_of(right)), "") << bits;
        }
    }
}

// Blocks take tasks as they come; bits do not depend on who does what when.
TEST_F(OverlapSaveLarge, TheSameBitsAgain) {
    Random random(96);
    Problem p = correlation_of(700001, 70001);
    p.batch = 3;
    std::vector<float> in = random_floats(input_extent(p), random);
    in[1234567] = NAN;
    const Plan plan = make_plan(p, random_floats(p.taps, random), {.device = "cuda", .algorithm = kName});
    const std::vector<float> once = execute_on_device<float>(plan, in.data());
    for (int i = 0; i < 5; ++i) {
        const std::vector<float> again = execute_on_device<float>(plan, in.data());
        ASSERT_EQ(std::memcmp(again.data(), once.data(), once.size() * sizeof(float)), 0) << "run " << i;
    }
}

TEST_F(OverlapSaveLarge, LongFiltersChooseIt) {
    Random random(97);
    for (const std::int64_t k : {200000, 300000}) {
        const Problem p = correlation_of(std::int64_t{1} << 24, k);
        const Plan plan = make_plan(p, random_floats(k, random), {.device = "cuda"});
        EXPECT_EQ(plan.algorithm(), kName) << plan.explain();
    }
}

}  // namespace
}  // namespace tapline::test
