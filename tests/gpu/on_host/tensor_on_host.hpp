// The tensor cores' instructions on halves as the PTX manual defines them, for kernels that run on the host. Before it,
// `shared_memory` is defined: where addresses of shared memory count from.
#pragma once

#include "gpu/on_host/fragments_on_host.hpp"
#define load_fragment load_fragment_on_a_gpu
#define multiply multiply_on_a_gpu
#define __cvta_generic_to_shared(address) reinterpret_cast<std::uintptr_t>(address)
#include "cuda/primitives/matrix_fragments.cuh"
#undef load_fragment
#undef multiply
#undef __cvta_generic_to_shared

namespace tapline::cuda::tensor {

static std::uintptr_t to_shared(const void* address) {
    return static_cast<std::uintptr_t>(static_cast<const char*>(address) - shared_memory);
}

// ldmatrix.x4: matrix q's row r begins at the address of lane 8 q + r; lane l gets elements 2 (l % 4) and the next of row l / 4.
static void load_fragment(unsigned (&to)[4], unsigned address) {
    char all[32][64];
    test::on_host::share_in_warp(&address, sizeof address, all);
    const unsigned lane = threadIdx.x % 32;
    for (unsigned q = 0; q < 4; ++q) {
        unsigned row = 0;
        std::memcpy(&row, all[8 * q + lane / 4], sizeof row);
        std::memcpy(&to[q], shared_memory + row + 4 * (lane % 4), 4);
    }
}

static float half_at(const unsigned* words, int side) {
    __half2 pair;
    std::memcpy(&pair, words, sizeof pair);
    const float2 wide = __half22float2(pair);
    return side == 0 ? wide.x : wide.y;
}

// mma.m16n8k16, row.col: its fragments' layouts.
static void multiply(float (&sum)[4], const unsigned (&a)[4], uint2 b) {
    const test::on_host::WarpFragments fragments(a, b);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + (i / 2) * 8;
        const int column = lane % 4 * 2 + i % 2;
        double total = 0;
        for (int k = 0; k < 16; ++k) {
            const auto x = fragments.of(row % 8 * 4 + k % 8 / 2);
            const auto y = fragments.of(column * 4 + k % 8 / 2);
            total += static_cast<double>(half_at(&x.a[row / 8 + k / 8 * 2], k % 2)) * half_at(k / 8 == 0 ? &y.b.x : &y.b.y, k % 2);
        }
        sum[i] = static_cast<float>(sum[i] + total);
    }
}

}  // namespace tapline::cuda::tensor

#define __cvta_generic_to_shared(address) ::tapline::cuda::tensor::to_shared(address)
