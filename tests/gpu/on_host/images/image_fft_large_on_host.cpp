// Rung 49 as C++.
#include "gpu/on_host/cuda_on_host.hpp"

#define cudaMemsetAsync(to, value, bytes, stream) (std::memset(to, value, bytes), static_cast<void>(stream), cudaSuccess)
#define cudaStreamSynchronize(stream) (static_cast<void>(stream), cudaSuccess)
namespace tapline::cuda::image_fft_large_rung {
alignas(128) char shared[test::on_host::kSharedBytes];
}
#include "cuda/families/image_fft_large/image_fft_large.cpp"
#include "cuda/families/image_fft_large/image_fft_large.cuh"
#include "cuda/families/image_fft_large/image_fft_large_around.cu"

namespace tapline::cuda::image_fft_large_rung {

template <class D>
Kernel kernel_of(bool floats) {
    return pick_kernel<D>(floats);
}

}  // namespace tapline::cuda::image_fft_large_rung

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    using namespace cuda::image_fft_large_rung;
    for (const int size : {256, 512, 1024, 2048}) {
        with_shape(size, []<class D>() {
            for (const bool floats : {false, true}) { add_kernel(kernel_of<D>(floats), shared); }
            return 0;
        });
    }
    add_kernel(&row_spectra_kernel, nullptr);
    add_kernel(&spectrum_kernel, nullptr);
    add_kernel(&repair_kernel, nullptr);
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
