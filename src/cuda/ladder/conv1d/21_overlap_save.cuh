// 21: from about a hundred taps on, by transforms: one kernel reads the signal once, convolves segments in registers, writes once.
#pragma once

#include <type_traits>

#include "cuda/ladder/conv1d/overlap_save.hpp"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/bulk_copy.cuh"
#include "cuda/primitives/copy_async.cuh"
#include "cuda/primitives/epilogue.cuh"
#include "cuda/primitives/fft.cuh"

namespace tapline::cuda::overlap_save {

/// Complex points of a type of real numbers.
template <class T>
struct PointOf {
    using Type = float2;
};
template <>
struct PointOf<double> {
    using Type = double2;
};

/// (re, im) times factor.
template <class T, class P>
__device__ __forceinline__ void multiply(T& re, T& im, const P& factor) {
    const T x = re;
    re = fma(x, factor.x, -im * factor.y);
    im = fma(x, factor.y, im * factor.x);
}

/// All warps of a segment.
template <int kWarps>
__device__ __forceinline__ void sync_segment(int segment_of_block) {
    if constexpr (kWarps == 1) {
        __syncwarp();
    } else {
        asm volatile("bar.sync %0, %1;" ::"r"(segment_of_block + 1), "n"(32 * kWarps) : "memory");
    }
}

/// A finished value with the output's type and stride.
template <class S, class X>
__device__ __forceinline__ void store_anywhere(const Arguments& a, S* out, std::int64_t at, X value) {
    if (a.converts) {
        store_converted(a, out, at, value);
    } else {
        store_element(out + at, Element<S>::narrow(value));
    }
}

/// Output o of a row, by direct summation: what a transform would spread, a NaN or an overflow, stays where it belongs.
template <class S, class H>
__device__ __noinline__ void repair_output(const Arguments& a, std::int64_t row, std::int64_t o) {
    const S* in = static_cast<const S*>(a.in) + row * a.in_row;
    const H* taps = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + row * a.taps_row_bytes);
    typename Element<S>::Sum sum{};
    if (a.boundary == kZero) {
        sum = exact_sum<S, H>(a, in, taps, a.first + o, 0, a.k);
    } else {
        for (std::int64_t t = 0; t < a.k; ++t) {
            multiply_add(sum, Element<S>::widen(sample(a, in, a.first + o - a.origin + t)), taps[t]);
        }
    }
    store_anywhere(a, static_cast<S*>(a.out), row * a.out_row + o * a.out_sample, finish(a, sum));
}

