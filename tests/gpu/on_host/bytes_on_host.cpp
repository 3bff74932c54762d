// The rung for bytes as C++.
#include "gpu/on_host/bytes_on_host.hpp"

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }

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
