// What the emulated engine's images share with its signals.
#pragma once

#include <functional>
#include <string>

#include "cuda/abi.hpp"

namespace tapline::emulated {

/// Whether this call of `name` was injected to fail; then the status says so.
bool goes_wrong_here(const char* name, cuda_abi::Status* status);
/// Whether [address, address + bytes) lies within one allocation of the device.
bool is_device_memory(const void* address, std::int64_t bytes, std::int32_t device);
void enqueue_here(cuda_abi::Stream* stream, std::function<void()> operation);
/// What a kernel got wrong, told by the next function that is called.
void kernel_failed(const std::string& failure);
void count_live(int more);
std::uint64_t life_of_devices();

}  // namespace tapline::emulated
