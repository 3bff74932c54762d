// What products of halves must not lose: range, small values beside large ones, and the bits that pieces have in common.
#include <cmath>
#include <cstring>

#include "core/problem/half.hpp"
#include "gpu/difference.hpp"
#include "gpu/gpu.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

class Tensor : public GpuTest {
protected:
    static constexpr std::int64_t kTile = 1024;

    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped() || HasFatalFailure()) { return; }
        if (!rung_named("tensor_direct")) { FAIL() << "no such rung"; }
        const std::vector<AlgorithmInfo> all = algorithms(problem(100, 9), "cuda");
        for (const AlgorithmInfo& info : all) {
            if (info.name == "tensor_direct" && !info.supported) { TAPLINE_GPU_MISSING(info.reason); }
        }
    }

    static Problem problem(std::int64_t n, std::int64_t k, Dtype dtype = Dtype::f32) {
        return {.length = n, .taps = k, .mode = Mode::same, .dtype = dtype};
    }
    static Plan plan(const Problem& p, const std::vector<float>& taps) {
        return make_plan(p, taps.data(), {.device = "cuda", .algorithm = "tensor_direct"});
    }
    static std::vector<float> run(const Problem& p, const std::vector<float>& in, const std::vector<float>& taps) {
        return execute_on_device<float>(plan(p, taps), in.data());
    }
    static void round_taps(std::vector<float>& taps, Dtype dtype) {
        for (float& tap : taps) {
            tap = dtype == Dtype::f16 ? core::from_f16(core::to_f16(tap)) : core::from_bf16(core::to_bf16(tap));
        }
    }
    // The L2 error of each stretch of 4,096 outputs against what `standard` allows it.
    static void expect_standard(const Problem& p, const std::vector<float>& in, const std::vector<float>& taps, const char* what) {
        constexpr std::int64_t kStretch = 4096;
        const std::vector<float> out = run(p, in, taps);
        double sum_of_taps = 0;
        for (const float t : taps) { sum_of_taps += std::fabs(static_cast<double>(t)); }
        const std::int64_t origin = p.taps / 2;
        for (std::int64_t first = 0; first < p.length; first += kStretch) {
            const std::int64_t last = std::min(first + kStretch, p.length);
            double error = 0;
            double input = 0;
            for (std::int64_t i = std::max<std::int64_t>(first - origin, 0); i < std::min(last - origin + p.taps - 1, p.length);
                 ++i) {
                input += std::pow(static_cast<double>(in[static_cast<std::size_t>(i)]), 2);
            }
            for (std::int64_t o = first; o < last; ++o) {
                double wanted = 0;  // f32 products are exact in a double
                for (std::int64_t t = 0; t < p.taps; ++t) {
                    const std::int64_t at = o + t - origin;
                    if (at < 0 || at >= p.length) { continue; }
                    wanted +=
                        static_cast<double>(taps[static_cast<std::size_t>(p.taps - 1 - t)]) * in[static_cast<std::size_t>(at)];
                }
                error += std::pow(wanted - static_cast<double>(out[static_cast<std::size_t>(o)]), 2);
            }
            ASSERT_LE(std::sqrt(error), 1e-6 * sum_of_taps * std::sqrt(input)) << what << ", outputs from " << first;
        }
    }
};

