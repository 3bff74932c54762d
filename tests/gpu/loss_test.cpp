// Lost and reset devices, and memory that runs out: each in a process of its own.
#include "gpu/driver.hpp"
#include "gpu/gpu.hpp"
#include "gpu/own_process.hpp"
#include "support/comparison.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

class Loss : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        Random random(90);
        problem_ = {.length = 5000, .taps = 17, .mode = Mode::same};
        in_ = random_floats(problem_.length, random);
        taps_ = random_floats(problem_.taps, random);
    }

    void expect_cpu_works() {
        std::vector<float> out(in_.size());
        const Plan plan = make_plan(problem_, taps_, {.device = "cpu"});
        plan.execute(std::span<float>(out), std::span<const float>(in_));
        EXPECT_EQ(compare(problem_, out.data(), in_.data(), taps_.data(), plan.algorithm() != "overlap_save"), "");
    }

    void expect_gpu_works(const Plan& plan) {
        const std::vector<float> out = execute_on_device<float>(plan, in_.data());
        EXPECT_EQ(compare(problem_, out.data(), in_.data(), taps_.data(), true), "");
    }

    Plan plan() { return make_plan(problem_, taps_, {.device = "cuda"}); }

    template <class Body>
    static ErrorCode code_of(const Body& body) {
        try {
            body();
        } catch (const Error& error) {
            EXPECT_STRNE(error.what(), "");
            return error.code();
        }
        ADD_FAILURE() << "no error";
        return ErrorCode::io;
    }

    Problem problem_;
    std::vector<float> in_;
    std::vector<float> taps_;
};

TEST_F(Loss, APlanUsedAfterItsDeviceWasReset) {
    if (!has_driver()) { TAPLINE_GPU_MISSING("a reset needs a CUDA driver"); }
    if (!in_own_process()) { return; }
    const Plan before = plan();
    expect_gpu_works(before);
    cuda_abi::Status status;
    ASSERT_TRUE(api().inject(0, "reset", &status)) << status.message;
    {
        const DeviceBuffer in = DeviceBuffer::of(in_);
        const DeviceBuffer out(in_.size() * sizeof(float));
        const DeviceBuffer workspace(before.workspace_bytes());
        const ErrorCode code = code_of([&] { before.execute(out.data(), in.data(), workspace.span(), nullptr); });
        EXPECT_TRUE(code == ErrorCode::device || code == ErrorCode::argument) << to_string(code);
        synchronize_device();
        EXPECT_EQ(out.values<std::byte>(), std::vector<std::byte>(out.size(), std::byte{0xFF})) << "stale taps were used";
    }
    expect_cpu_works();
    expect_gpu_works(plan());  // a new plan lives in the device's new life
}

TEST_F(Loss, HostBuffersAfterAReset) {
    if (!has_driver()) { TAPLINE_GPU_MISSING("a reset needs a CUDA driver"); }
    if (!in_own_process()) { return; }
    const Plan before = plan();
    std::vector<float> out(in_.size());
    before.execute_host(out.data(), in_.data());
    cuda_abi::Status status;
    ASSERT_TRUE(api().inject(0, "reset", &status)) << status.message;
    const ErrorCode code = code_of([&] { before.execute_host(out.data(), in_.data()); });
    EXPECT_TRUE(code == ErrorCode::device || code == ErrorCode::argument) << to_string(code);
    const Plan after = plan();
    std::fill(out.begin(), out.end(), NAN);
    after.execute_host(out.data(), in_.data());
    EXPECT_EQ(compare(problem_, out.data(), in_.data(), taps_.data(), true), "");
}

TEST_F(Loss, ALostDeviceLeavesTheCpu) {
    if (!in_own_process()) { return; }
    const Plan cuda = plan();
    expect_gpu_works(cuda);
    const DeviceBuffer in = DeviceBuffer::of(in_);
    const DeviceBuffer out(in_.size() * sizeof(float));
    const DeviceBuffer workspace(cuda.workspace_bytes());
    cuda_abi::Status status;
    ASSERT_TRUE(api().inject(0, "lose", &status)) << status.message;
    const ErrorCode code = code_of([&] { cuda.execute(out.data(), in.data(), workspace.span(), nullptr); });
    EXPECT_EQ(code, ErrorCode::device);
    expect_cpu_works();
}

TEST_F(Loss, ADeviceLostUnderHostBuffers) {
    if (!in_own_process()) { return; }
    const Plan cuda = plan();
    cuda_abi::Status status;
    ASSERT_TRUE(api().inject(0, "lose", &status)) << status.message;
    std::vector<float> out(in_.size());
    EXPECT_EQ(code_of([&] { cuda.execute_host(out.data(), in_.data()); }), ErrorCode::device);
    expect_cpu_works();
}

// 16 MiB of device memory.
TEST_F(Loss, OutOfMemoryUnderALimit) {
    if (!in_own_process({"TAPLINE_CUDA_MEMORY_LIMIT=16777216"})) { return; }
    cuda_abi::Status status;
    EXPECT_EQ(api().allocate(0, std::int64_t{64} << 20, &status), nullptr);
    EXPECT_EQ(status.code, cuda_abi::Code::memory) << status.message;
    EXPECT_EQ(status.sticky, 0);
    EXPECT_STRNE(status.message, "");
    EXPECT_LE(api().free_bytes(0), std::int64_t{16} << 20);

    Problem long_filter;
    long_filter.length = std::int64_t{8} << 20;
    long_filter.taps = long_filter.length;
    long_filter.mode = Mode::valid;
    const std::vector<float> taps(static_cast<std::size_t>(long_filter.taps), 1.0F);
    EXPECT_EQ(code_of([&] { make_plan(long_filter, taps, {.device = "cuda"}); }), ErrorCode::memory);

    // What was freed is there again: 100 times 4 MiB fit only one after the other.
    for (int i = 0; i < 100; ++i) {
        status = {};
        void* p = api().allocate(0, std::int64_t{4} << 20, &status);
        ASSERT_NE(p, nullptr) << status.message;
        api().free(0, p);
    }
    expect_gpu_works(plan());
    expect_cpu_works();
}

TEST_F(Loss, OutOfMemoryOfTheDeviceItself) {
    cuda_abi::Status status;
    EXPECT_EQ(api().allocate(0, std::int64_t{1} << 46, &status), nullptr);
    EXPECT_EQ(status.code, cuda_abi::Code::memory) << status.message;
    EXPECT_EQ(status.sticky, 0);
    expect_gpu_works(plan());
    expect_cpu_works();
}

}  // namespace
}  // namespace tapline::test
