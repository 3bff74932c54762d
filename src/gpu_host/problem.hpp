// A problem and its taps as the CUDA library takes them.
#pragma once

#include <vector>

#include "core/choice/engine.hpp"
#include "cuda/abi.hpp"

namespace tapline::gpu_host {

/// Elements that lie side by side at one position of the cut axis: a signal's sample, the pixels of an image's row.
struct PositionElements {
    std::int64_t in = 1, out = 1;
};
PositionElements position_elements(const core::Resolved& problem);

/// The problem laid out as host buffers are on a GPU: nothing between pixels, rows and items.
core::Resolved packed(core::Resolved problem);

/// The problem as the library wants it. An unknown length becomes some large one; with request.host_buffers it is packed.
cuda_abi::Problem to_abi(const core::Resolved& problem, const core::Request& request);

/// Taps in correlation order with the factors of every mask: masks of a lower rank than others have zeros for what they lack.
class TapsWithFactors {
public:
    /// `taps` must outlive this.
    TapsWithFactors(const core::Resolved& problem, const void* taps, const core::TapsFacts& facts);
    [[nodiscard]] cuda_abi::HostTaps get() const { return {taps_, columns_.data(), rows_.data()}; }

private:
    const void* taps_;
    std::vector<double> columns_, rows_;
};

}  // namespace tapline::gpu_host
