// Large segments by columns: samples come, 32 x kRadix points a column are transformed, and back, outputs go.
#pragma once

#include "cuda/ladder/conv1d/overlap_save_large.hpp"
#include "cuda/ladder/conv1d/overlap_save_large_tables.hpp"
#include "cuda/ladder/conv1d/overlap_save_outputs.cuh"
#include "cuda/primitives/copy_async.cuh"
#include "cuda/primitives/segment.cuh"
#include "cuda/primitives/turns.cuh"

namespace tapline::cuda::overlap_save {

/// Whether no term can change it any more.
template <class X>
__device__ __forceinline__ bool is_nan(const X& x) {
    if constexpr (kIsComplexElement<X>) {
        return isnan(x.x) && isnan(x.y);
    } else {
        return isnan(x);
    }
}

/// The sum of output o of a row, directly, until it is not a number, which it then remains.
template <class S, class H>
__device__ __noinline__ typename Element<S>::Sum direct_sum_while_finite(const Arguments& a, std::int64_t row, std::int64_t o) {
    using Sum = typename Element<S>::Sum;
    constexpr std::int64_t kStretch = 256;
    const S* in = static_cast<const S*>(a.in) + row * a.in_row;
    const H* taps = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + row * a.taps_row_bytes);
    Sum sum{};
    for (std::int64_t first = 0; first < a.k; first += kStretch) {
        const std::int64_t last = min(first + kStretch, a.k);
        if (a.boundary == kZero) {
            multiply_add(sum, exact_sum<S, H>(a, in, taps, a.first + o, first, last), typename Element<S>::Real{1});
        } else {
            for (std::int64_t t = first; t < last; ++t) {
                multiply_add(sum, Element<S>::widen(sample(a, in, a.first + o - a.origin + t)), taps[t]);
            }
        }
        if (is_nan(sum)) { return sum; }
    }
    return sum;
}

/// A thread's part of a tile of kWidth columns, which are kRow points apart: (column, q) before the exchange that a transform of
/// 32 x kRadix points has in its middle, and (column, p) after it. There: its 32 points r = q + kRadix i of the column, i < 32,
/// become values m = p + 32 s, for kPolynomials p = q + kRadix u and all s < kRadix; back the other way round.
template <class S, int kRadix, int kWarps>
struct Columns {
    using T = typename Element<S>::Real;
    using Sum = typename Element<S>::Sum;
    using Point = typename PointOf<T>::Type;
    static constexpr bool kComplex = kIsComplexElement<S>;
    static constexpr int kWidth = kTileThreads / kRadix;
    static constexpr int kRow = kPoints * kWarps;
    static constexpr int kM = 32 * kRadix * kRow;
    static constexpr int kPolynomials = 32 / kRadix;
    static constexpr int kBits = fft::log2_of(kRadix);
    static constexpr int kPad = kWidth < 16 ? 8 : 0;  // columns of several p at once are free of bank conflicts
    static constexpr LargeTables kTables{kRadix, kWarps};
    static_assert(kTilePoints + 32 * kPad <= 8 * kBufferPoints);
    /// An inner segment's samples come to the exchange while outputs of the one before are completed: where points of all segments
    /// on their way are too many for the L2 cache and every read waits for memory. 2^28 samples, 1,048,575 taps, 2^22 points 2,528
    /// us instead of 2,635; but 2^18 points 1,585 us instead of 1,562 (65,535 taps), 2^20 points 2,126 instead of 2,054 (262,143).
    static constexpr bool kFetches = std::is_same_v<S, float> && kRadix == 16 && kWarps == 8;

    const Arguments& a;
    const LargeSegments& g;
    Point* exchange;      // 8 * kBufferPoints
    Point* turns;         // (32, kWidth): e^(2 pi i v n/M) of value v and column n; of each thread e^(i (phi + 2 pi q) n/M)
    const Point* tables;  // LargeTables
    int c, q;             // column of the tile
    int n = 0;            // column of the segment

    __device__ __forceinline__ Columns(const Arguments& arguments, const LargeSegments& segments, Point* exchange_place,
                                       Point* turns_place, const Point* tables_place)
        : a(arguments),
          g(segments),
          exchange(exchange_place),
          turns(turns_place),
          tables(tables_place),
          c(static_cast<int>(threadIdx.x) % kWidth),
          q(static_cast<int>(threadIdx.x) / kWidth) {}

