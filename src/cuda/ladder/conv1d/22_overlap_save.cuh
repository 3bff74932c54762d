// 22: from about a hundred taps on, by transforms: one kernel reads the signal once, convolves segments in registers, writes once.
#pragma once

#include <type_traits>

#include "cuda/ladder/conv1d/overlap_save.hpp"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/bulk_copy.cuh"
#include "cuda/primitives/copy_async.cuh"
#include "cuda/primitives/epilogue.cuh"
#include "cuda/primitives/segment.cuh"

namespace tapline::cuda::overlap_save {

/// A finished value with the output's type and stride.
template <class S, class X>
__device__ __forceinline__ void store_anywhere(const Arguments& a, S* out, std::int64_t at, X value) {
    if (a.converts) {
        store_converted(a, out, at, value);
    } else {
        store_element(out + at, Element<S>::narrow(value));
    }
}

/// What is computed from these afterwards is not known before: else the compiler computes the constant parts of addresses before
/// all segments and keeps them in local memory.
template <class P>
__device__ __forceinline__ void hide(P*& pointer, int& number) {
    asm volatile("" : "+l"(pointer), "+r"(number));
}

/// The sum of output o of a row, directly: what a transform would spread, a NaN or an overflow, stays where it belongs.
template <class S, class H>
__device__ __noinline__ typename Element<S>::Sum direct_sum(const Arguments& a, std::int64_t row, std::int64_t o) {
    const S* in = static_cast<const S*>(a.in) + row * a.in_row;
    const H* taps = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + row * a.taps_row_bytes);
    if (a.boundary == kZero) { return exact_sum<S, H>(a, in, taps, a.first + o, 0, a.k); }
    typename Element<S>::Sum sum{};
    for (std::int64_t t = 0; t < a.k; ++t) {
        multiply_add(sum, Element<S>::widen(sample(a, in, a.first + o - a.origin + t)), taps[t]);
    }
    return sum;
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
    constexpr bool kComplex = kIsComplexElement<S>;
    constexpr int kM = kPoints * kWarps;  // points of a segment
    constexpr bool kTwisted = !kComplex || kWarps > 1;
    using Parts = Division<kWarps, kComplex>;
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
    CopyBarrier* const spectrum_barrier =
        reinterpret_cast<CopyBarrier*>(base) + kMostSegments + threadIdx.x / 32;  // of a warp's part

    if (thread == 0) { initialize(barrier); }
    if (lane == 0) { initialize(spectrum_barrier); }
    __syncthreads();

