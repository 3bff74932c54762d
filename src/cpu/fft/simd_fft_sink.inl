// Where the last pass of an inverse leaves its outputs. Included once per instruction set, inside HWY_NAMESPACE, after
// simd_fft_tile.inl. What is put is swapped, as everything in an inverse.

// Stores the lanes of `v` at positions below `count` and adds 0 * v to `bad`, which becomes NaN if v is not finite.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void put(D d, T* to, std::int64_t position, std::int64_t count, bool stream, hn::Vec<D> v, hn::Vec<D>& bad) {
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    if (HWY_LIKELY(position + kLanes <= count)) {
        bad = hn::MulAdd(v, hn::Zero(d), bad);
        if (stream) {
            hn::Stream(v, d, to);
        } else {
            hn::StoreU(v, d, to);
        }
    } else if (position < count) {
        HWY_ALIGN T lanes[kLanes];
        hn::Store(v, d, lanes);
        for (std::int64_t i = 0; i < count - position; ++i) { to[i] = lanes[i]; }
        for (std::int64_t i = count - position; i < kLanes; ++i) { lanes[i] = 0; }
        bad = hn::MulAdd(hn::Load(d, lanes), hn::Zero(d), bad);
    }
}

template <class D>
HWY_INLINE bool is_zero(D d, hn::Vec<D> v) {
    return hn::AllTrue(d, v == hn::Zero(d));  // NaN is not equal
}

/// Takes the kRadix vectors of one butterfly after the other, r-th position + r * step, which lie offset + r * pitch elements
/// behind the sink's address. So many positions that follow each other, a `run`, are put before they are flushed.
template <int kRadix, class D, class Sink>
class Outlet;

template <int kRadix, class D, class T>
class Outlet<kRadix, D, FftSink<T>> {
public:
    static constexpr std::int64_t kRun = hn::MaxLanes(D());
    HWY_INLINE explicit Outlet(const FftSink<T>& sink) : sink_(sink) {}

    HWY_INLINE void put_points(D d, std::int64_t offset, std::int64_t pitch, std::int64_t position, std::int64_t step,
                               std::int64_t /*in_run*/, const Cx<D>* z) {
        for (int r = 0; r < kRadix; ++r) {
            const std::int64_t at = offset + r * pitch, p = position + r * step;
            put(d, sink_.re + at, p, sink_.re_count, stream_, z[r].im, bad_.re);
            put(d, sink_.im + at, p, sink_.im_count, stream_, z[r].re, bad_.im);
        }
    }
    HWY_INLINE void flush(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t) const {}
    /// Whether all that was stored is finite.
    [[nodiscard]] HWY_INLINE bool finish() const {
        if (stream_) { hwy::FlushStream(); }
        return is_zero(D(), bad_.re) && is_zero(D(), bad_.im);
    }

private:
    // This stores to 2 kRadix places in turn: lines of the cache that are not filled by one vector would leave the processor half
    // empty (LineOutlet).
    static constexpr bool kWholeLines = kRun * sizeof(T) >= 64;
    const FftSink<T>& sink_;
    const bool stream_ = kWholeLines && sink_.stream;
    Cx<D> bad_ = {hn::Zero(D()), hn::Zero(D())};
};

// For what goes past the caches where a vector does not fill a line of them: collects until it does.
template <int kRadix, class D>
class LineOutlet {
    using T = hn::TFromD<D>;
    static constexpr std::int64_t kLanes = hn::MaxLanes(D());

public:
    static constexpr std::int64_t kRun = 64 / sizeof(T);
    static constexpr bool kNeeded = kLanes > 1 && kLanes < kRun;
    HWY_INLINE explicit LineOutlet(const FftSink<T>& sink) : sink_(sink) {}

    HWY_INLINE void put_points(D d, std::int64_t /*offset*/, std::int64_t /*pitch*/, std::int64_t /*position*/,
                               std::int64_t /*step*/, std::int64_t in_run, const Cx<D>* z) {
        for (int r = 0; r < kRadix; ++r) { store(d, {z[r].im, z[r].re}, re_[r] + in_run, im_[r] + in_run); }
    }
    HWY_INLINE void flush(std::int64_t offset, std::int64_t pitch, std::int64_t position, std::int64_t step, std::int64_t count) {
        for (int r = 0; r < kRadix; ++r, offset += pitch, position += step) {
            put_line(sink_.re + offset, position, sink_.re_count, re_[r], count, bad_.re);
            put_line(sink_.im + offset, position, sink_.im_count, im_[r], count, bad_.im);
        }
    }
    [[nodiscard]] HWY_INLINE bool finish() const {
        hwy::FlushStream();
        return is_zero(D(), bad_.re) && is_zero(D(), bad_.im);
    }

private:
    static HWY_INLINE void put_line(T* to, std::int64_t position, std::int64_t of, const T* from, std::int64_t count,
                                    hn::Vec<D>& bad) {
        for (std::int64_t i = 0; i < count; i += kLanes) { put(D(), to + i, position + i, of, true, hn::Load(D(), from + i), bad); }
    }

    const FftSink<T>& sink_;
    Cx<D> bad_ = {hn::Zero(D()), hn::Zero(D())};
    HWY_ALIGN T re_[kRadix][kRun];
    HWY_ALIGN T im_[kRadix][kRun];
};

// Half a line of the cache, 8 floats, from `from`, which is aligned. Not in a loop of any length, of which GCC makes `rep movs`.
template <bool kStream>
HWY_INLINE void put_half(float* to, const float* from) {
    const hn::CappedTag<float, 8> d;
    HWY_UNROLL(8)
    for (std::size_t i = 0; i < 8; i += hn::MaxLanes(d)) {
        const auto v = hn::Load(d, from + i);
        if constexpr (kStream) {
            hn::Stream(v, d, to + i);
        } else {
            hn::StoreU(v, d, to + i);
        }
    }
}

