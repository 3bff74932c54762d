// 16: many outputs a thread.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda::register_tile {

inline constexpr Head kHead("16", "register_tile", "", R"(
Idea: a thread makes 12 neighbouring outputs: a sample loaded once serves 12 products, a tap as well
Changed: one output a thread: each product needed a sample and a tap from a cache or shared memory. Now the window lies in
    registers and slides
Requires: nothing beyond f32, one signal and a zero boundary
Limited by: its stores: each lane's 48 bytes lie apart from its neighbour's, so that one store of a warp touches 12 to 32 lines; a
    copy stores the same bytes in 4
)");

/// Thread i makes outputs [12 i, 12 i + 12) from a window that slides through 16 registers, four samples a load.
/// Windows are read by 16-byte loads where they lie inside the signal and aligned, one by one elsewhere.
static __global__ void __launch_bounds__(128) kernel(const __grid_constant__ Signal s) {
    constexpr int kOutputs = 12;
    const std::int64_t o = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kOutputs;
    if (o >= s.m) { return; }
    const std::int64_t start = o - s.origin;
    const std::int64_t end = start + kOutputs + (s.k + 3) / 4 * 4;  // samples that the vectors hold
    const bool vectors = start >= 0 && end <= s.n && reinterpret_cast<std::uintptr_t>(s.in + start) % 16 == 0;
    const auto four = [&](std::int64_t at, float* to) {
        if (vectors) {
            const float4 v = *reinterpret_cast<const float4*>(s.in + at);
            to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
        } else {
#pragma unroll
            for (int i = 0; i < 4; ++i) { to[i] = at + i >= 0 && at + i < s.n ? s.in[at + i] : 0.0f; }
        }
    };
    float window[kOutputs + 4];
    float sum[kOutputs] = {};
    four(start, window), four(start + 4, window + 4), four(start + 8, window + 8);
    for (std::int64_t t = 0; t < s.k; t += 4) {
        four(start + kOutputs + t, window + kOutputs);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (t + j < s.k) {
                const float tap = s.taps[t + j];
#pragma unroll
                for (int i = 0; i < kOutputs; ++i) { sum[i] = fmaf(window[i + j], tap, sum[i]); }
            }
        }
#pragma unroll
        for (int i = 0; i < kOutputs; ++i) { window[i] = window[i + 4]; }
    }
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) {
        if (o + i < s.m) { s.out[o + i] = clamp_pass_nan(sum[i], s.low, s.high); }
    }
}

inline constexpr SignalLesson lesson{
    .head = kHead, .kernel = kernel, .blocks = {.threads = 128, .outputs = 12 * 128}, .clamps = true, .seconds_per_product = 1e-12};

}  // namespace tapline::cuda::register_tile
