// Every algorithm of the GPU against the textbook, over problems drawn at random, between guard zones.
// TAPLINE_PROPERTY_CASES sets how many (default 4000), TAPLINE_PROPERTY_SEED repeats a failure that was printed.
#include "gpu/gpu.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr int kShards = 8;
constexpr std::int64_t kDefaultCases = 4000;

// A problem of any of the GPU's types: draw_problem has no 16-bit ones.
Problem draw_gpu_problem(Random& random) {
    Problem p = draw_problem(chance(0.1, random) ? 6000 : 700, 300, random);
    if (!is_complex(p.dtype) && chance(0.4, random)) {
        p.dtype = chance(0.5, random) ? Dtype::f16 : Dtype::bf16;
        if (p.boundary == Boundary::constant) { p.constant = pick(std::array<double, 4>{0.5, -1.25, 3, NAN}, random); }
    }
    if (!is_complex(p.dtype) && chance(0.1, random)) {
        p.output_dtype = pick(std::array<Dtype, 3>{Dtype::f16, Dtype::bf16, Dtype::f32}, random);
    }
    return p;
}

void spoil(std::vector<std::byte>& data, Dtype dtype, std::int64_t count, Random& random) {
    const double values[] = {NAN, HUGE_VAL, -HUGE_VAL};
    const std::uint16_t infinity = dtype == Dtype::f16 ? 0x7C00 : 0x7F80;
    const std::uint16_t halves[] = {0xFFFF, infinity, static_cast<std::uint16_t>(infinity | 0x8000)};
    const std::int64_t scalars = is_complex(dtype) ? 2 * count : count;
    for (int i = 0; i < 3; ++i) {
        const auto at = static_cast<std::size_t>(between(0, scalars - 1, random));
        if (dtype == Dtype::f16 || dtype == Dtype::bf16) {
            reinterpret_cast<std::uint16_t*>(data.data())[at] = pick(halves, random);
        } else if (real_part_of(dtype) == Dtype::f32) {
            reinterpret_cast<float*>(data.data())[at] = static_cast<float>(pick(values, random));
        } else {
            reinterpret_cast<double*>(data.data())[at] = pick(values, random);
        }
    }
}

struct Case {
    Problem problem;
    std::vector<std::byte> in, taps;
    std::size_t in_offset, out_offset;  ///< bytes; element alignment is all that is promised
};

Case draw_case(Random& random) {
    Case c;
    c.problem = draw_gpu_problem(random);
    const Problem& p = c.problem;
    c.in.resize(bytes_of(input_extent(p), p.dtype));
    c.taps.resize(bytes_of(taps_extent(p), taps_dtype(p)));
    fill_random(c.in.data(), p.dtype, input_extent(p), random);
    fill_random(c.taps.data(), taps_dtype(p), taps_extent(p), random);
    if (chance(0.1, random)) { spoil(c.in, p.dtype, input_extent(p), random); }
    if (chance(0.02, random)) { spoil(c.taps, taps_dtype(p), taps_extent(p), random); }
    c.in_offset = static_cast<std::size_t>(between(0, 9, random)) * size_of(real_part_of(p.dtype));
    c.out_offset = static_cast<std::size_t>(between(0, 9, random)) * size_of(real_part_of(output_dtype(p)));
    return c;
}

bool is_direct(const std::string& name) { return is_elementwise(rung_named(name)); }

// Between strided outputs nothing is written: every byte there still is what the buffer was filled with.
bool gaps_untouched(const Problem& p, const std::vector<std::byte>& out) {
    const core::Resolved r = core::resolve(p);
    const std::size_t size = size_of(r.output_dtype);
    std::vector<bool> is_output(out.size() / size);
    for (std::int64_t row = 0; row < r.batch; ++row) {
        for (std::int64_t o = 0; o < r.output_length; ++o) {
            is_output[static_cast<std::size_t>(row * r.out_row + o * r.out_sample)] = true;
        }
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (!is_output[i / size] && out[i] != std::byte{0xFF}) { return false; }
    }
    return true;
}

