// Convolution of a segment by warps that hold its points in registers: transforms of 1,024 points a warp, and how several warps
// divide a longer one among them.
#pragma once

#include <type_traits>

#include "cuda/primitives/elements.cuh"
#include "cuda/primitives/segment_sizes.hpp"

namespace tapline::cuda::overlap_save {

/// (re, im) times factor.
template <class T, class P>
__device__ __forceinline__ void multiply(T& re, T& im, const P& factor) {
    const T x = re;
    re = fma(x, factor.x, -im * factor.y);
    im = fma(x, factor.y, im * factor.x);
}

/// Points 0 and 1 from a place, of couples at once.
template <bool kCouples, class P>
__device__ __forceinline__ void load_neighbours(const P* from, P& first, P& second) {
    if constexpr (kCouples) {
        const float4 both = *reinterpret_cast<const float4*>(from);
        first = P{both.x, both.y};
        second = P{both.z, both.w};
    } else {
        first = from[0];
        second = from[1];
    }
}
/// Elements i and i + 1, i even, of a lane's in a table, which is in couples or not.
template <bool kCouples, class P>
__device__ __forceinline__ void load_two(const P* table, int i, int lane, P& first, P& second) {
    if constexpr (kCouples) {
        load_neighbours<true>(table + couple_place(i, lane), first, second);
    } else {
        first = table[32 * i + lane];
        second = table[32 * i + 32 + lane];
    }
}

/// e^(i alpha n/1024) of a warp's points n = 32 r + lane, r the register: the product of e^(i alpha r/32), from a small table, and
/// e^(i alpha lane/1024), which stays in a register.
template <class P, int kWarps>
class TwiddleOf {
public:
    __device__ __forceinline__ TwiddleOf(const P* table, int thread)
        : table_(table + thread / 32 * 32), of_lane_(table[32 * kWarps + thread]) {}
    __device__ __forceinline__ P operator()(int r) const {
        P w = table_[r];
        multiply(w.x, w.y, of_lane_);
        return w;
    }

private:
    const P* table_;
    P of_lane_;
};

/// A lane's points times those of a warp's table, whose readers are done afterwards.
template <class T, class P>
__device__ __forceinline__ void multiply_by_lane(T (&re)[32], T (&im)[32], const P* table, int lane) {
#pragma unroll
    for (int i = 0; i < 32; ++i) { multiply(re[i], im[i], table[32 * i + lane]); }
    __syncwarp();
}
/// Points with real and imaginary parts exchanged: transforms are their own inverses by that.
template <class T>
__device__ __forceinline__ void exchange_parts(T (&to_re)[32], T (&to_im)[32], const T (&re)[32], const T (&im)[32]) {
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        to_re[i] = im[i];
        to_im[i] = re[i];
    }
}
template <class T>
__device__ __forceinline__ void copy_points(T (&to_re)[32], T (&to_im)[32], const T (&re)[32], const T (&im)[32]) {
    exchange_parts(to_im, to_re, re, im);
}

// Factors c (1 + i t) as pairs (c, t), as in fft.cuh: a product's two multiplications by c may become part of what follows.

/// (re, im) times 1 - i t.
template <class T, class P>
__device__ __forceinline__ void turn_back(T& re, T& im, const P& factor) {
    const T x = re;
    re = fma(factor.y, im, x);
    im = fma(-factor.y, x, im);
}
/// (re, im) times the factor's conjugate.
template <class T, class P>
__device__ __forceinline__ void multiply_back(T& re, T& im, const P& factor) {
    turn_back(re, im, factor);
    re *= factor.x;
    im *= factor.x;
}

/// (re, im) times e^(-i angle), given tan(angle / 2) and sin(angle): by three shears, an operation less than a product. For small
/// angles: a large tangent makes the roundings large.
template <class T, class P>
__device__ __forceinline__ void rotate_back(T& re, T& im, const P& shears) {
    re = fma(shears.x, im, re);
    im = fma(-shears.y, re, im);
    re = fma(shears.x, im, re);
}

