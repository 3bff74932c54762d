// Signals of integers by multiply-adds: a warp's samples pass through shared memory once for a number of taps.
#pragma once

#include "cuda/families/integer/integer_signal.cuh"

namespace tapline::cuda::integer {

/// How samples and sums are held: a lane makes kOutputs neighbouring outputs.
template <Sums kSums>
struct Direct {
    using X = std::conditional_t<kSums == Sums::low64, std::uint64_t, std::uint32_t>;
    using Sum = std::conditional_t<kSums == Sums::low32, std::uint32_t, std::uint64_t>;
    static constexpr int kOutputs = kSums == Sums::low32 ? 16 : 8;
    static constexpr int kTile = 32 * kOutputs;
    static constexpr int kTaps = 8;  // at a time
    /// One place more after each lane's: their neighbours meet in no bank.
    static __device__ __forceinline__ int place(int i) { return i + i / kOutputs; }
    static constexpr int kWindow = (kTile + kDirectChunk) / kOutputs * (kOutputs + 1);
    static constexpr int kOfWarp = kDirectChunk + kWindow;  // in shared memory: taps, then samples
    static_assert(kOfWarp % 4 == 0);

    static __device__ __forceinline__ void add(Sum& sum, X x, X h) {
        if constexpr (kSums == Sums::wide32) {
            sum +=
                static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(x)) * static_cast<std::int32_t>(h));
        } else {
            sum += x * h;
        }
    }
};

/// Samples [0, size) of a window, from `in` on one `step` after the other, to shared memory; those from `needed` on are not read.
template <class D, class Raw>
__device__ __forceinline__ void load_window(const Signal& g, typename D::X* window, const Raw* in, std::int64_t step, int needed,
                                            int size, int lane) {
    constexpr int kLoads = 8;  // that go out together
#pragma unroll 1
    for (int i = lane; i < size; i += 32 * kLoads) {
        Raw some[kLoads];
#pragma unroll
        for (int u = 0; u < kLoads; ++u) { some[u] = i + 32 * u < needed ? in[(i + 32 * u) * step] : Raw{}; }
#pragma unroll
        for (int u = 0; u < kLoads; ++u) {
            if (i + 32 * u < size) { window[D::place(i + 32 * u)] = static_cast<typename D::X>(widened_raw(g, some[u])); }
        }
    }
}

/// The same of samples side by side, all of which are there up to the next multiple of 32: addresses are known but for one.
template <class D, class Raw>
__device__ __forceinline__ void load_packed_window(const Signal& g, typename D::X* window, const Raw* in, int size, int lane) {
    constexpr int kLoads = D::kTile / 32;
    constexpr int kPitch = 32 + 32 / D::kOutputs;  // places of 32 samples
    in += lane;
    window += D::place(lane);
    Raw some[kLoads];
#pragma unroll
    for (int u = 0; u < kLoads; ++u) { some[u] = in[32 * u]; }
#pragma unroll
    for (int u = 0; u < kLoads; ++u) { window[kPitch * u] = static_cast<typename D::X>(widened_raw(g, some[u])); }
#pragma unroll 2
    for (int u = kLoads; 32 * u < size; ++u) { window[kPitch * u] = static_cast<typename D::X>(widened_raw(g, in[32 * u])); }
}

/// sum[i] += the sum over t < taps of h[t] * window[lane's place of i + t]; taps: a multiple of kTaps. The samples that a lane's
/// outputs meet are a ring of registers, which no sample leaves its place in.
template <class D>
__device__ __forceinline__ void add_taps(typename D::Sum (&sum)[D::kOutputs], const typename D::X* window, const typename D::X* h,
                                         int taps, int lane) {
    constexpr int O = D::kOutputs;
    constexpr int T = D::kTaps;
    constexpr int kRing = O + T;
    typename D::X ring[kRing];
    const typename D::X* const from = window + lane * (O + 1);
#pragma unroll
    for (int i = 0; i < O; ++i) { ring[i] = from[i]; }
#pragma unroll 1
    for (int t = 0; t < taps;) {
#pragma unroll
        for (int c = 0; c < kRing; c += T) {
            if (t >= taps) { return; }
            typename D::X own[T];
#pragma unroll
            for (int i = 0; i < T; ++i) { own[i] = h[t + i]; }
            const typename D::X* const next = from + D::place(t + O);
#pragma unroll
            for (int i = 0; i < T; ++i) { ring[(c + O + i) % kRing] = next[i]; }
#pragma unroll
            for (int j = 0; j < T; ++j) {
#pragma unroll
                for (int i = 0; i < O; ++i) { D::add(sum[i], ring[(c + i + j) % kRing], own[j]); }
            }
            t += T;
        }
    }
}

