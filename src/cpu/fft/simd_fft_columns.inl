// The column passes of large transforms, a strip at a time. Included once per instruction set, inside HWY_NAMESPACE.

// Rows of a strip: `pitch` elements from one to the next.
template <class T>
struct StripView {
    T* re;
    T* im;
    std::int64_t pitch;
};

// w_N^(f(r) c) for one vector of columns of the strip.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE Cx<D> strip_twiddle(D d, const FftTables<T>& t, const T* strip_w, std::int64_t row, std::int64_t column) {
    const T* const lane_w = t.lane_twiddles + 2 * row * t.strip + column;
    return mul(load(d, lane_w, lane_w + t.strip), Cx<D>{hn::Set(d, strip_w[2 * row]), hn::Set(d, strip_w[2 * row + 1])});
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE Cx<D> broadcast(D d, const T* w) {
    return {hn::Set(d, w[0]), hn::Set(d, w[1])};
}

// One pass over a strip. The last (step 1) has no factors of its own but the strip's.
template <int kRadix, class S, class T>
HWY_NOINLINE void column_dif_pass(const FftTables<T>& t, const FftPass<T>& pass, const StripView<const S>& from,
                                  const StripView<T>& to, const T* strip_w) {
    const hn::ScalableTag<T> d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    const bool last = pass.step == 1;
    for (std::int64_t block = 0; block < t.rows; block += kRadix * pass.step) {
        for (std::int64_t j = 0; j < pass.step; ++j) {
            const T* const w = pass.twiddles + 2 * (kRadix - 1) * j;
            for (std::int64_t c = 0; c < t.strip; c += kLanes) {
                Cx<hn::ScalableTag<T>> z[kRadix];
                const std::int64_t source = (block + j) * from.pitch + c;
                load_points<kRadix>(d, z, from.re + source, from.im + source, pass.step * from.pitch);
                dft<kRadix>(z);
                for (int m = 0; m < kRadix; ++m) {
                    const std::int64_t row = block + j + m * pass.step;
                    if (last) {
                        z[m] = mul(z[m], strip_twiddle(d, t, strip_w, row, c));
                    } else if (m > 0) {
                        z[m] = mul(z[m], broadcast(d, w + 2 * (m - 1)));
                    }
                    store(d, z[m], to.re + row * to.pitch + c, to.im + row * to.pitch + c);
                }
            }
        }
    }
}

template <class T, class S>
void forward_columns(const FftTables<T>& t, std::int64_t strip, const FftSource<S>& source, T* re, T* im, T* scratch) {
    const std::int64_t column = strip * t.strip;
    const T* const strip_w = t.strip_twiddles + 2 * strip * t.rows;
    const StripView<T> buffer = {scratch, scratch + t.scratch_im_offset, t.strip};
    const StripView<T> rows = {re + column, im + column, t.pitch};
    const auto run = [&](int p, const auto& from) {
        const FftPass<T>& pass = t.column_pass[static_cast<std::size_t>(p)];
        const StripView<T>& to = p + 1 == t.column_passes ? rows : buffer;
        pass.radix == 8 ? column_dif_pass<8>(t, pass, from, to, strip_w) : column_dif_pass<4>(t, pass, from, to, strip_w);
    };
    run(0, StripView<const S>{source.re + column, source.im + column, source.pitch});
    for (int p = 1; p < t.column_passes; ++p) { run(p, StripView<const T>{buffer.re, buffer.im, buffer.pitch}); }
}

// As dit_points(), of points whose factors all lanes share.
template <int kRadix, class D, class T = hn::TFromD<D>>
HWY_INLINE void column_dit_points(D d, Cx<D>* z, const FftPass<T>& pass, std::int64_t j) {
    if constexpr (kRadix == 8) {
        const T* const w = pass.chained + 8 * j;
        twiddled_dft8(z, broadcast(d, w), broadcast(d, w + 2), broadcast(d, w + 4), broadcast(d, w + 6));
    } else {
        const T* const w = pass.twiddles + 6 * j;
        twiddled_dft4(z, broadcast(d, w), broadcast(d, w + 2));
    }
}

// On exchanged parts, as all inverses. kSink: the last one, which stores positions row * columns + column of the strip.
template <int kRadix, bool kSink, class T, class Sink>
HWY_NOINLINE bool column_dit_pass(const FftTables<T>& t, const FftPass<T>& pass, const StripView<const T>& from,
                                  const StripView<T>& to, const T* strip_w, const Sink& sink, std::int64_t column) {
    using D = hn::ScalableTag<T>;
    const D d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    Outlet<kRadix, D, Sink> outlet(sink);
    const std::int64_t run = kSink ? std::min(outlet.kRun, t.strip) : t.strip;
    const std::int64_t pitch = pass.step * pitch_of(sink), positions = pass.step * t.columns;
    for (std::int64_t block = 0; block < t.rows; block += kRadix * pass.step) {
        for (std::int64_t j = 0; j < pass.step; ++j) {
            const std::int64_t offset = (block + j) * pitch_of(sink) + column, position = (block + j) * t.columns + column;
            for (std::int64_t c = 0; c < t.strip; c += kLanes) {
                Cx<D> z[kRadix];
                const std::int64_t source = (block + j) * from.pitch + c;
                load_points<kRadix>(d, z, from.re + source, from.im + source, pass.step * from.pitch);
                if (pass.step == 1) {
                    for (int m = 0; m < kRadix; ++m) { z[m] = mul(z[m], strip_twiddle(d, t, strip_w, block + m, c)); }
                    dft<kRadix>(z);
                } else {
                    column_dit_points<kRadix>(d, z, pass, j);
                }
                if constexpr (kSink) {
                    const std::int64_t begin = c / run * run;
                    outlet.put_points(d, offset + c, pitch, position + c, positions, c - begin, z);
                    if (c + kLanes == begin + run) { outlet.flush(offset + begin, pitch, position + begin, positions, run); }
                } else {
                    for (int m = 0; m < kRadix; ++m) {
                        const std::int64_t row = block + j + m * pass.step;
                        store(d, z[m], to.re + row * to.pitch + c, to.im + row * to.pitch + c);
                    }
                }
            }
        }
    }
    return !kSink || outlet.finish();
}

template <class T, class Sink>
bool inverse_columns(const FftTables<T>& t, std::int64_t strip, const T* re, const T* im, const Sink& sink, T* scratch) {
    const std::int64_t column = strip * t.strip;
    const T* const strip_w = t.strip_twiddles + 2 * strip * t.rows;
    const StripView<T> buffer = {scratch + t.scratch_im_offset, scratch, t.strip};  // exchanged
    StripView<const T> from = {im + column, re + column, t.pitch};
    for (int p = t.column_passes - 1; p > 0; --p) {
        const FftPass<T>& pass = t.column_pass[static_cast<std::size_t>(p)];
        pass.radix == 8 ? column_dit_pass<8, false>(t, pass, from, buffer, strip_w, sink, column)
                        : column_dit_pass<4, false>(t, pass, from, buffer, strip_w, sink, column);
        from = {buffer.re, buffer.im, buffer.pitch};
    }
    const FftPass<T>& pass = t.column_pass[0];
    return pass.radix == 8 ? column_dit_pass<8, true>(t, pass, from, buffer, strip_w, sink, column)
                           : column_dit_pass<4, true>(t, pass, from, buffer, strip_w, sink, column);
}
