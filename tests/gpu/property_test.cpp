// Every algorithm of the GPU against the textbook, over problems drawn at random, between guard zones, on device memory and from
// host memory. TAPLINE_PROPERTY_CASES sets how many (default 9000), TAPLINE_PROPERTY_SEED repeats a failure that was printed.
#include <algorithm>

#include "gpu/driver.hpp"
#include "gpu/gpu.hpp"
#include "support/drawn_cases.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr int kShards = 8;
constexpr std::int64_t kDefaultCases = 9000;
constexpr std::int64_t kMostProducts = 1000000;

// draw_problem() has no 16-bit types.
void draw_halves(Problem& p, Random& random) {
    if (!is_complex(p.dtype) && !is_integer(p.dtype) && chance(0.4, random)) {
        p.dtype = chance(0.5, random) ? Dtype::f16 : Dtype::bf16;
        const auto is_constant = [](const FilteredAxis& axis) { return axis.boundary == Boundary::constant; };
        if (p.boundary == Boundary::constant || std::any_of(p.axes.begin(), p.axes.end(), is_constant)) {
            p.constant = pick(std::array<double, 4>{0.5, -1.25, 3, NAN}, random);
        }
    }
    if (!is_complex(p.dtype) && chance(0.1, random)) {
        p.output_dtype = pick(std::array<Dtype, 3>{Dtype::f16, Dtype::bf16, Dtype::f32}, random);
    }
}

// Wide masks too: the tensor cores' steps and windows depend on the mask's width.
Problem draw_image(Random& random) {
    const std::int64_t most_mask = chance(0.2, random) ? 70 : 20;
    ImageProblem p = draw_image_problem(chance(0.15, random) ? 700 : 200, most_mask, kMostProducts, random);
    if (chance(0.4, random) && p.dtype != Dtype::f32) {  // most rungs are for f32
        p.dtype = Dtype::f32;
        p.complex_taps = false;
        p.output_dtype = std::nullopt;
        p.constant = p.constant.real();
    }
    return p;
}

struct Drawn {
    Problem problem;
    bool is_solved;  ///< by some rung: it is of a kind that all of it is
};

Drawn draw_any(Random& random) {
    const std::int64_t kind = between(0, 22, random);
    if (kind < 9) {
        Problem p = draw_problem(chance(0.1, random) ? 6000 : 700, 300, random);
        draw_halves(p, random);
        return {p, true};
    }
    if (kind < 18) { return {draw_image(random), has_driver()}; }  // the emulated engine has only images of f32
    const bool is_long = chance(0.3, random);                      // several tiles and segments a row
    Problem p = draw_problem({.rank = is_long || chance(0.6, random) ? 1 : 2,
                              .most_samples = is_long ? 6000 : 200,
                              .most_taps = is_long && chance(0.5, random) ? 700 : 40,
                              .most_products = kMostProducts,
                              .integers = true,
                              .layouts = true},
                             random);
    draw_halves(p, random);
    return {p, false};
}

// "" or what is wrong on device memory.
std::string device_failure(Case& c, const Expected& expected, const Plan& plan, std::size_t out_offset, std::size_t in_offset) {
    const std::vector<std::byte> out = execute_on_device<std::byte>(plan, c.in.data(), out_offset, in_offset);
    std::memcpy(c.out.data(), out.data(), out.size());
    return c.gaps_untouched() ? expected.compare(c.first_out(), is_elementwise(plan)) : "wrote between the outputs";
}

std::string host_failure(Case& c, const Expected& expected, const Plan& plan) {
    std::memset(c.out.data(), 0xFF, c.out.size());
    plan.execute_host(c.first_out(), c.first_in());
    if (!c.out.guards_intact() || !c.gaps_untouched()) { return "host: wrote outside the outputs"; }
    const std::string wrong = expected.compare(c.first_out(), is_elementwise(plan));
    return wrong.empty() ? "" : "host: " + wrong;
}

class Property : public GpuTest, public ::testing::WithParamInterface<int> {};

void run_case(std::uint64_t seed) {
    Random random(seed);
    const Drawn drawn = draw_any(random);
    const Problem& p = drawn.problem;
    Case c = draw_case(p, random);
    // Bytes; element alignment is all that is promised, but much is done where more is given.
    const auto offset = [&](Dtype dtype) {
        return chance(0.3, random) ? std::size_t{0}
                                   : static_cast<std::size_t>(between(0, 9, random)) * size_of(real_part_of(dtype));
    };
    const std::size_t in_offset = offset(p.dtype), out_offset = offset(output_dtype(p));
    const Accuracy accuracy = chance(0.3, random) ? Accuracy::strict : Accuracy::standard;
    const Expected expected(p, c.first_in(), c.taps.data());
    int solved = 0;
    for (const AlgorithmInfo& info : algorithms(p, "cuda", accuracy, 0, c.taps.data())) {
        if (!info.supported) {
            EXPECT_NE(info.reason, "") << info.name << ": " << describe(p);
            continue;
        }
        std::string failure;
        try {
            const Plan plan = make_plan(p, c.taps.data(), {.device = "cuda", .accuracy = accuracy, .algorithm = info.name});
            failure = device_failure(c, expected, plan, out_offset, in_offset);
            if (failure.empty() && chance(0.15, random)) { failure = host_failure(c, expected, plan); }
        } catch (const std::exception& error) { failure = error.what(); }
        EXPECT_EQ(failure, "") << "TAPLINE_PROPERTY_SEED=" << seed << ": " << info.name << ": " << describe(p) << ", offsets "
                               << in_offset << " and " << out_offset << " bytes";
        ++solved;
    }
    if (drawn.is_solved) { EXPECT_GT(solved, 0) << "TAPLINE_PROPERTY_SEED=" << seed << ": nothing solves " << describe(p); }
}

TEST_P(Property, AgreesWithTheTextbook) {
    const auto shard = static_cast<std::uint64_t>(GetParam());
    for_each_seed({.cases = kDefaultCases, .shares = kShards, .first = shard, .step = kShards}, run_case);
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
                std::vector<std::byte> in = random_elements(dtype, input_extent(p), random);
                std::vector<std::byte> taps = random_elements(taps_dtype(p), taps_extent(p), random);
                const Plan plan = make_plan(p, taps.data(), {.device = "cuda"});
                const std::vector<std::byte> out = execute_on_device<std::byte>(plan, in.data());
                ASSERT_EQ(compare(p, out.data(), in.data(), taps.data(), is_elementwise(plan)), "")
                    << plan.algorithm() << ": " << describe(p);
            }
        }
    }
}

}  // namespace
}  // namespace tapline::test
