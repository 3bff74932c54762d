// The rungs for exact sums of integers, their kernels run on the host, against the CPU's textbook bit by bit: every type, layout,
// boundary, accumulator and epilogue, and the same words of the same overflow. TAPLINE_PROPERTY_CASES and TAPLINE_PROPERTY_SEED as
// elsewhere.
#include <gtest/gtest.h>

#include "gpu/on_host/cuda_on_host.hpp"

#include "core/problem/arrange.hpp"
#include "cuda/check.hpp"
#include "cuda/families/integer/integer_any.hpp"
#include "gpu/on_host/rung_on_host.hpp"
#include "support/integer_cases.hpp"

namespace tapline::test {
namespace {

constexpr std::int64_t kDefaultCases = 400;

std::string run(const cuda::Rung& rung, Case& c, const core::Resolved& r, Random& random) {
    PreparedOnHost prepared(rung, r, c.taps.data());
    EXPECT_EQ(prepared.make(), "");
    const cuda::Prepared& made = prepared.get();
    GuardedBuffer workspace(static_cast<std::size_t>(rung.workspace_bytes(made)) + 1);
    const std::int64_t outputs = r.cut().outputs;
    const std::int64_t split = !rung.reports(made) && chance(0.4, random) ? between(0, outputs, random) : outputs;
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

bool run_case(std::uint64_t seed) {
    Random random(seed);
    const int rank = static_cast<int>(between(1, 3, random));
    const Problem p = draw_exact_problem(rank, rank == 1 ? 200 : rank == 2 ? 30 : 10, rank == 1 ? 40 : 5, random);
    SCOPED_TRACE("TAPLINE_PROPERTY_SEED=" + std::to_string(seed) + ": " + describe(p));
    const core::Resolved r = core::resolve(p);
    if (core::filter_sets(r) != 1) { return false; }  // repeated by the plan
    Case c = exact_case(p, random);
    const ExactResult wanted = textbook_result(c);
    on_host::set_seed(seed);
    const cuda::Rung& rung = rank == 1 ? cuda::integer_signals() : rank == 2 ? cuda::integer_images() : cuda::integer_volumes();
    EXPECT_EQ(difference(c, wanted, run(rung, c, r, random)), "");
    return !wanted.error.empty();
}

TEST(IntegerKernels, AgreeWithTheTextbook) {
    if (const std::int64_t seed = environment_number("TAPLINE_PROPERTY_SEED", -1); seed >= 0) {
        run_case(static_cast<std::uint64_t>(seed));
        return;
    }
    const std::int64_t cases = environment_number("TAPLINE_PROPERTY_CASES", kDefaultCases);
    std::int64_t overflows = 0;
    for (std::int64_t i = 0; i < cases && !HasFailure(); ++i) { overflows += run_case(static_cast<std::uint64_t>(i)) ? 1 : 0; }
    EXPECT_GT(overflows, cases / 20);
}

}  // namespace
}  // namespace tapline::test
