// The rung for rows on a line as C++; what it shares with others is in direct_tiles_on_host.cpp.
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::rows {
alignas(128) uint4 shared[test::on_host::kSharedBytes / sizeof(uint4)];
}
#include "cuda/families/direct/rows/direct_rows.cpp"
#include "cuda/families/direct/rows/direct_rows_kernels.cu"

namespace tapline::test::on_host {
namespace {

constexpr auto kAdd = []<class X, class H>() {
    add_kernel(&cuda::rows::direct_rows_kernel<X, H>, reinterpret_cast<char*>(cuda::rows::shared));
};
const bool added = add_sums_and_taps(kAdd) && add_exact_sums(kAdd);

}  // namespace
}  // namespace tapline::test::on_host
