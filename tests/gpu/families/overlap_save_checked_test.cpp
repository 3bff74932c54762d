// Strict accuracy by transforms on a GPU: every output's own bound, whatever lies beside it in its segment.
#include <cmath>
#include <cstring>

#include "gpu/gpu.hpp"
#include "support/buffers.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "support/strict_signals.hpp"

namespace tapline::test {
namespace {

class CheckedSegments : public GpuTest {
protected:
    static Floats run(const Problem& p, const Floats& taps, const Floats& in,
                      const std::string& algorithm = "overlap_save_checked") {
        const Plan plan = make_plan(p, static_cast<const void*>(taps.data()),
                                    {.device = "cuda", .accuracy = Accuracy::strict, .algorithm = algorithm});
        return execute_on_device<float>(plan, in.data());
    }
    static void expect_kept(const Problem& p, const Floats& taps, const Floats& in, const std::string& what) {
        EXPECT_EQ(misses(p, taps, in, run(p, taps, in)), 0) << what << ", " << p.taps << " taps";
    }
};

TEST_F(CheckedSegments, EverySignalKeepsItsBound) {
    for (const std::int64_t k : {65, 1111, 2601}) {  // of one warp a segment and of several
        const Problem p{.length = k + 4000, .taps = k, .mode = Mode::same};
        for (const Signal& signal : kSignals) {
            Floats in = random_samples(p.length, 1);
            signal.make(in);
            expect_kept(p, taps_for(signal, random_samples(k, 2)), in, signal.name);
            if (k < 2000) { expect_kept(p, taps_for(signal, high_pass(k)), in, std::string(signal.name) + " through a high pass"); }
        }
    }
}

TEST_F(CheckedSegments, ComplexSignals) {
    for_every_complex_signal(
        3500, Mode::full,
        [&](const Problem& p, const Floats& taps, const Floats& in, const std::string& what) { expect_kept(p, taps, in, what); });
}

// More groups to be summed directly than their list has room for come in several launches.
TEST_F(CheckedSegments, ListsThatAreFull) {
    const Problem p{.length = (std::int64_t{1} << 26) + 5000, .taps = 40, .mode = Mode::same};
    const Floats in(static_cast<std::size_t>(p.length), NAN);
    const Floats out = run(p, random_samples(p.taps, 7), in);
    EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](float x) { return std::isnan(x); }));
}

TEST_F(CheckedSegments, LongFiltersChooseIt) {
    for (const std::int64_t k : {511, 2047, 8191}) {
        const Plan plan = make_plan({.length = std::int64_t{1} << 24, .taps = k}, random_samples(k, 8),
                                    {.device = "cuda", .accuracy = Accuracy::strict});
        EXPECT_EQ(plan.algorithm(), "overlap_save_checked") << plan.explain();
        EXPECT_NE(plan.explain().find("every output checked"), std::string::npos) << plan.explain();
    }
}

class StrictSums : public CheckedSegments {
protected:
    static void expect_kept(const Problem& p, const Floats& taps, const Floats& in, const std::string& what) {
        EXPECT_EQ(misses(p, taps, in, run(p, taps, in, "strict_sums")), 0) << what << ": " << describe(p);
    }
};

TEST_F(StrictSums, EverySignalKeepsItsBound) {
    for (const std::int64_t k : {64, 301, 5003}) {
        Problem p{.length = 4001, .taps = k, .mode = k == 301 ? Mode::full : Mode::same};
        if (k == 301) { p.boundary = Boundary::mirror; }
        for_every_signal(p, 11,
                         [&](const Floats& taps, const Floats& in, const std::string& what) { expect_kept(p, taps, in, what); });
    }
}

