// Butterflies and the levels that run across lanes. Included once per instruction set, inside HWY_NAMESPACE.
//
// Everything transforms with w = exp(-2 pi i / N). The inverse is the same code on exchanged parts: swap(conj(w) z) = w swap(z).

template <class D>
struct Cx {
    hn::Vec<D> re, im;
};

// A vector of elements of D, widened where they are of a narrower type.
template <class D, class S>
HWY_INLINE hn::Vec<D> load(D d, const S* from) {
    if constexpr (sizeof(S) == sizeof(hn::TFromD<D>)) {
        return hn::LoadU(d, from);
    } else {
        return hn::PromoteTo(d, hn::LoadU(hn::Rebind<S, D>(), from));
    }
}

template <class D, class S>
HWY_INLINE Cx<D> load(D d, const S* re, const S* im) {
    return {load(d, re), load(d, im)};
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store(D d, const Cx<D>& z, T* re, T* im) {
    hn::StoreU(z.re, d, re);
    hn::StoreU(z.im, d, im);
}

template <class D>
HWY_INLINE Cx<D> add(const Cx<D>& a, const Cx<D>& b) {
    return {a.re + b.re, a.im + b.im};
}
template <class D>
HWY_INLINE Cx<D> sub(const Cx<D>& a, const Cx<D>& b) {
    return {a.re - b.re, a.im - b.im};
}
template <class D>
HWY_INLINE Cx<D> mul(const Cx<D>& a, const Cx<D>& w) {
    return {hn::NegMulAdd(a.im, w.im, a.re * w.re), hn::MulAdd(a.re, w.im, a.im * w.re)};
}

// (a, b) = (a + w b, a - w b) in 6 operations: the difference is 2 a - (a + w b).
template <class D>
HWY_INLINE void butterfly(Cx<D>& a, Cx<D>& b, const Cx<D>& w, hn::Vec<D> two) {
    const auto re = hn::NegMulAdd(b.im, w.im, hn::MulAdd(b.re, w.re, a.re));
    const auto im = hn::MulAdd(b.im, w.re, hn::MulAdd(b.re, w.im, a.im));
    b = {hn::MulSub(a.re, two, re), hn::MulSub(a.im, two, im)};
    a = {re, im};
}

// The same with -i w.
template <class D>
HWY_INLINE void butterfly_turned(Cx<D>& a, Cx<D>& b, const Cx<D>& w, hn::Vec<D> two) {
    const auto re = hn::MulAdd(b.im, w.re, hn::MulAdd(b.re, w.im, a.re));
    const auto im = hn::MulAdd(b.im, w.im, hn::NegMulAdd(b.re, w.re, a.im));
    b = {hn::MulSub(a.re, two, re), hn::MulSub(a.im, two, im)};
    a = {re, im};
}

template <class D>
HWY_INLINE void dft2(Cx<D>* z) {
    const Cx<D> a = z[0], b = z[1];
    z[0] = add(a, b);
    z[1] = sub(a, b);
}

template <class D>
HWY_INLINE void dft4(Cx<D>* z) {
    const Cx<D> t0 = add(z[0], z[2]), t1 = sub(z[0], z[2]), t2 = add(z[1], z[3]), t3 = sub(z[1], z[3]);
    z[0] = add(t0, t2);
    z[2] = sub(t0, t2);
    z[1] = {t1.re + t3.im, t1.im - t3.re};
    z[3] = {t1.re - t3.im, t1.im + t3.re};
}

// 48 additions, 4 for the two turns by 45 degrees, whose factor sqrt(1/2) rides on the last additions.
template <class D>
HWY_INLINE void dft8(Cx<D>* z) {
    const D d;
    const auto c = hn::Set(d, static_cast<hn::TFromD<D>>(0.70710678118654752440));
    Cx<D> even[4] = {add(z[0], z[4]), add(z[1], z[5]), add(z[2], z[6]), add(z[3], z[7])};
    const Cx<D> v0 = sub(z[0], z[4]), v1 = sub(z[1], z[5]), v2 = sub(z[2], z[6]), v3 = sub(z[3], z[7]);
    dft4(even);
    const Cx<D> t0 = {v0.re + v2.im, v0.im - v2.re}, t1 = {v0.re - v2.im, v0.im + v2.re};
    const Cx<D> r1 = {v1.re + v1.im, v1.im - v1.re}, r3 = {v3.re - v3.im, v3.im + v3.re};
    const Cx<D> p = sub(r1, r3), q = add(r1, r3);
    z[0] = even[0];
    z[2] = even[1];
    z[4] = even[2];
    z[6] = even[3];
    z[1] = {hn::MulAdd(c, p.re, t0.re), hn::MulAdd(c, p.im, t0.im)};
    z[5] = {hn::NegMulAdd(c, p.re, t0.re), hn::NegMulAdd(c, p.im, t0.im)};
    z[3] = {hn::MulAdd(c, q.im, t1.re), hn::NegMulAdd(c, q.re, t1.im)};
    z[7] = {hn::NegMulAdd(c, q.im, t1.re), hn::MulAdd(c, q.re, t1.im)};
}

template <int kRadix, class D>
HWY_INLINE void dft(Cx<D>* z) {
    if constexpr (kRadix == 2) { dft2(z); }
    if constexpr (kRadix == 4) { dft4(z); }
    if constexpr (kRadix == 8) { dft8(z); }
}

// dft<4> of z[m] w^m: 24 fused operations and 2 factors, instead of 28 and 3.
template <class D>
HWY_INLINE void twiddled_dft4(Cx<D>* z, const Cx<D>& w1, const Cx<D>& w2) {
    const auto two = hn::Set(D(), 2);
    butterfly(z[0], z[2], w2, two);
    butterfly(z[1], z[3], w2, two);
    butterfly(z[0], z[1], w1, two);
    butterfly_turned(z[2], z[3], w1, two);
    const Cx<D> swap = z[1];  // sums 0, 2, 1, 3 -> natural order
    z[1] = z[2];
    z[2] = swap;
}

// dft<8> of z[m] w^m: 72 operations and 4 factors (the fourth: exp(-pi i / 4) w), instead of 80 and 7.
template <class D>
HWY_INLINE void twiddled_dft8(Cx<D>* z, const Cx<D>& w1, const Cx<D>& w2, const Cx<D>& w4, const Cx<D>& w1_turned) {
    const auto two = hn::Set(D(), 2);
    Cx<D> even[4] = {z[0], z[2], z[4], z[6]}, odd[4] = {z[1], z[3], z[5], z[7]};
    twiddled_dft4(even, w2, w4);
    twiddled_dft4(odd, w2, w4);
    butterfly(even[0], odd[0], w1, two);
    butterfly(even[1], odd[1], w1_turned, two);
    butterfly_turned(even[2], odd[2], w1, two);
    butterfly_turned(even[3], odd[3], w1_turned, two);
    for (int i = 0; i < 4; ++i) {
        z[i] = even[i];
        z[i + 4] = odd[i];
    }
}

#if HWY_TARGET != HWY_SCALAR

// In every 128-bit block: the transpose of 4 vectors' 4 floats.
template <class D>
HWY_INLINE void transpose_in_blocks(D d, hn::Vec<D>* v) {
    const hn::Repartition<double, D> wide;
    const auto t0 = hn::BitCast(wide, hn::InterleaveLower(d, v[0], v[1])),
               t1 = hn::BitCast(wide, hn::InterleaveUpper(d, v[0], v[1]));
    const auto t2 = hn::BitCast(wide, hn::InterleaveLower(d, v[2], v[3])),
               t3 = hn::BitCast(wide, hn::InterleaveUpper(d, v[2], v[3]));
    v[0] = hn::BitCast(d, hn::InterleaveLower(wide, t0, t2));
    v[1] = hn::BitCast(d, hn::InterleaveUpper(wide, t0, t2));
    v[2] = hn::BitCast(d, hn::InterleaveLower(wide, t1, t3));
    v[3] = hn::BitCast(d, hn::InterleaveUpper(wide, t1, t3));
}

#if HWY_TARGET == HWY_AVX3
// The transpose of 4 vectors' 4 blocks of 128 bits; element v[i * stride].
template <class D>
HWY_INLINE void transpose_blocks(D d, hn::Vec<D>& a, hn::Vec<D>& b, hn::Vec<D>& c, hn::Vec<D>& e) {
    const hn::Repartition<float, D> f;
    using F = hn::Vec<decltype(f)>;
    const auto raw = [f](auto v) { return hn::BitCast(f, v).raw; };
    const auto t0 = _mm512_shuffle_f32x4(raw(a), raw(b), 0x44), t1 = _mm512_shuffle_f32x4(raw(a), raw(b), 0xEE);
    const auto t2 = _mm512_shuffle_f32x4(raw(c), raw(e), 0x44), t3 = _mm512_shuffle_f32x4(raw(c), raw(e), 0xEE);
    a = hn::BitCast(d, F{_mm512_shuffle_f32x4(t0, t2, 0x88)});
    b = hn::BitCast(d, F{_mm512_shuffle_f32x4(t0, t2, 0xDD)});
    c = hn::BitCast(d, F{_mm512_shuffle_f32x4(t1, t3, 0x88)});
    e = hn::BitCast(d, F{_mm512_shuffle_f32x4(t1, t3, 0xDD)});
}
#endif

// The transpose of L vectors of L lanes, L = 2, 4 or 8.
template <class D>
HWY_INLINE void transpose(D d, hn::Vec<D>* v) {
    constexpr std::size_t kLanes = hn::MaxLanes(d);
    constexpr bool kDouble = sizeof(hn::TFromD<D>) == 8;
    if constexpr (kLanes == 4 && !kDouble) {
        transpose_in_blocks(d, v);
    } else if constexpr (kDouble) {
        hn::Vec<D> lower[kLanes / 2], upper[kLanes / 2];
        for (std::size_t p = 0; p < kLanes / 2; ++p) {
            lower[p] = hn::InterleaveLower(d, v[2 * p], v[2 * p + 1]);
            upper[p] = hn::InterleaveUpper(d, v[2 * p], v[2 * p + 1]);
        }
        if constexpr (kLanes == 2) {
            v[0] = lower[0];
            v[1] = upper[0];
        } else if constexpr (kLanes == 4) {
            v[0] = hn::ConcatLowerLower(d, lower[1], lower[0]);
            v[1] = hn::ConcatLowerLower(d, upper[1], upper[0]);
            v[2] = hn::ConcatUpperUpper(d, lower[1], lower[0]);
            v[3] = hn::ConcatUpperUpper(d, upper[1], upper[0]);
        } else {
#if HWY_TARGET == HWY_AVX3
            transpose_blocks(d, lower[0], lower[1], lower[2], lower[3]);
            transpose_blocks(d, upper[0], upper[1], upper[2], upper[3]);
            for (std::size_t p = 0; p < 4; ++p) {
                v[2 * p] = lower[p];
                v[2 * p + 1] = upper[p];
            }
#endif
        }
    } else if constexpr (kLanes == 8) {
        transpose_in_blocks(d, v);
        transpose_in_blocks(d, v + 4);
        for (std::size_t i = 0; i < 4; ++i) {
            const auto low = v[i], high = v[i + 4];
            v[i] = hn::ConcatLowerLower(d, high, low);
            v[i + 4] = hn::ConcatUpperUpper(d, high, low);
        }
    }
}

// Calls a transpose of bare vectors on both parts.
template <int kCount, class D, class Transpose>
HWY_INLINE void on_both_parts(Cx<D>* z, const Transpose& exchange) {
    hn::Vec<D> re[kCount], im[kCount];
    for (int i = 0; i < kCount; ++i) {
        re[i] = z[i].re;
        im[i] = z[i].im;
    }
    exchange(re);
    exchange(im);
    for (int i = 0; i < kCount; ++i) { z[i] = {re[i], im[i]}; }
}

template <int kCount, class D, class T = hn::TFromD<D>>
HWY_INLINE void twiddle(D d, Cx<D>* z, const T* w) {
    for (int m = 1; m < kCount; ++m) {
        const T* const at = w + 2 * (m - 1) * hn::MaxLanes(d);
        z[m] = mul(z[m], load(d, at, at + hn::MaxLanes(d)));
    }
}

#endif  // HWY_TARGET != HWY_SCALAR

template <class D>
HWY_INLINE constexpr int tile_vectors() {
    return hn::MaxLanes(D()) == 16 ? 4 : static_cast<int>(hn::MaxLanes(D()));
}

// A tile: `tile_vectors` vectors of consecutive points, transformed in registers. 16 lanes: radix 4 down the vectors, across
// the blocks of 128 bits, within the blocks. Otherwise radix L down and radix L across.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void tile_forward(D d, Cx<D>* z, const T* w) {
#if HWY_TARGET != HWY_SCALAR
    constexpr std::size_t kLanes = hn::MaxLanes(d);
    if constexpr (kLanes == 16) {
#if HWY_TARGET == HWY_AVX3
        dft4(z);
        twiddle<4>(d, z, w);
        on_both_parts<4>(z, [d](hn::Vec<D>* v) HWY_ATTR { transpose_blocks(d, v[0], v[1], v[2], v[3]); });
        dft4(z);
        twiddle<4>(d, z, w + 6 * kLanes);
        on_both_parts<4>(z, [d](hn::Vec<D>* v) HWY_ATTR { transpose_in_blocks(d, v); });
        dft4(z);
#endif
    } else {
        dft<kLanes>(z);
        twiddle<kLanes>(d, z, w);
        on_both_parts<kLanes>(z, [d](hn::Vec<D>* v) HWY_ATTR { transpose(d, v); });
        dft<kLanes>(z);
    }
#else
    (void)d, (void)z, (void)w;
#endif
}