TEST_F(Tensor, KeepsThePromiseOnDataMadeToBreakIt) {
    const std::int64_t n = 5 * 4096 + 77;
    for (const std::int64_t k : {7, 64, 129, 256}) {
        const Problem p = problem(n, k);
        const std::vector<float> noise = random_floats(n, 61);
        const std::vector<float> taps = random_floats(k, 62);
        const std::vector<float> box(static_cast<std::size_t>(k), 1.0F / static_cast<float>(k));
        std::vector<float> in(noise);
        for (float& x : in) { x += 1e6F; }
        expect_standard(p, in, box, "a constant of 1e6 under a moving average");
        expect_standard(p, in, taps, "a constant of 1e6");
        for (std::size_t i = 0; i < in.size(); ++i) { in[i] = noise[i] * (i < in.size() / 2 ? 1e6F : 1.0F); }
        expect_standard(p, in, taps, "a loud half and a quiet one");
        for (std::size_t i = 0; i < in.size(); ++i) { in[i] = i % 2 == 0 ? 3.0F : -2.999999F; }
        expect_standard(p, in, box, "alternating signs");
        for (std::size_t i = 0; i < in.size(); ++i) { in[i] = noise[i] * (i % 97 == 5 ? 1e20F : 1e-12F); }
        expect_standard(p, in, taps, "huge values beside tiny ones");
        for (std::size_t i = 0; i < in.size(); ++i) { in[i] = noise[i] * 1e37F; }
        expect_standard(p, in, box, "values near the largest");
        for (std::size_t i = 0; i < in.size(); ++i) { in[i] = noise[i] * 1e-30F; }
        std::vector<float> large(taps);
        for (float& t : large) { t *= 1e32F; }
        expect_standard(p, in, large, "small values under large taps");
        for (float& t : large) { t *= 1e-38F; }
        for (float& x : in) { x *= 1e36F; }
        expect_standard(p, in, large, "large values under small taps");
    }
}

TEST_F(Tensor, NearTheSmallestFloatNothingIsLost) {
    const std::int64_t n = 3000;
    const Problem p = problem(n, 33);
    std::vector<float> in = random_floats(n, 63);
    for (float& x : in) { x *= 0x1p-120F; }
    const std::vector<float> taps = random_floats(33, 64);
    expect_standard(p, in, taps, "2^-120");
}

TEST_F(Tensor, SamplesThatNoOutputNeedsChangeNothing) {
    // The last of them lie beside the tile: a NaN there must not send it another way, nor a huge value spoil its scale.
    const std::int64_t k = 65;
    Problem whole = problem(3 * kTile, k);
    const std::vector<float> taps = random_floats(k, 65);
    std::vector<float> in = random_floats(whole.length, 66);
    const std::vector<float> wanted = run(whole, in, taps);
    // Outputs [0, kTile) read samples up to kTile - 1 - k / 2 + k - 1.
    for (std::size_t i = static_cast<std::size_t>(kTile - k / 2 + k - 1); i < in.size(); ++i) { in[i] = i % 2 == 0 ? 1e38F : NAN; }
    const std::vector<float> got = run(whole, in, taps);
    for (std::size_t o = 0; o < static_cast<std::size_t>(kTile); ++o) { ASSERT_EQ(got[o], wanted[o]) << "output " << o; }
}

// So many rows that every warp has several tiles, of rows that are not neighbours; both ends of all rows, which begin at 16-byte
// boundaries or not. The textbook would take minutes: direct summation is the reference.
TEST_F(Tensor, WarpsTakeTurns) {
    const std::int64_t k = 33;
    const std::vector<float> taps = random_floats(k, 69);
    double sum_of_taps = 0;
    for (const float t : taps) { sum_of_taps += std::fabs(static_cast<double>(t)); }
    for (const std::int64_t n : {5 * kTile - 8, 5 * kTile - 7, 5 * kTile}) {
        for (const Boundary boundary : {Boundary::zero, Boundary::reflect}) {
            Problem p = problem(n, k);
            p.batch = 2500;
            p.boundary = boundary;
            const std::vector<float> in = random_floats(n * p.batch, 70);
            const Plan direct = make_plan(p, taps.data(), {.device = "cuda", .algorithm = "direct"});
            const std::vector<float> right = execute_on_device<float>(direct, in.data());
            EXPECT_EQ(difference(run(p, in, taps), right, 2e-6 * sum_of_taps * norm_of(in)), "") << describe(p);
        }
    }
}

