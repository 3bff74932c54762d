// Where threads and tiles of the kernel of tiles are: in a block, in memory, in their order.
#pragma once

#include "cuda/families/overlap_save/overlap_save.hpp"
#include "cuda/primitives/lines/lines.cuh"
#include "cuda/primitives/segment.cuh"

namespace tapline::cuda::overlap_save {

/// Waits for all warps of a team of segments.
template <int kWarps>
__device__ __forceinline__ void sync_team(int segments, int team_of_block, int segment_of_block) {
    if (segments == 1) {
        sync_segment<kWarps>(segment_of_block);
        return;
    }
#if defined(__CUDA_ARCH__)
    // Segments have the numbers before it; those of one warp have none.
    const int number = (kWarps == 1 ? 1 : 1 + kMostSegments / kWarps) + team_of_block;
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(32 * kWarps * segments) : "memory");
#else
    static_cast<void>(team_of_block);
    __syncthreads();  // compiled as C++ for a test
#endif
}

/// A thread's places in a block, in one register: what it is in its team in memory order, where a warp's threads go from line to
/// line if lines lie closer than samples, and in the order of lines, where a warp has one of them or a part of it. Else the
/// compiler computes all addresses before the loop and keeps them in local memory, which misses the first-level cache.
template <int kWarps>
class TeamThread {
public:
    __device__ __forceinline__ explicit TeamThread(int lines) {
        const int in_block = static_cast<int>(threadIdx.x) / kStep;
        const int team = in_block / lines;
        const int line = in_block - team * lines;
        const int in_team = line * kStep + static_cast<int>(threadIdx.x) % kStep;
        places_ = in_team % lines | in_team / lines << 5 | line << 14 | team << 19;
    }
    /// The same, of which nothing is known from before.
    [[nodiscard]] __device__ __forceinline__ TeamThread anew() const {
        TeamThread same = *this;
        asm volatile("" : "+r"(same.places_));
        return same;
    }
    [[nodiscard]] __device__ __forceinline__ int team() const { return places_ >> 19; }
    /// Its line, and its number among the threads of that line's segment.
    [[nodiscard]] __device__ __forceinline__ int line() const { return places_ & 31; }
    [[nodiscard]] __device__ __forceinline__ int thread() const { return places_ >> 5 & 511; }
    /// The same in the order of lines.
    [[nodiscard]] __device__ __forceinline__ int own_line() const { return places_ >> 14 & 31; }
    [[nodiscard]] __device__ __forceinline__ int own_thread() const { return static_cast<int>(threadIdx.x) % kStep; }

    struct Place {
        int line, thread;
    };
    [[nodiscard]] __device__ __forceinline__ Place place(bool in_memory_order) const {
        return in_memory_order ? Place{line(), thread()} : Place{own_line(), own_thread()};
    }

private:
    static constexpr int kStep = 32 * kWarps;
    int places_ = 0;
};

/// The regions of a team's lines lie so many points further apart than they are long that threads which go from line to line meet
/// in no bank.
template <class Point>
TAPLINE_HOST_DEVICE constexpr int line_padding(int lines) {
    constexpr int kAtOnce = 128 / static_cast<int>(sizeof(Point));
    constexpr int kUnit = kInCouples<Point> ? 2 : 1;
    return lines == 1 ? 0 : (kAtOnce / lines + kUnit - 1) / kUnit * kUnit;
}
template <class Point>
inline constexpr int kMostPadding = line_padding<Point>(2);

/// Lines of tiles whose samples are staged: as many as fill a sector of memory, or a block. Of one warp a segment none: others
/// compute while samples come straight from memory. H100, (2^20, 64), 127 taps 287 us, staged 313; of two warps 1,023 taps 493,
/// staged 404.
template <class X, int kWarps, class Shape>
TAPLINE_HOST_DEVICE constexpr int staged_lines() {
    if (kWarps == 1) { return 0; }
    constexpr int kHeld = Shape::kThreads / (32 * kWarps);
    constexpr int kOfSector = 32 / static_cast<int>(sizeof(X));
    constexpr int kLines = kHeld < kOfSector ? kHeld : kOfSector;
    return kLines * static_cast<int>(sizeof(X)) < 16 ? 0 : kLines;
}

