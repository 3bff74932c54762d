// The body of simd_direct.cpp, compiled once for each target.
//
// L lanes; accumulator r holds the outputs [L r, L r + L). Tap t = s + L q reads in[L r + step (s + L q)], which is the
// vector at step s + L (r + step q): for one s, a vector loaded once serves every (r, q) with the same r + step q. So R
// accumulators and Q taps in registers take R + step (Q - 1) loads for R Q multiply-adds. Loading for each of them would be
// limited by the unaligned loads, of which a core does one a cycle where they cross cache lines, not by the arithmetic.
//
// The order of the sum, the same in every path: groups of kDirectGroup taps; in a group runs of L kTaps taps; in a run s
// from 0 to L - 1, for each s q from 0 to kTaps - 1. Groups are summed apart and then added up.

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "cpu/direct/calls/simd_direct.hpp"

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

// Accumulators and taps that fit the registers together with a vector in flight: 16 + 4 of 32, 8 + 4 of 16.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == TAPLINE_NEON
inline constexpr int kRows = 16;
#else
inline constexpr int kRows = 8;
#endif
inline constexpr int kTaps = 4;

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
    using Accumulators = V[kParts * R];
    using Taps = V[kParts * Q];

    template <int P, int q>
    static HWY_INLINE void multiply_add(Accumulators& acc, const Taps& tap, V v) {
        constexpr int r = P - kStep * q;
        if constexpr (r >= 0 && r < R) {
            acc[kParts * r] = hn::MulAdd(tap[kParts * q], v, acc[kParts * r]);
            if constexpr (kParts == 2) { acc[2 * r + 1] = hn::MulAdd(tap[2 * q + 1], v, acc[2 * r + 1]); }
        }
    }

    template <int P, std::size_t... q>
    static HWY_INLINE void vector(Accumulators& acc, const Taps& tap, const T* HWY_RESTRICT in, std::index_sequence<q...>) {
        V v = hn::LoadU(Tag<T>(), in + P * L);
        hold<T>(v);
        (multiply_add<P, static_cast<int>(q)>(acc, tap, v), ...);
    }

    template <std::size_t... P>
    static HWY_INLINE void vectors(Accumulators& acc, const Taps& tap, const T* HWY_RESTRICT in, std::index_sequence<P...>) {
        (vector<static_cast<int>(P)>(acc, tap, in, std::make_index_sequence<Q>()), ...);
    }

    template <std::size_t... j>
    static HWY_INLINE void one(Accumulators& acc, const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps, std::index_sequence<j...>) {
        Taps tap = {hn::Set(Tag<T>(), taps[kParts * L * (j / kParts) + j % kParts])...};
        (hold<T>(tap[j]), ...);
        vectors(acc, tap, in, std::make_index_sequence<R + kStep*(Q - 1)>());
    }

    /// s = first .. last - 1
    static HWY_INLINE void run(Accumulators& acc, const T* HWY_RESTRICT in, std::int64_t, const T* HWY_RESTRICT taps, int first,
                               int last) {
        in += first * kStep;
        taps += first * kParts;
#pragma GCC unroll 1
        for (int s = first; s < last; ++s, in += kStep, taps += kParts) {
            one(acc, in, taps, std::make_index_sequence<kParts * Q>());
        }
    }
};

/// A step known at run time only: a load for each multiply-add.
template <class T, int kParts, int R, int Q>
struct Sweep<T, kAnyStep, kParts, R, Q> {
    static constexpr int L = kLanes<T>;
    using V = Vector<T>;
    using Accumulators = V[kParts * R];

    template <std::size_t... r>
    static HWY_INLINE void one(Accumulators& acc, const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps, std::index_sequence<r...>) {
        V real = hn::Set(Tag<T>(), taps[0]);
        hold<T>(real);
        if constexpr (kParts == 2) {
            const V imaginary = hn::Set(Tag<T>(), taps[1]);
            const V v[R] = {hn::LoadU(Tag<T>(), in + r * L)...};
            ((acc[2 * r] = hn::MulAdd(real, v[r], acc[2 * r])), ...);
            ((acc[2 * r + 1] = hn::MulAdd(imaginary, v[r], acc[2 * r + 1])), ...);
        } else {
            ((acc[r] = hn::MulAdd(real, hn::LoadU(Tag<T>(), in + r * L), acc[r])), ...);
        }
    }

