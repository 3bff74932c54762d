// The rung for volumes as C++.
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::volume_rung {
alignas(128) char shared[test::on_host::kSharedBytes];
}
#include "cuda/families/volume/volume.cpp"
#include "cuda/families/volume/volume_kernels.cu"

namespace tapline::test::on_host {
namespace {

template <class X>
void add_volume_kernels() {
    for (const int side : {3, 5, 7}) {
        if constexpr (!std::is_integral_v<X>) {
            add_kernel(cuda::volume_rung::kernel_of<X>(side, false), cuda::volume_rung::shared);
        }
        add_kernel(cuda::volume_rung::kernel_of<X>(side, true), cuda::volume_rung::shared);
    }
}
const bool added = [] {
    add_volume_kernels<float>();
    add_volume_kernels<double>();
    add_volume_kernels<std::int32_t>();
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
