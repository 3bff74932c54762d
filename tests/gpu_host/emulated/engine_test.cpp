// The CUDA engine as users meet it: devices, choice, device pointers, streams.
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "core/problem/arrange.hpp"
#include "gpu_host/emulated/emulated_engine.hpp"
#include "gpu_host/engine.hpp"
#include "gpu_host/executable.hpp"
#include "gpu_host/problem.hpp"
#include "gpu_host/wisdom.hpp"
#include "support/buffers.hpp"
#include "support/comparison.hpp"
#include "support/errors.hpp"
#include "tapline/tapline.h"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

using CudaEngine = EmulatedCuda;

Problem problem_of(std::int64_t n, std::int64_t k, Mode mode = Mode::same) { return {.length = n, .taps = k, .mode = mode}; }

std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<float> values(static_cast<std::size_t>(count));
    fill_reals<float>(values.data(), count, random);
    return values;
}

// Executes the plan on buffers in GPU memory with `outputs` floats; what is wrong with the result.
std::string failure_on_device(const Plan& plan, const Problem& p, const std::vector<float>& in, std::size_t outputs,
                              const std::vector<float>& taps) {
    const auto floats = [](std::size_t count) {
        return gpu_host::allocate_device(emulated_api(), 0, static_cast<std::int64_t>(4 * count));
    };
    const gpu_host::DeviceBytes device_in = floats(in.size());
    const gpu_host::DeviceBytes device_out = floats(outputs);
    const gpu_host::DeviceBytes workspace =
        gpu_host::allocate_device(emulated_api(), 0, static_cast<std::int64_t>(plan.workspace_bytes()) + 1);
    std::copy(in.begin(), in.end(), static_cast<float*>(device_in.get()));
    plan.execute(device_out.get(), device_in.get(), {static_cast<std::byte*>(workspace.get()), plan.workspace_bytes()});
    return compare(p, device_out.get(), in.data(), taps.data(), true);
}

TEST_F(CudaEngine, DevicesAndRungsAreListed) {
    const std::vector<EngineInfo> all = engines();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_TRUE(all[1].available);
    ASSERT_EQ(all[1].devices.size(), 4U);
    EXPECT_EQ(all[1].devices[1].name, "cuda:1");
    EXPECT_EQ(all[1].devices[0].description, "Emulated GPU, compute capability 9.0, 0.2 GiB, driver for CUDA 13.2");
    EXPECT_EQ(all[1].devices[0].memory_bytes, std::int64_t{256} << 20);
    std::vector<std::string> names;
    for (const AlgorithmInfo& info : algorithms(problem_of(100, 3), "cuda")) { names.push_back(info.name); }
    EXPECT_EQ(names, (std::vector<std::string>{"emulated_pieces", "emulated_workspace", "emulated_whole"}));
}

TEST_F(CudaEngine, LessonsAreALibraryOfTheirOwnOnTheSameDevices) {
    const gpu_host::CudaLibrary& lessons = gpu_host::lessons_library();
    ASSERT_NE(lessons.api, nullptr) << lessons.reason;
    EXPECT_EQ(lessons.devices, 4);
    ASSERT_EQ(lessons.api->rung_count(), 2);
    EXPECT_STREQ(lessons.api->rung(0).name, "emulated_lesson");
    const Problem p = problem_of(1000, 31);
    const auto taps = random_floats(31, 1);
    const auto in = random_floats(1000, 2);
    Problem correlation = p;
    correlation.operation = Operation::correlation;
    const core::Resolved r = core::resolve(correlation);
    const cuda_abi::Problem abi = gpu_host::to_abi(r, {});
    const cuda_abi::HostTaps host{taps.data()};
    const cuda_abi::Policy policy;
    cuda_abi::Status status;
    cuda_abi::Prepared* const prepared = lessons.api->prepare(0, 0, &abi, &host, &policy, &status);
    ASSERT_NE(prepared, nullptr) << status.message;
    const gpu_host::DeviceBytes device_in = gpu_host::allocate_device(emulated_api(), 0, 4000);
    const gpu_host::DeviceBytes device_out = gpu_host::allocate_device(emulated_api(), 0, 4000);
    std::copy(in.begin(), in.end(), static_cast<float*>(device_in.get()));
    const cuda_abi::Job job = gpu_host::job_of(core::whole_output(r, device_out.get()), core::whole_input(r, device_in.get()), 1);
    EXPECT_TRUE(lessons.api->execute(prepared, &job, nullptr, 0, nullptr, &status)) << status.message;
    EXPECT_EQ(compare(correlation, device_out.get(), in.data(), taps.data(), true), "");
    lessons.api->release(prepared);
}

