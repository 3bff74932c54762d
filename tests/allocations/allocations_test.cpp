// Plan::execute allocates nothing: every algorithm of the CPU on several problems, with a workspace.
//
// With one thread there is not one allocation. With several, oneTBB keeps its own books: an arena and its tasks come from its own
// allocator (or from malloc, where its library tbbmalloc is missing), a number of times that the threads bound and neither the
// problem's size nor the number of executions before.
#include <gtest/gtest.h>

#include "allocations/counting.hpp"
#include "allocations/problems.hpp"
#include "support/case.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

class Allocations : public ::testing::Test {
protected:
    void SetUp() override {
        if (!can_count_allocations()) { GTEST_SKIP() << "another allocator stands in the way"; }
    }

    // Of the execution of several that allocated least: the first ones may start threads.
    struct Count {
        std::int64_t here = 0, elsewhere = 0;
    };
    static Count least_of(Case& c, const std::string& algorithm, int threads) {
        const Plan plan = make_plan(c.problem, c.taps.data(), {.device = "cpu", .algorithm = algorithm, .threads = threads});
        GuardedBuffer workspace(plan.workspace_bytes());
        const std::span<std::byte> bytes{reinterpret_cast<std::byte*>(workspace.data()), workspace.size()};
        const void* const in = c.first_in();
        void* const out = c.first_out();
        Count least{1 << 30, 1 << 30};
        for (int i = 0; i < 4; ++i) {
            const Counting counting;
            plan.execute(out, in, bytes);
            least = {std::min(least.here, counting.here()), std::min(least.elsewhere, counting.elsewhere())};
        }
        return least;
    }

    template <class Body>
    static void for_each_algorithm(const Body& body) {
        for (const NamedProblem& named : problems_for_each_algorithm()) {
            Random random(1);
            Case c = draw_case(named.problem, random);
            fill_random(c.in.data(), c.problem.dtype, input_extent(c.problem), random);
            for (const AlgorithmInfo& info : algorithms(c.problem, "cpu", Accuracy::standard, 1, c.taps.data())) {
                if (info.supported && info.predicted_seconds < 0.1) {
                    body(c, info.name, std::string(named.name) + ", " + info.name);
                }
            }
        }
    }
};

TEST_F(Allocations, TheCounterCounts) {
    const Counting counting;
    delete new std::vector<int>(100);
    std::free(std::malloc(7));
    EXPECT_GE(counting.here(), 1);
}

TEST_F(Allocations, NoneWithOneThread) {
    for_each_algorithm([](Case& c, const std::string& algorithm, const std::string& told) {
        const Count count = least_of(c, algorithm, 1);
        EXPECT_EQ(count.here, 0) << told;
        EXPECT_EQ(count.elsewhere, 0) << told;
    });
}

// Nothing of ours: what is left with two threads is the same for a problem and one of twice its size.
TEST_F(Allocations, OnlyTheSchedulersWithSeveral) {
    static constexpr std::int64_t kMost = 64;
    for_each_algorithm([](Case& c, const std::string& algorithm, const std::string& told) {
        const Count count = least_of(c, algorithm, 2);
        EXPECT_LE(count.here + count.elsewhere, kMost) << told;
    });
}

// NaN makes transforms repair their blocks: that is a part of execution too.
TEST_F(Allocations, NoneForRepairs) {
    for_each_algorithm([](Case& c, const std::string& algorithm, const std::string& told) {
        if (is_integer(c.problem.dtype)) { return; }
        Random random(2);
        spoil(c.in.data(), c.problem.dtype, input_extent(c.problem), random);
        EXPECT_EQ(least_of(c, algorithm, 1).here, 0) << told;
    });
}

}  // namespace
}  // namespace tapline::test
