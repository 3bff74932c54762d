// The kernels of rung 11.
#include "cuda/families/volume/volume.cuh"

namespace tapline::cuda::volume_rung {

template <class X, bool kWidens>
Kernel<X> kernel_of(int side) {
    return side == 3   ? &volume_kernel<X, 3, kWidens>
           : side == 5 ? &volume_kernel<X, 5, kWidens>
                       : &volume_kernel<X, kMostSide, kWidens>;
}
template <class X>
Kernel<X> kernel_of(int side, bool widens) {
    return widens ? kernel_of<X, true>(side) : kernel_of<X, false>(side);
}
template Kernel<float> kernel_of<float>(int, bool);
template Kernel<double> kernel_of<double>(int, bool);
template <>
Kernel<std::int32_t> kernel_of<std::int32_t>(int side, bool /*widens*/) {
    return kernel_of<std::int32_t, true>(side);
}

}  // namespace tapline::cuda::volume_rung
