// What bad input gets: a clear error, after which the plan goes on working.
#include "gpu/driver.hpp"
#include "gpu/gpu.hpp"
#include "support/comparison.hpp"
#include "support/errors.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

class BadInput : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped() || HasFatalFailure()) { return; }
        Random random(80);
        problem_ = {.length = 1000, .taps = 5, .mode = Mode::same};
        in_ = random_floats(problem_.length, random);
        taps_ = random_floats(problem_.taps, random);
    }

    Plan plan() { return make_plan(problem_, taps_, {.device = "cuda"}); }

    void expect_still_works(const Plan& plan) {
        const std::vector<float> out = execute_on_device<float>(plan, in_.data());
        EXPECT_EQ(compare(problem_, out.data(), in_.data(), taps_.data(), true), "");
    }

    Problem problem_;
    std::vector<float> in_;
    std::vector<float> taps_;
};

float* at(const DeviceBuffer& buffer, std::ptrdiff_t bytes) {
    return reinterpret_cast<float*>(static_cast<std::byte*>(buffer.data()) + bytes);
}

TEST_F(BadInput, NullAndHostPointers) {
    const Plan p = plan();
    const DeviceBuffer in = DeviceBuffer::of(in_);
    const DeviceBuffer out(4000);
    const DeviceBuffer workspace(p.workspace_bytes());
    const DeviceStream stream;
    std::vector<float> host(1000);
    expect_error(ErrorCode::argument, "out", [&] { p.execute(nullptr, in.data(), workspace.span(), stream.get()); });
    expect_error(ErrorCode::argument, "in", [&] { p.execute(out.data(), nullptr, workspace.span(), stream.get()); });
    expect_error(ErrorCode::argument, "out", [&] { p.execute(host.data(), in.data(), workspace.span(), stream.get()); });
    expect_error(ErrorCode::argument, "in", [&] { p.execute(out.data(), host.data(), workspace.span(), stream.get()); });
    EXPECT_EQ(host, std::vector<float>(1000));
    expect_still_works(p);
}

TEST_F(BadInput, OverlappingBuffers) {
    const Plan p = plan();
    const DeviceBuffer both(16000);
    const DeviceBuffer workspace(p.workspace_bytes());
    const DeviceStream stream;
    for (const std::ptrdiff_t distance : {0, 4, 2000, 3996}) {
        expect_error(ErrorCode::argument, "overlap",
                     [&] { p.execute(at(both, distance), at(both, 0), workspace.span(), stream.get()); });
        expect_error(ErrorCode::argument, "overlap",
                     [&] { p.execute(at(both, 0), at(both, distance), workspace.span(), stream.get()); });
    }
    p.execute(at(both, 4000), at(both, 0), workspace.span(), stream.get());  // side by side is no overlap
    stream.synchronize();
    expect_still_works(p);
}

TEST_F(BadInput, MisalignedBuffers) {
    const Plan p = plan();
    const DeviceBuffer in(4100);
    const DeviceBuffer out(4100);
    const DeviceBuffer workspace(p.workspace_bytes());
    const DeviceStream stream;
    for (const std::ptrdiff_t offset : {1, 2, 3}) {
        expect_error(ErrorCode::argument, "align", [&] { p.execute(at(out, offset), at(in, 0), workspace.span(), stream.get()); });
        expect_error(ErrorCode::argument, "align", [&] { p.execute(at(out, 0), at(in, offset), workspace.span(), stream.get()); });
    }
    expect_still_works(p);
}

TEST_F(BadInput, WorkspaceTooSmallOnTheHostOrMisaligned) {
    // A long filter with few outputs has its partial sums in a workspace.
    Problem p;
    p.length = 1 << 20;
    p.taps = p.length;
    p.mode = Mode::valid;
    const std::vector<float> taps(static_cast<std::size_t>(p.taps), 1.0F);
    int checked = 0;
    for (const AlgorithmInfo& info : algorithms(p, "cuda")) {
        if (!info.supported) { continue; }
        const Plan with = make_plan(p, taps, {.device = "cuda", .algorithm = info.name});
        if (with.workspace_bytes() == 0) { continue; }
        const DeviceBuffer in = DeviceBuffer::of(taps);
        const DeviceBuffer out(sizeof(float));
        const DeviceBuffer workspace(with.workspace_bytes() + 64);
        const DeviceStream stream;
        std::vector<std::byte> host(with.workspace_bytes() + 64);
        const auto run = [&](std::span<std::byte> space) { with.execute(out.data(), in.data(), space, stream.get()); };
        expect_error(ErrorCode::argument, "workspace", [&] { run({}); });
        expect_error(ErrorCode::argument, "workspace", [&] { run(workspace.span().first(with.workspace_bytes() - 1)); });
        expect_error(ErrorCode::argument, "workspace", [&] { run(workspace.span().subspan(4, with.workspace_bytes())); });
        const std::size_t aligned = 64 - reinterpret_cast<std::uintptr_t>(host.data()) % 64;
        expect_error(ErrorCode::argument, "workspace", [&] { run(std::span(host).subspan(aligned % 64, with.workspace_bytes())); });
        run(workspace.span().first(with.workspace_bytes()));
        stream.synchronize();
        const auto sum = static_cast<float>(p.length);
        EXPECT_NEAR(out.values<float>().front(), sum, is_elementwise(rung_named(info.name)) ? 0 : 1e-5F * sum) << info.name;
        ++checked;
    }
    if (checked == 0) { GTEST_SKIP() << "no algorithm needs a workspace"; }
    expect_still_works(plan());
}

