// Sums as they become outputs; included by simd_lines.inl inside the target's namespace.

#if HWY_TARGET != HWY_SCALAR
// As core::store(), but that scale and bias are rounded once where there are fused operations, as images have it.
template <class T>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> scaled(const T* sums, const SumsFinish<T>& finish) {
    const hn::ScalableTag<T> d;
    auto v = hn::MulAdd(hn::LoadU(d, sums), hn::Set(d, finish.scale), hn::Set(d, finish.bias));
    if (!finish.limits) { return v; }
    const auto low = hn::Set(d, finish.low), high = hn::Set(d, finish.high);
    v = hn::IfThenElse(hn::Lt(v, low), low, v);  // false for NaN, which passes
    return hn::IfThenElse(hn::Gt(v, high), high, v);
}
template <class T>
HWY_INLINE auto without_fraction(hn::Vec<hn::ScalableTag<T>> v) {
    const hn::Rebind<std::int32_t, hn::ScalableTag<T>> d32;
    if constexpr (sizeof(T) == 4) {
        return hn::ConvertTo(d32, v);
    } else {
        return hn::DemoteTo(d32, v);
    }
}
/// The low bits of integers of 32 bits, as many as a vector of T has lanes.
template <class T, class Out, class Numbers>
HWY_INLINE void store_low_bits(Out* to, Numbers numbers) {
    using Bits = std::make_unsigned_t<Out>;
    const hn::Rebind<std::uint32_t, hn::ScalableTag<T>> bits;
    const hn::Rebind<Bits, hn::ScalableTag<T>> low_bits;
    hn::StoreU(hn::TruncateTo(low_bits, hn::BitCast(bits, numbers)), low_bits, reinterpret_cast<Bits*>(to));
}
template <class Out, class T>
HWY_INLINE void round_vector(Out* to, hn::Vec<hn::ScalableTag<T>> v) {
    const hn::ScalableTag<T> d;
    const auto least = hn::Set(d, static_cast<T>(std::numeric_limits<Out>::min()));
    const auto most = hn::Set(d, static_cast<T>(std::numeric_limits<Out>::max()));
    v = hn::IfThenElseZero(hn::Eq(v, v), v);
    v = hn::Min(hn::Max(v, least), most);
    if constexpr (sizeof(T) == 4) {  // what is within the type's range is its low bits
        store_low_bits<T>(to, hn::NearestInt(v));
    } else {
        const hn::Rebind<Out, decltype(d)> narrow;
        hn::StoreU(hn::DemoteTo(narrow, without_fraction<T>(hn::Round(v))), narrow, to);
    }
}
/// Below it a number and 1.5 * 2^52 have a sum whose last bit counts ones: the bits of both are that far apart.
inline constexpr double kCountsByOnes = 0x1p51, kOfOnes = 0x1.8p52;

