// The kernels of depthwise.cu. A thread owns one 16-byte vector of a row (4 f32, 2 f64, 8 of 16 bits) and keeps the window
// around it in registers; neighbouring windows overlap in the L1 cache, so memory sees every sample once. Longer filters have
// tiles in shared memory.
#pragma once

#include <type_traits>

#include "cuda/primitives/elements.cuh"

namespace tapline::cuda {

inline constexpr int kDepthwiseThreads = 256;
/// Filters of up to so many taps have kernels of their own, if they are causal; longer ones are taken in chunks.
inline constexpr int kDepthwiseExactTaps = 4;
inline constexpr int kDepthwiseChunk = 8;
/// The gradients of long filters: a sample is used in more products.
inline constexpr int kDepthwiseLongChunk = 16;

/// cuda_abi::Depthwise and what follows from it.
struct DepthwiseShape {
    std::int64_t batch, channels, n, length, k, origin;
    std::int64_t tiles;  ///< of kDepthwiseThreads vectors in a row of outputs (forward) or of samples (backward)
    int lead;            ///< absent taps before the first, so that windows start at a vector (chunked kernels)
    int chunks;          ///< of lead + k taps
    int splits;          ///< blocks that share the sums of one channel and chunk (backward)
};

/// Whether [first, first + count) lies inside [0, n): all but the windows at the ends of a row.
__device__ __forceinline__ bool is_inside(std::int64_t first, int count, std::int64_t n) {
    return first >= 0 && first + count <= n;
}

/// row[first .. first + kVectors * kPerVector) widened, zeros outside [0, n). kAligned: row and first lie at vectors.
template <class S, int kVectors, bool kAligned>
__device__ __forceinline__ void load_row(typename Element<S>::Sum* to, const S* row, std::int64_t first, std::int64_t n) {
    constexpr int kCount = kVectors * kPerVector<S>;
    if (is_inside(first, kCount, n)) {
        if constexpr (kAligned) {
            const auto* vectors = reinterpret_cast<const uint4*>(row + first);
#pragma unroll
            for (int i = 0; i < kVectors; ++i) { unpack<S>(to + i * kPerVector<S>, __ldg(vectors + i)); }
        } else {
#pragma unroll
            for (int i = 0; i < kCount; ++i) { to[i] = Element<S>::widen(row[first + i]); }
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
        const std::int64_t at = first + i;
        to[i] = at >= 0 && at < n ? Element<S>::widen(row[at]) : typename Element<S>::Sum(0);
    }
}

/// Runs body(true) for a window inside its row; body(false) asks of each sample whether it is there, so that samples that are not
/// are left out instead of multiplied (they would turn an infinite factor into a NaN).
template <class Body>
__device__ __forceinline__ void with_window(bool inside, const Body& body) {
    if (inside) {
        body(std::true_type{});
    } else {
        body(std::false_type{});
    }
}

template <class S, bool kAligned>
__device__ __forceinline__ void store_row(S* row, std::int64_t first, std::int64_t n, const typename Element<S>::Sum* from) {
    constexpr int kCount = kPerVector<S>;
    if (kAligned && first + kCount <= n) {
        __stcs(reinterpret_cast<uint4*>(row + first), pack<S>(from));
        return;
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
        if (first + i < n) { row[first + i] = Element<S>::narrow(from[i]); }
    }
}

/// Sums of a warp, the same order each time; the result is in lane 0.
template <class Sum>
__device__ __forceinline__ Sum warp_sum(Sum value) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) { value += __shfl_down_sync(0xffffffffu, value, offset); }
    return value;
}

/// grad_taps[first_tap .. first_tap + kTaps) of a channel from the sums of all threads of all its blocks. Where several blocks
/// share a channel, each leaves its sums in `partial` and the one that comes last adds them, in the order of the blocks.
template <class S, int kTaps>
__device__ void finish_taps(const DepthwiseShape& shape, S* grad_taps, typename Element<S>::Sum* partial, unsigned* arrived,
                            typename Element<S>::Sum (&sums)[kTaps], std::int64_t channel, int chunk, int split,
                            std::int64_t first_tap) {
    using Sum = typename Element<S>::Sum;
    constexpr int kWarps = kDepthwiseThreads / 32;
    __shared__ Sum of_warp[kWarps][kTaps];
    __shared__ bool is_last;
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int t = 0; t < kTaps; ++t) {
        const Sum sum = warp_sum(sums[t]);
        if (thread % 32 == 0) { of_warp[thread / 32][t] = sum; }
    }
    __syncthreads();
    Sum sum = 0;
    if (thread < kTaps) {
        for (int warp = 0; warp < kWarps; ++warp) { sum += of_warp[warp][thread]; }
    }
    const std::int64_t group = channel * shape.chunks + chunk;
    if (shape.splits > 1) {
        Sum* const mine = partial + group * shape.splits * kTaps;
        if (thread < kTaps) {
            mine[split * kTaps + thread] = sum;
            __threadfence();
        }
        __syncthreads();
        if (thread == 0) { is_last = atomicAdd(arrived + group, 1u) + 1 == static_cast<unsigned>(shape.splits); }
        __syncthreads();
        if (!is_last) { return; }
        __threadfence();
        sum = 0;
        if (thread < kTaps) {
            for (int s = 0; s < shape.splits; ++s) { sum += __ldcg(mine + s * kTaps + thread); }
        }
    }
    const std::int64_t tap = first_tap + thread;
    if (thread < kTaps && tap >= 0 && tap < shape.k) { grad_taps[channel * shape.k + tap] = Element<S>::narrow(sum); }
}

