// The overlap-save kernels of clusters for f32.
#include "cuda/families/overlap_save/cluster/overlap_save_cluster_kernels.cuh"

namespace tapline::cuda::overlap_save {

Kernel cluster_kernel_f32(int group, bool plain) { return pick_cluster<float>(group, plain); }

}  // namespace tapline::cuda::overlap_save
