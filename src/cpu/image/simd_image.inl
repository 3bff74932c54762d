// The body of simd_image.cpp, compiled once for each target.
//
// A tile is kImageRows rows of V vectors of outputs. Input row p serves tap row p - r of output row r, so a vector loaded once is
// multiplied for up to kImageRows outputs, and a tap set once for V. Loading for each product would be limited by the unaligned
// loads, of which a core does one a cycle where they cross cache lines, not by the two multiply-adds a cycle.
//
// Asking early for the rows that the next tiles read made no difference (3x3 on 2048 x 2048 f32: 82% of the copy's speed both
// ways).
//
// The order of the sum is the same in every path: tap rows from the top, in each its taps from the left.

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "cpu/image/simd_image.hpp"

#if TAPLINE_NAMED_TARGET
HWY_BEFORE_NAMESPACE();
namespace tapline::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vector = hn::Vec<Tag<T>>;
template <class T>
inline constexpr std::int64_t kLanes = static_cast<std::int64_t>(HWY_LANES(T));

// Vectors of a tile's row: accumulators, vectors in flight and a tap fit 32 registers, or 16.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == TAPLINE_NEON
inline constexpr int kTileVectors = 4;
#else
inline constexpr int kTileVectors = 2;
#endif
inline constexpr int kTileRows = static_cast<int>(kImageRows);

/// Keeps GCC from loading again for each use, as memory operands: the loads are what limits.
template <class T>
HWY_INLINE void hold_image(Vector<T>& v) {
#if HWY_TARGET == HWY_AVX3
    __asm__("" : "+v"(v.raw));
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
    __asm__("" : "+x"(v.raw));
#else
    (void)v;
#endif
}

/// R rows of V vectors of outputs. kWidth: the mask's, unrolled, or 0 for any.
template <class T, int R, int V, int kWidth = 0>
struct ImageTile {
    using Accumulators = Vector<T>[R * V];

    template <std::size_t... v>
    static HWY_INLINE void load(Vector<T>* x, const T* HWY_RESTRICT in, std::index_sequence<v...>) {
        ((x[v] = hn::LoadU(Tag<T>(), in + static_cast<std::int64_t>(v) * kLanes<T>), hold_image<T>(x[v])), ...);
    }
    template <int r, std::size_t... v>
    static HWY_INLINE void row(Accumulators& acc, const Vector<T>* x, const T* HWY_RESTRICT tap, std::index_sequence<v...>) {
        auto h = hn::Set(Tag<T>(), *tap);
        hold_image<T>(h);
        ((acc[r * V + static_cast<int>(v)] = hn::MulAdd(h, x[v], acc[r * V + static_cast<int>(v)])), ...);
    }
    template <int kFirst, std::size_t... r>
    static HWY_INLINE void column(Accumulators& acc, const T* HWY_RESTRICT in, const T* HWY_RESTRICT tap, std::int64_t width) {
        Vector<T> x[V];
        load(x, in, std::make_index_sequence<V>());
        (row<kFirst + static_cast<int>(r)>(acc, x, tap - static_cast<std::int64_t>(r) * width, std::make_index_sequence<V>()), ...);
    }
    // Tap rows of output rows kFirst, kFirst + 1, ...; the first one's taps are at `taps`, the next one's a row before.
    template <int kFirst, std::size_t... r>
    static HWY_INLINE void rows(Accumulators& acc, const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps, const ImageCall<T>& call,
                                std::index_sequence<r...>) {
        if constexpr (kWidth > 0) {
#pragma GCC unroll 8
            for (std::int64_t j = 0; j < kWidth; ++j, in += call.step, ++taps) { column<kFirst, r...>(acc, in, taps, kWidth); }
        } else {
#pragma GCC unroll 1
            for (std::int64_t j = 0; j < call.width; ++j, in += call.step, ++taps) {
                column<kFirst, r...>(acc, in, taps, call.width);
            }
        }
    }
    // Output rows that have a group of tap rows complete: each after the same ones, wherever it stands in the tile.
    template <int r>
    static HWY_INLINE void end_group(Accumulators& acc, T* totals, std::int64_t rows_done, std::int64_t mask) {
        if ((rows_done & mask) != 0) { return; }
        const Tag<T> d;
        HWY_UNROLL(4)
        for (int v = 0; v < V; ++v) {
            T* const total = totals + (r * V + v) * kLanes<T>;
            hn::Store(hn::Add(hn::Load(d, total), acc[r * V + v]), d, total);
            acc[r * V + v] = hn::Zero(d);
        }
    }
    template <int kFirst, std::size_t... r>
    static HWY_INLINE void end_groups(Accumulators& acc, T* totals, std::int64_t p, std::int64_t mask, std::index_sequence<r...>) {
        (end_group<kFirst + static_cast<int>(r)>(acc, totals, p - (kFirst + static_cast<int>(r)) + 1, mask), ...);
    }
    /// Input row p, which output rows [kFirst, kLast] read.
    template <int kFirst, int kLast>
    static HWY_INLINE void step(Accumulators& acc, T* totals, const ImageCall<T>& call, std::int64_t p, std::int64_t e) {
        rows<kFirst>(acc, call.in[p] + e, call.taps + (p - kFirst) * call.width, call,
                     std::make_index_sequence<kLast - kFirst + 1>());
        if (call.group_rows > 0) {
            end_groups<kFirst>(acc, totals, p, call.group_rows - 1, std::make_index_sequence<kLast - kFirst + 1>());
        }
    }