TEST_F(Tensor, SixteenBitSamplesOverTheirWholeRange) {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        for (const std::int64_t k : {5, 128, 250}) {
            Problem p = problem(10007, k, dtype);
            p.batch = 3;
            p.filters = Filters::per_row;
            Random random(67);
            std::vector<std::byte> in = random_elements(dtype, input_extent(p), random);
            const std::vector<float> taps = random_floats(3 * k, 68);
            const Plan made = make_plan(p, taps.data(), {.device = "cuda", .algorithm = "tensor_direct"});
            const std::vector<std::byte> out = execute_on_device<std::byte>(made, in.data());
            EXPECT_EQ(compare(p, out.data(), in.data(), taps.data(), false), "") << describe(p);
        }
    }
}

// Tiles at the edges of rows that begin on 16 bytes, zeros around them: whole vectors of zeros, and one that ends within the row.
TEST_F(Tensor, EdgesAmongZeros) {
    for (const Mode mode : {Mode::causal, Mode::same, Mode::full}) {
        for (const std::int64_t k : {4, 63, 64, 250}) {
            for (const std::int64_t n : {1, 63, 1023, 1027, 8192, 9001}) {
                Problem p = problem(n, k);
                p.mode = mode;
                if (n % 4 == 0) {
                    p.batch = 3;
                    p.filters = Filters::per_row;
                }
                Random random(90);
                std::vector<std::byte> in = random_elements(p.dtype, input_extent(p), random);
                const float nan = NAN;
                std::memcpy(in.data() + 4 * (n - 1), &nan, 4);
                const std::vector<float> taps = random_floats(p.batch * k, 91);
                const Plan made = make_plan(p, taps.data(), {.device = "cuda", .algorithm = "tensor_direct"});
                const std::vector<std::byte> out = execute_on_device<std::byte>(made, in.data());
                EXPECT_EQ(compare(p, out.data(), in.data(), taps.data(), false), "") << describe(p);
            }
        }
    }
}

// Lengths that fill tiles of 4,096 outputs well enough, and one that does not; blocks of several tiles; a NaN that only its window
// may see; every number of steps.
TEST_F(Tensor, SixteenBitTilesOfFourWarps) {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        for (const std::int64_t k : {1, 31, 63, 95, 127, 159, 191, 223, 250, 256}) {
            for (const std::int64_t n : {4096, 8192 - 40, 5000, 40961, 16 * 4096 + 3}) {
                Problem p = problem(n, k, dtype);
                p.mode = k % 4 == 1 ? Mode::causal : Mode::same;
                p.boundary = k % 8 < 4 ? Boundary::reflect : Boundary::zero;
                if (k % 16 == 15) { p.scale = 0.5; }
                Random random(70 + static_cast<std::uint64_t>(k));
                std::vector<std::byte> in = random_elements(dtype, input_extent(p), random);
                const std::uint16_t nan = 0x7fff;
                std::memcpy(in.data() + 2 * (n / 2), &nan, 2);
                const std::vector<float> taps = random_floats(k, 71);
                Plan made = make_plan(p, taps.data(), {.device = "cuda", .algorithm = "tensor_direct"});
                const std::vector<std::byte> out = execute_on_device<std::byte>(made, in.data());
                EXPECT_EQ(compare(p, out.data(), in.data(), taps.data(), false), "") << describe(p);
            }
        }
    }
}

