// Overlap-save with segments larger than shared memory: what the kernel and its launch share.
#pragma once

#include <string>
#include <type_traits>

#include "cuda/families/overlap_save/large/overlap_save_large_order.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_places.hpp"
#include "cuda/families/overlap_save/overlap_save.hpp"

namespace tapline::cuda::overlap_save {

inline constexpr int kTileThreads = 256;
inline constexpr int kTilePoints = 32 * kTileThreads;  // that a block transforms at a time
inline constexpr int kLargeHeadBytes = 128;            // of shared memory: the task, barriers of the warps
inline constexpr int kMostSlots = 16;
/// Rows side by side whose segments count as one: complex64 fills a sector of memory.
inline constexpr int kRowsTogether = 4;
inline constexpr int kMarkSamples = 1024;  // of which some are not finite
inline constexpr int kMostMarks = (1 << 24) / kMarkSamples;

/// What the blocks of a launch tell each other. Zero before it.
struct LargeState {
    unsigned next_task;
    unsigned columns_done[kMostSlots];  // tasks, of all segments that a slot has held
    unsigned rows_done[kMostSlots];
    unsigned next_of_taps[2], taps_done;  // of the taps' own tasks: the next of columns and of rows, columns done
    // By segment modulo 2 * slots: whether it has samples that are not finite, and a bit for each stretch that has.
    unsigned bad[2 * kMostSlots];
    unsigned marks[2 * kMostSlots][kMostMarks / 32];
};

/// How rows of the batch are divided into segments, and where these are on their way.
struct LargeSegments {
    const void* tables;    // as LargeTables
    const void* spectrum;  // (points of a segment)
    void* points;          // (slots, points of a segment)
    LargeState* state;
    std::int64_t start;           // from sample in_first to the first one of segment 0
    int segments, of_row;         // of all rows, of one
    int rows_in_turn;             // rows, if segments go from row to row; 0: along one row after the other
    int outputs;                  // of a segment
    int skip, used;               // a segment's outputs read its samples [skip, used)
    int inner_first, inner_last;  // the segments of every row whose samples all lie in the piece
    LargeOrder order;             // columns of segment s lie where those of s - order.slots were, and finish these
    int real_taps;                // of complex samples
    int plain;                    // outputs side by side and of the signal's type, pairs aligned
    int aligned;                  // every segment's samples begin on 16 bytes
    int paired;                   // its samples and its outputs at twice their size
    // Of parts of a longer segment (../long), which are transformed as they are, NaN and infinities too:
    int are_parts;
    int spectra_mask;         // segment s has spectrum s & mask, of its own points each
    const unsigned* only_if;  // null, or: nothing to do unless this is set
    int spectra;              // that are made of `given`, k taps each, one behind the other: 0 as 1
    // Of taps that came after the plan, for the kernel that makes the spectrum:
    void* made_spectrum;
    void* made_taps;           // (k) in correlation order, or null
    const void* given;         // (k)
    int reversed, conjugated;  // correlation order is the given one reversed, conjugated

    struct Index {
        int row, index;  // of the batch, and there
    };
    [[nodiscard]] TAPLINE_HOST_DEVICE Index index_of(int segment) const {
        const int each = rows_in_turn != 0 ? rows_in_turn : of_row;
        const int turn = segment / each;
        const int in_turn = segment - turn * each;
        return rows_in_turn != 0 ? Index{in_turn, turn} : Index{turn, in_turn};
    }
};

using LargeSegmentKernel = void (*)(Arguments a, LargeSegments segments);

/// A kernel for segments of 32 * radix * 1024 * warps points.
struct LargeKernel {
    LargeSegmentKernel function = nullptr;
    LargeSegmentKernel together = nullptr;  // the same for kRowsTogether rows side by side
    LargeSegmentKernel spectrum = nullptr;  // makes it of taps in GPU memory
    int radix = 0, warps = 0;
    int shared_bytes = 0;
};
inline constexpr int kLeastLargeBits = 18;
inline constexpr int kMostLargeBits = 23;
/// "" or why a filter is too short for such segments.
std::string too_few_taps(std::int64_t taps);

/// body.operator()<radix, warps>() for segments of 2^bits points, or what it returns by default where there are none of this size.
///
/// Tiles of 32 columns, whose samples come in pieces of 128 bytes, and longer rows are faster than 16 columns: f32, 2^28 samples on
/// an H200, 524,287 taps, 2^20 points 2,348 us instead of 2,559, 2^21 points 2,408 instead of 2,576. But rows of one warp, which
/// need no exchange between warps, are worth more: 2^19 points with 65,535 taps 1,782 us, as 256 rows of two warps 1,826.
template <class Body>
auto with_large_shape(int bits, const Body& body) -> decltype(body.template operator()<8, 1>()) {
    switch (bits) {
        case 18:
            return body.template operator()<8, 1>();
        case 19:
            return body.template operator()<16, 1>();
        case 20:
            return body.template operator()<8, 4>();
        case 21:
            return body.template operator()<8, 8>();
        case 22:
            return body.template operator()<16, 8>();
        case 23:
            return body.template operator()<32, 8>();
        default:
            return {};
    }
}

/// Of samples S and 2^bits points, but for its `spectrum`; none if there is no such kernel.
template <class S>
LargeKernel pick_large_kernel(int bits);
/// Its `spectrum`, T one of f32, f64 and the complex types.
template <class T>
LargeSegmentKernel pick_large_spectrum(int bits);
/// The whole of it; taps of 16-bit samples are f32.
template <class S>
LargeKernel large_kernel_of(int bits) {
    LargeKernel kernel = pick_large_kernel<S>(bits);
    kernel.spectrum = pick_large_spectrum<std::conditional_t<sizeof(S) == 2, float, S>>(bits);
    return kernel;
}

}  // namespace tapline::cuda::overlap_save

namespace tapline::cuda {

const Rung& overlap_save_large();
const Rung& overlap_save_pairs();

}  // namespace tapline::cuda
