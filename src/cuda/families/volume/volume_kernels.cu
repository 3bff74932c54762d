// The kernels of rung 11.
#include "cuda/families/volume/volume.cuh"

namespace tapline::cuda::volume_rung {

template <class X>
Kernel<X> kernel_of(int side) {
    return side == 3 ? &volume_kernel<X, 3> : side == 5 ? &volume_kernel<X, 5> : &volume_kernel<X, kMostSide>;
}
template Kernel<float> kernel_of<float>(int);
template Kernel<double> kernel_of<double>(int);

}  // namespace tapline::cuda::volume_rung
