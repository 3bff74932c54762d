// Masks of 3 x 3 on AVX-512; included by simd_image.inl inside the target's namespace.
//
// R rows of outputs go along the image together, one vector of each at a time. Of the R + 2 rows of pixels that they read a vector
// is loaded once; the two vectors beside it are shuffled together from it and the next one, which stays in registers for the next
// turn, and so do the nine taps: the multiply-adds take the time. 256 x 256 f32 take 12.5 us on one thread; 13.2 with one of the
// two vectors loaded, 13.9 with both, and 18.4 by strips down the image, whose rows may share sets of the L1 cache and whose edges
// are copied first.

/// R rows of outputs.
template <class T, int R>
struct ImageThree {
    static constexpr std::int64_t L = kLanes<T>;
    static constexpr int kSide = 3, kRead = R + kSide - 1;
    using V = Vector<T>;

    struct Rows {
        const T* in[kRead];
        T* out[R];
    };

    // Row p of pixels, for the rows of outputs which it meets, each under its own row of the mask.
    template <int p, int r>
    static HWY_INLINE void add(V* acc, const V* tap, const V* x) {
        constexpr int k = p - r;
        if constexpr (k >= 0 && k < kSide) {
            const V before = k == 0 ? hn::Zero(Tag<T>()) : acc[r];
            acc[r] = hn::MulAdd(tap[kSide * k], x[0], before);
            acc[r] = hn::MulAdd(tap[kSide * k + 1], x[1], acc[r]);
            acc[r] = hn::MulAdd(tap[kSide * k + 2], x[2], acc[r]);
        }
    }
    template <int p, std::size_t... r>
    static HWY_INLINE void row(V* acc, const V* tap, V& at, V next, std::index_sequence<r...>) {
        const V x[] = {at, shifted_image<1>(next, at), shifted_image<2>(next, at)};
        (add<p, static_cast<int>(r)>(acc, tap, x), ...);
        at = next;
    }
    template <std::size_t... p, class Next>
    static HWY_INLINE void turn(V* acc, const V* tap, V* at, const Next& next, std::index_sequence<p...>) {
        (row<static_cast<int>(p)>(acc, tap, at[p], next(static_cast<int>(p)), std::make_index_sequence<R>()), ...);
    }

    static HWY_INLINE auto lanes(std::int64_t first, std::int64_t last) {
        const auto bits = [](std::int64_t n) { return (std::uint32_t{1} << HWY_MIN(HWY_MAX(n, std::int64_t{0}), L)) - 1; };
        using Mask = decltype(hn::FirstN(Tag<T>(), 0));
        return Mask{static_cast<decltype(Mask::raw)>(bits(last) & ~bits(first))};
    }

    /// Outputs [o, end) by vectors; of the first and last one those that the call has.
    static HWY_INLINE void masked(const ImageCall<T>& call, const Rows& rows, const V* tap, std::int64_t o, std::int64_t end) {
        const Tag<T> d;
        const std::int64_t first = call.lead, last = call.count + kSide - 1 - call.trail;
        V at[kRead];
        HWY_UNROLL(8)
        for (int p = 0; p < kRead; ++p) { at[p] = hn::MaskedLoad(lanes(first - o, last - o), d, rows.in[p] + o); }
        for (; o < end; o += L) {
            V acc[R];
            const auto there = lanes(first - o - L, last - o - L), wanted = lanes(-o, call.count - o);
            const auto next = [&](int p) HWY_ATTR { return hn::MaskedLoad(there, d, rows.in[p] + o + L); };
            turn(acc, tap, at, next, std::make_index_sequence<kRead>());
            HWY_UNROLL(8)
            for (int r = 0; r < R; ++r) { hn::BlendedStore(acc[r], wanted, d, rows.out[r] + o); }
        }
    }

    /// Outputs from o on as far as whole vectors go; returns where it stopped.
    template <bool kStream>
    static HWY_INLINE std::int64_t middle(const ImageCall<T>& call, const Rows& rows, const V* tap, std::int64_t o) {
        const Tag<T> d;
        const std::int64_t last = HWY_MIN(call.count - L, call.count + kSide - 1 - call.trail - 2 * L);
        if (o > last) { return o; }
        V at[kRead];
        HWY_UNROLL(8)
        for (int p = 0; p < kRead; ++p) { at[p] = hn::LoadU(d, rows.in[p] + o); }
#pragma GCC unroll 1
        for (; o <= last; o += L) {
            V acc[R];
            const auto next = [&](int p) HWY_ATTR {
                V v = hn::LoadU(d, rows.in[p] + o + L);
                hold_image<T>(v);
                return v;
            };
            turn(acc, tap, at, next, std::make_index_sequence<kRead>());
            HWY_UNROLL(8)
            for (int r = 0; r < R; ++r) {
                if constexpr (kStream) {
                    hn::Stream(acc[r], d, rows.out[r] + o);
                } else {
                    hn::StoreU(acc[r], d, rows.out[r] + o);
                }
            }
        }
        return o;
    }

    static HWY_NOINLINE void run(const ImageCall<T>& call, const T* const* in, T* out) {
        Rows rows;
        for (int p = 0; p < kRead; ++p) { rows.in[p] = in[p] + call.offset; }
        for (int r = 0; r < R; ++r) { rows.out[r] = out + r * call.out_pitch; }
        V tap[kSide * kSide];
        HWY_UNROLL(16)
        for (int t = 0; t < kSide * kSide; ++t) {
            tap[t] = hn::Set(Tag<T>(), call.taps[t]);
            hold_image<T>(tap[t]);
        }
        const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out) / sizeof(T) % L);
        std::int64_t o = -past;
        for (; o < call.lead; o += L) { masked(call, rows, tap, o, o + L); }
        o = call.stream ? middle<true>(call, rows, tap, o) : middle<false>(call, rows, tap, o);
        masked(call, rows, tap, o, call.count);
    }
};

/// A call of a 3 x 3 mask, of step 1, whose rows' windows may leave the image by `lead` and `trail` elements.
template <class T>
void image_three(const ImageCall<T>& call) {
    const T* const* in = call.in;
    T* out = call.out;
    std::int64_t r = 0;
    const auto rows = [&]<int R>(std::integral_constant<int, R>) HWY_ATTR {
        for (; r + R <= call.rows; r += R, in += R, out += R * call.out_pitch) { ImageThree<T, R>::run(call, in, out); }
    };
    // Rows a page apart share sets of the L1 cache: 1024 x 1024 f32 from the caches take 243 to 260 us by six, 207 to 222 by four.
    constexpr std::int64_t kPage = 4096;
    const bool share_sets = !call.stream && call.out_pitch * static_cast<std::int64_t>(sizeof(T)) % kPage == 0;
    if (!share_sets) { rows(std::integral_constant<int, 6>()); }
    rows(std::integral_constant<int, 4>());
    rows(std::integral_constant<int, 2>());
    rows(std::integral_constant<int, 1>());
}
