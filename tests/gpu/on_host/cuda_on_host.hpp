// Kernels compiled as C++ and run on the host, a fiber a thread: what they compute can be tested without a GPU, in any order of
// their threads between two barriers. Nothing here says how fast they are, and instructions that only a GPU has (tensor cores,
// cp.async) are replaced by what the manual says they do.
//
// Include this before any kernel.
#pragma once

#include <math.h>  // NOLINT: the overloads in the global namespace

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// After the standard library's headers, which use a name that this makes a macro.
#include <cuda_runtime.h>

#define __noinline__
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__
#undef __shared__
#define __shared__
#define __cvta_generic_to_shared(address) reinterpret_cast<std::uintptr_t>(address)

namespace tapline::test::on_host {

/// The running thread.
const uint3& thread_index();
const uint3& block_index();
const dim3& block_size();
const dim3& grid_size();

void sync_threads();
bool sync_threads_or(bool value);
void sync_warp();
/// Every thread of a warp leaves `bytes` bytes (at most 64) and gets the 32 threads' side by side, 64 apart.
void share_in_warp(const void* value, std::size_t bytes, char (&all)[32][64]);

/// Bytes of shared memory of a block.
inline constexpr std::size_t kSharedBytes = 232448;

/// A kernel that run_kernel() will find; `shared`: its kSharedBytes bytes of dynamic shared memory, or null.
void add_kernel(const void* kernel, char* shared, std::function<void(void**)> call);
template <class... A>
void add_kernel(void (*kernel)(A...), char* shared) {
    add_kernel(reinterpret_cast<const void*>(kernel), shared, [kernel](void** arguments) {
        [&]<std::size_t... i>(std::index_sequence<i...>) { kernel(*static_cast<std::remove_const_t<A>*>(arguments[i])...); }
        (std::index_sequence_for<A...>{});
    });
}

/// add.operator()<X, H>() for every type of sums and taps.
template <class Add>
bool add_sums_and_taps(const Add& add) {
    add.template operator()<float, float>();
    add.template operator()<double, double>();
    add.template operator()<float2, float>();
    add.template operator()<float2, float2>();
    add.template operator()<double2, double>();
    add.template operator()<double2, double2>();
    return true;
}
template <class Add>
bool add_exact_sums(const Add& add) {
    add.template operator()<std::int32_t, std::int32_t>();
    add.template operator()<std::int64_t, std::int64_t>();
    return true;
}

/// Every thread of every block, threads in an order drawn from the seed. Shared memory is filled with NaN before each block; throws
/// std::runtime_error if a block writes behind its first shared_bytes bytes.
void run_kernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes);
void set_seed(std::uint64_t seed);

/// cudaLaunchKernelEx(): arguments are converted to the kernel's types, and it has run when this returns.
template <class... Parameters, class... Given>
cudaError_t launch(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...), Given&&... given) {
    std::tuple<std::remove_cvref_t<Parameters>...> values(std::forward<Given>(given)...);
    std::apply(
        [&](auto&... value) {
            void* arguments[] = {&value...};
            run_kernel(reinterpret_cast<const void*>(kernel), config->gridDim, config->blockDim, arguments,
                       config->dynamicSmemBytes);
        },
        values);
    return cudaSuccess;
}

}  // namespace tapline::test::on_host

#define cudaLaunchKernelEx ::tapline::test::on_host::launch
#define cudaFuncGetAttributes(attributes, kernel) (static_cast<void>(attributes), static_cast<void>(kernel), cudaSuccess)
#define cudaFuncSetAttribute(kernel, attribute, value) \
    (static_cast<void>(kernel), static_cast<void>(attribute), static_cast<void>(value), cudaSuccess)

// Before names that its fields have become macros.
#include "cuda/launch.hpp"

#define threadIdx (::tapline::test::on_host::thread_index())
#define blockIdx (::tapline::test::on_host::block_index())
#define blockDim (::tapline::test::on_host::block_size())
#define gridDim (::tapline::test::on_host::grid_size())