    /// To tile number `tile`. After a barrier that follows what was last done with `turns`; needs one before it is used.
    __device__ __forceinline__ void move_to(int tile) {
        n = tile * kWidth + c;
#pragma unroll
        for (int i = 0; i < kPolynomials; ++i) {
            const int at = q + kRadix * i;  // value kRadix u + 32 s lies at kRadix u + s
            const int value = at / kRadix * kRadix + at % kRadix * 32;
            turns[at * kWidth + c] = half_turns(static_cast<T>(value * n) * (T{2} / kM));
        }
        turns[32 * kWidth + static_cast<int>(threadIdx.x)] = kComplex ? half_turns(static_cast<T>(q * n) * (T{2} / kM))
                                                                      : half_turns(static_cast<T>((4 * q + 1) * n) * (T{0.5} / kM));
    }

    /// Whether fetch() may take the segment's samples.
    [[nodiscard]] __device__ __forceinline__ bool may_fetch(int segment) const {
        return kFetches && g.plain != 0 && g.aligned != 0 && segment < g.segments && is_inner(segment % g.of_row);
    }
    /// Begins to copy the samples of the warp's 32 columns and values of q to where its points were exchanged: to each row of 32
    /// points the 32 real parts, then the others. After a barrier of the warp that follows what it last read there.
    __device__ __forceinline__ void fetch(int segment) const {
        const int row = segment / g.of_row;
        const int index = segment - row * g.of_row;
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const int in_row = lane % 8 * 4;
        int own = (first_q() + in_row / kWidth + lane / 16 * kRadix) * kRow + n - c + in_row % kWidth + lane / 8 % 2 * kM;
        const S* from = static_cast<const S*>(a.in) + row * a.in_row + g.start + static_cast<std::int64_t>(index) * g.outputs;
        hide(from, own);
        from += own;
        auto* const to = reinterpret_cast<uint4*>(of_warp() + lane / 16 * kRadix * kWidth) + lane % 16;
#pragma unroll
        for (int i = 0; i < 32; i += 2) { copy_16_async(to + i * kRadix * kWidth / 2, from + i * kRadix * kRow); }
        commit_copies();
    }

    /// From samples to points. `segment`: of the launch; `at`: its place in the ring; `fetched`: fetch() has begun to bring them.
    __device__ __forceinline__ void transform(int segment, Point* at, bool fetched) const {
        T re[32];
        T im[32];
        const int row = segment / g.of_row;
        const int index = segment - row * g.of_row;
        bool slow = a.boundary != kZero && !is_inner(index);
        for (;;) {
            if (slow) {
                load_slowly(re, im, segment, row, index);
            } else if (kFetches && fetched) {
                if constexpr (kFetches) { load_fetched(re, im); }
            } else if (g.plain != 0 && is_inner(index)) {
                load(re, im, row, index);
            } else {
                load_with_zeros(re, im, row, index);
            }
            fft::transform<32, kComplex ? 0 : 1, 2>(re, im);
            // A sample that is not finite makes every value so: then once more without it.
            if (slow || fabs(re[0]) + fabs(im[0]) <= Limits<T>::kMost) { break; }
            slow = true;
        }
        transform_loaded(re, im, at);
    }