TEST_F(CudaEngine, TapsThatComeWithEachExecution) {
    const Problem p = problem_of(1000, 5);
    const auto taps = random_floats(5, 1);
    const auto in = random_floats(1000, 2);
    const Plan plan = make_plan_without_taps(p, {.device = "cuda"});
    EXPECT_EQ(plan.algorithm(), "emulated_pieces");
    const auto on_device = [](const std::vector<float>& values) {
        gpu_host::DeviceBytes memory = gpu_host::allocate_device(emulated_api(), 0, static_cast<std::int64_t>(4 * values.size()));
        std::copy(values.begin(), values.end(), static_cast<float*>(memory.get()));
        return memory;
    };
    const gpu_host::DeviceBytes device_in = on_device(in), device_taps = on_device(taps), device_out = on_device(in);
    const auto bytes = plan.workspace_bytes();
    const gpu_host::DeviceBytes workspace = gpu_host::allocate_device(emulated_api(), 0, static_cast<std::int64_t>(bytes));
    plan.execute_with_taps(device_out.get(), device_in.get(), device_taps.get(), {static_cast<std::byte*>(workspace.get()), bytes});
    EXPECT_EQ(compare(p, device_out.get(), in.data(), taps.data(), true), "");
    expect_error(ErrorCode::argument, {"taps"}, [&] {
        plan.execute_with_taps(device_out.get(), device_in.get(), taps.data(), {static_cast<std::byte*>(workspace.get()), bytes});
    });
}

// `size`: floats of the output.
void expect_right_on_host_and_device(const Plan& plan, const Problem& p, const std::vector<float>& in,
                                     const std::vector<float>& taps, std::int64_t size) {
    std::vector<float> out(static_cast<std::size_t>(size), NAN);
    plan.execute_host(out.data(), in.data());
    EXPECT_EQ(compare(p, out.data(), in.data(), taps.data(), true), "");
    EXPECT_EQ(failure_on_device(plan, p, in, out.size(), taps), "");
}

TEST_F(CudaEngine, TwoChannelsBesideEachOtherGoAsComplexSamples) {
    const auto taps = random_floats(33, 1);
    const auto in = random_floats(2 * 3 * 500, 2);
    // Three recordings of two channels, written with a gap behind each frame.
    Problem p{.mode = Mode::same};
    p.axes = {{.length = 500, .taps = 33, .input_stride = 2, .output_stride = 4}};
    p.batch_axes = {{.length = 3, .input_stride = 1000, .output_stride = 2000},
                    {.length = 2, .input_stride = 1, .output_stride = 1}};
    p.scale = 0.5;
    p.boundary = Boundary::constant;
    p.constant = 0.25;
    const auto goes_in_pairs = [](const Plan& plan) { return gpu_host::executable_of(plan).layout().dtype == Dtype::complex64; };
    const Plan plan = make_plan(p, taps, {.device = "cuda"});
    EXPECT_TRUE(goes_in_pairs(plan)) << plan.explain();
    expect_right_on_host_and_device(plan, p, in, taps, output_extent(p));
    // A bias would have to reach both parts, an odd stride has pairs in two places, and own filters are two problems.
    Problem biased = p;
    biased.bias = 1;
    Problem odd = p;
    odd.axes[0].output_stride = 3;
    odd.batch_axes[0].output_stride = 1999;
    for (const Problem& q : {biased, odd}) { EXPECT_EQ(core::with_pairs(core::resolve(q)).dtype, Dtype::f32); }
    Problem own = p;
    own.batch_axes[1].taps_stride = 33;
    EXPECT_EQ(core::with_pairs(core::resolve(own)).dtype, Dtype::f32);
}

