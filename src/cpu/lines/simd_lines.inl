// The body of simd_lines.cpp, compiled once for each target.

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstring>
#include <limits>
#include <type_traits>

#include "core/problem/elements.hpp"
#include "core/problem/epilogue.hpp"
#include "core/problem/half.hpp"
#include "cpu/lines/simd_lines.hpp"

#if TAPLINE_NAMED_TARGET
HWY_BEFORE_NAMESPACE();
namespace tapline::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
template <class T>
inline constexpr std::int64_t kSquare = 1;
template <class T>
HWY_INLINE void transpose(T* HWY_RESTRICT to, std::int64_t, const T* HWY_RESTRICT from, std::int64_t) {
    copy_element(to, from);
}
#else
/// Elements of 16 bytes: a square of so many is transposed in registers.
template <class T>
inline constexpr std::int64_t kSquare = 16 / sizeof(T);

#include "cpu/lines/simd_transpose.inl"

HWY_INLINE void transpose(float* HWY_RESTRICT to, std::int64_t to_step, const float* HWY_RESTRICT from, std::int64_t from_step) {
    const hn::FixedTag<float, 4> d;
    hn::Vec<decltype(d)> r[4];
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i) { r[i] = hn::LoadU(d, from + i * from_step); }
    transpose_blocks(d, r);
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i) { hn::StoreU(r[i], d, to + i * to_step); }
}
HWY_INLINE void transpose(double* HWY_RESTRICT to, std::int64_t to_step, const double* HWY_RESTRICT from, std::int64_t from_step) {
    const hn::FixedTag<double, 2> d;
    const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_step);
    hn::StoreU(hn::InterleaveLower(d, a, b), d, to);
    hn::StoreU(hn::InterleaveUpper(d, a, b), d, to + to_step);
}
#endif

// A square of two by two of them, in vectors of 32 bytes where there are such: half the loads and stores.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
HWY_INLINE void transpose_twice(float* HWY_RESTRICT to, std::int64_t to_step, const float* HWY_RESTRICT from,
                                std::int64_t from_step) {
    const hn::FixedTag<float, 8> d;
    using V = hn::Vec<decltype(d)>;
    V low[4], high[4];
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
        low[i] = hn::LoadU(d, from + i * from_step);
        high[i] = hn::LoadU(d, from + (i + 4) * from_step);
    }
    transpose_blocks(d, low);
    transpose_blocks(d, high);
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
        hn::StoreU(hn::ConcatLowerLower(d, high[i], low[i]), d, to + i * to_step);
        hn::StoreU(hn::ConcatUpperUpper(d, high[i], low[i]), d, to + (i + 4) * to_step);
    }
}
#endif
template <class T>
HWY_INLINE void transpose_twice(T* HWY_RESTRICT to, std::int64_t to_step, const T* HWY_RESTRICT from, std::int64_t from_step) {
    constexpr std::int64_t S = kSquare<T>;
    for (std::int64_t i = 0; i < 2 * S; i += S) {
        for (std::int64_t j = 0; j < 2 * S; j += S) {
            transpose(to + i * to_step + j, to_step, from + j * from_step + i, from_step);
        }
    }
}

/// Samples of neighbouring rows lie in lines of the cache far apart, which no hardware prefetcher foresees: so many ahead.
inline constexpr std::int64_t kAhead = 32;
template <bool kWrite>
HWY_INLINE void prefetch(const void* at) {
    __builtin_prefetch(at, kWrite ? 1 : 0, 3);
}
/// `count` elements side by side, which begin anywhere in a line of the cache.
template <bool kWrite, class T>
HWY_INLINE void prefetch_run(const T* at, std::int64_t count) {
    constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t i = 0; i < count - 1; i += kLine) { prefetch<kWrite>(at + i); }
    prefetch<kWrite>(at + (count - 1));
}

