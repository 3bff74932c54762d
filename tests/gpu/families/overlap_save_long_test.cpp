// Overlap-save by parts that large segments' kernel convolves: filters as long as the signal and longer, several segments, types,
// taps of a plan and such that come later, and what transforms endanger.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "gpu/rung_test.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr const char* kName = "overlap_save_long";
constexpr const char* kLarge = "overlap_save_large";
constexpr int kLeastBits = 23;

cuda_abi::Policy policy_of(int bits) { return {0, 1 << (bits - 5), 0, 0}; }

class OverlapSaveLong : public RungTest {
protected:
    OverlapSaveLong() : RungTest(kName) {}

    /// Taps in GPU memory give what the plan's gave, up to rounding.
    static void expect_the_same_later(const Problem& p, const std::vector<float>& right, const std::vector<float>& in,
                                      const std::vector<float>& taps) {
        const Plan later = make_plan_without_taps(p, {.device = "cuda", .algorithm = kName});
        const DeviceBuffer device_in = DeviceBuffer::of(in), device_taps = DeviceBuffer::of(taps);
        const DeviceBuffer out(right.size() * sizeof(float)), workspace(later.workspace_bytes());
        const DeviceStream stream;
        later.execute_with_taps(out.data(), device_in.data(), device_taps.data(), workspace.span(), stream.get());
        stream.synchronize();
        ASSERT_TRUE(out.guards_intact() && workspace.guards_intact() && device_taps.guards_intact());
        ASSERT_EQ(difference(out.values<float>(), right, 1e-6 * norm_of(right)), "") << describe(p);
    }
};

// The L2 error is a few 1e-7 of what a whole window has, at the ends, too, and where segments meet.
TEST_F(OverlapSaveLong, AgainstSumsInDouble) {
    struct Sizes {
        std::int64_t n, k;
        Mode mode;
        int bits;
    };
    constexpr std::int64_t kLong = std::int64_t{1} << 22;
    Random random(110);
    for (const auto& [n, k, mode, bits] :
         {Sizes{kLong, kLong, Mode::full, kLeastBits}, Sizes{10000, kLong, Mode::full, kLeastBits},
          Sizes{40000001, 400001, Mode::same, kLeastBits}, Sizes{4 * kLong, 3 * kLong + 17, Mode::causal, 24},
          Sizes{4 * kLong, 4 * kLong, Mode::full, 24}}) {
        const Problem p = correlation_of(n, k, mode);
        const std::vector<float> in = random_floats(n, random);
        const std::vector<float> taps = random_floats(k, random);
        const RungRun run = run_rung(rung_, p, in, taps, policy_of(bits));
        ASSERT_EQ(run.failure, "") << describe(p);
        const std::int64_t samples = std::int64_t{2} << bits;
        const std::int64_t segment = (samples - (k - 1) - 32) / 32 * 32;
        for (const std::int64_t at : {std::int64_t{0}, n / 2, segment - 4, 2 * segment - 4, output_length(p) - 8}) {
            expect_exact(p, run.out, in, taps, std::clamp<std::int64_t>(at, 0, output_length(p) - 8), 8);
        }
        if (HasFatalFailure()) { return; }
        if (bits == kLeastBits) { expect_the_same_later(p, run.out, in, taps); }
        if (HasFatalFailure()) { return; }
    }
}

