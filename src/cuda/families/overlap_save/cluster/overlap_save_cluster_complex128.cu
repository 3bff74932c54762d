// The overlap-save kernels of clusters for complex128.
#include "cuda/families/overlap_save/cluster/overlap_save_cluster_kernels.cuh"

namespace tapline::cuda::overlap_save {

Kernel cluster_kernel_complex128(int group, bool plain) { return pick_cluster<double2>(group, plain); }

}  // namespace tapline::cuda::overlap_save
