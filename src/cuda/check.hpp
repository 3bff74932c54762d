// Every CUDA call and every launch is checked here and nowhere else.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "cuda/abi.hpp"

namespace tapline::cuda {

/// Inside the engine; the C functions turn it into a Status.
class CudaError : public std::runtime_error {
public:
    CudaError(cuda_abi::Code code, const std::string& message, bool sticky = false)
        : std::runtime_error(message), code_(code), sticky_(sticky) {}
    [[nodiscard]] cuda_abi::Code code() const { return code_; }
    [[nodiscard]] bool sticky() const { return sticky_; }

private:
    cuda_abi::Code code_;
    bool sticky_;
};

/// Throws CudaError unless `result` is cudaSuccess; `what` names the call. Errors that a later call may survive are cleared.
void check(cudaError_t result, const char* what);

/// After a launch: the launch's own error.
void check_launch(const char* kernel);

/// Sets a device for the current scope and puts the caller's back.
class DeviceScope {
public:
    explicit DeviceScope(int device);
    ~DeviceScope();
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

private:
    int previous_ = -1;
};

}  // namespace tapline::cuda