    template <std::size_t... p>
    static HWY_INLINE void first_rows(Accumulators& acc, [[maybe_unused]] T* totals, const ImageCall<T>& call,
                                      [[maybe_unused]] std::int64_t e, std::index_sequence<p...>) {
        (step<0, static_cast<int>(p)>(acc, totals, call, static_cast<std::int64_t>(p), e), ...);
    }
    template <std::size_t... p>
    static HWY_INLINE void last_rows(Accumulators& acc, [[maybe_unused]] T* totals, const ImageCall<T>& call,
                                     [[maybe_unused]] std::int64_t e, std::index_sequence<p...>) {
        (step<static_cast<int>(p) + 1, R - 1>(acc, totals, call, call.height + static_cast<std::int64_t>(p), e), ...);
    }
    // A mask of less than R rows: all input rows are the first or the last ones of some output row.
    template <int kHeight, std::size_t... p>
    static HWY_INLINE void low_mask(Accumulators& acc, T* totals, const ImageCall<T>& call, [[maybe_unused]] std::int64_t e,
                                    std::index_sequence<p...>) {
        (step<(static_cast<int>(p) < kHeight ? 0 : static_cast<int>(p) - kHeight + 1),
              (static_cast<int>(p) < R ? static_cast<int>(p) : R - 1)>(acc, totals, call, static_cast<std::int64_t>(p), e),
         ...);
    }
    template <int kHeight>
    static HWY_INLINE void low_mask(Accumulators& acc, T* totals, const ImageCall<T>& call, std::int64_t e) {
        low_mask<kHeight>(acc, totals, call, e, std::make_index_sequence<R + kHeight - 1>());
    }

    static HWY_INLINE void sum(Accumulators& acc, T* totals, const ImageCall<T>& call, std::int64_t e) {
        if constexpr (R > 1) {
            if (call.height < R) {
                static_assert(R == 4);
                switch (call.height) {
                    case 1:
                        return low_mask<1>(acc, totals, call, e);
                    case 2:
                        return low_mask<2>(acc, totals, call, e);
                    default:
                        return low_mask<3>(acc, totals, call, e);
                }
            }
        }
        first_rows(acc, totals, call, e, std::make_index_sequence<R - 1>());
#pragma GCC unroll 1
        for (std::int64_t p = R - 1; p < call.height; ++p) { step<0, R - 1>(acc, totals, call, p, e); }
        last_rows(acc, totals, call, e, std::make_index_sequence<R - 1>());
    }

