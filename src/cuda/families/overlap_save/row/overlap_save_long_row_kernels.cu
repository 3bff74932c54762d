#include <string_view>

#include "cuda/families/common/with_types.hpp"
#include "cuda/families/overlap_save/row/overlap_save_causal_row.cuh"
#include "cuda/families/overlap_save/row/overlap_save_long_row.hpp"

namespace tapline::cuda::overlap_save {
namespace {

static_assert(2 * sizeof(RowInTurn) <= kLongRowTurnBytes);

template <class S, bool kWhole>
SegmentKernel kernel_of(bool by_halves) {
    if constexpr (sizeof(S) == 2) {
        if (by_halves) { return &overlap_save_causal_row_kernel<S, kWhole>; }
    }
    return &overlap_save_long_row_kernel<S, kWhole>;
}

}  // namespace

bool has_long_rows(const cuda_abi::Device& device) {
    // What is made for all GPUs has them for one.
    constexpr bool kOnly9 = std::string_view(TAPLINE_CUDA_BUILT_FOR) == "90a-real";
    return kOnly9 ? device.major == 9 : device.major >= 9;
}

SegmentKernel long_row_kernel(Dtype dtype, bool whole, bool by_halves) {
    return with_float_sums(
        dtype, [&]<class S>(ElementType<S>) { return whole ? kernel_of<S, true>(by_halves) : kernel_of<S, false>(by_halves); });
}

}  // namespace tapline::cuda::overlap_save
