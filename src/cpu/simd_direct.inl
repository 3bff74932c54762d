// The body of simd_direct.cpp, compiled once for each target.
//
// L lanes; accumulator r holds the outputs [L r, L r + L). Tap t = s + L q reads in[L r + step (s + L q)], which is the
// vector at step s + L (r + step q): for one s, a vector loaded once serves every (r, q) with the same r + step q. So R
// accumulators and Q taps in registers take R + step (Q - 1) loads for R Q multiply-adds. Loading for each of them would be
// limited by the unaligned loads, of which a core does one a cycle where they cross cache lines, not by the arithmetic.
//
// The order of the sum, the same in every path: groups of kDirectGroup taps; in a group runs of L kTaps taps; in a run s
// from 0 to L - 1, for each s q from 0. Groups are summed apart and then added up.

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <utility>

#include "cpu/simd_direct.hpp"

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
inline constexpr int kLanes = static_cast<int>(HWY_LANES(T));

#ifndef DIRECT_R
#define DIRECT_R 16
#define DIRECT_Q 4
#endif
// Accumulators and taps that fit the registers together with a vector in flight: 16 + 4 of 32, 8 + 4 of 16.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == TAPLINE_NEON
inline constexpr int kRows = DIRECT_R;
#else
inline constexpr int kRows = 8;
#endif
inline constexpr int kTaps = DIRECT_Q;

/// Compile-time step of a distance that is only known at run time.
inline constexpr int kAnyStep = 0;

/// Keeps GCC from loading a vector again for each of its uses, as memory operands: the loads are what limits.
template <class T>
HWY_INLINE void hold(Vector<T>& v) {
#if HWY_TARGET == HWY_AVX3
    __asm__("" : "+v"(v.raw));
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
    __asm__("" : "+x"(v.raw));
#else
    (void)v;
#endif
}

/// The multiply-adds of R vectors of outputs with the taps s, s + L, ... s + L (Q - 1). kParts is 2 for complex taps, whose
/// real and imaginary parts have accumulators of their own: acc[kParts r + part].
template <class T, int kStep, int kParts, int R, int Q>
struct Sweep {
    static constexpr int L = kLanes<T>;
    using V = Vector<T>;

    template <int P, int q>
    static HWY_INLINE void multiply_add(V (&acc)[kParts * R], const V (&tap)[kParts * Q], V v) {
        constexpr int r = P - kStep * q;
        if constexpr (r >= 0 && r < R) {
            acc[kParts * r] = hn::MulAdd(tap[kParts * q], v, acc[kParts * r]);
            if constexpr (kParts == 2) { acc[kParts * r + 1] = hn::MulAdd(tap[kParts * q + 1], v, acc[kParts * r + 1]); }
        }
    }

    template <int P, std::size_t... q>
    static HWY_INLINE void vector(V (&acc)[kParts * R], const V (&tap)[kParts * Q], const T* HWY_RESTRICT in, std::index_sequence<q...>) {
        V v = hn::LoadU(Tag<T>(), in + P * L);
        hold<T>(v);
        (multiply_add<P, static_cast<int>(q)>(acc, tap, v), ...);
    }

    template <std::size_t... P>
    static HWY_INLINE void vectors(V (&acc)[kParts * R], const V (&tap)[kParts * Q], const T* HWY_RESTRICT in, std::index_sequence<P...>) {
        (vector<static_cast<int>(P)>(acc, tap, in, std::make_index_sequence<Q>()), ...);
    }

    template <std::size_t... j>
    static HWY_INLINE void step(V (&acc)[kParts * R], const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps, std::index_sequence<j...>) {
        V tap[kParts * Q] = {hn::Set(Tag<T>(), taps[kParts * L * (static_cast<int>(j) / kParts) + static_cast<int>(j) % kParts])...};
        (hold<T>(tap[j]), ...);
        vectors(acc, tap, in, std::make_index_sequence<R + kStep * (Q - 1)>());
    }

    /// s = first .. last - 1
    static HWY_INLINE void run(V (&acc)[kParts * R], const T* HWY_RESTRICT in, std::int64_t, const T* HWY_RESTRICT taps, int first, int last) {
        in += first * kStep;
        taps += first * kParts;
#pragma GCC unroll 1
        for (int s = first; s < last; ++s, in += kStep, taps += kParts) { step(acc, in, taps, std::make_index_sequence<kParts * Q>()); }
    }
};

