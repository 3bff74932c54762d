// Every rung of the ladder on awkward sizes against the textbook; rungs refuse what they do not support, with a reason.
#include <array>
#include <set>

#include "gpu/rung_runner.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

// Vectors, warps, blocks and tiles, one less and one more; primes; lengths of several blocks.
constexpr std::array<std::int64_t, 24> kLengths{1,   2,   3,   7,    8,    31,   32,   33,   127,  128,  129,  255,
                                                256, 257, 509, 1023, 1024, 1025, 2047, 2048, 2049, 3072, 4099, 10007};
constexpr std::array<std::int64_t, 17> kTaps{1, 2, 3, 4, 5, 8, 9, 17, 31, 32, 33, 64, 127, 129, 255, 257, 1031};
constexpr std::int64_t kManyTaps = 20000;                      // more than half a segment of any transform
constexpr std::int64_t kMostProducts = std::int64_t{1} << 22;  // of one problem: the textbook takes 10 ms for them

class Rungs : public GpuTest {
protected:
    // "" or what is wrong with one rung on one problem; `runs` counts those it solved.
    static std::string failure_of(const Rung& rung, const Problem& problem, Random& random, int& runs,
                                  const cuda_abi::Policy& policy = {}) {
        if (!refusal(rung, problem).empty()) { return {}; }
        ++runs;
        const std::int64_t samples = input_extent(problem);
        std::vector<float> in(static_cast<std::size_t>(samples));
        std::vector<float> taps(static_cast<std::size_t>(problem.taps));
        fill_random(in.data(), Dtype::f32, samples, random);
        fill_random(taps.data(), Dtype::f32, problem.taps, random);
        const RungRun run = run_rung(rung, problem, in, taps, policy);
        if (!run.failure.empty()) { return run.failure; }
        return compare(problem, run.out.data(), in.data(), taps.data(), is_elementwise(rung));
    }
};

Problem plain(std::int64_t n, std::int64_t k, Mode mode, Operation operation) {
    return {.length = n, .taps = k, .mode = mode, .operation = operation};
}

// The same for a rung: of several rows side by side if it wants these.
Problem suited(const Rung& rung, std::int64_t n, std::int64_t k, Mode mode, Operation operation) {
    const Problem p = plain(n, k, mode, operation);
    if (refusal(rung, p).empty()) { return p; }
    Problem across = p;
    across.batch = 8;
    across.input_row_stride = across.output_row_stride = 1;
    across.input_sample_stride = across.output_sample_stride = across.batch;
    return refusal(rung, across).empty() ? across : p;
}

// The same of samples of 16 bits whose sums are its outputs.
Problem widened(Problem p, Dtype samples = Dtype::f16) {
    p.dtype = samples;
    p.output_dtype = Dtype::f32;
    if (is_integer(samples)) { p.real_taps = Dtype::f32; }
    return p;
}

// For rungs that leave fewer to others; the textbook cannot follow.
constexpr std::int64_t kLongTaps = 300'000;

constexpr std::array kModes{Mode::full, Mode::same, Mode::valid, Mode::causal, Mode::leading};

// body(n, k) for all sizes that the textbook can follow.
template <class Body>
void for_awkward_sizes(Mode mode, const Body& body) {
    for (const std::int64_t n : kLengths) {
        std::vector<std::int64_t> tap_counts(kTaps.begin(), kTaps.end());
        tap_counts.push_back(n);
        tap_counts.push_back(n + 1);
        if (n == 33) { tap_counts.push_back(kManyTaps); }
        for (const std::int64_t k : tap_counts) {
            if ((mode == Mode::valid && k > n) || n * k > kMostProducts) { continue; }
            body(n, k);
        }
    }
}

// A test for each mode, so that they run side by side.
class AwkwardSizes : public Rungs, public testing::WithParamInterface<int> {};

