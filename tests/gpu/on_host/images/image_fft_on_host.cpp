// The FFT rung for images as C++.
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::image_fft_rung {
alignas(128) char shared[test::on_host::kSharedBytes];
}
#include "cuda/families/image_fft/image_fft.cu"
#include "cuda/families/image_fft/image_fft_doubles.cu"

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    add_kernel(&cuda::image_fft_rung::kernel<8, 2, 0>, cuda::image_fft_rung::shared);
    add_kernel(&cuda::image_fft_rung::kernel<8, 2, 1>, cuda::image_fft_rung::shared);
    add_kernel(&cuda::image_fft_rung::kernel<16, 1, 3>, cuda::image_fft_rung::shared);
    add_kernel(&cuda::image_fft_rung::kernel<16, 1, 1>, cuda::image_fft_rung::shared);
    add_kernel(&cuda::image_fft_rung::kernel<16, 1, 0>, cuda::image_fft_rung::shared);
    add_kernel(&cuda::image_fft_rung::kernel<8, 2, 0, true>, cuda::image_fft_rung::shared);
    add_kernel(&cuda::image_fft_rung::kernel<16, 1, 0, true>, cuda::image_fft_rung::shared);
    add_kernel(cuda::image_fft_rung::kernel_of_doubles(), cuda::image_fft_rung::shared);
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