/// A step known at run time only: a load for each multiply-add.
template <class T, int kParts, int R, int Q>
struct Sweep<T, kAnyStep, kParts, R, Q> {
    static constexpr int L = kLanes<T>;
    using V = Vector<T>;

    template <std::size_t... r>
    static HWY_INLINE void one(V (&acc)[kParts * R], const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps, std::index_sequence<r...>) {
        const V re = hn::Set(Tag<T>(), taps[0]);
        if constexpr (kParts == 2) {
            const V im = hn::Set(Tag<T>(), taps[1]);
            const V v[R] = {hn::LoadU(Tag<T>(), in + r * L)...};
            ((acc[2 * r] = hn::MulAdd(re, v[r], acc[2 * r])), ...);
            ((acc[2 * r + 1] = hn::MulAdd(im, v[r], acc[2 * r + 1])), ...);
        } else {
            ((acc[r] = hn::MulAdd(re, hn::LoadU(Tag<T>(), in + r * L), acc[r])), ...);
        }
    }

    static HWY_INLINE void run(V (&acc)[kParts * R], const T* HWY_RESTRICT in, std::int64_t step, const T* HWY_RESTRICT taps, int first, int last) {
        for (int s = first; s < last; ++s) {
            for (int q = 0; q < Q; ++q) {
                one(acc, in + step * (s + L * q), taps + kParts * (s + L * q), std::make_index_sequence<R>());
            }
        }
    }
};

/// R vectors of outputs at a time.
template <class T, int kStep, int kParts, int R>
struct Block {
    static constexpr int L = kLanes<T>;
    using V = Vector<T>;

    template <int Q>
    static HWY_INLINE void tail(V (&acc)[kParts * R], const T* HWY_RESTRICT in, std::int64_t step, const T* HWY_RESTRICT taps, int rest) {
        // rest taps, L (Q - 1) < rest <= L Q: the first s have Q taps, the others Q - 1
        const int long_runs = rest - L * (Q - 1);
        Sweep<T, kStep, kParts, R, Q>::run(acc, in, step, taps, 0, long_runs);
        if constexpr (Q > 1) { Sweep<T, kStep, kParts, R, Q - 1>::run(acc, in, step, taps, long_runs, L); }
    }

    /// acc += the products of `taps` taps, at most a group
    static HWY_INLINE void group(V (&acc)[kParts * R], const T* HWY_RESTRICT in, std::int64_t step, const T* HWY_RESTRICT taps, std::int64_t count) {
        constexpr int kRun = L * kTaps;
        for (; count >= kRun; count -= kRun, in += step * kRun, taps += kParts * kRun) {
            Sweep<T, kStep, kParts, R, kTaps>::run(acc, in, step, taps, 0, L);
        }
        const int rest = static_cast<int>(count);
        static_assert(kTaps == 4);
        if (rest > 3 * L) {
            tail<4>(acc, in, step, taps, rest);
        } else if (rest > 2 * L) {
            tail<3>(acc, in, step, taps, rest);
        } else if (rest > L) {
            tail<2>(acc, in, step, taps, rest);
        } else if (rest > 0) {
            tail<1>(acc, in, step, taps, rest);
        }
    }

    /// The sums of one group for vector r: complex taps have (tr x, ti x) apart; i (tr + i ti) = ...
    static HWY_INLINE V sum(const V (&acc)[kParts * R], int r) {
        if constexpr (kParts == 1) {
            return acc[r];
        } else {
            // pairs (a, b) of ti x belong to the output as (-b, a)
            const Tag<T> d;
#if HWY_TARGET == HWY_SCALAR
            (void)d;
            return acc[2 * r];
#else
            const V negated_even = hn::OddEven(hn::Zero(d), hn::Set(d, static_cast<T>(-0.0)));
            return hn::Add(acc[2 * r], hn::Xor(hn::Shuffle2301(acc[2 * r + 1]), negated_even));
#endif
        }
    }