/// 32 points times the conjugates of factors, and the first step of their transform. kFused: the lower half's factors are its
/// butterflies', so that two points take ten operations, not twelve. `factors`: the lane's first one in a table.
template <bool kCouples, bool kFused, class T, class P>
__device__ __forceinline__ void multiply_and_step(T* re, T* im, const P* factors) {
    if constexpr (kFused) {
#pragma unroll
        for (int i = 0; i < 16; i += 2) {
            P upper[2];
            P lower[2];
            load_two<kCouples>(factors, i, 0, upper[0], upper[1]);
            load_two<kCouples>(factors, i + 16, 0, lower[0], lower[1]);
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const int a = i + j;
                multiply_back(re[a], im[a], upper[j]);
                fft::butterfly<false>(re[a], im[a], re[a + 16], im[a + 16], lower[j].x, -lower[j].y);
            }
        }
    } else {
#pragma unroll
        for (int i = 0; i < 32; i += 2) {
            P two[2];
            load_two<kCouples>(factors, i, 0, two[0], two[1]);
            multiply_back(re[i], im[i], two[0]);
            multiply_back(re[i + 1], im[i + 1], two[1]);
        }
        fft::first_step<32>(re, im);
    }
}

/// Multiplies by e^(-i alpha n/1024), given pairs (c, t) of a table of all points, in couples where these are, or of two factors:
/// e^(i alpha r/32) of warp w at (r, w) and e^(i alpha lane/1024) at (lane, 16 + w) of 32 x 32.
template <class P, bool kTable>
class TwiddleBack {
public:
    __device__ __forceinline__ TwiddleBack(const P* table, int thread)
        : table_(kTable ? table + thread / 32 * kPoints + (kInCouples<P> ? 2 : 1) * (thread % 32) : table + thread / 32) {
        if constexpr (!kTable) { of_lane_ = table[32 * (thread % 32) + kTwiddledWarps + thread / 32]; }
    }
    /// Registers r and r + 1, r even.
    template <class T>
    __device__ __forceinline__ void two(int r, T* re, T* im) const {
        P factors[2];
        turn_two(r, re, im, factors);
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            re[r + j] *= factors[j].x;
            im[r + j] *= factors[j].x;
        }
    }
    /// The same but for the real multiples factors[j].x.
    template <class T>
    __device__ __forceinline__ void turn_two(int r, T* re, T* im, P* factors) const {
        load_two<kTable && kInCouples<P>>(table_, r, 0, factors[0], factors[1]);
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            turn_back(re[r + j], im[r + j], factors[j]);
            if constexpr (!kTable) {
                turn_back(re[r + j], im[r + j], of_lane_);
                factors[j].x *= of_lane_.x;
            }
        }
    }

private:
    const P* table_;
    P of_lane_{};
};

/// `count` elements, a multiple of 16 bytes, by all threads of the block.
template <class P>
__device__ __forceinline__ void copy_by_block(P* to, const P* from, int count) {
    const int vectors = count * static_cast<int>(sizeof(P)) / 16;
#pragma unroll 2
    for (int v = static_cast<int>(threadIdx.x); v < vectors; v += static_cast<int>(blockDim.x)) {
        reinterpret_cast<uint4*>(to)[v] = reinterpret_cast<const uint4*>(from)[v];
    }
}

/// Waits for all warps of a segment.
template <int kWarps>
__device__ __forceinline__ void sync_segment(int segment_of_block) {
    if constexpr (kWarps == 1) {
        __syncwarp();
    } else {
#if defined(__CUDA_ARCH__)
        asm volatile("bar.sync %0, %1;" ::"r"(segment_of_block + 1), "n"(32 * kWarps) : "memory");
#else
        static_cast<void>(segment_of_block);
        __syncthreads();  // compiled as C++ for a test: no segment of a block may end before another
#endif
    }
}

/// The same of threads that wait otherwise.
template <int kWarps, class Sync, std::enable_if_t<!std::is_same_v<Sync, int>, int> = 0>
__device__ __forceinline__ void sync_segment(const Sync& sync) {
    sync();
}

/// Two transforms of 32 points each, whose points are exchanged in between: register i of the first goes to to[kPitch i], register
/// i of the second comes from from[i]. sync(): called when all lanes have written. pair(i, &c, &t): of this lane's second
/// transform. Of the memory's earlier content nothing is needed any more; `exchanged()` is called by all lanes once they have read
/// it. kFirstStep 1: the first transform's first step is done. kCouples: points are read two at a time.
template <bool kCouples = false, int kFirstStep = 0, class T, class P, class Pair, class Sync, class Exchanged>
__device__ __forceinline__ void transform_between(T* re, T* im, P* to, const P* from, const Pair& pair, const Sync& sync,
                                                  const Exchanged& exchanged) {
    constexpr int kPitch = kCouples ? kExchangeRow<P> : 33;
    fft::transform<32, 0, 1, kFirstStep>(re, im);
    fft::for_each_index<0, 32>([&](auto value) {
        constexpr int i = decltype(value)::value;
        constexpr int kRow = kPitch * fft::reversed(i, 5);
        to[kRow] = P{re[i], im[i]};
    });
    sync();
    T x[32];
    T y[32];
#pragma unroll
    for (int i = 0; i < 32; i += 2) {
        P first;
        P second;
        load_neighbours<kCouples>(from + i, first, second);
        x[i] = first.x;
        y[i] = first.y;
        x[i + 1] = second.x;
        y[i + 1] = second.y;
    }
    exchanged();
    fft::transform_by<32>(x, y, pair);
    fft::for_each_index<0, 32>([&](auto frequency) {
        constexpr int i = decltype(frequency)::value;
        constexpr int kHeld = fft::reversed(i, 5);
        re[i] = x[kHeld];
        im[i] = y[kHeld];
    });
}

