// Which outputs of a stream can be computed, and which samples must be kept: arithmetic only.
#pragma once

#include <cstdint>

#include "core/problem/resolved.hpp"

namespace tapline::core {

/// Frame counts stay below this, so that sums of a few of them cannot overflow.
inline constexpr std::int64_t kStreamLimit = std::int64_t{1} << 59;

/// Stands for the length while nobody knows it: further away than any position that is read.
inline constexpr std::int64_t kFarLength = std::int64_t{1} << 61;

/// Output o of a block reads x(o - origin) .. x(o - origin + k - 1), the block itself up to `lookahead` more. Blocks of
/// `granularity` outputs start at multiples of it. `n` is kUnknownLength until it is known.
class StreamSchedule {
public:
    StreamSchedule(const Resolved& problem, std::int64_t granularity, std::int64_t lookahead);

    /// Outputs [0, ready) can be computed, given that [0, computed) have been, from the first `received` samples. Whole
    /// blocks, except when the whole signal has been received.
    [[nodiscard]] std::int64_t ready(std::int64_t received, std::int64_t computed, std::int64_t n) const;

    /// The first sample that outputs from `computed` on can read (other than from the head), at most `received`.
    [[nodiscard]] std::int64_t keep_from(std::int64_t received, std::int64_t computed) const;

    /// Samples at the start of the signal that the last outputs read (Boundary::wrap), as far as there are so many.
    [[nodiscard]] std::int64_t head_frames() const { return head_; }

    /// Positions [first, last) that outputs [begin, end) read: whole blocks with their lookahead.
    struct Window {
        std::int64_t first;
        std::int64_t last;
    };
    [[nodiscard]] Window window(std::int64_t begin, std::int64_t end) const;

    /// Samples that must have been received before outputs [computed, end) can be computed; more than n if only the end of
    /// the signal makes them ready. `end` is a multiple of the granularity.
    [[nodiscard]] std::int64_t samples_for(std::int64_t computed, std::int64_t end) const;

    /// The most samples that keep_from() keeps when no output that is ready is waiting.
    [[nodiscard]] std::int64_t most_kept() const;

    /// How many frames after an output's last input it is computed at the latest, if runs have `run` outputs.
    [[nodiscard]] std::int64_t latency(std::int64_t run, bool known_length) const;

    [[nodiscard]] std::int64_t granularity() const { return granularity_; }

private:
    [[nodiscard]] std::int64_t samples_for_start(std::int64_t computed) const;

    Mode mode_;
    Boundary boundary_;
    std::int64_t k_;
    std::int64_t origin_;
    std::int64_t granularity_;
    std::int64_t lookahead_;
    std::int64_t extra_outputs_;  ///< output length - n: k-1, 0 or 1-k
    std::int64_t tail_ = 0;       ///< samples at the end of the signal that positions past the end are mapped to
    std::int64_t head_ = 0;
};

}  // namespace tapline::core