class Property : public GpuTest, public ::testing::WithParamInterface<int> {};

void run_case(std::uint64_t seed, std::int64_t& solved) {
    Random random(seed);
    const Case c = draw_case(random);
    const Accuracy accuracy = chance(0.3, random) ? Accuracy::strict : Accuracy::standard;
    for (const AlgorithmInfo& info : algorithms(c.problem, "cuda", accuracy)) {
        if (!info.supported) {
            EXPECT_NE(info.reason, "") << info.name << ": " << describe(c.problem);
            continue;
        }
        std::string failure;
        try {
            const Plan plan = make_plan(c.problem, c.taps.data(), {.device = "cuda", .accuracy = accuracy, .algorithm = info.name});
            const std::vector<std::byte> out = execute_on_device<std::byte>(plan, c.in.data(), c.out_offset, c.in_offset);
            failure = compare(c.problem, out.data(), c.in.data(), c.taps.data(), is_direct(info.name));
            if (failure.empty() && !gaps_untouched(c.problem, out)) { failure = "wrote between the outputs"; }
        } catch (const std::exception& error) { failure = error.what(); }
        EXPECT_EQ(failure, "") << "TAPLINE_PROPERTY_SEED=" << seed << ": " << info.name << ": " << describe(c.problem)
                               << ", offsets " << c.in_offset << " and " << c.out_offset << " bytes";
        ++solved;
    }
}

TEST_P(Property, AgreesWithTheTextbook) {
    std::int64_t solved = 0;
    if (const std::int64_t seed = environment("TAPLINE_PROPERTY_SEED", -1); seed >= 0) {
        run_case(static_cast<std::uint64_t>(seed), solved);
        return;
    }
    const std::int64_t cases = environment("TAPLINE_PROPERTY_CASES", kDefaultCases) / kShards;
    for (std::int64_t i = 0; i < cases && !HasFailure(); ++i) {
        run_case(static_cast<std::uint64_t>(i * kShards + GetParam()), solved);
    }
    RecordProperty("solved", std::to_string(solved));
    EXPECT_GE(solved, cases) << "some problems had no algorithm";
}

INSTANTIATE_TEST_SUITE_P(Shards, Property, ::testing::Range(0, kShards));

// Every type has an algorithm in every mode and with every boundary: none is left to a lucky draw.
TEST_F(GpuTest, EveryTypeModeAndBoundaryIsSolved) {
    Random random(30);
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128, Dtype::f16, Dtype::bf16}) {
        for (int mode = 0; mode <= 4; ++mode) {
            for (int boundary = 0; boundary <= 5; ++boundary) {
                Problem p;
                p.length = 65;
                p.taps = 7;
                p.batch = 2;
                p.filters = Filters::per_row;
                p.mode = static_cast<Mode>(mode);
                p.boundary = static_cast<Boundary>(boundary);
                p.constant = p.boundary == Boundary::constant ? 0.5 : 0;
                p.dtype = dtype;
                p.complex_taps = is_complex(dtype) && mode % 2 == 0;
                std::vector<std::byte> in(bytes_of(input_extent(p), dtype));
                std::vector<std::byte> taps(bytes_of(taps_extent(p), taps_dtype(p)));
                fill_random(in.data(), dtype, input_extent(p), random);
                fill_random(taps.data(), taps_dtype(p), taps_extent(p), random);
                const Plan plan = make_plan(p, taps.data(), {.device = "cuda"});
                const std::vector<std::byte> out = execute_on_device<std::byte>(plan, in.data());
                ASSERT_EQ(compare(p, out.data(), in.data(), taps.data(), is_direct(plan.algorithm())), "")
                    << plan.algorithm() << ": " << describe(p);
            }
        }
    }
}

}  // namespace
}  // namespace tapline::test
