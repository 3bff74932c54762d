// Pieces, streams, threads, graphs: whatever the order and the alignment, the same bits.
#include <cstring>
#include <thread>

#include "core/choice/engine.hpp"
#include "gpu/driver.hpp"
#include "gpu/gpu.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

Problem same(std::int64_t n, std::int64_t k) { return {.length = n, .taps = k, .mode = Mode::same}; }

// Every algorithm that plans may use for a problem.
std::vector<Plan> all_plans(const Problem& problem, const void* taps) {
    std::vector<Plan> plans;
    for (const AlgorithmInfo& info : algorithms(problem, "cuda")) {
        if (info.supported) { plans.push_back(make_plan(problem, taps, {.device = "cuda", .algorithm = info.name})); }
    }
    return plans;
}

class Determinism : public GpuTest {};

TEST_F(Determinism, SameBitsTwiceAndAtEveryAlignment) {
    for (const std::int64_t k : {1, 3, 9, 17, 33, 65, 129, 1000, 30000}) {
        const Problem p = same(40009, k);
        const std::vector<float> in = random_floats(p.length, 40);
        const std::vector<float> taps = random_floats(k, 41);
        for (const Plan& plan : all_plans(p, taps.data())) {
            const std::vector<float> wanted = execute_on_device<float>(plan, in.data());
            for (const std::size_t offset : {0, 4, 8, 12, 20, 36}) {
                ASSERT_EQ(execute_on_device<float>(plan, in.data(), offset, 4), wanted)
                    << plan.algorithm() << ", " << k << " taps, out + " << offset;
                ASSERT_EQ(execute_on_device<float>(plan, in.data(), 0, offset), wanted)
                    << plan.algorithm() << ", " << k << " taps, in + " << offset;
            }
        }
    }
}

class Pieces : public GpuTest {
protected:
    // The problem's outputs in calls of random sizes, each given only the samples that it needs, NaN around them.
    static std::vector<std::byte> in_pieces(const Plan& plan, const std::vector<std::byte>& in, Random& random) {
        const core::PlanState& state = plan.state();
        const core::Resolved& r = state.resolved;
        const core::Executable& executable = *state.executable;
        const std::size_t in_size = size_of(r.dtype);
        const std::size_t out_size = size_of(r.output_dtype);
        const std::int64_t unit = executable.granularity();
        const DeviceBuffer workspace(plan.workspace_bytes());
        const DeviceStream stream;
        std::vector<std::byte> out(bytes_of(r.batch.length * r.x.outputs, r.output_dtype));
        for (std::int64_t first = 0; first < r.x.outputs;) {
            const std::int64_t count = std::min(r.x.outputs - first, unit * between(1, 1 + 3000 / unit, random));
            const std::int64_t from = std::clamp<std::int64_t>(first - r.x.origin, 0, r.x.n - 1);
            const std::int64_t to =
                std::clamp<std::int64_t>(first + count - r.x.origin + r.x.k - 1 + executable.lookahead(), from + 1, r.x.n);
            std::vector<std::byte> piece(bytes_of(r.batch.length * (to - from), r.dtype));
            for (std::int64_t row = 0; row < r.batch.length; ++row) {
                std::memcpy(piece.data() + static_cast<std::size_t>(row * (to - from)) * in_size,
                            in.data() + static_cast<std::size_t>(row * r.x.n + from) * in_size,
                            static_cast<std::size_t>(to - from) * in_size);
            }
            const DeviceBuffer device_in = DeviceBuffer::of(piece, in_size * static_cast<std::size_t>(between(0, 5, random)));
            const DeviceBuffer device_out(bytes_of(r.batch.length * count, r.output_dtype));
            const core::Input input{
                .main = {.data = device_in.data(), .first = from, .last = to, .batch_stride = to - from, .stride = 1},
                .extra = {},
                .n = r.x.n};
            executable.execute({.data = device_out.data(), .first = first, .count = count, .batch_stride = count, .stride = 1},
                               input, workspace.span(), stream.get());
            stream.synchronize();
            EXPECT_TRUE(device_out.guards_intact()) << plan.algorithm();
            const std::vector<std::byte> got = device_out.values<std::byte>();
            for (std::int64_t row = 0; row < r.batch.length; ++row) {
                std::memcpy(out.data() + static_cast<std::size_t>(row * r.x.outputs + first) * out_size,
                            got.data() + static_cast<std::size_t>(row * count) * out_size,
                            static_cast<std::size_t>(count) * out_size);
            }
            first += count;
        }
        return out;
    }
};

