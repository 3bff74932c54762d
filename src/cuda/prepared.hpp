// What the engine keeps of a plan.
#pragma once

#include "cuda/rung.hpp"

namespace tapline::cuda {

/// How a plan without taps goes through its filters: so many at a time as its workspace has room for. What was prepared is the
/// problem of such a group of rows, filter i that of row i.
struct Groups {
    std::int64_t given = 1;    ///< filters that an execution brings
    std::int64_t stride = 0;   ///< elements from one to the next
    std::int64_t filters = 1;  ///< of the whole problem as the rung takes them: row r has filter r % filters
    std::int64_t rows = 1;     ///< of the whole problem
    bool whole = true;         ///< one group of all filters: what was prepared is the whole problem
};

}  // namespace tapline::cuda

namespace tapline::cuda_abi {

struct Prepared : cuda::Prepared {
    std::int64_t made_tables_at = 0, made_taps_at = 0;  ///< bytes into the workspace, of a plan without taps
    cuda::Groups groups;                                ///< of such a plan
};

}  // namespace tapline::cuda_abi

namespace tapline::cuda {

/// Rung `index` of ladder().
const Rung& rung_of(std::int32_t index);

/// Why a rung does not solve a problem; empty: it does. What no rung solves is refused here, for all of them.
Refusal refusal(const Rung& rung, const Problem& problem, const cuda_abi::Device& device);

/// One execution of a plan without taps: what is made of the given ones, then the launches. Throws CudaError.
void launch_with_taps(const cuda_abi::Prepared& prepared, const Job& job, const cuda_abi::DeviceTaps& taps, void* workspace,
                      cudaStream_t stream);

inline bool is_empty(const Job& job) { return job.count < 1 || job.batch < 1; }

}  // namespace tapline::cuda
