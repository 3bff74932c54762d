// The cases of a test whose problems are drawn: TAPLINE_PROPERTY_CASES says how many, TAPLINE_PROPERTY_SEED repeats one.
#pragma once

#include <gtest/gtest.h>

#include "support/case.hpp"

namespace tapline::test {

/// `cases` of them where nothing is said, in so many shares; those of one have seeds `first`, `first` + `step`, ...
struct Seeds {
    std::int64_t cases;
    std::int64_t shares = 1;
    std::uint64_t first = 0, step = 1;
};

/// run_case(seed) until one fails. How many there are; 0 for the one that was asked for, which says nothing about all.
template <class RunCase>
std::int64_t for_each_seed(const Seeds& seeds, const RunCase& run_case) {
    if (const std::int64_t seed = environment_number("TAPLINE_PROPERTY_SEED", -1); seed >= 0) {
        run_case(static_cast<std::uint64_t>(seed));
        return 0;
    }
    const std::int64_t cases = environment_number("TAPLINE_PROPERTY_CASES", seeds.cases) / seeds.shares;
    for (std::int64_t i = 0; i < cases && !::testing::Test::HasFailure(); ++i) {
        run_case(seeds.first + static_cast<std::uint64_t>(i) * seeds.step);
    }
    return cases;
}

/// Of a share whose seeds nobody else has.
inline Seeds seeds_of_shard(std::int64_t cases, int shards, int shard) {
    return {.cases = cases, .shares = shards, .first = static_cast<std::uint64_t>(shard) * 10000000 + 1};
}

}  // namespace tapline::test