    template <std::size_t... a>
    static HWY_INLINE void store(Accumulators& acc, const ImageCall<T>& call, std::int64_t e, std::index_sequence<a...>) {
        const Tag<T> d;
        const auto at = [&](std::int64_t i) { return call.out + i / V * call.out_pitch + e + i % V * kLanes<T>; };
        if (call.accumulate) { ((acc[a] = hn::Add(hn::LoadU(d, at(static_cast<std::int64_t>(a))), acc[a])), ...); }
        if (call.stream) {
            (hn::Stream(acc[a], d, at(static_cast<std::int64_t>(a))), ...);
        } else {
            (hn::StoreU(acc[a], d, at(static_cast<std::int64_t>(a))), ...);
        }
    }
    static HWY_NOINLINE void run(const ImageCall<T>& call, std::int64_t first, std::int64_t last) {
#pragma GCC unroll 1
        for (std::int64_t e = first; e < last; e += V * kLanes<T>) {
            Accumulators acc;
            HWY_ALIGN T totals[R * V * kLanes<T>];
            const Tag<T> d;
            HWY_UNROLL(16)
            for (auto& a : acc) { a = hn::Zero(d); }
            if (call.group_rows > 0) { std::memset(totals, 0, sizeof totals); }
            sum(acc, totals, call, call.offset + e);
            if (call.group_rows > 0) {
                HWY_UNROLL(16)
                for (int i = 0; i < R * V; ++i) { acc[i] = hn::Add(hn::Load(d, totals + i * kLanes<T>), acc[i]); }
            }
            store(acc, call, e, std::make_index_sequence<R * V>());
        }
    }
};

// With its columns unrolled, 7x7 takes 7% less than with a loop of seven turns (2048 x 2048 f32).
template <class T, int R>
void run_tiles(const ImageCall<T>& call, std::int64_t last) {
    if constexpr (R > 1) {
        switch (call.width) {
            case 1:
                return ImageTile<T, R, kTileVectors, 1>::run(call, 0, last);
            case 3:
                return ImageTile<T, R, kTileVectors, 3>::run(call, 0, last);
            case 5:
                return ImageTile<T, R, kTileVectors, 5>::run(call, 0, last);
            case 7:
                return ImageTile<T, R, kTileVectors, 7>::run(call, 0, last);
            default:
                break;
        }
    }
    ImageTile<T, R, kTileVectors>::run(call, 0, last);
}

/// run(first, last) for what is left from `first` on by vectors, of which the last one ends where the outputs do.
template <class T, class Run>
HWY_INLINE void by_vectors(std::int64_t count, std::int64_t first, const Run& run) {
    const std::int64_t whole = count / kLanes<T> * kLanes<T>;
    run(first, whole);
    if (whole < count) { run(count - kLanes<T>, count); }
}

/// wide(first, last) for strips of V vectors. What is left beside them goes in another one that writes some outputs again, where
/// that is allowed and more than one vector is left; else narrow(first, last) by vectors.
template <class T, int V, class Wide, class Narrow>
HWY_INLINE void by_strips(std::int64_t count, bool again, const Wide& wide, const Narrow& narrow) {
    constexpr std::int64_t kWidth = V * kLanes<T>;
    const std::int64_t strips = count / kWidth * kWidth;
    wide(0, strips);
    if (again && strips > 0 && count - strips > kLanes<T>) { return wide(count - kWidth, count); }
    by_vectors<T>(count, strips, narrow);
}

template <class T, int R>
void image_rows(const ImageCall<T>& call) {
    by_strips<T, kTileVectors>(
        call.count, false, [&](std::int64_t, std::int64_t last) HWY_ATTR { run_tiles<T, R>(call, last); },
        [&](std::int64_t first, std::int64_t last) HWY_ATTR { ImageTile<T, R, 1>::run(call, first, last); });
}

#if HWY_TARGET == HWY_AVX3
#include "cpu/image/simd_image_strips.inl"
#include "cpu/image/simd_image_three.inl"
#endif

/// Output rows of a call that a mask likes best.
inline std::int64_t image_call_rows([[maybe_unused]] std::int64_t height, [[maybe_unused]] std::int64_t width,
                                    [[maybe_unused]] bool stream) {
#if HWY_TARGET == HWY_AVX3
    if (height == width && strip_rows(height, stream) > 0) { return strip_rows(height, stream); }
#endif
    return kImageRows;
}

