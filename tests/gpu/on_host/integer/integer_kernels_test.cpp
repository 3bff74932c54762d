// The rungs for exact sums of integers, their kernels run on the host, against the CPU's textbook bit by bit: every type, layout,
// boundary, accumulator and epilogue, and the same words of the same overflow. TAPLINE_PROPERTY_CASES and TAPLINE_PROPERTY_SEED as
// elsewhere.
#include <gtest/gtest.h>

#include "gpu/on_host/cuda_on_host.hpp"

#include "core/problem/arrange.hpp"
#include "cuda/check.hpp"
#include "cuda/families/integer/digits/integer_group.hpp"
#include "cuda/families/integer/digits/integer_tensor.hpp"
#include "cuda/families/integer/integer_any.hpp"
#include "cuda/families/integer/integer_lines.hpp"
#include "cuda/families/integer/integer_signal.hpp"
#include "cuda/families/integer/passes/integer_checked.hpp"
#include "cuda/families/integer/passes/integer_long.hpp"
#include "gpu/on_host/rung_on_host.hpp"
#include "support/drawn_cases.hpp"
#include "support/integer_cases.hpp"

namespace tapline::test {
namespace {

constexpr std::int64_t kDefaultCases = 400;

std::int64_t transformed = 0;  // cases
std::int64_t as_real = 0;      // by the rungs for real numbers
std::int64_t as_bytes = 0;
std::int64_t as_group = 0;
std::int64_t checked = 0;      // whose samples were
std::int64_t as_products = 0;  // by real numbers between passes
std::int64_t of_digits = 0;    // of those several products
std::int64_t across = 0;       // of those by the rungs for real numbers

std::string run(const cuda::Rung& rung, Case& c, const core::Resolved& r, Random& random) {
    PreparedOnHost prepared(rung, r, c.taps.data());
    EXPECT_EQ(prepared.make(), "");
    std::memset(c.out.data(), 0xFF, c.out.size());
    const cuda::Prepared& made = prepared.get();
    if (rung.describe(made).starts_with("segments")) { ++transformed; }
    if (&rung == &cuda::integer_lines() || &rung == &cuda::integer_tiles() || &rung == &cuda::integer_planes()) { ++as_real; }
    if (rung.describe(made).find("direct_across") != std::string::npos) { ++across; }
    if (&rung == &cuda::integer_tensor()) { ++as_bytes; }
    if (&rung == &cuda::integer_group()) { ++as_group; }
    GuardedBuffer workspace(static_cast<std::size_t>(rung.workspace_bytes(made)) + 1);
    const std::int64_t outputs = r.cut().outputs;
    if (rung.describe(made).find(" product") != std::string::npos) { ++as_products; }
    if (rung.describe(made).starts_with("samples up to")) { ++checked; }
    if (rung.describe(made).find(" products") != std::string::npos) { ++of_digits; }
    const bool is_whole = rung.info().takes_pieces == 0 || rung.reports(made);
    const std::int64_t split = !is_whole && chance(0.4, random) ? between(0, outputs, random) : outputs;
    for (const auto [first, count] : {std::pair{std::int64_t{0}, split}, std::pair{split, outputs - split}}) {
        if (count == 0) { continue; }
        rung.launch(made, job_of(r, c.first_out(), c.first_in(), first, count), made.on_device, workspace.data(), nullptr);
        if (!rung.reports(made)) { continue; }
        try {
            rung.report(made, workspace.data(), nullptr);
        } catch (const cuda::CudaError& error) { return error.what(); }
    }
    EXPECT_TRUE(workspace.guards_intact());
    return {};
}

// Whether an output did not fit.
bool run_filled(const Problem& p, Case& c, std::uint64_t seed, Random& random, const std::vector<const cuda::Rung*>& rungs) {
    const core::Resolved r = core::resolve(p);
    const ExactResult wanted = textbook_result(c);
    on_host::set_seed(seed);
    cuda_abi::Problem asked;
    static_cast<core::Resolved&>(asked) = r;
    set_facts(asked, core::facts_of(r, core::correlation_taps(r, c.taps.data(), 0).get()));
    for (const cuda::Rung* rung : rungs) {
        if (!rung->supports(asked, device_of(132, 9)).empty()) { continue; }
        EXPECT_EQ(difference(c, wanted, run(*rung, c, r, random)), "") << rung->info().name;
    }
    return !wanted.error.empty();
}

bool run_case(const Problem& p, std::uint64_t seed, Random& random, const std::vector<const cuda::Rung*>& rungs) {
    SCOPED_TRACE("TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + describe(p));
    if (core::filter_sets(core::resolve(p)) != 1) { return false; }  // repeated by the plan
    Case c = exact_case(p, random);
    return run_filled(p, c, seed, random, rungs);
}

bool run_case(std::uint64_t seed) {
    Random random(seed);
    const int rank = static_cast<int>(between(1, 3, random));
    if (rank == 2) {
        return run_case(draw_exact_problem(rank, 30, 5, random), seed, random,
                        {&cuda::integer_images(), &cuda::integer_tiles(), &cuda::checked_integer_images()});
    }
    if (rank == 3) {
        return run_case(draw_exact_problem(rank, 10, 5, random), seed, random,
                        {&cuda::integer_volumes(), &cuda::integer_planes(), &cuda::checked_integer_volumes()});
    }
    const bool is_long = chance(0.2, random);
    const Problem p = draw_exact_problem(rank, is_long ? 1500 : 200, is_long ? 400 : 40, random);
    return run_case(p, seed, random,
                    {&cuda::integer_signals(), &cuda::integer_direct(), &cuda::integer_lines(), &cuda::integer_tensor(),
                     &cuda::integer_group(), &cuda::integer_long(), &cuda::checked_integer_signals()});
}

TEST(IntegerKernels, AgreeWithTheTextbook) {
    std::int64_t overflows = 0;
    const std::int64_t cases =
        for_each_seed({.cases = kDefaultCases}, [&](std::uint64_t seed) { overflows += run_case(seed) ? 1 : 0; });
    if (cases == 0) { return; }
    EXPECT_GT(overflows, cases / 20);
    EXPECT_GT(as_real, cases / 20);
    EXPECT_GT(checked, cases / 40);
}

// Several segments, samples and taps of every size.
TEST(IntegerKernels, TransformsOfLongFilters) {
    const std::int64_t cases = for_each_seed({.cases = kDefaultCases, .shares = 20, .first = 1}, [&](std::uint64_t seed) {
        Random random(seed);
        Problem p;
        p.dtype = pick(kIntegerTypes, random);
        p.length = between(1000, 15000, random);
        p.taps = between(64, chance(0.3, random) ? 4000 : 500, random);
        p.batch = between(1, 2, random);
        p.filters = chance(0.5, random) ? Filters::shared : Filters::per_row;
        p.mode = static_cast<Mode>(between(0, 1, random));
        p.boundary = static_cast<Boundary>(between(0, 5, random));
        p.constant = p.dtype == Dtype::boolean ? 1 : 100;
        if (chance(0.6, random)) { p.output_dtype = pick(kIntegerTypes, random); }
        p.overflow = chance(0.8, random) ? Overflow::wrap : Overflow::error;
        run_case(p, seed, random,
                 {&cuda::integer_direct(), &cuda::integer_transforms(), &cuda::integer_tensor(), &cuda::integer_group()});
    });
    if (cases != 0) { EXPECT_GT(transformed, cases / 4); }
}

// Digits in double under digits of taps of any size, whatever makes the products; every layout.
TEST(IntegerKernels, LongFiltersByDigits) {
    const std::int64_t cases = for_each_seed({.cases = kDefaultCases, .shares = 10}, [&](std::uint64_t seed) {
        Random random(seed);
        Problem p;
        p.dtype = pick(kIntegerTypes, random);
        p.taps = chance(0.5, random) ? between(1025, 1200, random) : between(64, 300, random);
        p.length = between(1, 1500, random);
        p.batch = between(1, 4, random);
        if (p.batch > 1 && chance(0.5, random)) {
            p.input_row_stride = p.output_row_stride = 1;
            p.input_sample_stride = p.output_sample_stride = p.batch;
        } else if (chance(0.5, random)) {
            p.input_sample_stride = chance(0.5, random) ? -1 : 2;
        }
        p.filters = chance(0.7, random) ? Filters::shared : Filters::per_row;
        p.mode = static_cast<Mode>(between(0, 1, random));
        p.boundary = static_cast<Boundary>(between(0, 5, random));
        p.constant = p.dtype == Dtype::boolean ? 1 : 100;
        p.output_dtype = chance(0.3, random) ? Dtype::i64 : chance(0.2, random) ? Dtype::f64 : pick(kIntegerTypes, random);
        p.overflow = chance(0.7, random) ? Overflow::wrap : Overflow::error;
        SCOPED_TRACE("TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + describe(p));
        Case c = exact_case(p, random);
        const int bits = pick(std::array{2, 8, 16, 32, 62}, random);
        auto* const taps = reinterpret_cast<std::int64_t*>(c.taps.data());
        for (std::int64_t t = 0; t < taps_extent(p); ++t) {
            taps[t] = between(1 - (std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1, random);
        }
        run_filled(p, c, seed, random, {&cuda::integer_long()});
    });
    if (cases != 0) {
        EXPECT_GT(as_products, cases / 3);
        EXPECT_GT(of_digits, cases / 8);
    }
}

// Samples and outputs side by side, every type, taps of 8, 16, 32 bits and more, rows that begin anywhere.
TEST(IntegerKernels, ProductsOfBytes) {
    const std::int64_t before = as_bytes;
    const std::int64_t before_in_groups = as_group;
    const std::int64_t cases = for_each_seed({.cases = kDefaultCases, .shares = 10}, [&](std::uint64_t seed) {
        Random random(seed);
        Problem p;
        p.dtype =
            pick(std::array{Dtype::i8, Dtype::i16, Dtype::i32, Dtype::i64, Dtype::u8, Dtype::u16, Dtype::u32, Dtype::u64}, random);
        p.length = between(1, chance(0.3, random) ? 6000 : 700, random);
        p.taps = between(1, chance(0.3, random) ? 300 : 40, random);
        p.batch = between(1, 3, random);
        p.filters = chance(0.7, random) ? Filters::shared : Filters::per_row;
        p.mode = static_cast<Mode>(between(0, 1, random));
        p.boundary = static_cast<Boundary>(between(0, 5, random));
        p.constant = 100;
        if (chance(0.5, random)) { p.input_row_stride = p.length + between(0, 5, random); }
        p.output_dtype = chance(0.4, random) ? p.dtype : pick(kIntegerTypes, random);
        p.overflow = chance(0.8, random) ? Overflow::wrap : Overflow::error;
        SCOPED_TRACE("TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + describe(p));
        Case c = exact_case(p, random);
        const int bits = pick(std::array{8, 16, 32, 62}, random);
        auto* const taps = reinterpret_cast<std::int64_t*>(c.taps.data());
        for (std::int64_t t = 0; t < taps_extent(p); ++t) {
            taps[t] = between(1 - (std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1, random);
        }
        run_filled(p, c, seed, random, {&cuda::integer_tensor(), &cuda::integer_group()});
    });
    if (cases != 0) {
        EXPECT_GT(as_bytes - before, cases / 8);
        EXPECT_GT(as_group - before_in_groups, cases / 4);
    }
}

// As many taps as shared memory has room for, all products as large as they can be: sums of bytes come as near to 2^31 as they do.
TEST(IntegerKernels, SumsOfBytesAtTheirBound) {
    for (const Dtype dtype : {Dtype::i64, Dtype::u32}) {
        Problem p;
        p.dtype = dtype;
        p.taps = dtype == Dtype::i64 ? 5000 : 7500;
        p.length = p.taps + 2;
        p.mode = Mode::valid;
        p.output_dtype = Dtype::i64;
        p.overflow = Overflow::wrap;
        Random random(1);
        Case c = exact_case(p, random);
        const std::int64_t tap = dtype == Dtype::i64 ? -std::int64_t{INT32_MAX} : INT32_MAX;
        std::fill_n(reinterpret_cast<std::int64_t*>(c.taps.data()), p.taps, tap);
        std::memset(c.in.data(), 0xFF, c.in.size());
        const std::int64_t before = as_group;
        run_filled(p, c, 1, random, {&cuda::integer_group()});
        EXPECT_GT(as_group, before);
    }
}

// Recordings with time first: samples of one time are neighbours.
TEST(IntegerKernels, RowsSideBySide) {
    const std::int64_t cases = for_each_seed({.cases = kDefaultCases, .shares = 4}, [&](std::uint64_t seed) {
        Random random(seed);
        Problem p;
        p.dtype = pick(std::array{Dtype::i32, Dtype::i64, Dtype::i16}, random);
        p.length = between(1, chance(0.3, random) ? 1500 : 300, random);
        p.taps = between(1, 60, random);
        p.batch = between(8, 40, random);
        p.input_row_stride = p.output_row_stride = 1;
        p.input_sample_stride = p.output_sample_stride = p.batch;
        p.mode = Mode::same;
        p.boundary = static_cast<Boundary>(between(0, 5, random));
        p.constant = -7;
        p.output_dtype = chance(0.7, random) ? p.dtype : pick(kIntegerTypes, random);
        p.overflow = Overflow::wrap;
        run_case(p, seed, random, {&cuda::integer_lines()});
    });
    if (cases != 0) { EXPECT_GT(across, cases / 10); }
}

}  // namespace
}  // namespace tapline::test
