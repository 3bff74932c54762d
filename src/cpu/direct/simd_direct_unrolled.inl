// Few taps with 16 registers or fewer; included by simd_direct.inl inside the target's namespace.
//
// With so few taps the loops over them, the zeroing and the branches around them take as long as the products: each number of taps
// has code of its own here. Up to L taps stay in registers and a load is the other operand of each multiply-add; of more, two share
// a load, as in Sweep. 65,536 samples of f32 take 9.3 us instead of 12.2 with 3 taps, 19.8 instead of 24.7 with 8, 21.8 instead
// of 32.9 with 9 and 25.2 instead of 26.5 with 12 (AVX2, one thread, in the L2 cache). Asking for lines ahead of the loads and
// stores did not pay.

/// Blocks of 4 vectors, 1 <= k <= kMost real taps, in the order of the other kernels.
template <class T, int kStep>
struct FewTaps {
    static constexpr int L = kLanes<T>;
    static constexpr int R = 4;
    static constexpr int kMost = HWY_MAX(2 * L, 8);
    using V = Vector<T>;

    /// The tap that comes i-th of K.
    static constexpr int in_turn(int i, int K) {
        for (int run = 0; run < K; run += L * kTaps) {
            for (int s = 0; s < L; ++s) {
                for (int q = 0; q < kTaps; ++q) {
                    const int t = run + s + L * q;
                    if (t < K && i-- == 0) { return t; }
                }
            }
        }
        return 0;
    }

    template <std::size_t... i>
    static HWY_INLINE V sum(const V* tap, const T* HWY_RESTRICT in, std::index_sequence<i...>) {
        V acc = hn::Zero(Tag<T>());
        ((acc = hn::MulAdd(tap[i], hn::LoadU(Tag<T>(), in + kStep * in_turn(i, sizeof...(i))), acc)), ...);
        return acc;
    }

    template <bool kStream>
    static HWY_INLINE void put(V v, T* HWY_RESTRICT out) {
        if constexpr (kStream) {
            hn::Stream(v, Tag<T>(), out);
        } else {
            hn::StoreU(v, Tag<T>(), out);
        }
    }

    template <bool kStream, std::size_t... i>
    static HWY_INLINE std::int64_t blocks(const DirectCall<T>& call, std::int64_t o, std::index_sequence<i...> each) {
        const V tap[] = {hn::Set(Tag<T>(), call.taps[in_turn(i, sizeof...(i))])...};
        for (; o + R * L <= call.count; o += R * L) {
            if constexpr (kStream) { prefetch<T, R>(call, call.in + o); }
            HWY_UNROLL(4)
            for (int r = 0; r < R; ++r) { put<kStream>(sum(tap, call.in + o + r * L, each), call.out + o + r * L); }
        }
        return o;
    }

    /// L < K <= 2 L: a load for two products, as in Sweep, without its loop.
    template <bool kStream, std::size_t... s>
    static HWY_INLINE std::int64_t pairs(const DirectCall<T>& call, std::int64_t o, std::index_sequence<s...>) {
        constexpr int K = sizeof...(s);
        constexpr int kWide = kRows;
        for (; o + kWide * L <= call.count; o += kWide * L) {
            const T* HWY_RESTRICT in = call.in + o;
            if constexpr (kStream) { prefetch<T, kWide>(call, in); }
            V acc[kWide];
            Block<T, kStep, 1, kWide>::clear(acc);
            (pair<K, static_cast<int>(s)>(acc, in, call.taps), ...);
            HWY_UNROLL(16)
            for (int r = 0; r < kWide; ++r) { put<kStream>(acc[r], call.out + o + r * L); }
        }
        return o;
    }
    template <int K, int s>
    static HWY_INLINE void pair(V (&acc)[kRows], const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps) {
        if constexpr (s < L) {
            constexpr int Q = s + L < K ? 2 : 1;
            Sweep<T, kStep, 1, kRows, Q>::one(acc, in + kStep * s, taps + s, std::make_index_sequence<Q>());
        }
    }

    template <int K>
    static HWY_INLINE std::int64_t taps(const DirectCall<T>& call, std::int64_t o) {
        if (call.k > K) {
            if constexpr (K < kMost) { return taps<K + 1>(call, o); }
        }
        const auto each = std::make_index_sequence<K>();
        if constexpr (K > L && K <= 2 * L) {
            return call.stream ? pairs<true>(call, o, each) : pairs<false>(call, o, each);
        } else {
            return call.stream ? blocks<true>(call, o, each) : blocks<false>(call, o, each);
        }
    }

    /// The outputs from `o` on, as far as whole blocks fit; returns where it stopped. Does not accumulate.
    static HWY_INLINE std::int64_t run(const DirectCall<T>& call, std::int64_t o) { return taps<1>(call, o); }
};
