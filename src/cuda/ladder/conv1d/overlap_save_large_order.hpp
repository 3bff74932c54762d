// The order in which blocks take the tasks of large segments.
#pragma once

#include "cuda/primitives/fft.cuh"

namespace tapline::cuda::overlap_save {

/// What a block does next: part `part` of the columns or rows of a segment of the launch; and the slot of the ring in which the
/// segment lies. Nothing, if there is no such segment.
struct LargeTask {
    int segment, part, slot, is_columns;
};

/// How tasks take turns: first columns of `lag` segments; then by turns those of the next 2^together_bits segments and the rows of
/// the first as many that lack them, part by part of each, so that a part of the spectrum is read from memory once for all of them.
/// Segments count from -ahead on, and those before 0 have nothing to do, so that the last turn is full: else its rows would wait
/// for the columns just before them. 1,048,575 taps, 2^21 points, 2^24 samples, 6 segments 188 us, without this 230, one by one
/// 211.
struct LargeOrder {
    int lag, together_bits, ahead, slots;

    /// Of `segments` segments in all.
    static constexpr LargeOrder of(int lag, int together_bits, int slots, int segments) {
        const int together = 1 << together_bits;
        const int ahead = ((lag - segments) % together + together) % together;
        return {lag, together_bits, ahead < lag ? ahead : lag, slots};
    }

    /// Task number `number`, where 2^bits belong to the columns of a segment and as many to its rows. Rows come after the columns
    /// of their segment, and columns of segment s after the rows of s - slots, if slots - lag is at least 2^together_bits.
    [[nodiscard]] TAPLINE_HOST_DEVICE constexpr LargeTask task(unsigned number, int bits) const {
        const auto low = [](unsigned all, int low_bits) { return static_cast<int>(all & ((1u << low_bits) - 1)); };
        const unsigned alone = static_cast<unsigned>(lag) << bits;
        number += static_cast<unsigned>(ahead) << bits;
        LargeTask task{static_cast<int>(number >> bits), low(number, bits), 0, 1};
        if (number >= alone) {
            number -= alone;
            const int turn_bits = bits + together_bits;
            const int first = static_cast<int>(number >> (turn_bits + 1) << together_bits);
            const int in_turn = low(number, turn_bits);
            if ((number >> turn_bits & 1) == 0) {
                task = {lag + first + (in_turn >> bits), low(number, bits), 0, 1};
            } else {
                task = {first + low(number, together_bits), in_turn >> together_bits, 0, 0};
            }
        }
        task.segment -= ahead;
        task.slot = task.segment < 0 ? 0 : task.segment % slots;
        return task;
    }
};

}  // namespace tapline::cuda::overlap_save