/// Segments of 2,048 kWarps real or 1,024 kWarps complex samples, each by kWarps warps that stay and go from segment to segment.
///
/// A real segment x of 2M samples becomes the M points x[n] + i x[n + M]: the remainder of its polynomial modulo X^M - i, which
/// determines it modulo X^2M + 1. So products of points are products of segments that wrap around with a changed sign, and what
/// wraps around is not used. No pairs of frequencies have to be untangled. A complex segment is taken modulo X^M - 1.
///
/// kWarps > 1: a first transform of kWarps points a thread, whose factors the compiler knows, takes the polynomial apart into
/// kWarps remainders modulo X^1024 - e^(i alpha), one for each warp; what a warp has done with its own goes together in the end.
///
/// A warp multiplies its point n by e^(i alpha n/1024) (`twist`) and transforms 32 x 32: each lane 32 points in registers, all
/// exchange them through shared memory, and again. The result lies as the points did, lane p and register q holding frequency
/// p + 32 q, so that the same code, with real and imaginary parts exchanged, is the inverse.
template <class S, int kWarps, class Shape, bool kSpectrumInShared, bool kPlain>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    overlap_save_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Segments g) {
    using T = typename Element<S>::Real;
    using Point = typename PointOf<T>::Type;
    using H = std::conditional_t<kIsComplexElement<S>, S, T>;
    constexpr bool kComplex = kIsComplexElement<S>;
    constexpr int kM = kPoints * kWarps;  // points of a segment
    constexpr bool kTwisted = !kComplex || kWarps > 1;
    constexpr int kOwn = 32 / kWarps;  // transforms of kWarps points that a thread does
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int in_block = static_cast<int>(threadIdx.x) / (32 * kWarps);  // which of the block's segments
    const int thread = static_cast<int>(threadIdx.x) % (32 * kWarps);    // of the segment
    const int warp = kWarps == 1 ? 0 : thread / 32;

    extern __shared__ uint4 shared[];
    constexpr SharedLayout kLayout = shared_layout<Shape, kWarps, sizeof(Point), kSpectrumInShared>();
    char* const base = reinterpret_cast<char*>(shared);
    Point* const pairs = reinterpret_cast<Point*>(base + kLayout.pairs);
    Point* const twists = reinterpret_cast<Point*>(base + kLayout.twists);
    Point* const spectrum = reinterpret_cast<Point*>(base + kLayout.spectrum);
    Point* const points = reinterpret_cast<Point*>(base + kLayout.segments + in_block * kLayout.segment_bytes);
    Point* const own = points + warp * kBufferPoints;
    char* const samples = reinterpret_cast<char*>(Shape::kAhead ? points + kWarps * kBufferPoints : points);
    CopyBarrier* const barrier = reinterpret_cast<CopyBarrier*>(base) + in_block;  // of the segment's samples
    CopyBarrier* const spectrum_barrier = reinterpret_cast<CopyBarrier*>(base) + kMostSegments + threadIdx.x / 32;  // of a warp's part

    const auto* tables = static_cast<const Point*>(g.tables);
    const auto copy_table = [&](Point* to, const Point* from, int count) {
        for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) { to[i] = from[i]; }
    };
    copy_table(pairs, tables, kPairs);
    copy_table(twists, tables + kPairs, Shape::kTwistTable ? kM : 64 * kWarps);
    const Point* const all_spectra = tables + kPairs + (Shape::kTwistTable ? kM : 64 * kWarps);
    if constexpr (kSpectrumInShared) { copy_table(spectrum, all_spectra, kM); }
    if (thread == 0) { initialize(barrier); }
    if (lane == 0) { initialize(spectrum_barrier); }
    __syncthreads();

    Point lane_twist{};  // e^(i alpha lane/1024)
    if constexpr (!Shape::kTwistTable) { lane_twist = twists[32 * kWarps + thread]; }
    const auto twist_of = [&](int i) {
        if constexpr (Shape::kTwistTable) {
            return twists[warp * kPoints + 32 * i + lane];
        } else {
            Point w = twists[32 * warp + i];
            multiply(w.x, w.y, lane_twist);
            return w;
        }
    };
    Point pair_registers[Shape::kPairsInRegisters ? 16 : 1];
    if constexpr (Shape::kPairsInRegisters) {
#pragma unroll
        for (int i = 0; i < 16; ++i) { pair_registers[i] = pairs[32 * i + lane]; }
    }

    const auto is_inner = [&](int index) { return index >= g.inner_first && index < g.inner_last; };
    // Starts the copy of an inner segment. Copies begin at 16-byte boundaries, up to V - 1 samples early.
    const auto first_sample = [&](std::int64_t row, int index) {
        return static_cast<const S*>(a.in) + row * a.in_row + g.start + static_cast<std::int64_t>(index) * g.outputs;
    };
    const auto misaligned = [&](const S* first) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(first) % 16); };
    const auto prefetch = [&](std::int64_t row, int index) {
        if (!is_inner(index)) { return; }
        const S* first = first_sample(row, index);
        const char* from = reinterpret_cast<const char*>(first) - misaligned(first);
        const std::uint32_t bytes = (misaligned(first) + g.used * static_cast<int>(sizeof(S)) + 15) / 16 * 16;
#if __CUDA_ARCH__ >= 900
        if (thread == 0) { copy_bulk(samples, from, bytes, barrier); }
#else
        for (std::uint32_t at = 16 * thread; at < bytes; at += 16 * 32 * kWarps) {
            copy_16_async(reinterpret_cast<char*>(samples) + at, from + at);
        }
        commit_copies();
#endif
    };

    const std::int64_t first_segment = static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / (32 * kWarps)) + in_block;
    std::int64_t row = first_segment / g.segments;
    if (row >= a.rows) { return; }
    int index = static_cast<int>(first_segment - row * g.segments);
    std::uint32_t phase = 0;
    std::uint32_t spectrum_phase = 0;
    prefetch(row, index);
    // A warp's part of a spectrum passes through its points' place while that is not needed.
    const auto copy_part = [&](const Point* from) {
        constexpr int kBytes = kPoints * static_cast<int>(sizeof(Point));
#if __CUDA_ARCH__ >= 900
        if (lane == 0) { copy_bulk(own, from, kBytes, spectrum_barrier); }
#else
        for (int at = 16 * lane; at < kBytes; at += 16 * 32) {
            copy_16_async(reinterpret_cast<char*>(own) + at, reinterpret_cast<const char*>(from) + at);
        }
        commit_copies();
#endif
    };
    const auto wait_for_part = [&] {
#if __CUDA_ARCH__ >= 900
        wait(spectrum_barrier, spectrum_phase);
        spectrum_phase ^= 1;
#else
        wait_copies<0>();
        __syncwarp();
#endif
    };
    const auto advance = [&](std::int64_t& to_row, int& to_index) {
        to_row += g.step_rows;
        to_index += g.step_segments;
        if (to_index >= g.segments) {
            to_index -= g.segments;
            ++to_row;
        }
    };
    // Computed where it is needed: registers that live through the transforms are scarce.
    const auto prefetch_next = [&] {
        std::int64_t next_row = row;
        int next_index = index;
        advance(next_row, next_index);
        if (next_row < a.rows) { prefetch(next_row, next_index); }
    };
    for (;;) {
        const std::int64_t first_output = static_cast<std::int64_t>(index) * g.outputs;
        const int wanted = static_cast<int>(min(a.count - first_output, std::int64_t{g.outputs}));
        const S* segment = reinterpret_cast<const S*>(samples);
        if (is_inner(index)) {
            segment = reinterpret_cast<const S*>(samples + misaligned(first_sample(row, index)));
#if __CUDA_ARCH__ >= 900
            wait(barrier, phase);
            phase ^= 1;
#else
            wait_copies<0>();
            sync_segment<kWarps>(in_block);
#endif
        } else {
            // Each warp its share, up to the last sample that a wanted output reads, and zeros from there.
            constexpr int kShare = (kComplex ? 1 : 2) * kPoints;
            S* const share = reinterpret_cast<S*>(samples) + warp * kShare;
            const int needed = min(max(g.used - (g.outputs - wanted) - warp * kShare, 0), kShare);
            fill_at_edge(a, share, static_cast<const S*>(a.in) + row * a.in_row, g.start + first_output + warp * kShare, needed, lane);
            for (int i = needed + lane; i < kShare; i += 32) { share[i] = S{}; }
            sync_segment<kWarps>(in_block);
        }

        T re[32];
        T im[32];
        // Point n of the segment.
        const auto load_point = [&](int n, T& x, T& y) {
            if constexpr (kComplex) {
                const S point = load_element(segment + n);
                x = point.x;
                y = point.y;
            } else {
                x = Element<S>::widen(segment[n]);
                y = Element<S>::widen(segment[n + kM]);
            }
        };
        // What the outputs do not read is zero, whatever lies there: an output's bits depend on what it may read only.
        const auto drop_first = [&](int n, T& x, T& y) {
            if (n < g.skip) {
                x = 0;
                if constexpr (kComplex) { y = 0; }
            }
        };
        const auto drop_last = [&](int n, T& x, T& y) {
            if (n + (kComplex ? 0 : kM) >= g.used) {
                y = 0;
                if constexpr (kComplex) { x = 0; }
            }
        };
        const auto all_loaded = [&] {
            if constexpr (Shape::kAhead) {
                fence_before_copy();
                sync_segment<kWarps>(in_block);
                prefetch_next();
            } else {
                sync_segment<kWarps>(in_block);
            }
        };
        if constexpr (kWarps == 1) {
#pragma unroll
            for (int i = 0; i < 32; ++i) { load_point(32 * i + lane, re[i], im[i]); }
            drop_first(lane, re[0], im[0]);
            drop_last(32 * 31 + lane, re[31], im[31]);
            all_loaded();
        } else if constexpr (kWarps == 2) {
            // Each warp reads all points and keeps its remainder, z[n] + w z[n + 1024] or z[n] - w z[n + 1024], w^2 = e^(i phi).
            const T sign = warp == 0 ? T{1} : T{-1};
            const T root = sign * static_cast<T>(std::numbers::sqrt2 / 2);
#pragma unroll
            for (int i = 0; i < 32; ++i) {
                T x;
                T y;
                load_point(32 * i + lane, re[i], im[i]);
                load_point(kPoints + 32 * i + lane, x, y);
                if (i == 0) { drop_first(lane, re[0], im[0]); }
                if (i == 31) { drop_last(kPoints + 32 * 31 + lane, x, y); }
                if constexpr (kComplex) {
                    re[i] = fma(sign, x, re[i]);
                    im[i] = fma(sign, y, im[i]);
                } else {
                    re[i] = fma(root, x - y, re[i]);
                    im[i] = fma(root, x + y, im[i]);
                }
            }
            all_loaded();
        } else {
            // Register kWarps * i + j: point thread + 32 kWarps i + 1024 j.
            const auto point_of = [&](int i, int j) { return thread + 32 * kWarps * i + kPoints * j; };
#pragma unroll
            for (int i = 0; i < kOwn; ++i) {
#pragma unroll
                for (int j = 0; j < kWarps; ++j) { load_point(point_of(i, j), re[kWarps * i + j], im[kWarps * i + j]); }
            }
            drop_first(thread, re[0], im[0]);
            drop_last(point_of(kOwn - 1, kWarps - 1), re[31], im[31]);
#pragma unroll
            for (int i = 0; i < kOwn; ++i) { fft::transform<kWarps, kComplex ? 0 : 1, 2>(re + kWarps * i, im + kWarps * i); }
            all_loaded();
#pragma unroll
            for (int i = 0; i < kOwn; ++i) {
#pragma unroll
                for (int j = 0; j < kWarps; ++j) {
                    points[j * kBufferPoints + point_of(i, 0)] = Point{re[kWarps * i + j], im[kWarps * i + j]};
                }
            }
            sync_segment<kWarps>(in_block);
#pragma unroll
            for (int i = 0; i < 32; ++i) {
                re[i] = own[32 * i + lane].x;
                im[i] = own[32 * i + lane].y;
            }
            __syncwarp();
        }

#pragma unroll 1
        for (int direction = 0; direction < 2; ++direction) {
            if constexpr (!kSpectrumInShared) {
                if (direction == 1) { wait_for_part(); }
            }
            const Point* const products = kSpectrumInShared ? spectrum + warp * kPoints : own;
            const Point* const factors = (direction == 0 ? twists + warp * kPoints : products) + lane;
            T x[32];
            T y[32];
#pragma unroll
            for (int i = 0; i < 32; ++i) {  // real and imaginary parts exchanged
                x[i] = im[i];
                y[i] = re[i];
            }
            if (!kTwisted || !Shape::kTwistTable) {
                if (direction == 0) {
                    if constexpr (kTwisted) {
#pragma unroll
                        for (int i = 0; i < 32; ++i) { multiply(y[i], x[i], twist_of(i)); }
                    }
                } else {
#pragma unroll
                    for (int i = 0; i < 32; ++i) { multiply(y[i], x[i], factors[32 * i]); }
                }
            } else {
#pragma unroll
                for (int i = 0; i < 32; ++i) { multiply(y[i], x[i], factors[32 * i]); }
            }
            if constexpr (!kSpectrumInShared) { __syncwarp(); }  // the spectrum has been read: its place is free
            fft::transform<32>(x, y);
#pragma unroll
            for (int i = 0; i < 32; ++i) { own[33 * fft::reversed(i, 5) + lane] = Point{x[i], y[i]}; }
            __syncwarp();
#pragma unroll
            for (int i = 0; i < 32; ++i) {
                x[i] = own[33 * lane + i].x;
                y[i] = own[33 * lane + i].y;
            }
            if (direction == 0) {
                if constexpr (kSpectrumInShared) {
                    __syncwarp();
                } else {
                    fence_before_copy();
                    __syncwarp();
                    copy_part(all_spectra + (g.row_first + row) * g.spectrum_row + warp * kPoints);
                }
            } else if constexpr (kWarps == 1 && !Shape::kAhead) {
                fence_before_copy();
                __syncwarp();
                prefetch_next();
            } else {
                __syncwarp();
            }
            fft::transform_by<32>(x, y, [&](int i, T* c, T* t) {
                const Point pair = Shape::kPairsInRegisters ? pair_registers[i] : pairs[32 * i + lane];
                *c = pair.x;
                *t = pair.y;
            });
#pragma unroll
            for (int i = 0; i < 32; ++i) {
                re[i] = x[fft::reversed(i, 5)];
                im[i] = y[fft::reversed(i, 5)];
            }
        }
        if constexpr (kTwisted) {
#pragma unroll
            for (int i = 0; i < 32; ++i) {
                Point w = twist_of(i);
                w.y = -w.y;
                multiply(re[i], im[i], w);
            }
        }
        const auto all_exchanged = [&] {
            if constexpr (!Shape::kAhead) { fence_before_copy(); }
            sync_segment<kWarps>(in_block);
            if constexpr (!Shape::kAhead) {
                prefetch_next();
            }
        };
        if constexpr (kWarps == 2) {
            // Each warp completes half of the points; what the other needs it gets through shared memory.
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                if (warp == 0) {
                    own[32 * i + lane] = Point{re[16 + i], im[16 + i]};
                } else {
                    own[32 * i + lane] = Point{re[i], im[i]};
                }
            }
            sync_segment<kWarps>(in_block);
            const Point* const others = points + (1 - warp) * kBufferPoints;
            const T sign = warp == 0 ? T{1} : T{-1};
            const T root = sign * static_cast<T>(std::numbers::sqrt2 / 2);
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                const Point other = others[32 * i + lane];
                const T x = warp == 0 ? re[i] : re[16 + i];
                const T y = warp == 0 ? im[i] : im[16 + i];
                const T u = x - other.x;
                const T v = y - other.y;
                re[i] = x + other.x;
                im[i] = y + other.y;
                re[16 + i] = kComplex ? sign * u : root * (u + v);
                im[16 + i] = kComplex ? sign * v : root * (v - u);
            }
            all_exchanged();
        } else if constexpr (kWarps > 2) {
#pragma unroll
            for (int i = 0; i < 32; ++i) { own[32 * i + lane] = Point{re[i], im[i]}; }
            sync_segment<kWarps>(in_block);
            constexpr int kBits = fft::log2_of(kWarps);
#pragma unroll
            for (int i = 0; i < kOwn; ++i) {
#pragma unroll
                for (int j = 0; j < kWarps; ++j) {
                    const Point p = points[fft::reversed(j, kBits) * kBufferPoints + thread + 32 * kWarps * i];
                    re[kWarps * i + j] = p.x;
                    im[kWarps * i + j] = p.y;
                }
            }
            all_exchanged();
#pragma unroll
            for (int i = 0; i < kOwn; ++i) {
                fft::transform<kWarps>(im + kWarps * i, re + kWarps * i);
                if constexpr (!kComplex) {
                    fft::for_each_index<1, kWarps>([&](auto value) {
                        constexpr int m = decltype(value)::value;
                        constexpr double kAngle = std::numbers::pi / 2 * fft::reversed(m, kBits) / kWarps;
                        constexpr T kCosine = static_cast<T>(fft::cosine(kAngle));
                        constexpr T kSine = static_cast<T>(fft::sine(kAngle));
                        multiply(re[kWarps * i + m], im[kWarps * i + m], Point{kCosine, -kSine});
                    });
                }
            }
        }

        const bool finite = fabs(re[0]) + fabs(im[0]) <= Limits<T>::kMost;
        // Outputs of a real segment: real parts, then imaginary parts.
        if (a.plain_store == 0) {  // as finish(), its numbers converted once
            const T scale = static_cast<T>(a.scale);
            const T bias = static_cast<T>(a.bias);
            const T low = a.has_clamp && !kComplex ? static_cast<T>(a.low) : -INFINITY;
            const T high = a.has_clamp && !kComplex ? static_cast<T>(a.high) : INFINITY;
#pragma unroll
            for (int i = 0; i < 32; ++i) {
                re[i] = clamp_pass_nan(re[i] * scale + bias, low, high);
                im[i] = clamp_pass_nan(im[i] * scale + (kComplex ? 0 : bias), low, high);
            }
        }
        // A thread's u-th point is `mine` + point_offset(u), in register held(u); a group of `kSpan` threads has neighbours.
        constexpr int kBits = fft::log2_of(kWarps);
        constexpr int kSpan = kWarps == 2 ? 32 : 32 * kWarps;
        const int mine = kWarps == 2 ? 512 * warp + lane : thread;
        const auto point_offset = [](int u) { return kWarps == 2 ? 32 * u + (u < 16 ? 0 : 512) : 32 * kWarps * u; };
        const auto held = [](int u) { return kWarps == 2 ? u : kWarps * (u % kOwn) + fft::reversed(u / kOwn, kBits); };
        if constexpr (kPlain) {
            // Registers go in groups, of which at most one a part is not whole.
            constexpr int kGroup = 8;
            S* out = static_cast<S*>(a.out) + row * a.out_row + first_output + mine;
            int left = wanted - mine;
            int left_of_all = kWarps == 2 ? wanted - 512 * warp : wanted;
            // Else the compiler computes the addresses' constant parts before all segments and keeps them in local memory.
            asm volatile("" : "+l"(out), "+r"(left), "+r"(left_of_all));
            const auto store_part = [&](auto part, auto value_of) {
                fft::for_each_index<0, 32 / kGroup>([&](auto group) {
                    constexpr int kFrom = decltype(part)::value;
                    constexpr int kFirst = decltype(group)::value * kGroup;
                    constexpr int kEnd = kFirst + kGroup;
                    if (left_of_all >= kFrom + point_offset(kEnd - 1) + kSpan) {
                        fft::for_each_index<kFirst, kEnd>([&](auto output) {
                            constexpr int u = decltype(output)::value;
                            constexpr int r = held(u);
                            constexpr int kAt = kFrom + point_offset(u);
                            __stcs(out + kAt, Element<S>::narrow(value_of(r)));
                        });
                    } else if (left_of_all > kFrom + point_offset(kFirst)) {
                        fft::for_each_index<kFirst, kEnd>([&](auto output) {
                            constexpr int u = decltype(output)::value;
                            constexpr int r = held(u);
                            constexpr int kAt = kFrom + point_offset(u);
                            if (left > kAt) { __stcs(out + kAt, Element<S>::narrow(value_of(r))); }
                        });
                    }
                });
            };
            if constexpr (kComplex) {
                store_part(std::integral_constant<int, 0>{}, [&](int r) { return S{re[r], im[r]}; });
            } else {
                store_part(std::integral_constant<int, 0>{}, [&](int r) { return re[r]; });
                store_part(std::integral_constant<int, kM>{}, [&](int r) { return im[r]; });
            }
        } else {
            // Through shared memory, so that the call for every output finds nothing in registers.
            sync_segment<kWarps>(in_block);
            fft::for_each_index<0, 32>([&](auto output) {
                constexpr int u = decltype(output)::value;
                constexpr int r = held(u);
                points[mine + point_offset(u)] = Point{re[r], im[r]};
            });
            __syncwarp();
        }
        // Every output depends on every sample, so that one tells of all.
        const bool repair = __any_sync(0xffffffffu, !finite);
        if (!kPlain || repair) {
            const auto finish_output = [&](int at) {
                if (at >= wanted) { return; }
                if (repair) {
                    repair_output<S, H>(a, row, first_output + at);
                } else if constexpr (!kPlain) {
                    S* const out = static_cast<S*>(a.out);
                    const std::int64_t place = row * a.out_row + (first_output + at) * a.out_sample;
                    if constexpr (kComplex) {
                        store_anywhere(a, out, place, points[at]);
                    } else {
                        store_anywhere(a, out, place, at < kM ? points[at].x : points[at - kM].y);
                    }
                }
            };
#pragma unroll 1
            for (int u = 0; u < (kComplex ? 32 : 64); ++u) { finish_output(mine + point_offset(u % 32) + (u < 32 ? 0 : kM)); }
            if constexpr (!kPlain) { sync_segment<kWarps>(in_block); }
        }
        advance(row, index);
        if (row >= a.rows) { return; }
    }
}

}  // namespace tapline::cuda::overlap_save
