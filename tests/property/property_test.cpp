// Every algorithm of the CPU on every instruction set against the textbook, over problems drawn at random: signals, images and
// volumes. TAPLINE_PROPERTY_CASES sets how many (default 28000), TAPLINE_PROPERTY_SEED repeats a failure that was printed.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/choice/engine.hpp"
#include "core/problem/elements.hpp"
#include "support/drawn_cases.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr int kShards = 8;
constexpr std::int64_t kDefaultCases = 28000;
constexpr std::int64_t kMostProducts = 1000000;
// A direct sum keeps the promise of `standard` over so many outputs, a transform over each block of its own.
constexpr std::int64_t kDirectBlock = 4096;

Problem draw_any(Random& random) {
    const std::int64_t kind = between(0, 99, random);
    if (kind < 45) { return draw_problem(600, 300, random); }
    if (kind < 85) { return draw_problem({.integers = true, .rates = true, .layouts = true}, random); }
    if (kind < 91) { return draw_image_problem(chance(0.1, random) ? 700 : 130, 40, kMostProducts, random); }
    const bool is_image = kind < 97;  // or a volume
    return draw_problem({.rank = is_image ? 2 : 3,
                         .most_samples = is_image ? 130 : 30,
                         .most_taps = is_image ? 40 : 8,
                         .most_products = kMostProducts,
                         .integers = true,
                         .rates = true,
                         .halves = is_image,
                         .layouts = true},
                        random);
}

// The names of those that take the problem with this accuracy.
std::vector<std::string> names_with(const Case& c, Accuracy accuracy) {
    std::vector<std::string> names;
    for (const AlgorithmInfo& info : algorithms(c.problem, "cpu", accuracy, 1, c.taps.data())) {
        if (info.supported) {
            names.push_back(info.name);
        } else {
            EXPECT_NE(info.reason, "") << info.name << ": " << describe(c.problem);
        }
    }
    return names;
}

// Strict accuracy promises each output its own bound, `standard` those of norms.
std::string failure_with(Case& c, const Expected& expected, const std::string& algorithm, Accuracy accuracy, int threads) {
    const Plan plan =
        make_plan(c.problem, c.taps.data(), {.device = "cpu", .accuracy = accuracy, .algorithm = algorithm, .threads = threads});
    if (plan.algorithm() != algorithm) { return "runs " + plan.algorithm(); }
    const core::Executable& executable = *plan.state().executable;
    const std::int64_t together = executable.granularity();
    return failure_of(c, expected, plan, accuracy == Accuracy::strict,
                      {together > 1 ? together : kDirectBlock, executable.lookahead()});
}

void run_case(std::uint64_t seed) {
    Random random(seed);
    const Problem problem = draw_any(random);
    Case c = draw_case(problem, random);
    force_cpu_target(pick(cpu_targets(), random));
    if (chance(0.15, random)) { make_uneven(c.in.data(), problem.dtype, input_extent(problem), random); }
    const Expected expected(problem, c.first_in(), c.taps.data());
    const std::vector<std::string> strict = names_with(c, Accuracy::strict);
    const core::TapsFacts facts = core::facts_of_all(core::resolve(problem), c.taps.data());
    for (const Accuracy accuracy : {Accuracy::standard, Accuracy::strict}) {
        std::vector<std::string> names = accuracy == Accuracy::strict ? strict : names_with(c, accuracy);
        // The textbook, which takes taps that are not finite, takes no samples of 16 floating bits; of images only lines have both.
        const bool is_solved = !core::is_half(problem.dtype) || facts.finite;
        EXPECT_TRUE(!is_solved || !names.empty()) << "nothing solves: TAPLINE_PROPERTY_SEED=" << seed << ": " << describe(problem);
        for (const std::string& name : names) {
            // The same sums with both accuracies, but for transforms: those that can be strict are.
            const bool is_strict = std::find(strict.begin(), strict.end(), name) != strict.end();
            if (accuracy == Accuracy::standard && is_strict && name != "overlap_save") { continue; }
            if (name == "textbook" && names.size() > 1 && !chance(0.02, random)) { continue; }
            std::string failure;
            try {
                failure = failure_with(c, expected, name, accuracy, static_cast<int>(between(1, 3, random)));
            } catch (const Error& error) { failure = error.what(); }
            EXPECT_EQ(failure, "") << "TAPLINE_PROPERTY_SEED=" << seed << ": " << name << " " << to_string(accuracy) << " on "
                                   << cpu_target() << ": " << describe(problem);
        }
    }
    force_cpu_target("");
}

class Property : public ::testing::TestWithParam<int> {};

TEST_P(Property, AgreesWithTheTextbook) {
    const auto shard = static_cast<std::uint64_t>(GetParam());
    for_each_seed({.cases = kDefaultCases, .shares = kShards, .first = shard, .step = kShards}, run_case);
}

// What is never drawn is never compared.
TEST(PropertyDrawing, IntegersHaveFiltersThatTransformsAreFor) {
    std::int64_t few = 0, many = 0;
    for (std::uint64_t seed = 0; seed < kDefaultCases; ++seed) {
        Random random(seed);
        const core::Resolved problem = core::resolve(draw_any(random));
        if (problem.rank != 1 || !problem.is_exact() || problem.changes_rate()) { continue; }
        (problem.x.k < 100 ? few : many) += 1;
    }
    EXPECT_GE(few, 300);
    EXPECT_GE(many, 200);
}

INSTANTIATE_TEST_SUITE_P(Shards, Property, ::testing::Range(0, kShards));

}  // namespace
}  // namespace tapline::test