// Long signals, whose samples stay in registers: both ends, a NaN that only its window may see, taps of one half and of two, an
// epilogue. The textbook would take minutes for all of it: stretches are looked at, with sums in double.
TEST_F(Tensor, LongSignalsOfSixteenBitSamples) {
    const std::int64_t n = (std::int64_t{1} << 24) + 777;
    // A tile's last sample, whatever the tile's size (2,048 times 5, 7 or 9): one warp of this tile sees it, one of the next does.
    const std::int64_t nan_at = 2048 * 315 * 13 - 1;
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        const auto widen = [&](std::uint16_t x) { return dtype == Dtype::f16 ? core::from_f16(x) : core::from_bf16(x); };
        for (const std::int64_t k : {63, 127, 200, 256, 257, 383, 511, 512}) {
            for (const bool narrow : {false, true}) {
                if (k > 256 && !narrow) { continue; }
                Problem p = problem(n, k, dtype);
                p.boundary = Boundary::reflect;
                if (k == 200) { p.scale = 0.5; }
                Random random(80 + static_cast<std::uint64_t>(k));
                std::vector<std::uint16_t> in(static_cast<std::size_t>(n));
                fill_random(reinterpret_cast<std::byte*>(in.data()), dtype, n, random);
                in[static_cast<std::size_t>(nan_at)] = 0x7fff;
                std::vector<float> taps = random_floats(k, 81);
                if (narrow) { round_taps(taps, dtype); }
                const Plan made = make_plan(p, taps.data(), {.device = "cuda", .algorithm = "tensor_direct"});
                const std::string expected = narrow ? "taps are of the signal's type: one product" : "two products";
                if (made.explain().find("four warps in turn") == std::string::npos) {
                    TAPLINE_GPU_MISSING("no products of four warps here: " + made.explain());
                }
                EXPECT_NE(made.explain().find(expected), std::string::npos) << made.explain();
                const std::vector<std::uint16_t> out = execute_on_device<std::uint16_t>(made, in.data());
                double error = 0;
                double size = 0;
                for (const std::int64_t first :
                     {std::int64_t{0}, std::int64_t{10240 - 300}, n / 3, nan_at - 500, nan_at + 2048, n - 1000}) {
                    for (std::int64_t o = first; o < first + 1000; ++o) {
                        double wanted = 0;
                        bool sees_nan = false;
                        for (std::int64_t t = 0; t < k; ++t) {
                            std::int64_t at = o + t - k / 2;
                            at = at < 0 ? -1 - at : at >= n ? 2 * n - 1 - at : at;
                            sees_nan = sees_nan || at == nan_at;
                            wanted += static_cast<double>(taps[static_cast<std::size_t>(k - 1 - t)]) *
                                      widen(in[static_cast<std::size_t>(at)]);
                        }
                        const double got = widen(out[static_cast<std::size_t>(o)]);
                        ASSERT_EQ(std::isnan(got), sees_nan) << "output " << o << ": " << describe(p);
                        if (sees_nan) { continue; }
                        wanted *= p.scale;
                        error += (got - wanted) * (got - wanted);
                        size += wanted * wanted;
                    }
                }
                EXPECT_LE(std::sqrt(error), (dtype == Dtype::f16 ? 0x1p-11 : 0x1p-8) * std::sqrt(size)) << describe(p);
            }
        }
    }
}

// So many tiles that blocks take them as they come: rows of one launch against each row alone, which is too short for that.
TEST_F(Tensor, BlocksTakeTiles) {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        for (const std::int64_t k : {31, 127, 505}) {
            const Problem p = problem(40000003, k, dtype);
            Problem rows = p;
            rows.batch = 3;
            Random random(93);
            std::vector<std::uint16_t> some(1000003);
            fill_random(reinterpret_cast<std::byte*>(some.data()), dtype, static_cast<std::int64_t>(some.size()), random);
            std::vector<std::uint16_t> in = repeated(some, input_extent(rows));
            in[60000001] = 0x7fff;
            std::vector<float> taps = random_floats(k, 94);
            round_taps(taps, dtype);
            const Plan all = plan(rows, taps);
            const Plan one = plan(p, taps);
            if (all.explain().find("four warps in turn") == std::string::npos) {
                TAPLINE_GPU_MISSING("no products of four warps here: " + all.explain());
            }
            EXPECT_NE(all.workspace_bytes(), 0U) << all.explain();
            const std::vector<std::uint16_t> out = execute_on_device<std::uint16_t>(all, in.data());
            for (std::int64_t row = 0; row < rows.batch; ++row) {
                const std::vector<std::uint16_t> right = execute_on_device<std::uint16_t>(one, in.data() + row * p.length);
                ASSERT_EQ(std::memcmp(out.data() + row * p.length, right.data(), right.size() * sizeof(std::uint16_t)), 0)
                    << "row " << row << ": " << describe(rows);
            }
        }
    }
}

