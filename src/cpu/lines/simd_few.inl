// The body of simd_few.cpp, compiled once for each target.

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <type_traits>

#include "cpu/lines/simd_few.hpp"

#if TAPLINE_NAMED_TARGET
HWY_BEFORE_NAMESPACE();
namespace tapline::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
inline constexpr bool kConvertsHalf = true;
inline constexpr int kBytes = 32;  ///< of a vector whose elements are turned: wider ones take more shuffles
#else
inline constexpr bool kConvertsHalf = false;
inline constexpr int kBytes = 16;
#endif

/// A vector of samples, in the type of sums.
template <class In, class D>
HWY_INLINE hn::Vec<D> load_sums(D d, const In* from) {
    if constexpr (std::is_same_v<In, hn::TFromD<D> >) {
        return hn::LoadU(d, from);
    } else if constexpr (std::is_same_v<In, hwy::float16_t>) {
        return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::float16_t, D>(), from));
    } else {
        const hn::Rebind<std::int32_t, D> d32;
        return hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(hn::Rebind<In, D>(), from)));
    }
}

#include "cpu/lines/simd_transpose.inl"

/// Vector i of a square of units of `kParts` elements becomes unit i of every vector.
template <int kParts, class D, int N, class V = hn::Vec<D> >
HWY_INLINE void turn(D d, V (&r)[N]) {
    constexpr int kUnit = kParts * sizeof(hn::TFromD<D>);
    if constexpr (kUnit == 4) {
        V low[4], high[4];
        HWY_UNROLL(4)
        for (int i = 0; i < 4; ++i) {
            low[i] = r[i];
            if constexpr (N > 4) { high[i] = r[i + 4]; }
        }
        transpose_blocks(d, low);
        if constexpr (N > 4) { transpose_blocks(d, high); }
        HWY_UNROLL(4)
        for (int i = 0; i < 4; ++i) {
            if constexpr (N == 4) {
                r[i] = low[i];
            } else {
                r[i] = hn::ConcatLowerLower(d, high[i], low[i]);
                r[i + 4] = hn::ConcatUpperUpper(d, high[i], low[i]);
            }
        }
    } else if constexpr (kUnit == 8) {
        const hn::Repartition<double, D> d64;
        hn::Vec<decltype(d64)> q[N], of[N];
        HWY_UNROLL(4)
        for (int i = 0; i < N; ++i) { q[i] = hn::BitCast(d64, r[i]); }
        HWY_UNROLL(2)
        for (int i = 0; i < N; i += 2) {
            of[i] = hn::InterleaveLower(d64, q[i], q[i + 1]);
            of[i + 1] = hn::InterleaveUpper(d64, q[i], q[i + 1]);
        }
        HWY_UNROLL(2)
        for (int i = 0; i < 2; ++i) {
            if constexpr (N == 2) {
                r[i] = hn::BitCast(d, of[i]);
            } else {
                r[i] = hn::BitCast(d, hn::ConcatLowerLower(d64, of[i + 2], of[i]));
                r[i + 2] = hn::BitCast(d, hn::ConcatUpperUpper(d64, of[i + 2], of[i]));
            }
        }
    } else if constexpr (N == 2) {
        const V low = hn::ConcatLowerLower(d, r[1], r[0]);
        r[1] = hn::ConcatUpperUpper(d, r[1], r[0]);
        r[0] = low;
    }
}

/// Samples of neighbouring lines lie in lines of the cache far apart, which no hardware prefetcher foresees: so many ahead.
inline constexpr std::int64_t kFewAhead = 32;