    static HWY_INLINE void run(Accumulators& acc, const T* HWY_RESTRICT in, std::int64_t step, const T* HWY_RESTRICT taps,
                               int first, int last) {
#pragma GCC unroll 1
        for (int s = first; s < last; ++s) {
#pragma GCC unroll 1
            for (int q = 0; q < Q; ++q) {
                one(acc, in + step * (s + L * q), taps + kParts * (s + L * q), std::make_index_sequence<R>());
            }
        }
    }
};

/// The output's vector of sums from one of real-tap products, or from one each of products with real and imaginary taps:
/// pairs (a, b) of the latter belong to the output as (-b, a).
template <class T, int kParts>
HWY_INLINE Vector<T> combined(const Vector<T>* acc) {
    if constexpr (kParts == 1 || kLanes<T> == 1) {
        return acc[0];
    } else {
        const Tag<T> d;
        const auto even_signs = hn::OddEven(hn::Zero(d), hn::Set(d, static_cast<T>(-0.0)));
        return hn::Add(acc[0], hn::Xor(hn::Reverse2(d, acc[1]), even_signs));
    }
}

/// R vectors of outputs at a time.
template <class T, int kStep, int kParts, int R>
struct Block {
    static constexpr int L = kLanes<T>;
    using V = Vector<T>;
    using Accumulators = V[kParts * R];

    template <int Q>
    static HWY_INLINE void tail(Accumulators& acc, const T* HWY_RESTRICT in, std::int64_t step, const T* HWY_RESTRICT taps,
                                int rest) {
        // rest taps, L (Q - 1) < rest <= L Q: the first s have Q taps, the others Q - 1
        const int full = rest - L * (Q - 1);
        Sweep<T, kStep, kParts, R, Q>::run(acc, in, step, taps, 0, full);
        if constexpr (Q > 1) { Sweep<T, kStep, kParts, R, Q - 1>::run(acc, in, step, taps, full, L); }
    }

