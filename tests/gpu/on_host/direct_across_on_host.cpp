// The rung for rows side by side as C++; what it shares with others is in direct_tiles_on_host.cpp.
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::across {
alignas(128) uint4 shared[test::on_host::kSharedBytes / sizeof(uint4)];
}
#include "cuda/families/direct/rows/direct_across.cpp"
#include "cuda/families/direct/rows/direct_across_integers.cu"
#include "cuda/families/direct/rows/direct_across_kernels.cu"
#include "cuda/families/direct/rows/direct_across_own_kernels.cu"

namespace tapline::test::on_host {
namespace {

const bool added = add_sums_and_taps([]<class X, class H>() {
    const auto add = [](auto kernel) { add_kernel(kernel, reinterpret_cast<char*>(cuda::across::shared)); };
    add(&cuda::across::direct_across_kernel<X, H, false, false>);
    if constexpr (sizeof(X) < 16) {
        add(&cuda::across::direct_across_kernel<X, H, true, false>);
        add(&cuda::across::direct_across_kernel<X, H, false, true>);
        add(&cuda::across::direct_across_kernel<X, H, true, true>);
    }
});

const bool added_integers = [] {
    for (const Dtype dtype : {Dtype::i32, Dtype::i64}) {
        for (const bool wide : {false, true}) {
            add_kernel(cuda::across::integer_kernel_of(dtype, wide), reinterpret_cast<char*>(cuda::across::shared));
        }
    }
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
