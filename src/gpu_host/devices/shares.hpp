// What each of several GPUs does of a call with host buffers: arithmetic only.
#pragma once

#include <vector>

#include "core/problem/window.hpp"

namespace tapline::gpu_host {

/// Of the outer axes the elements [first_element, first_element + elements), of the batch the items [first_item, first_item +
/// items), of the cut axis the outputs [first, first + count).
struct Share {
    std::int64_t first_element = 0, elements = 0;
    std::int64_t first_item = 0, items = 0;
    std::int64_t first = 0, count = 0;
    [[nodiscard]] bool empty() const { return elements < 1 || items < 1 || count < 1; }
};

/// All of `output`, shared among so many devices, as evenly as can be: by elements of outer axes, else by items of the batch where
/// they lie one after the other and are many enough, else by outputs in whole blocks of `granularity`. Shares of the last devices
/// may be empty.
std::vector<Share> shares_of(const core::Resolved& problem, const core::Output& output, std::int64_t granularity, int devices);

}  // namespace tapline::gpu_host