/// A square of outputs of neighbouring lines: sums as samples lie, then turned. kTaps: as many, or 0 where they are not known.
template <int kParts, int kTaps, bool kStream, class In, class D, class T = hn::TFromD<D> >
HWY_INLINE void turned_square(D d, T* HWY_RESTRICT out, std::int64_t out_line, const In* HWY_RESTRICT in, std::int64_t step,
                              const T* HWY_RESTRICT taps, std::int64_t k) {
    constexpr int N = static_cast<int>(hn::MaxLanes(d)) / kParts;
    hn::Vec<D> sums[N];
    const auto add = [&](std::int64_t t) HWY_ATTR {
        const auto tap = hn::Set(d, taps[t]);
        HWY_UNROLL(8)
        for (int r = 0; r < N; ++r) { sums[r] = hn::MulAdd(tap, load_sums<In>(d, in + (r + t) * step), sums[r]); }
    };
    HWY_UNROLL(8)
    for (int r = 0; r < N; ++r) { sums[r] = hn::Zero(d); }
    if constexpr (kTaps > 0) {
        HWY_UNROLL(4)
        for (int t = 0; t < kTaps; ++t) { add(t); }
    } else {
        for (std::int64_t t = 0; t < k; ++t) { add(t); }
    }
    turn<kParts>(d, sums);
    HWY_UNROLL(8)
    for (int r = 0; r < N; ++r) {
        if constexpr (kStream) {
            hn::Stream(sums[r], d, out + r * out_line);
        } else {
            hn::StoreU(sums[r], d, out + r * out_line);
        }
    }
}

template <class In, int kParts, int kTaps, class D, class T = hn::TFromD<D> >
HWY_NOINLINE void turned_by(D d, const FewCall<T>& call) {
    constexpr std::int64_t N = static_cast<std::int64_t>(hn::MaxLanes(d)) / kParts, kUnit = kParts * sizeof(T), kLine = 64 / kUnit;
    const std::int64_t step = call.step * kParts, out_line = call.out_line * kParts, k = call.k, lines = call.lines;
    const T* HWY_RESTRICT const taps = call.taps;
    const In* HWY_RESTRICT const in = static_cast<const In*>(call.in);
    T* HWY_RESTRICT const out = call.out;
    const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out) % 64);
    const bool alike = call.out_line % kLine == 0 && past % kUnit == 0;
    const auto squares = [&](std::int64_t o, std::int64_t end, auto stream) HWY_ATTR {  // of whole squares
        const In* ahead = in + (o + k - 1 + kFewAhead) * step;
        for (std::int64_t i = step > lines * kParts ? o : end; i < end; ++i, ahead += step) {  // without gaps they are foreseen
            const auto first = reinterpret_cast<std::uintptr_t>(ahead),
                       last = reinterpret_cast<std::uintptr_t>(ahead + lines * kParts);
            for (std::uintptr_t line = first / 64 * 64; line < last; line += 64) {
                __builtin_prefetch(reinterpret_cast<const void*>(line), 0, 3);
            }
        }
        for (std::int64_t l = 0; l < lines; l += N) {
            const std::int64_t at = HWY_MIN(l, lines - N);
            for (std::int64_t i = o; i < end; i += N) {
                turned_square<kParts, kTaps, stream>(d, out + at * out_line + i * kParts, out_line, in + i * step + at * kParts,
                                                     step, taps, k);
            }
        }
    };
    constexpr std::false_type kPlain;
    constexpr std::true_type kStream;
    std::int64_t o = 0;
    if (alike && past != 0 && call.count >= kLine + N) {  // up to a line of the cache
        o = kLine - past / kUnit;
        for (std::int64_t i = 0; i < o; i += N) { squares(i, i + N, kPlain); }
    }
    const bool stream = call.stream && alike && lines % N == 0;
    if (stream) {
        for (; o + kLine <= call.count; o += kLine) { squares(o, o + kLine, kStream); }
        hwy::FlushStream();
    }
    for (; o + kLine <= call.count; o += kLine) { squares(o, o + kLine, kPlain); }
    for (; o + N <= call.count; o += N) { squares(o, o + N, kPlain); }
    if (o < call.count) { squares(call.count - N, call.count, kPlain); }
}

