// The rung for words of narrow samples as C++; what it shares with others is in direct_tiles_on_host.cpp.
#include "gpu/on_host/cuda_on_host.hpp"

inline unsigned __funnelshift_r(unsigned low, unsigned high, int bits) {
    return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (bits & 31));
}
namespace tapline::cuda::words {
alignas(128) uint4 shared[test::on_host::kSharedBytes / sizeof(uint4)];
}
#include "cuda/families/direct/rows/direct_words.cpp"
#include "cuda/families/direct/rows/direct_words_kernels.cu"

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    for (const Dtype type : {Dtype::u8, Dtype::f16, Dtype::f32}) {
        add_kernel(cuda::words::kernel_of(type), reinterpret_cast<char*>(cuda::words::shared));
    }
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