TEST_P(AwkwardSizes, AreSolvedByEveryRung) {
    const bool brief = environment_number("TAPLINE_PROPERTY_CASES", 4000) < 1000;  // under a sanitizer
    const Mode mode = kModes.at(static_cast<std::size_t>(GetParam()));
    Random random(static_cast<std::uint64_t>(GetParam()) + 20);
    for (const Rung& rung : rungs_of_rank(1)) {
        int runs = 0;
        int visited = 0;
        for_awkward_sizes(mode, [&](std::int64_t n, std::int64_t k) {
            if (HasFatalFailure()) { return; }
            const Operation operation = chance(0.5, random) ? Operation::convolution : Operation::correlation;
            Problem p = suited(rung, n, k, mode, operation);
            if (!refusal(rung, p).empty()) { return; }
            const bool first = visited++ == 0;
            if (brief ? (visited - 1) % 97 != 0 : !first && chance(0.5, random)) { return; }
            if (!first && chance(0.3, random)) { p.clamp = Clamp{0, 1}; }
            ASSERT_EQ(failure_of(rung, p, random, runs), "") << rung.info().name << ": " << describe(p);
        });
        const auto widens = [&](std::int64_t n, std::int64_t k, Dtype samples) {
            return refusal(rung, widened(plain(n, k, mode, Operation::correlation), samples)).empty();
        };
        if (visited == 0 && (widens(33, 3, Dtype::f16) || widens(kLongTaps, kLongTaps, Dtype::i16))) { continue; }
        if (visited == 0) {  // only a rung that is for another mode, or for more taps than fit there, and says so
            const std::string reason = refusal(rung, plain(33, 3, mode, Operation::correlation));
            if (refusal(rung, plain(kLongTaps, kLongTaps, mode, Operation::correlation)).empty()) { continue; }
            const char* const word =
                mode == Mode::valid && refusal(rung, plain(33, 3, Mode::full, Operation::correlation)) == reason ? "taps" : "mode";
            EXPECT_NE(reason.find(word), std::string::npos) << rung.info().name << " in mode " << to_string(mode) << ": " << reason;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, AwkwardSizes, testing::Range(0, static_cast<int>(kModes.size())));

TEST_F(Rungs, EveryRungSolvesSomething) {
    for (const Rung& rung : rungs_of_rank(1)) {
        int taken = 0;
        for (const Mode mode : kModes) {
            for_awkward_sizes(mode, [&](std::int64_t n, std::int64_t k) {
                const Problem p = suited(rung, n, k, mode, Operation::correlation);
                taken += refusal(rung, p).empty() || refusal(rung, widened(p)).empty() ? 1 : 0;
            });
        }
        const Problem with_long_taps = plain(kLongTaps, kLongTaps, Mode::same, Operation::correlation);
        taken += refusal(rung, with_long_taps).empty() || refusal(rung, widened(with_long_taps, Dtype::i16)).empty() ? 1 : 0;
        EXPECT_GT(taken, 0) << rung.info().name;
    }
}

TEST_F(Rungs, OtherOriginsOrAReason) {
    Random random(21);
    for (const Rung& rung : rungs_of_rank(1)) {
        for (const std::int64_t origin : {-300, -7, 0, 2, 16, 40, 1000}) {
            int runs = 0;
            Problem p = plain(700, 17, Mode::same, Operation::correlation);
            p.origin = origin;
            ASSERT_EQ(failure_of(rung, p, random, runs), "") << rung.info().name << ": " << describe(p);
        }
    }
}

TEST_F(Rungs, EveryPolicyIsRight) {
    Random random(22);
    int policies_run = 0;
    for (const Rung& rung : rungs_of_rank(1)) {
        for (const std::int64_t k : {3, 9, 17, 33, 65, 129, 600}) {
            const Problem p = plain(20021, k, Mode::same, Operation::convolution);
            if (!refusal(rung, p).empty()) { continue; }
            const std::vector<cuda_abi::Policy> policies = policies_of(rung, p);
            ASSERT_FALSE(policies.empty()) << rung.info().name;
            for (const cuda_abi::Policy& policy : policies) {
                int runs = 0;
                ASSERT_EQ(failure_of(rung, p, random, runs, policy), "")
                    << rung.info().name << ", " << k << " taps, " << policy.vectors_per_thread << " vectors a thread, "
                    << policy.threads_per_block << " threads, " << policy.tiles_per_block << " tiles a block";
                policies_run += runs;
            }
        }
    }
    EXPECT_GT(policies_run, 0);
}

TEST_F(Rungs, NanAndInfinityReachTheirWindowsOnly) {
    Random random(23);
    for (const Rung& rung : rungs_of_rank(1)) {
        for (const Mode mode : {Mode::full, Mode::same, Mode::valid, Mode::leading}) {
            for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{100, 5}, {16384, 32}, {5000, 3}, {3001, 300}}) {
                const Problem p = plain(n, k, mode, Operation::correlation);
                if (!refusal(rung, p).empty()) { continue; }
                std::vector<float> in(static_cast<std::size_t>(n));
                std::vector<float> taps(static_cast<std::size_t>(k));
                fill_random(in.data(), Dtype::f32, n, random);
                fill_random(taps.data(), Dtype::f32, k, random);
                in[static_cast<std::size_t>(between(0, n - 1, random))] = NAN;
                in[static_cast<std::size_t>(between(0, n - 1, random))] = HUGE_VALF;
                in[static_cast<std::size_t>(n - 1)] = -HUGE_VALF;
                if (chance(0.3, random)) { taps[static_cast<std::size_t>(between(0, k - 1, random))] = HUGE_VALF; }
                const RungRun run = run_rung(rung, p, in, taps);
                ASSERT_EQ(run.failure, "") << rung.info().name << ": " << describe(p);
                ASSERT_EQ(compare(p, run.out.data(), in.data(), taps.data(), is_elementwise(rung)), "")
                    << rung.info().name << ": " << describe(p);
            }
        }
    }
}

