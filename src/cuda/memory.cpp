// Device memory with an optional limit, and which life of a device we are in.
#include <cuda.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

#include "cuda/engine_state.hpp"

namespace tapline::cuda {
namespace {

struct Ledger {
    std::mutex mutex;
    std::map<std::pair<int, void*>, std::int64_t> sizes;
    std::map<int, std::int64_t> used;
};

Ledger& ledger() {
    static Ledger* const kLedger = new Ledger;  // never destroyed: plans may be released while the process ends
    return *kLedger;
}

std::atomic<int> lost_device{-1};

void* driver_function(const char* name, int version) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &result);
#else
    static_cast<void>(version);
    const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &result);
#endif
    if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) {
        cudaGetLastError();
        return nullptr;
    }
    return function;
}

}  // namespace

std::int64_t memory_limit() {
    const char* text = std::getenv("TAPLINE_CUDA_MEMORY_LIMIT");
    return text == nullptr || *text == 0 ? INT64_MAX : std::atoll(text);
}

unsigned long long context_id() {
    using GetCurrent = CUresult (*)(CUcontext*);
    using GetId = CUresult (*)(CUcontext, unsigned long long*);
    using GetState = CUresult (*)(CUdevice, unsigned*, int*);
    static const auto kGetCurrent = reinterpret_cast<GetCurrent>(driver_function("cuCtxGetCurrent", 4000));
    static const auto kGetId = reinterpret_cast<GetId>(driver_function("cuCtxGetId", 12000));
    static const auto kGetState = reinterpret_cast<GetState>(driver_function("cuDevicePrimaryCtxGetState", 7000));
    CUcontext context = nullptr;
    unsigned long long id = 0;
    if (kGetCurrent == nullptr || kGetId == nullptr || kGetCurrent(&context) != CUDA_SUCCESS) { return 0; }
    if (context == nullptr) {
        // This thread has not used the GPU yet, which is no reset: the device's context, if it has one, becomes the thread's.
        int device = 0;
        unsigned flags = 0;
        int exists = 0;
        if (kGetState == nullptr || cudaGetDevice(&device) != cudaSuccess || kGetState(device, &flags, &exists) != CUDA_SUCCESS ||
            exists == 0) {
            return 0;
        }
        const RelaxedCapture relaxed;
        if (cudaFree(nullptr) != cudaSuccess || kGetCurrent(&context) != CUDA_SUCCESS) { return 0; }
    }
    if (context != nullptr && kGetId(context, &id) != CUDA_SUCCESS) { return 0; }
    return id;
}

void* allocate_device(int device, std::int64_t bytes) {
    const DeviceScope scope(device);
    const RelaxedCapture relaxed;
    Ledger& l = ledger();
    {
        const std::lock_guard lock(l.mutex);
        if (bytes > memory_limit() - l.used[device]) {
            throw CudaError(cuda_abi::Code::memory, "GPU memory: " + std::to_string(bytes) +
                                                        " bytes more would pass the limit of " + std::to_string(memory_limit()) +
                                                        " that TAPLINE_CUDA_MEMORY_LIMIT sets");
        }
        l.used[device] += bytes;
    }
    void* pointer = nullptr;
    const cudaError_t error = cudaMalloc(&pointer, static_cast<std::size_t>(bytes == 0 ? 1 : bytes));
    const std::lock_guard lock(l.mutex);
    if (error != cudaSuccess) {
        l.used[device] -= bytes;
        check(error, ("GPU memory: allocating " + std::to_string(bytes) + " bytes").c_str());
    }
    l.sizes[{device, pointer}] = bytes;
    return pointer;
}

void free_device(int device, void* pointer) {
    if (pointer == nullptr) { return; }
    const RelaxedCapture relaxed;
    Ledger& l = ledger();
    {
        const std::lock_guard lock(l.mutex);
        const auto found = l.sizes.find({device, pointer});
        if (found != l.sizes.end()) {
            l.used[device] -= found->second;
            l.sizes.erase(found);
        }
    }
    int previous = -1;  // errors do not matter here: the device may be gone, the process may be ending
    cudaGetDevice(&previous);
    cudaSetDevice(device);
    cudaFree(pointer);
    cudaSetDevice(previous);
    cudaGetLastError();
}

std::int64_t free_device_bytes(int device) {
    const DeviceScope scope(device);
    std::size_t available = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
    Ledger& l = ledger();
    const std::lock_guard lock(l.mutex);
    const std::int64_t allowed = memory_limit() - l.used[device];
    return std::max<std::int64_t>(0, std::min(allowed, static_cast<std::int64_t>(available)));
}

bool take_injected_loss(int device) {
    int expected = device;
    return lost_device.compare_exchange_strong(expected, -1);
}

void inject_loss(int device) { lost_device = device; }

}  // namespace tapline::cuda