/// wide[p * step + l] is lines[l * pitch + p] for 0 <= l < lines and 0 <= p < count, whichever of the two is written.
template <bool kSplit, class T>
HWY_INLINE void transpose_all(T* HWY_RESTRICT to, const T* HWY_RESTRICT from, std::int64_t pitch, std::int64_t step,
                              std::int64_t lines, std::int64_t count) {
    constexpr std::int64_t S = kSquare<T>, Two = 2 * S;
    const std::int64_t whole_lines = lines / S * S;
    const auto square = [&](auto turn, std::int64_t l, std::int64_t p) {
        if constexpr (kSplit) {
            turn(to + l * pitch + p, pitch, from + p * step + l, step);
        } else {
            turn(to + p * step + l, step, from + l * pitch + p, pitch);
        }
    };
    const auto one = [&](std::int64_t l, std::int64_t p) {
        if constexpr (kSplit) {
            copy_element(to + l * pitch + p, from + p * step + l);
        } else {
            copy_element(to + p * step + l, from + l * pitch + p);
        }
    };
    constexpr auto kTwice = [](T* at, std::int64_t at_step, const T* of, std::int64_t of_step) {
        transpose_twice(at, at_step, of, of_step);
    };
    constexpr auto kOnce = [](T* at, std::int64_t at_step, const T* of, std::int64_t of_step) {
        transpose(at, at_step, of, of_step);
    };
    const auto rows = [&](auto some, std::int64_t p) {  // so many, a multiple of S
        if (step > lines) {                             // without gaps they are foreseen
            for (std::int64_t i = p; i < p + some; ++i) {
                prefetch_run<!kSplit>((kSplit ? from : to) + HWY_MIN(i + kAhead, count - 1) * step, lines);
            }
        }
        std::int64_t l = 0;
        if constexpr (some == Two) {
            for (; l + Two <= lines; l += Two) { square(kTwice, l, p); }
        }
        for (; l < whole_lines; l += S) {
            for (std::int64_t i = p; i < p + some; i += S) { square(kOnce, l, i); }
        }
        if (whole_lines == lines) { return; }
        if (lines > S) {  // some lines once more
            for (std::int64_t i = p; i < p + some; i += S) { square(kOnce, lines - S, i); }
            return;
        }
        for (std::int64_t i = p; i < p + some; ++i) {
            for (l = whole_lines; l < lines; ++l) { one(l, i); }
        }
    };
    std::int64_t p = 0;
    for (; p + Two <= count; p += Two) { rows(std::integral_constant<std::int64_t, Two>(), p); }
    if (p + S <= count) {
        rows(std::integral_constant<std::int64_t, S>(), p);
        p += S;
    }
    for (; p < count; ++p) {
        for (std::int64_t l = 0; l < lines; ++l) { one(l, p); }
    }
}

#if HWY_TARGET != HWY_SCALAR
/// N lines side by side without gaps: channels of a frame.
template <int N, class T>
HWY_INLINE std::int64_t split_channels(T* HWY_RESTRICT to, std::int64_t pitch, const T* HWY_RESTRICT from, std::int64_t count) {
    std::int64_t p = 0;
    const hn::ScalableTag<T> d;
    constexpr std::int64_t L = HWY_LANES(T);
    for (; p + L <= count; p += L) {
        hn::Vec<decltype(d)> a, b, c, e;
        if constexpr (N == 2) {
            hn::LoadInterleaved2(d, from + N * p, a, b);
        } else if constexpr (N == 3) {
            hn::LoadInterleaved3(d, from + N * p, a, b, c);
        } else {
            hn::LoadInterleaved4(d, from + N * p, a, b, c, e);
            hn::StoreU(e, d, to + 3 * pitch + p);
        }
        if constexpr (N > 2) { hn::StoreU(c, d, to + 2 * pitch + p); }
        hn::StoreU(a, d, to + p);
        hn::StoreU(b, d, to + pitch + p);
    }
    return p;
}
template <int N, class T>
HWY_INLINE std::int64_t join_channels(T* HWY_RESTRICT to, const T* HWY_RESTRICT from, std::int64_t pitch, std::int64_t count) {
    std::int64_t p = 0;
    const hn::ScalableTag<T> d;
    constexpr std::int64_t L = HWY_LANES(T);
    for (; p + L <= count; p += L) {
        const auto a = hn::LoadU(d, from + p), b = hn::LoadU(d, from + pitch + p);
        if constexpr (N == 2) {
            hn::StoreInterleaved2(a, b, d, to + N * p);
        } else if constexpr (N == 3) {
            hn::StoreInterleaved3(a, b, hn::LoadU(d, from + 2 * pitch + p), d, to + N * p);
        } else {
            hn::StoreInterleaved4(a, b, hn::LoadU(d, from + 2 * pitch + p), hn::LoadU(d, from + 3 * pitch + p), d, to + N * p);
        }
    }
    return p;
}
#endif