/// Causal filters of exactly kTaps taps in rows that lie at vectors: a block makes kTiles tiles of one row.
template <class S, int kTaps, int kTiles>
__global__ void __launch_bounds__(kDepthwiseThreads)
    depthwise_forward_exact(DepthwiseShape shape, S* y, const S* x, const S* taps) {
    using Sum = typename Element<S>::Sum;
    constexpr int kVector = kPerVector<S>;
    constexpr int kBefore = (kTaps - 1 + kVector - 1) / kVector;  // vectors before the thread's own
    constexpr int kSkip = kBefore * kVector - (kTaps - 1);
    const auto groups = static_cast<unsigned>((shape.tiles + kTiles - 1) / kTiles);
    const std::int64_t row = blockIdx.x / groups;
    const std::int64_t group = blockIdx.x % groups;
    const std::int64_t channel = row % shape.channels;
    const S* const from = x + row * shape.n;
    S* const to = y + row * shape.length;
    Sum h[kTaps];
#pragma unroll
    for (int t = 0; t < kTaps; ++t) { h[t] = Element<S>::widen(taps[channel * kTaps + t]); }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
        const std::int64_t o = ((group * kTiles + tile) * kDepthwiseThreads + threadIdx.x) * kVector;
        if (o >= shape.length) { break; }
        const std::int64_t first = o - kBefore * kVector;
        Sum window[(kBefore + 1) * kVector];
        load_row<S, kBefore + 1, true>(window, from, first, shape.n);
        Sum sums[kVector];
        with_window(first >= 0, [&](auto inside) {
#pragma unroll
            for (int i = 0; i < kVector; ++i) {
                sums[i] = 0;
#pragma unroll
                for (int t = 0; t < kTaps; ++t) {
                    if (decltype(inside)::value || first + kSkip + i + t >= 0) {
                        sums[i] = fma(window[kSkip + i + t], h[t], sums[i]);
                    }
                }
            }
        });
        store_row<S, true>(to, o, shape.length, sums);
    }
}

/// kVector sums over all taps, in chunks: sums[i] = sum_t taps[t] * row[first + i + t], or with the taps reversed.
/// `first` counts from the first tap; kAligned: first - lead lies at a vector.
template <class S, bool kAligned, bool kReversed>
__device__ __forceinline__ void sum_in_chunks(typename Element<S>::Sum* sums, const S* row, std::int64_t first, std::int64_t n,
                                              const S* taps, std::int64_t k, int lead, int chunks) {
    using Sum = typename Element<S>::Sum;
    constexpr int kChunk = kDepthwiseChunk;
    constexpr int kVector = kPerVector<S>;
    constexpr int kVectors = (kVector + kChunk - 1 + kVector - 1) / kVector;
#pragma unroll
    for (int i = 0; i < kVector; ++i) { sums[i] = 0; }
    for (int chunk = 0; chunk < chunks; ++chunk) {
        const std::int64_t tap = static_cast<std::int64_t>(chunk) * kChunk - lead;
        Sum window[kVectors * kVector];
        load_row<S, kVectors, kAligned>(window, row, first + tap, n);
        with_window(is_inside(first + tap, kVectors * kVector, n), [&](auto inside) {
#pragma unroll
            for (int t = 0; t < kChunk; ++t) {
                if (tap + t >= 0 && tap + t < k) {  // absent taps are not multiplied: the window may hold a NaN there
                    const Sum h = Element<S>::widen(__ldg(taps + (kReversed ? k - 1 - tap - t : tap + t)));
#pragma unroll
                    for (int i = 0; i < kVector; ++i) {
                        if (decltype(inside)::value || is_inside(first + tap + i + t, 1, n)) {
                            sums[i] = fma(window[i + t], h, sums[i]);
                        }
                    }
                }
            }
        });
    }
}

