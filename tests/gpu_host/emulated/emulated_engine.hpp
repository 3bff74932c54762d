// The emulated CUDA engine as the tests of this folder use it.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "gpu_host/chunks.hpp"
#include "gpu_host/library.hpp"
#include "gpu_host/memory.hpp"

namespace tapline::test {

inline const cuda_abi::Api& emulated_api() {
    const gpu_host::CudaLibrary& library = gpu_host::library();
    if (library.api == nullptr) { ADD_FAILURE() << library.reason; }
    return *library.api;
}

inline void inject(const std::string& what) {
    cuda_abi::Status status;
    emulated_api().inject(0, what.c_str(), &status);
}

/// Allocations, streams, events and prepared plans that nobody freed.
inline int live_objects() {
    void* const handle = dlopen(gpu_host::library().path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    const auto live = reinterpret_cast<int (*)()>(dlsym(handle, "tapline_emulated_cuda_live"));
    const int count = live();
    dlclose(handle);
    return count;
}

inline constexpr int kEmulatedDevices = 4;  // environment.cpp

inline void drop_idle_memory() {
    for (int device = 0; device < kEmulatedDevices; ++device) { gpu_host::drop_idle_pipeline_memory(device); }
}

/// Small pieces and chunks, so that short signals have many; nothing injected, nothing kept from another test.
class EmulatedCuda : public ::testing::Test {
protected:
    void SetUp() override {
        gpu_host::PipelineSettings& settings = gpu_host::pipeline_settings();
        settings = {};
        settings.piece_bytes = 256;
        settings.chunk_bytes = 512;
        settings.pieces = 3;
        settings.slots = 3;
        inject("nothing");
        drop_idle_memory();
    }
    void TearDown() override {
        inject("nothing");
        unsetenv("TAPLINE_CUDA_MEMORY_LIMIT");
        drop_idle_memory();
        EXPECT_EQ(live_objects(), 0) << "something was not freed";
        gpu_host::pipeline_settings() = {};
    }
};

}  // namespace tapline::test
