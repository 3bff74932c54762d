// Keeping errors local where transforms take short filters.
//
// A transform's rounding errors are spread evenly over its block, so a quiet passage that shares a block with a loud one has the
// loud one's error. Where every window of a block is about as loud as the block, nothing is lost; where one is not, the block is
// summed directly. What decides are the block's samples alone, so the bits do not depend on threads or on how a stream is divided.
#pragma once

#include <array>

#include "core/choice/engine.hpp"
#include "cpu/overlap_save/overlap_save_blocks.hpp"

namespace tapline::cpu {

/// Whether short filters are watched over: up to Engine::local_taps() of them, one filter for all rows, accuracy standard.
bool keeps_errors_local(const core::Resolved& problem, const core::Request& request);

/// What of a window is looked at: positions [from, to) hold samples, passages begin at every kFftPassage-th position of
/// [first, last), and at those of at_ends() that are not negative.
struct LocalPassages {
    std::int64_t from = 0, to = 0, first = 0, last = 0;
    /// Too few samples for a passage, but some.
    [[nodiscard]] bool is_short() const { return to > from && to - from < kFftPassage; }
    [[nodiscard]] std::array<std::int64_t, 2> at_ends() const {
        if (to - from < kFftPassage) { return {-1, -1}; }
        return {from % kFftPassage != 0 ? from : -1, to % kFftPassage != 0 ? to - kFftPassage : -1};
    }
};
/// Of a window of `size` samples from position `begin` on; no output reads position needed_end. n: of the signal.
LocalPassages local_passages(Boundary boundary, std::int64_t n, std::int64_t begin, std::int64_t needed_end, std::int64_t size);

/// Whether a transform of so many points keeps the errors of all its outputs local: `total` is the power of what it reads, `least`
/// that of its quietest passage, real_bytes the size of its numbers.
bool is_even_enough(double total, double least, std::int64_t size, bool complex, std::size_t real_bytes);

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
