// Few taps on AVX-512; included by simd_direct.inl inside the target's namespace.
//
// With at most 2 L taps each load serves one or two multiply-adds, and then the unaligned loads limit: one a cycle against
// two multiply-adds. A vector at offset e can also be shuffled together from its two neighbours at multiples of L, which
// stay in registers here. A shuffle takes one of the two ports of the multiply-adds, so with x of R vectors shuffled these
// ports take (R + x) / 2 cycles for one tap and the loads R - x: a third of them shuffled balances the two. With 8 taps and 2^24
// elements on two threads that took 2.8 ms (135% of the copy's speed), a half 2.9 to 3.3 ms, a quarter 3.2 ms, none 3.5 ms.

#include <immintrin.h>

template <int e>
HWY_INLINE Vector<float> shifted(Vector<float> high, Vector<float> low) {
    return Vector<float>{_mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(high.raw), _mm512_castps_si512(low.raw), e))};
}
template <int e>
HWY_INLINE Vector<double> shifted(Vector<double> high, Vector<double> low) {
    return Vector<double>{_mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(high.raw), _mm512_castpd_si512(low.raw), e))};
}

/// Blocks of 8 vectors, 1 <= k <= 2 L real taps. Every s is code of its own, because a shuffle's distance is part of the
/// instruction.
template <class T, int kStep>
struct FewTaps {
    static constexpr int L = kLanes<T>;
    static constexpr int R = 8;
    static constexpr int kNeighbours = R + 2 * kStep;  ///< vectors that a block reads
    using V = Vector<T>;
    using Accumulators = V[R];
    using Neighbours = V[kNeighbours];

    template <int s, int Q, int P>
    static HWY_INLINE void vector(Accumulators& acc, const V* tap, const Neighbours& at, const T* HWY_RESTRICT in) {
        constexpr int e = s * kStep;
        V v;
        if constexpr (e % L == 0) {
            v = at[P + e / L];
        } else if constexpr (P % 3 == 0) {
            v = shifted<e % L>(at[P + e / L + 1], at[P + e / L]);
        } else {
            v = hn::LoadU(Tag<T>(), in + P * L + e);
            hold<T>(v);
        }
        if constexpr (P < R) { acc[P] = hn::MulAdd(tap[0], v, acc[P]); }
        if constexpr (Q == 2 && P >= kStep) { acc[P - kStep] = hn::MulAdd(tap[1], v, acc[P - kStep]); }
    }

    template <int s, int Q, std::size_t... P>
    static HWY_INLINE void vectors(Accumulators& acc, const Neighbours& at, const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps,
                                   std::index_sequence<P...>) {
        V tap[Q];
        tap[0] = hn::Set(Tag<T>(), taps[s]);
        hold<T>(tap[0]);
        if constexpr (Q == 2) {
            tap[1] = hn::Set(Tag<T>(), taps[s + L]);
            hold<T>(tap[1]);
        }
        (vector<s, Q, static_cast<int>(P)>(acc, tap, at, in), ...);
    }

    /// false after the last tap
    template <int s>
    static HWY_INLINE bool one(Accumulators& acc, const Neighbours& at, const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps,
                               int k) {
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
    static HWY_INLINE void all(Accumulators& acc, const Neighbours& at, const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps, int k,
                               std::index_sequence<s...>) {
        (void)(one<static_cast<int>(s)>(acc, at, in, taps, k) && ...);
    }

    template <std::size_t... j>
    static HWY_INLINE void load(Neighbours& at, const T* HWY_RESTRICT in, std::index_sequence<j...>) {
        ((at[j] = hn::LoadU(Tag<T>(), in + j * L)), ...);
        (hold<T>(at[j]), ...);
    }

    /// The outputs from `o` on, as far as whole blocks and their neighbours fit; returns where it stopped.
    static HWY_INLINE std::int64_t run(const DirectCall<T>& call, std::int64_t o) {
        const std::int64_t last = HWY_MIN(call.count - R * L, call.count + kStep * (call.k - 1) - kNeighbours * L);
        for (; o <= last; o += R * L) {
            const T* HWY_RESTRICT in = call.in + o;
            prefetch<T, R>(call, in);
            Neighbours at;
            load(at, in, std::make_index_sequence<kNeighbours>());
            Accumulators acc;
            Block<T, kStep, 1, R>::clear(acc);
            all(acc, at, in, call.taps, static_cast<int>(call.k), std::make_index_sequence<L>());
            Block<T, kStep, 1, R>::put(call, call.out + o, acc, nullptr);
        }
        return o;
    }
};
