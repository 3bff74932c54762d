// Each rung on its origin's own test case, with the outputs that its write-up prints (the ninth of D's corrected).
#include <cmath>

#include "gpu/rung_runner.hpp"
#include "support/comparison.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

class OwnCases : public GpuTest {
protected:
    // A rung by the name of its origin.
    static std::vector<Rung> rungs_of(const std::string& origin) {
        std::vector<Rung> found;
        for (const Rung& rung : rungs_of_rank(1)) {
            if ((" " + std::string(rung.info().origin) + " ").find(" " + origin + " ") != std::string::npos) {
                found.push_back(rung);
            }
        }
        EXPECT_FALSE(found.empty()) << "no rung reproduces " << origin;
        return found;
    }

    static void expect(const Rung& rung, const Problem& problem, const std::vector<float>& in, const std::vector<float>& taps,
                       const std::vector<float>& wanted) {
        ASSERT_EQ(refusal(rung, problem), "") << rung.info().name;
        const RungRun run = run_rung(rung, problem, in, taps);
        EXPECT_EQ(run.failure, "") << rung.info().name;
        EXPECT_EQ(run.out, wanted) << rung.info().name;
    }

    // On a case too large to type its outputs: all of them against the textbook.
    static void expect_textbook(const Rung& rung, const Problem& problem) {
        ASSERT_EQ(refusal(rung, problem), "") << rung.info().name;
        Random random(24);
        std::vector<float> in(static_cast<std::size_t>(problem.length));
        std::vector<float> taps(static_cast<std::size_t>(problem.taps));
        fill_random(in.data(), Dtype::f32, problem.length, random);
        fill_random(taps.data(), Dtype::f32, problem.taps, random);
        const RungRun run = run_rung(rung, problem, in, taps);
        EXPECT_EQ(run.failure, "") << rung.info().name;
        EXPECT_EQ(compare(problem, run.out.data(), in.data(), taps.data(), is_elementwise(rung)), "") << rung.info().name;
    }
};

std::vector<float> count_up(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) { values[i] = static_cast<float>(i); }
    return values;
}

TEST_F(OwnCases, ABlockPuzzle) {
    for (const Rung& rung : rungs_of("A")) {
        expect(rung, correlation_of(6, 3, Mode::leading), count_up(6), count_up(3), {5, 8, 11, 14, 5, 0});
    }
}

TEST_F(OwnCases, A2BlockBoundary) {
    for (const Rung& rung : rungs_of("A2")) {
        expect(rung, correlation_of(15, 4, Mode::leading), count_up(15), count_up(4),
               {14, 20, 26, 32, 38, 44, 50, 56, 62, 68, 74, 80, 41, 14, 0});
    }
}

TEST_F(OwnCases, BBroadcastBlock) {
    for (const Rung& rung : rungs_of("B")) {
        expect(rung, correlation_of(5, 3, Mode::valid), {1, 2, 3, 4, 5}, {1, 0, -1}, {-2, -2, -2});
    }
}

// The largest problem that the origin allows: 3e9 products, so sampled outputs are summed in double precision.
TEST_F(OwnCases, BBroadcastBlockAtItsLargest) {
    const bool brief = environment_number("TAPLINE_PROPERTY_CASES", 4000) < 1000;  // under a sanitizer
    const Problem p = correlation_of(brief ? 20000 : 1500000, 2047, Mode::valid);
    Random random(25);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> in(static_cast<std::size_t>(p.length));
    std::vector<float> taps(static_cast<std::size_t>(p.taps));
    for (float& x : in) { x = uniform(random); }
    for (float& x : taps) { x = uniform(random); }
    for (const Rung& rung : rungs_of("B")) {
        ASSERT_EQ(refusal(rung, p), "");
        const RungRun run = run_rung(rung, p, in, taps);
        ASSERT_EQ(run.failure, "");
        for (std::size_t o = 0; o < run.out.size(); o = o + 1 == run.out.size() ? o + 1 : std::min(o + 211, run.out.size() - 1)) {
            double sum = 0;
            for (std::size_t t = 0; t < taps.size(); ++t) { sum += static_cast<double>(taps[t]) * static_cast<double>(in[o + t]); }
            ASSERT_LE(std::abs(static_cast<double>(run.out[o]) - sum), 1e-4 * std::max(1.0, std::abs(sum))) << "output " << o;
        }
    }
}

TEST_F(OwnCases, CFullConvolution) {
    const bool brief = environment_number("TAPLINE_PROPERTY_CASES", 4000) < 1000;  // C0 takes minutes under a sanitizer
    const Problem p{.length = brief ? 300 : 16384, .taps = 32};
    for (const char* origin : {"C0", "C1", "C2", "C3", "C4", "C5"}) {
        for (const Rung& rung : rungs_of(origin)) { expect_textbook(rung, p); }
    }
}

TEST_F(OwnCases, DRadiusAndPadding) {
    const std::vector<float> signal{2, 1, 4, 1, 1, 0, 1, 3, 1, 2, 2, 4};
    const std::vector<float> taps{1, 4, 2, -1, -5};
    for (const Rung& rung : rungs_of("D")) {
        expect(rung, correlation_of(12, 5, Mode::same), signal, taps, {-17, 1, 8, 18, 5, -11, -5, -1, 3, -11, 9, 18});
        Problem convolution = correlation_of(12, 5, Mode::same);
        convolution.operation = Operation::convolution;
        expect(rung, convolution, signal, {-5, -1, 2, 4, 1}, {-17, 1, 8, 18, 5, -11, -5, -1, 3, -11, 9, 18});
        if (refusal(rung, correlation_of(12, 5, Mode::valid)).empty()) {
            expect(rung, correlation_of(12, 5, Mode::valid), signal, taps, {8, 18, 5, -11, -5, -1, 3, -11});
        }
    }
}

TEST_F(OwnCases, EClampedCorrelation) {
    for (const char* origin : {"E1", "E2", "E3", "E4"}) {
        for (const Rung& rung : rungs_of(origin)) {
            Problem p = correlation_of(12, 5, Mode::same);
            p.clamp = Clamp{0, 1};
            expect(rung, p, {2, 1, 4, 1, 1, 0, 1, 3, 1, 2, 2, 4}, {1, 4, 2, -1, -5}, {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1});
            for (const std::int64_t n : {1, 255, 256, 257, 100003}) {
                for (const std::int64_t k : {3, 9, 33, 129}) {
                    Problem q = correlation_of(n, k, Mode::same);
                    q.clamp = Clamp{0, 1};
                    expect_textbook(rung, q);
                }
            }
        }
    }
}

}  // namespace
}  // namespace tapline::test