/// A warp's transform of 32 x 32 points: point 32 i + lane in register i before, frequency 32 i + lane in register i after. Each
/// lane transforms its own 32, all exchange them through `exchange` (kBufferPoints, or kExchangePoints read in couples), and again.
template <bool kCouples = false, int kFirstStep = 0, class T, class P, class Pair, class Exchanged>
__device__ __forceinline__ void transform_warp(T* re, T* im, P* exchange, int lane, const Pair& pair, const Exchanged& exchanged) {
    constexpr int kPitch = kCouples ? kExchangeRow<P> : 33;
    transform_between<kCouples, kFirstStep>(
        re, im, exchange + lane, exchange + kPitch * lane, pair, [] { __syncwarp(); }, exchanged);
}

/// How kWarps warps divide a segment of 1024 kWarps points, a polynomial modulo X^M - e^(i phi), phi = 0 for complex samples and
/// pi/2 for real ones: warp w has its remainder modulo X^1024 - e^(i alpha_w), point 32 i + lane in register i. take_apart() makes
/// the remainders, put_together() the inverse times kWarps. `points`: kWarps * kRegion in shared memory, the segment's own.
///
/// Here each thread transforms kWarps points, 1024 apart, and all are exchanged.
template <int kWarps, bool kComplex, int kRegion = kBufferPoints>
struct Division {
    static constexpr int kBits = fft::log2_of(kWarps);
    static constexpr int kOwn =
        32 / kWarps;  // transforms of a thread: register kWarps i + j has point thread + 32 kWarps i + 1024 j

    /// Outputs of a thread: first(thread) + offset(u), in register held(u); kSpan threads have neighbours.
    static constexpr int kSpan = 32 * kWarps;
    static __device__ int first(int thread) { return thread; }
    static __device__ constexpr int offset(int u) { return kSpan * u; }
    static __device__ constexpr int held(int u) { return kWarps * (u % kOwn) + fft::reversed(u / kOwn, kBits); }
    /// They may be completed in stages, a part of the transforms each: number v of a stage is output staged(stages, stage, v).
    static __device__ constexpr int staged(int stages, int stage, int v) {
        const int each = kOwn / stages;
        return v / each * kOwn + stage * each + v % each;
    }