TEST_F(CudaEngine, ComplexImagesUnderRealTapsGoAsTwiceAsManyChannels) {
    const auto taps = random_floats(3 * 5, 1);
    ImageProblem p{.height = 20, .width = 31, .channels = 2, .batch = 2, .mask_height = 3, .mask_width = 5};
    p.dtype = Dtype::complex64;
    p.boundary = Boundary::reflect;
    p.scale = 0.5;
    p.input_row_stride = 70;
    const auto in = random_floats(2 * input_extent(p), 2);
    const Plan plan = make_plan(p, taps, {.device = "cuda"});
    EXPECT_EQ(gpu_host::executable_of(plan).layout().channels.length, 4) << plan.explain();
    expect_right_on_host_and_device(plan, p, in, taps, 2 * output_extent(p));
    // A bias reaches one part alone, a constant may differ, and rows of complex samples have rungs of their own.
    Problem biased = p;
    biased.bias = 1;
    Problem constant = p;
    constant.boundary = Boundary::constant;
    constant.constant = {1, 2};
    ImageProblem row = p;
    row.mask_height = 1;
    for (const Problem& q : {biased, constant, Problem(row)}) {
        EXPECT_EQ(core::with_parts(core::resolve(q)).dtype, Dtype::complex64);
    }
}

TEST_F(CudaEngine, PiecesOfABatchLieWhereTheJobSays) {
    constexpr std::int64_t kRows = 3;
    constexpr std::int64_t kFirst = 40;
    constexpr std::int64_t kCount = 100;
    Problem p = problem_of(1000, 5);
    p.batch = kRows;
    const auto taps = random_floats(5, 1);
    const auto in = random_floats(kRows * 1000, 2);
    const Plan plan = make_plan(p, taps, {.device = "cuda", .algorithm = "emulated_pieces"});
    std::vector<float> wanted(in.size(), NAN);
    plan.execute_host(wanted.data(), in.data());
    // The outputs of all rows packed, which the whole result's are not.
    const gpu_host::DeviceBytes device_in = gpu_host::allocate_device(emulated_api(), 0, static_cast<std::int64_t>(4 * in.size()));
    const gpu_host::DeviceBytes device_out = gpu_host::allocate_device(emulated_api(), 0, 4 * kRows * kCount);
    std::copy(in.begin(), in.end(), static_cast<float*>(device_in.get()));
    const auto bytes = static_cast<std::int64_t>(plan.workspace_bytes());
    const gpu_host::DeviceBytes workspace = gpu_host::allocate_device(emulated_api(), 0, bytes + 1);
    gpu_host::executable_of(plan).execute(
        {.data = device_out.get(), .first = kFirst, .count = kCount, .batch_stride = kCount, .stride = 1},
        core::whole_input(plan.state().resolved, device_in.get()),
        {static_cast<std::byte*>(workspace.get()), plan.workspace_bytes()}, nullptr);
    for (std::int64_t i = 0; i < kRows * kCount; ++i) {
        ASSERT_EQ(static_cast<const float*>(device_out.get())[i],
                  wanted[static_cast<std::size_t>(i / kCount * 1000 + kFirst + i % kCount)])
            << i;
    }
}

TEST_F(CudaEngine, MeasurementsFindTheExecutable) {
    const auto taps = random_floats(9, 1);
    const Plan plan = make_plan(problem_of(100, 9), taps, {.device = "cuda:1"});
    EXPECT_EQ(gpu_host::executable_of(plan).device(), 1);
    EXPECT_NE(gpu_host::executable_of(plan).prepared(), nullptr);
    const Plan on_cpu = make_plan(problem_of(100, 9), taps, {.device = "cpu"});
    expect_error(ErrorCode::device, {"not one of a GPU"}, [&] { gpu_host::executable_of(on_cpu); });
}

TEST_F(CudaEngine, WrongNamesAndTypesAreRefused) {
    const auto taps = random_floats(3, 1);
    const auto with = [&](const PlanOptions& options) { return [&taps, options] { make_plan(problem_of(10, 3), taps, options); }; };
    expect_error(ErrorCode::device, {"cuda:4", "4 CUDA devices"}, with({.device = "cuda:4"}));
    for (const char* name : {"cuda:", "cuda:-1", "cuda:x", "cuda:1x", "cuda:99999999999", "cuda1"}) {
        expect_error(ErrorCode::argument, {name, "cuda:N"}, with({.device = name}));
    }
    expect_error(ErrorCode::argument, {"emulated_lesson", "emulated_pieces"},
                 with({.device = "cuda", .algorithm = "emulated_lesson"}));
}

