// Which CUDA engine is loaded, from where, and what is said of those that are not.
#include "gpu_host/library.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "gpu_host/engine.hpp"
#include "support/errors.hpp"
#include "tapline/tapline.hpp"

namespace tapline::gpu_host {
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
    expect_refused(find_library("libtapline_cuda.so"), {"TAPLINE_CUDA_LIBRARY", "'libtapline_cuda.so'", "absolute"});
    expect_refused(find_library("./x/libtapline_cuda.so"), {"absolute"});
    expect_refused(load_library("libtapline_cuda.so"), {"absolute"});
    expect_refused(load_library(""), {"absolute"});
}

TEST(CudaLibrary, FilesThatAreNoneAreRefused) {
    expect_refused(find_library("/nowhere/libtapline_cuda.so"), {"/nowhere/libtapline_cuda.so"});
    const std::string text = ::testing::TempDir() + "/libtapline_cuda.so";
    std::ofstream(text) << "not a library\n";
    expect_refused(find_library(text.c_str()), {text});
    expect_refused(load_library(kFolder + "/librefused_cuda_0.so"), {"librefused_cuda_0.so", "tapline_cuda_entry"});
}

TEST(CudaLibrary, OtherVersionsAreRefused) {
    const std::string version = std::to_string(cuda_abi::kAbiVersion);
    expect_refused(load_library(kFolder + "/librefused_cuda_1.so"),
                   {"version " + std::to_string(cuda_abi::kAbiVersion + 1), "not " + version});
    expect_refused(load_library(kFolder + "/librefused_cuda_2.so"), {std::to_string(sizeof(cuda_abi::Api) - 8) + " bytes"});
    expect_refused(load_library(kFolder + "/librefused_cuda_3.so"), {"does not speak version " + version});
}

TEST(CudaLibrary, WithoutADeviceTheReasonIsTheLibrarys) {
    expect_refused(load_library(kFolder + "/librefused_cuda_4.so"), {"no driver was found for this test"});
}

TEST(CudaLibrary, LiesBesideThisProgramOrTheReasonSaysSo) {
    const CudaLibrary found = find_library(nullptr);
    EXPECT_EQ(found.api == nullptr, !found.reason.empty());
    EXPECT_EQ(found.api == nullptr, found.devices == 0);
    if (found.path.empty()) { expect_refused(found, {"no libtapline_cuda.so beside /"}); }
}

TEST(CudaLibrary, WithoutAGpuEverythingRunsOnTheCpu) {
    if (library().api != nullptr) { GTEST_SKIP() << "this machine has a GPU"; }
    EXPECT_THROW(engine(0), Error);
    for (const EngineInfo& info : engines()) {
        if (info.name == "cuda") { EXPECT_EQ(info.reason, library().reason); }
    }
    Problem p;
    p.length = 1 << 26;
    p.taps = 20001;
    const std::vector<float> taps(20001, 1.0F);
    const Plan plan = make_plan(p, taps, {.accuracy = Accuracy::strict});
    EXPECT_GT(plan.predicted_seconds(), 0.1);
    EXPECT_EQ(plan.device(), "cpu");
    p.output_dtype = Dtype::f16;
    p.length = 100;
    p.taps = 3;
    test::expect_error(ErrorCode::unsupported, library().reason, [&] { make_plan(p, taps.data()); });
}

TEST(CudaLibrary, LessonsLieBesideTheEngine) {
    CudaLibrary engine_library;
    engine_library.reason = "no engine for this test";
    expect_refused(find_lessons_library(engine_library), {"no libtapline_lessons.so", "no engine for this test"});
    engine_library.path = "/nowhere/libtapline_cuda.so";
    expect_refused(find_lessons_library(engine_library), {"no libtapline_lessons.so beside /nowhere/libtapline_cuda.so"});
    // By the file's own place where the name is a link's.
    const std::filesystem::path link = std::filesystem::path(::testing::TempDir()) / "tapline-link-to-an-engine.so";
    std::filesystem::remove(link);
    std::filesystem::create_symlink(kFolder + "/librefused_cuda_4.so", link);
    engine_library.path = link.string();
    const CudaLibrary lessons = find_lessons_library(engine_library);
    std::filesystem::remove(link);
    if (std::filesystem::exists(kFolder + "/libtapline_lessons.so")) {
        EXPECT_EQ(lessons.path, kFolder + "/libtapline_lessons.so") << lessons.reason;
        EXPECT_NE(lessons.api, nullptr) << lessons.reason;
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
}  // namespace tapline::gpu_host