template <class T>
void split(T* to, std::int64_t pitch, const T* from, std::int64_t step, std::int64_t lines, std::int64_t count) {
    std::int64_t done = 0;
#if HWY_TARGET != HWY_SCALAR
    if (lines == step && lines == 2) { done = split_channels<2>(to, pitch, from, count); }
    if (lines == step && lines == 3) { done = split_channels<3>(to, pitch, from, count); }
    if (lines == step && lines == 4) { done = split_channels<4>(to, pitch, from, count); }
#endif
    transpose_all<true>(to + done, from + done * step, pitch, step, lines, count - done);
}

template <class T>
void join(T* to, std::int64_t step, const T* from, std::int64_t pitch, std::int64_t lines, std::int64_t count) {
    std::int64_t done = 0;
#if HWY_TARGET != HWY_SCALAR
    if (lines == step && lines == 2) { done = join_channels<2>(to, from, pitch, count); }
    if (lines == step && lines == 3) { done = join_channels<3>(to, from, pitch, count); }
    if (lines == step && lines == 4) { done = join_channels<4>(to, from, pitch, count); }
#endif
    transpose_all<false>(to + done * step, from + done, pitch, step, lines, count - done);
}

template <class T>
void reverse(T* HWY_RESTRICT to, const T* HWY_RESTRICT from, std::int64_t count) {
    std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    const hn::ScalableTag<T> d;
    constexpr std::int64_t L = HWY_LANES(T);
    for (; i + L <= count; i += L) { hn::StoreU(hn::Reverse(d, hn::LoadU(d, from - i - (L - 1))), d, to + i); }
#endif
    for (; i < count; ++i) { copy_element(to + i, from - i); }
}

template <class T>
void every_second(T* HWY_RESTRICT to, const T* HWY_RESTRICT from, std::int64_t count) {
    std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    const hn::ScalableTag<T> d;
    constexpr std::int64_t L = HWY_LANES(T);
    for (; i + L < count; i += L) {
        hn::StoreU(hn::ConcatEven(d, hn::LoadU(d, from + 2 * i + L), hn::LoadU(d, from + 2 * i)), d, to + i);
    }
#endif
    for (; i < count; ++i) { copy_element(to + i, from + 2 * i); }
}

#if HWY_TARGET != HWY_SCALAR
/// convert(d, i) for vectors of T at [i, i + lanes): whole ones, the last of which may begin before the one before it ends, and
/// where there are fewer elements than in a vector those of four. Elements that are done.
template <class T, class Convert>
HWY_INLINE std::int64_t by_vectors(std::int64_t count, const Convert& convert) {
    const hn::ScalableTag<T> d;
    const hn::CappedTag<T, 4> few;
    constexpr std::int64_t L = HWY_LANES(T);
    const auto lanes_of_few = static_cast<std::int64_t>(hn::MaxLanes(few));
    std::int64_t i = 0;
    for (; i + L <= count; i += L) { convert(d, i); }
    if (i == count) { return count; }
    if (count >= L) {
        convert(d, count - L);
        return count;
    }
    for (; i + lanes_of_few <= count; i += lanes_of_few) { convert(few, i); }
    return i;
}
#endif

