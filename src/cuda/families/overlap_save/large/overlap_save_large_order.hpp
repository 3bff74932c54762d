// The order in which blocks take the tasks of large segments.
#pragma once

#include <cstdint>

#include "cuda/primitives/fft.cuh"

namespace tapline::cuda::overlap_save {

/// What a block does next: part `part` of the columns or rows of a segment of the launch; and the slot of the ring in which the
/// segment lies. Nothing, if there is no such segment.
struct LargeTask {
    int segment, part, slot, is_columns;
};

/// How tasks take turns: first columns of `lag` segments; then by turns those of the next 2^together_bits segments and the rows of
/// the first as many that lack them, part by part of each, so that a part of the spectrum is read from memory once for all of them.
/// They alternate, or rows come after columns. Segments count from -ahead on, and those before 0 have nothing to do, so that the
/// last turn is full: else its rows would wait for the columns just before them. 1,048,575 taps, 2^21 points, 2^24 samples, 6
/// segments 188 us, without this 230, one by one 211.
struct LargeOrder {
    int lag, together_bits, slots, alternates, ahead;
    unsigned reciprocal;  // of slots: a division would take longer than anything else between two tasks

    /// Of `segments` segments in all and at least 2 slots.
    static constexpr LargeOrder of(int lag, int together_bits, int slots, bool alternates, int segments) {
        const int together = 1 << together_bits;
        const int ahead = ((lag - segments) % together + together) % together;
        const auto count = static_cast<unsigned>(slots);
        return {lag, together_bits, slots, alternates ? 1 : 0, ahead < lag ? ahead : lag, 0xffffffffu / count + 1};
    }

    /// Task number `number`, where 2^bits belong to the columns of a segment and as many to its rows. Rows come after the columns
    /// of their segment, and columns of segment s after the rows of s - slots, if slots - lag, and lag if they alternate, is at
    /// least 2^together_bits.
    [[nodiscard]] TAPLINE_HOST_DEVICE constexpr LargeTask task(unsigned number, int bits) const {
        const auto low = [](unsigned all, int low_bits) { return all & ((1u << low_bits) - 1); };
        const auto columns = [](unsigned segment, unsigned part) {
            return LargeTask{static_cast<int>(segment), static_cast<int>(part), 0, 1};
        };
        const unsigned alone = static_cast<unsigned>(lag) << bits;
        number += static_cast<unsigned>(ahead) << bits;
        LargeTask task = columns(number >> bits, low(number, bits));
        if (number >= alone) {
            number -= alone;
            const int turn_bits = bits + together_bits;
            const unsigned first = number >> (turn_bits + 1) << together_bits;
            const unsigned in_turn = low(number, turn_bits + 1);
            const bool is_columns = (alternates != 0 ? in_turn & 1 : in_turn >> turn_bits) == 0;
            const unsigned of_kind = alternates != 0 ? in_turn >> 1 : low(in_turn, turn_bits);
            if (is_columns) {
                task = columns(static_cast<unsigned>(lag) + first + (of_kind >> bits), low(of_kind, bits));
            } else {
                task = {static_cast<int>(first + low(of_kind, together_bits)), static_cast<int>(of_kind >> together_bits), 0, 0};
            }
        }
        task.segment -= ahead;
        task.slot = task.segment - turn_of(task.segment) * slots;
        return task;
    }
    /// How many segments lay in the slot of this one before, which is one of 2^20 or fewer; for those before 0 anything.
    [[nodiscard]] TAPLINE_HOST_DEVICE constexpr int turn_of(int segment) const {
        return segment < 0 ? 0 : static_cast<int>(std::uint64_t{reciprocal} * static_cast<unsigned>(segment) >> 32);
    }
};

}  // namespace tapline::cuda::overlap_save
