// What the engine keeps of a plan.
#pragma once

#include "cuda/rung.hpp"

namespace tapline::cuda_abi {

struct Prepared : cuda::Prepared {
    std::int64_t made_tables_at = 0, made_taps_at = 0;  ///< bytes into the workspace, of a plan without taps
};

}  // namespace tapline::cuda_abi

namespace tapline::cuda {

/// Rung `index` of ladder().
const Rung& rung_of(std::int32_t index);

/// Why a rung does not solve a problem; empty: it does. What no rung solves is refused here, for all of them.
Refusal refusal(const Rung& rung, const Problem& problem, const cuda_abi::Device& device);

inline bool is_empty(const Job& job) { return job.count < 1 || job.batch < 1; }

}  // namespace tapline::cuda
