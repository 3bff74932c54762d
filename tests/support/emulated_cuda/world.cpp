#include "support/emulated_cuda/world.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tapline::emulated {
namespace {

using cuda_abi::Code;
using cuda_abi::Status;
using cuda_abi::Stream;

constexpr std::int32_t kDevices = 2;
constexpr std::int64_t kMemoryBytes = std::int64_t{256} << 20;

}  // namespace

std::int32_t device_count() {
    const char* const text = std::getenv("TAPLINE_EMULATED_DEVICES");
    return text == nullptr ? kDevices : std::min(std::atoi(text), kMostDevices);
}

World& world() {
    static World& instance = *new World;
    return instance;
}

bool fail(Status* status, Code code, const std::string& message, bool sticky) {
    status->code = code;
    status->sticky = sticky ? 1 : 0;
    std::snprintf(status->message, sizeof status->message, "%s", message.c_str());
    return false;
}

bool goes_wrong(const char* name, Status* status, Code code) {
    World& w = world();
    const std::lock_guard lock(w.mutex);
    if (!w.failure.empty()) { return !fail(status, Code::device, w.failure); }
    const auto found = w.to_fail.find(name);
    if (found == w.to_fail.end() || --found->second > 0) { return false; }
    w.to_fail.erase(found);
    return !fail(status, code, std::string(name) + ": failed as injected");
}

std::int64_t memory_limit() {
    const char* const limit = std::getenv("TAPLINE_CUDA_MEMORY_LIMIT");
    return limit == nullptr ? kMemoryBytes : std::atoll(limit);
}

bool is_inside(const void* address, std::int64_t bytes, std::int32_t device, bool pinned) {
    World& w = world();
    const std::lock_guard lock(w.mutex);
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    auto found = w.allocations.upper_bound(at);
    if (found == w.allocations.begin()) { return false; }
    --found;
    const Allocation& a = found->second;
    return a.pinned == pinned && (pinned || a.device == device) &&
           at + static_cast<std::uintptr_t>(bytes) <= found->first + static_cast<std::uintptr_t>(a.bytes);
}

void* new_memory(std::int32_t device, std::int64_t bytes, bool pinned, Status* status) {
    World& w = world();
    if (goes_wrong(pinned ? "allocate_pinned" : "allocate", status, Code::memory)) { return nullptr; }
    const std::lock_guard lock(w.mutex);
    if (!pinned && w.used[device] + bytes > memory_limit()) {
        fail(status, Code::memory, "device memory: " + std::to_string(bytes) + " bytes could not be allocated");
        return nullptr;
    }
    constexpr std::size_t kAlignment = 256;  // as cudaMalloc
    void* memory = nullptr;
    if (posix_memalign(&memory, kAlignment, static_cast<std::size_t>(bytes)) != 0) {
        fail(status, Code::memory, "memory: " + std::to_string(bytes) + " bytes could not be allocated");
        return nullptr;
    }
    std::memset(memory, 0xFF, static_cast<std::size_t>(bytes));
    w.allocations[reinterpret_cast<std::uintptr_t>(memory)] = {device, bytes, pinned};
    if (!pinned) { w.used[device] += bytes; }
    ++w.live;
    return memory;
}

void free_memory(std::int32_t device, void* memory) {
    World& w = world();
    const std::lock_guard lock(w.mutex);
    const auto found = w.allocations.find(reinterpret_cast<std::uintptr_t>(memory));
    if (found == w.allocations.end()) { std::abort(); }
    if (!found->second.pinned) { w.used[device] -= found->second.bytes; }
    w.allocations.erase(found);
    std::free(memory);
    --w.live;
}

void enqueue(Stream* stream, std::function<void()> operation) {
    if (stream != nullptr) { return stream->put(std::move(operation)); }
    std::set<Stream*> all;
    {
        const std::lock_guard lock(world().mutex);
        all = world().streams;
    }
    for (Stream* each : all) { each->wait_until_idle(); }
    operation();
}

Stream* new_stream(Status* status) {
    Stream* const stream = made<Stream>("make_stream", status);
    const std::lock_guard lock(world().mutex);
    if (stream != nullptr) { world().streams.insert(stream); }
    return stream;
}

}  // namespace tapline::emulated
