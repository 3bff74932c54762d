// Large segments by columns: samples come, 32 x kRadix points a column are transformed, and back, outputs go.
#pragma once

#include "cuda/families/overlap_save/large/overlap_save_column_points.cuh"
#include "cuda/families/overlap_save/large/overlap_save_columns_apart.cuh"
#include "cuda/families/overlap_save/large/overlap_save_columns_slow.cuh"
#include "cuda/families/overlap_save/large/overlap_save_large.hpp"
#include "cuda/families/overlap_save/large/with_neighbours.cuh"
#include "cuda/families/overlap_save/overlap_save_outputs.cuh"
#include "cuda/primitives/segment.cuh"
#include "cuda/primitives/transform_by_table.cuh"
#include "cuda/primitives/turns.cuh"

namespace tapline::cuda::overlap_save {

/// A thread's part of a tile of kWidth columns, which are kRow points apart: (column, q) before the exchange that a transform of
/// kOwn x kStride points has in its middle, and (column, p) after it. There: its kOwn points r = q + kStride i of the column become
/// values m = p + kOwn s, for kPolynomials p = q + kStride u and all s < kStride; back the other way round.
///
/// With 256 rows a thread has 16 points of each of two neighbouring columns, so that samples, points and outputs move in pairs, by
/// half as many instructions: 65,535 taps, 2^28 samples 1,508 us instead of 1,556 with 32 points of one column. Otherwise it has 32
/// of one.
///
/// Of kTogether rows side by side in memory a tile has as many columns of each, the same ones, so that samples and outputs fill
/// sectors of memory and points those of the ring. Their segments lie one after the other there and count as one.
template <class S, int kRadix, int kWarps, int kTogether = 1>
struct Columns {
    using Sample = S;
    using T = typename Element<S>::Real;
    using Sum = typename Element<S>::Sum;
    using Point = typename PointOf<T>::Type;
    static constexpr bool kComplex = kIsComplexElement<S>;
    static constexpr LargeTables kTables{kRadix, kWarps, sizeof(T) == 8};
    static constexpr int kWidth = kTileThreads / kRadix;
    static constexpr int kRow = kPoints * kWarps;
    static constexpr int kM = 32 * kRadix * kRow;
    static constexpr int kSlot = kTogether * kM;       // points of what counts as one segment
    static constexpr int kOfRow = kWidth / kTogether;  // columns of a tile that belong to one row
    static constexpr bool kPaired = kTables.has_fours;
    static constexpr int kColumns = kPaired ? 2 : 1;  // of a thread
    static constexpr int kOwn = 32 / kColumns;
    static constexpr int kStride = kRadix * kColumns;
    static constexpr int kPolynomials = kOwn / kStride;
    static constexpr int kBits = fft::log2_of(kStride);
    static constexpr int kPad = kWidth < 16 ? 8 : 0;                   // columns of several p at once are free of bank conflicts
    enum : int { kStores = 1, kBad = 2, kOverflown = 4, kFlags = 8 };  // of outputs that are left over, beside their segment
    static constexpr int kCommonTurns = kPolynomials * kStride * kWidth;
    static constexpr int kTurns = kCommonTurns + kColumns * kTileThreads;  // points of `turns`
    static_assert(kTilePoints + 32 * kPad <= 8 * kExchangePoints<Point>);
    static constexpr int kOwnBits = fft::log2_of(kOwn);
    static_assert(!kPaired || (kPolynomials == 1 && kStride == 16 && kOwn == 16));
    static_assert(kTogether == 1 || (kPaired && kComplex && sizeof(S) == 8));
    /// An inner segment's samples come to the exchange while outputs of the one before are completed: where points of all segments
    /// on their way are too many for the L2 cache and every read waits for memory. 2^28 samples, 1,048,575 taps, 2^22 points 2,528
    /// us instead of 2,635; but 2^18 points 1,585 us instead of 1,562 (65,535 taps), 2^20 points 2,126 instead of 2,054 (262,143).
    static constexpr bool kFetches = std::is_same_v<S, float> && kRadix == 16 && kWarps == 8;

