// The rung for rows on a line as C++; what it shares with others is in direct_tiles_on_host.cpp.
#include "gpu/on_host/cuda_on_host.hpp"

#define __cvta_generic_to_shared(address) reinterpret_cast<std::uintptr_t>(address)
namespace tapline::cuda::rows {
alignas(128) uint4 shared[test::on_host::kSharedBytes / sizeof(uint4)];
}
#include "cuda/families/direct/rows/direct_rows.cpp"
#include "cuda/families/direct/rows/direct_rows_integers.cu"
#include "cuda/families/direct/rows/direct_rows_kernels.cu"

namespace tapline::test::on_host {
namespace {

template <class X, class H>
void add() {
    add_kernel(&cuda::rows::direct_rows_kernel<X, H>, reinterpret_cast<char*>(cuda::rows::shared));
}

const bool added = add_sums_and_taps([]<class X, class H>() { add<X, H>(); });
const bool added_integers = [] {
    add<std::int32_t, std::int32_t>();
    add<std::int64_t, std::int64_t>();
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
