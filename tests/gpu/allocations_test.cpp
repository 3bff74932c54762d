// Plan::execute allocates nothing: every algorithm of the GPU on several problems. Host memory is counted; memory of the device may
// not be allocated while a stream is captured, so what is captured allocates none.
#include <algorithm>

#include "allocations/counting.hpp"
#include "allocations/problems.hpp"
#include "gpu/driver.hpp"
#include "gpu/gpu.hpp"
#include "support/case.hpp"

namespace tapline::test {
namespace {

class Allocations : public GpuTest {
protected:
    // body(execute, told) for each algorithm; execute() launches the plan on `stream`.
    template <class Body>
    static void for_each_algorithm(const Body& body) {
        int solved = 0;
        for (const NamedProblem& named : problems_for_each_algorithm()) {
            Random random(1);
            Case c = draw_case(named.problem, random);
            fill_random(c.in.data(), c.problem.dtype, input_extent(c.problem), random);
            const Problem& p = c.problem;
            for (const AlgorithmInfo& info : algorithms(p, "cuda", Accuracy::standard, 0, c.taps.data())) {
                if (!info.supported) { continue; }
                const Plan plan = make_plan(p, c.taps.data(), {.device = "cuda", .algorithm = info.name});
                const DeviceBuffer in = DeviceBuffer::of({reinterpret_cast<const std::byte*>(c.in.data()), c.in.size()});
                const DeviceBuffer out(bytes_of(output_extent(p), output_dtype(p)));
                const DeviceBuffer workspace(plan.workspace_bytes());
                const DeviceStream stream;
                void* const to = element_at(out, output_start(p), output_dtype(p));
                const void* const from = element_at(in, input_start(p), p.dtype);
                const auto execute = [&] { plan.execute(to, from, workspace.span(), stream.get()); };
                body(execute, stream, std::string(named.name) + ", " + info.name);
                ++solved;
            }
        }
        EXPECT_GT(solved, 30);
    }
};

// Of the execution of several that allocated least: the driver keeps books of its own, which grow now and then.
TEST_F(Allocations, NoneOfTheHost) {
    if (!can_count_allocations()) { GTEST_SKIP() << "another allocator stands in the way"; }
    for_each_algorithm([](const auto& execute, const DeviceStream& stream, const std::string& told) {
        std::int64_t least = 1 << 30;
        for (int i = 0; i < 6; ++i) {
            {
                const Counting counting;
                execute();
                least = std::min(least, counting.here());
            }
            stream.synchronize();
        }
        EXPECT_EQ(least, 0) << told;
    });
}

TEST_F(Allocations, NoneOfTheDevice) {
    if (!has_driver()) { TAPLINE_GPU_MISSING("graphs need a CUDA driver"); }
    for_each_algorithm([](const auto& execute, const DeviceStream& stream, const std::string& told) {
        CapturedGraph::begin(stream.get());
        EXPECT_NO_THROW(execute()) << told;
        EXPECT_NO_THROW(CapturedGraph::finish(stream.get())) << told;
    });
}

}  // namespace
}  // namespace tapline::test
