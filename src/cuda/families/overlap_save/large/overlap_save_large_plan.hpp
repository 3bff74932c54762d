// How large segments are worked on: which kernel, how many at a time, in which order, and what that takes.
#pragma once

#include <limits>

#include "cuda/families/overlap_save/large/overlap_save_large_cut.hpp"

namespace tapline::cuda::overlap_save {

/// Points in double take twice the place: the ring of three segments is a few times the L2 cache at most.
inline constexpr int kMostWideBits = 22;

/// Whether points are in double.
bool is_wide(const Problem& p);
/// Of segments of 2^bits points; none if there are no such segments of the problem's type.
LargeKernel kernel_of(const Problem& p, int bits);
inline std::int64_t tasks_of(const LargeCut& cut) { return cut.points / kTilePoints; }
/// Blocks of a multiprocessor as registers allow them, as the kernels ask for it.
std::int64_t blocks_at_once(const Problem& p, const cuda_abi::Device& device);

/// Segments whose points are kept, the lag of rows behind columns, how many segments' rows take turns (2^together_bits), and
/// whether these alternate with columns: so many tasks lie between one and what it waits for that the blocks of the device have
/// finished it. Rows wait for columns, which take longer than rows: 1.9 times as many tasks as there are blocks; columns wait for
/// rows: as many.
///
/// Rows of two segments take turns, so that both find the same part of the spectrum in the cache, where that costs no place there,
/// as segments are short, or where none of them finds one, as they are long. f32 on an H200, 2^28 and 2^24 samples, 65,535 taps,
/// 2^18 points, a lag of 7 and 13 segments 1,455 and 115 us; one by one with 8 and 13 1,473 and 118, 7 and 12 1,461 and 122, 6 and
/// 11 1,458 and 121; two with 8 and 14 1,478 and 118, four with 7 and 14 1,549. 524,287 taps, 2^21 points 2,101 us instead of
/// 2,185, with LargeOrder's `ahead` 2,071; 1,048,575 taps, 2^22 points 2,240 instead of 2,290, four by four 2,247. But 262,143
/// taps, 2^20 points, a lag of 1 and 3 segments 1,832 us, two by two with 4 segments 2,072.
///
/// Where not even two segments stay in the cache, columns and rows alternate, with as many segments as that needs: memory limits
/// the ones more than the others. 1,048,575 taps, 2^22 points, a lag of 1 and 4 segments 2,204 us; alternately with 3 and 6 2,168,
/// with 2 and 5 2,187, with 2 and 4 2,257. But 524,287 taps, 2^21 points 2,060 us; alternately with 3 and 6 2,091, with 2 and 5
/// 2,113.
///
/// More segments would leave the L2 cache, which costs more than to wait: 2^20 points, a lag of 2 and 4 segments 1,984 us; 131,071
/// taps, 2^19 points 1,713 us with 4 and 7, 1,763 with 3 and 6, 1,837 with 4 and 8; f64, 2^26 samples, 65,535 taps, 2^18 points
/// 1,104 us with 3 and 6, 1,142 with 4 and 7.
struct Ring {
    int lag, slots, together_bits;
    bool is_long, alternates;
};
Ring ring_of(const Problem& p, const LargeCut& cut, const cuda_abi::Device& device);

/// The order of a launch of `segments` segments. Rows of two take turns too where all segments stay in the cache: f32, 131,071
/// taps, 2^19 points, 2^20 and 2^22 samples 33 and 48 us instead of 39 and 53; 262,143 taps, 2^20 points 37 and 66 us instead of 49
/// and 74. Not in double: 2,347,819 samples, 9,413 taps 71 us instead of 53.
///
/// Of long segments a few alternate anyway: 524,287 taps, 2^21 points, 2^24 samples 168 us instead of 180, 2^25 306 instead of 314,
/// 2^26 561 either way.
LargeOrder order_of(const Problem& p, const LargeCut& cut, const Ring& ring, int segments, const cuda_abi::Device& device);

/// Seconds of one execution: of segments of `cut`, as many as the problem's outputs take.
double estimate(const Problem& p, const LargeCut& cut, const cuda_abi::Device& device);

/// Sizes of segments, from 2^least points to 2^most, and a signal that is long beside all of them.
struct Sizes {
    int least, most;
    std::int64_t endless;
};
/// The size that is predicted to be the fastest, 0: there is none. Of segments in an endless signal, whatever this one's length, so
/// that a stream, which does not know it, gives the same bits; but where a shorter segment holds the whole of a row, that.
/// has_size(bits), cut_of(problem, bits), seconds_of(problem, cut).
template <class HasSize, class CutOf, class SecondsOf>
int best_bits(const Problem& p, const Sizes& sizes, const HasSize& has_size, const CutOf& cut_of, const SecondsOf& seconds_of) {
    Problem endless = p;
    endless.x.n = endless.x.outputs = sizes.endless;
    endless.batch.length = 1;
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int bits = sizes.least; bits <= sizes.most; ++bits) {
        if (!has_size(bits)) { continue; }
        const LargeCut whole = cut_of(p, bits);
        if (whole.outputs >= p.x.outputs) {
            return best != 0 && seconds_of(p, cut_of(p, best)) < seconds_of(p, whole) ? best : bits;
        }
        const double seconds = seconds_of(endless, cut_of(endless, bits));
        if (seconds < least) {
            least = seconds;
            best = bits;
        }
    }
    return best;
}

}  // namespace tapline::cuda::overlap_save
