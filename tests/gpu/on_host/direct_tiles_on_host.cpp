// The rung for tiles of any layout as C++.
#include "gpu/on_host/cuda_on_host.hpp"

#define __cvta_generic_to_shared(address) reinterpret_cast<std::uintptr_t>(address)
namespace tapline::cuda::tiles {
alignas(128) uint4 shared[test::on_host::kSharedBytes / sizeof(uint4)];
}
#include "cuda/families/common/arguments.cpp"
#include "cuda/families/common/cost.cpp"
#include "cuda/families/common/lines.cpp"
#include "cuda/families/common/ordered_taps.cu"
#include "cuda/families/direct/rows/direct_tiles.cpp"
#include "cuda/families/direct/rows/direct_tiles_integers.cu"
#include "cuda/families/direct/rows/direct_tiles_kernels.cu"
#include "cuda/rung.cpp"

namespace tapline::test::on_host {
namespace {

template <class X, class H>
void add() {
    add_kernel(&cuda::tiles::direct_tiles_kernel<X, H>, reinterpret_cast<char*>(cuda::tiles::shared));
}

const bool added = add_sums_and_taps([]<class X, class H>() { add<X, H>(); });
const bool added_integers = [] {
    add<std::int32_t, std::int32_t>();
    add<std::int64_t, std::int64_t>();
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
