// The rung for short rows as one matrix, as C++: a warpgroup's product is what the PTX manual says that it is.
#include "gpu/on_host/fragments_on_host.hpp"

namespace tapline::cuda::short_rows {
alignas(128) char shared[test::on_host::kSharedBytes];
}
#define shared_memory ::tapline::cuda::short_rows::shared
#include "gpu/on_host/tensor_on_host.hpp"

#define __ffs(bits) __builtin_ffs(bits)
#define multiply_rows multiply_rows_on_a_gpu
#define TAPLINE_CUDA_BUILT_FOR "90a-real"
#include "cuda/primitives/warpgroup.cuh"
#undef multiply_rows

namespace tapline::cuda {

// wgmma.m64n32k16: each warp has 16 of the rows, fragments as of mma.m16n8k16; `b` describes cores of 8 x 8 in shared memory.
template <class H, bool kFirst, int kFrom>
void multiply_rows(float (&sum)[4][4], const unsigned (&from)[8], std::uint64_t b) {
    const unsigned own[4] = {from[kFrom], from[kFrom + 1], from[kFrom + 2], from[kFrom + 3]};
    const test::on_host::WarpFragments fragments(own, uint2{});
    const char* const matrix = shared_memory + (b & 0xffff) * 16;
    const auto along = static_cast<int>(b >> 16 & 0xffff) * 16;
    const auto across = static_cast<int>(b >> 32 & 0xffff) * 16;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int block = 0; block < 4; ++block) {
        for (int i = 0; i < 4; ++i) {
            const int row = lane / 4 + i / 2 * 8;
            const int column = lane % 4 * 2 + i % 2;
            double total = kFirst ? 0.0 : static_cast<double>(sum[block][i]);
            for (int k = 0; k < 16; ++k) {
                const auto x = fragments.of(row % 8 * 4 + k % 8 / 2);
                __half y;
                std::memcpy(&y, matrix + k / 8 * along + block * across + column * 16 + k % 8 * 2, sizeof y);
                total += static_cast<double>(tensor::half_at(&x.a[row / 8 + k / 8 * 2], k % 2)) * __half2float(y);
            }
            sum[block][i] = static_cast<float>(total);
        }
    }
}

}  // namespace tapline::cuda

#include "cuda/families/tensor/short/short_rows.cpp"
#include "cuda/families/tensor/short/short_rows_kernels.cu"

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    for (int chunks = 1; chunks <= cuda::short_rows::kMostChunks; ++chunks) {
        for (const bool apart : {false, true}) { add_kernel(cuda::short_rows::kernel_of(chunks, apart), shared_memory); }
    }
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