// Backwards; as all inverses, on exchanged parts.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void tile_inverse(D d, Cx<D>* z, const T* w) {
#if HWY_TARGET != HWY_SCALAR
    constexpr std::size_t kLanes = hn::MaxLanes(d);
    if constexpr (kLanes == 16) {
#if HWY_TARGET == HWY_AVX3
        dft4(z);
        on_both_parts<4>(z, [d](hn::Vec<D>* v) HWY_ATTR { transpose_in_blocks(d, v); });
        const T* const w2 = w + 6 * kLanes;
        twiddled_dft4(z, load(d, w2, w2 + kLanes), load(d, w2 + 2 * kLanes, w2 + 3 * kLanes));
        on_both_parts<4>(z, [d](hn::Vec<D>* v) HWY_ATTR { transpose_blocks(d, v[0], v[1], v[2], v[3]); });
        twiddled_dft4(z, load(d, w, w + kLanes), load(d, w + 2 * kLanes, w + 3 * kLanes));
#endif
    } else {
        dft<kLanes>(z);
        on_both_parts<kLanes>(z, [d](hn::Vec<D>* v) HWY_ATTR { transpose(d, v); });
        twiddle<kLanes>(d, z, w);
        dft<kLanes>(z);
    }
#else
    (void)d, (void)z, (void)w;
#endif
}
