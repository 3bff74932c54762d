// The teaching rungs for images as C++, and the table of all rungs.
#include "gpu/on_host/cuda_on_host.hpp"

#define cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream) \
    (static_cast<void>(stream), ::tapline::test::on_host::run_kernel(kernel, grid, block, arguments, shared_bytes), cudaSuccess)
#define cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, stream) \
    (static_cast<void>(stream), std::memcpy(symbol, from, bytes), cudaSuccess)
#define cudaFuncGetAttributes(attributes, kernel) (static_cast<void>(attributes), static_cast<void>(kernel), cudaSuccess)
#include "cuda/image_ladder.cu"

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    add_kernel(&cuda::image_basic::kernel, nullptr);
    add_kernel(&cuda::image_constant_memory::kernel, nullptr);
    add_kernel(&cuda::image_tiled::kernel, nullptr);
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
