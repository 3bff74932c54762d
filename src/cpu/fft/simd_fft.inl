// The passes of the block FFT. Included once per instruction set, inside HWY_NAMESPACE, after simd_fft_tile.inl and
// simd_fft_sink.inl.

enum TileMode { kForwardOnly = 1, kInverseOnly = 2, kConvolve = 3 };

template <int kRadix, class D, class S>
HWY_INLINE void load_points(D d, Cx<D>* z, const S* re, const S* im, std::int64_t stride) {
    for (int r = 0; r < kRadix; ++r) { z[r] = load(d, re + r * stride, im + r * stride); }
}

// Vectors of L indices j; `src` and `re`, `im` may be the same.
template <int kRadix, class S, class T>
HWY_NOINLINE void dif_pass(const S* src_re, const S* src_im, T* re, T* im, std::int64_t step, const T* w) {
    const hn::ScalableTag<T> d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    for (std::int64_t j = 0; j < step; j += kLanes, w += 2 * (kRadix - 1) * kLanes) {
        Cx<hn::ScalableTag<T>> z[kRadix];
        load_points<kRadix>(d, z, src_re + j, src_im + j, step);
        dft<kRadix>(z);
        store(d, z[0], re + j, im + j);
        for (int m = 1; m < kRadix; ++m) {
            const T* const at = w + 2 * (m - 1) * kLanes;
            store(d, mul(z[m], load(d, at, at + kLanes)), re + m * step + j, im + m * step + j);
        }
    }
}

// One vector of each of kRadix points, multiplied by the pass's factors and transformed.
template <int kRadix, class D, class T = hn::TFromD<D>>
HWY_INLINE void dit_points(D d, Cx<D>* z, const FftPass<T>& pass, std::int64_t j) {
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    if constexpr (kRadix == 8) {
        const T* const w = pass.chained + 8 * j;
        twiddled_dft8(z, load(d, w, w + kLanes), load(d, w + 2 * kLanes, w + 3 * kLanes), load(d, w + 4 * kLanes, w + 5 * kLanes),
                      load(d, w + 6 * kLanes, w + 7 * kLanes));
    } else {
        const T* const w = pass.twiddles + 6 * j;
        twiddled_dft4(z, load(d, w, w + kLanes), load(d, w + 2 * kLanes, w + 3 * kLanes));
    }
}

template <int kRadix, class T>
HWY_NOINLINE void dit_pass(T* re, T* im, const FftPass<T>& pass) {
    const hn::ScalableTag<T> d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    for (std::int64_t j = 0; j < pass.step; j += kLanes) {
        Cx<hn::ScalableTag<T>> z[kRadix];
        load_points<kRadix>(d, z, re + j, im + j, pass.step);
        dit_points<kRadix>(d, z, pass, j);
        for (int r = 0; r < kRadix; ++r) { store(d, z[r], re + r * pass.step + j, im + r * pass.step + j); }
    }
}

template <int kRadix, class Outlet, class T, class Sink>
HWY_NOINLINE bool dit_pass_into(const T* re, const T* im, const FftPass<T>& pass, const Sink& sink) {
    using D = hn::ScalableTag<T>;
    const D d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    Outlet outlet(sink);
    for (std::int64_t run = 0; run < pass.step; run += outlet.kRun) {
        for (std::int64_t j = run; j < run + outlet.kRun; j += kLanes) {
            Cx<D> z[kRadix];
            load_points<kRadix>(d, z, im + j, re + j, pass.step);
            dit_points<kRadix>(d, z, pass, j);
            outlet.put_points(d, j, pass.step, j, pass.step, j - run, z);
        }
        outlet.flush(run, pass.step, run, pass.step, outlet.kRun);
    }
    return outlet.finish();
}

// Lines further apart are stored sooner through the caches than past them: 2^24 samples take 30 ms instead of 36 with 127 taps and
// 34 instead of 41 with 511, but took 51 instead of 44 with 2,047 (f32, AVX2, one thread).
constexpr std::int64_t kMostApart = 2048;

// The last pass of an inverse: natural order out, to where the caller wants it. Here the parts are exchanged back.
template <int kRadix, class T, class Sink>
bool dit_sink_pass(const T* re, const T* im, const FftPass<T>& pass, const Sink& sink) {
    using D = hn::ScalableTag<T>;
    if constexpr (std::is_same_v<Sink, FftSink<T>> && LineOutlet<kRadix, D>::kNeeded) {
        const std::int64_t apart = pass.step * static_cast<std::int64_t>(sizeof(T));
        if (sink.stream && apart <= kMostApart && pass.step % LineOutlet<kRadix, D>::kRun == 0) {
            return dit_pass_into<kRadix, LineOutlet<kRadix, D>>(re, im, pass, sink);
        }
    }
    return dit_pass_into<kRadix, Outlet<kRadix, D, Sink>>(re, im, pass, sink);
}

// What is read beside the data, point by point: the spectrum, and samples to be asked for early (null: none).
template <class T, class S = T>
struct Beside {
    const T* h_re;
    const T* h_im;
    const S* next_re;
    const S* next_im;
    [[nodiscard]] Beside at(std::int64_t i) const {
        return {h_re + i, h_im + i, next_re == nullptr ? nullptr : next_re + i, next_re == nullptr ? nullptr : next_im + i};
    }
};