template <class To, class From>
HWY_INLINE void widen(void* HWY_RESTRICT to, const void* HWY_RESTRICT from, std::int64_t count) {
    To* HWY_RESTRICT wide = static_cast<To*>(to);
    if constexpr (std::is_same_v<From, bool>) {
        const auto* HWY_RESTRICT bytes = static_cast<const std::uint8_t*>(from);
        for (std::int64_t i = 0; i < count; ++i) { wide[i] = bytes[i] != 0 ? To{1} : To{0}; }
    } else {
        const From* HWY_RESTRICT narrow = static_cast<const From*>(from);
        std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
        if constexpr (sizeof(From) <= 2) {
            i = by_vectors<To>(count, [&](auto d, std::int64_t at) {
                const hn::Rebind<std::int32_t, decltype(d)> d32;
                const hn::Rebind<From, decltype(d)> d_from;
                const auto number = hn::PromoteTo(d32, hn::LoadU(d_from, narrow + at));
                if constexpr (sizeof(To) == 4) {
                    hn::StoreU(hn::ConvertTo(d, number), d, wide + at);
                } else {
                    hn::StoreU(hn::PromoteTo(d, number), d, wide + at);
                }
            });
        }
#endif
        for (; i < count; ++i) { wide[i] = static_cast<To>(narrow[i]); }
    }
}

// Where an instruction converts f16; elsewhere one by one.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define TAPLINE_CONVERTS_F16 1
#else
#define TAPLINE_CONVERTS_F16 0
#endif

/// Numbers of 16 bits that are asked for before they are read or written, those of the next tile, too: nothing else comes from
/// memory meanwhile. 123 rows of 67,152 under 3 taps take 3.3 ms instead of 4.3 (one thread, AVX-512).
inline constexpr std::int64_t kWidenAhead = 1024;

HWY_INLINE void widen_f16(void* HWY_RESTRICT to, const void* HWY_RESTRICT from, std::int64_t count) {
    float* HWY_RESTRICT wide = static_cast<float*>(to);
    const auto* HWY_RESTRICT bits = static_cast<const std::uint16_t*>(from);
    std::int64_t i = 0;
#if TAPLINE_CONVERTS_F16
    i = by_vectors<float>(count, [&](auto d, std::int64_t at) {
        const hn::Rebind<hwy::float16_t, decltype(d)> half;
        __builtin_prefetch(bits + at + kWidenAhead);
        hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(bits + at))), d, wide + at);
    });
#endif
    for (; i < count; ++i) { wide[i] = core::from_f16(bits[i]); }
}
void narrow_f16(void* HWY_RESTRICT to, const void* HWY_RESTRICT from, std::int64_t count) {
    auto* HWY_RESTRICT bits = static_cast<std::uint16_t*>(to);
    const float* HWY_RESTRICT wide = static_cast<const float*>(from);
    std::int64_t i = 0;
#if TAPLINE_CONVERTS_F16
    i = by_vectors<float>(count, [&](auto d, std::int64_t at) {
        const hn::Rebind<hwy::float16_t, decltype(d)> half;
        __builtin_prefetch(bits + at + kWidenAhead, 1, 3);
        hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, wide + at)), half, reinterpret_cast<hwy::float16_t*>(bits + at));
    });
#endif
    for (; i < count; ++i) { bits[i] = core::to_f16(static_cast<double>(wide[i])); }
}
HWY_INLINE void widen_bf16(void* HWY_RESTRICT to, const void* HWY_RESTRICT from, std::int64_t count) {
    float* HWY_RESTRICT wide = static_cast<float*>(to);
    const auto* HWY_RESTRICT bits = static_cast<const std::uint16_t*>(from);
    for (std::int64_t i = 0; i < count; ++i) { wide[i] = core::from_bf16(bits[i]); }
}
void narrow_bf16(void* HWY_RESTRICT to, const void* HWY_RESTRICT from, std::int64_t count) {
    auto* HWY_RESTRICT bits = static_cast<std::uint16_t*>(to);
    const float* HWY_RESTRICT wide = static_cast<const float*>(from);
    for (std::int64_t i = 0; i < count; ++i) { bits[i] = core::to_bf16(static_cast<double>(wide[i])); }
}

Convert widening_of(Dtype dtype, bool to_double) {
    if (core::is_half(dtype)) { return dtype == Dtype::f16 ? &widen_f16 : &widen_bf16; }
    return core::with_integer_type(
        dtype, [&]<class From>(From) -> Convert { return to_double ? &widen<double, From> : &widen<float, From>; });
}
/// Elements that are widened at once before they are put into lines: they stay in the L1 cache.
inline constexpr std::int64_t kWidened = 512;

