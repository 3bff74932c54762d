// Loops over whole arrays that go with the FFT. Included once per instruction set, inside HWY_NAMESPACE.

template <class T>
void multiply_add(T* acc_re, T* acc_im, const T* x_re, const T* x_im, const T* h_re, const T* h_im, std::int64_t count,
                  bool first) {
    const hn::ScalableTag<T> d;
    for (std::int64_t i = 0; i < count; i += hn::MaxLanes(d)) {
        const auto x = load(d, x_re + i, x_im + i), h = load(d, h_re + i, h_im + i);
        auto acc = first ? Cx<hn::ScalableTag<T>>{hn::Zero(d), hn::Zero(d)} : load(d, acc_re + i, acc_im + i);
        acc.re = hn::NegMulAdd(x.im, h.im, hn::MulAdd(x.re, h.re, acc.re));
        acc.im = hn::MulAdd(x.im, h.re, hn::MulAdd(x.re, h.im, acc.im));
        store(d, acc, acc_re + i, acc_im + i);
    }
}

template <class T>
void turn(T* x_re, T* x_im, const T* f_re, const T* f_im, T by_re, T by_im, T sign, std::int64_t count) {
    const hn::ScalableTag<T> d;
    const auto b_re = hn::Set(d, by_re), b_im = hn::Set(d, by_im), s = hn::Set(d, sign);
    for (std::int64_t i = 0; i < count; i += hn::MaxLanes(d)) {
        const auto f_r = hn::LoadU(d, f_re + i), f_i = hn::LoadU(d, f_im + i);
        const auto w_re = hn::NegMulAdd(f_i, b_im, hn::Mul(f_r, b_re));
        const auto w_im = hn::Mul(s, hn::MulAdd(f_i, b_re, hn::Mul(f_r, b_im)));
        const auto x = load(d, x_re + i, x_im + i);
        store(d,
              Cx<hn::ScalableTag<T>>{hn::NegMulAdd(x.im, w_im, hn::Mul(x.re, w_re)), hn::MulAdd(x.im, w_re, hn::Mul(x.re, w_im))},
              x_re + i, x_im + i);
    }
}

#if HWY_TARGET == HWY_AVX3
// Two-source permutations: indices of the even and odd elements of two vectors, and of the halves to be interleaved.
template <class D, class Picked, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> pick(D d, hn::Vec<D> a, hn::Vec<D> b, const Picked& index) {
    using V = hn::Vec<D>;
    if constexpr (sizeof(T) == 4) {
        return V{_mm512_permutex2var_ps(a.raw, index, b.raw)};
    } else {
        return V{_mm512_permutex2var_pd(a.raw, index, b.raw)};
    }
}
template <class T, class Index>
HWY_INLINE __m512i pick_indices(const Index& index) {
    if constexpr (sizeof(T) == 4) {
        HWY_ALIGN std::int32_t lanes[16];
        for (int i = 0; i < 16; ++i) { lanes[i] = index(i, 16); }
        return _mm512_load_si512(lanes);
    } else {
        HWY_ALIGN std::int64_t lanes[8];
        for (int i = 0; i < 8; ++i) { lanes[i] = index(i, 8); }
        return _mm512_load_si512(lanes);
    }
}
#endif

template <class T>
void split(T* re, T* im, const T* pairs, std::int64_t count) {
    std::int64_t i = 0;
#if HWY_TARGET == HWY_AVX3
    const hn::ScalableTag<T> d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    const auto even = pick_indices<T>([](int l, int) { return 2 * l; });
    const auto odd = pick_indices<T>([](int l, int) { return 2 * l + 1; });
    for (; i + kLanes <= count; i += kLanes) {
        const auto a = hn::LoadU(d, pairs + 2 * i), b = hn::LoadU(d, pairs + 2 * i + kLanes);
        hn::StoreU(pick(d, a, b, even), d, re + i);
        hn::StoreU(pick(d, a, b, odd), d, im + i);
    }
#endif
    for (; i < count; ++i) {
        re[i] = pairs[2 * i];
        im[i] = pairs[2 * i + 1];
    }
}

template <class T>
void join(T* pairs, const T* re, const T* im, std::int64_t count) {
    std::int64_t i = 0;
#if HWY_TARGET == HWY_AVX3
    const hn::ScalableTag<T> d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    const auto low = pick_indices<T>([](int l, int lanes) { return l / 2 + (l % 2) * lanes; });
    const auto high = pick_indices<T>([](int l, int lanes) { return l / 2 + lanes / 2 + (l % 2) * lanes; });
    for (; i + kLanes <= count; i += kLanes) {
        const auto a = hn::LoadU(d, re + i), b = hn::LoadU(d, im + i);
        hn::StoreU(pick(d, a, b, low), d, pairs + 2 * i);
        hn::StoreU(pick(d, a, b, high), d, pairs + 2 * i + kLanes);
    }
#endif
    for (; i < count; ++i) {
        pairs[2 * i] = re[i];
        pairs[2 * i + 1] = im[i];
    }
}

template <class T>
bool all_finite(const T* values, std::int64_t count) {
    const hn::ScalableTag<T> d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    auto bad = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) { bad = hn::MulAdd(hn::LoadU(d, values + i), hn::Zero(d), bad); }
    T rest = 0;
    for (; i < count; ++i) { rest += values[i] * 0; }
    return is_zero(d, bad) && rest == 0;
}

template <class T>
T power(const T* re, const T* im, std::int64_t count, T* least) {
    const hn::ScalableTag<T> d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    static_assert(kFftPassage % kLanes == 0);
    T total = 0;
    for (std::int64_t i = 0; i < count; i += kFftPassage) {
        auto sum = hn::Zero(d);
        HWY_UNROLL(8)
        for (std::int64_t j = 0; j < kFftPassage; j += kLanes) {
            const auto v = hn::LoadU(d, re + i + j);
            sum = hn::MulAdd(v, v, sum);
        }
        for (std::int64_t j = 0; im != nullptr && j < kFftPassage; j += kLanes) {
            const auto v = hn::LoadU(d, im + i + j);
            sum = hn::MulAdd(v, v, sum);
        }
        const T passage = hn::GetLane(hn::SumOfLanes(d, sum));
        total += passage;
        *least = HWY_MIN(*least, passage);
    }
    return total;
}
