// Keeping errors local where transforms take short filters.
//
// A transform's rounding errors are spread evenly over its block, so a quiet passage that shares a block with a loud one has the
// loud one's error. Where every window of a block is about as loud as the block, nothing is lost; where one is not, the block is
// summed directly. What decides are the block's samples alone, so the bits do not depend on threads or on how a stream is divided.
#pragma once

#include "core/choice/engine.hpp"
#include "cpu/overlap_save/overlap_save_blocks.hpp"

namespace tapline::cpu {

/// Whether short filters are watched over: up to Engine::local_taps() of them, one filter for all rows, accuracy standard.
bool keeps_errors_local(const core::Resolved& problem, const core::Request& request);

/// Outputs of units summed directly, and which units have to be.
template <class T>
class LocalSums {
public:
    /// Does nothing unless keeps_errors_local().
    LocalSums(const core::Resolved& problem, const void* taps, const core::Request& request, const SegmentIo<T>& io,
              const BlockFft<T>& fft);

    [[nodiscard]] bool is_active() const { return direct_ != nullptr; }
    [[nodiscard]] std::size_t workspace_bytes() const;

    /// Whether a transform of the windows at `source` keeps the errors of all their outputs local.
    [[nodiscard]] bool is_even(const Call& call, const Unit& unit, const FftSource<T>& source) const;
    /// The unit's outputs by direct summation.
    void sum(const Call& call, const Unit& unit, std::span<std::byte> workspace) const;

private:
    struct Loudness {
        T total = 0;  ///< sum of squares
        T least = 0;  ///< of kPassage samples that follow each other
    };
    void add(Loudness& loudness, const T* re, const T* im, std::int64_t pitch, std::int64_t first, std::int64_t last,
             bool counts) const;
    void add_side(Loudness& loudness, const Call& call, const Unit& unit, int side, const FftSource<T>& source) const;

    const core::Resolved& problem_;
    const SegmentIo<T>& io_;
    const BlockFft<T>& fft_;
    bool finite_taps_ = true;
    std::unique_ptr<const core::Executable> direct_;  ///< of one row
};

}  // namespace tapline::cpu