template <class In, int kParts, class D, class T = hn::TFromD<D> >
HWY_INLINE void turned_by(D d, const FewCall<T>& call) {
    switch (call.k) {
        case 1:
            return turned_by<In, kParts, 1>(d, call);
        case 2:
            return turned_by<In, kParts, 2>(d, call);
        case 3:
            return turned_by<In, kParts, 3>(d, call);
        case 4:
            return turned_by<In, kParts, 4>(d, call);
        default:
            return turned_by<In, kParts, 0>(d, call);
    }
}

template <class In, int kParts, class T>
void turned(const FewCall<T>& call) {
    constexpr int kLanes = kBytes / static_cast<int>(sizeof(T)), N = kLanes / kParts;
    static_assert(N * static_cast<std::int64_t>(sizeof(T)) * kParts <= 64);
    if (call.lines >= N && call.count >= N) { return turned_by<In, kParts>(hn::FixedTag<T, kLanes>(), call); }
    if constexpr (kBytes > 16) {
        if constexpr (16 / sizeof(T) / kParts >= 2) { return turned_by<In, kParts>(hn::FixedTag<T, 16 / sizeof(T)>(), call); }
    }
}

/// Units of a vector in reverse.
template <int kParts, class D>
HWY_INLINE hn::Vec<D> reversed_units(D d, hn::Vec<D> v) {
    if constexpr (kParts == 1) {
        return hn::Reverse(d, v);
    } else if constexpr (sizeof(hn::TFromD<D>) == 8) {
        return hn::ReverseBlocks(d, v);
    } else {
        const hn::Repartition<double, D> d64;
        return hn::BitCast(d, hn::Reverse(d64, hn::BitCast(d64, v)));
    }
}

/// R vectors of outputs of one line, and sums of the samples between those that are wanted with them.
template <int kParts, int kStep, int R, bool kStream, class In, class T>
HWY_INLINE void along_some(T* HWY_RESTRICT out, const In* HWY_RESTRICT in, const T* HWY_RESTRICT taps, std::int64_t k,
                           std::int64_t tap_step) {
    const hn::ScalableTag<T> d;
    constexpr std::int64_t L = HWY_LANES(T), U = L / kParts;
    constexpr int kVectors = kStep == 2 ? 2 * R : R;
    if constexpr (kStep == -1) { in -= (R * U - 1) * kParts; }
    hn::Vec<decltype(d)> sums[kVectors];
    const auto add = [&](std::int64_t t) HWY_ATTR {
        const auto tap = hn::Set(d, taps[t]);
        HWY_UNROLL(8)
        for (int r = 0; r < kVectors; ++r) { sums[r] = hn::MulAdd(tap, load_sums<In>(d, in + t * tap_step + r * L), sums[r]); }
    };
    HWY_UNROLL(8)
    for (int r = 0; r < kVectors; ++r) { sums[r] = hn::Zero(d); }
    for (std::int64_t t = 0; t < k; ++t) { add(t); }
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
        auto v = sums[r];
        if constexpr (kStep == -1) { v = reversed_units<kParts>(d, sums[R - 1 - r]); }
        if constexpr (kStep == 2) { v = hn::ConcatEven(d, sums[2 * r + 1], sums[2 * r]); }
        if constexpr (kStream) {
            hn::Stream(v, d, out + r * L);
        } else {
            hn::StoreU(v, d, out + r * L);
        }
    }
}