inline void __syncthreads() { ::tapline::test::on_host::sync_threads(); }
inline int __syncthreads_or(int value) { return ::tapline::test::on_host::sync_threads_or(value != 0) ? 1 : 0; }
inline void __syncwarp() { ::tapline::test::on_host::sync_warp(); }
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
    char all[32][64];
    ::tapline::test::on_host::share_in_warp(&value, sizeof value, all);
    std::memcpy(&value, all[(::tapline::test::on_host::thread_index().x % 32) ^ static_cast<unsigned>(mask)], sizeof value);
    return value;
}
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
    char all[32][64];
    ::tapline::test::on_host::share_in_warp(&value, sizeof value, all);
    std::memcpy(&value, all[lane % 32], sizeof value);
    return value;
}
inline bool __any_sync(unsigned, bool value) {
    char all[32][64];
    ::tapline::test::on_host::share_in_warp(&value, sizeof value, all);
    return std::any_of(all, all + 32, [](const char(&one)[64]) { return one[0] != 0; });
}
inline unsigned __ballot_sync(unsigned, bool value) {
    char all[32][64];
    ::tapline::test::on_host::share_in_warp(&value, sizeof value, all);
    unsigned lanes = 0;
    for (unsigned lane = 0; lane < 32; ++lane) { lanes |= (all[lane][0] != 0 ? 1U : 0U) << lane; }
    return lanes;
}
inline unsigned __match_any_sync(unsigned, int value) {
    char all[32][64];
    ::tapline::test::on_host::share_in_warp(&value, sizeof value, all);
    unsigned lanes = 0;
    for (unsigned lane = 0; lane < 32; ++lane) { lanes |= (std::memcmp(all[lane], &value, sizeof value) == 0 ? 1U : 0U) << lane; }
    return lanes;
}
inline void __threadfence() {}
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }
inline unsigned __brev(unsigned bits) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; ++i) { reversed |= (bits >> i & 1U) << (31 - i); }
    return reversed;
}
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __ffsll(unsigned long long x) { return x == 0 ? 0 : 1 + std::countr_zero(x); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline unsigned atomicAdd(unsigned* to, unsigned value) { return std::exchange(*to, *to + value); }
inline unsigned atomicOr(unsigned* to, unsigned value) { return std::exchange(*to, *to | value); }
inline unsigned atomicMax(unsigned* to, unsigned value) { return std::exchange(*to, std::max(*to, value)); }
inline unsigned long long atomicMax(unsigned long long* to, unsigned long long value) {
    return std::exchange(*to, std::max(*to, value));
}
inline unsigned long long atomicMin(unsigned long long* to, unsigned long long value) {
    return std::exchange(*to, std::min(*to, value));
}
template <class T>
T __ldg(const T* from) {
    return *from;
}
template <class T>
T __ldcg(const T* from) {
    return *from;
}
template <class T>
T __ldcs(const T* from) {
    return *from;
}
template <class T>
void __stcs(T* to, T value) {
    *to = value;
}
template <class T>
void __stcg(T* to, T value) {
    *to = value;
}
inline void sincospi(double x, double* sine, double* cosine) {
    *sine = std::sin(M_PI * x);
    *cosine = std::cos(M_PI * x);
}
inline void sincospif(float x, float* sine, float* cosine) {
    *sine = static_cast<float>(std::sin(M_PI * double{x}));
    *cosine = static_cast<float>(std::cos(M_PI * double{x}));
}
inline float __fdividef(float x, float y) { return x / y; }
inline unsigned __float_as_uint(float x) {
    unsigned bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float __uint_as_float(unsigned bits) {
    float x = 0;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}
inline float __int_as_float(int bits) { return __uint_as_float(static_cast<unsigned>(bits)); }
/// cvt.rni.u32.f32: to even, saturated, NaN becomes 0.
inline unsigned __float2uint_rn(float x) {
    return !(x > 0) ? 0 : x >= 4294967296.0F ? ~0U : static_cast<unsigned>(std::nearbyint(double{x}));
}
inline double __hiloint2double(int high, int low) {
    return std::bit_cast<double>(std::uint64_t{static_cast<unsigned>(high)} << 32 | static_cast<unsigned>(low));
}
inline int __double2loint(double x) { return static_cast<int>(static_cast<unsigned>(std::bit_cast<std::uint64_t>(x))); }
/// The high half of its bits.
inline int __double2hiint(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 32); }
/// cvt.rni.s32: to even, saturated; NaN becomes 0 from f32, the least number from f64.
inline int __double2int_rn(double x) {
    if (std::isnan(x) || x <= -2147483648.0) { return INT32_MIN; }
    return x >= 2147483647.0 ? INT32_MAX : static_cast<int>(std::nearbyint(x));
}
/// The same of 64 bits; NaN becomes the highest bit alone.
inline long long __double2ll_rn(double x) {
    return std::isnan(x) ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : std::llrint(x);
}
inline unsigned long long __double2ull_rn(double x) {
    if (std::isnan(x)) { return 1ULL << 63; }
    return !(x > 0) ? 0 : x >= 0x1p64 ? ~0ULL : static_cast<unsigned long long>(std::nearbyint(x));
}
inline unsigned __double2uint_rn(double x) {
    if (std::isnan(x)) { return 1U << 31; }
    return !(x > 0) ? 0 : x >= 0x1p32 - 0.5 ? ~0U : static_cast<unsigned>(std::nearbyint(x));
}
inline long long __float2ll_rn(float x) { return __double2ll_rn(double{x}); }
inline unsigned long long __float2ull_rn(float x) { return __double2ull_rn(double{x}); }
inline int __float2int_rn(float x) { return std::isnan(x) ? 0 : __double2int_rn(double{x}); }
inline double __longlong_as_double(long long bits) {
    double x = 0;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}
inline long long __double_as_longlong(double x) {
    long long bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
template <class T>
T min(T a, T b) {
    return b < a ? b : a;
}
template <class T>
T max(T a, T b) {
    return a < b ? b : a;
}