// Pairs of channels under filters for which checked segments hold few complex samples go as rows of real ones.
TEST_F(StrictSums, PairsOfChannelsWithLongFilters) {
    const auto pairs = [](std::int64_t rows, std::int64_t n, std::int64_t k) {
        Problem p;
        p.axes = {{.length = n, .taps = k, .mode = Mode::same, .input_stride = 2, .output_stride = 2}};
        p.batch_axes = {{rows, 2 * n, 2 * n, 0}, {2, 1, 1, 0}};
        return p;
    };
    const PlanOptions strict{.device = "cuda", .accuracy = Accuracy::strict};
    for (const std::int64_t k : {6143, 7323}) {
        const Plan plan = make_plan(pairs(37, 39333, k), random_samples(k, 22), strict);
        EXPECT_EQ(plan.algorithm() == "transposed_rows", k > 6143) << plan.explain();
    }
    const Problem p = pairs(2, 9001, 7323);
    const Floats in = random_samples(input_extent(p), 21);
    const Floats taps = random_samples(taps_extent(p), 22);
    const std::vector<float> out = execute_on_device<float>(make_plan(p, taps, strict), in.data());
    EXPECT_EQ(compare(p, out.data(), in.data(), taps.data(), true), "") << describe(p);
}

TEST_F(StrictSums, ImagesOfAnyBoundary) {
    std::uint64_t seed = 13;
    for (const Boundary boundary : {Boundary::zero, Boundary::constant, Boundary::nearest, Boundary::reflect, Boundary::wrap}) {
        for (const Mode mode : {Mode::same, Mode::full, Mode::valid}) {
            Problem p;
            p.dtype = Dtype::f32;
            p.constant = boundary == Boundary::constant ? 40 : 0;
            p.axes = {{.length = 41, .taps = 19, .mode = mode, .boundary = boundary},
                      {.length = 67, .taps = 23, .mode = mode, .boundary = boundary == Boundary::wrap ? Boundary::zero : boundary}};
            p.batch = 2;
            for (const Signal& signal : kSignals) {
                Floats in = random_samples(input_extent(p), ++seed);
                signal.make(in);
                expect_kept(p, taps_for(signal, random_samples(taps_extent(p), seed + 1000)), in, signal.name);
            }
        }
    }
}

TEST_F(StrictSums, SamplesOfEveryType) {
    Random random(17);
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::i8, Dtype::u8, Dtype::i16, Dtype::u16, Dtype::i32, Dtype::u32,
                              Dtype::i64, Dtype::u64, Dtype::complex64}) {
        for (const bool other : {false, true}) {  // complex taps, or outputs that are floats
            for (const Boundary boundary : {Boundary::zero, Boundary::constant, Boundary::mirror}) {
                Problem p;
                p.dtype = dtype;
                if (is_integer(dtype)) { p.real_taps = Dtype::f32; }
                p.complex_taps = dtype == Dtype::complex64 && other;
                if (dtype != Dtype::complex64 && other) { p.output_dtype = Dtype::f32; }
                p.constant = boundary == Boundary::constant ? 3 : 0;
                p.scale = 0.5;
                p.axes = {
                    {.length = 23,
                     .taps = 9,
                     .mode = Mode::same,
                     .boundary = boundary,
                     .input_stride = 31 * 3,
                     .output_stride = 31 * 3},
                    {.length = 31, .taps = 8, .mode = Mode::same, .boundary = boundary, .input_stride = 3, .output_stride = 3}};
                p.batch_axes = {{3, 1, 1, 0}};
                const std::vector<std::byte> in = random_elements(dtype, input_extent(p), random);
                const std::vector<std::byte> taps = random_elements(taps_dtype(p), taps_extent(p), random);
                const Plan plan =
                    make_plan(p, taps.data(), {.device = "cuda", .accuracy = Accuracy::strict, .algorithm = "strict_sums"});
                const std::vector<std::byte> out = execute_on_device<std::byte>(plan, in.data());
                EXPECT_EQ(compare(p, out.data(), in.data(), taps.data(), true), "") << describe(p);
            }
        }
    }
}

TEST_F(StrictSums, LargeMasksChooseIt) {
    Problem p;
    p.axes = {{.length = 1024, .taps = 101, .mode = Mode::same}, {.length = 1024, .taps = 101, .mode = Mode::same}};
    const Plan plan = make_plan(p, random_samples(taps_extent(p), 9), {.device = "cuda", .accuracy = Accuracy::strict});
    EXPECT_EQ(plan.algorithm(), "strict_sums") << plan.explain();
}

}  // namespace
}  // namespace tapline::test
