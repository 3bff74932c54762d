// The functions of Api for memory, streams and events.
#include <cstring>

#include "cuda/api_functions.hpp"
#include "cuda/engine_state.hpp"

namespace tapline::cuda {

using cuda_abi::Code;
using cuda_abi::Event;
using cuda_abi::Status;
using cuda_abi::Stream;

void* allocate(std::int32_t device, std::int64_t bytes, Status* status) {
    return guarded<void*>(status, nullptr, [&] { return allocate_device(device, bytes); });
}

void free_memory(std::int32_t device, void* pointer) {
    guarded(nullptr, false, [&] {
        free_device(device, pointer);
        return true;
    });
}

void* allocate_pinned(std::int32_t device, std::int64_t bytes, Status* status) {
    return guarded<void*>(status, nullptr, [&] {
        const DeviceScope scope(device);
        const RelaxedCapture relaxed;
        void* pointer = nullptr;
        check(cudaHostAlloc(&pointer, static_cast<std::size_t>(bytes), cudaHostAllocPortable),
              ("pinned memory: allocating " + std::to_string(bytes) + " bytes").c_str());
        return pointer;
    });
}

void free_pinned(std::int32_t device, void* pointer) {
    guarded(nullptr, false, [&] {
        const DeviceScope scope(device);
        const RelaxedCapture relaxed;
        cudaFreeHost(pointer);
        return true;
    });
}

std::int64_t free_bytes(std::int32_t device) {
    return guarded<std::int64_t>(nullptr, 0, [&] { return free_device_bytes(device); });
}

Stream* make_stream(std::int32_t device, Status* status) {
    cudaStream_t stream = nullptr;
    on_device(device, status, [&] { check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate"); });
    return reinterpret_cast<Stream*>(stream);
}
void free_stream(std::int32_t device, Stream* stream) {
    on_device(device, nullptr, [&] { cudaStreamDestroy(native(stream)); });
}
Event* make_event(std::int32_t device, Status* status) {
    cudaEvent_t event = nullptr;
    on_device(device, status, [&] { check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate"); });
    return reinterpret_cast<Event*>(event);
}
void free_event(std::int32_t device, Event* event) {
    on_device(device, nullptr, [&] { cudaEventDestroy(native(event)); });
}
bool record(std::int32_t device, Event* event, Stream* stream, Status* status) {
    return on_device(device, status, [&] { check(cudaEventRecord(native(event), native(stream)), "cudaEventRecord"); });
}
bool wait(std::int32_t device, Stream* stream, Event* event, Status* status) {
    return on_device(device, status, [&] { check(cudaStreamWaitEvent(native(stream), native(event), 0), "cudaStreamWaitEvent"); });
}
bool synchronize(std::int32_t device, Event* event, Status* status) {
    return on_device(device, status, [&] { check(cudaEventSynchronize(native(event)), "cudaEventSynchronize"); });
}
bool synchronize_stream(std::int32_t device, Stream* stream, Status* status) {
    return on_device(device, status, [&] {
        check(stream == nullptr ? cudaDeviceSynchronize() : cudaStreamSynchronize(native(stream)), "synchronising");
    });
}
bool copy(std::int32_t device, void* to, const void* from, std::int64_t bytes, Stream* stream, Status* status) {
    return on_device(device, status, [&] {
        check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, native(stream)), "cudaMemcpyAsync");
    });
}
bool fill(std::int32_t device, void* to, std::int32_t byte, std::int64_t bytes, Stream* stream, Status* status) {
    return on_device(device, status,
                     [&] { check(cudaMemsetAsync(to, byte, static_cast<std::size_t>(bytes), native(stream)), "cudaMemsetAsync"); });
}

bool inject(std::int32_t device, const char* what, Status* status) {
    return on_device(device, status, [&] {
        if (std::strcmp(what, "reset") == 0) {
            check(cudaDeviceReset(), "cudaDeviceReset");
        } else if (std::strcmp(what, "lose") == 0) {
            inject_loss(device);
        } else {
            throw CudaError(Code::argument, std::string("inject: '") + what + "' is neither reset nor lose");
        }
    });
}

std::uint64_t life(std::int32_t device) {
    return guarded<std::uint64_t>(nullptr, 0, [&]() -> std::uint64_t {
        const DeviceScope scope(device);
        return context_id();
    });
}

}  // namespace tapline::cuda