TEST_F(CudaEngine, IntegersOfAnySizeAreExact) {
    Problem p = problem_of(10, 3);
    p.dtype = Dtype::i64;
    p.overflow = Overflow::wrap;
    const std::vector<std::int64_t> taps(3, std::int64_t{1} << 60), in(10, 99);
    std::vector<std::int64_t> out(10), wanted(10);
    make_plan(p, taps.data(), {.device = "cuda"}).execute_host(out.data(), in.data());
    make_plan(p, taps.data(), {.device = "cpu"}).execute_host(wanted.data(), in.data());
    EXPECT_EQ(out, wanted);
}

TEST_F(CudaEngine, PlansTakeDevicePointers) {
    const Problem p = problem_of(1000, 31);
    const auto taps = random_floats(31, 1);
    const auto in = random_floats(1000, 2);
    const cuda_abi::Api& api = emulated_api();
    for (const std::string name : {"emulated_pieces", "emulated_workspace", "emulated_whole"}) {
        const Plan plan = make_plan(p, taps, {.device = "cuda:1", .algorithm = name});
        EXPECT_EQ(plan.device(), "cuda:1");
        EXPECT_NE(plan.explain().find("device pointers"), std::string::npos) << plan.explain();
        EXPECT_NE(plan.explain().find("Emulated GPU, one thread"), std::string::npos) << plan.explain();
        const gpu_host::DeviceBytes device_in = gpu_host::allocate_device(api, 1, 4000);
        const gpu_host::DeviceBytes device_out = gpu_host::allocate_device(api, 1, 4000);
        std::copy(in.begin(), in.end(), static_cast<float*>(device_in.get()));
        plan.execute(device_out.get(), device_in.get());
        const gpu_host::StreamHandle stream = gpu_host::make_stream(api, 1);
        EXPECT_EQ(compare(p, device_out.get(), in.data(), taps.data(), true), "") << name;
        std::fill_n(static_cast<float*>(device_out.get()), 1000, NAN);
        const auto bytes = static_cast<std::int64_t>(plan.workspace_bytes());
        const gpu_host::DeviceBytes workspace = gpu_host::allocate_device(api, 1, bytes + 64);
        auto* aligned = static_cast<std::byte*>(workspace.get());
        aligned += (64 - reinterpret_cast<std::uintptr_t>(aligned) % 64) % 64;
        plan.execute(device_out.get(), device_in.get(), {aligned, static_cast<std::size_t>(bytes)}, stream.get());
        cuda_abi::Status status;
        ASSERT_TRUE(api.synchronize_stream(1, stream.get(), &status)) << status.message;
        EXPECT_EQ(compare(p, device_out.get(), in.data(), taps.data(), true), "") << name;
        std::vector<float> host(1000);
        expect_error(ErrorCode::argument, {"out", "device"}, [&] { plan.execute(host.data(), device_in.get()); });
        expect_error(ErrorCode::argument, {"in", "null"}, [&] { plan.execute(device_out.get(), nullptr); });
        expect_error(ErrorCode::argument, {"overlaps"}, [&] { plan.execute(device_in.get(), device_in.get()); });
        const gpu_host::DeviceBytes elsewhere = gpu_host::allocate_device(api, 0, 4000);
        expect_error(ErrorCode::argument, {"out", "device"}, [&] { plan.execute(elsewhere.get(), device_in.get()); });
        plan.execute(std::span<float>(host), std::span<const float>(in));  // spans are host memory
        EXPECT_EQ(compare(p, host.data(), in.data(), taps.data(), true), "") << name;
    }
}

