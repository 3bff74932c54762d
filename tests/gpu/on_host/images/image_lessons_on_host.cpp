// The lessons for images as C++, and all rungs for images.
#include "gpu/on_host/cuda_on_host.hpp"

#define cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, stream) \
    (static_cast<void>(stream), std::memcpy(symbol, from, bytes), cudaSuccess)
#include "cuda/families/direct/image_direct.hpp"
#include "cuda/families/image_fft/image_fft.hpp"
#include "cuda/families/image_tiles/image_tiles.hpp"
#include "cuda/families/separable/separable_launch.hpp"
#include "cuda/families/tensor/image_tensor.hpp"
#include "gpu/on_host/images/image_rungs.hpp"
#include "lessons/images/image_lesson.cu"
#include "lessons/images/ladder.cu"

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    add_kernel(&cuda::image_basic::kernel, nullptr);
    add_kernel(&cuda::image_constant_memory::kernel, nullptr);
    add_kernel(&cuda::image_tiled::kernel, nullptr);
    return true;
}();

}  // namespace

std::vector<const cuda::Rung*> image_rungs() {
    std::vector<const cuda::Rung*> all = cuda::image_lessons();
    all.insert(all.end(),
               {&cuda::image_direct(), &cuda::image_separable(), &cuda::image_tensor(), &cuda::image_fft(), &cuda::image_tiles()});
    return all;
}

}  // namespace tapline::test::on_host
