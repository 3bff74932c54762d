// Tests of one rung: what those of several families check alike.
#pragma once

#include <algorithm>
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

/// Outputs [first, first + count) of an f32 correlation against the textbook sum in double: they are few, the taps many. A
/// transform's errors are those of whole windows, also for outputs at the signal's ends whose windows are mostly empty.
inline void expect_exact(const Problem& p, const std::vector<float>& out, const std::vector<float>& in,
                         const std::vector<float>& taps, std::int64_t first, std::int64_t count) {
    const core::Resolved r = core::resolve(p);
    double power = 0;
    for (const float x : in) { power += static_cast<double>(x) * static_cast<double>(x); }
    double gain = 0;
    for (const float tap : taps) { gain += static_cast<double>(tap) * static_cast<double>(tap); }
    const double whole_window = std::sqrt(gain * power / static_cast<double>(std::max(r.x.n, r.x.k)));
    double difference = 0;
    int outputs = 0;
    for (std::int64_t o = std::max<std::int64_t>(first, 0); o < std::min(first + count, r.x.outputs); ++o) {
        double sum = 0;
        for (std::int64_t t = 0; t < r.x.k; ++t) {
            const std::int64_t at = o + t - r.x.origin;
            if (at < 0 || at >= r.x.n) { continue; }
            sum += static_cast<double>(taps[static_cast<std::size_t>(t)]) * static_cast<double>(in[static_cast<std::size_t>(at)]);
        }
        difference += std::pow(static_cast<double>(out[static_cast<std::size_t>(o)]) - sum, 2);
        ++outputs;
    }
    ASSERT_GT(outputs, 0);
    ASSERT_LE(std::sqrt(difference / outputs), 1e-6 * whole_window) << describe(p) << ", outputs from " << first;
}

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

/// What NaN and infinity are in.
inline Drawn spoiled(const Problem& p, Random& random) {
    Drawn d{random_floats(p.length, random), random_floats(p.taps, random)};
    spoil_three(d.in, random);
    return d;
}

/// Finite sums whose transforms are not: samples [first, end) near the largest float, taps of the size of `tap`.
inline Drawn near_overflow(const Problem& p, std::size_t first, std::size_t end, float tap, Random& random) {
    Drawn d{random_floats(p.length, random), random_floats(p.taps, random)};
    for (std::size_t i = first; i < end; ++i) { d.in[i] = 3e38F; }
    for (float& value : d.taps) { value *= tap; }
    return d;
}

/// A correlation of that kind, with limits that infinities would not keep.
inline std::pair<Problem, Drawn> correlation_near_overflow(std::int64_t length, Random& random) {
    Problem p = correlation_of(length, 200);
    p.clamp = Clamp{-1e36, HUGE_VAL};
    return {p, near_overflow(p, 3000, 6000, 1e-3F, random)};
}

}  // namespace tapline::test