// Asks for the `points` samples at `from` to come into the L2 cache.
template <std::int64_t kPoints, class T>
HWY_INLINE void prefetch(const T* from) {
    constexpr std::int64_t kLine = 64 / sizeof(T);
    for (std::int64_t i = 0; i < kPoints; i += kLine) { __builtin_prefetch(from + i, 0, 2); }
}

template <int kMode, class T, class S>
HWY_INLINE void tiles(const FftTables<T>& t, T* re, T* im, const Beside<T, S>& beside, std::int64_t points) {
    const hn::ScalableTag<T> d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    constexpr int kVectors = tile_vectors<hn::ScalableTag<T>>();
    for (std::int64_t at = 0; at < points; at += kVectors * kLanes) {
        Cx<hn::ScalableTag<T>> z[kVectors];
        load_points<kVectors>(d, z, re + at, im + at, kLanes);
        if constexpr ((kMode & kForwardOnly) != 0) { tile_forward(d, z, t.tile); }
        if constexpr (kMode == kConvolve) {
            // A few lines at a time: more at once would fill the queue of misses and stop the loads behind them.
            if (beside.next_re != nullptr) {
                prefetch<kVectors * kLanes>(beside.next_re + at);
                prefetch<kVectors * kLanes>(beside.next_im + at);
            }
            const T* const h_re = beside.h_re + at;
            const T* const h_im = beside.h_im + at;
            for (int v = 0; v < kVectors; ++v) { z[v] = mul(z[v], load(d, h_re + v * kLanes, h_im + v * kLanes)); }
        }
        if constexpr ((kMode & kInverseOnly) != 0) {
            for (int v = 0; v < kVectors; ++v) { z[v] = {z[v].im, z[v].re}; }
            tile_inverse(d, z, t.tile);
            for (int v = 0; v < kVectors; ++v) { z[v] = {z[v].im, z[v].re}; }
        }
        for (int v = 0; v < kVectors; ++v) { store(d, z[v], re + at + v * kLanes, im + at + v * kLanes); }
    }
}

template <class S, class T>
HWY_INLINE void dif(const FftPass<T>& pass, const S* src_re, const S* src_im, T* re, T* im) {
    pass.radix == 8 ? dif_pass<8>(src_re, src_im, re, im, pass.step, pass.twiddles)
                    : dif_pass<4>(src_re, src_im, re, im, pass.step, pass.twiddles);
}

template <int kMode, class T, class S>
void block(const FftTables<T>& t, int depth, T* re, T* im, const Beside<T, S>& beside);

// What lies between the two halves of pass `depth`: its blocks, each to the end before the next.
template <int kMode, class T, class S>
HWY_INLINE void blocks_below(const FftTables<T>& t, int depth, T* re, T* im, const Beside<T, S>& beside) {
    const FftPass<T>& pass = t.row_pass[static_cast<std::size_t>(depth)];
    if (depth + 1 == t.row_passes) {
        tiles<kMode>(t, re, im, beside, pass.radix * pass.step);
        return;
    }
    for (std::int64_t at = 0; at < pass.radix * pass.step; at += pass.step) {
        block<kMode>(t, depth + 1, re + at, im + at, beside.at(at));
    }
}

template <int kMode, class T, class S>
void block(const FftTables<T>& t, int depth, T* re, T* im, const Beside<T, S>& beside) {
    const FftPass<T>& pass = t.row_pass[static_cast<std::size_t>(depth)];
    if constexpr ((kMode & kForwardOnly) != 0) { dif(pass, re, im, re, im); }
    blocks_below<kMode>(t, depth, re, im, beside);
    if constexpr ((kMode & kInverseOnly) != 0) { pass.radix == 8 ? dit_pass<8>(im, re, pass) : dit_pass<4>(im, re, pass); }
}

template <class T>
void forward_row(const FftTables<T>& t, T* re, T* im) {
    block<kForwardOnly>(t, 0, re, im, Beside<T>{});
}

template <class T>
void inverse_row(const FftTables<T>& t, T* re, T* im) {
    block<kInverseOnly>(t, 0, re, im, Beside<T>{});
}

template <class T>
void convolve_row(const FftTables<T>& t, T* re, T* im, const T* h_re, const T* h_im) {
    block<kConvolve>(t, 0, re, im, Beside<T>{h_re, h_im, nullptr, nullptr});
}

template <class T, class S, class Sink>
bool convolve_segment(const FftTables<T>& t, T* re, T* im, const T* h_re, const T* h_im, const FftSource<S>& source,
                      const Sink& sink) {
    const FftPass<T>& pass = t.row_pass[0];
    // The first pass waits for memory, the blocks compute: meanwhile the next transform's samples are fetched.
    const bool known = source.ahead != 0;
    const S* const next_re = known ? source.re + source.ahead : nullptr;
    const S* const next_im = known ? source.im + source.ahead : nullptr;
    dif(pass, source.re, source.im, re, im);
    blocks_below<kConvolve>(t, 0, re, im, Beside<T, S>{h_re, h_im, next_re, next_im});
    return pass.radix == 8 ? dit_sink_pass<8>(re, im, pass, sink) : dit_sink_pass<4>(re, im, pass, sink);
}
