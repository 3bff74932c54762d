// Overlap-save by clusters: every size of segment, several of a row, types, layouts, boundaries, and what transforms endanger.
#include <array>

#include "gpu/rung_test.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr const char* kName = "overlap_save_cluster";

class OverlapSaveCluster : public RungTest {
protected:
    OverlapSaveCluster() : RungTest(kName) {}

    void SetUp() override {
        RungTest::SetUp();
        if (IsSkipped() || HasFatalFailure()) { return; }
        const std::string refused = refusal(rung_, correlation_of(1000, 100));
        if (refused.find("compute capability") != std::string::npos) { GTEST_SKIP() << refused; }
    }

    // Every size of segment that takes the problem.
    void expect_right(const Problem& p, const std::vector<float>& in, const std::vector<float>& taps, int* sizes = nullptr) const {
        const std::vector<cuda_abi::Policy> all = policies_of(rung_, p);
        ASSERT_FALSE(all.empty());
        const auto others = std::span(all).subspan(1);  // the default is among them
        expect_right_with(
            others, p, in, taps, [](const std::vector<float>& out) { return 2e-6 * norm_of(out); }, sizes);
    }
};

TEST_F(OverlapSaveCluster, SegmentsOfEverySize) {
    Random random(180);
    int sizes = 0;
    for (const std::int64_t k : {1, 100, 4097, 16385}) {
        for (const Boundary boundary : {Boundary::zero, Boundary::mirror}) {
            const std::int64_t n = k < 1000 ? 400003 : k < 10000 ? 70001 : 20011;
            Problem p = correlation_of(n, k, boundary == Boundary::zero ? Mode::full : Mode::causal);
            p.boundary = boundary;
            expect_right(p, random_floats(n, random), random_floats(k, random), &sizes);
            if (HasFatalFailure()) { return; }
        }
    }
    EXPECT_GE(sizes, 3 * 8);
}

// Segments of one cluster after the other, of which inner ones come by copies in the background.
TEST_F(OverlapSaveCluster, ManySegments) {
    Random random(181);
    for (const std::int64_t origin : {0, 1, 2, 3}) {
        Problem p = correlation_of(9000003, 10);
        p.origin = origin;
        expect_right(p, random_floats(p.length, random), random_floats(p.taps, random));
        if (HasFatalFailure()) { return; }
    }
}

TEST_F(OverlapSaveCluster, LengthsNextToWholeSegments) {
    Random random(182);
    for (const std::int64_t n : {1, 31, 65279, 65280, 65281, 65536, 130559, 130561}) {
        for (const std::int64_t origin : {-70000, 0, 200, 4000}) {
            Problem p = correlation_of(n, 257);
            p.origin = origin;
            p.boundary = origin % 16 == 0 ? Boundary::zero : Boundary::wrap;
            expect_right(p, random_floats(n, random), random_floats(p.taps, random));
            if (HasFatalFailure()) { return; }
        }
    }
}

TEST_F(OverlapSaveCluster, EveryTypeBoundaryAndLayout) {
    Random random(183);
    const std::array boundaries{Boundary::zero,    Boundary::constant, Boundary::nearest,
                                Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    std::size_t next = 0;
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16, Dtype::bf16}) {
        for (const bool more : {false, true}) {
            Problem p = correlation_of(70021, 211);
            p.dtype = dtype;
            p.boundary = boundaries.at(next++ % boundaries.size());
            p.complex_taps = is_complex(dtype) && more;
            p.batch = more ? 2 : 1;
            p.filters = more ? Filters::per_row : Filters::shared;
            if (more) { p.scale = 0.5; }
            expect_right_anywhere(p, random);
            if (HasFatalFailure()) { return; }
        }
    }
}

TEST_F(OverlapSaveCluster, NanAndInfinityReachTheirWindowsOnly) {
    Random random(184);
    for (const std::int64_t n : {70011, 140011}) {
        const Problem p = correlation_of(n, 1030);
        const Drawn d = spoiled(p, random);
        expect_right(p, d.in, d.taps);
        if (HasFatalFailure()) { return; }
    }
}

TEST_F(OverlapSaveCluster, Overflow) {
    Random random(185);
    const auto [p, d] = correlation_near_overflow(70001, random);
    expect_right(p, d.in, d.taps);
}

// Beyond the filters of segments in one multiprocessor: clusters, or segments in the L2 cache, whichever is predicted to be faster.
TEST_F(OverlapSaveCluster, LongFiltersTakeLongSegments) {
    Random random(186);
    constexpr std::int64_t kTaps = 16385;
    const Plan plan = make_plan(correlation_of(std::int64_t{1} << 28, kTaps), random_floats(kTaps, random), {.device = "cuda"});
    EXPECT_TRUE(plan.algorithm() == kName || plan.algorithm() == "overlap_save_large") << plan.explain();
}

}  // namespace
}  // namespace tapline::test
