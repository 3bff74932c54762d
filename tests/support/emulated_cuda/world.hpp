// The emulated devices' memory, streams and events, and what was injected to fail.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "support/emulated_cuda/streams.hpp"

namespace tapline::emulated {

inline constexpr std::int32_t kMostDevices = 8;

/// TAPLINE_EMULATED_DEVICES, or 2.
std::int32_t device_count();

struct Allocation {
    std::int32_t device;
    std::int64_t bytes;
    bool pinned;
};

struct World {
    std::mutex mutex;
    std::map<std::uintptr_t, Allocation> allocations;
    std::set<cuda_abi::Stream*> streams;
    std::set<cuda_abi::Event*> events;
    std::atomic<std::uint64_t> life{1};  // of all devices: a reset takes all
    std::int64_t used[kMostDevices] = {};
    std::map<std::string, int> to_fail;
    std::string failure;  // of a kernel, told by the next function that is called
    std::atomic<int> live{0};
};

World& world();

/// false, with the status filled.
bool fail(cuda_abi::Status* status, cuda_abi::Code code, const std::string& message, bool sticky = false);

/// Whether this call of `name` was injected to fail, or a kernel failed before.
bool goes_wrong(const char* name, cuda_abi::Status* status, cuda_abi::Code code = cuda_abi::Code::device);

std::int64_t memory_limit();

/// Whether [address, address + bytes) lies within one allocation of this kind.
bool is_inside(const void* address, std::int64_t bytes, std::int32_t device, bool pinned);

void* new_memory(std::int32_t device, std::int64_t bytes, bool pinned, cuda_abi::Status* status);
void free_memory(std::int32_t device, void* memory);

/// On the stream's thread; on the default stream after all streams, in the caller's.
void enqueue(cuda_abi::Stream* stream, std::function<void()> operation);

cuda_abi::Stream* new_stream(cuda_abi::Status* status);

/// Something that world().live counts.
template <class T>
T* made(const char* name, cuda_abi::Status* status) {
    if (goes_wrong(name, status)) { return nullptr; }
    ++world().live;
    return new T;
}

}  // namespace tapline::emulated
