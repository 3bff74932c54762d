// The rung for integers that four warps multiply together as C++; what it shares with others is in integer_on_host.cpp.
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::integer {
alignas(128) char group_memory[test::on_host::kSharedBytes];
}
#define shared_memory (::tapline::cuda::integer::group_memory)
#include "gpu/on_host/byte_shuffles.hpp"
#include "gpu/on_host/tensor_on_host.hpp"

#define multiply_group_bytes multiply_group_bytes_on_a_gpu
#include "cuda/families/bytes/byte_group.cuh"
#undef multiply_group_bytes
#define copy_bulk copy_bulk_on_a_gpu
#include "cuda/primitives/bulk_copy.cuh"
#undef copy_bulk

namespace tapline::cuda {

// It arrives at once.
static void copy_bulk(void* to_shared, const void* from_global, std::uint32_t bytes, CopyBarrier* /*barrier*/) {
    std::memcpy(to_shared, from_global, bytes);
}

namespace tensor {

// wgmma of 64 rows: fragments as mma.m16n8k32 has them, a warp 16 rows; the other factor from shared memory, cores of 8 columns of
// 16 bytes.
template <bool kSigned, int kColumns>
static void multiply_group_bytes(unsigned (&sum)[kColumns][4], const unsigned (&a)[4], std::uint64_t b) {
    const test::on_host::WarpFragments fragments(a, {});
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const auto address = static_cast<int>(b & 0x3fff) * 16;
    const auto along = static_cast<int>(b >> 16 & 0x3fff) * 16;
    const auto across = static_cast<int>(b >> 32 & 0x3fff) * 16;
    unsigned rows[2][32];  // bytes of this lane's two
    for (int k = 0; k < 32; ++k) {
        const auto theirs = fragments.of(lane / 4 * 4 + k % 16 / 4);
        for (int half = 0; half < 2; ++half) {
            const unsigned byte = theirs.a[half + k / 16 * 2] >> (8 * (k % 4)) & 255;
            rows[half][k] = kSigned && byte > 127 ? byte - 256 : byte;
        }
    }
    for (int n = 0; n < kColumns; ++n) {
        for (int i = 0; i < 4; ++i) {
            const char* const from = shared_memory + address + n * across + (lane % 4 * 2 + i % 2) * 16;
            for (int k = 0; k < 32; ++k) {
                sum[n][i] += static_cast<unsigned char>(from[k / 16 * along + k % 16]) * rows[i / 2][k];
            }
        }
    }
}

}  // namespace tensor
}  // namespace tapline::cuda

#define TAPLINE_CUDA_BUILT_FOR "90a-real"
#include "cuda/families/integer/digits/integer_group.cpp"
#include "cuda/families/integer/digits/integer_group.cu"

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    using cuda::integer::Digits;
    for (int samples : {1, 2, 4, 8}) {
        for (int taps : {1, 2, 4}) {
            for (int sums = 1; sums <= 8; ++sums) {
                const auto kernel = cuda::integer::group_kernel(Digits{samples, taps, sums});
                if (kernel != nullptr) { add_kernel(kernel, shared_memory); }
            }
        }
    }
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
