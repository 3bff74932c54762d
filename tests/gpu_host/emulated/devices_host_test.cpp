// Host buffers on several emulated GPUs: names, shares, the choice between one and several, failures.
#include "core/choice/several_devices.hpp"
#include "core/problem/arrange.hpp"
#include "gpu_host/devices/shares.hpp"
#include "gpu_host/emulated/host_buffers.hpp"
#include "support/drawn_cases.hpp"
#include "support/errors.hpp"

namespace tapline::test {
namespace {

// All devices that are named, whatever the choice expects.
class SeveralOnHost : public EmulatedCuda {
protected:
    void SetUp() override {
        EmulatedCuda::SetUp();
        setenv("TAPLINE_CUDA_TAKE_ALL", "1", 1);
    }
    void TearDown() override {
        unsetenv("TAPLINE_CUDA_TAKE_ALL");
        unsetenv("TAPLINE_EMULATED_OTHER_MODEL");
        EmulatedCuda::TearDown();
    }
};

TEST_F(SeveralOnHost, NamesOfSeveralDevices) {
    const std::vector<float> taps(3, 1.0F);
    const Problem p{.length = 100, .taps = 3};
    const auto with = [&](const std::string& device) {
        return [&p, &taps, device] { static_cast<void>(make_plan(p, taps, {.device = device})); };
    };
    EXPECT_EQ(make_plan(p, taps, {.device = "cuda:0,1"}).device(), "cuda:0,1");
    EXPECT_EQ(make_plan(p, taps, {.device = "cuda:3,1"}).device(), "cuda:3,1");
    const Plan all = make_plan(p, taps, {.device = "cuda:all"});
    EXPECT_EQ(all.device(), "cuda:0,1,2,3");
    EXPECT_TRUE(all.takes_host_memory());
    EXPECT_EQ(all.workspace_bytes(), 0U);
    expect_error(ErrorCode::argument, {"cuda:1 twice"}, with("cuda:0,1,1"));
    expect_error(ErrorCode::argument, {"names no GPU", "cuda:0,1"}, with("cuda:"));
    expect_error(ErrorCode::argument, {"empty place"}, with("cuda:0,"));
    expect_error(ErrorCode::argument, {"empty place"}, with("cuda:,1"));
    expect_error(ErrorCode::argument, {"'one'"}, with("cuda:0,one"));
    expect_error(ErrorCode::argument, {"'-1'"}, with("cuda:0,-1"));
    expect_error(ErrorCode::device, {"cuda:9", "4 CUDA devices"}, with("cuda:0,9"));
    expect_error(ErrorCode::argument, {"cuda:all"}, with("gpus"));
    setenv("TAPLINE_EMULATED_OTHER_MODEL", "1", 1);
    expect_error(ErrorCode::unsupported, {"one model", "Another GPU"}, with("cuda:0,1"));
    EXPECT_EQ(make_plan(p, taps, {.device = "cuda:0,2"}).device(), "cuda:0,2");
}

TEST_F(SeveralOnHost, AgreesWithTheTextbook) {
    for_each_seed({.cases = 9600, .shares = 16}, [](std::uint64_t seed) {
        Random random(seed);
        gpu_host::PipelineSettings& settings = gpu_host::pipeline_settings();
        settings.chunk_bytes = between(16, 1500, random);
        settings.slots = static_cast<int>(between(1, 4, random));
        const bool is_image = chance(0.2, random);
        Problem p =
            is_image
                ? Problem(draw_image_problem(30, 7, 3000000, random))
                : draw_problem({.most_samples = 500, .most_taps = 100, .most_products = 3000000, .layouts = chance(0.5, random)},
                               random);
        if (is_image && p.dtype != Dtype::f32 && p.dtype != Dtype::u8 && p.dtype != Dtype::u16) { return; }
        HostBuffers data(p, random);
        constexpr std::array kDevices{"cuda:0,1", "cuda:all", "cuda:2,0,1"};
        const PlanOptions options{.device = pick(kDevices, random), .threads = static_cast<int>(between(1, 5, random))};
        EXPECT_EQ(failure_of(p, data, options), "") << "seed " << seed << ": " << describe(p);
    });
}

TEST_F(SeveralOnHost, SharesCoverEverythingOnce) {
    const auto count_of = [](const Problem& p, std::int64_t granularity, int devices) {
        const core::Resolved r = core::resolve(p);
        const core::Output all = core::whole_output(r, nullptr);
        std::int64_t sum = 0;
        for (const gpu_host::Share& s : gpu_host::shares_of(r, all, granularity, devices)) {
            if (s.empty()) { continue; }
            EXPECT_EQ(s.first % granularity, 0);
            sum += s.elements * s.items * s.count;
        }
        EXPECT_EQ(sum, r.outer_length() * r.batch.length * r.cut().outputs);
    };
    for (const int devices : {1, 2, 3, 8}) {
        for (const std::int64_t granularity : {1, 7, 5000}) {
            count_of({.length = 1000, .taps = 9}, granularity, devices);
            count_of({.length = 3, .taps = 2}, granularity, devices);
            count_of({.length = 100, .taps = 9, .batch = 5}, granularity, devices);
            count_of({.length = 100, .taps = 9, .batch = 5000}, granularity, devices);
        }
    }
}

TEST_F(SeveralOnHost, FiltersOfRowsGoWithTheirRows) {
    const Problem p{.length = 300, .taps = 9, .batch = 12, .filters = Filters::per_row, .filter_count = 4};
    Random random(3);
    HostBuffers data(p, random);
    EXPECT_EQ(failure_of(p, data, {.device = "cuda:0,1"}), "");
    EXPECT_EQ(failure_of(p, data, {.device = "cuda:all"}), "");
}

TEST_F(SeveralOnHost, MeasuringTimesOneDevicesShare) {
    const Problem p{.length = 3000, .taps = 21};
    Random random(5);
    HostBuffers data(p, random);
    const Plan plan = make_plan(p, data.taps.data(), {.device = "cuda:0,1", .effort = Effort::measure});
    EXPECT_EQ(plan.algorithm(), "emulated_workspace");
    plan.execute(data.out.data(), data.in.data());
    EXPECT_EQ(compare(p, data.out.data(), data.in.data(), data.taps.data(), true), "");
}

TEST_F(SeveralOnHost, AFailureOfOneStopsAll) {
    const Problem p{.length = 6000, .taps = 21};
    Random random(5);
    HostBuffers data(p, random);
    int told = 0;
    for (const char* name : {"allocate", "make_stream", "copy", "record", "wait", "synchronize", "execute", "kernel"}) {
        for (const int count : {1, 2, 3, 5, 9, 20}) {
            told += is_told(name, count, p, data, {.device = "cuda:all", .threads = 4}) ? 1 : 0;
        }
    }
    EXPECT_GT(told, 30);
}

using Choice = EmulatedCuda;

TEST_F(Choice, OneWhereTheHostIsTheLimitAndSeveralWhereKernelsAre) {
    const std::vector<float> taps(9, 1.0F);
    const Plan limited = make_plan({.length = 1 << 22, .taps = 9}, taps, {.device = "cuda:all", .threads = 16});
    EXPECT_EQ(limited.device(), "cuda:0");
    EXPECT_NE(limited.explain().find("one of 4 GPUs"), std::string::npos) << limited.explain();
    EXPECT_NE(limited.explain().find("the host's memory is the limit"), std::string::npos);
    EXPECT_TRUE(limited.takes_host_memory());
    // An emulated kernel of one microsecond: for few samples that is more than copying.
    const Plan shared = make_plan({.length = 256, .taps = 9}, taps, {.device = "cuda:all", .threads = 16});
    EXPECT_EQ(shared.device(), "cuda:0,1,2,3");
    EXPECT_NE(shared.explain().find("each takes its share"), std::string::npos) << shared.explain();
    EXPECT_LT(shared.predicted_seconds(), make_plan({.length = 256, .taps = 9}, taps, {.device = "cuda:0,1"}).predicted_seconds());
}

}  // namespace
}  // namespace tapline::test