    /// From taps to points: of the polynomial with the coefficients conj(taps[t]) at t + skip, as if these were samples. Puts the
    /// taps where they are wanted in correlation order.
    __device__ __forceinline__ void transform_taps(Point* at) const {
        T re[32];
        T im[32];
        const int k = static_cast<int>(a.k);
        const int own = point_of(0) - g.skip;
        const bool pairs = kComplex && g.real_taps == 0;
        const int step = (pairs ? 2 : 1) * (g.reversed != 0 ? -1 : 1);
        const T* const from = static_cast<const T*>(g.given) + (g.reversed != 0 ? k - 1 : 0) * (pairs ? 2 : 1) + own * step;
        const auto is_there = [&](int t) { return t >= 0 && t < k; };
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            const int offset = i * kRadix * kRow;
            re[i] = is_there(own + offset) ? from[offset * step] : T{};
            if constexpr (kComplex) {
                im[i] = pairs && is_there(own + offset) ? from[offset * step + 1] : T{};
            } else {
                im[i] = is_there(own + offset + kM) ? from[(offset + kM) * step] : T{};
            }
        }
        const bool turns_sign = pairs && g.conjugated == 0;
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            const int t = own + i * kRadix * kRow;
            if (pairs) {
                im[i] = turns_sign ? -im[i] : im[i];
                if (is_there(t)) { static_cast<Point*>(g.made_taps)[t] = {re[i], -im[i]}; }
            } else {
                if (is_there(t)) { static_cast<T*>(g.made_taps)[t] = re[i]; }
                if (!kComplex && is_there(t + kM)) { static_cast<T*>(g.made_taps)[t + kM] = im[i]; }
            }
        }
        fft::transform<32, kComplex ? 0 : 1, 2>(re, im);
        transform_loaded(re, im, at);
    }

    /// From points to outputs. exchanged(): called by all threads once each has read its own part of the exchange.
    template <class Exchanged>
    __device__ __forceinline__ void finish_segment(int segment, const Point* at, const Exchanged& exchanged) const {
        T re[32];
        T im[32];
        fft::for_each_index<0, kPolynomials>([&](auto polynomial) {
            constexpr int u = decltype(polynomial)::value;
#pragma unroll
            for (int s = 0; s < kRadix; ++s) {
                const Point p = __ldcg(at + (q + kRadix * u + 32 * s) * kRow + n);
                re[kRadix * u + s] = p.x;
                im[kRadix * u + s] = p.y;
            }
        });
        __syncthreads();  // `turns` is complete, `exchange` free
        const Point turn = own_turn();
        fft::for_each_index<0, kPolynomials>([&](auto polynomial) {
            constexpr int u = decltype(polynomial)::value;
#pragma unroll
            for (int s = 0; s < kRadix; ++s) {
                Point w = turn_of(u, s, turn);
                w.y = -w.y;
                multiply(re[kRadix * u + s], im[kRadix * u + s], w);
            }
            fft::transform<kRadix>(im + kRadix * u, re + kRadix * u);
            fft::for_each_index<0, kRadix>([&](auto value) {
                constexpr int i = kRadix * u + decltype(value)::value;
                exchange[place(q + kRadix * u, fft::reversed(decltype(value)::value, kBits))] = Point{re[i], im[i]};
            });
        });
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            const Point p = exchange[place(i, q)];
            re[i] = p.x;
            im[i] = p.y;
        }
        exchanged();
        fft::transform_by<32>(im, re, [&](int i, T* cosine, T* tangent) {
            const Point pair = tables[kTables.back + kRadix * i + q];
            *cosine = pair.x;
            *tangent = pair.y;
        });
        if constexpr (!kComplex) {
            fft::for_each_index<0, 32>([&](auto value) {
                constexpr int i = decltype(value)::value;
                multiply(re[i], im[i], tables[kTables.untwists + q + kRadix * fft::reversed(i, 5)]);
            });
        }
        store(re, im, segment);
    }

