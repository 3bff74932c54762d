// Segments of any layout and type: threads of neighbouring rows read and write together, from and to registers.
#pragma once

#include "cuda/families/overlap_save/overlap_save_outputs.cuh"
#include "cuda/families/overlap_save/overlap_save_samples.cuh"
#include "cuda/families/overlap_save/segment/overlap_save_convolve.cuh"
#include "cuda/primitives/lines/lines.cuh"

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
    __syncthreads();
#endif
}

/// The sum of output o of a line, directly; `in`: its sample in_first, in elements.
template <class X, class H>
__device__ __noinline__ X direct_sum_of_line(const Arguments& a, const Rows& rows, std::int64_t in, const H* taps, std::int64_t o,
                                             X sum) {
    const std::int64_t first = a.first + o - a.origin;
    for (std::int64_t t = 0; t < a.k; ++t) {
        std::int64_t position = first + t;
        bool is_there = position >= a.in_first && position < a.in_last;  // also outside [0, n), if a caller put it there
        if (!is_there) {
            if (a.boundary == kZero) { continue; }
            position = boundary_index(a.boundary, position, a.n);
            is_there = position >= a.in_first && position < a.in_last;
        }
        const X x = is_there ? load_any<X>(rows.input_type, rows.input_bytes, a.in, in + (position - a.in_first) * a.in_sample)
                             : boundary_constant<X>(a);
        multiply_add(sum, x, taps[t]);
    }
    return sum;
}

/// A thread of a team: its line, and its number among the threads of that line's segment. In memory order a warp's threads go from
/// line to line, where lines lie closer than samples; in the order of lines it has one of them, or a part of it.
struct TeamThread {
    int line, thread;
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

/// Lines of tiles whose samples are staged: as many as fill a sector of memory, or a block.
template <class X, int kWarps, class Shape>
TAPLINE_HOST_DEVICE constexpr int staged_lines() {
    constexpr int kHeld = Shape::kThreads / (32 * kWarps);
    constexpr int kOfSector = 32 / static_cast<int>(sizeof(X));
    constexpr int kLines = kHeld < kOfSector ? kHeld : kOfSector;
    return kLines * static_cast<int>(sizeof(X)) < 16 ? 0 : kLines;
}

template <class Shape, int kWarps, class Point>
TAPLINE_HOST_DEVICE constexpr SharedLayout tiles_layout() {
    SharedLayout layout = shared_layout<Shape, kWarps, sizeof(Point), Spectrum::passing>();
    layout.segment_bytes += kMostPadding<Point> * static_cast<int>(sizeof(Point));
    return layout;
}

/// A team's exchange of points between two transforms, from threads in memory order to threads in that of lines, and back.
template <bool kCouples, class Point, class Sync>
struct TeamExchange {
    Point *near, *far;                    // the thread's warp's points, in memory order and in that of lines
    const Point *near_pairs, *far_pairs;  // of its lane
    int near_lane, far_lane;
    const Sync& all;

    static constexpr int kPitch = kCouples ? kExchangeRow<Point> : 33;
    [[nodiscard]] __device__ __forceinline__ Point* column(int direction) const {
        return direction == 0 ? near + near_lane : far + far_lane;
    }
    [[nodiscard]] __device__ __forceinline__ const Point* row(int direction) const {
        return direction == 0 ? far + kPitch * far_lane : near + kPitch * near_lane;
    }
    [[nodiscard]] __device__ __forceinline__ const Point* pairs(int direction) const {
        return direction == 0 ? far_pairs : near_pairs;
    }
    __device__ __forceinline__ void sync() const { all(); }
};

/// Point `number`, a constant, of a thread's 32 or, of two warps a segment, 64: sample t + offset, of real samples also the one half
/// a segment on.
template <int kWarps>
TAPLINE_HOST_DEVICE constexpr int point_offset(int number) {
    constexpr int kSpan = 32 * kWarps;
    return kWarps == 2 ? 32 * number : kSpan * (number / kWarps) + kPoints * (number % kWarps);
}

/// Points [kFrom, kFrom + kCount) of a thread, of samples Raw; sample_at(offset): the one at a constant's place.
template <class X, class Raw, int kWarps, int kFrom, int kCount, class T, class SampleAt>
__device__ __forceinline__ void read_points(Dtype type, T* re, T* im, const SampleAt& sample_at) {
    constexpr int kParts = kIsComplexElement<X> ? 1 : 2;
    Raw raw[kParts * kCount];
    fft::for_each_index<0, kParts * kCount>([&](auto index) {
        constexpr int i = decltype(index)::value;
        raw[i] = sample_at(std::integral_constant<int, point_offset<kWarps>(kFrom + i % kCount) + i / kCount * kPoints * kWarps>{});
    });
    X x[kParts * kCount];
    widen_raw(type, raw, x);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
        if constexpr (kIsComplexElement<X>) {
            re[i] = x[i].x;
            im[i] = x[i].y;
        } else {
            re[i] = x[i];
            im[i] = x[kCount + i];
        }
    }
}