    /// Neighbouring tiles are read at nearly the same time. If their points come from memory, 1,048,575 taps, 2^22 points 2,238 us
    /// instead of 2,255, and 2,215 with samples brought in the same way.
    static constexpr bool kReadsNeighbours = kWarps > 1 && kWidth < 32 && sizeof(Point) == 8;

    const Arguments& a;
    const LargeSegments& g;
    Point* exchange;      // 8 * kExchangePoints
    Point* turns;         // (kOwn, kWidth): e^(2 pi i v n/M) of value v and column n; of each thread e^(i (phi + 2 pi q) n/M)
    const Point* tables;  // LargeTables
    // By stand_at(): column of the tile, the first of two, that number, and the column of the segment; which of the rows together.
    int c = 0, q = 0, n = 0, line = 0;

    __device__ __forceinline__ Columns(const Arguments& arguments, const LargeSegments& segments, Point* exchange_place,
                                       Point* turns_place, const Point* tables_place)
        : a(arguments), g(segments), exchange(exchange_place), turns(turns_place), tables(tables_place) {}

    /// At tile number `tile`. Places anew: the compiler would keep what it makes of them in local memory.
    __device__ __forceinline__ void stand_at(int tile) {
        const int thread = thread_anew();
        c = thread % (kWidth / kColumns) * kColumns;
        q = thread / (kWidth / kColumns);
        if constexpr (kTogether == 1) {
            n = tile * kWidth + c;
        } else {
            line = c / kOfRow;
            n = tile * kOfRow + c % kOfRow;
        }
    }
    /// Where its row's segment lies in the slot at `at`.
    [[nodiscard]] __device__ __forceinline__ Point* own(Point* at) const { return kTogether == 1 ? at : at + line * kM; }
    /// The row and the number there of its part of a segment of the launch.
    [[nodiscard]] __device__ __forceinline__ LargeSegments::Index index_of(int segment) const {
        LargeSegments::Index found = g.index_of(segment);
        if constexpr (kTogether > 1) { found.row = found.row * kTogether + line; }
        return found;
    }
    /// Its first word of the marks of a segment of the launch.
    [[nodiscard]] __device__ __forceinline__ int first_mark() const { return kTogether == 1 ? 0 : line * (kM / kMarkSamples / 32); }
    /// Turns for that tile. After a barrier that follows what was last done with `turns`; needs one before it is used.
    __device__ __forceinline__ void turn_to() const {
#pragma unroll
        for (int i = 0; i < kPolynomials; ++i) {
            const int at = q + kStride * i;  // value kStride u + kOwn s lies at kStride u + s
            const int value = at / kStride * kStride + at % kStride * kOwn;
            put_turns(at * kWidth + c, [&](int column) { return half_turns(static_cast<T>(value * column) * (T{2} / kM)); });
        }
        put_turns(kCommonTurns + kColumns * static_cast<int>(threadIdx.x), [&](int column) {
            return kComplex ? half_turns(static_cast<T>(q * column) * (T{2} / kM))
                            : half_turns(static_cast<T>((4 * q + 1) * column) * (T{0.5} / kM));
        });
    }

