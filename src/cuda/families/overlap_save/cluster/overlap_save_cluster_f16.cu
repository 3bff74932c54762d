// The overlap-save kernels of clusters for f16.
#include "cuda/families/overlap_save/cluster/overlap_save_cluster_kernels.cuh"

namespace tapline::cuda::overlap_save {

Kernel cluster_kernel_f16(int group, bool plain) { return pick_cluster<__half>(group, plain); }

}  // namespace tapline::cuda::overlap_save
