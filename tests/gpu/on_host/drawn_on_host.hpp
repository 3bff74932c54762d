// Drawn problems on a rung whose kernels run on the host. TAPLINE_PROPERTY_CASES and TAPLINE_PROPERTY_SEED as elsewhere.
#pragma once

#include <gtest/gtest.h>

#include "gpu/on_host/rung_on_host.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "support/drawn_cases.hpp"

namespace tapline::test {

// An image of any layout and types, mostly of pixels that kernels widen to f32; sides of up to `most`, at times of `rare`.
inline Problem draw_any_image(std::int64_t most, std::int64_t rare, Random& random) {
    Problem p = draw_problem({.rank = 2,
                              .most_samples = chance(0.2, random) ? rare : most,
                              .most_taps = chance(0.2, random) ? 48 : 12,
                              .most_products = 300000,
                              .integers = true,
                              .layouts = true},
                             random);
    if (chance(0.7, random)) {
        p.dtype =
            pick(std::vector<Dtype>{Dtype::f32, Dtype::u8, Dtype::i8, Dtype::u16, Dtype::i16, Dtype::f16, Dtype::bf16}, random);
        p.complex_taps = false;
        p.real_taps = is_integer(p.dtype) ? std::optional(Dtype::f32) : std::nullopt;
        p.overflow = Overflow::error;
        p.output_dtype = chance(0.5, random) ? std::optional(Dtype::f32) : std::nullopt;
        if (is_integer(p.dtype) && !p.output_dtype) { p.output_dtype = p.dtype; }
        p.constant = is_integer(p.dtype) ? 3 : 0.3;
    }
    return p;
}

// Whether the rung takes the problem. Then it is executed, at times in two pieces, its samples ending or beginning at a fence, and
// compared with the textbook.
inline bool run_drawn(const cuda::Rung& rung, const Problem& p, const core::Resolved& r, std::uint64_t seed, Random& random) {
    SCOPED_TRACE("TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + rung.info().name + ": " + describe(p));
    Case c = draw_case(p, random);
    const FencedBuffer fenced(c.in.data(), c.in.size(), chance(0.5, random));
    const void* const in =
        static_cast<const char*>(fenced.data()) +
        (static_cast<const char*>(c.first_in()) - static_cast<const char*>(static_cast<const void*>(c.in.data())));
    PreparedOnHost prepared(rung, r, c.taps.data());
    on_host::set_seed(seed);
    if (!prepared.make().empty()) { return false; }
    const std::int64_t outputs = r.cut().outputs;
    const std::int64_t split = chance(0.4, random) && rung.info().takes_pieces != 0 ? between(0, outputs, random) : outputs;
    for (const auto [first, count] : {std::pair{std::int64_t{0}, split}, std::pair{split, outputs - split}}) {
        if (count != 0) { prepared.launch(job_of(r, c.first_out(), in, first, count)); }
    }
    EXPECT_TRUE(c.out.guards_intact() && c.gaps_untouched()) << "wrote outside the output";
    EXPECT_EQ(compare(p, c.first_out(), c.first_in(), c.taps.data(), rung.info().is_local != 0), "");
    return true;
}

// run(problem, resolved, random) with such an image that kernels may take: whether a rung took it.
template <class Run>
bool run_drawn_image(std::uint64_t seed, std::int64_t most, std::int64_t rare, const Run& run) {
    Random random(seed);
    const Problem p = draw_any_image(most, rare, random);
    const core::Resolved r = core::resolve(p);
    return !r.has_outer() && !r.is_exact() && run(p, r, random);
}

// A shard's share of the cases, or the one whose seed is given. run_case(seed): whether the rung took it, as it must more than one
// of `rarest`.
template <class RunCase>
void run_shard(int shard, int shards, std::int64_t default_cases, std::int64_t rarest, const RunCase& run_case) {
    std::int64_t taken = 0;
    const std::int64_t cases =
        for_each_seed(seeds_of_shard(default_cases, shards, shard), [&](std::uint64_t seed) { taken += run_case(seed) ? 1 : 0; });
    if (cases != 0) { EXPECT_GT(taken, cases / rarest); }
}

}  // namespace tapline::test