    /// Begins to copy the samples of the warp's 32 columns and values of q to where its points were exchanged: to each row of 32
    /// points the 32 real parts, then the others. Whether it does: not of a segment that needs more than a copy. By all lanes,
    /// which have read what lies there.
    [[nodiscard]] __device__ __forceinline__ bool fetch(int segment) const {
        const auto [row, index] = index_of(segment);
        if (g.plain == 0 || g.aligned == 0 || segment >= g.segments || !is_inner(index)) { return false; }
        __syncwarp();
        const int thread = thread_anew();
        const int lane = thread % 32;
        const int in_row = lane % 8 * 4;
        int own = (first_q(thread) + in_row / kWidth + lane / 16 * kRadix) * kRow + n - c + in_row % kWidth + lane / 8 % 2 * kM;
        const S* from = static_cast<const S*>(a.in) + row * a.in_row + g.start + static_cast<std::int64_t>(index) * g.outputs;
        hide(from, own);
        from += own;
        auto* const to = reinterpret_cast<uint4*>(of_warp(thread) + lane / 16 * kRadix * kWidth) + lane % 16;
#pragma unroll
        for (int i = 0; i < 32; i += 2) { copy_16_of_128_async(to + i * kRadix * kWidth / 2, from + i * kRadix * kRow); }
        commit_copies();
        return true;
    }

    /// From samples to points. `segment`: of the launch; `fetched`: fetch() has begun to bring them;
    /// `left_over` by finish_segment(). If anything has to be done slowly, slowly() does it for the block and the segment's columns
    /// too, in code of its own: where slow and fast meet again the compiler would keep in local memory what was known before.
    template <class Slowly, class StandAnew>
    __device__ __forceinline__ void transform(int segment, bool fetched, int left_over, const Slowly& slowly,
                                              const StandAnew& stand_anew) {
        T re[32];
        T im[32];
        const auto [row, index] = index_of(segment);
        bool slow = left_over != 0 || (a.boundary != kZero && !is_inner(index));
        if (!slow) {
            if (kFetches && fetched) {
                if constexpr (kFetches) { load_fetched(re, im); }
            } else if (g.plain != 0 && (!kPaired || g.paired != 0) && (kTogether > 1 || is_inner(index))) {
                if constexpr (kTogether > 1) {
                    load_together(*this, re, im, row, index);
                } else {
                    load(re, im, row, index);
                }
            } else {
                load_with_zeros(*this, re, im, row, index);
            }
            transform_first(re, im);
            slow = g.are_parts == 0 && !are_finite(re, im);  // as a sample that is not makes every value of its column
        } else {
            if (kFetches && fetched) { wait_copies<0>(); }  // else they arrive when something else lies there
#pragma unroll
            for (int i = 0; i < 32; ++i) { re[i] = im[i] = 0; }  // else the compiler keeps what they were before
        }
        if (__syncthreads_or(slow ? 1 : 0) != 0) { return slowly(); }
        transform_loaded(re, im, stand_anew());
    }

    /// The same after outputs that are left over, and with what makes samples slow.
    __device__ __forceinline__ void transform_slowly(int segment, Point* at, int left_over) const {
        if (left_over != 0) {
            store_one_by_one(*this, at, left_over / kFlags, (left_over & kBad) != 0, (left_over & kOverflown) != 0);
        }
        if (segment >= g.segments) { return; }
        T re[32];
        T im[32];
        const auto [row, index] = index_of(segment);
        bool slow = a.boundary != kZero && !is_inner(index);
        for (;;) {
            if (slow) {
                read_one_by_one(*this, at, segment);
#pragma unroll
                for (int i = 0; i < 32; ++i) {
                    const Point p = at[point_of(i)];
                    re[i] = p.x;
                    im[i] = p.y;
                }
            } else {
                load_with_zeros(*this, re, im, row, index);
            }
            transform_first(re, im);
            if (slow || are_finite(re, im)) { break; }
            slow = true;  // once more without what is not finite
        }
        __syncthreads();
        transform_loaded(re, im, at);
    }

    /// From the points that a thread has before the columns' transform to those that lie at `at` after it. No segment is on its
    /// way.
    __device__ __forceinline__ void transform_points(T* re, T* im, Point* at) const {
        transform_first(re, im);
        __syncthreads();
        transform_loaded(re, im, at);
    }

