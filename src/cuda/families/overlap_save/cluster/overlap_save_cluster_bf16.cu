// The overlap-save kernels of clusters for bf16.
#include "cuda/families/overlap_save/cluster/overlap_save_cluster_kernels.cuh"

namespace tapline::cuda::overlap_save {

Kernel cluster_kernel_bf16(int group, bool plain) { return pick_cluster<__nv_bfloat16>(group, plain); }

}  // namespace tapline::cuda::overlap_save
