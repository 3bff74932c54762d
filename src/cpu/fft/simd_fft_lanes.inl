// Transforms down many lines at once, a lane for each: the passes of one lane's tables, where a point is a vector. Included once
// per instruction set, inside HWY_NAMESPACE, after simd_fft_columns.inl.

// A vector of points' parts, from rows of samples or of pairs.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE Cx<D> load_row(D d, const LaneRows<T>& from, std::int64_t point) {
    Cx<D> z;
    if (from.im == nullptr) {
        hn::LoadInterleaved2(d, from.re[point], z.re, z.im);
    } else {
        z = {hn::LoadU(d, from.re[point]), hn::LoadU(d, from.im[point])};
    }
    return z;
}

// Where outputs go, exchanged as in every inverse; adds 0 * v to what becomes NaN if one is not finite.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void put_row(D d, const LaneSink<T>& to, std::int64_t point, const Cx<D>& z, Cx<D>& bad) {
    if (to.pairs) {
        if (point >= to.re_count) { return; }
        bad.re = hn::MulAdd(z.im, hn::Zero(d), bad.re);
        bad.im = hn::MulAdd(z.re, hn::Zero(d), bad.im);
        hn::StoreInterleaved2(z.im, z.re, d, to.re + point * to.stride);
        return;
    }
    if (point < to.re_count) {
        bad.re = hn::MulAdd(z.im, hn::Zero(d), bad.re);
        hn::StoreU(z.im, d, to.re + point * to.stride);
    }
    if (point < to.im_count) {
        bad.im = hn::MulAdd(z.re, hn::Zero(d), bad.im);
        hn::StoreU(z.re, d, to.im + point * to.stride);
    }
}

// load_point(i): point i of the block.
template <int kRadix, class T, class LoadPoint>
HWY_INLINE void lanes_dif_pass(const FftPass<T>& pass, T* re, T* im, const LoadPoint& load_point) {
    using D = hn::ScalableTag<T>;
    const D d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    for (std::int64_t j = 0; j < pass.step; ++j) {
        const T* const w = pass.twiddles + 2 * (kRadix - 1) * j;
        Cx<D> z[kRadix];
        for (int r = 0; r < kRadix; ++r) { z[r] = load_point(j + r * pass.step); }
        dft<kRadix>(z);
        store(d, z[0], re + j * kLanes, im + j * kLanes);
        for (int m = 1; m < kRadix; ++m) {
            const std::int64_t at = (j + m * pass.step) * kLanes;
            store(d, mul(z[m], broadcast(d, w + 2 * (m - 1))), re + at, im + at);
        }
    }
}

// put_point(i, z): point i of the block, exchanged.
template <int kRadix, class T, class PutPoint>
HWY_INLINE void lanes_dit_pass(const FftPass<T>& pass, const T* re, const T* im, const PutPoint& put_point) {
    using D = hn::ScalableTag<T>;
    const D d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    for (std::int64_t j = 0; j < pass.step; ++j) {
        Cx<D> z[kRadix];
        load_points<kRadix>(d, z, im + j * kLanes, re + j * kLanes, pass.step * kLanes);
        column_dit_points<kRadix>(d, z, pass, j);
        for (int r = 0; r < kRadix; ++r) { put_point(j + r * pass.step, z[r]); }
    }
}

// What is read beside the points, their factors of the spectrum, and what is asked for early: rows that are read next, so many
// elements on from those of the points, and the lines of the cache that outputs are written to.
template <class T>
struct LanesBeside {
    const T* h_re;
    const T* h_im;
    LaneRows<T> rows;
    LaneSink<T> to;
    [[nodiscard]] LanesBeside at(std::int64_t i) const {
        LanesBeside b = *this;
        b.h_re += i;
        b.h_im += i;
        b.rows.re += i;
        if (b.rows.im != nullptr) { b.rows.im += i; }
        b.to.re += i * to.stride;
        b.to.im += i * to.stride;
        b.to.re_count -= i;
        b.to.im_count -= i;
        return b;
    }
    template <int kCount>
    HWY_INLINE void ask() const {
        if (rows.ahead != 0) {
            for (int m = 0; m < kCount; ++m) {
                __builtin_prefetch(rows.re[m] + rows.ahead, 0, 2);
                __builtin_prefetch(rows.im == nullptr ? rows.re[m] + rows.ahead / 2 : rows.im[m] + rows.ahead, 0, 2);
            }
        }
        // Of a vector that straddles two lines the second: the first is there since the rows before were written.
        if (to.re_count > 0) {
            for (int m = 0; m < kCount; ++m) { __builtin_prefetch(to.re + m * to.stride, 1, 2); }
        }
        if (to.im_count > 0) {
            for (int m = 0; m < kCount; ++m) { __builtin_prefetch(to.im + m * to.stride, 1, 2); }
        }
    }
};

// The last level there and the first one back, with the product in between: kRadix points that follow each other.
template <int kRadix, class T>
HWY_INLINE void lanes_products(T* re, T* im, const LanesBeside<T>& beside) {
    beside.template ask<kRadix>();
    using D = hn::ScalableTag<T>;
    const D d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    Cx<D> z[kRadix];
    load_points<kRadix>(d, z, re, im, kLanes);
    dft<kRadix>(z);
    for (int m = 0; m < kRadix; ++m) {
        z[m] = mul(z[m], Cx<D>{hn::Set(d, beside.h_re[m]), hn::Set(d, beside.h_im[m])});
        z[m] = {z[m].im, z[m].re};
    }
    dft<kRadix>(z);
    for (int m = 0; m < kRadix; ++m) { store(d, {z[m].im, z[m].re}, re + m * kLanes, im + m * kLanes); }
}

