// What lines on tensor cores promise beyond what is drawn for every rung: quiet rows beside loud ones, NaN where it belongs, and
// the same bits wherever memory has the samples.
#include <cmath>
#include <cstring>

#include "gpu/gpu.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

class TensorLines : public GpuTest {
protected:
    static constexpr std::int64_t kLength = 3000;
    static constexpr std::int64_t kRows = 70;  // more than a tile has lines, and no multiple of them

    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped() || HasFatalFailure()) { return; }
        if (!rung_named("tensor_lines")) { FAIL() << "no such rung"; }
        for (const AlgorithmInfo& info : algorithms(time_first(9), "cuda")) {
            if (info.name == "tensor_lines" && !info.supported) { TAPLINE_GPU_MISSING(info.reason); }
        }
    }
    static Problem time_first(std::int64_t k) {
        Problem p{.length = kLength, .taps = k, .batch = kRows, .mode = Mode::same};
        p.input_row_stride = p.output_row_stride = 1;
        p.input_sample_stride = p.output_sample_stride = kRows;
        return p;
    }
    static std::size_t at(std::int64_t row, std::int64_t i) { return static_cast<std::size_t>(i * kRows + row); }
    static std::vector<float> run(const Problem& p, const std::vector<float>& in, const std::vector<float>& taps,
                                  std::size_t in_offset = 0) {
        const Plan plan = make_plan(p, taps.data(), {.device = "cuda", .algorithm = "tensor_lines"});
        return execute_on_device<float>(plan, in.data(), 0, in_offset);
    }
};

TEST_F(TensorLines, AQuietRowBesideALoudOneIsAsExactAsAlone) {
    for (const std::int64_t k : {9, 63, 129, 320}) {
        const std::vector<float> taps = random_floats(k, 71);
        std::vector<float> in = random_floats(kLength * kRows, 72);
        for (std::int64_t i = 0; i < kLength; ++i) {
            for (std::int64_t row = 0; row < kRows; row += 2) { in[at(row, i)] *= 0x1p60F; }
        }
        const std::vector<float> together = run(time_first(k), in, taps);
        for (std::int64_t i = 0; i < kLength; ++i) {
            for (std::int64_t row = 0; row < kRows; row += 2) { in[at(row, i)] = 0; }
        }
        const std::vector<float> alone = run(time_first(k), in, taps);
        for (std::int64_t i = 0; i < kLength; ++i) {
            for (std::int64_t row = 1; row < kRows; row += 2) {
                ASSERT_EQ(together[at(row, i)], alone[at(row, i)]) << k << " taps, row " << row << ", output " << i;
            }
        }
    }
}

TEST_F(TensorLines, NanReachesItsWindowAndNothingElse) {
    const std::int64_t k = 31;
    const std::vector<float> taps = random_floats(k, 73);
    std::vector<float> in = random_floats(kLength * kRows, 74);
    const std::vector<float> wanted = run(time_first(k), in, taps);
    in[at(5, 1000)] = NAN;
    in[at(6, 2000)] = INFINITY;
    const std::vector<float> out = run(time_first(k), in, taps);
    for (std::int64_t row = 0; row < kRows; ++row) {
        for (std::int64_t i = 0; i < kLength; ++i) {
            const bool sees_nan = row == 5 && std::abs(i - 1000) <= k / 2;
            const bool sees_infinity = row == 6 && std::abs(i - 2000) <= k / 2;
            ASSERT_EQ(std::isnan(out[at(row, i)]), sees_nan) << "row " << row << ", output " << i;
            ASSERT_EQ(std::isinf(out[at(row, i)]), sees_infinity) << "row " << row << ", output " << i;
            if (row != 5 && row != 6) { ASSERT_EQ(out[at(row, i)], wanted[at(row, i)]) << "row " << row << ", output " << i; }
        }
    }
}

// Vectors where rows begin on 16 bytes, else element by element.
TEST_F(TensorLines, AlignmentChangesNoBits) {
    for (const std::int64_t k : {7, 64}) {
        const std::vector<float> taps = random_floats(k, 75);
        Problem along{.length = 777, .taps = k, .batch = 20, .mode = Mode::same};
        along.input_row_stride = 780;
        Problem across{.length = 500, .taps = k, .batch = 32, .mode = Mode::same};
        across.input_row_stride = across.output_row_stride = 1;
        across.input_sample_stride = across.output_sample_stride = 32;
        for (const Problem& p : {along, across}) {
            const std::vector<float> in = random_floats(780 * 32, 76);
            const std::vector<float> wanted = run(p, in, taps);
            const std::vector<float> got = run(p, in, taps, 4);  // bytes
            ASSERT_EQ(got.size(), wanted.size());
            ASSERT_EQ(std::memcmp(got.data(), wanted.data(), wanted.size() * sizeof(float)), 0) << k << " taps";
        }
    }
}

// Halves are no strict sums, however fast.
TEST_F(TensorLines, AreNotForStrictAccuracy) {
    Problem p{.length = std::int64_t{1} << 20, .taps = 127, .batch = 64, .mode = Mode::same};
    p.input_row_stride = p.output_row_stride = 1;
    p.input_sample_stride = p.output_sample_stride = 64;
    const std::vector<float> taps = random_floats(p.taps, 77);
    EXPECT_NO_THROW(make_plan(p, taps.data(), {.device = "cuda", .algorithm = "tensor_lines"}));
    EXPECT_THROW(make_plan(p, taps.data(), {.device = "cuda", .accuracy = Accuracy::strict, .algorithm = "tensor_lines"}), Error);
}

}  // namespace
}  // namespace tapline::test
