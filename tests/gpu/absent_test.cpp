// No GPU to be had: the reason is told and the CPU used. These need no GPU themselves.
#include "gpu/driver.hpp"
#include "gpu/gpu.hpp"
#include "gpu/own_process.hpp"
#include "support/errors.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

// In a process whose engine cannot be used for a reason that says `text`.
void expect_cpu_only(const std::string& text) {
    const gpu_host::CudaLibrary& library = gpu_host::library();
    EXPECT_EQ(library.api, nullptr);
    EXPECT_EQ(library.devices, 0);
    EXPECT_NE(library.reason.find(text), std::string::npos) << library.reason;
    const std::vector<float> taps{1, 2, 3};
    const Problem p{.length = 100, .taps = 3};
    EXPECT_EQ(make_plan(p, taps, {.device = "auto"}).device(), "cpu");
    expect_error(ErrorCode::device, text, [&] { make_plan(p, taps, {.device = "cuda"}); });
    bool told = false;
    for (const EngineInfo& engine : engines()) {
        if (engine.name != "cuda") { continue; }
        EXPECT_FALSE(engine.available);
        EXPECT_NE(engine.reason.find(text), std::string::npos) << engine.reason;
        told = true;
    }
    EXPECT_TRUE(told);
}

TEST(Absent, AForcedLibraryThatDoesNotExist) {
    if (!in_own_process({"TAPLINE_CUDA_LIBRARY=/nonexistent/libtapline_cuda.so"})) { return; }
    expect_cpu_only("/nonexistent/libtapline_cuda.so");
}

TEST(Absent, AForcedLibraryThatIsNotOurs) {
    if (!in_own_process({"TAPLINE_CUDA_LIBRARY=/proc/self/exe"})) { return; }
    expect_cpu_only("/proc/self/exe");
}

TEST(Absent, ARelativePathIsRefused) {
    if (!in_own_process({"TAPLINE_CUDA_LIBRARY=libtapline_cuda.so"})) { return; }
    expect_cpu_only("absolute");
}

TEST(Absent, NoDeviceIsVisible) {
    if (gpu_host::library().api != nullptr && !has_driver()) { GTEST_SKIP() << "the emulated engine always has devices"; }
    if (!in_own_process({"CUDA_VISIBLE_DEVICES="})) { return; }
    expect_cpu_only("");
    EXPECT_NE(gpu_host::library().reason, "");
}

}  // namespace
}  // namespace tapline::test
