// The rung for bytes as C++.
#include "gpu/on_host/byte_shuffles.hpp"
#include "gpu/on_host/fragments_on_host.hpp"

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }

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

namespace tapline::cuda::bytes_rung {
alignas(128) char shared[test::on_host::kSharedBytes];
}
#include "cuda/families/bytes/bytes.cpp"
#include "cuda/families/bytes/bytes_kernels.cu"

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    for (int steps = 1; steps <= cuda::bytes_rung::kMostSteps; ++steps) {
        for (const bool across : {false, true}) {
            add_kernel(cuda::bytes_rung::kernel_of(steps, across), cuda::bytes_rung::shared);
        }
    }
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