TEST_F(Rungs, EveryOriginIsThere) {
    std::set<std::string> origins;
    std::set<std::string> names;
    std::set<std::string> numbers;
    for (const Rung& rung : rungs_of_rank(1)) {
        const cuda_abi::RungInfo info = rung.info();
        std::string word;
        for (const char c : std::string(info.origin) + " ") {
            if (c == ' ' || c == ',') {
                if (!word.empty()) { origins.insert(word); }
                word.clear();
            } else {
                word += c;
            }
        }
        EXPECT_TRUE(names.insert(info.name).second) << info.name << " is there twice";
        EXPECT_TRUE(numbers.insert(info.number).second) << info.number << " is there twice";
        for (const char* text : {info.name, info.number, info.idea, info.requirements, info.limited_by, info.source}) {
            EXPECT_STRNE(text, "") << "of " << info.name;
        }
    }
    for (const char* wanted : {"A", "A2", "B", "C0", "C1", "C2", "C3", "C4", "C5", "D", "E1", "E2", "E3", "E4"}) {
        EXPECT_EQ(origins.count(wanted), 1U) << "no rung reproduces " << wanted;
    }
    EXPECT_EQ(origins.count(""), 0U);
}

// What a rung does not support it refuses with a reason, both when asked and when prepared all the same.
TEST_F(Rungs, RefusalsHaveReasons) {
    Problem complex_taps = plain(100, 5, Mode::same, Operation::correlation);
    complex_taps.dtype = Dtype::complex64;
    complex_taps.complex_taps = true;
    Problem integers = plain(100, 5, Mode::same, Operation::correlation);
    integers.dtype = Dtype::i32;
    Problem batch = plain(100, 5, Mode::same, Operation::correlation);
    batch.batch = 3;
    batch.filters = Filters::per_row;
    Problem strided = plain(100, 5, Mode::same, Operation::correlation);
    strided.input_sample_stride = 2;
    Problem mirrored = plain(100, 5, Mode::same, Operation::correlation);
    mirrored.boundary = Boundary::mirror;
    Problem biased = plain(100, 5, Mode::same, Operation::correlation);
    biased.bias = 1;
    const std::array<Problem, 8> problems{complex_taps,
                                          integers,
                                          batch,
                                          strided,
                                          mirrored,
                                          biased,
                                          plain(100000, 70000, Mode::full, Operation::convolution),
                                          plain(100, 101, Mode::leading, Operation::correlation)};
    const std::vector<float> taps(400000, 1.0F);
    for (const Rung& rung : rungs_of_rank(1)) {
        for (const Problem& p : problems) {
            const std::string reason = refusal(rung, p);
            if (reason.empty()) { continue; }
            EXPECT_NE(reason, "(no reason given)") << rung.info().name << ": " << describe(p);
            cuda_abi::Problem abi = ladder_problem(p);
            const cuda_abi::Policy policy;
            cuda_abi::Status status;
            const cuda_abi::HostTaps all{taps.data()};
            const gpu_host::PreparedHandle prepared(rung.library->prepare(rung.index, 0, &abi, &all, &policy, &status),
                                                    {rung.library});
            EXPECT_EQ(prepared, nullptr) << rung.info().name << " prepared what it refuses: " << describe(p);
            EXPECT_NE(status.code, cuda_abi::Code::ok);
            EXPECT_STRNE(status.message, "");
        }
        EXPECT_NE(refusal(rung, integers), "") << rung.info().name << " claims integers";
    }
}

TEST_F(Rungs, ThePlanRunsTheRungThatWasAskedFor) {
    const std::vector<float> taps{1, 2, 3};
    int asked = 0;
    for (const Rung& rung : rungs_of_rank(1)) {
        const cuda_abi::RungInfo info = rung.info();
        const Problem p = plain(100, 3, Mode::same, Operation::correlation);
        if (rung.is_lesson()) {
            EXPECT_THROW(make_plan(p, taps, {.device = "cuda", .algorithm = info.name}), Error) << info.name;
            continue;
        }
        bool supported = false;
        for (const AlgorithmInfo& algorithm : algorithms(p, "cuda")) {
            supported = supported || (algorithm.name == info.name && algorithm.supported);
        }
        if (!supported) { continue; }
        const Plan plan = make_plan(p, taps, {.device = "cuda", .algorithm = info.name});
        EXPECT_EQ(plan.algorithm(), info.name);
        EXPECT_EQ(plan.device(), "cuda:0");
        EXPECT_NE(plan.explain().find(info.name), std::string::npos) << plan.explain();
        ++asked;
    }
    EXPECT_GT(asked, 0);
    EXPECT_THROW(make_plan(plain(100, 3, Mode::same, Operation::correlation), taps, {.device = "cuda", .algorithm = "none"}),
                 Error);
}

}  // namespace
}  // namespace tapline::test