TEST_F(CudaEngine, AutoTakesWhatHasTheResultInHostMemoryFirst) {
    const auto few = random_floats(9, 1);
    EXPECT_EQ(make_plan(problem_of(1 << 20, 9), few).device(), "cpu");
    const auto floats = random_floats(20001, 1);
    std::vector<double> many(floats.begin(), floats.end());
    many[1] = INFINITY;  // which leaves direct sums only: they take a CPU seconds
    Problem large = problem_of(1 << 22, 20001);
    large.dtype = Dtype::f64;
    const Plan strict = make_plan(large, many, {.accuracy = Accuracy::strict});
    EXPECT_EQ(strict.device(), "cuda:0");
    EXPECT_EQ(strict.workspace_bytes(), 0U);
    EXPECT_NE(strict.explain().find("host buffers in and out"), std::string::npos) << strict.explain();
    EXPECT_NE(strict.explain().find("there and back against"), std::string::npos) << strict.explain();
    EXPECT_GT(strict.predicted_seconds(), 1e-4);
    EXPECT_EQ(make_plan(large, many, {.device = "cpu", .accuracy = Accuracy::strict}).device(), "cpu");
    EXPECT_EQ(make_plan(large, many, {.accuracy = Accuracy::strict, .algorithm = "direct"}).device(), "cpu");
    inject("fail prepare 1");
    const Plan fallen = make_plan(large, many, {.accuracy = Accuracy::strict});
    EXPECT_EQ(fallen.device(), "cpu");
    EXPECT_NE(fallen.explain().find("prepare: failed as injected"), std::string::npos) << fallen.explain();
    // Named, the device must do it.
    inject("fail prepare 1");
    expect_error(ErrorCode::device, {"as injected"}, [&] { make_plan(large, many, {.device = "cuda"}); });
}

// An image of 16-bit floats under a mask with an infinity, which the CPU engine does not take.
Problem image_of_halves() {
    Problem p;
    p.dtype = Dtype::f16;
    p.output_dtype = Dtype::f32;
    for (const std::int64_t length : {30, 33}) { p.axes.push_back({.length = length, .taps = 3, .mode = Mode::same}); }
    return p;
}
std::vector<float> mask_with_an_infinity() {
    std::vector<float> taps = random_floats(9, 1);
    taps[1] = INFINITY;
    return taps;
}

TEST_F(CudaEngine, AutoTakesHostBuffersWhereverItRuns) {
    const Problem p = image_of_halves();
    Random random(1);
    std::vector<std::uint16_t> in(990);
    std::vector<float> out(990, -1);
    fill_random(in.data(), p.dtype, 990, random);
    const auto taps = mask_with_an_infinity();
    const Plan plan = make_plan(p, taps);
    EXPECT_EQ(plan.device(), "cuda:0");
    EXPECT_NE(plan.explain().find("the CPU cannot solve it"), std::string::npos) << plan.explain();
    const auto expect_sums = [&] { EXPECT_EQ(compare(p, out.data(), in.data(), taps.data(), true), ""); };
    plan.execute(out.data(), in.data());
    expect_sums();
    std::fill(out.begin(), out.end(), -1.0F);
    plan.execute(out.data(), in.data(), {});
    expect_sums();
}

TEST_F(CudaEngine, OneCallFunctionsTakeHostBuffers) {
    const auto taps = random_floats(5, 1);
    const auto in = random_floats(1000, 2);
    const auto out = convolve(in, taps, {.mode = Mode::same, .device = "cuda"});
    EXPECT_EQ(compare(problem_of(1000, 5), out.data(), in.data(), taps.data(), true), "");
}

TEST_F(CudaEngine, MeasuringRunsOnTheDevice) {
    Problem p = problem_of(1000, 5);
    const auto taps = random_floats(5, 1);
    const Plan plan = make_plan(p, taps, {.device = "cuda", .effort = Effort::measure});
    EXPECT_EQ(plan.algorithm(), "emulated_workspace");  // whose measured time is the least
    EXPECT_NE(plan.explain().find("measured"), std::string::npos);
    p = image_of_halves();
    EXPECT_EQ(make_plan(p, mask_with_an_infinity(), {.effort = Effort::measure}).device(), "cuda:0");
}

