// Few taps on AVX-512; included by simd_direct.inl inside the target's namespace.
//
// With at most 2 L taps each load serves one or two multiply-adds, and then the unaligned loads limit: one a cycle or, on AMD
// EPYC 9004, one in two, where they cross lines of the cache. A vector at offset e can also be shuffled together from its two
// neighbours at multiples of L, which stay in registers here. A shuffle takes one of the ports of the multiply-adds, so half of the
// vectors are shuffled and half are loaded. Up to kFewest taps are all shuffled.
//
// What is beyond a call's ends, and beyond the signal's, is masked: the ends of a short row would take as long as its middle
// otherwise.

#include <immintrin.h>

template <int e>
HWY_INLINE Vector<float> shifted(Vector<float> high, Vector<float> low) {
    return Vector<float>{_mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(high.raw), _mm512_castps_si512(low.raw), e))};
}
template <int e>
HWY_INLINE Vector<double> shifted(Vector<double> high, Vector<double> low) {
    return Vector<double>{_mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(high.raw), _mm512_castpd_si512(low.raw), e))};
}

/// Blocks of R vectors, 1 <= k <= 2 L real taps. Every s is code of its own, because a shuffle's distance is part of the
/// instruction.
template <class T, int kStep, int R = 8>
struct FewTaps {
    static constexpr int L = kLanes<T>;
    static constexpr int kFewest = 4;
    static constexpr int kEnds = 4;      ///< vectors of a block at a call's ends, whose sums do not wait for each other
    static constexpr int kTogether = 4;  ///< vectors of a turn under the fewest taps
    static constexpr int kNeighbours = R + 2 * kStep;  ///< vectors that a block reads
    using V = Vector<T>;
    using Accumulators = V[R];
    using Neighbours = V[kNeighbours];

    template <int s, int Q, int P, bool kMasked>
    static HWY_INLINE void vector(Accumulators& acc, const V* tap, const Neighbours& at, const T* HWY_RESTRICT in) {
        constexpr int e = s * kStep;
        V v;
        if constexpr (e % L == 0) {
            v = at[P + e / L];
        } else if constexpr (kMasked || P % 2 == 0) {
            v = shifted<e % L>(at[P + e / L + 1], at[P + e / L]);
        } else {
            v = hn::LoadU(Tag<T>(), in + P * L + e);
            hold<T>(v);
        }
        if constexpr (P < R) { acc[P] = hn::MulAdd(tap[0], v, acc[P]); }
        if constexpr (Q == 2 && P >= kStep) { acc[P - kStep] = hn::MulAdd(tap[1], v, acc[P - kStep]); }
    }

    template <int s, int Q, bool kMasked, std::size_t... P>
    static HWY_INLINE void vectors(Accumulators& acc, const Neighbours& at, const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps,
                                   std::index_sequence<P...>) {
        V tap[Q];
        tap[0] = hn::Set(Tag<T>(), taps[s]);
        hold<T>(tap[0]);
        if constexpr (Q == 2) {
            tap[1] = hn::Set(Tag<T>(), taps[s + L]);
            hold<T>(tap[1]);
        }
        (vector<s, Q, static_cast<int>(P), kMasked>(acc, tap, at, in), ...);
    }

    /// false after the last tap
    template <int s, bool kMasked>
    static HWY_INLINE bool one(Accumulators& acc, const Neighbours& at, const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps,
                               int k) {
        if (k > s + L) {
            vectors<s, 2, kMasked>(acc, at, in, taps, std::make_index_sequence<R + kStep>());
        } else if (k > s) {
            vectors<s, 1, kMasked>(acc, at, in, taps, std::make_index_sequence<R>());
        } else {
            return false;
        }
        return true;
    }

    template <bool kMasked, std::size_t... s>
    static HWY_INLINE void all(Accumulators& acc, const Neighbours& at, const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps, int k,
                               std::index_sequence<s...>) {
        (void)(one<static_cast<int>(s), kMasked>(acc, at, in, taps, k) && ...);
    }

    template <std::size_t... j>
    static HWY_INLINE void load(Neighbours& at, const T* HWY_RESTRICT in, std::index_sequence<j...>) {
        ((at[j] = hn::LoadU(Tag<T>(), in + j * L)), ...);
        (hold<T>(at[j]), ...);
    }

    /// The outputs from `o` on, as far as whole blocks and their neighbours fit; returns where it stopped.
    static HWY_INLINE std::int64_t run(const DirectCall<T>& call, std::int64_t o) {
        const std::int64_t last = HWY_MIN(call.count - R * L, elements(call) - call.trail - kNeighbours * L);
        for (; o <= last; o += R * L) {
            const T* HWY_RESTRICT in = call.in + o;
            prefetch<T, R>(call, in);
            Neighbours at;
            load(at, in, std::make_index_sequence<kNeighbours>());
            Accumulators acc;
            Block<T, kStep, 1, R>::clear(acc);
            all<false>(acc, at, in, call.taps, static_cast<int>(call.k), std::make_index_sequence<L>());
            Block<T, kStep, 1, R>::put(call, call.out + o, acc, nullptr);
        }
        return o;
    }

