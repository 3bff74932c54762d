// Plan::execute allocates nothing: every algorithm of the CPU on several problems, with a workspace.
//
// With several threads the first execution that is worth them starts them; after that there is not one allocation either.
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
    struct Way {
        std::string algorithm;
        Accuracy accuracy;
    };

    static Count least_of(Case& c, const Way& way, int threads) {
        const Plan plan = make_plan(c.problem, c.taps.data(),
                                    {.device = "cpu", .accuracy = way.accuracy, .algorithm = way.algorithm, .threads = threads});
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
            for (const Accuracy accuracy : {Accuracy::standard, Accuracy::strict}) {
                for (const AlgorithmInfo& info : algorithms(c.problem, "cpu", accuracy, 1, c.taps.data())) {
                    if (!info.supported || info.predicted_seconds >= 0.1) { continue; }
                    body(c, Way{info.name, accuracy}, std::string(named.name) + ", " + info.name + ", " + to_string(accuracy));
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

TEST_F(Allocations, None) {
    for (const int threads : {1, 2}) {
        for_each_algorithm([threads](Case& c, const Way& way, const std::string& told) {
            const Count count = least_of(c, way, threads);
            EXPECT_EQ(count.here, 0) << told << ", " << threads << " threads";
            EXPECT_EQ(count.elsewhere, 0) << told << ", " << threads << " threads";
        });
    }
}

// NaN makes transforms repair their blocks: that is a part of execution too.
TEST_F(Allocations, NoneForRepairs) {
    for_each_algorithm([](Case& c, const Way& way, const std::string& told) {
        if (is_integer(c.problem.dtype)) { return; }
        Random random(2);
        spoil(c.in.data(), c.problem.dtype, input_extent(c.problem), random);
        EXPECT_EQ(least_of(c, way, 1).here, 0) << told;
    });
}

}  // namespace
}  // namespace tapline::test