    /// acc += the products of `count` taps, at most a group.
    static HWY_INLINE void group(Accumulators& acc, const T* HWY_RESTRICT in, std::int64_t step, const T* HWY_RESTRICT taps,
                                 std::int64_t count) {
        static_assert(kTaps == 4 && kDirectGroup % (L * kTaps) == 0);
        constexpr int kRun = L * kTaps;
        for (; count >= kRun; count -= kRun, in += step * kRun, taps += kParts * kRun) {
            Sweep<T, kStep, kParts, R, kTaps>::run(acc, in, step, taps, 0, L);
        }
        const int rest = static_cast<int>(count);
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

    /// `totals`: the sums of the groups before, or null.
    static HWY_INLINE void put(const DirectCall<T>& call, T* HWY_RESTRICT out, const Accumulators& acc,
                               const T* HWY_RESTRICT totals) {
        const Tag<T> d;
        HWY_UNROLL(16)
        for (int r = 0; r < R; ++r) {
            V v = combined<T, kParts>(acc + kParts * r);
            if (totals != nullptr) { v = hn::Add(hn::Load(d, totals + r * L), v); }
            if (call.accumulate) { v = hn::Add(hn::LoadU(d, out + r * L), v); }
            if (call.stream) {
                hn::Stream(v, d, out + r * L);
            } else {
                hn::StoreU(v, d, out + r * L);
            }
        }
    }

    static HWY_INLINE void clear(Accumulators& acc) {
        HWY_UNROLL(32)
        for (int j = 0; j < kParts * R; ++j) { acc[j] = hn::Zero(Tag<T>()); }
    }

    static HWY_INLINE void run(const DirectCall<T>& call, T* HWY_RESTRICT out, const T* HWY_RESTRICT in) {
        const Tag<T> d;
        const std::int64_t step = kStep == kAnyStep ? call.step : kStep;
        HWY_ALIGN T totals[R * L];
        V acc[kParts * R];
        std::int64_t t = 0;
        for (;; t += kDirectGroup) {
            clear(acc);
            group(acc, in + step * t, step, call.taps + kParts * t, HWY_MIN(kDirectGroup, call.k - t));
            if (call.k - t <= kDirectGroup) { break; }
            HWY_UNROLL(16)
            for (int r = 0; r < R; ++r) {
                const V v = combined<T, kParts>(acc + kParts * r);
                hn::Store(t == 0 ? v : hn::Add(hn::Load(d, totals + r * L), v), d, totals + r * L);
            }
        }
        put(call, out, acc, t == 0 ? nullptr : totals);
    }
};

/// While a large output streams past the caches, the hardware prefetcher is too late for blocks that are computed in no
/// time: 16 and 64 taps take 5.3 and 9.0 ms without this for 2^24 elements, 3.9 and 7.5 ms with it (2 threads).
inline constexpr std::int64_t kPrefetchBytes = 8192;

template <class T, int R>
HWY_INLINE void prefetch(const DirectCall<T>& call, const T* in) {
    if (!call.stream) { return; }
    const T* ahead = in + call.step * (call.k - 1) + kPrefetchBytes / sizeof(T);
    for (int r = 0; r < R; ++r) { hwy::Prefetch(ahead + r * kLanes<T>); }
}

#if HWY_TARGET == HWY_AVX3
#include "cpu/direct/simd_direct_few.inl"
#else
#include "cpu/direct/simd_direct_unrolled.inl"
#endif

/// Outputs from o on, fewer than half a block has, or the rest of an accumulating call: so many vectors at a time that their sums
/// do not wait for each other. 6,492 rows of 57 under 78 and 200 taps take 1.0 and 2.0 ms instead of 1.9 and 8.5.
template <class T, int kStep, int kParts>
HWY_INLINE void few_outputs(const DirectCall<T>& call, std::int64_t o) {
    constexpr int L = kLanes<T>;
    const std::int64_t vectors = (call.count - o + L - 1) / L, end = o + vectors * L;
    const auto blocks = [&](auto block, std::int64_t size) HWY_ATTR {
        for (; o + size * L <= end; o += size * L) { block(call, call.out + o, call.in + o); }
        if (o == end || call.accumulate || vectors < size) { return; }
        block(call, call.out + (end - size * L), call.in + (end - size * L));  // the same values again
        o = end;
    };
    blocks([](const DirectCall<T>& c, T* out, const T* in) HWY_ATTR { Block<T, kStep, kParts, 4>::run(c, out, in); }, 4);
    blocks([](const DirectCall<T>& c, T* out, const T* in) HWY_ATTR { Block<T, kStep, kParts, 2>::run(c, out, in); }, 2);
    for (; o < end; o += L) { Block<T, kAnyStep, kParts, 1>::run(call, call.out + o, call.in + o); }
}

/// A whole call. Blocks of R vectors, then half of them; the rest by a block that overlaps the one before and writes the same
/// values again, because its time is that of the latency of its sums, as for a single vector. The main part starts where
/// the output is aligned.
template <class T, int kStep, int kParts>
HWY_NOINLINE void direct(const DirectCall<T>& whole) {
    constexpr int L = kLanes<T>;
    constexpr int R = kRows / kParts;
    constexpr int H = R / 2;
    using One = Block<T, kAnyStep, kParts, 1>;
    DirectCall<T> call = whole;
    const std::int64_t count = call.count;
    std::int64_t o = 0;
    if (count >= H * L && !call.accumulate) {
        // kParts 2: pairs must not be split, so an output at half a pair's alignment is not streamed
        const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(call.out) / sizeof(T) % L);
        call.stream = whole.stream && past % kParts == 0;
        if (past != 0 && past % kParts == 0) {
            const bool stream = std::exchange(call.stream, false);
            One::run(call, call.out, call.in);
            call.stream = stream;
            o = L - past;
        }
    } else {
        call.stream = false;
    }
#if HWY_TARGET == HWY_AVX3
    if constexpr (kParts == 1 && (kStep == 1 || kStep == 2)) {
        if (call.k <= 2 * L) {
            if (count >= H * L && !call.accumulate) { return FewTaps<T, kStep>::whole(whole); }
            o = FewTaps<T, kStep>::run(call, o);
        }
    }
#else
    if constexpr (kParts == 1 && (kStep == 1 || kStep == 2)) {
        if (call.k <= FewTaps<T, kStep>::kMost && !call.accumulate) { o = FewTaps<T, kStep>::run(call, o); }
    }
#endif
    for (; o + R * L <= count; o += R * L) {
        prefetch<T, R>(call, call.in + o);
        Block<T, kStep, kParts, R>::run(call, call.out + o, call.in + o);
    }
    if (whole.stream) { hwy::FlushStream(); }
    call.stream = false;
    if (count >= H * L) {
        for (const std::int64_t last = count - H * L; o < count; o += H * L) {
            if (o > last && call.accumulate) { break; }
            const std::int64_t at = HWY_MIN(o, last);
            Block<T, kStep, kParts, H>::run(call, call.out + at, call.in + at);
        }
    }
    if (o < count) { few_outputs<T, kStep, kParts>(call, o); }
}