/// Tiles of 32 * kOutputs outputs of a row, one a warp. Taps come in chunks of kDirectChunk, of each the samples that it meets.
template <Sums kSums>
__global__ void __launch_bounds__(32 * kDirectWarps) direct_sums_kernel(const __grid_constant__ Signal g) {
    using D = Direct<kSums>;
    using X = typename D::X;
    using Sum = typename D::Sum;
    constexpr int O = D::kOutputs;
    extern __shared__ uint4 direct_memory[];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * kDirectWarps + warp;
    if (number >= g.rows.tiles) { return; }
    X* const taps = reinterpret_cast<X*>(direct_memory) + warp * D::kOfWarp;
    X* const window = taps + kDirectChunk;
    const LineTile tile = line_tile(g.a, g.rows, g.a.tiles, number);
    const auto* const filter =
        reinterpret_cast<const std::int64_t*>(static_cast<const char*>(g.taps) + filter_of(g.rows, tile, 0) * g.filter_bytes);
    const std::int64_t o = tile.tile * D::kTile;
    const std::int64_t first = g.a.first - g.a.origin - g.a.in_first + o;
    const std::int64_t length = g.a.in_last - g.a.in_first;
    const bool inside = first >= 0 && first + D::kTile + (g.a.k + 31) / 32 * 32 <= length;
    Sum sum[O] = {};
#pragma unroll 1
    for (std::int64_t t = 0; t < g.a.k; t += kDirectChunk) {
        const int count = static_cast<int>(min(g.a.k - t, static_cast<std::int64_t>(kDirectChunk)));
        const int padded = (count + D::kTaps - 1) / D::kTaps * D::kTaps;
        const int size = D::kTile + padded;
        __syncwarp();
        for (int i = lane; i < padded; i += 32) { taps[i] = i < count ? static_cast<X>(filter[t + i]) : X{0}; }
        if (inside) {
            const std::int64_t from = tile.in + (first + t) * g.a.in_sample;
            with_raw(g.in_bytes, [&](auto raw) {
                using Raw = decltype(raw);
                const Raw* const in = static_cast<const Raw*>(g.a.in) + from;
                if (g.a.in_sample == 1) {
                    load_packed_window<D>(g, window, in, size, lane);
                } else {
                    load_window<D>(g, window, in, g.a.in_sample, D::kTile + count - 1, size, lane);
                }
            });
        } else {
#pragma unroll 1
            for (int i = lane; i < size; i += 32) { window[D::place(i)] = static_cast<X>(sample_at(g, tile.in, first + t + i)); }
        }
        __syncwarp();
        add_taps<D>(sum, window, taps, padded, lane);
    }
    // Through shared memory, so that neighbours are stored side by side.
    __syncwarp();
    auto* const stage = reinterpret_cast<Sum*>(window);
    static_assert(D::kTile / O * (O + 1) * sizeof(Sum) <= D::kWindow * sizeof(X));
#pragma unroll
    for (int i = 0; i < O; ++i) { stage[lane * (O + 1) + i] = sum[i]; }
    __syncwarp();
    constexpr int kPitch = 32 + 32 / O;
    const Sum* const own = stage + D::place(lane);
    const auto sum_of = [&](int i) { return static_cast<std::int64_t>(static_cast<std::make_signed_t<Sum>>(own[kPitch * i])); };
    if (g.a.out_sample == 1 && o + D::kTile <= g.a.count && stores_low_bytes(g)) {
        with_raw(g.finish.output_bytes, [&](auto raw) {
            using Raw = decltype(raw);
            Raw* const out = static_cast<Raw*>(g.a.out) + tile.out + o + lane;
#pragma unroll
            for (int i = 0; i < O; ++i) { out[32 * i] = static_cast<Raw>(sum_of(i)); }
        });
        return;
    }
    put_outputs<O>(g, tile, o + lane, g.a.count, 32, sum_of);
}

}  // namespace tapline::cuda::integer