// V vectors, of which an i32, or where both are that wide an i64, holds every number, or one by one.
template <int V, class Out, class T>
HWY_INLINE void truncate_vectors(Out* to, const T* sums, const SumsFinish<T>& finish) {
    const hn::ScalableTag<T> d;
    constexpr std::size_t L = HWY_LANES(T);
    constexpr bool kWide = sizeof(Out) == 8 && sizeof(T) == 8;
    hn::Vec<decltype(d)> v[V];
    const auto edge = hn::Set(d, static_cast<T>(kWide ? kCountsByOnes : 0x1p31));
    auto fits = hn::Eq(edge, edge);
    HWY_UNROLL(4)
    for (int i = 0; i < V; ++i) {
        v[i] = scaled<T>(sums + i * L, finish);
        fits = hn::And(fits, hn::Lt(hn::Abs(v[i]), edge));  // not of NaN
    }
    if constexpr (kWide) {
        if (hn::AllTrue(d, fits)) {
            const hn::RebindToSigned<decltype(d)> d64;
            const auto ones = hn::Set(d, kOfOnes);
            HWY_UNROLL(4)
            for (int i = 0; i < V; ++i) {
                const auto bits = hn::BitCast(d64, hn::Add(hn::Trunc(v[i]), ones));
                hn::StoreU(hn::Sub(bits, hn::BitCast(d64, ones)), d64, reinterpret_cast<std::int64_t*>(to + i * L));
            }
            return;
        }
    } else if constexpr (sizeof(Out) > 2) {
        if (hn::AllTrue(d, fits)) {
            const hn::Rebind<std::int32_t, decltype(d)> d32;
            HWY_ALIGN std::int32_t numbers[V * L];
            HWY_UNROLL(4)
            for (int i = 0; i < V; ++i) { hn::Store(without_fraction<T>(v[i]), d32, numbers + i * L); }
            if constexpr (sizeof(Out) == 8 && HWY_LANES(T) > 1) {
                const hn::ScalableTag<std::int64_t> d64;
                const hn::Rebind<std::int32_t, decltype(d64)> part;
                for (std::size_t l = 0; l < V * L; l += hn::MaxLanes(d64)) {
                    hn::StoreU(hn::PromoteTo(d64, hn::Load(part, numbers + l)), d64, reinterpret_cast<std::int64_t*>(to + l));
                }
            } else {
                for (std::size_t l = 0; l < V * L; ++l) { to[l] = static_cast<Out>(numbers[l]); }
            }
            return;
        }
    } else if (hn::AllTrue(d, fits)) {
        HWY_UNROLL(4)
        for (int i = 0; i < V; ++i) { store_low_bits<T>(to + i * L, without_fraction<T>(v[i])); }
        return;
    }
    HWY_ALIGN T lanes[L];
    for (int i = 0; i < V; ++i) {
        hn::Store(v[i], d, lanes);
        for (std::size_t l = 0; l < L; ++l) { to[i * L + l] = core::truncated<Out>(lanes[l]); }
    }
}
template <class Out, class T>
void finish_integers(void* to, const T* sums, std::int64_t count, const SumsFinish<T>& given) {
    constexpr std::int64_t L = HWY_LANES(T);
    constexpr int V = 4;
    const SumsFinish<T> finish = given;  // which bytes that are stored might change
    Out* const out = static_cast<Out*>(to);
    const auto one = [&](Out* at, const T* from) {
        if constexpr (sizeof(Out) <= 2) {
            if (!finish.truncates) { return round_vector<Out, T>(at, scaled<T>(from, finish)); }
        }
        truncate_vectors<1, Out, T>(at, from, finish);
    };
    std::int64_t i = 0;
    if (finish.truncates) {
        for (; i + V * L <= count; i += V * L) { truncate_vectors<V, Out, T>(out + i, sums + i, finish); }
    } else if constexpr (sizeof(Out) <= 2) {
        for (; i + V * L <= count; i += V * L) {
            HWY_UNROLL(4)
            for (int v = 0; v < V; ++v) { round_vector<Out, T>(out + i + v * L, scaled<T>(sums + i + v * L, finish)); }
        }
    }
    for (; i + L <= count; i += L) { one(out + i, sums + i); }
    if (i == count) { return; }
    if (count >= L) { return one(out + count - L, sums + count - L); }  // some once more
    HWY_ALIGN T rest[L] = {};
    Out last[L];
    std::memcpy(rest, sums + i, static_cast<std::size_t>(count - i) * sizeof(T));
    one(last, rest);
    std::memcpy(out + i, last, static_cast<std::size_t>(count - i) * sizeof(Out));
}
template <class T>
void finish_reals(void* to, const T* sums, std::int64_t count, const SumsFinish<T>& finish) {
    constexpr std::int64_t L = HWY_LANES(T);
    const hn::ScalableTag<T> d;
    T* const out = static_cast<T*>(to);
    std::int64_t i = 0;
    for (; i + L <= count; i += L) { hn::StoreU(scaled<T>(sums + i, finish), d, out + i); }
    if (i == count) { return; }
    if (count >= L && out != sums) {  // some once more
        i = count - L;
        return hn::StoreU(scaled<T>(sums + i, finish), d, out + i);
    }
    HWY_ALIGN T rest[L] = {};
    std::memcpy(rest, sums + i, static_cast<std::size_t>(count - i) * sizeof(T));
    hn::Store(scaled<T>(rest, finish), d, rest);
    std::memcpy(out + i, rest, static_cast<std::size_t>(count - i) * sizeof(T));
}
#endif
template <class T>
FinishSums<T> finishing_of([[maybe_unused]] Dtype to, [[maybe_unused]] bool truncates) {
#if HWY_TARGET != HWY_SCALAR
    if (truncates) {
        switch (to) {
            case Dtype::u32:
                return &finish_integers<std::uint32_t, T>;
            case Dtype::i32:
                return &finish_integers<std::int32_t, T>;
            case Dtype::u64:
                return &finish_integers<std::uint64_t, T>;
            case Dtype::i64:
                return &finish_integers<std::int64_t, T>;
            default:
                break;
        }
    }
    if (to == (sizeof(T) == sizeof(double) ? Dtype::f64 : Dtype::f32)) { return &finish_reals<T>; }
    switch (to) {
        case Dtype::u8:
            return &finish_integers<std::uint8_t, T>;
        case Dtype::i8:
            return &finish_integers<std::int8_t, T>;
        case Dtype::u16:
            return &finish_integers<std::uint16_t, T>;
        case Dtype::i16:
            return &finish_integers<std::int16_t, T>;
        default:
            break;
    }
#endif
    return nullptr;
}
