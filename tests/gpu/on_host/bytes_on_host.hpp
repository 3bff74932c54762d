// Products of matrices of bytes, and what arranges bytes, for kernels that run on the host.
#pragma once

#include "gpu/on_host/byte_shuffles.hpp"
#include "gpu/on_host/fragments_on_host.hpp"

#define multiply_bytes multiply_bytes_on_a_gpu
#include "cuda/families/bytes/byte_fragments.cuh"
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

}  // namespace tapline::cuda::tensor