/// body(Raw()) with the type in which samples of sums X lie in memory.
template <class X, class Body>
__device__ __forceinline__ void with_samples(const Rows& rows, const Body& body) {
    if constexpr (kIsComplexElement<X>) {
        body(X{});
    } else {
        with_input<X>(rows.input_type, rows.input_bytes, body);
    }
}

/// The samples that the outputs of the thread's line read, [first, needed): those of [begin, end) from memory, the others from
/// `outside`, or zeros where that is null.
template <class X, int kWarps>
struct LineSamples {
    static constexpr int kSpan = kWarps == 2 ? 32 : 32 * kWarps;
    static constexpr int kSamples = (kIsComplexElement<X> ? 1 : 2) * kPoints * kWarps;

    const Arguments& a;
    const Rows& rows;
    std::int64_t at;  // of sample 0, in elements
    int first, needed, begin, end;
    const X* outside;
    bool is_inner;  // all from memory, of a whole segment: then only the first and the last few may not be read

    template <int kFrom, int kCount, class T>
    __device__ __forceinline__ void read(int t, T* re, T* im) const {
        if (outside != nullptr) {
            return read_points<X, X, kWarps, kFrom, kCount>(kOwnType<X>, re, im, [&](auto offset) {
                const int own = t + decltype(offset)::value;
                return own < first || own >= needed ? X{} : outside[own];
            });
        }
        with_samples<X>(rows, [&](auto type) {
            using Raw = decltype(type);
            const Raw* const from = static_cast<const Raw*>(a.in) + (at + t * a.in_sample);
            const auto read_all = [&](auto inner) {
                read_points<X, Raw, kWarps, kFrom, kCount>(rows.input_type, re, im, [&](auto offset) {
                    constexpr int kAt = decltype(offset)::value;
                    constexpr int kPart = kWarps == 2 ? kPoints / 2 : kSamples;
                    constexpr bool kAlways = decltype(inner)::value && kAt % kPart != 0 && (kAt + kSpan) % kPart != 0;
                    return kAlways || (t + kAt >= begin && t + kAt < end) ? load_element(from + kAt * a.in_sample) : Raw{};
                });
            };
            if (is_inner) {
                read_all(std::true_type{});
            } else {
                read_all(std::false_type{});
            }
        });
    }
};

/// The same from a stage, where element t of line l lies at t * kLines + l; what outputs do not read is zero there.
template <class X, int kWarps, int kLines>
struct StagedSamples {
    const Rows& rows;
    const char* stage;
    int line;

    template <int kFrom, int kCount, class T>
    __device__ __forceinline__ void read(int t, T* re, T* im) const {
        with_samples<X>(rows, [&](auto type) {
            using Raw = decltype(type);
            const Raw* const from = reinterpret_cast<const Raw*>(stage) + t * kLines + line;
            read_points<X, Raw, kWarps, kFrom, kCount>(rows.input_type, re, im,
                                                       [&](auto offset) { return from[decltype(offset)::value * kLines]; });
        });
    }
};

