// Strips of images on AVX-512: dense masks of 7 x 7 and masks of rank 1; included by simd_image.inl inside the target's namespace.
//
// A strip is V vectors wide and goes down the image. Each input row is read once: the vectors at its kWidth distances serve the
// kHeight output rows that it belongs to, whose sums all stay in registers. Output row r lives in slot r % kHeight, so kHeight
// input rows are unrolled, and neither sums nor taps move. A vector loaded serves seven multiply-adds for each of its taps'
// columns, where tiles of four rows give it 2.8 on average: from the caches 7 to 19% faster in six comparisons.
//
// Most distances are shuffled together from neighbouring vectors, which takes one slot of the two ports of the multiply-adds; a
// load that crosses cache lines cost about as much as 1.7 slots.
//
// Rows that lie a page apart are no stream that the hardware would follow, so a strip asks for the rows of the one after the
// next. Few rows a call, so that these lines are still there when their turn comes: in a prototype on 2048 x 1968 f32, two threads
// took at best 1.41 ms with 14 rows, 1.62 with 21, 1.64 with 28 and with 42 (on a machine that others used). Without asking they
// took many times as long.

#include <immintrin.h>

/// Output rows of a call of square masks that go in strips; 0: they go in tiles. Past the caches 3 x 3 takes as long as memory, by
/// rows rather than down the image: 4096 x 4096 f32 6.2 ms with 6 rows a call, 6.6 to 7.5 with 12 or 18, 8.5 with 30; from the
/// caches 30 rows take a seventh less than 6.
inline std::int64_t strip_rows(std::int64_t side, bool stream) {
    switch (side) {
        case 3:
            return stream ? 6 : 30;
        case 5:
            return 15;
        case 7:
            return 14;
        default:
            return 0;
    }
}

template <int j>
HWY_INLINE Vector<float> shifted_image(Vector<float> high, Vector<float> low) {
    return Vector<float>{_mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(high.raw), _mm512_castps_si512(low.raw), j))};
}
template <int j>
HWY_INLINE Vector<double> shifted_image(Vector<double> high, Vector<double> low) {
    return Vector<double>{_mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(high.raw), _mm512_castpd_si512(low.raw), j))};
}

template <class T>
void image_sums(const ImageCall<T>& call);

/// kSide: of the mask. kUnit: step 1, known when compiled.
template <class T, int kSide, int V, bool kUnit>
struct ImageStrip {
    static constexpr int kHeight = kSide, kWidth = kSide;
    static constexpr std::int64_t L = kLanes<T>;
    using Sums = Vector<T>[kHeight * V];

    static constexpr bool is_shuffled(int j) { return kUnit && j != 0 && j != kSide / 2; }

    // Tap row k of an input row whose number is `phase` modulo kHeight.
    template <int phase, int k, std::size_t... v>
    static HWY_INLINE void tap(Sums& acc, const Vector<T>* x, const T* HWY_RESTRICT taps, int j, std::index_sequence<v...>) {
        constexpr int slot = (phase + kHeight - k) % kHeight;
        auto h = hn::Set(Tag<T>(), taps[k * kWidth + j]);
        hold_image<T>(h);
        ((acc[slot * V + static_cast<int>(v)] = hn::MulAdd(h, x[v], acc[slot * V + static_cast<int>(v)])), ...);
    }
    template <int j, std::size_t... v>
    static HWY_INLINE void load(Vector<T>* x, const Vector<T>* at, const T* HWY_RESTRICT in, std::int64_t step,
                                std::index_sequence<v...>) {
        if constexpr (is_shuffled(j)) {
            ((x[v] = shifted_image<j>(at[v + 1], at[v])), ...);
        } else if constexpr (kUnit && j == 0) {
            ((x[v] = at[v]), ...);
        } else {
            ((x[v] = hn::LoadU(Tag<T>(), in + j * step + static_cast<std::int64_t>(v) * L), hold_image<T>(x[v])), ...);
        }
    }
    template <int phase, int kFirst, int j, std::size_t... k>
    static HWY_INLINE void column(Sums& acc, const Vector<T>* at, const T* HWY_RESTRICT in, std::int64_t step,
                                  const T* HWY_RESTRICT taps, std::index_sequence<k...>) {
        Vector<T> x[V];
        load<j>(x, at, in, step, std::make_index_sequence<V>());
        (tap<phase, kFirst + static_cast<int>(k)>(acc, x, taps, j, std::make_index_sequence<V>()), ...);
    }
    /// Tap rows kFirst .. kLast of an input row.
    template <int phase, int kFirst, int kLast, std::size_t... j>
    static HWY_INLINE void row(Sums& acc, const T* HWY_RESTRICT in, const ImageCall<T>& call, std::index_sequence<j...>) {
        const Tag<T> d;
        const T* taps = call.taps;
        __asm__ volatile("" : "+r"(taps));  // or GCC keeps the taps' vectors of other rows, in memory
        const std::int64_t step = kUnit ? 1 : call.step;
        for (int v = 0; v < V; ++v) {
            hwy::Prefetch(in + 3 * V * L + (kWidth - 1) * step - v * L);
            if constexpr (kFirst == 0) { acc[phase * V + v] = hn::Zero(d); }
        }
        Vector<T> at[V + 1];
        if constexpr (kUnit) {
            HWY_UNROLL(8)
            for (int v = 0; v < V; ++v) {
                at[v] = hn::LoadU(d, in + v * L);
                hold_image<T>(at[v]);
            }
            at[V] = hn::MaskedLoad(hn::FirstN(d, kWidth - 1), d, in + V * L);  // not what stands behind the row
            hold_image<T>(at[V]);
        }
        (column<phase, kFirst, static_cast<int>(j)>(acc, at, in, step, taps, std::make_index_sequence<kLast - kFirst + 1>()), ...);
    }
    template <int phase, int kFirst, int kLast>
    static HWY_INLINE void row(Sums& acc, const ImageCall<T>& call, const T* const* in, std::int64_t e) {
        row<phase, kFirst, kLast>(acc, *in + e, call, std::make_index_sequence<kWidth>());
    }
    /// The output row that an input row completes.
    template <int phase>
    static HWY_INLINE void put(const Sums& acc, const ImageCall<T>& call, T* HWY_RESTRICT out) {
        const Tag<T> d;
        constexpr int slot = (phase + 1) % kHeight;
        HWY_UNROLL(8)
        for (int v = 0; v < V; ++v) {
            const auto sum = acc[slot * V + v];
            if (call.stream) {
                hn::Stream(sum, d, out + v * L);
            } else {
                hn::StoreU(call.accumulate ? hn::Add(hn::LoadU(d, out + v * L), sum) : sum, d, out + v * L);
            }
        }
    }

