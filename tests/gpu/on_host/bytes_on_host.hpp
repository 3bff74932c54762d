// Products of matrices of bytes, and what arranges bytes, for kernels that run on the host.
#pragma once

#include <cmath>

#include "gpu/on_host/byte_shuffles.hpp"
#include "gpu/on_host/fragments_on_host.hpp"

#define multiply_bytes multiply_bytes_on_a_gpu
#define multiply_doubles multiply_doubles_on_a_gpu
#include "cuda/families/bytes/byte_fragments.cuh"
#undef multiply_doubles
#undef multiply_bytes

namespace tapline::cuda::tensor {

// mma.m16n8k32 of bytes, row.col: its fragments' layouts.
template <bool kSigned>
static void multiply_bytes(unsigned (&sum)[4], const unsigned (&a)[4], uint2 b) {
    const test::on_host::WarpFragments fragments(a, b);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8;
        const int column = lane % 4 * 2 + i % 2;
        for (int k = 0; k < 32; ++k) {
            const auto x = fragments.of(row % 8 * 4 + k % 16 / 4);
            const auto y = fragments.of(column * 4 + k % 16 / 4);
            const unsigned of_a = x.a[row / 8 + k / 16 * 2] >> (8 * (k % 4)) & 255;
            const unsigned of_b = (k < 16 ? y.b.x : y.b.y) >> (8 * (k % 4)) & 255;
            sum[i] += of_a * (kSigned && of_b > 127 ? of_b - 256 : of_b);
        }
    }
}

// mma.m8n8k4 of doubles, row.col.
inline void multiply_doubles(double (&sum)[2], double a, double b) {
    const double own[2] = {a, b};
    char all[32][64];
    test::on_host::share_in_warp(own, sizeof own, all);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const auto of = [&](int whose, int which) {
        double value = 0;
        std::memcpy(&value, all[whose] + sizeof(double) * static_cast<std::size_t>(which), sizeof value);
        return value;
    };
    for (int i = 0; i < 2; ++i) {
        for (int k = 0; k < 4; ++k) { sum[i] = std::fma(of(lane / 4 * 4 + k, 0), of((lane % 4 * 2 + i) * 4 + k, 1), sum[i]); }
    }
}

}  // namespace tapline::cuda::tensor
