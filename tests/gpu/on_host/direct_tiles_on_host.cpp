// The rung for tiles of any layout as C++.
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::tiles {
alignas(128) uint4 shared[test::on_host::kSharedBytes / sizeof(uint4)];
}
#include "cuda/families/common/arguments.cpp"
#include "cuda/families/common/cost.cpp"
#include "cuda/families/common/lines.cpp"
#include "cuda/families/common/ordered_taps.cu"
#include "cuda/families/direct/rows/direct_tiles.cpp"
#include "cuda/families/direct/rows/direct_tiles_kernels.cu"
#include "cuda/rung.cpp"

namespace tapline::test::on_host {
namespace {

constexpr auto kAdd = []<class X, class H>() {
    add_kernel(&cuda::tiles::direct_tiles_kernel<X, H>, reinterpret_cast<char*>(cuda::tiles::shared));
};
const bool added = add_sums_and_taps(kAdd) && add_exact_sums(kAdd);

}  // namespace
}  // namespace tapline::test::on_host
