// What the rungs of direct summation have in common: policies, tiles of a row.
#pragma once

#include <string>

#include "cuda/families/common/grids.hpp"
#include "cuda/primitives/arguments.hpp"
#include "cuda/rung.hpp"

namespace tapline::cuda {

/// Chunks of fewer taps are multiples of this: vectors of every type.
inline constexpr int kChunkUnit = 16;

[[noreturn]] inline void refuse_policy() { throw CudaError(cuda_abi::Code::argument, "policy: no kernel of these sizes"); }

/// Tiles of a row start up to V - 1 outputs early.
inline void set_tiles(Arguments& a, std::int64_t tile, int per_vector) { a.tiles = divide_up(a.count + per_vector - 1, tile); }

inline std::string sizes(const Policy& policy, const std::string& more) {
    return std::to_string(policy.vectors_per_thread) + " vectors a thread, " + std::to_string(policy.threads_per_block) +
           " threads a block, " + more;
}

inline Policy with_defaults(Policy policy, const Policy& defaults) {
    if (policy.vectors_per_thread == 0) { policy.vectors_per_thread = defaults.vectors_per_thread; }
    if (policy.threads_per_block == 0) { policy.threads_per_block = defaults.threads_per_block; }
    if (policy.tiles_per_block == 0) {
        policy.tiles_per_block = defaults.tiles_per_block;
        policy.windows_per_warp = defaults.windows_per_warp;
    }
    return policy;
}

}  // namespace tapline::cuda