/// Any filter, any rows.
template <class S, bool kAligned>
__global__ void __launch_bounds__(kDepthwiseThreads)
    depthwise_forward_chunked(DepthwiseShape shape, S* y, const S* x, const S* taps) {
    const auto tiles = static_cast<unsigned>(shape.tiles);
    const std::int64_t row = blockIdx.x / tiles;
    const std::int64_t tile = blockIdx.x % tiles;
    const std::int64_t o = (tile * kDepthwiseThreads + threadIdx.x) * kPerVector<S>;
    if (o >= shape.length) { return; }
    typename Element<S>::Sum sums[kPerVector<S>];
    sum_in_chunks<S, kAligned, false>(sums, x + row * shape.n, o - shape.origin, shape.n, taps + row % shape.channels * shape.k,
                                      shape.k, shape.lead, shape.chunks);
    store_row<S, kAligned>(y + row * shape.length, o, shape.length, sums);
}

/// Longer filters: a block's samples and taps pass through shared memory, and a thread makes kOwn outputs side by side, so that a
/// sample and four taps that it reads are used in 4 kOwn products. Threads' windows lie 48 bytes apart, which reads 16 bytes at a
/// time without bank conflicts. kReversed: the last tap first.
template <class S>
struct DepthwiseTile {
    using Sum = typename Element<S>::Sum;
    static constexpr int kStep = 16 / sizeof(Sum);
    static constexpr int kOwn = 3 * kStep;
    static constexpr int kOutputs = kDepthwiseThreads * kOwn;
    static constexpr int kTaps = 256;  // at a time
    static constexpr int kWindow = kOutputs + kTaps;
    static_assert(kWindow % kDepthwiseThreads == 0);
};

template <class S, bool kReversed>
__global__ void __launch_bounds__(kDepthwiseThreads)
    depthwise_forward_tiled(DepthwiseShape shape, S* y, const S* x, const S* taps) {
    using Tile = DepthwiseTile<S>;
    using Sum = typename Tile::Sum;
    constexpr int kOwn = Tile::kOwn;
    constexpr int kStep = Tile::kStep;
    struct alignas(16) Together {
        Sum of[kStep];
    };
    __shared__ alignas(16) Sum window[Tile::kWindow];
    __shared__ alignas(16) Sum part[Tile::kTaps];
    const auto tiles = static_cast<unsigned>(shape.tiles);
    const std::int64_t row = blockIdx.x / tiles;
    const std::int64_t tile = blockIdx.x % tiles * static_cast<std::int64_t>(Tile::kOutputs);
    const int outputs = static_cast<int>(min(shape.length - tile, static_cast<std::int64_t>(Tile::kOutputs)));
    const int thread = static_cast<int>(threadIdx.x);
    const int own = thread * kOwn;
    const S* const from = x + row * shape.n;
    const S* const h = taps + row % shape.channels * shape.k;
    Sum sums[kOwn];
#pragma unroll
    for (int i = 0; i < kOwn; ++i) { sums[i] = 0; }
    for (std::int64_t tap = 0; tap < shape.k; tap += Tile::kTaps) {
        const int count = static_cast<int>(min(shape.k - tap, static_cast<std::int64_t>(Tile::kTaps)));
        const std::int64_t first = tile - shape.origin + tap;  // sample of the window's beginning
        const std::int64_t begin = min(max(-first, std::int64_t{0}), static_cast<std::int64_t>(Tile::kWindow));
        const std::int64_t end = min(shape.n - first, static_cast<std::int64_t>(outputs + count - 1));
        const S* const samples_from = from + first;
#pragma unroll 4
        for (int i = thread; i < Tile::kWindow; i += kDepthwiseThreads) {
            window[i] = i >= begin && i < end ? Element<S>::widen(__ldg(samples_from + i)) : Sum(0);
        }
        bool finite = true;
        for (int t = thread; t < count; t += kDepthwiseThreads) {
            part[t] = Element<S>::widen(__ldg(h + (kReversed ? shape.k - 1 - tap - t : tap + t)));
            finite = finite && isfinite(part[t]);
        }
        // Zeros stand for samples that are not there. A tap that is not finite must not meet them.
        finite = __syncthreads_and(finite ? 1 : 0) != 0;
        const int whole = count / kStep * kStep;
        if (own < outputs && (finite || is_inside(first + own, kOwn + count - 1, shape.n))) {
            Sum samples[kOwn + kStep];
            const auto load = [&](Sum* to, const Sum* at) {
                const Together values = *reinterpret_cast<const Together*>(at);
#pragma unroll
                for (int j = 0; j < kStep; ++j) { to[j] = values.of[j]; }
            };
#pragma unroll
            for (int i = 0; i < kOwn; i += kStep) { load(samples + i, window + own + i); }
#pragma unroll 4
            for (int t = 0; t < whole; t += kStep) {
                load(samples + kOwn, window + own + kOwn + t);
                Sum factors[kStep];
                load(factors, part + t);
#pragma unroll
                for (int j = 0; j < kStep; ++j) {
#pragma unroll
                    for (int i = 0; i < kOwn; ++i) { sums[i] = fma(samples[i + j], factors[j], sums[i]); }
                }
#pragma unroll
                for (int i = 0; i < kOwn; ++i) { samples[i] = samples[i + kStep]; }
            }
            for (int t = whole; t < count; ++t) {
#pragma unroll
                for (int i = 0; i < kOwn; ++i) { sums[i] = fma(window[own + i + t], part[t], sums[i]); }
            }
        } else if (own < outputs) {
#pragma unroll
            for (int i = 0; i < kOwn; ++i) {
                const std::int64_t at = first + own + i;
                const int from_tap = static_cast<int>(min(max(-at, std::int64_t{0}), static_cast<std::int64_t>(count)));
                const int to_tap = own + i < outputs ? static_cast<int>(min(static_cast<std::int64_t>(count), shape.n - at)) : 0;
                for (int t = from_tap; t < to_tap; ++t) { sums[i] = fma(window[own + i + t], part[t], sums[i]); }
            }
        }
        __syncthreads();
    }
    // Through shared memory, so that neighbouring threads store neighbouring outputs.
    if (own < outputs) {
#pragma unroll
        for (int i = 0; i < kOwn; ++i) { window[own + i] = sums[i]; }
    }
    __syncthreads();
    S* const to = y + row * shape.length + tile;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
        const int at = thread + i * kDepthwiseThreads;
        if (at < outputs) { to[at] = Element<S>::narrow(window[at]); }
    }
}

