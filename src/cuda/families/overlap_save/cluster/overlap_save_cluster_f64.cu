// The overlap-save kernels of clusters for f64.
#include "cuda/families/overlap_save/cluster/overlap_save_cluster_kernels.cuh"

namespace tapline::cuda::overlap_save {

Kernel cluster_kernel_f64(int group, bool plain) { return pick_cluster<double>(group, plain); }

}  // namespace tapline::cuda::overlap_save