template <class T>
void image_sums(const ImageCall<T>& call) {
    ImageCall<T> part = call;
    std::int64_t r = 0;
#if HWY_TARGET == HWY_AVX3
    if (call.height == call.width && strip_rows(call.height, call.stream) > 0 && call.group_rows == 0) {
        r = part.rows = call.rows / call.height * call.height;
        if (r > 0) { image_strips<T>(part); }
        part.in += r;
        part.out += r * call.out_pitch;
    }
#endif
    for (part.rows = kTileRows; r + kTileRows <= call.rows; r += kTileRows) {
        image_rows<T, kTileRows>(part);
        part.in += kTileRows;
        part.out += kTileRows * call.out_pitch;
    }
    for (part.rows = 1; r < call.rows; ++r, ++part.in, part.out += call.out_pitch) { image_rows<T, 1>(part); }
}

template <class T>
HWY_INLINE Vector<T> finished(Vector<T> v, const LineEpilogue<T>& epilogue) {
    const Tag<T> d;
    v = hn::MulAdd(v, hn::Set(d, epilogue.scale), hn::Set(d, epilogue.bias));
    const auto low = hn::Set(d, epilogue.low), high = hn::Set(d, epilogue.high);
    v = hn::IfThenElse(hn::Lt(v, low), low, v);  // false for NaN, which passes
    return hn::IfThenElse(hn::Gt(v, high), high, v);
}

template <class T>
void store_line(T* out, const T* sums, std::int64_t count, const LineEpilogue<T>& epilogue, bool stream) {
    const Tag<T> d;
    const auto value = [&](std::int64_t i) {
        const auto v = hn::LoadU(d, sums + i);
        return epilogue.active ? finished<T>(v, epilogue) : v;
    };
    const auto part = [&](std::int64_t i, std::int64_t lanes) {
        HWY_ALIGN T buffer[kLanes<T>];
        hn::Store(value(i), d, buffer);
        std::memcpy(out + i, buffer, static_cast<std::size_t>(lanes) * sizeof(T));
    };
    std::int64_t i = 0;
    if (stream) {
        constexpr std::uintptr_t kBytes = kLanes<T> * sizeof(T);
        const std::uintptr_t off = reinterpret_cast<std::uintptr_t>(out) % kBytes;
        const auto head = off == 0 ? 0 : static_cast<std::int64_t>((kBytes - off) / sizeof(T));
        if (head > 0) { part(0, head < count ? head : count); }
        for (i = head; i + kLanes<T> <= count; i += kLanes<T>) { hn::Stream(value(i), d, out + i); }
    } else {
        for (; i + kLanes<T> <= count; i += kLanes<T>) { hn::StoreU(value(i), d, out + i); }
    }
    if (i < count) { part(i, count - i); }
}

template <class T>
void copy_rows(T* to, std::int64_t to_pitch, const T* from, std::int64_t from_pitch, std::int64_t rows, std::int64_t count) {
    const Tag<T> d;
    for (std::int64_t r = 0; r < rows; ++r, to += to_pitch, from += from_pitch) {
        if (count < kLanes<T>) {
            for (std::int64_t i = 0; i < count; ++i) { to[i] = from[i]; }
            continue;
        }
        const std::int64_t last = count - kLanes<T>;
        for (std::int64_t i = 0; i < last; i += kLanes<T>) { hn::StoreU(hn::LoadU(d, from + i), d, to + i); }
        hn::StoreU(hn::LoadU(d, from + last), d, to + last);
    }
}

template <class T>
bool line_is_finite(const T* values, std::int64_t count) {
    const Tag<T> d;
    auto bad = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + kLanes<T> <= count; i += kLanes<T>) { bad = hn::MulAdd(hn::LoadU(d, values + i), hn::Zero(d), bad); }
    T rest = 0;
    for (; i < count; ++i) { rest += values[i] * 0; }
    return hn::AllTrue(d, hn::Eq(bad, hn::Zero(d))) && rest == 0;
}

inline void flush_stream() { hwy::FlushStream(); }

template <class T>
ImageKernels<T> kernels() {
    return {
        image_sums<T>, image_call_rows,
#if HWY_TARGET == HWY_AVX3
            image_three<T>, separable_strips<T>,
#else
            nullptr, nullptr,
#endif
            store_line<T>, copy_rows<T>, line_is_finite<T>, flush_stream
    };
}

const ImageTable& image_table() {
    static const ImageTable kTable{kernels<float>(), kernels<double>()};
    return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace tapline::cpu
HWY_AFTER_NAMESPACE();
#endif