/// Both gradients read the same window of grad_y at sample i:
///
///     grad_x[i]     = sum_t taps[t] * grad_y[i + origin - t]
///     grad_taps[t]  = sum over rows and i of x[i] * grad_y[i + origin - t]
///
/// A block goes over its share of one channel's tiles, row by row. Without grad_x only grad_taps is made and taps are not read.
template <class S, int kTaps>
__global__ void __launch_bounds__(kDepthwiseThreads)
    depthwise_backward_exact(DepthwiseShape shape, S* grad_x, S* grad_taps, const S* grad_y, const S* x, const S* taps,
                             typename Element<S>::Sum* partial, unsigned* arrived) {
    using Sum = typename Element<S>::Sum;
    constexpr int kVector = kPerVector<S>;
    constexpr int kVectors = (kVector + kTaps - 1 + kVector - 1) / kVector;
    const std::int64_t channel = blockIdx.x / shape.splits;
    const int split = static_cast<int>(blockIdx.x % shape.splits);
    const std::int64_t all = shape.batch * shape.tiles;
    const std::int64_t begin = all * split / shape.splits;
    const std::int64_t end = all * (split + 1) / shape.splits;
    Sum h[kTaps];
    Sum of_taps[kTaps];
#pragma unroll
    for (int t = 0; t < kTaps; ++t) {
        h[t] = grad_x == nullptr ? Sum(0) : Element<S>::widen(taps[channel * kTaps + t]);
        of_taps[t] = 0;
    }
    std::int64_t row = begin / shape.tiles * shape.channels + channel;
    std::int64_t tile = begin % shape.tiles;
#pragma unroll 2
    for (std::int64_t left = end - begin; left > 0; --left) {
        const std::int64_t i0 = (tile * kDepthwiseThreads + threadIdx.x) * kVector;
        if (i0 < shape.n) {
            Sum own[kVector];
            Sum window[kVectors * kVector];  // grad_y[i0 ..]: causal, so that tap t of sample i meets window[i + kTaps - 1 - t]
            load_row<S, 1, true>(own, x + row * shape.n, i0, shape.n);
            load_row<S, kVectors, true>(window, grad_y + row * shape.length, i0, shape.length);
            Sum sums[kVector];
            with_window(i0 + kVectors * kVector <= shape.length, [&](auto inside) {
#pragma unroll
                for (int i = 0; i < kVector; ++i) {
                    sums[i] = 0;
#pragma unroll
                    for (int t = 0; t < kTaps; ++t) {
                        if (decltype(inside)::value || i0 + i + kTaps - 1 - t < shape.length) {
                            sums[i] = fma(window[i + kTaps - 1 - t], h[t], sums[i]);
                            of_taps[t] = fma(window[i + kTaps - 1 - t], own[i], of_taps[t]);
                        }
                    }
                }
            });
            if (grad_x != nullptr) { store_row<S, true>(grad_x + row * shape.n, i0, shape.n, sums); }
        }
        if (++tile == shape.tiles) {
            tile = 0;
            row += shape.channels;
        }
    }
    finish_taps<S, kTaps>(shape, grad_taps, partial, arrived, of_taps, channel, 0, split, 0);
}