// More taps than two products take: tiles that are full, begun or hardly there, every mode, rows that share a filter.
TEST_F(Tensor, ManyTapsOfTheSignalsTypeOnAnyLength) {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        for (const std::int64_t k : {257, 288, 352, 411, 480, 505, 511, 512}) {
            std::vector<float> taps = random_floats(k, 90);
            round_taps(taps, dtype);
            for (const std::int64_t n : {1, 300, 513, 18431, 18432 + 600, 40961}) {
                Problem p = problem(n, k, dtype);
                p.mode = n < k || k % 2 == 0 ? Mode::full : k % 3 == 0 ? Mode::valid : Mode::causal;
                p.batch = n < 1000 ? 3 : 1;
                if (k == 480) { p.bias = 0.25; }
                if (k == 512) { p.origin = 250; }  // six samples into a vector: the most chunks, which no mode's own origin needs
                if (n > 1000 && k == 352) { p.boundary = Boundary::wrap; }
                Random random(91 + static_cast<std::uint64_t>(k));
                std::vector<std::byte> in = random_elements(dtype, input_extent(p), random);
                const std::vector<AlgorithmInfo> all = algorithms(p, "cuda", Accuracy::standard, 0, taps.data());
                for (const AlgorithmInfo& info : all) {
                    if (info.name == "tensor_direct" && !info.supported) { TAPLINE_GPU_MISSING(info.reason); }
                }
                const std::vector<std::byte> out = execute_on_device<std::byte>(plan(p, taps), in.data());
                EXPECT_EQ(compare(p, out.data(), in.data(), taps.data(), false), "") << describe(p);
            }
        }
    }
}

// The same problem with other taps may be another algorithm's: what a plan is told of them decides.
TEST_F(Tensor, IsChosenForTapsOfTheSignalsType) {
    const Problem p = problem(std::int64_t{1} << 26, 511, Dtype::bf16);
    std::vector<float> taps = random_floats(p.taps, 92);
    const auto chosen = [&] { return make_plan(p, taps.data(), {.device = "cuda"}); };
    EXPECT_NE(chosen().algorithm(), "tensor_direct") << chosen().explain();
    EXPECT_THROW(plan(p, taps), Error);
    round_taps(taps, p.dtype);
    for (const AlgorithmInfo& info : algorithms(p, "cuda", Accuracy::standard, 0, taps.data())) {
        if (info.name == "tensor_direct" && !info.supported) { TAPLINE_GPU_MISSING(info.reason); }
    }
    EXPECT_EQ(chosen().algorithm(), "tensor_direct") << chosen().explain();
    taps[100] += 0x1p-20F;
    EXPECT_NE(chosen().algorithm(), "tensor_direct") << chosen().explain();
}

TEST_F(Tensor, RefusesWhatItCannotDoWithTheReason) {
    const std::vector<float> taps = random_floats(257, 69);
    const auto reason = [&](const Problem& p, Accuracy accuracy) -> std::string {
        for (const AlgorithmInfo& info : algorithms(p, "cuda", accuracy)) {
            if (info.name == "tensor_direct") { return info.supported ? "" : info.reason; }
        }
        return "not listed";
    };
    EXPECT_EQ(reason(problem(5000, 256), Accuracy::standard), "");
    EXPECT_EQ(reason(problem(5000, 257), Accuracy::standard), "more than 256 taps");
    EXPECT_NE(reason(problem(5000, 257, Dtype::bf16), Accuracy::standard).find("of the signal's type"), std::string::npos);
    EXPECT_NE(reason(problem(5000, 16), Accuracy::strict).find("strict"), std::string::npos);
    EXPECT_NE(reason(problem(5000, 16, Dtype::f64), Accuracy::standard).find("f32"), std::string::npos);
}

}  // namespace
}  // namespace tapline::test