    /// load(c, t, &re, &im): point c + t, c a constant, t < kSpan; loaded(): called by all threads once they have read the segment.
    template <class T, class P, class Load, class Loaded>
    static __device__ __forceinline__ void take_apart(T* re, T* im, P* points, int thread, int segment_of_block, const Load& load,
                                                      const Loaded& loaded) {
#pragma unroll
        for (int i = 0; i < kOwn; ++i) {
#pragma unroll
            for (int j = 0; j < kWarps; ++j) { load(kSpan * i + kPoints * j, thread, re[kWarps * i + j], im[kWarps * i + j]); }
        }
        transform_there(re, im);
        loaded();
        scatter(re, im, points, thread);
        sync_segment<kWarps>(segment_of_block);
        gather_own(re, im, points, thread);
        __syncwarp();
    }
    /// A thread's transforms of kWarps points to the remainders, whose points go to their warps.
    template <class T, class P>
    static __device__ __forceinline__ void scatter(const T* re, const T* im, P* points, int thread) {
#pragma unroll
        for (int i = 0; i < kOwn; ++i) {
#pragma unroll
            for (int j = 0; j < kWarps; ++j) {
                points[j * kRegion + thread + kSpan * i] = P{re[kWarps * i + j], im[kWarps * i + j]};
            }
        }
    }
    template <class T, class P>
    static __device__ __forceinline__ void gather_own(T* re, T* im, const P* points, int thread) {
        const P* const own = points + thread / 32 * kRegion + thread % 32;
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            re[i] = own[32 * i].x;
            im[i] = own[32 * i].y;
        }
    }
    /// exchanged(): called by all threads once `points` is free.
    template <class T, class P, class Exchanged>
    static __device__ __forceinline__ void put_together(T* re, T* im, P* points, int thread, int segment_of_block,
                                                        const Exchanged& exchanged) {
        bring_together(re, im, points, thread, segment_of_block, exchanged);
        transform_back(re, im);
    }
    /// The same but for transform_back().
    template <class T, class P, class Exchanged>
    static __device__ __forceinline__ void bring_together(T* re, T* im, P* points, int thread, int segment_of_block,
                                                          const Exchanged& exchanged) {
        scatter_own(re, im, points, thread);
        sync_segment<kWarps>(segment_of_block);
        gather(re, im, points, thread);
        exchanged();
    }
    /// The way back.
    template <class T, class P>
    static __device__ __forceinline__ void scatter_own(const T* re, const T* im, P* points, int thread) {
        P* const own = points + thread / 32 * kRegion + thread % 32;
#pragma unroll
        for (int i = 0; i < 32; ++i) { own[32 * i] = P{re[i], im[i]}; }
    }
    template <class T, class P>
    static __device__ __forceinline__ void gather(T* re, T* im, const P* points, int thread) {
#pragma unroll
        for (int i = 0; i < kOwn; ++i) {
            fft::for_each_index<0, kWarps>([&](auto value) {
                constexpr int j = decltype(value)::value;
                constexpr int kFrom = fft::reversed(j, kBits) * kRegion;
                const P p = points[kFrom + thread + kSpan * i];
                re[kWarps * i + j] = p.x;
                im[kWarps * i + j] = p.y;
            });
        }
    }

    /// Of the thread's own points: register kWarps i + j is point j of transform i before, value j after; back: kWarps i + j is
    /// value reversed(j) before, point reversed(j) after.
    template <class T>
    static __device__ __forceinline__ void transform_there(T* re, T* im) {
#pragma unroll
        for (int i = 0; i < kOwn; ++i) { fft::transform<kWarps, kComplex ? 0 : 1, 2>(re + kWarps * i, im + kWarps * i); }
    }
    template <int kStages = 1, int kStage = 0, class T>
    static __device__ __forceinline__ void transform_back(T* re, T* im) {
        using P = typename PointOf<T>::Type;
        constexpr int kEach = kOwn / kStages;
#pragma unroll
        for (int i = kStage * kEach; i < (kStage + 1) * kEach; ++i) {
            fft::transform<kWarps>(im + kWarps * i, re + kWarps * i);
            if constexpr (!kComplex) {
                fft::for_each_index<1, kWarps>([&](auto value) {
                    constexpr int m = decltype(value)::value;
                    constexpr double kAngle = std::numbers::pi / 2 * fft::reversed(m, kBits) / kWarps;
                    constexpr T kCosine = static_cast<T>(fft::cosine(kAngle));
                    constexpr T kSine = static_cast<T>(fft::sine(kAngle));
                    multiply(re[kWarps * i + m], im[kWarps * i + m], P{kCosine, -kSine});
                });
            }
        }
    }
};

template <bool kComplex, int kRegion>
struct Division<1, kComplex, kRegion> {
    static constexpr int kSpan = 32;
    static __device__ int first(int thread) { return thread; }
    static __device__ constexpr int offset(int u) { return 32 * u; }
    static __device__ constexpr int held(int u) { return u; }
    static __device__ constexpr int staged(int /*stages*/, int /*stage*/, int v) { return v; }

    template <class T, class P, class Load, class Loaded>
    static __device__ __forceinline__ void take_apart(T* re, T* im, P*, int thread, int, const Load& load, const Loaded& loaded) {
#pragma unroll
        for (int i = 0; i < 32; ++i) { load(32 * i, thread, re[i], im[i]); }
        loaded();
    }
    template <class T, class P, class Exchanged>
    static __device__ __forceinline__ void put_together(T*, T*, P*, int, int, const Exchanged&) {}
};

/// Two warps both read all points, and each completes half of the outputs: half as much goes through shared memory.
///
/// Real: the second warp's register r holds row (r + 16) % 32, so that both keep the same registers and have the same code: 714 us
/// with code for each (1,023 taps, 2^28 samples), which the instruction cache did not hold. The tables turn its rows too. Complex:
/// the first warp has no twiddles, and each has its own code.
template <bool kComplex, int kRegion>
struct Division<2, kComplex, kRegion> {
    static constexpr int kSpan = 32;
    static __device__ int first(int thread) { return thread < 32 ? thread : 512 + thread - 32; }
    static __device__ constexpr int offset(int u) { return 32 * u + (u < 16 ? 0 : 512); }
    static __device__ constexpr int held(int u) { return u; }
    static __device__ constexpr int staged(int /*stages*/, int /*stage*/, int v) { return v; }