    /// Elements that the call's windows cover.
    static HWY_INLINE std::int64_t elements(const DirectCall<T>& call) { return call.count + kStep * (call.k - 1); }

    /// Lanes [first, last) of a vector.
    static HWY_INLINE auto lanes(std::int64_t first, std::int64_t last) {
        const auto bits = [](std::int64_t n) { return (std::uint32_t{1} << HWY_MIN(HWY_MAX(n, std::int64_t{0}), L)) - 1; };
        using Bits = decltype(hn::FirstN(Tag<T>(), 0).raw);
        return decltype(hn::FirstN(Tag<T>(), 0)){static_cast<Bits>(bits(last) & ~bits(first))};
    }

    /// The outputs of one block from `o` on that the call has; reads what its windows have.
    static HWY_INLINE void masked(const DirectCall<T>& call, std::int64_t o) {
        const Tag<T> d;
        const T* in = call.in + o;
        const std::int64_t first = call.lead - o, last = elements(call) - call.trail - o;
        Neighbours at;
        HWY_UNROLL(16)
        for (int j = 0; j < kNeighbours; ++j) {
            at[j] = hn::MaskedLoad(lanes(first - j * L, last - j * L), d, in + j * L);
            hold<T>(at[j]);
        }
        Accumulators acc;
        Block<T, kStep, 1, R>::clear(acc);
        all<true>(acc, at, in, call.taps, static_cast<int>(call.k), std::make_index_sequence<L>());
        HWY_UNROLL(16)
        for (int r = 0; r < R; ++r) {
            hn::BlendedStore(acc[r], lanes(-o - r * L, call.count - o - r * L), d, call.out + o + r * L);
        }
    }

    template <std::size_t... t>
    static HWY_INLINE V sum(const V* tap, V at, V next, std::index_sequence<t...>) {
        V acc = hn::Zero(Tag<T>());
        const auto value = [&]<int e>(std::integral_constant<int, e>) HWY_ATTR {
            if constexpr (e == 0) {
                return at;
            } else {
                return shifted<e>(next, at);
            }
        };
        ((acc = hn::MulAdd(tap[t], value(std::integral_constant<int, static_cast<int>(t) * kStep>()), acc)), ...);
        return acc;
    }

    /// run() for K taps: vectors are read once each.
    template <bool kStream, std::size_t... t>
    static HWY_INLINE std::int64_t fewest(const DirectCall<T>& call, std::int64_t o, std::index_sequence<t...> each) {
        const Tag<T> d;
        const std::int64_t last = HWY_MIN(call.count - kTogether * L, elements(call) - call.trail - (kTogether + 1) * L);
        if (o > last) { return o; }
        V tap[] = {hn::Set(d, call.taps[t])...};
        (hold<T>(tap[t]), ...);
        V at = hn::LoadU(d, call.in + o);
        for (; o <= last; o += kTogether * L) {
            const T* HWY_RESTRICT in = call.in + o;
            T* HWY_RESTRICT out = call.out + o;
            if constexpr (kStream) { prefetch<T, kTogether>(call, in); }
            HWY_UNROLL(4)
            for (int r = 0; r < kTogether; ++r) {
                V next = hn::LoadU(d, in + (r + 1) * L);
                hold<T>(next);
                const V v = sum(tap, at, next, each);
                if constexpr (kStream) {
                    hn::Stream(v, d, out + r * L);
                } else {
                    hn::StoreU(v, d, out + r * L);
                }
                at = next;
            }
        }
        return o;
    }
    template <int K>
    static HWY_INLINE std::int64_t middle(const DirectCall<T>& call, std::int64_t o) {
        const auto each = std::make_index_sequence<K>();
        return call.stream ? fewest<true>(call, o, each) : fewest<false>(call, o, each);
    }

    /// A whole call that does not accumulate. `call.stream` where whole vectors of outputs are aligned.
    static HWY_NOINLINE void whole(const DirectCall<T>& given) {
        using Ends = FewTaps<T, kStep, kEnds>;
        DirectCall<T> call = given;
        const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(call.out) % (L * sizeof(T)));
        const bool aligned = past % static_cast<std::int64_t>(sizeof(T)) == 0;
        call.stream = given.stream && aligned;
        std::int64_t o = aligned ? -past / static_cast<std::int64_t>(sizeof(T)) : 0;
        for (; o < call.lead; o += kEnds * L) { Ends::masked(call, o); }
        switch (call.k) {
            case 1:
                o = middle<1>(call, o);
                break;
            case 2:
                o = middle<2>(call, o);
                break;
            case 3:
                o = middle<3>(call, o);
                break;
            case 4:
                o = middle<4>(call, o);
                break;
            default:
                o = run(call, o);
        }
        for (; o < call.count; o += kEnds * L) { Ends::masked(call, o); }
        if (given.stream) { hwy::FlushStream(); }
    }
};

/// Real elements, real taps, step 1 and at most kMostFewTaps: a whole call.
template <class T>
void few_taps(const DirectCall<T>& call) {
    FewTaps<T, 1>::whole(call);
}
