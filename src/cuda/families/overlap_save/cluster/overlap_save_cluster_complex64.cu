// The overlap-save kernels of clusters for complex64.
#include "cuda/families/overlap_save/cluster/overlap_save_cluster_kernels.cuh"

namespace tapline::cuda::overlap_save {

Kernel cluster_kernel_complex64(int group, bool plain) { return pick_cluster<float2>(group, plain); }

}  // namespace tapline::cuda::overlap_save
