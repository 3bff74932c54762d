// Integers: every algorithm of the GPU against the CPU's textbook, bit by bit, with the same words for the first output that does
// not fit. TAPLINE_PROPERTY_CASES and TAPLINE_PROPERTY_SEED as elsewhere.
#include "gpu/driver.hpp"
#include "gpu/gpu.hpp"
#include "support/drawn_cases.hpp"
#include "support/errors.hpp"
#include "support/integer_cases.hpp"

namespace tapline::test {
namespace {

constexpr std::int64_t kDefaultCases = 3000;

class Integers : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (!IsSkipped() && !has_driver()) { GTEST_SKIP() << "the emulated engine has no rungs for integers alone"; }
    }

    // Algorithms that solved it.
    static int check(const Problem& p, std::uint64_t seed, Random& random) {
        SCOPED_TRACE("TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + describe(p));
        Case c = exact_case(p, random);
        const ExactResult wanted = textbook_result(c);
        int solved = 0;
        for (const AlgorithmInfo& info : algorithms(p, "cuda", Accuracy::standard, 0, c.taps.data())) {
            if (!info.supported) { continue; }
            const Plan plan = make_plan(p, c.taps.data(), {.device = "cuda", .algorithm = info.name});
            std::string error;
            try {
                const std::vector<std::byte> out = execute_on_device<std::byte>(plan, c.in.data());
                std::memcpy(c.out.data(), out.data(), out.size());
            } catch (const Error& e) { error = e.what(); }
            EXPECT_EQ(difference(c, wanted, error), "") << info.name;
            if (chance(0.2, random)) {
                std::memset(c.out.data(), 0xFF, c.out.size());
                error.clear();
                try {
                    plan.execute_host(c.first_out(), c.first_in());
                } catch (const Error& e) { error = e.what(); }
                EXPECT_EQ(difference(c, wanted, error), "") << info.name << " from host memory";
            }
            ++solved;
        }
        EXPECT_GT(solved, 0) << "nothing solves it";
        return solved;
    }
};

TEST_F(Integers, OfAnyTypeLayoutAndEpilogue) {
    for_each_seed({.cases = kDefaultCases}, [&](std::uint64_t seed) {
        Random random(seed);
        const int rank = static_cast<int>(between(1, 3, random));
        const bool is_long = rank == 1 && chance(0.2, random);
        const std::int64_t samples = is_long ? 2500 : rank == 1 ? 300 : rank == 2 ? 40 : 12;
        const std::int64_t taps = is_long ? 600 : rank == 1 ? 60 : 6;
        check(draw_exact_problem(rank, samples, taps, random), seed, random);
    });
}

TEST_F(Integers, UnderLongFilters) {
    const std::int64_t cases = environment_number("TAPLINE_PROPERTY_CASES", kDefaultCases) / 50;
    for (std::int64_t seed = 0; seed < cases && !HasFailure(); ++seed) {
        Random random(static_cast<std::uint64_t>(seed));
        Problem p;
        p.dtype = pick(kIntegerTypes, random);
        p.length = between(1000, 40000, random);
        p.taps = between(64, chance(0.3, random) ? 4000 : 500, random);
        p.batch = between(1, 2, random);
        p.mode = static_cast<Mode>(between(0, 1, random));
        p.boundary = static_cast<Boundary>(between(0, 5, random));
        p.constant = p.dtype == Dtype::boolean ? 1 : 100;
        if (chance(0.6, random)) { p.output_dtype = pick(kIntegerTypes, random); }
        p.overflow = chance(0.8, random) ? Overflow::wrap : Overflow::error;
        check(p, static_cast<std::uint64_t>(seed), random);
    }
}

// Against the CPU's transforms: more taps than segments hold, one product and several, rows of any layout.
TEST_F(Integers, UnderTheLongestFilters) {
    struct Wide {
        Dtype samples, outputs;
        std::int64_t length, taps;
        int tap_bits;
    };
    Random random(31);
    int turn = 0;
    for (const Wide& wide : {Wide{Dtype::u8, Dtype::i32, 50001, 20011, 8}, Wide{Dtype::i16, Dtype::i64, 30000, 70001, 16},
                             Wide{Dtype::i32, Dtype::i64, 40000, 9001, 32}, Wide{Dtype::u16, Dtype::u16, 20000, 7001, 16},
                             Wide{Dtype::i64, Dtype::i64, 20000, 8001, 62}, Wide{Dtype::i16, Dtype::i64, 300000, 400001, 12}}) {
        Problem p;
        p.dtype = wide.samples;
        p.output_dtype = wide.outputs;
        p.length = wide.length;
        p.taps = wide.taps;
        p.mode = Mode::same;
        p.boundary = turn % 2 == 0 ? Boundary::zero : Boundary::wrap;
        p.overflow = Overflow::wrap;
        p.batch = 1 + turn % 3;
        if (turn++ % 2 != 0) {  // interleaved
            p.input_row_stride = p.output_row_stride = 1;
            p.input_sample_stride = p.output_sample_stride = p.batch;
        }
        Case c = exact_case(p, random);
        auto* const taps = reinterpret_cast<std::int64_t*>(c.taps.data());
        const std::int64_t most = (std::int64_t{1} << (wide.tap_bits - 1)) - 1;
        for (std::int64_t t = 0; t < p.taps; ++t) { taps[t] = between(-most, most, random); }
        make_plan(p, c.taps.data(), {.device = "cpu"}).execute_host(c.first_out(), c.first_in());
        const std::vector<unsigned char> wanted(c.out.data(), c.out.data() + c.out.size());
        const Plan plan = make_plan(p, c.taps.data(), {.device = "cuda", .algorithm = "integer_long"});
        EXPECT_NE(plan.explain().find(" product"), std::string::npos) << plan.explain();
        const std::vector<std::byte> out = execute_on_device<std::byte>(plan, c.in.data());
        EXPECT_EQ(std::memcmp(out.data(), wanted.data(), wanted.size()), 0) << describe(p);
    }
}

// In chunks, as a stream of samples.
TEST_F(Integers, FromHostMemory) {
    Random random(7);
    for (const Dtype dtype : kIntegerTypes) {
        Problem p;
        p.dtype = dtype;
        p.length = 3000000;
        p.taps = 70;
        p.overflow = Overflow::wrap;
        Case c = exact_case(p, random);
        make_plan(p, c.taps.data(), {.device = "cpu"}).execute_host(c.first_out(), c.first_in());
        const std::vector<unsigned char> wanted(c.out.data(), c.out.data() + c.out.size());
        std::memset(c.out.data(), 0xFF, c.out.size());
        make_plan(p, c.taps.data(), {.device = "cuda"}).execute_host(c.first_out(), c.first_in());
        EXPECT_EQ(std::memcmp(c.out.data(), wanted.data(), wanted.size()), 0) << describe(p);
    }
}

}  // namespace
}  // namespace tapline::test