template <class To, class From>
HWY_INLINE void widen_any(To* wide, const From* from, std::int64_t count) {
    if constexpr (std::is_same_v<From, hwy::float16_t>) {
        widen_f16(wide, from, count);
    } else if constexpr (std::is_same_v<From, hwy::bfloat16_t>) {
        widen_bf16(wide, from, count);
    } else {
        widen<To, From>(wide, from, count);
    }
}

template <class To, class From>
void split_widened(void* to, std::int64_t pitch, const void* from, std::int64_t step, std::int64_t lines, std::int64_t count) {
    alignas(64) To wide[kWidened];
    const auto* const narrow = static_cast<const From*>(from);
    for (std::int64_t first = 0; first < lines; first += kWidened) {
        const std::int64_t some_lines = HWY_MIN(kWidened, lines - first);
        const std::int64_t most = some_lines > kWidened / 8 ? kWidened / some_lines : kWidened / some_lines / 8 * 8;
        for (std::int64_t p = 0; p < count; p += most) {
            const std::int64_t some = HWY_MIN(most, count - p);
            const From* const block = narrow + p * step + first;
            if (some_lines == step) {  // without gaps: whole vectors, however few the lines
                widen_any(wide, block, some * step);
            } else {
                for (std::int64_t i = 0; i < some; ++i) {
                    prefetch_run<false>(block + HWY_MIN(i + kAhead, count - 1 - p) * step, some_lines);
                    widen_any(wide + i * some_lines, block + i * step, some_lines);
                }
            }
            split<To>(static_cast<To*>(to) + first * pitch + p, pitch, wide, some_lines, some_lines, some);
        }
    }
}
SplitWidened split_widened_of(Dtype dtype, bool to_double) {
    if (dtype == Dtype::f16) { return &split_widened<float, hwy::float16_t>; }
    if (dtype == Dtype::bf16) { return &split_widened<float, hwy::bfloat16_t>; }
    return core::with_integer_type(dtype, [&]<class From>(From) -> SplitWidened {
        return to_double ? &split_widened<double, From> : &split_widened<float, From>;
    });
}
#include "cpu/lines/simd_lines_finish.inl"

Convert narrowing_of(Dtype dtype) { return dtype == Dtype::f16 ? &narrow_f16 : &narrow_bf16; }

HWY_INLINE void stream_run(std::uint8_t* HWY_RESTRICT to, const std::uint8_t* HWY_RESTRICT from, std::int64_t bytes) {
    std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    const hn::ScalableTag<std::uint8_t> d;
    constexpr std::int64_t L = HWY_LANES(std::uint8_t), kLine = 64;
    const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % kLine);
    i = HWY_MIN(past == 0 ? 0 : kLine - past, bytes);
    std::memcpy(to, from, static_cast<std::size_t>(i));
    for (; i + L <= bytes; i += L) { hn::Stream(hn::LoadU(d, from + i), d, to + i); }
#endif
    std::memcpy(to + i, from + i, static_cast<std::size_t>(bytes - i));
}
void stream(void* to, std::int64_t to_step, const void* from, std::int64_t from_step, std::int64_t bytes, std::int64_t runs) {
    for (std::int64_t r = 0; r < runs; ++r) {
        stream_run(static_cast<std::uint8_t*>(to) + r * to_step, static_cast<const std::uint8_t*>(from) + r * from_step, bytes);
    }
    hwy::FlushStream();
}

template <class T>
LineKernels<T> line_kernels_of() {
    return {&split<T>, &join<T>, &reverse<T>, &every_second<T>, &finishing_of<T>};
}

const LineTable& line_table() {
    static const LineTable kTable{
        {line_kernels_of<float>(), line_kernels_of<double>()}, &widening_of, &narrowing_of, &stream, &split_widened_of};
    return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace tapline::cpu
HWY_AFTER_NAMESPACE();
#endif