    template <class T, class P, class Load, class Loaded>
    static __device__ __forceinline__ void take_apart(T* re, T* im, P*, int thread, int, const Load& load, const Loaded& loaded) {
        const T sign = thread < 32 ? T{1} : T{-1};
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            T x;
            T y;
            load(32 * i, turned(thread, i), re[i], im[i]);
            load(kPoints + 32 * i, turned(thread, i), x, y);
            add_upper(sign, x, y, re[i], im[i]);
        }
        loaded();
    }
    /// What register i of a thread has is that of point 32 i + turned(thread, i), kPoints on added to it.
    static __device__ __forceinline__ int turned(int thread, int i) {
        const int lane = thread % 32;
        const int turn = kComplex || thread < 32 ? 0 : kPoints / 2;
        return i < 16 ? lane + turn : lane - turn;
    }
    /// sign: 1 for the first warp, -1 for the second.
    template <class T>
    static __device__ __forceinline__ void add_upper(T sign, T x, T y, T& re, T& im) {
        if constexpr (kComplex) {
            re = fma(sign, x, re);
            im = fma(sign, y, im);
        } else {
            const T root = sign * static_cast<T>(std::numbers::sqrt2 / 2);  // w = e^(i pi/4)
            re = fma(root, x - y, re);
            im = fma(root, x + y, im);
        }
    }
    template <class T, class P, class Exchanged>
    static __device__ __forceinline__ void put_together(T* re, T* im, P* points, int thread, int segment_of_block,
                                                        const Exchanged& exchanged) {
        static_assert(kComplex);
        if (thread < 32) {
            complete<0>(re, im, points, thread, segment_of_block, T{1}, std::false_type{});
        } else {
            complete<16>(re, im, points, thread, segment_of_block, T{-1}, std::false_type{});
        }
        exchanged();
    }
    /// Of points that are to be multiplied by twiddles first; twiddle_back: a TwiddleBack, of which half becomes part of the sums.
    template <class T, class P, class Segment, class Twiddle, class Exchanged>
    static __device__ __forceinline__ void put_together(T* re, T* im, P* points, int thread, const Segment& segment_of_block,
                                                        const Twiddle& twiddle_back, const Exchanged& exchanged) {
        if constexpr (!kComplex) {
            const T root = static_cast<T>(thread < 32 ? std::numbers::sqrt2 / 2 : -std::numbers::sqrt2 / 2);
            complete<0>(re, im, points, thread, segment_of_block, root, twiddle_back);
        } else if (thread < 32) {
            complete<0>(re, im, points, thread, segment_of_block, T{1}, std::false_type{});
        } else {
            complete<16>(re, im, points, thread, segment_of_block, T{-1}, twiddle_back);
        }
        exchanged();
    }

private:
    /// kKept: the first register that the warp keeps; known to the compiler, so that registers need not be chosen.
    template <int kKept, class T, class P, class Segment, class Twiddle>
    static __device__ __forceinline__ void complete(T* re, T* im, P* points, int thread, const Segment& segment_of_block, T root,
                                                    const Twiddle& twiddle_back) {
        constexpr int kSent = 16 - kKept;
        constexpr bool kTwiddled = !std::is_same_v<Twiddle, std::false_type>;
        P* const own = points + (thread < 32 ? 0 : kRegion) + thread % 32;
        const P* const others = points + (thread < 32 ? kRegion : 0) + thread % 32;
#pragma unroll
        for (int i = 0; i < 16; i += 2) {
            if constexpr (kTwiddled) { twiddle_back.two(kSent + i, re, im); }
#pragma unroll
            for (int j = i; j < i + 2; ++j) { own[32 * j] = P{re[kSent + j], im[kSent + j]}; }
        }
        sync_segment<2>(segment_of_block);
#pragma unroll
        for (int i = 0; i < 16; i += 2) {
            P factors[2]{{1, 0}, {1, 0}};
            if constexpr (kTwiddled) { twiddle_back.turn_two(kKept + i, re, im, factors); }
#pragma unroll
            for (int j = i; j < i + 2; ++j) {
                const P other = others[32 * j];
                const T c = factors[j - i].x;
                const T x = re[kKept + j];
                const T y = im[kKept + j];
                const T u = fma(c, x, -other.x);
                const T v = fma(c, y, -other.y);
                re[j] = fma(c, x, other.x);
                im[j] = fma(c, y, other.y);
                re[16 + j] = kComplex ? root * u : root * (u + v);
                im[16 + j] = kComplex ? root * v : root * (v - u);
            }
        }
    }
};

}  // namespace tapline::cuda::overlap_save
