// Every image algorithm on every instruction set against the textbook, over problems drawn at random.
// TAPLINE_PROPERTY_CASES sets how many (a twelfth of it here; default 24000), TAPLINE_PROPERTY_SEED repeats a failure that was
// printed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "support/images.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr int kShards = 8;
constexpr std::int64_t kDefaultCases = 24000;
constexpr std::int64_t kPart = 12;  // two dimensions are that much slower
constexpr std::int64_t kMostProducts = 1000000;

std::int64_t environment(const char* name, std::int64_t fallback) {
    const char* text = std::getenv(name);
    return text == nullptr ? fallback : std::atoll(text);
}

std::size_t bytes_of(std::int64_t elements, Dtype dtype) { return static_cast<std::size_t>(elements) * size_of(dtype); }

struct Case {
    ImageProblem problem;
    GuardedBuffer in, taps, out;
};

Case draw_case(Random& random) {
    const ImageProblem p = draw_image_problem(chance(0.1, random) ? 700 : 130, 40, kMostProducts, random);
    const auto offset = [&](Dtype dtype) { return static_cast<std::size_t>(between(0, 9, random)) * size_of(real_part_of(dtype)); };
    Case c{p, GuardedBuffer(bytes_of(image_input_extent(p), p.dtype), offset(p.dtype)),
           GuardedBuffer(bytes_of(image_taps_extent(p), taps_dtype(p)), offset(taps_dtype(p))),
           GuardedBuffer(bytes_of(image_output_extent(p), output_dtype(p)), offset(output_dtype(p)))};
    fill_random(c.in.data(), p.dtype, image_input_extent(p), random);
    fill_random(c.taps.data(), taps_dtype(p), image_taps_extent(p), random);
    if (!p.complex_taps && chance(0.4, random)) {
        make_separable(c.taps.data(), p, static_cast<int>(between(1, 4, random)), random);
    }
    if (chance(0.15, random)) { spoil(c.in.data(), p.dtype, image_input_extent(p), random); }
    if (chance(0.02, random)) { spoil(c.taps.data(), taps_dtype(p), image_taps_extent(p), random); }
    return c;
}

std::string failure_of(Case& c, const std::string& algorithm, int threads) {
    const ImagePlan plan = make_image_plan(c.problem, c.taps.data(), {.device = "cpu", .algorithm = algorithm, .threads = threads});
    GuardedBuffer workspace(plan.workspace_bytes());
    plan.execute(c.out.data(), c.in.data(), {reinterpret_cast<std::byte*>(workspace.data()), workspace.size()});
    if (!c.out.guards_intact()) { return "wrote outside the output"; }
    if (!c.in.guards_intact()) { return "wrote outside the input"; }
    if (!workspace.guards_intact()) { return "wrote outside the workspace"; }
    const bool direct = algorithm == "direct" || algorithm == "textbook";
    return compare(c.problem, c.out.data(), c.in.data(), c.taps.data(), direct);
}

void run_case(std::uint64_t seed) {
    Random random(seed);
    Case c = draw_case(random);
    const std::vector<std::string> targets = cpu_targets();
    force_cpu_target(pick(targets, random));
    std::vector<std::string> names;
    for (const AlgorithmInfo& info : image_algorithms(c.problem, c.taps.data(), {.device = "cpu"})) {
        if (info.supported && info.name != "textbook") { names.push_back(info.name); }
    }
    if (names.empty() || chance(0.03, random)) { names.assign(1, "textbook"); }
    const std::string name = pick(names, random);
    const std::string failure = failure_of(c, name, static_cast<int>(between(1, 3, random)));
    EXPECT_EQ(failure, "") << "TAPLINE_PROPERTY_SEED=" << seed << ": " << name << " on " << cpu_target() << ": "
                           << describe(c.problem);
    force_cpu_target("");
}

class ImageProperty : public ::testing::TestWithParam<int> {};

TEST_P(ImageProperty, AgreesWithTheTextbook) {
    if (const std::int64_t seed = environment("TAPLINE_PROPERTY_SEED", -1); seed >= 0) {
        run_case(static_cast<std::uint64_t>(seed));
        return;
    }
    const std::int64_t cases = environment("TAPLINE_PROPERTY_CASES", kDefaultCases) / kPart / kShards;
    for (std::int64_t i = 0; i < cases && !HasFailure(); ++i) { run_case(static_cast<std::uint64_t>(i * kShards + GetParam())); }
}

INSTANTIATE_TEST_SUITE_P(Shards, ImageProperty, ::testing::Range(0, kShards));

}  // namespace
}  // namespace tapline::test
