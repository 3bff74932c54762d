// Every algorithm on every instruction set against the textbook, over problems drawn at random.
// TAPLINE_PROPERTY_CASES sets how many (default 24000), TAPLINE_PROPERTY_SEED repeats a failure that was printed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/buffers.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr int kShards = 8;
constexpr std::int64_t kDefaultCases = 24000;

std::int64_t environment(const char* name, std::int64_t fallback) {
    const char* text = std::getenv(name);
    return text == nullptr ? fallback : std::atoll(text);
}

std::size_t bytes_of(std::int64_t elements, Dtype dtype) { return static_cast<std::size_t>(elements) * size_of(dtype); }

// A few NaN and infinities somewhere in the signal.
void spoil(void* data, Dtype dtype, std::int64_t count, Random& random) {
    const double values[] = {NAN, HUGE_VAL, -HUGE_VAL};
    const std::int64_t scalars = is_complex(dtype) ? 2 * count : count;
    for (int i = 0; i < 3; ++i) {
        const std::int64_t at = between(0, scalars - 1, random);
        if (real_part_of(dtype) == Dtype::f32) {
            static_cast<float*>(data)[at] = static_cast<float>(pick(values, random));
        } else {
            static_cast<double*>(data)[at] = pick(values, random);
        }
    }
}

struct Case {
    Problem problem;
    GuardedBuffer in, taps, out;
};

Case draw_case(Random& random, std::int64_t most_samples, std::int64_t most_taps) {
    const Problem p = draw_problem(most_samples, most_taps, random);
    const auto offset = [&](Dtype dtype) { return static_cast<std::size_t>(between(0, 9, random)) * size_of(real_part_of(dtype)); };
    Case c{p, GuardedBuffer(bytes_of(input_extent(p), p.dtype), offset(p.dtype)),
           GuardedBuffer(bytes_of(taps_extent(p), taps_dtype(p)), offset(taps_dtype(p))),
           GuardedBuffer(bytes_of(output_extent(p), output_dtype(p)), offset(output_dtype(p)))};
    fill_random(c.in.data(), p.dtype, input_extent(p), random);
    fill_random(c.taps.data(), taps_dtype(p), taps_extent(p), random);
    if (chance(0.1, random)) { spoil(c.in.data(), p.dtype, input_extent(p), random); }
    if (chance(0.02, random)) { spoil(c.taps.data(), taps_dtype(p), taps_extent(p), random); }
    return c;
}

// One case with one algorithm on one target; the message of a failure, or nothing.
std::string failure_of(Case& c, const std::string& algorithm, int threads) {
    const Plan plan = make_plan(c.problem, c.taps.data(), {.device = "cpu", .algorithm = algorithm, .threads = threads});
    GuardedBuffer workspace(plan.workspace_bytes());
    plan.execute(c.out.data(), c.in.data(), {reinterpret_cast<std::byte*>(workspace.data()), workspace.size()});
    if (!c.out.guards_intact()) { return "wrote outside the output"; }
    if (!c.in.guards_intact()) { return "wrote outside the input"; }
    if (!workspace.guards_intact()) { return "wrote outside the workspace"; }
    const bool direct = algorithm == "direct" || algorithm == "textbook";
    return compare(c.problem, c.out.data(), c.in.data(), c.taps.data(), direct);
}

void run_case(std::uint64_t seed, std::int64_t most_samples, std::int64_t most_taps) {
    Random random(seed);
    Case c = draw_case(random, most_samples, most_taps);
    const std::vector<std::string> targets = cpu_targets();
    force_cpu_target(pick(targets, random));
    std::vector<std::string> names;
    for (const AlgorithmInfo& info : algorithms(c.problem, "cpu")) {
        if (info.supported && info.name != "textbook") { names.push_back(info.name); }
    }
    if (names.empty() || chance(0.02, random)) { names.emplace_back("textbook"); }
    const std::string name = pick(names, random);
    const std::string failure = failure_of(c, name, static_cast<int>(between(1, 3, random)));
    EXPECT_EQ(failure, "") << "TAPLINE_PROPERTY_SEED=" << seed << ": " << name << " on " << cpu_target() << ": "
                           << describe(c.problem);
    force_cpu_target("");
}

class Property : public ::testing::TestWithParam<int> {};

TEST_P(Property, AgreesWithTheTextbook) {
    if (const std::int64_t seed = environment("TAPLINE_PROPERTY_SEED", -1); seed >= 0) {
        run_case(static_cast<std::uint64_t>(seed), 600, 300);
        return;
    }
    const std::int64_t cases = environment("TAPLINE_PROPERTY_CASES", kDefaultCases) / kShards;
    for (std::int64_t i = 0; i < cases && !HasFailure(); ++i) {
        run_case(static_cast<std::uint64_t>(i * kShards + GetParam()), 600, 300);
    }
}

INSTANTIATE_TEST_SUITE_P(Shards, Property, ::testing::Range(0, kShards));

}  // namespace
}  // namespace tapline::test