    template <std::size_t... p>
    static HWY_INLINE void enter(Sums& acc, const ImageCall<T>& call, std::int64_t e, std::index_sequence<p...>) {
        (row<static_cast<int>(p), 0, static_cast<int>(p)>(acc, call, call.in + p, e), ...);
    }
    template <std::size_t... p>
    static HWY_INLINE void turn(Sums& acc, const ImageCall<T>& call, const T* const* in, T* out, std::int64_t e,
                                std::index_sequence<p...>) {
        ((row<static_cast<int>(p), 0, kHeight - 1>(acc, call, in + p, e),
          put<static_cast<int>(p)>(acc, call, out + static_cast<std::int64_t>(p) * call.out_pitch)),
         ...);
    }
    template <std::size_t... p>
    static HWY_INLINE void leave(Sums& acc, const ImageCall<T>& call, const T* const* in, T* out, std::int64_t e,
                                 std::index_sequence<p...>) {
        ((row<static_cast<int>(p), static_cast<int>(p) + 1, kHeight - 1>(acc, call, in + p, e),
          put<static_cast<int>(p)>(acc, call, out + static_cast<std::int64_t>(p) * call.out_pitch)),
         ...);
    }
    static HWY_NOINLINE void run(const ImageCall<T>& call, std::int64_t first, std::int64_t last) {
#pragma GCC unroll 1
        for (std::int64_t e = first; e < last; e += V * L) {
            Sums acc;
            enter(acc, call, e, std::make_index_sequence<kHeight - 1>());
            row<kHeight - 1, 0, kHeight - 1>(acc, call, call.in + kHeight - 1, e);
            put<kHeight - 1>(acc, call, call.out + e);
            const T* const* in = call.in + kHeight;
            T* out = call.out + e + call.out_pitch;
#pragma GCC unroll 1
            for (std::int64_t r = kHeight; r < call.rows; r += kHeight, in += kHeight, out += kHeight * call.out_pitch) {
                turn(acc, call, in, out, e, std::make_index_sequence<kHeight>());
            }
            leave(acc, call, in, out, e, std::make_index_sequence<kHeight - 1>());
        }
    }
};

template <class T, int kSide, int V, bool kUnit>
void image_strips(const ImageCall<T>& call) {
    by_strips<T, V>(
        call.count, !call.accumulate,
        [&](std::int64_t first, std::int64_t last) HWY_ATTR { ImageStrip<T, kSide, V, kUnit>::run(call, first, last); },
        [&](std::int64_t first, std::int64_t last) HWY_ATTR { ImageStrip<T, kSide, 1, kUnit>::run(call, first, last); });
}
template <class T, int kSide, int V>
void image_strips(const ImageCall<T>& call) {
    return call.step == 1 ? image_strips<T, kSide, V, true>(call) : image_strips<T, kSide, V, false>(call);
}

/// Strips as wide as their sums, the vectors of a row at their place and shifted, and a tap fit 32 registers. Rows: a multiple of
/// the side.
template <class T>
void image_strips(const ImageCall<T>& call) {
    switch (call.height) {
        case 3:
            return image_strips<T, 3, 4>(call);
        case 5:
            return image_strips<T, 5, 4>(call);
        default:
            return image_strips<T, 7, 3>(call);
    }
}