TEST_F(BadInput, ZeroAndHugeSizes) {
    Problem p = problem_;
    p.length = 0;
    expect_error(ErrorCode::argument, "length", [&] { make_plan(p, taps_, {.device = "cuda"}); });
    p.length = std::int64_t{1} << 60;
    expect_error(ErrorCode::argument, "length", [&] { make_plan(p, taps_, {.device = "cuda"}); });
    p = problem_;
    p.taps = 0;
    expect_error(ErrorCode::argument, "taps", [&] { make_plan(p, taps_.data(), {.device = "cuda"}); });
    p = problem_;
    p.batch = 0;
    expect_error(ErrorCode::argument, "batch", [&] { make_plan(p, taps_, {.device = "cuda"}); });
    // Far more than any device has, within what a problem may be: the plan is a value, the buffers cannot exist.
    p = problem_;
    p.length = std::int64_t{1} << 50;
    try {
        const Plan huge = make_plan(p, taps_, {.device = "cuda"});
        const DeviceBuffer in = DeviceBuffer::of(in_);
        const DeviceBuffer out(4000);
        const DeviceBuffer workspace(64);
        huge.execute(out.data(), in.data(), workspace.span(), nullptr);
        ADD_FAILURE() << "no error";
    } catch (const Error& error) { EXPECT_NE(error.code(), ErrorCode::device) << error.what(); }
    cuda_abi::Status status;
    EXPECT_EQ(api().allocate(0, -5, &status), nullptr) << "an allocation of a negative size";
    EXPECT_STRNE(status.message, "");
    expect_still_works(plan());
}

TEST_F(BadInput, DevicesThatDoNotExist) {
    for (const char* name : {"cuda:99", "cuda:-1", "cuda:x", "cuda:", "cuda:0x", "gpu"}) {
        EXPECT_THROW(make_plan(problem_, taps_, {.device = name}), Error) << name;
    }
    cuda_abi::Status status;
    cuda_abi::Device device;
    EXPECT_FALSE(api().device(99, &device, &status));
    EXPECT_STRNE(status.message, "");
    status = {};
    EXPECT_EQ(api().allocate(99, 64, &status), nullptr);
    EXPECT_STRNE(status.message, "");
    expect_still_works(plan());
}

// The call waits for its results where one might not fit its type, and says what the CPU says.
TEST_F(BadInput, AnOverflowIsAnErrorThatNamesTheOutput) {
    if (!has_driver()) { GTEST_SKIP() << "the emulated engine tells it later"; }
    Problem p = problem_;
    p.dtype = Dtype::i64;
    const std::vector<std::int64_t> taps(5, std::int64_t{1} << 40);
    std::vector<std::int64_t> in(1000, 1);
    in[700] = std::int64_t{1} << 30;  // 2^70, and 2^40 from each of its four neighbours
    const Plan with = make_plan(p, taps.data(), {.device = "cuda"});
    expect_error(ErrorCode::argument, "output 698 is 1180591625115457814528",
                 [&] { execute_on_device<std::int64_t>(with, in.data()); });
    expect_still_works(plan());
}

// All of a bad call's launches are refused together: nothing is written when a buffer is wrong.
TEST_F(BadInput, NothingIsWrittenWhenRefused) {
    const Plan p = plan();
    const DeviceBuffer out(4000);
    const DeviceBuffer workspace(p.workspace_bytes());
    std::vector<float> host(1000);
    EXPECT_THROW(p.execute(out.data(), host.data(), workspace.span(), nullptr), Error);
    synchronize_device();
    EXPECT_EQ(out.values<std::byte>(), std::vector<std::byte>(4000, std::byte{0xFF}));
}

class TwoDevices : public BadInput {
protected:
    void SetUp() override {
        BadInput::SetUp();
        if (IsSkipped() || HasFatalFailure()) { return; }
        if (gpu_host::library().devices < 2) { GTEST_SKIP() << "this machine has one device"; }
    }
};

TEST_F(TwoDevices, PointersAndStreamsOfTheOtherAreRefused) {
    const Plan p = plan();
    const DeviceBuffer in = DeviceBuffer::of(in_);
    const DeviceBuffer out(4000);
    const DeviceBuffer workspace(p.workspace_bytes());
    const DeviceBuffer other_in = DeviceBuffer::of(in_, 0, 1);
    const DeviceBuffer other_out(4000, Guard::output, 0, 1);
    const DeviceStream stream;
    const DeviceStream other_stream(1);
    expect_error(ErrorCode::argument, "out", [&] { p.execute(other_out.data(), in.data(), workspace.span(), stream.get()); });
    expect_error(ErrorCode::argument, "in", [&] { p.execute(out.data(), other_in.data(), workspace.span(), stream.get()); });
    expect_error(ErrorCode::argument, "stream", [&] { p.execute(out.data(), in.data(), workspace.span(), other_stream.get()); });
    expect_still_works(p);
}

TEST_F(TwoDevices, EachHasPlansOfItsOwn) {
    const Plan first = make_plan(problem_, taps_, {.device = "cuda:0"});
    const Plan second = make_plan(problem_, taps_, {.device = "cuda:1"});
    EXPECT_EQ(second.device(), "cuda:1");
    const DeviceBuffer in = DeviceBuffer::of(in_, 0, 1);
    const DeviceBuffer out(4000, Guard::output, 0, 1);
    const DeviceBuffer workspace(second.workspace_bytes(), Guard::output, 0, 1);
    const DeviceStream stream(1);
    second.execute(out.data(), in.data(), workspace.span(), stream.get());
    stream.synchronize();
    EXPECT_TRUE(out.guards_intact());
    EXPECT_EQ(out.values<float>(), execute_on_device<float>(first, in_.data()));
}

}  // namespace
}  // namespace tapline::test
