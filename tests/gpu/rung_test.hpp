// Tests of one rung: what those of several families check alike.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "gpu/difference.hpp"
#include "gpu/rung_runner.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"

namespace tapline::test {

class RungTest : public GpuTest {
protected:
    explicit RungTest(const char* name) : name_(name) {}

    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped() || HasFatalFailure()) { return; }
        rung_ = rung_named(name_);
        if (!rung_) { TAPLINE_GPU_MISSING("this engine has no rung " + name_); }
    }

    /// With every policy: the first against the textbook, the others, which costs less, against the first, from which they are
    /// allowed(its output) apart at most.
    template <class Allowed>
    void expect_right_with(std::span<const cuda_abi::Policy> policies, const Problem& p, const std::vector<float>& in,
                           const std::vector<float>& taps, const Allowed& allowed, int* sizes) const {
        ASSERT_EQ(refusal(rung_, p), "") << describe(p);
        std::vector<float> first;
        for (const cuda_abi::Policy& policy : policies) {
            const RungRun run = run_rung(rung_, p, in, taps, policy);
            const std::string what = std::to_string(policy.threads_per_block) + " threads: " + describe(p);
            ASSERT_EQ(run.failure, "") << what;
            if (first.empty()) {
                ASSERT_EQ(compare(p, run.out.data(), in.data(), taps.data(), false), "") << what;
                first = run.out;
            } else {
                ASSERT_EQ(difference(run.out, first, allowed(first)), "") << what;
            }
            if (sizes != nullptr) { ++*sizes; }
        }
    }

    /// On random elements of the problem's types, also on addresses that are multiples of their parts' size only.
    void expect_right_anywhere(const Problem& p, Random& random) const {
        const std::vector<std::byte> in = random_elements(p.dtype, input_extent(p), random);
        const std::vector<std::byte> taps = random_elements(taps_dtype(p), taps_extent(p), random);
        const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = name_});
        const std::size_t part = size_of(real_part_of(p.dtype));
        const std::vector<std::byte> out = execute_on_device<std::byte>(plan, in.data());
        ASSERT_EQ(compare(p, out.data(), in.data(), taps.data(), false), "") << describe(p);
        ASSERT_EQ(execute_on_device<std::byte>(plan, in.data(), part, part), out) << describe(p);
    }

    std::string name_;
    Rung rung_;
};

/// A NaN and an infinity somewhere, an infinity at the start.
inline void spoil_three(std::vector<float>& in, Random& random) {
    const auto last = static_cast<std::int64_t>(in.size()) - 1;
    in[static_cast<std::size_t>(between(0, last, random))] = NAN;
    in[static_cast<std::size_t>(between(0, last, random))] = HUGE_VALF;
    in[0] = -HUGE_VALF;
}

struct Drawn {
    std::vector<float> in, taps;
};

/// Finite sums whose transforms are not: samples [first, end) near the largest float, taps of the size of `tap`.
inline Drawn near_overflow(const Problem& p, std::size_t first, std::size_t end, float tap, Random& random) {
    Drawn d{random_floats(p.length, random), random_floats(p.taps, random)};
    for (std::size_t i = first; i < end; ++i) { d.in[i] = 3e38F; }
    for (float& value : d.taps) { value *= tap; }
    return d;
}

}  // namespace tapline::test
