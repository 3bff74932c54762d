// The functions of cuda_abi::Api that need files of their own; abi.hpp says what they do.
#pragma once

#include "cuda/abi.hpp"

namespace tapline::cuda {

// devices.cpp
std::int32_t device_count(cuda_abi::Status* status);

// prepare.cpp
cuda_abi::Prepared* prepare(std::int32_t rung, std::int32_t device, const cuda_abi::Problem* problem,
                            const cuda_abi::HostTaps* taps, const cuda_abi::Policy* policy, cuda_abi::Status* status);
void release(cuda_abi::Prepared* prepared);
std::int64_t workspace_bytes(const cuda_abi::Prepared* prepared);
void describe(const cuda_abi::Prepared* prepared, char* text, std::size_t bytes);
std::int64_t granularity(const cuda_abi::Prepared* prepared);

// execute.cpp
bool execute(const cuda_abi::Prepared* prepared, const cuda_abi::Job* job, void* workspace, std::int64_t workspace_size,
             cuda_abi::Stream* stream, cuda_abi::Status* status);
bool execute_with_taps(const cuda_abi::Prepared* prepared, const cuda_abi::Job* job, const cuda_abi::DeviceTaps* taps,
                       void* workspace, std::int64_t workspace_size, cuda_abi::Stream* stream, cuda_abi::Status* status);
bool measure(std::int32_t device, const cuda_abi::Prepared* prepared, const cuda_abi::Job* job, void* workspace,
             std::int64_t workspace_size, std::int64_t copy_bytes, bool cold, double seconds, cuda_abi::Measurement* to,
             cuda_abi::Status* status);

// api_memory.cpp
void* allocate(std::int32_t device, std::int64_t bytes, cuda_abi::Status* status);
void free_memory(std::int32_t device, void* pointer);
void* allocate_pinned(std::int32_t device, std::int64_t bytes, cuda_abi::Status* status);
void free_pinned(std::int32_t device, void* pointer);
std::int64_t free_bytes(std::int32_t device);
cuda_abi::Stream* make_stream(std::int32_t device, cuda_abi::Status* status);
void free_stream(std::int32_t device, cuda_abi::Stream* stream);
cuda_abi::Event* make_event(std::int32_t device, cuda_abi::Status* status);
void free_event(std::int32_t device, cuda_abi::Event* event);
bool record(std::int32_t device, cuda_abi::Event* event, cuda_abi::Stream* stream, cuda_abi::Status* status);
bool wait(std::int32_t device, cuda_abi::Stream* stream, cuda_abi::Event* event, cuda_abi::Status* status);
bool synchronize(std::int32_t device, cuda_abi::Event* event, cuda_abi::Status* status);
bool synchronize_stream(std::int32_t device, cuda_abi::Stream* stream, cuda_abi::Status* status);
bool copy(std::int32_t device, void* to, const void* from, std::int64_t bytes, cuda_abi::Stream* stream, cuda_abi::Status* status);
bool fill(std::int32_t device, void* to, std::int32_t byte, std::int64_t bytes, cuda_abi::Stream* stream, cuda_abi::Status* status);
bool inject(std::int32_t device, const char* what, cuda_abi::Status* status);
std::uint64_t life(std::int32_t device);

/// The library's own part of the table: the engine has depthwise correlation, the lessons have nothing (ladder.cpp,
/// lessons/ladder.cu).
void add_own_functions(cuda_abi::Api& api);

}  // namespace tapline::cuda