// All passes from `depth` on and back, each block to the end before the next, so that it stays in the first cache.
template <class T>
HWY_NOINLINE void lanes_block(const FftTables<T>& t, int depth, T* re, T* im, const LanesBeside<T>& beside) {
    using D = hn::ScalableTag<T>;
    const D d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    const FftPass<T>& pass = t.row_pass[static_cast<std::size_t>(depth)];
    if (depth + 1 == t.row_passes) {
        return pass.radix == 8 ? lanes_products<8>(re, im, beside) : lanes_products<4>(re, im, beside);
    }
    const auto load_point = [&](std::int64_t i) HWY_ATTR { return load(d, re + i * kLanes, im + i * kLanes); };
    pass.radix == 8 ? lanes_dif_pass<8>(pass, re, im, load_point) : lanes_dif_pass<4>(pass, re, im, load_point);
    for (std::int64_t at = 0; at < pass.radix * pass.step; at += pass.step) {
        lanes_block(t, depth + 1, re + at * kLanes, im + at * kLanes, beside.at(at));
    }
    const auto put_point = [&](std::int64_t i, const Cx<D>& z) HWY_ATTR {
        store(d, {z.im, z.re}, re + i * kLanes, im + i * kLanes);
    };
    pass.radix == 8 ? lanes_dit_pass<8>(pass, re, im, put_point) : lanes_dit_pass<4>(pass, re, im, put_point);
}

template <class T>
std::uint32_t convolve_lanes(const FftTables<T>& t, const LaneRows<T>& from, T* re, T* im, const T* h_re, const T* h_im,
                             const LaneSink<T>& to) {
    using D = hn::ScalableTag<T>;
    const D d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    const FftPass<T>& pass = t.row_pass[0];
    const auto load_point = [&](std::int64_t i) HWY_ATTR { return load_row(d, from, i); };
    pass.radix == 8 ? lanes_dif_pass<8>(pass, re, im, load_point) : lanes_dif_pass<4>(pass, re, im, load_point);
    LanesBeside<T> beside{h_re, h_im, from, to};
    beside.to.re += (to.pairs ? 2 : 1) * kLanes - 1;
    beside.to.im = to.pairs ? to.re + kLanes - 1 : to.im + kLanes - 1;
    if (to.pairs) { beside.to.im_count = to.re_count; }
    if (!to.far) { beside.to.re_count = beside.to.im_count = 0; }
    for (std::int64_t at = 0; at < t.size; at += pass.step) {
        lanes_block(t, 1, re + at * kLanes, im + at * kLanes, beside.at(at));
    }
    Cx<D> bad = {hn::Zero(d), hn::Zero(d)};
    const auto put_point = [&](std::int64_t i, const Cx<D>& z) HWY_ATTR { put_row(d, to, i, z, bad); };
    pass.radix == 8 ? lanes_dit_pass<8>(pass, re, im, put_point) : lanes_dit_pass<4>(pass, re, im, put_point);
    if (is_zero(d, bad.re) && is_zero(d, bad.im)) { return 0; }
    HWY_ALIGN T of_lanes[kLanes];
    hn::Store(bad.re + bad.im, d, of_lanes);
    std::uint32_t lanes = 0;
    for (std::int64_t l = 0; l < kLanes; ++l) { lanes |= of_lanes[l] == 0 ? 0 : std::uint32_t{1} << l; }
    return lanes;
}

// The squares of a row of samples, or of pairs, added to `power`.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> add_squares(D d, const T* row, bool pairs, hn::Vec<D> power) {
    if (!pairs) {
        const auto x = hn::LoadU(d, row);
        return hn::MulAdd(x, x, power);
    }
    hn::Vec<D> re, im;
    hn::LoadInterleaved2(d, row, re, im);
    return hn::MulAdd(re, re, hn::MulAdd(im, im, power));
}

// Of each lane the sum of squares of so many rows, added to its total; a lower one than *least becomes that.
template <class T>
void add_lane_power(const T* const* rows, std::int64_t count, bool pairs, T* total, T* least) {
    const hn::ScalableTag<T> d;
    auto power = hn::Zero(d);
    for (std::int64_t i = 0; i < count; ++i) { power = add_squares(d, rows[i], pairs, power); }
    if (total != nullptr) { hn::StoreU(hn::LoadU(d, total) + power, d, total); }
    if (least != nullptr) { hn::StoreU(hn::Min(hn::LoadU(d, least), power), d, least); }
}

template <class T>
void add_lane_passages(const T* const* rows, std::int64_t count, bool pairs, std::int64_t together, T* powers, T* total, T* least) {
    const hn::ScalableTag<T> d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    const std::int64_t passages = count / kFftPassage;
    auto all = hn::LoadU(d, total), lowest = hn::LoadU(d, least);
    for (std::int64_t p = 0; p < passages; ++p) {
        auto power = hn::Zero(d);
        for (std::int64_t i = p * kFftPassage; i < (p + 1) * kFftPassage; ++i) { power = add_squares(d, rows[i], pairs, power); }
        hn::StoreU(power, d, powers + p * kLanes);
        all = all + power;
        if (p + 1 < together) { continue; }
        for (std::int64_t back = 1; back < together; ++back) { power = power + hn::LoadU(d, powers + (p - back) * kLanes); }
        lowest = hn::Min(lowest, power);
    }
    for (std::int64_t i = passages * kFftPassage; i < count; ++i) { all = add_squares(d, rows[i], pairs, all); }
    hn::StoreU(all, d, total);
    hn::StoreU(lowest, d, least);
}
