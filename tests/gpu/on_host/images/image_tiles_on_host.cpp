// The rung for tiles of images as C++.
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::image_tiles_rung {
alignas(128) char shared[test::on_host::kSharedBytes];
}
#include "cuda/families/image_tiles/image_bands_kernels.cu"
#include "cuda/families/image_tiles/image_tiles.cpp"
#include "cuda/families/image_tiles/image_tiles_doubles.cu"
#include "cuda/families/image_tiles/image_tiles_integers.cu"
#include "cuda/families/image_tiles/image_tiles_kernels.cu"

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    for (const Dtype sums : {Dtype::f32, Dtype::f64, Dtype::i32}) {
        for (const std::int64_t taps : {1, 100}) {
            add_kernel(cuda::image_tiles_rung::kernel_of(taps, sums), cuda::image_tiles_rung::shared);
        }
    }
    for (const auto& [height, width] : {std::pair{1, 1}, {3, 3}, {5, 5}, {7, 7}, {9, 9}}) {
        for (const int bytes : {1, 2, 4}) {
            add_kernel(cuda::image_tiles_rung::band_kernel_of(height, width, bytes), cuda::image_tiles_rung::shared);
        }
    }
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
