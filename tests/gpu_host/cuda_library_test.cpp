// Which CUDA engine is loaded, from where, and what is said of those that are not.
#include "gpu_host/library.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "core/choice/device_choice.hpp"
#include "tapline/tapline.hpp"

namespace tapline::core {
namespace {

const std::string kFolder = TAPLINE_EMULATED_FOLDER;

void expect_refused(const CudaLibrary& library, const std::vector<std::string>& words) {
    EXPECT_EQ(library.api, nullptr);
    EXPECT_EQ(library.devices, 0);
    for (const std::string& word : words) {
        EXPECT_NE(library.reason.find(word), std::string::npos) << "'" << word << "' is not in: " << library.reason;
    }
}

TEST(CudaLibrary, OnlyFromAbsolutePaths) {
    expect_refused(find_cuda_library("libtapline_cuda.so"), {"TAPLINE_CUDA_LIBRARY", "'libtapline_cuda.so'", "absolute"});
    expect_refused(find_cuda_library("./x/libtapline_cuda.so"), {"absolute"});
    expect_refused(load_cuda_library("libtapline_cuda.so"), {"absolute"});
    expect_refused(load_cuda_library(""), {"absolute"});
}

TEST(CudaLibrary, FilesThatAreNoneAreRefused) {
    expect_refused(find_cuda_library("/nowhere/libtapline_cuda.so"), {"/nowhere/libtapline_cuda.so"});
    const std::string text = ::testing::TempDir() + "/libtapline_cuda.so";
    std::ofstream(text) << "not a library\n";
    expect_refused(find_cuda_library(text.c_str()), {text});
    expect_refused(load_cuda_library(kFolder + "/librefused_cuda_0.so"), {"librefused_cuda_0.so", "tapline_cuda_entry"});
}

TEST(CudaLibrary, OtherVersionsAreRefused) {
    const std::string version = std::to_string(cuda_abi::kAbiVersion);
    expect_refused(load_cuda_library(kFolder + "/librefused_cuda_1.so"),
                   {"version " + std::to_string(cuda_abi::kAbiVersion + 1), "not " + version});
    expect_refused(load_cuda_library(kFolder + "/librefused_cuda_2.so"), {std::to_string(sizeof(cuda_abi::Api) - 8) + " bytes"});
    expect_refused(load_cuda_library(kFolder + "/librefused_cuda_3.so"), {"does not speak version " + version});
}

TEST(CudaLibrary, WithoutADeviceTheReasonIsTheLibrarys) {
    expect_refused(load_cuda_library(kFolder + "/librefused_cuda_4.so"), {"no driver was found for this test"});
}

TEST(CudaLibrary, LiesBesideThisProgramOrTheReasonSaysSo) {
    const CudaLibrary library = find_cuda_library(nullptr);
    EXPECT_EQ(library.api == nullptr, !library.reason.empty());
    EXPECT_EQ(library.api == nullptr, library.devices == 0);
    if (library.path.empty()) { expect_refused(library, {"no libtapline_cuda.so beside /"}); }
}

TEST(CudaLibrary, WithoutAGpuEverythingRunsOnTheCpu) {
    if (cuda_library().api != nullptr) { GTEST_SKIP() << "this machine has a GPU"; }
    EXPECT_THROW(cuda_engine(0), Error);
    for (const EngineInfo& engine : engines()) {
        if (engine.name == "cuda") { EXPECT_EQ(engine.reason, cuda_library().reason); }
    }
    Problem p;
    p.length = 1 << 24;
    p.taps = 20001;
    const std::vector<float> taps(20001, 1.0F);
    const Plan plan = make_plan(p, taps, {.accuracy = Accuracy::strict});
    EXPECT_GT(plan.predicted_seconds(), 0.1);
    EXPECT_EQ(plan.device(), "cpu");
    p.dtype = Dtype::f16;
    p.length = 100;
    p.taps = 3;
    try {
        make_plan(p, taps.data());
        ADD_FAILURE() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported);
        EXPECT_NE(std::string(error.what()).find(cuda_library().reason), std::string::npos) << error.what();
    }
}

TEST(CudaLibrary, StatusesBecomeErrors) {
    cuda_abi::Status status;
    const std::pair<cuda_abi::Code, ErrorCode> codes[] = {{cuda_abi::Code::argument, ErrorCode::argument},
                                                          {cuda_abi::Code::type, ErrorCode::type},
                                                          {cuda_abi::Code::unsupported, ErrorCode::unsupported},
                                                          {cuda_abi::Code::memory, ErrorCode::memory},
                                                          {cuda_abi::Code::io, ErrorCode::io},
                                                          {cuda_abi::Code::device, ErrorCode::device}};
    for (const auto& [from, to] : codes) {
        status.code = from;
        status.sticky = from == cuda_abi::Code::device ? 1 : 0;
        try {
            throw_status(status);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), to);
            EXPECT_EQ(std::string(error.what()).find("the CPU goes on") != std::string::npos, status.sticky != 0);
        }
    }
}

}  // namespace
}  // namespace tapline::core