    static HWY_INLINE void put(const DirectCall<T>& call, T* HWY_RESTRICT out, const V (&acc)[kParts * R], const T* totals) {
        const Tag<T> d;
        HWY_UNROLL(16)
        for (int r = 0; r < R; ++r) {
            V v = sum(acc, r);
            if (totals != nullptr) { v = hn::Add(hn::Load(d, totals + r * L), v); }
            if (call.accumulate) { v = hn::Add(hn::LoadU(d, out + r * L), v); }
            if (call.stream) {
                hn::Stream(v, d, out + r * L);
            } else {
                hn::StoreU(v, d, out + r * L);
            }
        }
    }

    static HWY_INLINE void clear(V (&acc)[kParts * R]) {
        HWY_UNROLL(32)
        for (int r = 0; r < kParts * R; ++r) { acc[r] = hn::Zero(Tag<T>()); }
    }

    static HWY_INLINE void run(const DirectCall<T>& call, T* HWY_RESTRICT out, const T* HWY_RESTRICT in) {
        const Tag<T> d;
        V acc[kParts * R];
#ifdef PF
        if(call.stream && R>4) { for(int r=0;r<R;r++) __builtin_prefetch(in+PF+r*L); }
#endif
        const std::int64_t step = kStep == kAnyStep ? call.step : kStep;
        HWY_ALIGN T totals[R * L];
        std::int64_t t = 0;
        for (;; t += kDirectGroup) {
            clear(acc);
            group(acc, in + step * t, step, call.taps + kParts * t, HWY_MIN(kDirectGroup, call.k - t));
            if (call.k - t <= kDirectGroup) { break; }
            HWY_UNROLL(16)
            for (int r = 0; r < R; ++r) {
                const V v = sum(acc, r);
                hn::Store(t == 0 ? v : hn::Add(hn::Load(d, totals + r * L), v), d, totals + r * L);
            }
        }
        put(call, out, acc, t == 0 ? nullptr : totals);
    }
};

#if HWY_TARGET == HWY_AVX3
// Few taps leave each load one or two multiply-adds, and then the unaligned loads limit: one a cycle against two multiply-adds.
// The vector at an offset e can also be shuffled together from its two neighbours at multiples of L, which stay in
// registers. A shuffle takes one of the two ports of the multiply-adds, so with x of R vectors shuffled the ports take
// (R + x) / 2 cycles and the loads R - x: a third shuffled is best.
HWY_INLINE Vector<float> shifted(Vector<float> high, Vector<float> low, std::integral_constant<int, 0>) { (void)high; return low; }
HWY_INLINE Vector<double> shifted(Vector<double> high, Vector<double> low, std::integral_constant<int, 0>) { (void)high; return low; }
template <int e>
HWY_INLINE Vector<float> shifted(Vector<float> high, Vector<float> low, std::integral_constant<int, e>) {
    return Vector<float>{_mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(high.raw), _mm512_castps_si512(low.raw), e))};
}
template <int e>
HWY_INLINE Vector<double> shifted(Vector<double> high, Vector<double> low, std::integral_constant<int, e>) {
    return Vector<double>{_mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(high.raw), _mm512_castpd_si512(low.raw), e))};
}
#ifndef SHUF
#define SHUF 3
#endif
/// Blocks of 8 vectors for at most 2 L real taps.
template <class T, int kStep>
struct FewTaps {
    static constexpr int L = kLanes<T>;
    static constexpr int R = 8;
    using V = Vector<T>;
    static constexpr int kNeighbours = R + 2 * kStep;

    template <int s, int Q, int P>
    static HWY_INLINE void vector(V (&acc)[R], const V* tap, const V (&at)[kNeighbours], const T* HWY_RESTRICT in) {
        constexpr int e = s * kStep;
        V v;
        if constexpr (e % L == 0) {
            v = at[P + e / L];
        } else if constexpr (P % SHUF == 0) {
            v = shifted(at[P + e / L + 1], at[P + e / L], std::integral_constant<int, e % L>());
        } else {
            v = hn::LoadU(Tag<T>(), in + P * L + e);
            hold<T>(v);
        }
        if constexpr (P < R) { acc[P] = hn::MulAdd(tap[0], v, acc[P]); }
        if constexpr (Q == 2 && P >= kStep) { acc[P - kStep] = hn::MulAdd(tap[1], v, acc[P - kStep]); }
    }