    const auto is_inner = [&](int index) { return index >= g.inner_first && index < g.inner_last; };
    const auto first_sample = [&](std::int64_t row, int index) {
        return static_cast<const S*>(a.in) + row * a.in_row + g.start + static_cast<std::int64_t>(index) * g.outputs;
    };
    const auto misaligned = [&](const S* first) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(first) % 16); };
    // Calls copy(from, bytes) for an inner segment. Copies begin at 16-byte boundaries, up to V - 1 samples early.
    const auto if_inner = [&](std::int64_t row, int index, const auto& copy) {
        if (row >= a.rows || !is_inner(index)) { return; }
        const S* first = first_sample(row, index);
        const int early = misaligned(first);
        copy(reinterpret_cast<const char*>(first) - early, (early + g.used * static_cast<int>(sizeof(S)) + 15) / 16 * 16);
    };
    const auto copy_samples = [&](const char* from, int bytes) {
#if __CUDA_ARCH__ >= 900
        if (thread == 0) { copy_bulk(samples, from, static_cast<std::uint32_t>(bytes), barrier); }
#else
        for (int at = 16 * thread; at < bytes; at += 16 * 32 * kWarps) { copy_16_async(samples + at, from + at); }
        commit_copies();
#endif
    };

    const std::int64_t first_segment = static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / (32 * kWarps)) + in_block;
    std::int64_t row = first_segment / g.segments;
    int index = static_cast<int>(first_segment - row * g.segments);
    [[maybe_unused]] std::uint32_t phase = 0;  // of the barriers, which only bulk copies have
    [[maybe_unused]] std::uint32_t spectrum_phase = 0;
    if_inner(row, index, copy_samples);

    // While the first samples are on their way.
    const auto* tables = static_cast<const Point*>(g.tables);
    const auto copy_table = [&](Point* to, const Point* from, int count) {
        const int vectors = count * static_cast<int>(sizeof(Point)) / 16;
#pragma unroll 2
        for (int v = static_cast<int>(threadIdx.x); v < vectors; v += static_cast<int>(blockDim.x)) {
            reinterpret_cast<uint4*>(to)[v] = reinterpret_cast<const uint4*>(from)[v];
        }
    };
    copy_table(pairs, tables, kPairs);
    copy_table(twists, tables + kPairs, Shape::kTwistTable ? kM : 64 * kWarps);
    const Point* const all_spectra = tables + kPairs + (Shape::kTwistTable ? kM : 64 * kWarps);
    if constexpr (kSpectrumInShared) { copy_table(spectrum, all_spectra, kM); }
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
    if (row >= a.rows) { return; }

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
    const auto for_next = [&](const auto& copy) {
        std::int64_t next_row = row;
        int next_index = index;
        advance(next_row, next_index);
        if_inner(next_row, next_index, copy);
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
            fill_at_edge(a, share, static_cast<const S*>(a.in) + row * a.in_row, g.start + first_output + warp * kShare, needed,
                         lane);
            for (int i = needed + lane; i < kShare; i += 32) { share[i] = S{}; }
            sync_segment<kWarps>(in_block);
        }

        T re[32];
        T im[32];
        // Point c + t. What the outputs do not read is zero, whatever lies there: their bits depend on what they may read only.
        const auto load = [&](int c, int t, T& x, T& y) {
            if constexpr (kComplex) {
                const S point = load_element(segment + c + t);
                x = point.x;
                y = point.y;
            } else {
                x = Element<S>::widen(segment[c + t]);
                y = Element<S>::widen(segment[c + t + kM]);
            }
            if (c == 0 && t < g.skip) {
                x = 0;
                y = kComplex ? 0 : y;
            }
            if (c == kM - Parts::kSpan && c + t + (kComplex ? 0 : kM) >= g.used) {
                x = kComplex ? 0 : x;
                y = 0;
            }
        };
        // Segments of many warps leave no place in shared memory for the next one, but it may come nearer.
        if (Shape::kPrefetches && thread == 0) {
            for_next([](const char* from, int bytes) { prefetch_bulk(from, static_cast<std::uint32_t>(bytes)); });
        }
        Parts::take_apart(re, im, points, thread, in_block, load, [&] {
            if constexpr (Shape::kAhead) { fence_before_copy(); }
            sync_segment<kWarps>(in_block);
            if constexpr (Shape::kAhead) { for_next(copy_samples); }
        });

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
            const auto pair = [&](int i, T* c, T* t) {
                const Point p = Shape::kPairsInRegisters ? pair_registers[i] : pairs[32 * i + lane];
                *c = p.x;
                *t = p.y;
            };
            transform_warp(x, y, own, lane, pair, [&] {
                const bool copies = direction == 0 ? !kSpectrumInShared : kWarps == 1 && !Shape::kAhead;
                if (copies) { fence_before_copy(); }
                __syncwarp();
                if (!copies) { return; }
                if (direction == 0) {
                    copy_part(all_spectra + g.spectrum_first + row * g.spectrum_row + warp * kPoints);
                } else {
                    for_next(copy_samples);
                }
            });
