// The emulated CUDA engine as the tests of this folder use it.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "gpu_host/host_chunks.hpp"
#include "gpu_host/host_memory.hpp"
#include "gpu_host/library.hpp"

namespace tapline::test {

inline const cuda_abi::Api& emulated_api() {
    const core::CudaLibrary& library = core::cuda_library();
    if (library.api == nullptr) { ADD_FAILURE() << library.reason; }
    return *library.api;
}

inline void inject(const std::string& what) {
    cuda_abi::Status status;
    emulated_api().inject(0, what.c_str(), &status);
}

/// Allocations, streams, events and prepared plans that nobody freed.
inline int live_objects() {
    void* const handle = dlopen(core::cuda_library().path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    const auto live = reinterpret_cast<int (*)()>(dlsym(handle, "tapline_emulated_cuda_live"));
    const int count = live();
    dlclose(handle);
    return count;
}

/// Small pieces and chunks, so that short signals have many; nothing injected, nothing kept from another test.
class EmulatedCuda : public ::testing::Test {
protected:
    void SetUp() override {
        core::HostPipelineSettings& settings = core::host_pipeline_settings();
        settings = {};
        settings.piece_bytes = 256;
        settings.chunk_bytes = 512;
        settings.pieces = 3;
        settings.slots = 3;
        inject("nothing");
        core::drop_idle_pipeline_memory(0);
        core::drop_idle_pipeline_memory(1);
    }
    void TearDown() override {
        inject("nothing");
        unsetenv("TAPLINE_CUDA_MEMORY_LIMIT");
        core::drop_idle_pipeline_memory(0);
        core::drop_idle_pipeline_memory(1);
        EXPECT_EQ(live_objects(), 0) << "something was not freed";
        core::host_pipeline_settings() = {};
    }
};

}  // namespace tapline::test