    template <int s, int Q, std::size_t... P>
    static HWY_INLINE void vectors(V (&acc)[R], const V (&at)[kNeighbours], const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps, std::index_sequence<P...>) {
        V tap[Q];
        tap[0] = hn::Set(Tag<T>(), taps[s]);
        hold<T>(tap[0]);
        if constexpr (Q == 2) { tap[1] = hn::Set(Tag<T>(), taps[s + L]); hold<T>(tap[1]); }
        (vector<s, Q, static_cast<int>(P)>(acc, tap, at, in), ...);
    }

    template <int s>
    static HWY_INLINE bool step(V (&acc)[R], const V (&at)[kNeighbours], const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps, int k) {
        if (k > s + L) {
            vectors<s, 2>(acc, at, in, taps, std::make_index_sequence<R + kStep>());
        } else if (k > s) {
            vectors<s, 1>(acc, at, in, taps, std::make_index_sequence<R>());
        } else {
            return false;
        }
        return true;
    }

    template <std::size_t... s>
    static HWY_INLINE void steps(V (&acc)[R], const V (&at)[kNeighbours], const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps, int k, std::index_sequence<s...>) {
        (void)(step<static_cast<int>(s)>(acc, at, in, taps, k) && ...);
    }

    template <std::size_t... j>
    static HWY_INLINE void load(V (&at)[kNeighbours], const T* HWY_RESTRICT in, std::index_sequence<j...>) {
        ((at[j] = hn::LoadU(Tag<T>(), in + j * L)), ...);
        (hold<T>(at[j]), ...);
    }

    static HWY_INLINE void run(const DirectCall<T>& call, T* HWY_RESTRICT out, const T* HWY_RESTRICT in) {
#ifdef PF
        if (call.stream) { for (int r = 0; r < R; r++) __builtin_prefetch(in + PF + r * L); }
#endif
        V at[kNeighbours];
        load(at, in, std::make_index_sequence<kNeighbours>());
        V acc[R];
        Block<T, kStep, 1, R>::clear(acc);
        steps(acc, at, in, call.taps, static_cast<int>(call.k), std::make_index_sequence<L>());
        Block<T, kStep, 1, R>::put(call, out, acc, nullptr);
    }
};
#endif

template <class T, int kStep, int kParts>
HWY_NOINLINE void direct(const DirectCall<T>& call) {
    constexpr int L = kLanes<T>;
    constexpr int R = kRows / kParts;
    std::int64_t o = 0;
    DirectCall<T> plain = call;
    plain.stream = false;
    if (call.count >= 2 * L && !call.accumulate) {
        const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(call.out) / sizeof(T) % L);
        if (past != 0) {
            Block<T, kStep, kParts, 1>::run(plain, call.out, call.in);
            o = L - past;
        }
    }
#if HWY_TARGET == HWY_AVX3
    if constexpr (kParts == 1 && (kStep == 1 || kStep == 2)) {
        using Few = FewTaps<T, kStep>;
        // the neighbours reach past the last tap's vector
        if (call.k <= FEW) {
            const std::int64_t safe = call.count + call.step * (call.k - 1) - L * Few::kNeighbours;
            for (; o + Few::R * L <= call.count && o <= safe; o += Few::R * L) { Few::run(call, call.out + o, call.in + o); }
        }
    }
#endif
    for (; o + R * L <= call.count; o += R * L) { Block<T, kStep, kParts, R>::run(call, call.out + o, call.in + o); }
    for (; o + 4 * L <= call.count; o += 4 * L) { Block<T, kStep, kParts, 4>::run(call, call.out + o, call.in + o); }
    for (; o + L <= call.count; o += L) { Block<T, kStep, kParts, 1>::run(call, call.out + o, call.in + o); }
    if (o < call.count) {
        if (!call.padded) { o = call.count - L; }
        Block<T, kStep, kParts, 1>::run(plain, call.out + o, call.in + o);
    }
}

void bench(const DirectCall<float>& c) { direct<float, 1, 1>(c); }
void bench2(const DirectCall<float>& c) { direct<float, 2, 1>(c); }
void benchc(const DirectCall<float>& c) { direct<float, 2, 2>(c); }
void benchany(const DirectCall<float>& c) { direct<float, 0, 1>(c); }
void benchd(const DirectCall<double>& c) { direct<double, 1, 1>(c); }

}  // namespace HWY_NAMESPACE
}  // namespace tapline::cpu
HWY_AFTER_NAMESPACE();
#endif
