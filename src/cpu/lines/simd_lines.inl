// The body of simd_lines.cpp, compiled once for each target.

#include <hwy/highway.h>

#include <cstring>

#include "core/problem/elements.hpp"
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
/// Elements of 16 bytes: a square of so many is transposed in registers. Wider ones need shuffles across the halves of vectors
/// for the same number of stores a byte; memory is what limits.
template <class T>
inline constexpr std::int64_t kSquare = 16 / sizeof(T);

HWY_INLINE void transpose(float* HWY_RESTRICT to, std::int64_t to_step, const float* HWY_RESTRICT from, std::int64_t from_step) {
    const hn::FixedTag<float, 4> d;
    const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_step);
    const auto c = hn::LoadU(d, from + 2 * from_step), e = hn::LoadU(d, from + 3 * from_step);
    const auto ac = hn::InterleaveLower(d, a, c), be = hn::InterleaveLower(d, b, e);
    const auto ac_upper = hn::InterleaveUpper(d, a, c), be_upper = hn::InterleaveUpper(d, b, e);
    hn::StoreU(hn::InterleaveLower(d, ac, be), d, to);
    hn::StoreU(hn::InterleaveUpper(d, ac, be), d, to + to_step);
    hn::StoreU(hn::InterleaveLower(d, ac_upper, be_upper), d, to + 2 * to_step);
    hn::StoreU(hn::InterleaveUpper(d, ac_upper, be_upper), d, to + 3 * to_step);
}
HWY_INLINE void transpose(double* HWY_RESTRICT to, std::int64_t to_step, const double* HWY_RESTRICT from, std::int64_t from_step) {
    const hn::FixedTag<double, 2> d;
    const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_step);
    hn::StoreU(hn::InterleaveLower(d, a, b), d, to);
    hn::StoreU(hn::InterleaveUpper(d, a, b), d, to + to_step);
}
#endif

/// Samples of neighbouring rows lie in lines of the cache far apart, which no hardware prefetcher foresees: so many ahead.
inline constexpr std::int64_t kAhead = 32;
template <bool kWrite>
HWY_INLINE void prefetch(const void* at) {
    __builtin_prefetch(at, kWrite ? 1 : 0, 3);
}

/// wide[p * step + l] is lines[l * pitch + p] for 0 <= l < lines and 0 <= p < count, whichever of the two is written.
template <bool kSplit, class T>
HWY_INLINE void transpose_all(T* HWY_RESTRICT to, const T* HWY_RESTRICT from, std::int64_t pitch, std::int64_t step,
                              std::int64_t lines, std::int64_t count) {
    constexpr std::int64_t S = kSquare<T>;
    const std::int64_t whole_lines = lines / S * S, whole = count / S * S;
    const auto one = [&](std::int64_t l, std::int64_t p) {
        if constexpr (kSplit) {
            copy_element(to + l * pitch + p, from + p * step + l);
        } else {
            copy_element(to + p * step + l, from + l * pitch + p);
        }
    };
    for (std::int64_t p = 0; p < whole; p += S) {
        for (std::int64_t i = p; i < p + S; ++i) {
            prefetch<!kSplit>((kSplit ? from : to) + HWY_MIN(i + kAhead, count - 1) * step);
        }
        for (std::int64_t l = 0; l < whole_lines; l += S) {
            if constexpr (kSplit) {
                transpose(to + l * pitch + p, pitch, from + p * step + l, step);
            } else {
                transpose(to + p * step + l, step, from + l * pitch + p, pitch);
            }
        }
        for (std::int64_t i = p; i < p + S; ++i) {
            for (std::int64_t l = whole_lines; l < lines; ++l) { one(l, i); }
        }
    }
    for (std::int64_t p = whole; p < count; ++p) {
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

template <class To, class From>
HWY_INLINE void widen(void* HWY_RESTRICT to, const void* HWY_RESTRICT from, std::int64_t count) {
    To* HWY_RESTRICT wide = static_cast<To*>(to);
    if constexpr (std::is_same_v<From, bool>) {
        const auto* HWY_RESTRICT bytes = static_cast<const std::uint8_t*>(from);
        for (std::int64_t i = 0; i < count; ++i) { wide[i] = bytes[i] != 0 ? To{1} : To{0}; }
    } else {
        const From* HWY_RESTRICT narrow = static_cast<const From*>(from);
        for (std::int64_t i = 0; i < count; ++i) { wide[i] = static_cast<To>(narrow[i]); }
    }
}

// Where an instruction converts f16; elsewhere one by one.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define TAPLINE_CONVERTS_F16 1
#else
#define TAPLINE_CONVERTS_F16 0
#endif

HWY_INLINE void widen_f16(void* HWY_RESTRICT to, const void* HWY_RESTRICT from, std::int64_t count) {
    float* HWY_RESTRICT wide = static_cast<float*>(to);
    const auto* HWY_RESTRICT bits = static_cast<const std::uint16_t*>(from);
    std::int64_t i = 0;
#if TAPLINE_CONVERTS_F16
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> half;
    for (; i + HWY_LANES(float) <= count; i += HWY_LANES(float)) {
        hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(bits + i))), d, wide + i);
    }
#endif
    for (; i < count; ++i) { wide[i] = core::from_f16(bits[i]); }
}
void narrow_f16(void* HWY_RESTRICT to, const void* HWY_RESTRICT from, std::int64_t count) {
    auto* HWY_RESTRICT bits = static_cast<std::uint16_t*>(to);
    const float* HWY_RESTRICT wide = static_cast<const float*>(from);
    std::int64_t i = 0;
#if TAPLINE_CONVERTS_F16
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> half;
    for (; i + HWY_LANES(float) <= count; i += HWY_LANES(float)) {
        hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, wide + i)), half, reinterpret_cast<hwy::float16_t*>(bits + i));
    }
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
void split_widened(void* to, std::int64_t pitch, const void* from, std::int64_t step, std::int64_t lines, std::int64_t count) {
    alignas(64) To wide[kWidened];
    const auto* const narrow = static_cast<const From*>(from);
    for (std::int64_t first = 0; first < lines; first += kWidened) {
        const std::int64_t some_lines = HWY_MIN(kWidened, lines - first);
        const std::int64_t most = kWidened / some_lines;
        for (std::int64_t p = 0; p < count; p += most) {
            const std::int64_t some = HWY_MIN(most, count - p);
            for (std::int64_t i = 0; i < some; ++i) {
                prefetch<false>(narrow + HWY_MIN(p + i + kAhead, count - 1) * step + first);
                const From* const line = narrow + (p + i) * step + first;
                if constexpr (std::is_same_v<From, hwy::float16_t>) {
                    widen_f16(wide + i * some_lines, line, some_lines);
                } else if constexpr (std::is_same_v<From, hwy::bfloat16_t>) {
                    widen_bf16(wide + i * some_lines, line, some_lines);
                } else {
                    widen<To, From>(wide + i * some_lines, line, some_lines);
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
Convert narrowing_of(Dtype dtype) { return dtype == Dtype::f16 ? &narrow_f16 : &narrow_bf16; }

template <class T>
LineKernels<T> line_kernels_of() {
    return {&split<T>, &join<T>, &reverse<T>};
}

const LineTable& line_table() {
    static const LineTable kTable{
        {line_kernels_of<float>(), line_kernels_of<double>()}, &widening_of, &narrowing_of, &split_widened_of};
    return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace tapline::cpu
HWY_AFTER_NAMESPACE();
#endif