    /// From points to outputs. exchanged(): called by all threads once each has read its own part of the exchange. Outputs that
    /// have to be stored slowly are left over, with their points where the thread's own lie in the ring.
    template <class Exchanged>
    __device__ __forceinline__ int finish_segment(int segment, Point* at, const Exchanged& exchanged) const {
        T re[32];
        T im[32];
        const auto points = points_of_column(at);
        if constexpr (kPaired) {
#pragma unroll
            for (int s = 0; s < kStride; ++s) {
                take_pair(re, im, s, __ldcg(reinterpret_cast<const float4*>(points.at(kOwn * s))));
            }
        } else {
            fft::for_each_index<0, kPolynomials>([&](auto polynomial) {
                constexpr int u = decltype(polynomial)::value;
#pragma unroll
                for (int s = 0; s < kRadix; ++s) {
                    const Point* const from = points.at(kRadix * u + 32 * s);
                    Point p;
                    if constexpr (kReadsNeighbours) {
                        p = load_of_256(from);
                    } else {
                        p = __ldcg(from);
                    }
                    re[kRadix * u + s] = p.x;
                    im[kRadix * u + s] = p.y;
                }
            });
        }
        turn_to();        // while they are on their way
        __syncthreads();  // `turns` is complete, `exchange` free
        if constexpr (kPaired) {
            finish_pairs(re, im);
        } else {
            finish_one(re, im);
        }
        exchanged();
        if constexpr (kPaired) {
            transform_pairs(im, re, kTables.back);
        } else {
            fft::transform_by<32>(im, re, [&](int i, T* cosine, T* tangent) {
                const Point pair = tables[kTables.back + kRadix * i + q];
                *cosine = pair.x;
                *tangent = pair.y;
            });
        }
        if constexpr (!kComplex) {
            fft::for_each_index<0, 32>([&](auto value) {
                constexpr int i = decltype(value)::value;
                multiply(re[i], im[i], tables[kTables.unturns + q + kStride * fft::reversed(i % kOwn, kOwnBits)]);
            });
        }
        return store(re, im, segment, at);
    }

    /// The point that is point i before the transform there and after the one back, and among the outputs and samples of a segment.
    [[nodiscard]] __device__ __forceinline__ int point_of(int i) const { return q * kRow + n + offset_of(i); }
    static __device__ constexpr int offset_of(int i) { return i % kOwn * kStride * kRow + i / kOwn; }
    /// The register that holds it after the transform back.
    static __device__ constexpr int held(int i) { return i / kOwn * kOwn + fft::reversed(i % kOwn, kOwnBits); }
    [[nodiscard]] __device__ __forceinline__ int wanted_of(int index) const {
        return static_cast<int>(min(a.count - static_cast<std::int64_t>(index) * g.outputs, std::int64_t{g.outputs}));
    }

    [[nodiscard]] __device__ __forceinline__ bool is_inner(int index) const {
        return index >= g.inner_first && index < g.inner_last;
    }

private:
    /// The first transform, of a column's points that the thread has.
    static __device__ __forceinline__ void transform_first(T* re, T* im) {
        if constexpr (kPaired) {
            fft::transform_in_fours<kOwn, kComplex ? 0 : 1, 2>(re, im);
            fft::transform_in_fours<kOwn, kComplex ? 0 : 1, 2>(re + kOwn, im + kOwn);
        } else {
            fft::transform<32, kComplex ? 0 : 1, 2>(re, im);
        }
    }
    /// Of points of which one that is not finite makes all of its column so.
    static __device__ __forceinline__ bool are_finite(const T* re, const T* im) {
        T sum = fabs(re[0]) + fabs(im[0]);
        if constexpr (kPaired) { sum += fabs(re[kOwn]) + fabs(im[kOwn]); }
        return sum <= Limits<T>::kMost;
    }

