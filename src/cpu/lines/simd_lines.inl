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

/// Four rows, each 128 bits of them by itself: vector i is element i of every row, in each block of four.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void transpose_blocks(D d, V (&r)[4]) {
    const auto ac = hn::InterleaveLower(d, r[0], r[2]), be = hn::InterleaveLower(d, r[1], r[3]);
    const auto ac_upper = hn::InterleaveUpper(d, r[0], r[2]), be_upper = hn::InterleaveUpper(d, r[1], r[3]);
    r[0] = hn::InterleaveLower(d, ac, be);
    r[1] = hn::InterleaveUpper(d, ac, be);
    r[2] = hn::InterleaveLower(d, ac_upper, be_upper);
    r[3] = hn::InterleaveUpper(d, ac_upper, be_upper);
}
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
        for (std::int64_t i = p; i < p + some; ++i) {
            prefetch_run<!kSplit>((kSplit ? from : to) + HWY_MIN(i + kAhead, count - 1) * step, lines);
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
        hn::Vec<decltype(d)> a, b, c;
        if constexpr (N == 2) {
            hn::LoadInterleaved2(d, from + N * p, a, b);
        } else {
            hn::LoadInterleaved3(d, from + N * p, a, b, c);
            hn::StoreU(c, d, to + 2 * pitch + p);
        }
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
        } else {
            hn::StoreInterleaved3(a, b, hn::LoadU(d, from + 2 * pitch + p), d, to + N * p);
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
#endif
    transpose_all<true>(to + done, from + done * step, pitch, step, lines, count - done);
}