TEST_F(Pieces, GiveTheBitsOfTheWhole) {
    Random random(42);
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::f16, Dtype::bf16}) {
        for (const Boundary boundary : {Boundary::zero, Boundary::nearest, Boundary::constant}) {
            for (const std::int64_t k : {1, 4, 17, 130, 2500}) {
                for (const std::int64_t batch : {1, 3}) {
                    Problem p = same(9001, k);
                    p.dtype = dtype;
                    p.batch = batch;
                    p.filters = batch > 1 ? Filters::per_row : Filters::shared;
                    p.boundary = boundary;
                    p.constant = boundary == Boundary::constant ? 0.5 : 0;
                    std::vector<std::byte> in = random_elements(dtype, input_extent(p), random);
                    std::vector<std::byte> taps = random_elements(taps_dtype(p), taps_extent(p), random);
                    for (const Plan& plan : all_plans(p, taps.data())) {
                        if (rung_named(plan.algorithm()).info().takes_pieces == 0) { continue; }
                        ASSERT_EQ(in_pieces(plan, in, random), execute_on_device<std::byte>(plan, in.data()))
                            << plan.algorithm() << ": " << describe(p);
                    }
                }
            }
        }
    }
}

class Concurrency : public GpuTest {};

TEST_F(Concurrency, ALaterPlanLeavesAnEarlierOneItsSharedMemory) {
    const std::int64_t n = std::int64_t{1} << 21;  // fills the device: several tiles a window
    const std::vector<float> in = random_floats(n, 44);
    for (const char* algorithm : {"direct_window", "direct"}) {
        const std::vector<float> many = random_floats(512, 45);
        const std::vector<float> fewer = random_floats(130, 46);
        const Plan large = make_plan(same(n, 512), many.data(), {.device = "cuda", .algorithm = algorithm});
        const std::vector<float> wanted = execute_on_device<float>(large, in.data());
        const Plan small = make_plan(same(n, 130), fewer.data(), {.device = "cuda", .algorithm = algorithm});
        EXPECT_EQ(execute_on_device<float>(large, in.data()), wanted) << algorithm;
    }
}

TEST_F(Concurrency, ManyThreadsAndStreamsOnOnePlan) {
    if (!has_driver()) { TAPLINE_GPU_MISSING("the emulated default stream does not bear other threads that end streams"); }
    constexpr int kThreads = 8;
    constexpr int kRounds = 8;
    for (const std::int64_t k : {17, 129, 5000}) {
        const Problem p = same(100003, k);
        const std::vector<float> taps = random_floats(k, 43);
        for (const Plan& plan : all_plans(p, taps.data())) {
            std::vector<std::vector<float>> inputs;
            std::vector<std::vector<float>> wanted;
            for (int t = 0; t < kThreads; ++t) {
                inputs.push_back(random_floats(p.length, 100 + static_cast<std::uint64_t>(t)));
                wanted.push_back(execute_on_device<float>(plan, inputs.back().data()));
            }
            std::vector<std::string> failures(kThreads);
            std::vector<std::thread> threads;
            for (int t = 0; t < kThreads; ++t) {
                threads.emplace_back([&, t] {
                    const auto i = static_cast<std::size_t>(t);
                    try {
                        const DeviceBuffer in = DeviceBuffer::of(inputs[i]);
                        const DeviceBuffer out(inputs[i].size() * sizeof(float));
                        const DeviceBuffer workspace(plan.workspace_bytes());
                        const DeviceStream stream;
                        for (int round = 0; round < kRounds; ++round) {
                            plan.execute(out.data(), in.data(), workspace.span(), stream.get());
                        }
                        stream.synchronize();
                        if (out.values<float>() != wanted[i]) { failures[i] = "other bits than alone"; }
                    } catch (const std::exception& error) { failures[i] = error.what(); }
                });
            }
            for (std::thread& thread : threads) { thread.join(); }
            for (const std::string& failure : failures) { ASSERT_EQ(failure, "") << plan.algorithm() << ", " << k << " taps"; }
        }
    }
}

// Its first use of the GPU is the plan's: the thread has no context yet, which is not one that was reset.
TEST_F(Concurrency, AThreadThatHasNotUsedTheGpuYet) {
    for (const std::int64_t k : {17, 1000}) {
        const Problem p = same(30011, k);
        const std::vector<float> in = random_floats(p.length, 49);
        const std::vector<float> taps = random_floats(k, 50);
        const Plan plan = make_plan(p, taps, {.device = "cuda"});
        const std::vector<float> wanted = execute_on_device<float>(plan, in.data());
        const DeviceBuffer device_in = DeviceBuffer::of(in);
        const DeviceBuffer out(in.size() * sizeof(float));
        const DeviceBuffer workspace(plan.workspace_bytes());
        const DeviceStream stream;
        std::string failure;
        std::thread([&] {
            try {
                plan.execute(out.data(), device_in.data(), workspace.span(), stream.get());
            } catch (const std::exception& error) { failure = error.what(); }
        }).join();
        ASSERT_EQ(failure, "") << plan.algorithm();
        stream.synchronize();
        EXPECT_EQ(out.values<float>(), wanted) << plan.algorithm();
    }
}