    /// The rest of transform(), after a barrier since the exchange was used.
    __device__ __forceinline__ void transform_loaded(T* re, T* im, Point* at) const {
        if constexpr (kPaired) {
            auto* const pairs = reinterpret_cast<float4*>(exchange);
            fft::for_each_index<0, kOwn>([&](auto value) {
                constexpr int i = decltype(value)::value;
                pairs[place_of_pair(fft::reversed(i, kOwnBits), q)] = pair_at(re, im, i);
            });
            __syncthreads();
#pragma unroll
            for (int i = 0; i < kStride; ++i) { take_pair(re, im, i, pairs[place_of_pair(q, i)]); }
            transform_pairs(re, im, kTables.there);
            const float4 turn = own_turns();
            const auto points = points_of_column(at);
            fft::for_each_index<0, kStride>([&](auto value) {
                constexpr int i = decltype(value)::value;
                constexpr int s = fft::reversed(i, kBits);
                const float4 w = turns_of(s, turn);
                multiply(re[i], im[i], Point{w.x, w.y});
                multiply(re[kOwn + i], im[kOwn + i], Point{w.z, w.w});
                __stcg(reinterpret_cast<float4*>(points.at(kOwn * s)), pair_at(re, im, i));
            });
        } else {
            fft::for_each_index<0, 32>([&](auto value) {
                constexpr int i = decltype(value)::value;
                exchange[place(fft::reversed(i, 5), q)] = Point{re[i], im[i]};
            });
            __syncthreads();
            const Point turn = own_turn();
            const auto points = points_of_column(at);
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
                    __stcg(points.at(kRadix * u + 32 * s), Point{re[i], im[i]});
                });
            });
        }
    }

    /// From turned points to the exchange and to the other points of the column: finish_segment() without its last transform.
    __device__ __forceinline__ void finish_pairs(T* re, T* im) const {
        const float4 turn = own_turns();
#pragma unroll
        for (int s = 0; s < kStride; ++s) {
            const float4 w = turns_of(s, turn);
            multiply(re[s], im[s], Point{w.x, -w.y});
            multiply(re[kOwn + s], im[kOwn + s], Point{w.z, -w.w});
        }
        fft::transform_in_fours<kStride>(im, re);
        fft::transform_in_fours<kStride>(im + kOwn, re + kOwn);
        auto* const pairs = reinterpret_cast<float4*>(exchange);
        fft::for_each_index<0, kStride>([&](auto value) {
            constexpr int i = decltype(value)::value;
            pairs[place_of_pair(q, fft::reversed(i, kBits))] = pair_at(re, im, i);
        });
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kOwn; ++i) { take_pair(re, im, i, pairs[place_of_pair(i, q)]); }
    }
    __device__ __forceinline__ void finish_one(T* re, T* im) const {
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
    }

    // Of two columns at once: point i of either, in registers i and kOwn + i.
    static __device__ __forceinline__ int pair() { return static_cast<int>(threadIdx.x) % (kWidth / 2); }
    [[nodiscard]] __device__ __forceinline__ int place_of_pair(int p, int of_stride) const {
        return (p * kStride + of_stride) * (kWidth / 2) + pair();
    }
    __device__ __forceinline__ void transform_pairs(T* re, T* im, int table) const {
        const auto* const fours = reinterpret_cast<const float4*>(tables + table) + q;
#pragma unroll
        for (int column = 0; column < 2; ++column) {
            fft::four_steps_by<kOwn>(re + kOwn * column, im + kOwn * column, [&](int i) { return four_from(fours[kStride * i]); });
        }
    }
    [[nodiscard]] __device__ __forceinline__ float4 own_turns() const {
        return reinterpret_cast<const float4*>(turns + kCommonTurns)[threadIdx.x];
    }
    [[nodiscard]] __device__ __forceinline__ float4 turns_of(int s, const float4& turn) const {
        float4 w = reinterpret_cast<const float4*>(turns)[s * (kWidth / 2) + pair()];
        multiply(w.x, w.y, Point{turn.x, turn.y});
        multiply(w.z, w.w, Point{turn.z, turn.w});
        return w;
    }
    template <class TurnOf>
    __device__ __forceinline__ void put_turns(int at, const TurnOf& of_column) const {
        const Point turn = of_column(n);
        if constexpr (kPaired) {
            const Point next = of_column(n + 1);
            *reinterpret_cast<float4*>(turns + at) = float4{turn.x, turn.y, next.x, next.y};
        } else {
            turns[at] = turn;
        }
    }

    /// From the thread's row q on: values it has after the exchange there and before the one back.
    [[nodiscard]] __device__ __forceinline__ auto points_of_column(Point* at) const {
        return PointsOfColumn<Point, 32 * kRadix, kRow>(at + q * kRow + n);
    }
    [[nodiscard]] __device__ __forceinline__ int place(int p, int of_stride) const {
        return (p * kStride + of_stride) * kWidth + c + p * kPad;
    }
    /// The first q of the thread's warp, and the warp's first place of the exchange.
    static __device__ __forceinline__ int first_q(int thread) { return thread / 32 * (32 / kWidth); }
    [[nodiscard]] __device__ __forceinline__ Point* of_warp(int thread) const { return exchange + place(0, first_q(thread)) - c; }
    [[nodiscard]] __device__ __forceinline__ Point own_turn() const { return turns[kCommonTurns + static_cast<int>(threadIdx.x)]; }
    [[nodiscard]] __device__ __forceinline__ Point turn_of(int u, int s, const Point& turn) const {
        Point w = turns[(kRadix * u + s) * kWidth + c];
        multiply(w.x, w.y, turn);
        return w;
    }
    static __device__ __forceinline__ S read(const S* from) {
        if constexpr (kReadsNeighbours) {
            return load_of_128(from);
        } else {
            return __ldcs(from);
        }
    }
    /// Of an inner segment whose samples lie side by side: at distances that instructions hold.
    __device__ __forceinline__ void load(T* re, T* im, int row, int index) const {
        constexpr int kStep = kStride * kRow;
        const S* first = static_cast<const S*>(a.in) + row * a.in_row + g.start + static_cast<std::int64_t>(index) * g.outputs;
        int own = point_of(0);
        hide(first, own);
        first += own;
        if constexpr (kPaired) {
#pragma unroll
            for (int i = 0; i < kOwn; ++i) {
                S two[2];
                load_pair(first + i * kStep, two);
#pragma unroll
                for (int column = 0; column < 2; ++column) {
                    if constexpr (kComplex) {
                        re[kOwn * column + i] = two[column].x;
                        im[kOwn * column + i] = two[column].y;
                    } else {
                        re[kOwn * column + i] = Element<S>::widen(two[column]);
                    }
                }
                if constexpr (!kComplex) {
                    load_pair(first + i * kStep + kM, two);
                    im[i] = Element<S>::widen(two[0]);
                    im[kOwn + i] = Element<S>::widen(two[1]);
                }
            }
        } else {
#pragma unroll
            for (int i = 0; i < 32; ++i) {
                if constexpr (kComplex) {
                    const S x = read(first + i * kStep);
                    re[i] = x.x;
                    im[i] = x.y;
                } else {
                    re[i] = Element<S>::widen(read(first + i * kStep));
                    im[i] = Element<S>::widen(read(first + i * kStep + kM));
                }
            }
        }
        leave_out(re, im);
    }
    /// The same, from where fetch() brings them.
    __device__ __forceinline__ void load_fetched(T* re, T* im) const {
        const int thread = thread_anew();
        const T* const own = reinterpret_cast<const T*>(of_warp(thread)) + thread % 32;
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
#pragma unroll
        for (int first = 0; first < 32; first += kOwn) {
            const int last = first + kOwn - 1;
            if (point_of(first) < g.skip) {
                re[first] = 0;
                im[first] = kComplex ? 0 : im[first];
            }
            if (point_of(last) + (kComplex ? 0 : kM) >= g.used) {
                re[last] = kComplex ? 0 : re[last];
                im[last] = 0;
            }
        }
    }
    __device__ __forceinline__ int store(T* re, T* im, int segment, Point* points) const {
        const auto [row, index] = index_of(segment);
        const std::int64_t first_output = static_cast<std::int64_t>(index) * g.outputs;
        const int wanted = wanted_of(index);
        // Every output of the column depends on every one of its points, so that one tells of all.
        const bool repair = g.are_parts == 0 && !are_finite(re, im);
        const bool bad = __ldcg(&g.state->bad[segment % (2 * g.order.slots)]) != 0;
        if (repair || bad || g.plain == 0) {
            fft::for_each_index<0, 32>([&](auto value) {
                constexpr int i = decltype(value)::value;
                points[point_of(i)] = Point{re[held(i)], im[held(i)]};
            });
            return kFlags * segment + kStores + (bad ? kBad : 0) + (repair ? kOverflown : 0);
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
        int left = wanted - point_of(0);
        if constexpr (kTogether > 1) {
            store_together(*this, static_cast<S*>(a.out) + row * a.out_row + (first_output + point_of(0)) * a.out_sample, left, re,
                           im);
            return 0;
        }
        S* out = static_cast<S*>(a.out) + row * a.out_row + first_output + point_of(0);
        hide(out, left);
        if constexpr (!kPaired) {
            store_columns<0, 1>(out, left, re, im);
        } else if (g.paired != 0) {
            store_columns<0, 2>(out, left, re, im);
        } else {
            store_columns<0, 1>(out, left, re, im);
            store_columns<1, 1>(out, left, re, im);
        }
        return 0;
    }
    /// Of the thread's columns the kSpan ones from kColumn on: outputs whose first one is `out`, of which `left` are wanted.
    template <int kColumn, int kSpan>
    static __device__ __forceinline__ void store_columns(S* out, int left, const T* re, const T* im) {
        if constexpr (kComplex) {
            store_part<kColumn, kSpan, 0>(out, left, [&](int i) { return S{re[held(i)], im[held(i)]}; });
        } else {
            store_part<kColumn, kSpan, 0>(out, left, [&](int i) { return Element<S>::narrow(re[held(i)]); });
            store_part<kColumn, kSpan, kM>(out, left, [&](int i) { return Element<S>::narrow(im[held(i)]); });
        }
    }
    /// The same of the outputs from kFirst on. Points go in groups, of which at most one is not whole.
    template <int kColumn, int kSpan, int kFirst, class ValueOf>
    static __device__ __forceinline__ void store_part(S* out, int left, const ValueOf& value_of) {
        constexpr int kGroup = 8;
        constexpr int kStep = kStride * kRow;
        fft::for_each_index<0, kOwn / kGroup>([&](auto group) {
            constexpr int kPoint = decltype(group)::value * kGroup;
            constexpr int kOfGroup = kFirst + kColumn + kPoint * kStep;
            if (left > kOfGroup + (kGroup - 1) * kStep + kSpan - 1) {
                fft::for_each_index<0, kGroup>([&](auto point) {
                    constexpr int i = decltype(point)::value;
                    if constexpr (kSpan == 2) {
                        const S two[2] = {value_of(kPoint + i), value_of(kOwn + kPoint + i)};
                        store_pair(out + kOfGroup + i * kStep, two);
                    } else {
                        __stcs(out + kOfGroup + i * kStep, value_of(kOwn * kColumn + kPoint + i));
                    }
                });
            } else if (left > kOfGroup) {
                fft::for_each_index<0, kSpan * kGroup>([&](auto point) {
                    constexpr int i = decltype(point)::value / kSpan;
                    constexpr int column = decltype(point)::value % kSpan;
                    constexpr int at = kOfGroup + i * kStep + column;
                    if (left > at) { __stcs(out + at, value_of(kOwn * (kColumn + column) + kPoint + i)); }
                });
            }
        });
    }
};

}  // namespace tapline::cuda::overlap_save