private:
    /// The rest of transform(), after the first 32 points' own.
    __device__ __forceinline__ void transform_loaded(T* re, T* im, Point* at) const {
        __syncthreads();
        fft::for_each_index<0, 32>([&](auto value) {
            constexpr int i = decltype(value)::value;
            exchange[place(fft::reversed(i, 5), q)] = Point{re[i], im[i]};
        });
        __syncthreads();
        const Point turn = own_turn();
        fft::for_each_index<0, kPolynomials>([&](auto polynomial) {
            constexpr int u = decltype(polynomial)::value;
#pragma unroll
            for (int i = 0; i < kRadix; ++i) {
                const Point p = exchange[place(q + kRadix * u, i)];
                re[kRadix * u + i] = p.x;
                im[kRadix * u + i] = p.y;
            }
            fft::transform_by<kRadix>(re + kRadix * u, im + kRadix * u, [&](int i, T* cosine, T* tangent) {
                const Point pair = tables[kTables.there + 32 * i + q + kRadix * u];
                *cosine = pair.x;
                *tangent = pair.y;
            });
            fft::for_each_index<0, kRadix>([&](auto value) {
                constexpr int i = kRadix * u + decltype(value)::value;
                constexpr int s = fft::reversed(decltype(value)::value, kBits);
                const Point w = turn_of(u, s, turn);
                multiply(re[i], im[i], w);
                __stcg(at + (q + kRadix * u + 32 * s) * kRow + n, Point{re[i], im[i]});
            });
        });
    }

    [[nodiscard]] __device__ __forceinline__ int place(int p, int of_radix) const {
        return (p * kRadix + of_radix) * kWidth + c + p * kPad;
    }
    /// The warp's first q, and its first place of the exchange.
    [[nodiscard]] __device__ __forceinline__ int first_q() const { return static_cast<int>(threadIdx.x) / 32 * (32 / kWidth); }
    [[nodiscard]] __device__ __forceinline__ Point* of_warp() const { return exchange + place(0, first_q()) - c; }
    [[nodiscard]] __device__ __forceinline__ Point own_turn() const { return turns[32 * kWidth + static_cast<int>(threadIdx.x)]; }
    [[nodiscard]] __device__ __forceinline__ Point turn_of(int u, int s, const Point& turn) const {
        Point w = turns[(kRadix * u + s) * kWidth + c];
        multiply(w.x, w.y, turn);
        return w;
    }
    /// The point that is point i before the transform there and after the one back, and among the outputs and samples of a segment.
    [[nodiscard]] __device__ __forceinline__ int point_of(int i) const { return (q + kRadix * i) * kRow + n; }
    [[nodiscard]] __device__ __forceinline__ int wanted_of(int index) const {
        return static_cast<int>(min(a.count - static_cast<std::int64_t>(index) * g.outputs, std::int64_t{g.outputs}));
    }

    static __device__ __forceinline__ bool is_finite(const Sum& x) {
        if constexpr (kComplex) {
            return fabs(x.x) <= Limits<T>::kMost && fabs(x.y) <= Limits<T>::kMost;
        } else {
            return fabs(x) <= Limits<T>::kMost;
        }
    }

    [[nodiscard]] __device__ __forceinline__ bool is_inner(int index) const {
        return index >= g.inner_first && index < g.inner_last;
    }

    /// Of an inner segment whose samples lie side by side: at distances that instructions hold.
    __device__ __forceinline__ void load(T* re, T* im, int row, int index) const {
        constexpr int kStep = kRadix * kRow;
        const S* first = static_cast<const S*>(a.in) + row * a.in_row + g.start + static_cast<std::int64_t>(index) * g.outputs;
        int own = point_of(0);
        hide(first, own);
        first += own;
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            if constexpr (kComplex) {
                const S x = __ldcs(first + i * kStep);
                re[i] = x.x;
                im[i] = x.y;
            } else {
                re[i] = Element<S>::widen(__ldcs(first + i * kStep));
                im[i] = Element<S>::widen(__ldcs(first + i * kStep + kM));
            }
        }
        leave_out(re, im);
    }
    /// The same, from where fetch() brings them.
    __device__ __forceinline__ void load_fetched(T* re, T* im) const {
        const T* const own = reinterpret_cast<const T*>(of_warp()) + threadIdx.x % 32;
        wait_copies<0>();
        __syncwarp();
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            re[i] = own[2 * i * kRadix * kWidth];
            im[i] = own[2 * i * kRadix * kWidth + 32];
        }
        leave_out(re, im);
    }
    /// What the outputs do not read is zero, whatever lies there.
    __device__ __forceinline__ void leave_out(T* re, T* im) const {
        if (point_of(0) < g.skip) {
            re[0] = 0;
            im[0] = kComplex ? 0 : im[0];
        }
        if (point_of(31) + (kComplex ? 0 : kM) >= g.used) {
            re[31] = kComplex ? 0 : re[31];
            im[31] = 0;
        }
    }
    /// Of any other segment with zeros around: all at once, where one by one costs the latency of memory for each.
    __device__ __forceinline__ void load_with_zeros(T* re, T* im, int row, int index) const {
        const std::int64_t start = g.start + static_cast<std::int64_t>(index) * g.outputs;
        const int needed = g.used - (g.outputs - wanted_of(index));
        const int begin = static_cast<int>(min(max(-start, std::int64_t{g.skip}), std::int64_t{needed}));
        const int end = static_cast<int>(min(max(a.in_last - a.in_first - start, std::int64_t{begin}), std::int64_t{needed}));
        const auto is_there = [&](int at) { return at >= begin && at < end; };
        const S* first = static_cast<const S*>(a.in) + row * a.in_row + start * a.in_sample;
        int own = point_of(0);
        hide(first, own);
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            const int at = own + i * kRadix * kRow;
            if constexpr (kComplex) {
                const S x = is_there(at) ? load_element(first + at * a.in_sample) : S{};
                re[i] = x.x;
                im[i] = x.y;
            } else {
                re[i] = is_there(at) ? Element<S>::widen(first[at * a.in_sample]) : T{};
                im[i] = is_there(at + kM) ? Element<S>::widen(first[(at + kM) * a.in_sample]) : T{};
            }
        }
    }
    __device__ __forceinline__ void load_slowly(T* re, T* im, int segment, int row, int index) const {
        Point values[32];
        const Columns copy = *this;  // in memory, where a call finds it: this one stays in registers
        copy.read_one_by_one(values, segment, row, index);
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            re[i] = values[i].x;
            im[i] = values[i].y;
        }
    }
    /// One by one to memory: zeros for samples that no output wants or that are not finite; these are noted.
    __device__ __noinline__ void read_one_by_one(Point* values, int segment, int row, int index) const {
        const S* const in = static_cast<const S*>(a.in) + row * a.in_row;
        const std::int64_t position = a.in_first + g.start + static_cast<std::int64_t>(index) * g.outputs;
        const int needed = g.used - (g.outputs - wanted_of(index));
        const int noted = segment % (2 * g.slots);
        const auto read = [&](int at) {
            Sum x{};
            if (at >= g.skip && at < needed) { x = Element<S>::widen(sample(a, in, position + at)); }
            if (!is_finite(x)) {
                g.state->bad[noted] = 1;
                atomicOr(&g.state->marks[noted][at / kMarkSamples / 32], 1u << (at / kMarkSamples % 32));
                x = Sum{};
            }
            return x;
        };
#pragma unroll 1
        for (int i = 0; i < 32; ++i) {
            Point p;
            if constexpr (kComplex) {
                p = read(point_of(i));
            } else {
                p.x = read(point_of(i));
                p.y = read(point_of(i) + kM);
            }
            values[i] = p;
        }
    }

    __device__ __forceinline__ void store(T* re, T* im, int segment) const {
        const int row = segment / g.of_row;
        const int index = segment - row * g.of_row;
        const std::int64_t first_output = static_cast<std::int64_t>(index) * g.outputs;
        const int wanted = wanted_of(index);
        // Every output of the column depends on every one of its points, so that one tells of all.
        const bool repair = !(fabs(re[0]) + fabs(im[0]) <= Limits<T>::kMost);
        const bool bad = __ldcg(&g.state->bad[segment % (2 * g.slots)]) != 0;
        if (repair || bad || g.plain == 0) {
            Point values[32];
            fft::for_each_index<0, 32>([&](auto value) {
                constexpr int i = decltype(value)::value;
                values[fft::reversed(i, 5)] = Point{re[i], im[i]};
            });
            const Columns copy = *this;
            copy.store_slowly(values, segment, row, index, bad, repair);
            return;
        }
        const T scale = static_cast<T>(a.scale);
        const T bias = static_cast<T>(a.bias);
        const T low = a.has_clamp && !kComplex ? static_cast<T>(a.low) : -INFINITY;
        const T high = a.has_clamp && !kComplex ? static_cast<T>(a.high) : INFINITY;
        if (a.plain_store == 0) {
#pragma unroll
            for (int i = 0; i < 32; ++i) {
                re[i] = clamp_pass_nan(re[i] * scale + bias, low, high);
                im[i] = clamp_pass_nan(im[i] * scale + (kComplex ? 0 : bias), low, high);
            }
        }
        S* out = static_cast<S*>(a.out) + row * a.out_row + first_output + point_of(0);
        int left = wanted - point_of(0);
        hide(out, left);
        // Points go in groups, of which at most one is not whole.
        constexpr int kGroup = 8;
        constexpr int kStep = kRadix * kRow;
        const auto store_part = [&](auto part, auto value_of) {
            constexpr int kFrom = decltype(part)::value;
            fft::for_each_index<0, 32 / kGroup>([&](auto group) {
                constexpr int kFirst = decltype(group)::value * kGroup;
                if (left > kFrom + (kFirst + kGroup - 1) * kStep) {
                    fft::for_each_index<kFirst, kFirst + kGroup>([&](auto point) {
                        constexpr int i = decltype(point)::value;
                        __stcs(out + kFrom + i * kStep, Element<S>::narrow(value_of(fft::reversed(i, 5))));
                    });
                } else if (left > kFrom + kFirst * kStep) {
                    fft::for_each_index<kFirst, kFirst + kGroup>([&](auto point) {
                        constexpr int i = decltype(point)::value;
                        if (left > kFrom + i * kStep) {
                            __stcs(out + kFrom + i * kStep, Element<S>::narrow(value_of(fft::reversed(i, 5))));
                        }
                    });
                }
            });
        };
        if constexpr (kComplex) {
            store_part(std::integral_constant<int, 0>{}, [&](int i) { return S{re[i], im[i]}; });
        } else {
            store_part(std::integral_constant<int, 0>{}, [&](int i) { return re[i]; });
            store_part(std::integral_constant<int, kM>{}, [&](int i) { return im[i]; });
        }
    }
    /// One by one from memory, with the terms of samples that are not finite or, after an overflow, directly.
    __device__ __noinline__ void store_slowly(const Point* values, int segment, int row, int index, bool bad,
                                              bool overflown) const {
        const int wanted = wanted_of(index);
        const std::int64_t first_output = static_cast<std::int64_t>(index) * g.outputs;
#pragma unroll 1
        for (int v = 0; v < (kComplex ? 32 : 64); ++v) {
            const int at = point_of(v % 32) + (v < 32 ? 0 : kM);
            if (at >= wanted) { continue; }
            const Point p = values[v % 32];
            Sum sum;
            if constexpr (kComplex) {
                sum = p;
            } else {
                sum = v < 32 ? p.x : p.y;
            }
            if (bad || overflown) {
                if constexpr (kComplex) {
                    sum = g.real_taps ? repaired<T>(sum, segment, row, index, at, overflown)
                                      : repaired<S>(sum, segment, row, index, at, overflown);
                } else {
                    sum = repaired<T>(sum, segment, row, index, at, overflown);
                }
            }
            store_anywhere(a, static_cast<S*>(a.out), row * a.out_row + (first_output + at) * a.out_sample, finish(a, sum));
        }
    }
    /// `sum` of output `at` with the terms that were left out, until it is not a number; or all terms.
    template <class H>
    __device__ __noinline__ Sum repaired(Sum sum, int segment, int row, int index, int at, bool overflown) const {
        const std::int64_t first_output = static_cast<std::int64_t>(index) * g.outputs;
        if (overflown) { return direct_sum_while_finite<S, H>(a, row, first_output + at); }
        const S* const in = static_cast<const S*>(a.in) + row * a.in_row;
        const H* const taps = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + row * a.taps_row_bytes);
        const unsigned* const marks = g.state->marks[segment % (2 * g.slots)];
        const int begin = at + g.skip;
        const int end = begin + static_cast<int>(a.k);
        for (int mark = begin / kMarkSamples; mark <= (end - 1) / kMarkSamples; ++mark) {
            const unsigned bits = __ldcg(marks + mark / 32) >> (mark % 32);
            if (bits == 0) {
                mark |= 31;
                continue;
            }
            if ((bits & 1) == 0) { continue; }
            for (int i = max(begin, mark * kMarkSamples); i < min(end, (mark + 1) * kMarkSamples); ++i) {
                const Sum x = Element<S>::widen(sample(a, in, a.in_first + g.start + first_output + i));
                if (is_finite(x)) { continue; }
                multiply_add(sum, x, taps[i - begin]);
                if (is_nan(sum)) { return sum; }
            }
        }
        return sum;
    }
};

}  // namespace tapline::cuda::overlap_save
