// How samples of tiles come to threads in memory order: straight from memory, or by way of shared memory.
#pragma once

#include <cstdint>

#include "cuda/families/overlap_save/segment/overlap_save_tile_places.cuh"
#include "cuda/primitives/copy_async.cuh"
#include "cuda/primitives/lines/runs.cuh"

namespace tapline::cuda::overlap_save {

/// Point `number`, a constant, of a thread's 32 or, of two warps a segment, 64: sample t + offset, of real samples also the one
/// half a segment on.
template <int kWarps>
TAPLINE_HOST_DEVICE constexpr int point_offset(int number) {
    constexpr int kSpan = 32 * kWarps;
    return kWarps == 2 ? 32 * number : kSpan * (number / kWarps) + kPoints * (number % kWarps);
}

/// Points [kFrom, kFrom + kCount) of a thread, of samples Raw; sample_at(offset): the one at a constant's place.
template <class X, class Raw, int kWarps, int kFrom, int kCount, class T, class SampleAt>
__device__ __forceinline__ void read_points(Dtype type, T* re, T* im, const SampleAt& sample_at) {
    constexpr int kParts = kIsComplexElement<X> ? 1 : 2;
    // Those that are widened come some at a time: beside what they become all have no registers. Of several warps a segment, which
    // wait for each other, the next ones are on their way while some are widened.
    constexpr int kBatch = std::is_same_v<X, Raw> ? kCount : 8;
    constexpr int kBatches = kCount / kBatch;
    constexpr int kHeld = kWarps > 1 && kBatches > 1 ? 2 : 1;
    using RawBatch = Raw[kParts * kBatch];
    using Batch = X[kParts * kBatch];
    RawBatch raws[kHeld];
    const auto read_batch = [&](auto batch) {
        constexpr int kFirst = decltype(batch)::value * kBatch;
        fft::for_each_index<0, kParts * kBatch>([&](auto index) {
            constexpr int i = decltype(index)::value;
            constexpr int kAt = point_offset<kWarps>(kFrom + kFirst + i % kBatch) + i / kBatch * kPoints * kWarps;
            raws[decltype(batch)::value % kHeld][i] = sample_at(std::integral_constant<int, kAt>{});
        });
    };
    fft::for_each_index<0, kBatches>([&](auto batch) {
        constexpr int kOwn = decltype(batch)::value;
        constexpr int kFirst = kOwn * kBatch;
        constexpr int kRead = kOwn == 0 ? 0 : kOwn + kHeld - 1;
        fft::for_each_index<kRead, (kOwn + kHeld < kBatches ? kOwn + kHeld : kBatches)>(read_batch);
        Batch x;
        widen_raw(type, raws[kOwn % kHeld], x);
#pragma unroll
        for (int i = 0; i < kBatch; ++i) {
            if constexpr (kIsComplexElement<X>) {
                re[kFirst + i] = x[i].x;
                im[kFirst + i] = x[i].y;
            } else {
                re[kFirst + i] = x[i];
                im[kFirst + i] = x[kBatch + i];
            }
        }
    });
}

/// body(Raw()) with the type of elements that go straight between memory and registers.
template <class X, class Body>
__device__ __forceinline__ void with_straight(Dtype type, int bytes, const Body& body) {
    if constexpr (kIsComplexElement<X> || sizeof(X) == 8) {
        with_output<X>(type, bytes, body);
    } else if (type == kOwnType<X>) {
        body(X{});
    } else if (bytes == 1) {
        body(std::uint8_t{});
    } else {
        body(std::uint16_t{});
    }
}

/// The same with samples.
template <class X, class Body>
__device__ __forceinline__ void with_samples(const Rows& rows, const Body& body) {
    if constexpr (kIsComplexElement<X>) {
        body(X{});
    } else {
        with_straight<X>(rows.input_type, rows.input_bytes, body);
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
            const auto read_all = [&](auto inner) {
                // From one to the next: the compiler would compute all addresses first, for which there are no registers.
                const Raw* from = static_cast<const Raw*>(a.in) + (at + t * a.in_sample);
                int before = 0;
                read_points<X, Raw, kWarps, kFrom, kCount>(rows.input_type, re, im, [&](auto offset) {
                    constexpr int kAt = decltype(offset)::value;
                    constexpr int kPart = kWarps == 2 ? kPoints / 2 : kSamples;
                    constexpr bool kAlways = decltype(inner)::value && kAt % kPart != 0 && (kAt + kSpan) % kPart != 0;
                    from += (kAt - before) * a.in_sample;
                    before = kAt;
                    asm volatile("" : "+l"(from));
                    return kAlways || (t + kAt >= begin && t + kAt < end) ? load_element(from) : Raw{};
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

/// Points [kFrom, 32) of a thread of two warps a segment, eight at a time. Not a loop over a lambda: the compiler calls that as a
/// function, and what it refers to, all points, then lies in local memory: (2^20, 64), 1,023 taps 879 us instead of 404 (H100).
template <int kFrom, bool kComplex, class Samples, class T>
__device__ __forceinline__ void read_halves(const Samples& samples, T (&re)[32], T (&im)[32], int thread, T sign) {
    constexpr int kEach = 8;
    const int t = Division<2, kComplex>::turned(thread, kFrom);
    T x[kEach];
    T y[kEach];
    samples.template read<kFrom, kEach>(t, re + kFrom, im + kFrom);
    samples.template read<32 + kFrom, kEach>(t, x, y);
#pragma unroll
    for (int j = 0; j < kEach; ++j) { Division<2, kComplex>::add_upper(sign, x[j], y[j], re[kFrom + j], im[kFrom + j]); }
    asm volatile("" ::: "memory");  // else all come first, for which there are no registers
    if constexpr (kFrom + kEach < 32) { read_halves<kFrom + kEach, kComplex>(samples, re, im, thread, sign); }
}

/// Of a thread in memory order: its points as Division::take_apart() reads them, for two warps a segment as that leaves them.
template <int kWarps, bool kComplex, class Samples, class T>
__device__ __forceinline__ void read_line(const Samples& samples, T (&re)[32], T (&im)[32], int thread) {
    if constexpr (kWarps == 2) {
        read_halves<0, kComplex>(samples, re, im, thread, thread < 32 ? T{1} : T{-1});
    } else {
        samples.template read<0, 32>(thread, re, im);
    }
}

/// Samples that follow each other in a line and lie in the signal as they do there, in their order (1) or backwards (-1), or all at
/// one place (0).
struct Stretch {
    std::int64_t first;  // position of the first one's sample in the signal
    std::int64_t count;
    int direction;
};

/// What a boundary repeats from `position` on, up to where that turns.
__device__ __forceinline__ Stretch stretch_of(Boundary boundary, std::int64_t position, std::int64_t n) {
    if (boundary == kNearest || n == 1) { return {position < 0 ? 0 : n - 1, position < 0 ? -position : INT32_MAX, 0}; }
    // Of kReflect 2n: a b c c b a; of kMirror 2n - 2: a b c b.
    const std::int64_t period = boundary == kWrap ? n : 2 * n - (boundary == kMirror ? 2 : 0);
    std::int64_t i = position % period;
    i += i < 0 ? period : 0;
    if (i < n) { return {i, n - i, 1}; }
    return {(boundary == kMirror ? period : period - 1) - i, period - i, -1};
}

/// Samples [first, needed) of a line, some of which may not lie in the piece, to their places there, by its threads: those before
/// the piece, in it and behind it, one stretch after the other. Samples of the type of sums come asynchronously, all at once; of
/// others several loads of a thread are under way: at both ends of short rows that is what a segment waits for.
template <class X>
__device__ __noinline__ void fill_line(const Arguments& a, const Rows& rows, X* to, std::int64_t line_at, std::int64_t start,
                                       int first, int needed, int thread, int threads) {
    constexpr int kAtOnce = sizeof(X) > 8 ? 8 : 16;
    const std::int64_t length = a.in_last - a.in_first;
    X constant{};
    if (a.boundary == kConstant) { constant = boundary_constant<X>(a); }
    const bool comes = kOwnType<X> == rows.input_type && reinterpret_cast<std::uintptr_t>(a.in) % sizeof(X) == 0;
    // What is asked of the type is asked last: all else would be there once for each.
    const auto with_type = [&](const auto& body) {
        if constexpr (kIsComplexElement<X>) {
            body(X{});
        } else {
            with_input<X>(rows.input_type, rows.input_bytes, body);
        }
    };
    // Samples [begin, end) lie in memory.
    const int begin = static_cast<int>(min(max(-start, std::int64_t{first}), std::int64_t{needed}));
    const int end = static_cast<int>(min(max(length - start, std::int64_t{begin}), std::int64_t{needed}));
    int next = first;
#pragma unroll 1
    while (next < needed) {
        const bool inside = next >= begin && next < end;
        const int part_end = next < begin ? begin : inside ? end : needed;
        Stretch own{a.in_first + start + next, part_end - next, 1};
        if (!inside && a.boundary <= kConstant) {
            for (int t = next + thread; t < part_end; t += threads) { to[t] = constant; }
            next = part_end;
            continue;
        }
        if (!inside) { own = stretch_of(a.boundary, own.first, a.n); }
        const int past = static_cast<int>(min(next + own.count, std::int64_t{part_end}));
        int t = next + thread;
        next = past;
        // Where a sample is not there nobody asked for an output that needs it.
        std::int64_t at = own.first - a.in_first + own.direction * thread;
        const int at_step = own.direction * threads;
        const std::int64_t from = line_at + at * a.in_sample;
        const std::int64_t from_step = at_step * a.in_sample;
        const auto is_there = [&] { return static_cast<std::uint64_t>(at) < static_cast<std::uint64_t>(length); };
        if (comes) {
            const X* sample = static_cast<const X*>(a.in) + from;
#pragma unroll 4
            for (; t < past; t += threads) {
                if (is_there()) {
                    copy_element_async<sizeof(X)>(reinterpret_cast<char*>(to + t), reinterpret_cast<const char*>(sample));
                } else {
                    to[t] = constant;
                }
                at += at_step;
                sample += from_step;
            }
            continue;
        }
        with_type([&](auto type) {
            using Raw = decltype(type);
            const Raw* sample = static_cast<const Raw*>(a.in) + from;
#pragma unroll 1
            for (; t < past; t += kAtOnce * threads) {
                Raw raw[kAtOnce];
#pragma unroll
                for (int i = 0; i < kAtOnce; ++i) {
                    raw[i] = t + i * threads < past && is_there() ? load_element(sample) : Raw{};
                    at += at_step;
                    sample += from_step;
                }
                X x[kAtOnce];
                widen_raw(rows.input_type, raw, x);
#pragma unroll
                for (int i = 0; i < kAtOnce; ++i) {
                    if (t + i * threads < past) { to[t + i * threads] = x[i]; }
                }
            }
        });
    }
    commit_copies();
    wait_copies<0>();
}

/// kUnit bytes, 16, 8 or 4, asynchronously, or zeros, of which nothing is read. As a predicate: of a size that is known later the
/// compiler makes several instructions for each copy.
template <int kUnit>
__device__ __forceinline__ void copy_unit_or_zeros_async(char* to_shared, const char* from_global, bool is_read) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared));
    const int ignored = is_read ? 0 : 1;
    if constexpr (kUnit == 16) {
        asm volatile("{.reg .pred p; setp.ne.s32 p, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, p;}" ::"r"(to),
                     "l"(from_global), "r"(ignored)
                     : "memory");
    } else {
        asm volatile("{.reg .pred p; setp.ne.s32 p, %2, 0; cp.async.ca.shared.global [%0], [%1], %3, p;}" ::"r"(to),
                     "l"(from_global), "r"(ignored), "n"(kUnit)
                     : "memory");
    }
#else
    using Unit = typename RawOf<kUnit>::Type;
    *reinterpret_cast<Unit*>(to_shared) = is_read ? *reinterpret_cast<const Unit*>(from_global) : Unit{};
#endif
}

/// The samples of a tile to a stage, kUnit bytes of kLines neighbouring lines at a time, asynchronously; zeros where nothing is
/// read. By kThreads threads. Returns whether some, a boundary's constants, may have been written by threads themselves, whatever
/// copies wait for: the same for all of a tile.
template <int kSamples, int kLines, int kThreads, int kUnit>
__device__ __forceinline__ bool fill_stage_by(const Arguments& a, const Segments& g, char* stage, const KeptTile& tile,
                                              int thread) {
    const Rows& rows = g.rows;
    const int row_bytes = kLines * rows.input_bytes;
    const int vectors = row_bytes / kUnit;  // 1, 2, 4 or 8
    const int shift = (vectors > 1 ? 1 : 0) + (vectors > 2 ? 1 : 0) + (vectors > 4 ? 1 : 0);
    const int part = thread & (vectors - 1);
    const int step = kThreads >> shift;
    const std::int64_t start = g.start + tile.first_output;
    const std::int64_t length = a.in_last - a.in_first;
    const int needed = kUnit * part < tile.lines * rows.input_bytes ? g.used - (g.outputs - tile.wanted) : 0;
    const bool inside = start + g.skip >= 0 && start + g.used <= length;
    const char* const in = static_cast<const char*>(a.in) + tile.in * rows.input_bytes + kUnit * part;
    const std::int64_t pitch = a.in_sample * rows.input_bytes;
    int t = thread >> shift;
    char* to = stage + kUnit * thread;
    if (!inside && a.boundary != kZero) {
#pragma unroll 1
        for (; t < kSamples; t += step) {
            std::int64_t at = start + t;
            bool is_there = at >= 0 && at < length;
            const bool is_read = t >= g.skip && t < needed;
            if (is_read && !is_there && a.boundary == kConstant) {
                memcpy(to, rows.constant, kUnit);
            } else {
                if (is_read && !is_there) {
                    at = near_boundary_index(a.boundary, a.in_first + at, a.n) - a.in_first;
                    is_there = at >= 0 && at < length;
                }
                copy_unit_or_zeros_async<kUnit>(to, in + at * pitch, is_read && is_there);
            }
            to += kThreads * kUnit;
        }
        return a.boundary == kConstant;
    }
    const int begin = static_cast<int>(min(max(-start, std::int64_t{g.skip}), std::int64_t{needed}));
    const int end = static_cast<int>(min(max(length - start, std::int64_t{begin}), std::int64_t{needed}));
    const auto count = static_cast<unsigned>(end - begin);
    const std::int64_t from_step = pitch * step;
    const char* from = in + (start + t) * pitch;
    t -= begin;
    constexpr int kEach = kSamples / kThreads;
#pragma unroll 1
    for (int turn = 0; turn < vectors; ++turn) {
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            copy_unit_or_zeros_async<kUnit>(to + i * kThreads * kUnit, from, static_cast<unsigned>(t) < count);
            from += from_step;
            t += step;
        }
        to += kEach * kThreads * kUnit;
    }
    return false;
}

/// The same by units of Segments::staged bytes; kWhole: which are 16.
template <int kSamples, int kLines, int kThreads, bool kWhole = false>
__device__ __forceinline__ bool fill_stage(const Arguments& a, const Segments& g, char* stage, const KeptTile& tile, int thread) {
    if (!kWhole && g.staged == 8) { return fill_stage_by<kSamples, kLines, kThreads, 8>(a, g, stage, tile, thread); }
    if (!kWhole && g.staged == 4) { return fill_stage_by<kSamples, kLines, kThreads, 4>(a, g, stage, tile, thread); }
    return fill_stage_by<kSamples, kLines, kThreads, 16>(a, g, stage, tile, thread);
}

}  // namespace tapline::cuda::overlap_save