/// Any filter, any rows. Of the blocks of a channel each sums one chunk of grad_taps, over all of its tiles, and makes grad_x of
/// every chunks-th tile; of long filters, with kDepthwiseLongChunk, another kernel makes it. Chunks count from the last tap,
/// because the windows of grad_y do.
template <class S, bool kAligned, int kChunk>
__global__ void __launch_bounds__(kDepthwiseThreads)
    depthwise_backward_chunked(DepthwiseShape shape, S* grad_x, S* grad_taps, const S* grad_y, const S* x, const S* taps,
                               typename Element<S>::Sum* partial, unsigned* arrived) {
    using Sum = typename Element<S>::Sum;
    constexpr int kVector = kPerVector<S>;
    constexpr int kVectors = (kVector + kChunk - 1 + kVector - 1) / kVector;
    const int chunk = static_cast<int>(blockIdx.x % shape.chunks);
    const int split = static_cast<int>(blockIdx.x / shape.chunks % shape.splits);
    const std::int64_t channel = blockIdx.x / shape.chunks / shape.splits;
    const std::int64_t all = shape.batch * shape.tiles;
    const std::int64_t begin = all * split / shape.splits;
    const std::int64_t end = all * (split + 1) / shape.splits;
    const std::int64_t last = static_cast<std::int64_t>(chunk) * kChunk - shape.lead;  // k-1 - the chunk's first tap
    Sum of_taps[kChunk];                                                               // of tap k-1 - last - t
#pragma unroll
    for (int t = 0; t < kChunk; ++t) { of_taps[t] = 0; }
    std::int64_t row = begin / shape.tiles * shape.channels + channel;
    std::int64_t tile = begin % shape.tiles;
    auto turn = static_cast<int>(begin % shape.chunks);
    for (std::int64_t left = end - begin; left > 0; --left) {
        const std::int64_t i0 = (tile * kDepthwiseThreads + threadIdx.x) * kVector;
        if (i0 < shape.n) {
            const S* const from = grad_y + row * shape.length;
            const std::int64_t first = i0 + shape.origin - (shape.k - 1);
            Sum own[kVector];
            Sum window[kVectors * kVector];
            load_row<S, 1, kAligned>(own, x + row * shape.n, i0, shape.n);
            load_row<S, kVectors, kAligned>(window, from, first + last, shape.length);
            with_window(is_inside(first + last, kVectors * kVector, shape.length) && i0 + kVector <= shape.n, [&](auto inside) {
#pragma unroll
                for (int i = 0; i < kVector; ++i) {
#pragma unroll
                    for (int t = 0; t < kChunk; ++t) {
                        if (decltype(inside)::value || (i0 + i < shape.n && is_inside(first + last + i + t, 1, shape.length))) {
                            of_taps[t] = fma(window[i + t], own[i], of_taps[t]);
                        }
                    }
                }
            });
            if constexpr (kChunk == kDepthwiseChunk) {
                if (turn == chunk && grad_x != nullptr) {
                    Sum sums[kVector];
                    sum_in_chunks<S, kAligned, true>(sums, from, first, shape.length, taps + channel * shape.k, shape.k, shape.lead,
                                                     shape.chunks);
                    store_row<S, kAligned>(grad_x + row * shape.n, i0, shape.n, sums);
                }
            }
        }
        turn = turn + 1 == shape.chunks ? 0 : turn + 1;
        if (++tile == shape.tiles) {
            tile = 0;
            row += shape.channels;
        }
    }
    Sum in_order[kChunk];  // ascending taps
#pragma unroll
    for (int t = 0; t < kChunk; ++t) { in_order[t] = of_taps[kChunk - 1 - t]; }
    finish_taps<S, kChunk>(shape, grad_taps, partial, arrived, in_order, channel, chunk, split, shape.k - 1 - last - (kChunk - 1));
}

}  // namespace tapline::cuda
