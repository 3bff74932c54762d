// Rung 11, its kernels run on the host, against the textbook: volumes in any order in memory, boundaries by axis, NaN, pieces.
// TAPLINE_PROPERTY_CASES and TAPLINE_PROPERTY_SEED as elsewhere.
#include <gtest/gtest.h>

#include "gpu/on_host/cuda_on_host.hpp"

#include "cuda/families/volume/volume.hpp"
#include "gpu/on_host/drawn_on_host.hpp"
#include "support/case.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr int kShards = 4;
constexpr std::int64_t kDefaultCases = 160;  // a thread a fiber takes its time

const std::vector<Dtype> kWidened{Dtype::u8, Dtype::i8, Dtype::u16, Dtype::i16, Dtype::i32, Dtype::u32, Dtype::f16, Dtype::bf16};

// Whether the rung took it.
bool run_case(std::uint64_t seed) {
    Random random(seed);
    Problem p = draw_problem({.rank = 3, .most_samples = 30, .most_taps = 7, .most_products = 300000, .layouts = true}, random);
    p.dtype = chance(0.5, random) ? Dtype::f32 : chance(0.3, random) ? Dtype::f64 : pick(kWidened, random);
    p.complex_taps = false;
    p.real_taps = std::nullopt;
    if (is_integer(p.dtype)) { p.real_taps = chance(0.5, random) ? Dtype::f32 : Dtype::f64; }
    p.output_dtype = chance(0.8, random) ? std::nullopt : std::optional(Dtype::f32);
    p.constant = is_integer(p.dtype) ? 3 : 0.3;
    const core::Resolved r = core::resolve(p);
    if (r.has_outer()) { return false; }
    return run_drawn(cuda::volume_direct(), p, r, seed, random);
}

class DrawnVolumes : public ::testing::TestWithParam<int> {};

TEST_P(DrawnVolumes, AgreeWithTheTextbook) { run_shard(GetParam(), kShards, kDefaultCases, 20, run_case); }

INSTANTIATE_TEST_SUITE_P(OnHost, DrawnVolumes, ::testing::Range(0, kShards));

}  // namespace
}  // namespace tapline::test