/// The same where samples come ahead, to a stage of kAheadStageBytes.
template <class X>
inline constexpr int kAheadLines = 32 / static_cast<int>(sizeof(X));

inline constexpr int kTileBytes = 80;  // what is kept of a tile

template <class Shape, int kWarps, class Point>
TAPLINE_HOST_DEVICE constexpr SharedLayout tiles_layout() {
    SharedLayout layout = shared_layout<Shape, kWarps, sizeof(Point), Spectrum::passing>();
    layout.segment_bytes += kMostPadding<Point> * static_cast<int>(sizeof(Point));
    constexpr int kTiles = kTileBytes * kMostSegments;  // behind the barriers
    layout.pairs += kTiles;
    layout.twiddles += kTiles;
    layout.spectrum += kTiles;
    layout.segments += kTiles;
    return layout;
}

/// A team's exchange of points between two transforms, from threads in memory order to threads in that of lines, and back, or not
/// where outputs lie closer than lines.
template <int kWarps, bool kCouples, class Point, class Sync>
struct TeamExchange {
    TeamThread<kWarps> who;
    Point* points;    // of the team
    int line_points;  // from one line to the next
    const Point* table;
    const Sync& all;
    bool goes_back;

    static constexpr int kPitch = kCouples ? kExchangeRow<Point> : 33;
    [[nodiscard]] __device__ __forceinline__ Point* column(int direction) const {
        const Place at(who.anew().place(direction == 0));
        return points + at.line * line_points + at.warp() * kExchangePoints<Point> + at.lane();
    }
    [[nodiscard]] __device__ __forceinline__ const Point* row(int direction) const {
        const Place at(who.anew().place(direction != 0 && goes_back));
        return points + at.line * line_points + at.warp() * kExchangePoints<Point> + kPitch * at.lane();
    }
    [[nodiscard]] __device__ __forceinline__ const Point* pairs(int direction) const {
        const Place at(who.anew().place(direction != 0 && goes_back));
        return table + at.warp() * kPairs + (kCouples ? 2 : 1) * at.lane();
    }
    __device__ __forceinline__ void sync() const { all(); }

private:
    struct Place : TeamThread<kWarps>::Place {
        __device__ __forceinline__ explicit Place(const typename TeamThread<kWarps>::Place& of) : TeamThread<kWarps>::Place(of) {}
        [[nodiscard]] __device__ __forceinline__ int warp() const { return kWarps == 1 ? 0 : this->thread / 32; }
        [[nodiscard]] __device__ __forceinline__ int lane() const { return kWarps == 1 ? this->thread : this->thread % 32; }
    };
};

/// Where a tile is in its order, as digits: along the axis that goes first, along the other one of Rows::near and the filtered one,
/// along the others. Counting on needs no division.
struct TileDigits {
    static constexpr int kDigits = 2 + Rows::kMostOthers;
    int of[kDigits];