template <int kParts, int kStep, class In, class T>
HWY_NOINLINE void along_line(T* HWY_RESTRICT out, const In* HWY_RESTRICT in, const T* HWY_RESTRICT taps, std::int64_t k,
                             std::int64_t tap_step, std::int64_t count, bool streams) {
    constexpr std::int64_t U = static_cast<std::int64_t>(HWY_LANES(T)) / kParts, kUnit = kParts * sizeof(T);
    constexpr std::int64_t kVector = HWY_LANES(T) * sizeof(T);
    constexpr int R = 4;
    // Of the last output samples behind it would be read, too.
    const std::int64_t end = kStep == 2 ? count - 1 : count;
    const auto one = [&](std::int64_t o) HWY_ATTR {
        along_some<kParts, kStep, 1, false>(out + o * kParts, in + o * kStep * kParts, taps, k, tap_step);
    };
    const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out) % kVector);
    std::int64_t o = 0;
    if (past != 0 && past % kUnit == 0 && end >= U) {
        one(0);
        o = (kVector - past) / kUnit;
    }
    if (streams && past % kUnit == 0) {
        for (; o + R * U <= end; o += R * U) {
            along_some<kParts, kStep, R, true>(out + o * kParts, in + o * kStep * kParts, taps, k, tap_step);
        }
        hwy::FlushStream();
    }
    for (; o + R * U <= end; o += R * U) {
        along_some<kParts, kStep, R, false>(out + o * kParts, in + o * kStep * kParts, taps, k, tap_step);
    }
    for (; o + U <= end; o += U) { one(o); }
    if (o < end && end >= U) {
        one(end - U);
        o = end;
    }
    const hn::CappedTag<T, 1> d;
    for (o *= kParts; o < count * kParts; ++o) {
        auto sum = hn::Zero(d);
        const In* const from = in + o / kParts * kStep * kParts + o % kParts;
        for (std::int64_t t = 0; t < k; ++t) { sum = hn::MulAdd(hn::Set(d, taps[t]), load_sums<In>(d, from + t * tap_step), sum); }
        out[o] = hn::GetLane(sum);
    }
}

template <class In, int kParts, int kStep, class T>
void along(const FewCall<T>& call) {
    for (std::int64_t l = 0; l < call.lines; ++l) {
        const In* const in = static_cast<const In*>(call.in) + l * call.line * kParts;
        T* const out = call.out + l * call.out_line * kParts;
        const std::int64_t tap_step = kStep == 1 ? call.tap_step * kParts : kStep * kParts;
        along_line<kParts, kStep>(out, in, call.taps, call.k, tap_step, call.count, call.stream);
    }
}

/// f(In{}) for a type of samples that become sums of T; null for others.
template <class T, class F>
FewSums<T> with_samples(Dtype in, const F& f) {
    if (real_part_of(in) == (sizeof(T) == 4 ? Dtype::f32 : Dtype::f64)) { return f(T{}); }
    if constexpr (sizeof(T) == 4) {
        switch (in) {
            case Dtype::i8:
                return f(std::int8_t{});
            case Dtype::u8:
                return f(std::uint8_t{});
            case Dtype::i16:
                return f(std::int16_t{});
            case Dtype::u16:
                return f(std::uint16_t{});
            case Dtype::f16:
                if constexpr (kConvertsHalf) { return f(hwy::float16_t{}); }
                return nullptr;
            default:
                return nullptr;
        }
    }
    return nullptr;
}

template <class T>
FewSums<T> turned_of(Dtype in, bool pairs) {
    if (pairs) { return real_part_of(in) == in ? nullptr : &turned<T, 2, T>; }
    return with_samples<T>(in, []<class In>(In) -> FewSums<T> { return &turned<In, 1, T>; });
}
template <class T>
FewSums<T> along_of(Dtype in, bool pairs, std::int64_t step) {
    if (pairs) { return step == -1 ? &along<T, 2, -1, T> : nullptr; }
    return with_samples<T>(in, [&]<class In>(In) -> FewSums<T> {
        return step == -1 ? &along<In, 1, -1, T> : step == 1 ? &along<In, 1, 1, T> : step == 2 ? &along<In, 1, 2, T> : nullptr;
    });
}

const FewTable& few_table() {
    static const FewTable kTable{{&turned_of<float>, &along_of<float>}, {&turned_of<double>, &along_of<double>}};
    return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace tapline::cpu
HWY_AFTER_NAMESPACE();
#endif