/// Of a thread in memory order: its points as Division::take_apart() reads them, for two warps a segment as that leaves them.
template <int kWarps, bool kComplex, class Samples, class T>
__device__ __forceinline__ void read_line(const Samples& samples, T (&re)[32], T (&im)[32], int thread) {
    if constexpr (kWarps == 2) {
        const T sign = thread < 32 ? T{1} : T{-1};
        constexpr int kEach = 8;
        fft::for_each_index<0, 32 / kEach>([&](auto part) {
            constexpr int i = decltype(part)::value * kEach;
            const int t = Division<2, kComplex>::turned(thread, i);
            T x[kEach];
            T y[kEach];
            samples.template read<i, kEach>(t, re + i, im + i);
            samples.template read<32 + i, kEach>(t, x, y);
#pragma unroll
            for (int j = 0; j < kEach; ++j) { Division<2, kComplex>::add_upper(sign, x[j], y[j], re[i + j], im[i + j]); }
        });
    } else {
        samples.template read<0, 32>(thread, re, im);
    }
}

/// Samples [first, needed) of a line, some of which do not lie in the piece, to their places there, by its threads.
template <class X>
__device__ __noinline__ void fill_line(const Arguments& a, const Rows& rows, X* to, std::int64_t line_at, std::int64_t start, int first,
                                       int needed, int thread, int threads) {
    X constant{};
    if (a.boundary == kConstant) { constant = boundary_constant<X>(a); }
#pragma unroll 4
    for (int t = first + thread; t < needed; t += threads) {
        std::int64_t at = start + t;
        X x = constant;
        if (at < 0 || at >= a.in_last - a.in_first) { at = near_boundary_index(a.boundary, a.in_first + at, a.n) - a.in_first; }
        // Where the sample is not there nobody asked for an output that needs it.
        if (at >= 0 && at < a.in_last - a.in_first) {
            x = load_any<X>(rows.input_type, rows.input_bytes, a.in, line_at + at * a.in_sample);
        }
        to[t] = x;
    }
}

/// The samples of a tile to a stage, 16 bytes of neighbouring lines at a time, asynchronously; zeros where nothing is read. By
/// `threads` threads, a power of two.
template <int kSamples>
__device__ __forceinline__ void fill_stage(const Arguments& a, const Segments& g, char* stage, const LineTile& tile, int thread,
                                           int threads) {
    const Rows& rows = g.rows;
    const int row_bytes = rows.lines * rows.input_bytes;
    const int vectors = row_bytes / 16;  // a power of two
    const int part = thread & (vectors - 1);
    const int step = threads / vectors;
    const std::int64_t first_output = tile.tile * g.outputs;
    const std::int64_t start = g.start + first_output;
    const std::int64_t length = a.in_last - a.in_first;
    const int needed = 16 * part < tile.lines * rows.input_bytes
                           ? g.used - static_cast<int>(max(first_output + g.outputs - a.count, std::int64_t{0}))
                           : 0;
    const bool inside = start + g.skip >= 0 && start + g.used <= length;
    const char* const in = static_cast<const char*>(a.in) + tile.in * rows.input_bytes + 16 * part;
    const std::int64_t pitch = a.in_sample * rows.input_bytes;
    int t = thread / vectors;
    char* to = stage + t * row_bytes + 16 * part;
    const char* from = in + (start + t) * pitch;
    const std::int64_t from_step = pitch * step;
#pragma unroll 4
    for (; t < kSamples; t += step) {
        bool is_read = t >= g.skip && t < needed;
        const char* source = from;
        if (!inside) {
            std::int64_t at = start + t;
            if (at < 0 || at >= length) { at = near_boundary_index(a.boundary, a.in_first + at, a.n) - a.in_first; }
            is_read = is_read && at >= 0 && at < length;
            source = in + at * pitch;
        }
        copy_16_or_zeros_async(to, is_read ? source : static_cast<const char*>(a.in), is_read);
        from += from_step;
        to += step * row_bytes;
    }
}

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
        t.row = rows.batch_axis < 0 ? first : 0;
        t.lines = static_cast<int>(min(rows.near.length - first, std::int64_t{rows.lines}));