// What `tapline tune` would have remembered of this device, in a file of its own.
class TunedEngine : public EmulatedCuda {
protected:
    void SetUp() override {
        EmulatedCuda::SetUp();
        old_ = getenv("TAPLINE_WISDOM");
        path_ = ::testing::TempDir() + "/tapline-tuned-" + std::to_string(getpid()) + ".json";
        setenv("TAPLINE_WISDOM", path_.c_str(), 1);
        gpu_host::forget_wisdom();
    }
    void TearDown() override {
        setenv("TAPLINE_WISDOM", old_.c_str(), 1);
        gpu_host::forget_wisdom();
        std::filesystem::remove(path_);
        std::filesystem::remove(path_ + ".lock");
        EmulatedCuda::TearDown();
    }
    static void remember(const Problem& problem, const std::string& rung, double seconds, std::int32_t threads = 64,
                         Accuracy accuracy = Accuracy::standard) {
        cuda_abi::Device device;
        cuda_abi::Status status;
        ASSERT_TRUE(emulated_api().device(0, &device, &status)) << status.message;
        const gpu_host::WisdomEntry entry{
            .rung = rung,
            .problem = *gpu_host::class_of(gpu_host::to_abi(core::resolve(problem), {})),
            .accuracy = accuracy,
            .policy = {.vectors_per_thread = 1, .threads_per_block = threads, .tiles_per_block = 1, .windows_per_warp = 0},
            .seconds = seconds,
            .default_seconds = seconds,
            .date = "2026-11-21T10:00:00Z"};
        gpu_host::remember(device, std::span(&entry, 1));
    }

private:
    std::string old_;
    std::string path_;
};

void expect_in(const std::string& text, const std::string& whole) {
    EXPECT_NE(whole.find(text), std::string::npos) << "'" << text << "' is not in: " << whole;
}

TEST_F(TunedEngine, TheRungMeasuredToBeTheFastestIsTaken) {
    const Problem p = problem_of(4096, 9);
    const auto taps = random_floats(9, 1);
    const auto algorithm_with = [&](const PlanOptions& options) { return make_plan(p, taps, options).algorithm(); };
    EXPECT_EQ(algorithm_with({.device = "cuda"}), "emulated_pieces");  // by the cost model
    remember(p, "emulated_pieces", 2e-6);
    remember(p, "emulated_workspace", 1e-6);
    const Plan plan = make_plan(p, taps, {.device = "cuda"});
    EXPECT_EQ(plan.algorithm(), "emulated_workspace");
    expect_in("fastest as `tapline tune` measured on this device: emulated_workspace 1 us for 9 taps, 2^12 outputs",
              plan.explain());
    expect_in("the cost model says: emulated_pieces", plan.explain());
    EXPECT_EQ(algorithm_with({.device = "cuda", .algorithm = "emulated_pieces"}), "emulated_pieces");
    const Plan strict = make_plan(p, taps, {.device = "cuda", .accuracy = Accuracy::strict});
    EXPECT_EQ(strict.algorithm(), "emulated_pieces") << "measured for another accuracy";
    expect_in("fastest by the cost model", strict.explain());
    EXPECT_EQ(make_plan(problem_of(1 << 20, 9), taps, {.device = "cuda"}).algorithm(), "emulated_pieces") << "another class";
    const Stream stream(p, taps.data(), {.plan = {.device = "cuda"}, .tail = nullptr});
    EXPECT_EQ(stream.plan().algorithm(), "emulated_workspace");
}

TEST_F(TunedEngine, WithThePolicyThatMadeItSo) {
    const Problem p = problem_of(4096, 9);
    const auto taps = random_floats(9, 1);
    const auto seconds = [&] {
        const Plan plan = make_plan(p, taps, {.device = "cuda"});
        EXPECT_EQ(plan.algorithm(), "emulated_pieces");
        return gpu_host::engine(0).measuring_buffers(core::resolve(p))->seconds_of(*plan.state().executable);
    };
    EXPECT_EQ(seconds(), 2e-6);  // its default's time on the emulated clock
    remember(p, "emulated_pieces", 1e-6, 256);
    EXPECT_EQ(seconds(), 1.5e-6);
}

TEST_F(TunedEngine, WhatNoPlanMayTakeIsPassedOver) {
    const Problem p = problem_of(4096, 9);
    const auto taps = random_floats(9, 1);
    for (const std::string name : {"emulated_lesson", "of_a_later_version"}) { remember(p, name, 1e-7); }
    EXPECT_EQ(make_plan(p, taps, {.device = "cuda"}).algorithm(), "emulated_pieces");
    remember(p, "emulated_workspace", 1e-6);
    EXPECT_EQ(make_plan(p, taps, {.device = "cuda"}).algorithm(), "emulated_workspace");
}

