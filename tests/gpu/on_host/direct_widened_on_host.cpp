// The rung for widened samples as C++; what it shares with others is in direct_tiles_on_host.cpp.
#include "gpu/on_host/cuda_on_host.hpp"

inline unsigned __funnelshift_r(unsigned low, unsigned high, int bits) {
    return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (bits & 31));
}
namespace tapline::cuda::widened {
alignas(128) uint4 shared[test::on_host::kSharedBytes / sizeof(uint4)];
}
#include "cuda/families/direct/rows/direct_widened.cpp"
#include "cuda/families/direct/rows/direct_widened_kernels.cu"

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    for (const Dtype type : {Dtype::i8, Dtype::u8, Dtype::i16, Dtype::u16, Dtype::f16, Dtype::bf16}) {
        for (int taps = 1; taps <= cuda::few::kFewTaps; ++taps) {
            add_kernel(cuda::widened::kernel_of(type, taps), reinterpret_cast<char*>(cuda::widened::shared));
        }
    }
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
