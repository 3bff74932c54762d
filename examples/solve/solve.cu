// libtapline_solve.so: lesson 04 behind the C entry that its write-up's test harness calls.
#include "solve.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>

#include "lessons/04_broadcast_block.cuh"

namespace {

namespace broadcast_block = tapline::cuda::broadcast_block;

constexpr float kInfinity = __builtin_huge_valf();

thread_local char error_text[256];
thread_local bool failed = false;

[[gnu::format(printf, 1, 2)]] bool fail(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(error_text, sizeof error_text, format, arguments);
    va_end(arguments);
    failed = true;
    return false;
}

bool succeeds(cudaError_t result, const char* call) {
    if (result == cudaSuccess) { return true; }
    cudaGetLastError();  // what a later call may survive is forgotten
    return fail("%s: %s (%s)", call, cudaGetErrorString(result), cudaGetErrorName(result));
}

/// A kernel that touched anything else would take the whole process's context with it.
bool is_reachable(const char* name, const void* address, int device) {
    if (reinterpret_cast<std::uintptr_t>(address) % alignof(float) != 0) { return fail("%s: not aligned to 4 bytes", name); }
    cudaPointerAttributes attributes{};
    if (!succeeds(cudaPointerGetAttributes(&attributes, address), "cudaPointerGetAttributes")) { return false; }
    if (attributes.type == cudaMemoryTypeUnregistered) {
        return fail("%s: ordinary host memory; copy it to the device first", name);
    }
    if (attributes.type == cudaMemoryTypeDevice && attributes.device != device) {
        return fail("%s: memory of device %d, but device %d is current", name, attributes.device, device);
    }
    if (attributes.devicePointer != address) { return fail("%s: the device knows this memory by another address", name); }
    return true;
}

bool overlap(const float* a, std::int64_t a_size, const float* b, std::int64_t b_size) {
    const auto a_begin = reinterpret_cast<std::uintptr_t>(a);
    const auto b_begin = reinterpret_cast<std::uintptr_t>(b);
    return a_begin < b_begin + static_cast<std::uintptr_t>(b_size) * sizeof(float) &&
           b_begin < a_begin + static_cast<std::uintptr_t>(a_size) * sizeof(float);
}

bool run(const tapline::cuda::Signal& s) {
    int device = 0;
    if (!succeeds(cudaGetDevice(&device), "cudaGetDevice")) { return false; }
    if (!is_reachable("input", s.in, device) || !is_reachable("kernel", s.taps, device) || !is_reachable("output", s.out, device)) {
        return false;
    }
    broadcast_block::launch(s, nullptr);
    return succeeds(cudaGetLastError(), "launch") && succeeds(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

}  // namespace

extern "C" void solve(const float* input, const float* kernel, float* output, int input_size, int kernel_size) {
    failed = false;
    if (input == nullptr) { return static_cast<void>(fail("input: null")); }
    if (kernel == nullptr) { return static_cast<void>(fail("kernel: null")); }
    if (output == nullptr) { return static_cast<void>(fail("output: null")); }
    if (kernel_size < 1) { return static_cast<void>(fail("kernel_size: %d; it must be at least 1", kernel_size)); }
    if (input_size < kernel_size) {
        return static_cast<void>(fail("input_size: %d; it must be at least kernel_size, %d", input_size, kernel_size));
    }
    const std::int64_t outputs = std::int64_t{input_size} - kernel_size + 1;
    if (overlap(output, outputs, input, input_size)) { return static_cast<void>(fail("output: overlaps input")); }
    if (overlap(output, outputs, kernel, kernel_size)) { return static_cast<void>(fail("output: overlaps kernel")); }
    run({.out = output,
         .in = input,
         .taps = kernel,
         .n = input_size,
         .k = kernel_size,
         .m = outputs,
         .origin = 0,
         .low = -kInfinity,
         .high = kInfinity});
}

extern "C" const char* tapline_solve_error(void) { return failed ? error_text : nullptr; }