template <class T>
void join(T* to, std::int64_t step, const T* from, std::int64_t pitch, std::int64_t lines, std::int64_t count) {
    std::int64_t done = 0;
#if HWY_TARGET != HWY_SCALAR
    if (lines == step && lines == 2) { done = join_channels<2>(to, from, pitch, count); }
    if (lines == step && lines == 3) { done = join_channels<3>(to, from, pitch, count); }
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
#if HWY_TARGET != HWY_SCALAR
// As core::store(), but that scale and bias are rounded once where there are fused operations, as images have it.
template <class T>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> scaled(const T* sums, const SumsFinish<T>& finish) {
    const hn::ScalableTag<T> d;
    auto v = hn::MulAdd(hn::LoadU(d, sums), hn::Set(d, finish.scale), hn::Set(d, finish.bias));
    if (!finish.limits) { return v; }
    const auto low = hn::Set(d, finish.low), high = hn::Set(d, finish.high);
    v = hn::IfThenElse(hn::Lt(v, low), low, v);  // false for NaN, which passes
    return hn::IfThenElse(hn::Gt(v, high), high, v);
}
template <class T>
HWY_INLINE auto without_fraction(hn::Vec<hn::ScalableTag<T>> v) {
    const hn::Rebind<std::int32_t, hn::ScalableTag<T>> d32;
    if constexpr (sizeof(T) == 4) {
        return hn::ConvertTo(d32, v);
    } else {
        return hn::DemoteTo(d32, v);
    }
}
template <class Out, class T>
HWY_INLINE void round_vector(Out* to, hn::Vec<hn::ScalableTag<T>> v) {
    const hn::ScalableTag<T> d;
    const auto least = hn::Set(d, static_cast<T>(std::numeric_limits<Out>::min()));
    const auto most = hn::Set(d, static_cast<T>(std::numeric_limits<Out>::max()));
    v = hn::IfThenElseZero(hn::Eq(v, v), v);
    v = hn::Min(hn::Max(v, least), most);
    if constexpr (sizeof(T) == 4) {  // what is within the type's range is its low bits
        const hn::Rebind<std::uint32_t, decltype(d)> bits;
        const hn::Rebind<std::make_unsigned_t<Out>, decltype(d)> low_bits;
        hn::StoreU(hn::TruncateTo(low_bits, hn::BitCast(bits, hn::NearestInt(v))), low_bits,
                   reinterpret_cast<std::make_unsigned_t<Out>*>(to));
    } else {
        const hn::Rebind<Out, decltype(d)> narrow;
        hn::StoreU(hn::DemoteTo(narrow, without_fraction<T>(hn::Round(v))), narrow, to);
    }
}
/// Below it a number and 1.5 * 2^52 have a sum whose last bit counts ones: the bits of both are that far apart.
inline constexpr double kCountsByOnes = 0x1p51, kOfOnes = 0x1.8p52;

// V vectors, of which an i32, or where both are that wide an i64, holds every number, or one by one.
template <int V, class Out, class T>
HWY_INLINE void truncate_vectors(Out* to, const T* sums, const SumsFinish<T>& finish) {
    const hn::ScalableTag<T> d;
    constexpr std::size_t L = HWY_LANES(T);
    constexpr bool kWide = sizeof(Out) == 8 && sizeof(T) == 8;
    hn::Vec<decltype(d)> v[V];
    const auto edge = hn::Set(d, static_cast<T>(kWide ? kCountsByOnes : 0x1p31));
    auto fits = hn::Eq(edge, edge);
    HWY_UNROLL(4)
    for (int i = 0; i < V; ++i) {
        v[i] = scaled<T>(sums + i * L, finish);
        fits = hn::And(fits, hn::Lt(hn::Abs(v[i]), edge));  // not of NaN
    }
    if constexpr (kWide) {
        if (hn::AllTrue(d, fits)) {
            const hn::RebindToSigned<decltype(d)> d64;
            const auto ones = hn::Set(d, kOfOnes);
            HWY_UNROLL(4)
            for (int i = 0; i < V; ++i) {
                const auto bits = hn::BitCast(d64, hn::Add(hn::Trunc(v[i]), ones));
                hn::StoreU(hn::Sub(bits, hn::BitCast(d64, ones)), d64, reinterpret_cast<std::int64_t*>(to + i * L));
            }
            return;
        }
    } else if constexpr (sizeof(Out) > 2) {
        if (hn::AllTrue(d, fits)) {
            const hn::Rebind<std::int32_t, decltype(d)> d32;
            HWY_ALIGN std::int32_t numbers[V * L];
            HWY_UNROLL(4)
            for (int i = 0; i < V; ++i) { hn::Store(without_fraction<T>(v[i]), d32, numbers + i * L); }
            if constexpr (sizeof(Out) == 8 && HWY_LANES(T) > 1) {
                const hn::ScalableTag<std::int64_t> d64;
                const hn::Rebind<std::int32_t, decltype(d64)> part;
                for (std::size_t l = 0; l < V * L; l += hn::MaxLanes(d64)) {
                    hn::StoreU(hn::PromoteTo(d64, hn::Load(part, numbers + l)), d64, reinterpret_cast<std::int64_t*>(to + l));
                }
            } else {
                for (std::size_t l = 0; l < V * L; ++l) { to[l] = static_cast<Out>(numbers[l]); }
            }
            return;
        }
    } else if (hn::AllTrue(d, fits)) {
        using Bits = std::make_unsigned_t<Out>;
        const hn::Rebind<std::uint32_t, decltype(d)> bits;
        const hn::Rebind<Bits, decltype(d)> low_bits;
        HWY_UNROLL(4)
        for (int i = 0; i < V; ++i) {
            hn::StoreU(hn::TruncateTo(low_bits, hn::BitCast(bits, without_fraction<T>(v[i]))), low_bits,
                       reinterpret_cast<Bits*>(to + i * L));
        }
        return;
    }
    HWY_ALIGN T lanes[L];
    for (int i = 0; i < V; ++i) {
        hn::Store(v[i], d, lanes);
        for (std::size_t l = 0; l < L; ++l) { to[i * L + l] = core::truncated<Out>(lanes[l]); }
    }
}
template <class Out, class T>
void finish_integers(void* to, const T* sums, std::int64_t count, const SumsFinish<T>& given) {
    constexpr std::int64_t L = HWY_LANES(T);
    constexpr int V = 4;
    const SumsFinish<T> finish = given;  // which bytes that are stored might change
    Out* const out = static_cast<Out*>(to);
    const auto one = [&](Out* at, const T* from) {
        if constexpr (sizeof(Out) <= 2) {
            if (!finish.truncates) { return round_vector<Out, T>(at, scaled<T>(from, finish)); }
        }
        truncate_vectors<1, Out, T>(at, from, finish);
    };
    std::int64_t i = 0;
    if (finish.truncates) {
        for (; i + V * L <= count; i += V * L) { truncate_vectors<V, Out, T>(out + i, sums + i, finish); }
    } else if constexpr (sizeof(Out) <= 2) {
        for (; i + V * L <= count; i += V * L) {
            HWY_UNROLL(4)
            for (int v = 0; v < V; ++v) { round_vector<Out, T>(out + i + v * L, scaled<T>(sums + i + v * L, finish)); }
        }
    }
    for (; i + L <= count; i += L) { one(out + i, sums + i); }
    if (i == count) { return; }
    HWY_ALIGN T rest[L] = {};
    Out last[L];
    std::memcpy(rest, sums + i, static_cast<std::size_t>(count - i) * sizeof(T));
    one(last, rest);
    std::memcpy(out + i, last, static_cast<std::size_t>(count - i) * sizeof(Out));
}
template <class T>
void finish_reals(void* to, const T* sums, std::int64_t count, const SumsFinish<T>& finish) {
    constexpr std::int64_t L = HWY_LANES(T);
    const hn::ScalableTag<T> d;
    T* const out = static_cast<T*>(to);
    std::int64_t i = 0;
    for (; i + L <= count; i += L) { hn::StoreU(scaled<T>(sums + i, finish), d, out + i); }
    if (i == count) { return; }
    HWY_ALIGN T rest[L] = {};
    std::memcpy(rest, sums + i, static_cast<std::size_t>(count - i) * sizeof(T));
    hn::Store(scaled<T>(rest, finish), d, rest);
    std::memcpy(out + i, rest, static_cast<std::size_t>(count - i) * sizeof(T));
}
#endif
template <class T>
FinishSums<T> finishing_of([[maybe_unused]] Dtype to, [[maybe_unused]] bool truncates) {
#if HWY_TARGET != HWY_SCALAR
    if (truncates) {
        switch (to) {
            case Dtype::u32:
                return &finish_integers<std::uint32_t, T>;
            case Dtype::i32:
                return &finish_integers<std::int32_t, T>;
            case Dtype::u64:
                return &finish_integers<std::uint64_t, T>;
            case Dtype::i64:
                return &finish_integers<std::int64_t, T>;
            default:
                break;
        }
    }
    if (to == (sizeof(T) == sizeof(double) ? Dtype::f64 : Dtype::f32)) { return &finish_reals<T>; }
    switch (to) {
        case Dtype::u8:
            return &finish_integers<std::uint8_t, T>;
        case Dtype::i8:
            return &finish_integers<std::int8_t, T>;
        case Dtype::u16:
            return &finish_integers<std::uint16_t, T>;
        case Dtype::i16:
            return &finish_integers<std::int16_t, T>;
        default:
            break;
    }
#endif
    return nullptr;
}
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