TEST_F(CudaEngine, CInterface) {
    tapline_problem p;
    ASSERT_EQ(tapline_problem_init(&p), TAPLINE_OK);
    p.length = 1000;
    p.taps = 5;
    p.mode = TAPLINE_SAME;
    const auto taps = random_floats(5, 1);
    const auto in = random_floats(1000, 2);
    std::vector<float> out(1000, NAN);
    tapline_plan_options options;
    ASSERT_EQ(tapline_plan_options_init(&options), TAPLINE_OK);
    options.device = "cuda:1";
    tapline_plan* plan = nullptr;
    ASSERT_EQ(tapline_plan_create(&plan, &p, taps.data(), &options), TAPLINE_OK) << tapline_last_error();
    EXPECT_EQ(tapline_plan_execute_host(plan, out.data(), in.data()), TAPLINE_OK) << tapline_last_error();
    EXPECT_EQ(compare(problem_of(1000, 5), out.data(), in.data(), taps.data(), true), "");
    EXPECT_EQ(tapline_plan_execute_host(plan, nullptr, in.data()), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_plan_execute_host(nullptr, out.data(), in.data()), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_plan_execute_simple(plan, out.data(), in.data()), TAPLINE_ARGUMENT) << "host pointers";
    tapline_plan_destroy(plan);
}

// Pushes frames in cuts of changing sizes; saves and restores into a second stream on the way.
std::vector<float> stream_through(const Problem& p, const std::vector<float>& taps, const std::vector<float>& frames,
                                  StreamOptions options, std::int64_t cut) {
    const std::int64_t batch = p.batch;
    const auto n = static_cast<std::int64_t>(frames.size()) / batch;
    if (p.boundary == Boundary::wrap) {
        options.tail = frames.data();
        options.tail_frames = n;
    }
    Stream stream(p, taps.data(), options);
    EXPECT_EQ(stream.plan().device(), "cuda:0");
    std::vector<float> out;
    const auto drain = [&](Stream& from) {
        std::vector<float> part(static_cast<std::size_t>(from.available() * batch));
        from.take(part.data(), from.available());
        out.insert(out.end(), part.begin(), part.end());
    };
    for (std::int64_t at = 0; at < n; at += cut) {
        stream.push(frames.data() + at * batch, std::min(cut, n - at));
        if (at % 3 == 0) { drain(stream); }
        if (at / cut == 2) {
            Stream second(p, taps.data(), options);
            second.restore(stream.save());
            stream = std::move(second);
        }
    }
    stream.flush();
    drain(stream);
    return out;
}

TEST_F(CudaEngine, StreamsGiveTheBitsOfTheWhole) {
    for (const Boundary boundary :
         {Boundary::zero, Boundary::constant, Boundary::nearest, Boundary::reflect, Boundary::mirror, Boundary::wrap}) {
        for (const bool known : {true, false}) {
            Problem p = problem_of(700, 33, boundary == Boundary::wrap ? Mode::same : Mode::full);
            p.batch = 2;
            p.boundary = boundary;
            p.constant = 0.5;
            const auto taps = random_floats(33, 1);
            const auto frames = random_floats(1400, 2);
            Problem whole = p;
            whole.input_row_stride = whole.output_row_stride = 1;
            whole.input_sample_stride = whole.output_sample_stride = 2;
            std::vector<float> wanted(static_cast<std::size_t>(output_extent(whole)), NAN);
            make_plan(whole, taps, {.device = "cuda", .algorithm = "emulated_pieces"})
                .execute(std::span<float>(wanted), std::span<const float>(frames));
            EXPECT_EQ(compare(whole, wanted.data(), frames.data(), taps.data(), true), "");
            if (!known) { p.length = kUnknownLength; }
            for (const std::int64_t cut : {13, 100, 700}) {
                const StreamOptions options{.plan = {.device = "cuda"}, .tail = nullptr, .tail_frames = 0, .samples_per_run = 150};
                EXPECT_EQ(stream_through(p, taps, frames, options, cut), wanted)
                    << to_string(boundary) << " " << known << " " << cut;
            }
        }
    }
}

TEST_F(CudaEngine, StreamsTakeRungsThatWorkInPieces) {
    const auto taps = random_floats(5, 1);
    expect_error(ErrorCode::unsupported, {"emulated_whole", "whole signals"}, [&] {
        Stream(problem_of(100, 5), taps.data(), {.plan = {.device = "cuda", .algorithm = "emulated_whole"}, .tail = nullptr});
    });
}

}  // namespace
}  // namespace tapline::test
