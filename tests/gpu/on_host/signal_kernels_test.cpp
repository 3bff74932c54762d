// The rung for tiles of any layout, its kernel run on the host, against the textbook over problems drawn at random: layouts, batch
// axes, types, boundaries, NaN, pieces of signals. Inputs stand against memory that cannot be read, outputs between guard zones.
// TAPLINE_PROPERTY_CASES and TAPLINE_PROPERTY_SEED as elsewhere.
#include <gtest/gtest.h>

#include "gpu/on_host/cuda_on_host.hpp"

#include "core/problem/arrange.hpp"
#include "cuda/families/direct/direct.hpp"
#include "gpu/on_host/rung_on_host.hpp"
#include "support/case.hpp"
#include "support/draw.hpp"

namespace tapline::test {
namespace {

constexpr int kShards = 4;
constexpr std::int64_t kDefaultCases = 160;  // a thread a fiber takes its time

void run_case(std::uint64_t seed) {
    Random random(seed);
    const Problem p = draw_problem({.rank = 1,
                                    .most_samples = chance(0.3, random) ? 2000 : 200,
                                    .most_taps = chance(0.3, random) ? 300 : 30,
                                    .most_products = 300000,
                                    .integers = true,
                                    .layouts = true},
                                   random);
    const core::Resolved r = core::resolve(p);
    if (core::filter_sets(r) != 1) { return; }  // repeated by the plan
    Case c = draw_case(p, random);
    const FencedBuffer fenced(c.in.data(), c.in.size(), chance(0.5, random));
    const auto* const in =
        static_cast<const std::byte*>(fenced.data()) + input_start(p) * static_cast<std::int64_t>(size_of(p.dtype));
    on_host::set_seed(seed);
    const auto told = [&] { return "TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + describe(p); };
    PreparedOnHost prepared(cuda::direct_tiles(), r, c.taps.data());
    if (!prepared.make().empty()) { return; }
    const Expected expected(p, c.first_in(), c.taps.data());
    const std::int64_t split = chance(0.4, random) ? between(0, r.x.outputs, random) : r.x.outputs;
    for (const auto [first, count] : {std::pair{std::int64_t{0}, split}, std::pair{split, r.x.outputs - split}}) {
        if (count == 0) { continue; }
        ASSERT_NO_THROW(prepared.launch(job_of(r, c.first_out(), in, first, count))) << told();
    }
    ASSERT_TRUE(c.out.guards_intact() && c.gaps_untouched()) << "wrote outside the outputs: " << told();
    ASSERT_EQ(expected.compare(c.first_out(), true), "") << told();
}

class SignalKernels : public ::testing::TestWithParam<int> {};

TEST_P(SignalKernels, AgreeWithTheTextbook) {
    if (const std::int64_t seed = environment_number("TAPLINE_PROPERTY_SEED", -1); seed >= 0) {
        run_case(static_cast<std::uint64_t>(seed));
        return;
    }
    const std::int64_t cases = environment_number("TAPLINE_PROPERTY_CASES", kDefaultCases) / kShards;
    for (std::int64_t i = 0; i < cases && !HasFatalFailure(); ++i) {
        run_case(static_cast<std::uint64_t>(GetParam()) * 10000000 + static_cast<std::uint64_t>(i) + 1);
    }
}

INSTANTIATE_TEST_SUITE_P(Shards, SignalKernels, ::testing::Range(0, kShards));

}  // namespace
}  // namespace tapline::test