// The bits of lanes below `least`. Positions are multiples of the lanes, of which there are at most 8.
template <class D>
HWY_INLINE void note_small(D d, std::uint8_t* small, std::int64_t position, hn::Vec<D> values, hn::Vec<D> least) {
    static_assert(hn::MaxLanes(d) <= 8);
    constexpr unsigned kAll = (1U << hn::MaxLanes(d)) - 1;
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, hn::Ge(hn::Abs(values), least), bits);  // false of NaN
    small[position / 8] = static_cast<std::uint8_t>(small[position / 8] | (~bits[0] & kAll) << (position % 8));
}

// Rounds to f32 and compares. Outputs are collected until they fill a line of the cache: a vector of doubles is half a vector of
// floats, and streaming 16 runs of those at a time took 142 ms where whole lines take 117 (2^24 samples, 511 taps, AVX2).
template <int kRadix, class D>
class Outlet<kRadix, D, CheckedSink> {
public:
    static constexpr std::int64_t kRun = 16;
    HWY_INLINE explicit Outlet(const CheckedSink& sink) : sink_(sink) {}

    HWY_INLINE void put_points(D d, std::int64_t /*offset*/, std::int64_t /*pitch*/, std::int64_t position, std::int64_t step,
                               std::int64_t in_run, const Cx<D>* z) {
        const hn::Rebind<float, D> narrow;
        const auto least = hn::Set(d, sink_.least);
        auto smallest = hn::Min(hn::Abs(z[0].re), hn::Abs(z[0].im));
        for (int r = 0; r < kRadix; ++r) {
            hn::StoreU(hn::DemoteTo(narrow, z[r].im), narrow, re_[r] + in_run);
            hn::StoreU(hn::DemoteTo(narrow, z[r].re), narrow, im_[r] + in_run);
            if (r > 0) { smallest = hn::Min(smallest, hn::Min(hn::Abs(z[r].re), hn::Abs(z[r].im))); }
        }
        if (HWY_LIKELY(hn::AllTrue(d, hn::Ge(smallest, least)))) { return; }
        good_ = false;
        for (int r = 0; r < kRadix; ++r) {
            note_small(d, sink_.small_re, position + r * step, z[r].im, least);
            note_small(d, sink_.small_im, position + r * step, z[r].re, least);
        }
    }
    /// `count` positions from `position` on, 8 or 16.
    HWY_INLINE void flush(std::int64_t offset, std::int64_t pitch, std::int64_t position, std::int64_t step,
                          std::int64_t count) const {
        stream_ ? flush_as<true>(offset, pitch, position, step, count) : flush_as<false>(offset, pitch, position, step, count);
    }
    /// Whether no output was small.
    [[nodiscard]] HWY_INLINE bool finish() const {
        if (sink_.to.stream) { hwy::FlushStream(); }
        return good_;
    }

private:
    template <bool kStream>
    HWY_INLINE void flush_as(std::int64_t offset, std::int64_t pitch, std::int64_t position, std::int64_t step,
                             std::int64_t count) const {
        for (int r = 0; r < kRadix; ++r, offset += pitch, position += step) {
            if (HWY_LIKELY(position + count <= whole_)) {
                put_half<kStream>(to_re_ + offset, re_[r]);
                put_half<kStream>(to_im_ + offset, im_[r]);
                if (count == kRun) {
                    put_half<kStream>(to_re_ + offset + kRun / 2, re_[r] + kRun / 2);
                    put_half<kStream>(to_im_ + offset + kRun / 2, im_[r] + kRun / 2);
                }
            } else if (position < any_) {
                put_some(to_re_ + offset, re_[r], HWY_MIN(count, sink_.to.re_count - position));
                put_some(to_im_ + offset, im_[r], HWY_MIN(count, sink_.to.im_count - position));
            }
        }
    }
    static HWY_NOINLINE void put_some(float* to, const float* from, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) { to[i] = from[i]; }
    }

    const CheckedSink& sink_;
    // The sink's, where the compiler sees that no store changes them.
    float* const to_re_ = sink_.to.re;
    float* const to_im_ = sink_.to.im;
    const std::int64_t whole_ = HWY_MIN(sink_.to.re_count, sink_.to.im_count);
    const std::int64_t any_ = HWY_MAX(sink_.to.re_count, sink_.to.im_count);
    const bool stream_ = sink_.to.stream;
    bool good_ = true;
    HWY_ALIGN float re_[kRadix][kRun];
    HWY_ALIGN float im_[kRadix][kRun];
};

template <class T>
HWY_INLINE std::int64_t pitch_of(const FftSink<T>& sink) {
    return sink.pitch;
}
HWY_INLINE std::int64_t pitch_of(const CheckedSink& sink) { return sink.to.pitch; }

// The sum of the squares of `count` samples.
inline double energy(const float* values, std::int64_t count) {
    const hn::ScalableTag<double> d;
    const hn::Rebind<float, decltype(d)> narrow;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    auto even = hn::Zero(d), odd = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
        const auto a = hn::PromoteTo(d, hn::LoadU(narrow, values + i)),
                   b = hn::PromoteTo(d, hn::LoadU(narrow, values + i + kLanes));
        even = hn::MulAdd(a, a, even);
        odd = hn::MulAdd(b, b, odd);
    }
    HWY_ALIGN double lanes[kLanes];
    hn::Store(hn::Add(even, odd), d, lanes);
    double sum = 0;
    for (std::int64_t l = 0; l < kLanes; ++l) { sum += lanes[l]; }
    for (; i < count; ++i) { sum += static_cast<double>(values[i]) * static_cast<double>(values[i]); }
    return sum;
}