// Taps live in the plan, never in one place that two plans share.
TEST_F(Concurrency, TwoPlansInterleavedOnTwoStreams) {
    for (const std::int64_t k : {5, 17, 100, 1000}) {
        const Problem p = same(50021, k);
        const std::vector<float> in = random_floats(p.length, 44);
        const std::vector<float> taps[2] = {random_floats(k, 45), random_floats(k, 46)};
        const std::vector<Plan> first = all_plans(p, taps[0].data());
        const std::vector<Plan> second = all_plans(p, taps[1].data());
        for (std::size_t a = 0; a < first.size(); ++a) {
            const Plan* plans[2] = {&first[a], &second[a]};
            const DeviceBuffer device_in = DeviceBuffer::of(in);
            const DeviceStream streams[2];
            std::vector<DeviceBuffer> outs;
            std::vector<DeviceBuffer> workspaces;
            for (const Plan* plan : plans) {
                outs.emplace_back(in.size() * sizeof(float));
                workspaces.emplace_back(plan->workspace_bytes());
            }
            for (int round = 0; round < 50; ++round) {
                for (std::size_t i = 0; i < 2; ++i) {
                    plans[i]->execute(outs[i].data(), device_in.data(), workspaces[i].span(), streams[i].get());
                }
            }
            for (std::size_t i = 0; i < 2; ++i) {
                streams[i].synchronize();
                ASSERT_EQ(outs[i].values<float>(), execute_on_device<float>(*plans[i], in.data())) << plans[i]->algorithm();
            }
            ASSERT_NE(outs[0].values<float>(), outs[1].values<float>()) << "two filters gave one result";
        }
    }
}

TEST_F(Concurrency, APlanOutlivesItsCopiesAndOtherPlans) {
    const Problem p = same(5000, 17);
    const std::vector<float> in = random_floats(p.length, 47);
    const std::vector<float> taps = random_floats(17, 48);
    std::unique_ptr<Plan> kept;
    {
        const Plan original = make_plan(p, taps, {.device = "cuda"});
        kept = std::make_unique<Plan>(original);
    }
    const std::vector<float> wanted = execute_on_device<float>(*kept, in.data());
    for (std::uint64_t i = 0; i < 20; ++i) {
        const std::vector<float> others = random_floats(17, 200 + i);
        execute_on_device<float>(make_plan(p, others, {.device = "cuda"}), in.data());
    }
    EXPECT_EQ(execute_on_device<float>(*kept, in.data()), wanted);
}

class Graphs : public GpuTest {};

TEST_F(Graphs, CapturedOnceReplayedWithOtherInput) {
    if (!has_driver()) { TAPLINE_GPU_MISSING("graphs need a CUDA driver"); }
    for (const std::int64_t k : {3, 17, 65, 129, 1000, 20000}) {
        const Problem p = same(30011, k);
        const std::vector<float> taps = random_floats(k, 49);
        for (const Plan& plan : all_plans(p, taps.data())) {
            const DeviceBuffer in(static_cast<std::size_t>(p.length) * sizeof(float), Guard::input);
            const DeviceBuffer out(static_cast<std::size_t>(p.length) * sizeof(float));
            const DeviceBuffer workspace(plan.workspace_bytes());
            const DeviceStream stream;
            CapturedGraph::begin(stream.get());
            plan.execute(out.data(), in.data(), workspace.span(), stream.get());  // the first use of the plan: no lazy loading
            const CapturedGraph graph = CapturedGraph::finish(stream.get());
            for (std::uint64_t replay = 0; replay < 3; ++replay) {
                const std::vector<float> values = random_floats(p.length, 50 + replay);
                in.write(values.data(), values.size() * sizeof(float));
                out.poison();
                graph.launch(stream.get());
                graph.launch(stream.get());
                stream.synchronize();
                ASSERT_EQ(out.values<float>(), execute_on_device<float>(plan, values.data()))
                    << plan.algorithm() << ", replay " << replay;
                ASSERT_TRUE(out.guards_intact() && in.guards_intact() && workspace.guards_intact()) << plan.algorithm();
            }
        }
    }
}

}  // namespace
}  // namespace tapline::test