// As large segments of other sizes do, of every type: most taps are zero, as of their tests of every type.
TEST_F(OverlapSaveLong, EveryTypeModeAndBoundary) {
    constexpr std::int64_t kDrawn = 400;
    constexpr std::int64_t kTaps = 300001;
    Random random(111);
    int number = 0;
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16, Dtype::bf16}) {
        for (const bool of_real_taps : {false, true}) {
            if (of_real_taps && !is_complex(dtype)) { continue; }
            Problem p = correlation_of(101, kTaps, Mode::same);
            p.dtype = dtype;
            p.complex_taps = is_complex(dtype) && !of_real_taps;
            p.boundary = number++ % 2 == 0 ? Boundary::zero : Boundary::nearest;
            p.batch = 2;
            p.scale = 0.5;
            std::vector<std::byte> in = random_elements(dtype, input_extent(p), random);
            std::vector<std::byte> taps(bytes_of(taps_extent(p), taps_dtype(p)));
            for (const std::int64_t first : {std::int64_t{0}, origin(p) - kDrawn, origin(p), kTaps - kDrawn}) {
                fill_random(taps.data() + bytes_of(first, taps_dtype(p)), taps_dtype(p), kDrawn, random);
            }
            const RungRunOf<std::byte> run = run_rung_bytes(rung_, p, in, taps.data(), policy_of(kLeastBits));
            ASSERT_EQ(run.failure, "") << describe(p);
            ASSERT_EQ(compare(p, run.out.data(), in.data(), taps.data(), false), "") << describe(p);
        }
    }
}

TEST_F(OverlapSaveLong, WhatIsNotFinite) {
    Random random(112);
    const Problem p = correlation_of(3000001, 300001);
    std::vector<float> in = random_floats(p.length, random);
    const std::vector<float> taps = random_floats(p.taps, random);
    const Plan plan = make_plan(p, taps, {.device = "cuda", .algorithm = kName});
    const Plan large = make_plan(p, taps, {.device = "cuda", .algorithm = kLarge});
    in[1500000] = HUGE_VALF;
    in[2500000] = NAN;
    const std::vector<float> right = execute_on_device<float>(large, in.data());
    const std::vector<float> out = execute_on_device<float>(plan, in.data());
    ASSERT_EQ(difference(out, right, 2e-6 * norm_of(right)), "");
    // Finite sums whose transforms are not: once more, scaled.
    std::vector<float> loud = random_floats(p.length, random);
    for (float& x : loud) { x *= 1e36F; }
    std::vector<float> quiet = loud;
    for (float& x : quiet) { x *= 0x1p-100F; }
    std::vector<float> scaled = execute_on_device<float>(plan, quiet.data());
    for (float& x : scaled) { x *= 0x1p100F; }
    const std::vector<float> of_loud = execute_on_device<float>(plan, loud.data());
    double error = 0;
    double norm = 0;
    for (std::size_t i = 0; i < scaled.size(); ++i) {
        if (std::isinf(scaled[i])) { continue; }
        ASSERT_TRUE(std::isfinite(of_loud[i])) << i;
        error += std::pow(static_cast<double>(of_loud[i]) - static_cast<double>(scaled[i]), 2);
        norm += std::pow(static_cast<double>(scaled[i]), 2);
    }
    EXPECT_LE(std::sqrt(error), 1e-6 * std::sqrt(norm));
}

TEST_F(OverlapSaveLong, TheSameBitsAgain) {
    Random random(113);
    const Problem p = correlation_of(40000001, 400001);
    const std::vector<float> in = random_floats(p.length, random);
    const Plan plan = make_plan(p, random_floats(p.taps, random), {.device = "cuda", .algorithm = kName});
    const std::vector<float> once = execute_on_device<float>(plan, in.data());
    const std::vector<float> again = execute_on_device<float>(plan, in.data(), sizeof(float), sizeof(float));
    EXPECT_EQ(std::memcmp(again.data(), once.data(), once.size() * sizeof(float)), 0);
}

TEST_F(OverlapSaveLong, TheLongestFiltersChooseIt) {
    Random random(114);
    const std::int64_t k = std::int64_t{1} << 24;
    const Problem p = correlation_of(k, k, Mode::full);
    const Plan plan = make_plan(p, random_floats(k, random), {.device = "cuda"});
    EXPECT_EQ(plan.algorithm(), kName) << plan.explain();
}

}  // namespace
}  // namespace tapline::test