#pragma unroll
        for (int i = 0; i < Rows::kMostOthers; ++i) {
            t.in += of[2 + i] * rows.others[i].in;
            t.out += of[2 + i] * rows.others[i].out;
            if (rows.batch_axis == i) { t.row = of[2 + i]; }
        }
        return t;
    }
};

/// A thread's outputs of a segment on their way to a line, of which `left` exist from the thread's first one on.
template <class X, class Outputs, int kStage, class T>
__device__ __forceinline__ void store_line(const Arguments& a, const Rows& rows, std::int64_t at, int left, const T* re,
                                           const T* im) {
    using Parts = typename Outputs::Parts;
    constexpr int kGroup = sizeof(X) > 8 ? 4 : 8;
    const auto store_part = [&](auto* to, auto part, const auto& value_of) {
        using Raw = std::remove_reference_t<decltype(*to)>;
        fft::for_each_index<0, Outputs::kOfStage / kGroup>([&](auto group) {
            constexpr int kFrom = decltype(part)::value;
            constexpr int kFirst = decltype(group)::value * kGroup;
            constexpr int kLast = kFrom + Parts::offset(Parts::staged(Outputs::kStages, kStage, kFirst + kGroup - 1));
            if (left <= kFrom + Parts::offset(Parts::staged(Outputs::kStages, kStage, kFirst))) { return; }
            X x[kGroup];
            Raw raw[kGroup];
            fft::for_each_index<0, kGroup>([&](auto index) {
                constexpr int i = decltype(index)::value;
                x[i] = value_of(Parts::held(Parts::staged(Outputs::kStages, kStage, kFirst + i)));
            });
            narrow_to_raw(a.output_type, x, raw);
            const bool all = left > kLast;
            // Step by step: of each by itself the address takes as long as to compute as the rest.
            const std::int64_t stride = a.out_sample;
            Raw* at = to + (kFrom + Parts::offset(Parts::staged(Outputs::kStages, kStage, kFirst))) * stride;
            fft::for_each_index<0, kGroup>([&](auto index) {
                constexpr int i = decltype(index)::value;
                constexpr int kOwn = Parts::offset(Parts::staged(Outputs::kStages, kStage, kFirst + i));
                if (all || left > kFrom + kOwn) { store_element(at, raw[i]); }
                if constexpr (i + 1 < kGroup) {
                    at += (Parts::offset(Parts::staged(Outputs::kStages, kStage, kFirst + i + 1)) - kOwn) * stride;
                }
            });
        });
    };
    with_output<X>(a.output_type, rows.output_bytes, [&](auto type) {
        auto* const to = static_cast<decltype(type)*>(a.out) + at;
        if constexpr (kIsComplexElement<X>) {
            store_part(to, std::integral_constant<int, 0>{}, [&](int r) { return X{re[r], im[r]}; });
        } else {
            store_part(to, std::integral_constant<int, 0>{}, [&](int r) { return re[r]; });
            store_part(to, std::integral_constant<int, Outputs::kM>{}, [&](int r) { return im[r]; });
        }
    });
}

/// An output that is stored with its type.
template <class X>
struct StoredOutput {
    const Arguments& a;
    const Rows& rows;
    std::int64_t at;
    __device__ __forceinline__ void operator=(const X& x) const {
        with_output<X>(a.output_type, rows.output_bytes, [&](auto type) {
            using Raw = decltype(type);
            const X one[1] = {x};
            Raw raw[1];
            narrow_to_raw(a.output_type, one, raw);
            store_element(static_cast<Raw*>(a.out) + at, raw[0]);
        });
    }
};