#pragma unroll
            for (int i = 0; i < 32; ++i) {
                re[i] = x[i];
                im[i] = y[i];
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
        Parts::put_together(re, im, points, thread, in_block, [&] {
            if constexpr (!Shape::kAhead) { fence_before_copy(); }
            sync_segment<kWarps>(in_block);
            if constexpr (!Shape::kAhead) { for_next(copy_samples); }
        });

        // Every output depends on every sample, so that one tells of all.
        const bool repair = __any_sync(0xffffffffu, !(fabs(re[0]) + fabs(im[0]) <= Limits<T>::kMost));
        const int mine = Parts::first(thread);
        // Sums of a part of the filter: added to those of the parts before, and kept for the part after.
        constexpr bool kSums = kWarps >= kLeastWarpsOfParts;
        using Sum = typename Element<S>::Sum;
        // body(sum, register, whether it is its imaginary part) for those of the thread's outputs that are wanted.
        const auto for_sums = [&](Sum* sums, const auto& body) {
            sums += row * g.sums_row + first_output + mine;
            int left = wanted - mine;
            hide(sums, left);
            fft::for_each_index<0, 32>([&](auto output) {
                constexpr int u = decltype(output)::value;
                constexpr int r = Parts::held(u);
                if (left > Parts::offset(u)) { body(sums[Parts::offset(u)], r, false); }
                if (!kComplex && left > Parts::offset(u) + kM) { body(sums[Parts::offset(u) + kM], r, true); }
            });
        };
        if (kSums && g.sums_in != nullptr) {
            for_sums(static_cast<Sum*>(g.sums_in), [&](const Sum& sum, int r, bool imaginary) {
                if constexpr (kComplex) {
                    re[r] += sum.x;
                    im[r] += sum.y;
                } else {
                    (imaginary ? im[r] : re[r]) += sum;
                }
            });
        }
        const bool keeps_sums = kSums && g.sums_out != nullptr;
        if (keeps_sums && !repair) {
            for_sums(static_cast<Sum*>(g.sums_out), [&](Sum& sum, int r, bool imaginary) {
                if constexpr (kComplex) {
                    sum = Sum{re[r], im[r]};
                } else {
                    sum = imaginary ? im[r] : re[r];
                }
            });
        }
        // Outputs of a real segment: real parts, then imaginary parts.
        if (a.plain_store == 0 && !keeps_sums) {  // as finish(), its numbers converted once
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
        if constexpr (kPlain) {
            // Registers go in groups, of which at most one a part is not whole.
            constexpr int kGroup = 8;
            S* out = static_cast<S*>(a.out) + row * a.out_row + first_output + mine;
            int left = (keeps_sums ? 0 : wanted) - mine;
            hide(out, left);
            const int left_of_all = left + thread % Parts::kSpan;
            const auto store_part = [&](auto part, auto value_of) {
                fft::for_each_index<0, 32 / kGroup>([&](auto group) {
                    constexpr int kFrom = decltype(part)::value;
                    constexpr int kFirst = decltype(group)::value * kGroup;
                    constexpr int kEnd = kFirst + kGroup;
                    if (left_of_all >= kFrom + Parts::offset(kEnd - 1) + Parts::kSpan) {
                        fft::for_each_index<kFirst, kEnd>([&](auto output) {
                            constexpr int u = decltype(output)::value;
                            constexpr int r = Parts::held(u);
                            constexpr int kAt = kFrom + Parts::offset(u);
                            __stcs(out + kAt, Element<S>::narrow(value_of(r)));
                        });
                    } else if (left_of_all > kFrom + Parts::offset(kFirst)) {
                        fft::for_each_index<kFirst, kEnd>([&](auto output) {
                            constexpr int u = decltype(output)::value;
                            constexpr int r = Parts::held(u);
                            constexpr int kAt = kFrom + Parts::offset(u);
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
                constexpr int r = Parts::held(u);
                points[mine + Parts::offset(u)] = Point{re[r], im[r]};
            });
            __syncwarp();
        }
        if (!kPlain || repair) {
            const auto finish_output = [&](int at) {
                if (at >= wanted) { return; }
                const std::int64_t place = row * a.out_row + (first_output + at) * a.out_sample;
                if (repair) {
                    Sum sum{};
                    if constexpr (kComplex) {
                        sum =
                            g.real_taps ? direct_sum<S, T>(a, row, first_output + at) : direct_sum<S, S>(a, row, first_output + at);
                    } else {
                        sum = direct_sum<S, T>(a, row, first_output + at);
                    }
                    const std::int64_t sums_at = row * g.sums_row + first_output + at;
                    if (kSums && g.sums_in != nullptr) { multiply_add(sum, static_cast<const Sum*>(g.sums_in)[sums_at], T{1}); }
                    if (keeps_sums) {
                        static_cast<Sum*>(g.sums_out)[sums_at] = sum;
                    } else {
                        store_anywhere(a, static_cast<S*>(a.out), place, finish(a, sum));
                    }
                } else if (!keeps_sums) {
                    if constexpr (kComplex) {
                        store_anywhere(a, static_cast<S*>(a.out), place, points[at]);
                    } else {
                        store_anywhere(a, static_cast<S*>(a.out), place, at < kM ? points[at].x : points[at - kM].y);
                    }
                }
            };
#pragma unroll 1
            for (int u = 0; u < (kComplex ? 32 : 64); ++u) { finish_output(mine + Parts::offset(u % 32) + (u < 32 ? 0 : kM)); }
            if constexpr (!kPlain) { sync_segment<kWarps>(in_block); }
        }
        advance(row, index);
        if (row >= a.rows) { return; }
    }
}

}  // namespace tapline::cuda::overlap_save