/// Terms whose element is absent leave the sum as it is; the order is that of the other kernels. Needs `padded`.
template <class T, int kParts>
HWY_NOINLINE void careful(const DirectCall<T>& call) {
    constexpr int L = kLanes<T>;
    using V = Vector<T>;
    const Tag<T> d;
    for (std::int64_t o = 0; o < call.count; o += L) {
        V total = hn::Zero(d);
        for (std::int64_t begin = 0; begin < call.k; begin += kDirectGroup) {
            const std::int64_t end = HWY_MIN(begin + kDirectGroup, call.k);
            V acc[kParts];
            for (V& a : acc) { a = hn::Zero(d); }
            for (std::int64_t run = begin; run < end; run += L * kTaps) {
                for (int j = 0; j < L * kTaps; ++j) {
                    const std::int64_t t = run + j / kTaps + L * (j % kTaps);
                    if (t >= end) { continue; }
                    const V v = hn::LoadU(d, call.in + o + call.step * t);
                    const auto present = hn::Ne(hn::LoadU(d, call.present + o + call.step * t), hn::Zero(d));
                    for (int part = 0; part < kParts; ++part) {
                        const V tap = hn::Set(d, call.taps[kParts * t + part]);
                        acc[part] = hn::IfThenElse(present, hn::MulAdd(tap, v, acc[part]), acc[part]);
                    }
                }
            }
            const V v = combined<T, kParts>(acc);
            total = begin == 0 ? v : hn::Add(total, v);
        }
        if (call.accumulate) { total = hn::Add(hn::LoadU(d, call.out + o), total); }
        hn::StoreU(total, d, call.out + o);
    }
}

#if HWY_TARGET == HWY_SCALAR
/// One lane holds no pair: complex taps one output at a time.
template <class T, bool kCareful>
void complex_one_by_one(const DirectCall<T>& call) {
    for (std::int64_t o = 0; o < call.count; o += 2) {
        T total[2] = {};
        for (std::int64_t begin = 0; begin < call.k; begin += kDirectGroup) {
            T by_real[2] = {};
            T by_imaginary[2] = {};
            for (std::int64_t t = begin; t < HWY_MIN(begin + kDirectGroup, call.k); ++t) {
                const T* x = call.in + o + call.step * t;
                if (kCareful && call.present[o + call.step * t] == 0) { continue; }
                for (int c = 0; c < 2; ++c) {
                    by_real[c] += call.taps[2 * t] * x[c];
                    by_imaginary[c] += call.taps[2 * t + 1] * x[c];
                }
            }
            total[0] += by_real[0] - by_imaginary[1];
            total[1] += by_real[1] + by_imaginary[0];
        }
        for (int c = 0; c < 2; ++c) { call.out[o + c] = call.accumulate ? call.out[o + c] + total[c] : total[c]; }
    }
}
#endif

template <class T>
void real_taps(const DirectCall<T>& call) {
    switch (call.step) {
        case 1:
            return direct<T, 1, 1>(call);
        case 2:
            return direct<T, 2, 1>(call);
        case 3:
            return direct<T, 3, 1>(call);
        case 4:
            return direct<T, 4, 1>(call);
        default:
            return direct<T, kAnyStep, 1>(call);
    }
}

template <class T>
void complex_taps(const DirectCall<T>& call) {
    return call.step == 2 ? direct<T, 2, 2>(call) : direct<T, kAnyStep, 2>(call);
}

#include "cpu/direct/simd_direct_equal.inl"

template <class T>
DirectKernels<T> kernels() {
#if HWY_TARGET == HWY_SCALAR
    return {real_taps<T>, equal_taps<T>, complex_one_by_one<T, false>, careful<T, 1>, complex_one_by_one<T, true>, nullptr};
#else
    return {
        real_taps<T>, equal_taps<T>, complex_taps<T>, careful<T, 1>, careful<T, 2>,
#if HWY_TARGET == HWY_AVX3
            few_taps<T>
#else
            nullptr
#endif
    };
#endif
}

const DirectTable& direct_table() {
    static const DirectTable kTable{kernels<float>(), kernels<double>()};
    return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace tapline::cpu
HWY_AFTER_NAMESPACE();
#endif
