// Direct sums of listed outputs: what the kernel and its launch share.
#pragma once

#include "cuda/families/overlap_save/overlap_save.hpp"

namespace tapline::cuda::overlap_save {

inline constexpr int kRepairThreads = 128;

struct Repair {
    Checks checks;              // first_filter: of row 0, which has group 0
    std::int64_t filter_bytes;  // of taps, from one filter to the next
    int finite_taps;
};

using RepairKernel = void (*)(Arguments a, Repair repair);

/// The kernel for samples and taps of f32 or complex64, its shared memory.
struct LoadedRepair {
    RepairKernel kernel = nullptr;
    int shared_bytes = 0;
};
LoadedRepair repair_kernel_of(Dtype dtype, Dtype taps_dtype);

}  // namespace tapline::cuda::overlap_save