// Masks of rank 1: a strip's row passes go to a buffer in the L1 cache, and the tiles of the column pass read it there. From a
// ring of whole rows, in the L2 cache, these tiles were limited by their loads.
/// kBeyond: vectors beside a strip that its rows read, of at most kBeyond L taps.
template <class T, int V, int kBeyond>
struct SeparableStrip {
    static constexpr std::int64_t L = kLanes<T>;

    // Tap s of the row; false after the last one. A quarter of the vectors is loaded, the others are shuffled.
    template <int s, std::size_t... v>
    static HWY_INLINE bool tap(Vector<T>* acc, const Vector<T>* at, const T* HWY_RESTRICT in, const T* HWY_RESTRICT taps,
                               std::int64_t width, std::index_sequence<v...>) {
        if (s >= width) { return false; }
        auto h = hn::Set(Tag<T>(), taps[s]);
        hold_image<T>(h);
        const auto value = [&]<int i>(std::integral_constant<int, i>) HWY_ATTR {
            constexpr int whole = s / static_cast<int>(L), e = s % static_cast<int>(L);
            if constexpr (e == 0) {
                return at[i + whole];
            } else if constexpr (i % 4 == 3) {
                return hn::LoadU(Tag<T>(), in + s + i * L);
            } else {
                return shifted_image<e>(at[i + whole + 1], at[i + whole]);
            }
        };
        ((acc[v] = hn::MulAdd(h, value(std::integral_constant<int, static_cast<int>(v)>()), acc[v])), ...);
        return true;
    }
    template <std::size_t... s>
    static HWY_INLINE void row(T* HWY_RESTRICT out, const T* HWY_RESTRICT in, const SeparableCall<T>& call,
                               std::index_sequence<s...>) {
        const Tag<T> d;
        Vector<T> acc[V], at[V + kBeyond];
        HWY_UNROLL(8)
        for (int v = 0; v < V; ++v) {
            hwy::Prefetch(in + 2 * V * L + call.width - 1 - v * L);
            acc[v] = hn::Zero(d);
            at[v] = hn::LoadU(d, in + v * L);
            hold_image<T>(at[v]);
        }
        HWY_UNROLL(2)
        for (int b = 0; b < kBeyond; ++b) {
            const auto left = static_cast<std::size_t>(HWY_MAX(call.width - 1 - b * L, std::int64_t{0}));
            at[V + b] = hn::MaskedLoad(hn::FirstN(d, left), d, in + (V + b) * L);
            hold_image<T>(at[V + b]);
        }
        // In the order of the kernels for signals, whose outputs narrow images have: s, s + L, then s + 1.
        const auto taps = [&]<int t>(std::integral_constant<int, t>) HWY_ATTR {
            bool more = tap<t>(acc, at, in, call.row, call.width, std::make_index_sequence<V>());
            if constexpr (kBeyond == 2) {
                more = tap<t + static_cast<int>(L)>(acc, at, in, call.row, call.width, std::make_index_sequence<V>()) || more;
            }
            return more;
        };
        (void)(taps(std::integral_constant<int, static_cast<int>(s)>()) && ...);
        HWY_UNROLL(8)
        for (int v = 0; v < V; ++v) { hn::Store(acc[v], d, out + v * L); }
    }
    static HWY_NOINLINE void run(const SeparableCall<T>& call, std::int64_t first, std::int64_t last) {
        const std::int64_t lines = call.rows + call.height - 1;
        for (std::int64_t p = 0; p < lines; ++p) { call.lines[p] = call.buffer + p * V * L; }
        ImageCall<T> column;
        column.out_pitch = call.out_pitch;
        column.in = call.lines;
        column.taps = call.column;
        column.height = call.height;
        column.width = 1;
        column.rows = call.rows;
        column.count = V * L;
        column.stream = call.stream;
#pragma GCC unroll 1
        for (std::int64_t e = first; e < last; e += V * L) {
#pragma GCC unroll 1
            for (std::int64_t p = 0; p < lines; ++p) {
                row(call.buffer + p * V * L, call.in[p] + e, call, std::make_index_sequence<static_cast<std::size_t>(L)>());
            }
            column.out = call.out + e;
            image_sums<T>(column);
        }
    }
};

template <class T, int kBeyond>
void separable_strips(const SeparableCall<T>& call) {
    constexpr int V = 4;
    static_assert(V * kLanes<T> <= kSeparableStrip && kBeyond * kLanes<T> <= kSeparableWidth<T>);
    by_strips<T, V>(
        call.count, true,
        [&](std::int64_t first, std::int64_t last) HWY_ATTR { SeparableStrip<T, V, kBeyond>::run(call, first, last); },
        [&](std::int64_t first, std::int64_t last) HWY_ATTR { SeparableStrip<T, 1, kBeyond>::run(call, first, last); });
}

template <class T>
void separable_strips(const SeparableCall<T>& call) {
    return call.width <= kLanes<T> ? separable_strips<T, 1>(call) : separable_strips<T, 2>(call);
}
