// How many blocks a launch takes.
#pragma once

#include <cstdint>
#include <string>

namespace tapline::cuda {

inline constexpr std::int64_t kMaxBlocks = 2147483647;  // gridDim.x, compute capability 3.0 and later

/// count / size rounded up, without overflow; count >= 1.
constexpr std::int64_t ceil_div(std::int64_t count, std::int64_t size) { return (count - 1) / size + 1; }

/// Why a grid of one block for every `per_block` outputs cannot be launched; empty if it can.
inline std::string refuse_grid(std::int64_t outputs, std::int64_t per_block) {
    const std::int64_t blocks = ceil_div(outputs, per_block);
    if (blocks <= kMaxBlocks) { return {}; }
    return std::to_string(outputs) + " outputs, " + std::to_string(per_block) + " a block, are " + std::to_string(blocks) +
           " blocks; a grid has at most " + std::to_string(kMaxBlocks);
}

/// The grid of a problem that refuse_grid() let pass.
inline unsigned grid_of(std::int64_t outputs, std::int64_t per_block) {
    return static_cast<unsigned>(ceil_div(outputs, per_block));
}

}  // namespace tapline::cuda
