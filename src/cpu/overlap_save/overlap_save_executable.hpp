// What the executables of both overlap-save algorithms hold.
#pragma once

#include <algorithm>

#include "cpu/overlap_save/overlap_save_blocks.hpp"
#include "cpu/overlap_save/overlap_save_taps.hpp"
#include "cpu/overlap_save/repair.hpp"

namespace tapline::cpu {

template <class T>
class OverlapSaveExecutable : public core::Executable {
public:
    OverlapSaveExecutable(const core::Resolved& problem, const void* taps, const core::Request& request,
                          const OverlapSaveShape& shape)
        : problem_(problem),
          shape_(shape),
          threads_(request.threads),
          target_(current_target()),
          fft_(target_, shape.log2_size),
          taps_(prepare_taps(problem_, shape, fft_, taps, request.threads)),
          io_(problem_, shape_, fft_),
          repair_(problem_, io_, fft_, taps_) {}

    [[nodiscard]] std::int64_t granularity() const final { return overlap_save_granularity(problem_, shape_); }

protected:
    /// The workspace: a buffer of so many elements for each slot, then the transforms' scratch.
    [[nodiscard]] std::size_t slots_bytes(std::int64_t slot_elements) const {
        const std::int64_t scratch = fft_.tables().scratch_extent * std::max(shape_.slots, shape_.shared ? threads_ : 1);
        return static_cast<std::size_t>(shape_.slots * slot_elements + scratch) * sizeof(T);
    }
    /// Threads inside each transform, and tasks side by side.
    [[nodiscard]] int transform_threads() const { return shape_.shared ? threads_ : 1; }
    [[nodiscard]] int task_threads() const { return shape_.shared ? 1 : shape_.slots; }

    core::Resolved problem_;
    OverlapSaveShape shape_;
    int threads_;
    Target target_;
    BlockFft<T> fft_;
    OverlapSaveTaps<T> taps_;
    SegmentIo<T> io_;
    Repair<T> repair_;
};

/// The executable of partitioned_algorithm().
std::unique_ptr<core::Executable> prepare_partitioned(const core::Resolved& problem, const void* taps, const core::Request& request,
                                                      const OverlapSaveShape& shape);

}  // namespace tapline::cpu
