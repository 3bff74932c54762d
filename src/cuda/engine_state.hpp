// What the engine keeps about its devices, and how the C functions report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <string>
#include <utility>

#include "cuda/check.hpp"

namespace tapline::cuda {

/// Which life of the current device's primary context this is: changes when the device is reset.
unsigned long long context_id();

/// TAPLINE_CUDA_MEMORY_LIMIT in bytes, or more than there is.
std::int64_t memory_limit();

/// Device memory within it. Throws CudaError (memory).
void* allocate_device(int device, std::int64_t bytes);
void free_device(int device, void* pointer);
std::int64_t free_device_bytes(int device);

/// Device memory that is given back unless released.
struct DeviceMemory {
    DeviceMemory(int its_device, std::int64_t bytes)
        : device(its_device), pointer(bytes > 0 ? allocate_device(its_device, bytes) : nullptr) {}
    ~DeviceMemory() {
        if (pointer != nullptr) { free_device(device, pointer); }
    }
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    void* release() { return std::exchange(pointer, nullptr); }
    int device;
    void* pointer;
};

/// True once after inject("lose"): the launch is to fail as if the device were lost.
bool take_injected_loss(int device);
void inject_loss(int device);

/// No call in this scope disturbs a capture that another thread has under way.
class RelaxedCapture {
public:
    RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
    ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

private:
    cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

inline void report(cuda_abi::Status* status, cuda_abi::Code code, const char* message, bool sticky = false) {
    if (status == nullptr) { return; }
    status->code = code;
    status->sticky = sticky;
    std::snprintf(status->message, sizeof status->message, "%s", message);
}

/// Runs a body that may throw; what it returns, or `failed` with the status filled. Nothing leaves the library as an exception.
template <class Result, class Body>
Result guarded(cuda_abi::Status* status, Result failed, const Body& body) noexcept {
    try {
        return body();
    } catch (const CudaError& e) { report(status, e.code(), e.what(), e.sticky()); } catch (const std::bad_alloc&) {
        report(status, cuda_abi::Code::memory, "host memory could not be allocated");
    } catch (const std::exception& e) { report(status, cuda_abi::Code::device, e.what()); }
    return failed;
}

/// Runs CUDA calls on a device; true, or false with the status filled.
template <class Body>
bool on_device(std::int32_t device, cuda_abi::Status* status, const Body& body) {
    return guarded(status, false, [&] {
        const DeviceScope scope(device);
        body();
        return true;
    });
}

inline cudaStream_t native(cuda_abi::Stream* stream) { return reinterpret_cast<cudaStream_t>(stream); }
inline cudaEvent_t native(cuda_abi::Event* event) { return reinterpret_cast<cudaEvent_t>(event); }

/// What device `index` is; asked once.
cuda_abi::Device device_of(int index);

/// Throw CudaError (argument) for an address that is not in the device's memory, and for another device's stream.
void check_pointer(const char* name, const void* pointer, int device);
void check_stream(cudaStream_t stream, int device);

/// Times `launch`, or the copy, as Api::measure says.
cuda_abi::Measurement measure_launches(int device, const std::function<void(cudaStream_t)>& launch, bool cold, double seconds);
cuda_abi::Measurement measure_copy(int device, void* out, const void* in, std::int64_t bytes, bool cold, double seconds);

}  // namespace tapline::cuda
