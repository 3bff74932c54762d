// Filters whose taps are all the same number; included by simd_direct.inl inside the target's namespace.
//
// Sums of 2, 4, 8, ... products are each those of two such sums of half as many, and an output adds up those whose numbers are the
// binary digits of k, the short ones first: 101 taps take 6 + 3 additions. Nothing is subtracted, so no error is carried along a
// line, and an infinity or a NaN reaches its windows only; errors grow with log2 k.
//
// All levels of some outputs are made before the next outputs are looked at, in memory that stays in the L1 cache. Where samples of
// a row lie at least a vector apart a strip of one vector goes down the lines, as if it were a row of vectors.

/// Elements of the sums of one width, and of outputs at a time.
template <class T>
inline constexpr std::int64_t kEqualSums = (48 << 10) / static_cast<std::int64_t>(sizeof(T));
template <class T>
inline constexpr std::int64_t kEqualOutputs = (32 << 10) / static_cast<std::int64_t>(sizeof(T));
/// So many as long as the window of one output is short beside them.
inline constexpr std::int64_t kEqualChunk = 2048;

/// to[i] = a[i] + b[i] for 0 <= i < count, to whole vectors; b may lie behind `to`, but not before it.
template <class T>
HWY_INLINE void add_runs(T* to, const T* a, const T* b, std::int64_t count) {
    const Tag<T> d;
    for (std::int64_t i = 0; i < count; i += kLanes<T>) {
        hn::StoreU(hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, to + i);
    }
}

/// store(i, v) for vectors v of sum_{t < k} sums[i + step * t] at 0 <= i < outputs. `sums` holds outputs + (k - 1) * step elements,
/// which are lost, `totals` has room for `outputs`.
template <class T, class Store>
HWY_INLINE void sum_by_doubling(T* sums, T* totals, std::int64_t outputs, std::int64_t step, std::int64_t k, const Store& store) {
    const Tag<T> d;
    std::int64_t summed = 0;  // taps in `totals`
    for (std::int64_t width = 1;; width *= 2) {
        const T* const from = sums + summed * step;
        if (2 * width > k) {
            for (std::int64_t i = 0; i < outputs; i += kLanes<T>) {
                const auto last = hn::LoadU(d, from + i);
                store(i, summed == 0 ? last : hn::Add(hn::LoadU(d, totals + i), last));
            }
            return;
        }
        if ((k & width) != 0) {
            if (summed == 0) {
                std::memcpy(totals, from, static_cast<std::size_t>(outputs) * sizeof(T));
            } else {
                add_runs(totals, totals, from, outputs);
            }
            summed += width;
        }
        add_runs(sums, sums, sums + width * step, outputs + (k - 2 * width) * step);
    }
}

/// The first `count` elements of a vector, at most all.
template <class T>
HWY_INLINE void store_some(T* to, Vector<T> v, std::int64_t count) {
    const Tag<T> d;
    if (count >= kLanes<T>) { return hn::StoreU(v, d, to); }
    HWY_ALIGN T lanes[kLanes<T>];
    hn::Store(v, d, lanes);
    std::memcpy(to, lanes, static_cast<std::size_t>(count) * sizeof(T));
}

template <class T>
HWY_INLINE void multiply_run(T* to, const T* from, std::int64_t count, T tap) {
    const Tag<T> d;
    constexpr std::int64_t L = kLanes<T>;
    std::int64_t i = 0;
    for (; i + L <= count; i += L) { hn::StoreU(hn::Mul(hn::LoadU(d, from + i), hn::Set(d, tap)), d, to + i); }
    for (; i < count; ++i) { to[i] = from[i] * tap; }
}

template <class T>
struct EqualTaps {
    static constexpr std::int64_t L = kLanes<T>;
    const DirectCall<T>& call;
    HWY_ALIGN T sums[kEqualSums<T> + 2 * L];
    HWY_ALIGN T totals[kEqualOutputs<T> + L];

    explicit EqualTaps(const DirectCall<T>& of) : call(of) {}  // NOLINT: all that is read is written before

    // Lines that are asked for before they are read or written.
    static constexpr std::int64_t kAhead = 8;
    [[nodiscard]] std::int64_t out_step() const { return call.out_step == 0 ? call.step : call.out_step; }

    void run() { call.step < L ? along() : across(); }

    void along() {
        const std::int64_t reach = (call.k - 1) * call.step;
        const std::int64_t most = HWY_MIN(HWY_MAX(kEqualChunk, 2 * reach), HWY_MIN(kEqualOutputs<T>, kEqualSums<T> - reach));
        for (std::int64_t o = 0; o < call.count; o += most) {
            const std::int64_t outputs = HWY_MIN(most, call.count - o);
            multiply_run(sums, call.in + o, outputs + reach, call.taps[0]);
            T* const out = call.out + o;
            sum_by_doubling(sums, totals, outputs, call.step, call.k,
                            [=](std::int64_t i, Vector<T> v) { store_some<T>(out + i, v, outputs - i); });
        }
    }

    // Strips of a vector, the last of which may begin before the one before it ends.
    void across() {
        for (std::int64_t b = 0; b < call.step; b += L) { strip(HWY_MIN(b, call.step - L)); }
    }

    void strip(std::int64_t first) {
        const Tag<T> d;
        const std::int64_t lines = (call.count - first + call.step - 1) / call.step;
        const std::int64_t end = call.count + (call.k - 1) * call.step;
        const std::int64_t most = HWY_MIN(kEqualOutputs<T> / L, kEqualSums<T> / L - (call.k - 1));
        for (std::int64_t line = 0; line < lines; line += most) {
            const std::int64_t outputs = HWY_MIN(most, lines - line);
            for (std::int64_t l = 0; l < outputs + call.k - 1; ++l) {
                const std::int64_t at = (line + l) * call.step + first;
                __builtin_prefetch(call.in + at + kAhead * call.step);
                if (at + L <= end) {
                    hn::StoreU(hn::Mul(hn::LoadU(d, call.in + at), hn::Set(d, call.taps[0])), d, sums + l * L);
                } else {
                    multiply_run(sums + l * L, call.in + at, HWY_MAX(end - at, 0), call.taps[0]);
                }
            }
            sum_by_doubling(sums, totals, outputs * L, L, call.k, [&](std::int64_t i, Vector<T> v) {
                const std::int64_t at = line + i / L;
                T* const to = call.out + at * out_step() + first;
                __builtin_prefetch(to + kAhead * out_step(), 1, 3);
                store_some<T>(to, v, call.count - at * call.step - first);
            });
        }
    }
};

template <class T>
HWY_NOINLINE void equal_taps(const DirectCall<T>& call) {
    EqualTaps<T>(call).run();
}