/// As overlap_save_kernel, of samples that are widened to X, the type of sums, on their way in. A team of segments, Rows::lines of
/// neighbouring rows, begins and ends together: its threads read samples and write outputs from row to row where these lie closer
/// than samples do, and in between each warp has a row. They change places where points are exchanged anyway: of one or two warps a
/// segment in the transforms of 1,024 points, of more where these are taken apart and brought together. Teams of a block wait for
/// nobody else, so that some read or write while others compute.
template <class X, int kWarps, class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    overlap_save_tiles_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Segments g) {
    using T = typename Element<X>::Real;
    using Point = typename PointOf<T>::Type;
    constexpr bool kComplex = kIsComplexElement<X>;
    constexpr bool kCouples = Shape::kTwiddleTable && kInCouples<Point>;
    constexpr int kM = kPoints * kWarps;
    constexpr int kTables = kPairs * kWarps + (Shape::kTwiddleTable ? kM : kPoints);
    constexpr int kStep = 32 * kWarps;
    constexpr int kRegion = kExchangePoints<Point>;
    constexpr bool kNearTransforms = kWarps <= 2;  // the outer ones of 32 points, in memory order
    constexpr int kSamples = (kComplex ? 1 : 2) * kM;
    constexpr int kStagedLines = staged_lines<X, kWarps, Shape>();
    using Parts = Division<kWarps, kComplex, kRegion>;
    const Rows& rows = g.rows;
    const int in_block = static_cast<int>(threadIdx.x) / kStep;  // which of the block's segments
    const int team_of_block = in_block / rows.lines;
    const TeamThread far{in_block - team_of_block * rows.lines, static_cast<int>(threadIdx.x) % kStep};
    const int in_team = far.line * kStep + far.thread;
    const TeamThread near{in_team % rows.lines, in_team / rows.lines};

    extern __shared__ uint4 shared[];
    constexpr SharedLayout kLayout = tiles_layout<Shape, kWarps, Point>();
    char* const base = reinterpret_cast<char*>(shared);
    Point* const block_pairs = reinterpret_cast<Point*>(base + kLayout.pairs);
    const Point* const twiddles = reinterpret_cast<Point*>(base + kLayout.twiddles);
    const int spectrum_bytes = g.spectrum_in_block != 0 ? kM * static_cast<int>(sizeof(Point)) : 0;
    Point* const of_team =
        reinterpret_cast<Point*>(base + kLayout.spectrum + spectrum_bytes + team_of_block * rows.lines * kLayout.segment_bytes);
    const int line_points = kWarps * kRegion + line_padding<Point>(rows.lines);
    Point* const near_points = of_team + near.line * line_points;
    Point* const far_points = of_team + far.line * line_points;
    const int far_warp = kWarps == 1 ? 0 : far.thread / 32;
    Point* const own = far_points + far_warp * kRegion;
    CopyBarrier* const barriers = reinterpret_cast<CopyBarrier*>(base);

    SpectrumPart<Point> part(own, barriers + kMostSegments + threadIdx.x / 32, far.thread % 32);
    const BlockTables<Point> block_tables(block_pairs, barriers + 2 * kMostSegments);
    if (threadIdx.x == 0) { initialize(barriers + 2 * kMostSegments + 1, rows.lines * kStep); }
    __syncthreads();
    const auto* tables = static_cast<const Point*>(g.tables);
    const Point* const all_spectra = tables + kTables + g.spectrum_first;
    constexpr int kLeftOut = Shape::kPairsInShared ? 0 : kPairs * kWarps;  // of the block's tables
    // The spectrum of a first part follows them.
    block_tables.start_copy(tables + kLeftOut, kTables - kLeftOut + (g.spectrum_in_block != 0 ? kM : 0));
    const Point* const pairs = Shape::kPairsInShared ? block_pairs : tables;
    const TeamThread& first = kNearTransforms ? near : far;  // who begins the transforms of 1,024 points
    const int first_warp = kWarps == 1 ? 0 : first.thread / 32;
    const Point* const products = g.spectrum_in_block != 0 ? reinterpret_cast<const Point*>(base + kLayout.spectrum) + far_warp * kPoints : own;
    const SegmentTables<Point> of_warp{twiddles + first_warp * (Shape::kTwiddleTable ? kPoints : 1),
                                       products + (kCouples ? 2 : 1) * (far.thread % 32)};
    block_tables.wait_for();
    const TwiddleBack<Point, Shape::kTwiddleTable> twiddle_back(twiddles, first.thread);
    const int teams = static_cast<int>(blockDim.x) / (rows.lines * kStep);
    const auto sync = [&] { sync_team<kWarps>(rows.lines, team_of_block, in_block); };
    const auto pairs_of = [&](int thread) {
        return pairs + (kWarps == 1 ? 0 : thread / 32) * kPairs + (kCouples ? 2 : 1) * (thread % 32);
    };
    Point* const near_own = near_points + (kWarps == 1 ? 0 : near.thread / 32) * kRegion;
    const TeamExchange<kCouples, Point, decltype(sync)> exchange{
        near_own, own, pairs_of(near.thread), pairs_of(far.thread), near.thread % 32, far.thread % 32, sync};
    const WarpExchange<kCouples, Point> exchange_in_warp{own, pairs + far_warp * kPairs, far.thread % 32};

    // Samples that are staged ahead pass through one place, tile by tile, each brought by the team of the tile before.
    char* const next_stage = base + kLayout.spectrum + spectrum_bytes + teams * rows.lines * kLayout.segment_bytes;
    CopyBarrier* const stage_barrier = barriers + 2 * kMostSegments + 1;
    std::uint32_t phase = static_cast<std::uint32_t>(team_of_block) & 1;
    std::int64_t number = blockIdx.x + static_cast<std::int64_t>(team_of_block) * gridDim.x;
    TileDigits digits = TileDigits::at(g, number);
    const auto stage_ahead = [&](const TileDigits& of) {
        fill_stage<kSamples>(a, g, next_stage, of.tile(g), in_team, rows.lines * kStep);
        arrive_after_copies(stage_barrier);
    };
    if (kStagedLines > 0 && g.staged == Staged::ahead && team_of_block == 0) { stage_ahead(digits); }

#pragma unroll 1
    for (; number < rows.tiles; number += static_cast<std::int64_t>(teams) * gridDim.x, digits = digits.plus(g, g.after)) {
        const LineTile tile = digits.tile(g);
        const std::int64_t first_output = tile.tile * g.outputs;
        const int wanted = static_cast<int>(min(a.count - first_output, std::int64_t{g.outputs}));
        const bool is_there = near.line < tile.lines;
        const std::int64_t line_in = tile.in + near.line * rows.near.in;
        T re[32];
        T im[32];
        if (kStagedLines > 0 && g.staged != Staged::none) {
            const char* stage = next_stage;
            if (g.staged == Staged::ahead) {
                wait(stage_barrier, phase);
                phase ^= static_cast<std::uint32_t>(teams) & 1;
            } else {
                stage = reinterpret_cast<const char*>(of_team);
                sync();
                fill_stage<kSamples>(a, g, reinterpret_cast<char*>(of_team), tile, in_team, rows.lines * kStep);
                commit_copies();
                wait_copies<0>();
                sync();
            }
            const StagedSamples<X, kWarps, kStagedLines> samples{rows, stage, near.line};
            read_line<kWarps, kComplex>(samples, re, im, near.thread);
        } else {
            const std::int64_t start = g.start + first_output;
            const std::int64_t length = a.in_last - a.in_first;
            const int all_needed = g.used - (g.outputs - wanted);
            const int needed = is_there ? all_needed : 0;
            const int begin = static_cast<int>(min(max(-start, std::int64_t{g.skip}), std::int64_t{needed}));
            const int end = static_cast<int>(min(max(length - start, std::int64_t{begin}), std::int64_t{needed}));
            X* outside = nullptr;
            // The same for all lines of a team.
            if (a.boundary != kZero && (start + g.skip < 0 || start + all_needed > length)) {
                sync();
                outside = reinterpret_cast<X*>(near_points);
                fill_line(a, rows, outside, line_in, start, g.skip, needed, near.thread, kStep);
                sync();
            }
            const LineSamples<X, kWarps> samples{
                a,     rows,   line_in + start * a.in_sample, g.skip, needed, begin, end, outside,
                begin == g.skip && end == g.used && needed == g.used};
            read_line<kWarps, kComplex>(samples, re, im, near.thread);
        }
        if constexpr (kWarps > 2) { Parts::transform_there(re, im); }
        sync();  // the segments before have been read, and so has the stage
        if (kStagedLines > 0 && g.staged == Staged::ahead && number + gridDim.x < rows.tiles) { stage_ahead(digits.plus(g, g.ahead)); }
        const std::int64_t filter = filter_of(rows, tile, min(far.line, tile.lines - 1));
        const auto spectrum_comes = [&] {
            if (g.spectrum_in_block == 0) { part.wait_for(); }
        };
        const auto exchanged = [&](int direction) {
            if (direction == 0 && g.spectrum_in_block == 0) { fence_before_copy(); }
            __syncwarp();
            if (direction == 0 && g.spectrum_in_block == 0) {
                part.start_copy(all_spectra + filter * g.spectrum_row + far_warp * kPoints);
            }
            if (direction == 1 && kWarps == 2) { sync(); }
        };
        if constexpr (kNearTransforms) {
            convolve_points<kWarps, kComplex, Shape, true>(re, im, of_warp, first_warp, exchange, spectrum_comes, exchanged);
            bring_points_together<kWarps, kComplex, Parts>(re, im, near_points, twiddle_back, near.thread, sync, [] {});
        } else {
            Parts::scatter(re, im, near_points, near.thread);
            sync();
            Parts::gather_own(re, im, far_points, far.thread);
            __syncwarp();
            convolve_points<kWarps, kComplex, Shape, true>(re, im, of_warp, first_warp, exchange_in_warp, spectrum_comes, exchanged);
            twiddle_points<kWarps, kComplex>(re, im, twiddle_back, far_warp);
            Parts::scatter_own(re, im, far_points, far.thread);
            sync();
            Parts::gather(re, im, near_points, near.thread);
        }
        const std::int64_t row = tile.row + (rows.batch_axis < 0 ? near.line : 0);
        const int mine = Parts::first(near.thread);
        using Outputs = SegmentOutputs<X, kWarps>;
        const Outputs outputs{a, g, row, first_output, is_there ? wanted : 0, near.thread, mine};
        const std::int64_t line_out = tile.out + near.line * rows.near.out + (first_output + mine) * a.out_sample;
        bool repair = false;
        fft::for_each_index<0, Shape::kStages>([&](auto stage) {
            constexpr int kStage = decltype(stage)::value;
            if constexpr (kWarps > 2) { Parts::template transform_back<Shape::kStages, kStage>(re, im); }
            if (kStage == 0) { repair = !(fabs(re[0]) + fabs(im[0]) <= Limits<T>::kMost); }
            outputs.template add_sums<kStage>(re, im);
            if (outputs.keeps_sums()) {
                outputs.template keep_sums<kStage>(re, im);
                return;
            }
            if (a.plain_store == 0) { outputs.template finish_all<kStage>(re, im); }
            store_line<X, Outputs, kStage>(a, rows, line_out, outputs.wanted - mine, re, im);
        });
        // Where one of a line's threads had to, all those of the warp do.
        const unsigned any = __ballot_sync(0xffffffffu, repair);
        if (any != 0) {
            repair = (__match_any_sync(0xffffffffu, near.line) & any) != 0;
            if (repair && is_there) {
                const char* const taps = static_cast<const char*>(a.taps) + filter_of(rows, tile, near.line) * g.filter_bytes;
                const auto sum_of = [&](std::int64_t o) {
                    if constexpr (kComplex) {
                        if (!g.real_taps) { return direct_sum_of_line(a, rows, line_in, reinterpret_cast<const X*>(taps), o, X{}); }
                    }
                    return direct_sum_of_line(a, rows, line_in, reinterpret_cast<const T*>(taps), o, X{});
                };
                outputs.repair_into(sum_of, [&](int offset) { return StoredOutput<X>{a, rows, line_out + offset * a.out_sample}; });
            }
            __syncwarp();
        }
    }
}

}  // namespace tapline::cuda::overlap_save
