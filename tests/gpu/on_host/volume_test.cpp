// Rung 11, its kernels run on the host, against the textbook: volumes in any order in memory, boundaries by axis, NaN, pieces.
// TAPLINE_PROPERTY_CASES and TAPLINE_PROPERTY_SEED as elsewhere.
#include <gtest/gtest.h>

#include "gpu/on_host/cuda_on_host.hpp"

#include "cuda/families/volume/volume.hpp"
#include "gpu/on_host/rung_on_host.hpp"
#include "support/case.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr int kShards = 4;
constexpr std::int64_t kDefaultCases = 160;  // a thread a fiber takes its time

// Whether the rung took it.
bool run_case(std::uint64_t seed) {
    Random random(seed);
    Problem p = draw_problem({.rank = 3, .most_samples = 30, .most_taps = 7, .most_products = 300000, .layouts = true}, random);
    p.dtype = chance(0.7, random) ? Dtype::f32 : Dtype::f64;
    p.complex_taps = false;
    p.real_taps = std::nullopt;
    p.output_dtype = chance(0.8, random) ? std::nullopt : std::optional(Dtype::f32);
    p.constant = 0.3;
    const auto told = [&] { return "TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + describe(p); };
    const core::Resolved r = core::resolve(p);
    if (r.has_outer()) { return false; }
    Case c = draw_case(p, random);
    const FencedBuffer fenced(c.in.data(), c.in.size(), chance(0.5, random));
    const void* const in =
        static_cast<const char*>(fenced.data()) +
        (static_cast<const char*>(c.first_in()) - static_cast<const char*>(static_cast<const void*>(c.in.data())));
    PreparedOnHost prepared(cuda::volume_direct(), r, c.taps.data());
    on_host::set_seed(seed);
    if (!prepared.make().empty()) { return false; }
    const std::int64_t split = chance(0.4, random) ? between(0, r.z.outputs, random) : r.z.outputs;
    for (const auto [first, planes] : {std::pair{std::int64_t{0}, split}, std::pair{split, r.z.outputs - split}}) {
        if (planes != 0) { prepared.launch(job_of(r, c.first_out(), in, first, planes)); }
    }
    EXPECT_TRUE(c.out.guards_intact() && c.gaps_untouched()) << "wrote outside the output: " << told();
    EXPECT_EQ(compare(p, c.first_out(), c.first_in(), c.taps.data(), true), "") << told();
    return true;
}

class DrawnVolumes : public ::testing::TestWithParam<int> {};

TEST_P(DrawnVolumes, AgreeWithTheTextbook) {
    if (const std::int64_t seed = environment_number("TAPLINE_PROPERTY_SEED", -1); seed >= 0) {
        run_case(static_cast<std::uint64_t>(seed));
        return;
    }
    const std::int64_t cases = environment_number("TAPLINE_PROPERTY_CASES", kDefaultCases) / kShards;
    int taken = 0;
    for (std::int64_t i = 0; i < cases && !HasFailure(); ++i) {
        taken += run_case(static_cast<std::uint64_t>(GetParam()) * 10000000 + static_cast<std::uint64_t>(i) + 1) ? 1 : 0;
    }
    EXPECT_GT(taken, cases / 20);
}

INSTANTIATE_TEST_SUITE_P(OnHost, DrawnVolumes, ::testing::Range(0, kShards));

}  // namespace
}  // namespace tapline::test
