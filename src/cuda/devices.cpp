// The devices: what they are, and whose an address and a stream are.
#include <cstdio>
#include <map>
#include <mutex>

#include "cuda/engine_state.hpp"

namespace tapline::cuda {
namespace {

using cuda_abi::Code;
using cuda_abi::Device;

constexpr int kLeastMajor = 7;
constexpr int kLeastMinor = 5;
// Datasheet bandwidth times this is what a large copy reaches: 0.87 to 0.9 on an H200 and an H100.
constexpr double kCopyShareOfBandwidth = 0.89;

std::string cuda_version(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

int driver_version() {
    int version = 0;
    check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
    return version;
}

int attribute(cudaDeviceAttr which, int device, const char* name) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), name);
    return value;
}

Device read_device(int index) {
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    if (index < 0 || index >= count) {
        throw CudaError(Code::device, "device: cuda:" + std::to_string(index) + " does not exist; there " +
                                          (count == 1 ? "is cuda:0" : "are cuda:0 to cuda:" + std::to_string(count - 1)));
    }
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
    Device d;
    d.index = index;
    d.major = properties.major;
    d.minor = properties.minor;
    if (d.major < kLeastMajor || (d.major == kLeastMajor && d.minor < kLeastMinor)) {
        throw CudaError(Code::device, std::string(properties.name) + " has compute capability " + std::to_string(d.major) + "." +
                                          std::to_string(d.minor) + "; 7.5 or later is needed");
    }
    d.multiprocessors = properties.multiProcessorCount;
    d.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
    d.l2_bytes = properties.l2CacheSize;
    d.shared_bytes_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, index, "shared memory of a block");
    d.single_to_double = attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio, index, "f32 operations for one of f64");
    const int memory_khz = attribute(cudaDevAttrMemoryClockRate, index, "memory clock");
    const int clock_khz = attribute(cudaDevAttrClockRate, index, "clock");
    d.copy_bytes_per_second = kCopyShareOfBandwidth * 2e3 * memory_khz * (properties.memoryBusWidth / 8.0);
    const int lanes = d.major == 7 || (d.major == 8 && d.minor == 0) ? 64 : 128;  // f32 units of a multiprocessor
    d.peak_flops = 2e3 * clock_khz * lanes * d.multiprocessors;
    d.driver_version = driver_version();
    std::snprintf(d.name, sizeof d.name, "%.*s", static_cast<int>(sizeof d.name) - 1, properties.name);
    return d;
}

}  // namespace

std::int32_t device_count(cuda_abi::Status* status) {
    return guarded<std::int32_t>(status, 0, [&]() -> std::int32_t {
        int count = 0;
        const cudaError_t error = cudaGetDeviceCount(&count);
        if (error == cudaSuccess && count > 0) { return count; }
        cudaGetLastError();
        int version = 0;
        cudaDriverGetVersion(&version);
        if (version == 0) { throw CudaError(Code::device, "no NVIDIA driver is installed"); }
        if (error == cudaErrorInsufficientDriver) {
            throw CudaError(Code::device, "the NVIDIA driver is for CUDA " + cuda_version(version) + "; this engine needs CUDA " +
                                              cuda_version(CUDART_VERSION / 1000 * 1000) + " or later: update the driver");
        }
        if (error == cudaSuccess || error == cudaErrorNoDevice) { throw CudaError(Code::device, "no NVIDIA GPU is visible"); }
        throw CudaError(Code::device, std::string("the GPU cannot be used: ") + cudaGetErrorString(error));
    });
}

// Asking takes a millisecond and the answer does not change.
Device device_of(int index) {
    static std::mutex mutex;
    static std::map<int, Device> known;
    const std::lock_guard lock(mutex);
    const auto found = known.find(index);
    return found != known.end() ? found->second : known.emplace(index, read_device(index)).first->second;
}

void check_pointer(const char* name, const void* pointer, int device) {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes");
    if (attributes.type == cudaMemoryTypeManaged) { return; }
    if (attributes.type != cudaMemoryTypeDevice) {
        throw CudaError(Code::argument, std::string(name) +
                                            ": the address is not in GPU memory; a CUDA plan's execute takes device "
                                            "pointers: use execute_host for host buffers");
    }
    if (attributes.device != device) {
        throw CudaError(Code::argument, std::string(name) + ": the address is on cuda:" + std::to_string(attributes.device) +
                                            ", the plan on cuda:" + std::to_string(device));
    }
}

void check_stream(cudaStream_t stream, int device) {
#if CUDART_VERSION >= 12080
    if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) { return; }
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream, &capture), "stream");
    if (capture != cudaStreamCaptureStatusNone) { return; }  // which device it is on may not be asked then
    int of_stream = device;
    check(cudaStreamGetDevice(stream, &of_stream), "stream");
    if (of_stream != device) {
        throw CudaError(Code::argument,
                        "stream: it belongs to cuda:" + std::to_string(of_stream) + ", the plan to cuda:" + std::to_string(device));
    }
#else
    static_cast<void>(stream);
    static_cast<void>(device);  // an older runtime cannot tell; the launch itself then fails
#endif
}

}  // namespace tapline::cuda
