// Host buffers on an emulated GPU: chunks, pieces, boundaries, strides, batches and types against the textbook.
#include <thread>

#include "gpu_host/emulated/host_buffers.hpp"
#include "support/drawn_cases.hpp"
#include "support/errors.hpp"

namespace tapline::test {
namespace {

void draw_half(Problem& p, Random& random) {
    if (is_complex(p.dtype) || !chance(0.3, random)) { return; }
    p.dtype = chance(0.5, random) ? Dtype::f16 : Dtype::bf16;
    if (chance(0.3, random)) { p.output_dtype = Dtype::f32; }
}

using HostPipeline = EmulatedCuda;

TEST_F(HostPipeline, AgreesWithTheTextbook) {
    for_each_seed({.cases = 24000, .shares = 16}, [](std::uint64_t seed) {
        Random random(seed);
        gpu_host::PipelineSettings& settings = gpu_host::pipeline_settings();
        settings.piece_bytes = between(16, 700, random);
        settings.chunk_bytes = between(16, 1500, random);
        settings.pieces = static_cast<int>(between(1, 4, random));
        settings.slots = static_cast<int>(between(1, 4, random));
        settings.large_chunk_bytes = between(16, 200, random);
        Problem p = draw_problem(500, 100, random);
        draw_half(p, random);
        HostBuffers data(p, random);
        const std::string name = chance(0.3, random) ? "emulated_workspace" : "emulated_pieces";
        const PlanOptions options{.device = chance(0.5, random) ? "cuda" : "cuda:1",
                                  .algorithm = name,
                                  .threads = static_cast<int>(between(1, 3, random))};
        EXPECT_EQ(failure_of(p, data, options), "") << "seed " << seed << ": " << describe(p);
        if (seed % 50 == 0) {  // sizes of pinned buffers differ from case to case
            gpu_host::drop_idle_pipeline_memory(0);
            gpu_host::drop_idle_pipeline_memory(1);
        }
    });
}

TEST_F(HostPipeline, NanAndAbsentTermsStayWhereTheyBelong) {
    const Problem p{.length = 1000, .taps = 41, .mode = Mode::full};
    Random random(7);
    HostBuffers data(p, random);
    auto* in = reinterpret_cast<float*>(data.in.data());
    auto* taps = reinterpret_cast<float*>(data.taps.data());
    in[0] = NAN;
    in[500] = HUGE_VALF;
    in[999] = NAN;
    taps[0] = HUGE_VALF;  // 0 * inf would be NaN at the ends
    EXPECT_EQ(failure_of(p, data, {.device = "cuda"}), "");
}

TEST_F(HostPipeline, BitsDoNotDependOnTheChunks) {
    const Problem p{.length = 3000, .taps = 77, .batch = 3, .boundary = Boundary::mirror};
    Random random(3);
    HostBuffers data(p, random);
    const Plan plan = make_plan(p, data.taps.data(), {.device = "cuda"});
    std::vector<float> wanted(static_cast<std::size_t>(output_extent(p)));
    gpu_host::pipeline_settings().chunk_bytes = 1 << 20;
    plan.execute_host(wanted.data(), data.in.data());
    for (const std::int64_t chunk : {64, 1000, 5000, 20000}) {
        gpu_host::pipeline_settings().chunk_bytes = chunk;
        std::vector<float> got(wanted.size(), NAN);
        plan.execute_host(std::span<float>(got).data(), data.in.data());
        EXPECT_EQ(got, wanted) << chunk;
    }
}

TEST_F(HostPipeline, WholeProblemsGoInOneChunk) {
    for (const Boundary boundary : {Boundary::zero, Boundary::reflect, Boundary::wrap}) {
        const Problem p{.length = 2000, .taps = 30, .batch = 4, .mode = Mode::same, .boundary = boundary};
        Random random(5);
        HostBuffers data(p, random);
        EXPECT_EQ(failure_of(p, data, {.device = "cuda", .algorithm = "emulated_whole"}), "");
    }
}

TEST_F(HostPipeline, SignalsLargerThanTheMemoryOfTheDevice) {
    setenv("TAPLINE_CUDA_MEMORY_LIMIT", "20000", 1);
    gpu_host::pipeline_settings().chunk_bytes = 1 << 20;  // wanted, not to be had
    gpu_host::pipeline_settings().piece_bytes = 4096;
    Problem p;
    p.length = 100000;
    p.taps = 20;
    Random random(5);
    HostBuffers data(p, random);
    EXPECT_EQ(failure_of(p, data, {.device = "cuda"}), "");
    EXPECT_THROW(failure_of(p, data, {.device = "cuda", .algorithm = "emulated_whole"}), Error);
    p.taps = 90000;
    HostBuffers longer(p, random);
    expect_error(ErrorCode::memory, "fewer taps", [&] { failure_of(p, longer, {.device = "cuda"}); });
}

TEST_F(HostPipeline, MemoryThatWaitsForTheNextCallIsGivenUpForThisOne) {
    Problem small;
    small.length = 4000;
    small.taps = 3;
    Random random(5);
    setenv("TAPLINE_CUDA_MEMORY_LIMIT", "40000", 1);
    gpu_host::pipeline_settings().chunk_bytes = 4000;
    {  // two at once, so that two wait
        HostBuffers a(small, random);
        HostBuffers b(small, random);
        std::thread other([&] { EXPECT_EQ(failure_of(small, a, {.device = "cuda"}), ""); });
        EXPECT_EQ(failure_of(small, b, {.device = "cuda"}), "");
        other.join();
    }
    Problem p = small;
    p.length = 4500;
    p.mode = Mode::same;
    HostBuffers data(p, random);
    EXPECT_EQ(failure_of(p, data, {.device = "cuda", .algorithm = "emulated_whole"}), "");
}

TEST_F(HostPipeline, MemoryIsKeptForTheNextCallWithinLimits) {
    const Problem p{.length = 4000, .taps = 3};
    Random random(5);
    HostBuffers data(p, random);
    EXPECT_EQ(failure_of(p, data, {.device = "cuda"}), "");
    const int kept = live_objects();
    EXPECT_GT(kept, 0);
    EXPECT_EQ(failure_of(p, data, {.device = "cuda"}), "");
    EXPECT_EQ(live_objects(), kept);
    gpu_host::drop_idle_pipeline_memory(0);
    EXPECT_EQ(live_objects(), 0);
    gpu_host::pipeline_settings().kept_bytes = 0;
    EXPECT_EQ(failure_of(p, data, {.device = "cuda"}), "");
    EXPECT_EQ(live_objects(), 0);
}

TEST_F(HostPipeline, SeveralThreadsAtOnce) {
    const Problem p{.length = 5000, .taps = 21};
    Random random(5);
    HostBuffers data(p, random);
    const Plan plan = make_plan(p, data.taps.data(), {.device = "cuda", .algorithm = "emulated_workspace", .threads = 2});
    std::vector<std::vector<float>> outs(4, std::vector<float>(static_cast<std::size_t>(output_extent(p)), NAN));
    std::vector<std::thread> threads;
    threads.reserve(outs.size());
    for (auto& out : outs) {
        threads.emplace_back([&] { plan.execute_host(out.data(), data.in.data()); });
    }
    for (auto& thread : threads) { thread.join(); }
    for (const auto& out : outs) { EXPECT_EQ(compare(p, out.data(), data.in.data(), data.taps.data(), true), ""); }
}

TEST_F(HostPipeline, EveryFailureIsToldAndLeavesNothingBehind) {
    const Problem p{.length = 3000, .taps = 21};
    Random random(5);
    HostBuffers data(p, random);
    int told = 0;
    for (const char* name : {"allocate", "allocate_pinned", "make_stream", "make_event", "copy", "record", "wait", "synchronize",
                             "execute", "kernel"}) {
        for (int count = 1; count < 30; count += count < 6 ? 1 : 5) {
            told += is_told(name, count, p, data, {.device = "cuda", .algorithm = "emulated_workspace", .threads = 2}) ? 1 : 0;
        }
    }
    EXPECT_GT(told, 60);
}

TEST_F(HostPipeline, AResetEndsPlansButNotTheEngine) {
    const Problem p{.length = 3000, .taps = 21};
    Random random(5);
    HostBuffers data(p, random);
    const Plan plan = make_plan(p, data.taps.data(), {.device = "cuda"});
    plan.execute_host(data.out.data(), data.in.data());  // leaves memory for the next call
    inject("reset");
    expect_error(ErrorCode::device, "reset", [&] { plan.execute_host(data.out.data(), data.in.data()); });
    EXPECT_EQ(failure_of(p, data, {.device = "cuda"}), "");
    inject("reset");
    EXPECT_EQ(failure_of(p, data, {.device = "cuda"}), "");
}

TEST_F(HostPipeline, ALostDeviceIsToldAndTheCpuGoesOn) {
    const Problem p{.length = 3000, .taps = 21};
    Random random(5);
    HostBuffers data(p, random);
    inject("lose");
    expect_error(ErrorCode::device, "the CPU goes on", [&] { failure_of(p, data, {.device = "cuda"}); });
    EXPECT_EQ(failure_of(p, data, {.device = "cpu"}), "");
}

}  // namespace
}  // namespace tapline::test