    static __device__ __forceinline__ std::int64_t radix(const Segments& g, int i) {
        if (i < 2) { return (i == 0) == (g.near_first != 0) ? g.rows.near_tiles : g.segments; }
        return g.rows.others[i - 2].length;
    }
    static __device__ __forceinline__ TileDigits at(const Segments& g, std::int64_t number) {
        TileDigits d{};
#pragma unroll
        for (int i = 0; i < kDigits; ++i) {
            const std::int64_t before = number;
            number = divide(number, radix(g, i));
            d.of[i] = static_cast<int>(before - number * radix(g, i));
        }
        return d;
    }
    [[nodiscard]] __device__ __forceinline__ TileDigits plus(const Segments& g, const int (&step)[kDigits]) const {
        TileDigits d{};
        int carry = 0;
#pragma unroll
        for (int i = 0; i < kDigits; ++i) {
            d.of[i] = of[i] + step[i] + carry;
            carry = d.of[i] >= static_cast<int>(radix(g, i)) ? 1 : 0;
            if (carry != 0) { d.of[i] -= static_cast<int>(radix(g, i)); }
        }
        return d;
    }
    [[nodiscard]] __device__ __forceinline__ LineTile tile(const Segments& g) const {
        const Rows& rows = g.rows;
        const std::int64_t first = static_cast<std::int64_t>(g.near_first != 0 ? of[0] : of[1]) * rows.lines;
        LineTile t{};
        t.tile = g.near_first != 0 ? of[1] : of[0];
        t.in = first * rows.near.in;
        t.out = first * rows.near.out;
        t.row = first * g.row_steps.near;
        t.lines = static_cast<int>(min(rows.near.length - first, std::int64_t{rows.lines}));
#pragma unroll
        for (int i = 0; i < Rows::kMostOthers; ++i) {
            t.in += of[2 + i] * rows.others[i].in;
            t.out += of[2 + i] * rows.others[i].out;
            t.row += of[2 + i] * g.row_steps.others[i];
        }
        return t;
    }
};

/// A tile as it is kept in shared memory: registers are for points. What the compiler keeps in local memory instead misses the
/// first-level cache, which samples pass through: 395 us instead of 287 (127 taps).
struct KeptTile {
    TileDigits digits;
    int wanted, lines;  // outputs of a line, lines
    std::int64_t number, first_output;
    std::int64_t in, out, row;  // as LineTile

    /// By one thread.
    __device__ __forceinline__ void set(const Arguments& a, const Segments& g, const TileDigits& of, std::int64_t its_number) {
        const LineTile t = of.tile(g);
        digits = of;
        number = its_number;
        first_output = t.tile * g.outputs;
        wanted = static_cast<int>(min(a.count - first_output, std::int64_t{g.outputs}));
        lines = t.lines;
        in = t.in;
        out = t.out;
        row = t.row;
    }
};
static_assert(sizeof(KeptTile) <= kTileBytes);

/// Where a warp's tiles are kept, behind the barriers, and who finds the next one. kAhead: it is known while this one is computed,
/// so that its samples can come meanwhile: a team has two places, in which its first thread writes by turns. Else each warp has
/// one, in which its first lane writes between two tiles.
template <int kWarps, bool kAhead>
class KeptTiles {
public:
    __device__ __forceinline__ KeptTiles(char* behind_barriers, const TeamThread<kWarps>& who)
        : first_(reinterpret_cast<KeptTile*>(behind_barriers + kTileBytes * place_of(who))),
          is_writer_(kAhead ? who.own_line() == 0 && who.own_thread() == 0 : threadIdx.x % 32 == 0) {}

    [[nodiscard]] __device__ __forceinline__ KeptTile& of(std::uint32_t turn) const {
        return kAhead ? *reinterpret_cast<KeptTile*>(reinterpret_cast<char*>(first_) + kTileBytes * (turn & 1)) : *first_;
    }
    [[nodiscard]] __device__ __forceinline__ bool exists(const Segments& g, std::uint32_t turn) const {
        return of(turn).number < g.rows.tiles;
    }
    /// The first one, for all threads behind a barrier of the team.
    __device__ __forceinline__ void set_first(const Arguments& a, const Segments& g, int team) const {
        const std::int64_t number = blockIdx.x + static_cast<std::int64_t>(team) * gridDim.x;
        if (is_writer_) { of(0).set(a, g, TileDigits::at(g, number), number); }
    }
    /// That of turn + 1, `step` tiles on.
    __device__ __forceinline__ void set_next(const Arguments& a, const Segments& g, std::uint32_t turn, std::int64_t step) const {
        if (is_writer_) { of(turn + 1).set(a, g, of(turn).digits.plus(g, g.after), of(turn).number + step); }
    }

private:
    static __device__ __forceinline__ int place_of(const TeamThread<kWarps>& who) {
        return kAhead ? 2 * who.team() : static_cast<int>(threadIdx.x) / 32;
    }

    KeptTile* first_;
    bool is_writer_;
};

}  // namespace tapline::cuda::overlap_save
