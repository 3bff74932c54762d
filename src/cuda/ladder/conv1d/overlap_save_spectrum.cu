// A filter's spectrum made on the GPU: what Spectra does on the host.
#include "cuda/ladder/conv1d/overlap_save_spectrum.hpp"

#include <algorithm>

#include "cuda/check.hpp"
#include "cuda/ladder/conv1d/production.hpp"
#include "cuda/primitives/segment.cuh"
#include "cuda/primitives/turns.cuh"

namespace tapline::cuda::overlap_save {
namespace {

/// Tap t in correlation order; zero where there is none.
template <class Point>
__device__ __forceinline__ Point tap_of(const SpectrumJob& g, int t) {
    using T = decltype(Point::x);
    if (t < 0 || t >= g.k) { return {}; }
    const int at = g.reversed != 0 ? g.k - 1 - t : t;
    if (g.real_taps != 0) { return {static_cast<const T*>(g.given)[at], 0}; }
    const T* const parts = static_cast<const T*>(g.given) + 2 * at;
    return {parts[0], g.conjugated != 0 ? -parts[1] : parts[1]};
}

/// e^(2 pi i e / 2^k), `whole` = 2^k.
template <class T>
__device__ __forceinline__ auto turn_of(std::int64_t e, std::int64_t whole) {
    return half_turns(T{2} * static_cast<T>(e & (whole - 1)) / static_cast<T>(whole));
}

constexpr int kThreads = kPoints;
constexpr int kMostCopying = 32;  // blocks

/// A block a run of 1,024 factors, and `copying` ones for what is only copied. The rounding is that of a segment's own transform.
///
/// The factor for z is P(z) / M of the polynomial with the coefficients conj(taps[t]) at t + skip, taken modulo X^M - e^(i phi) as
/// segments are, phi = 0 for complex samples and pi/2 for real ones. A segment lies in R rows of 1,024 W points (R = 1 but for
/// large ones); warp w has of row m the roots e^(i theta) e^(-2 pi i f/1024), theta = (phi + 2 pi (m + R reversed(w))) / M, place f
/// of 1,024. Their factors are the discrete transform of
///
///     e^(i theta j) sum_q P[j + 1024 q] e^(i theta 1024 q),   0 <= j < 1024,  0 <= q < R W.
///
/// The block does it in loops: code that is run once takes as long as it takes to come from memory, and rung 27's transform, all
/// unrolled, made it 10 us for each launch.
template <class T>
__global__ void __launch_bounds__(kThreads) spectrum_kernel(const __grid_constant__ SpectrumJob g) {
    using Point = typename PointOf<T>::Type;
    __shared__ Point points[kPoints];
    __shared__ Point roots[kPoints];
    const int thread = static_cast<int>(threadIdx.x);
    const int block = static_cast<int>(blockIdx.x);
    const int runs = g.rows * g.warps;
    if (block >= runs) {
        const int first = kThreads * (block - runs) + thread;
        const int all = kThreads * (static_cast<int>(gridDim.x) - runs);
        for (int v = first; v < g.ready_bytes / 16; v += all) {
            static_cast<uint4*>(g.tables)[v] = static_cast<const uint4*>(g.ready)[v];
        }
#pragma unroll 4
        for (int t = first; t < g.k; t += all) {
            const Point tap = tap_of<Point>(g, t);
            if (g.real_taps != 0) {
                static_cast<T*>(g.taps)[t] = tap.x;
            } else {
                static_cast<Point*>(g.taps)[t] = tap;
            }
        }
        return;
    }

    int number = 0;
    for (int bit = 1; bit < g.warps; bit *= 2) { number = 2 * number + ((block % g.warps & bit) != 0 ? 1 : 0); }
    number = block / g.warps + g.rows * number;
    // Angles as multiples of 2 pi / 4M, exact: theta is `step` of them.
    const std::int64_t step = 4 * number + (g.is_complex != 0 ? 0 : 1);
    Point sum{};
    const int terms = min((g.k + g.skip + kPoints - 1) / kPoints, runs);
    for (int first = 0; first < terms; first += kPoints) {
        const int some = min(terms - first, kPoints);
        if (terms > 1) {
            __syncthreads();
            if (thread < some) { points[thread] = turn_of<T>(step * (first + thread), 4 * runs); }
            __syncthreads();
        }
#pragma unroll 4
        for (int q = 0; q < some; ++q) {
            const int t = thread + kPoints * (first + q) - g.skip;
            Point p = tap_of<Point>(g, t);
            if (g.is_complex != 0) {
                p.y = -p.y;
            } else if (g.k + g.skip > kPoints * runs) {
                p.y = tap_of<Point>(g, t + kPoints * runs).x;  // X^M is i
            }
            if (terms > 1) { multiply(p.x, p.y, points[q]); }
            sum.x += p.x;
            sum.y += p.y;
        }
    }
    multiply(sum.x, sum.y, turn_of<T>(step * thread, std::int64_t{4} * kPoints * runs));
    roots[thread] = turn_of<T>(-thread, kPoints);
    if (terms > 1) { __syncthreads(); }
    points[thread] = sum;

    // Five steps of four: place b0 b1 b2 b3 b4, as digits to the base of four, ends with frequency b4 b3 b2 b1 b0.
#pragma unroll 1
    for (int span = kPoints / 4; span > 0; span /= 4) {
        __syncthreads();
        if (thread >= kPoints / 4) { continue; }
        const int at = thread % span;
        Point* const own = points + (thread - at) * 4 + at;
        const Point a = own[0];
        const Point b = own[span];
        const Point c = own[2 * span];
        const Point d = own[3 * span];
        const Point even{a.x + c.x, a.y + c.y};
        const Point odd{b.x + d.x, b.y + d.y};
        own[0] = {even.x + odd.x, even.y + odd.y};
        Point one{a.x - c.x + (b.y - d.y), a.y - c.y - (b.x - d.x)};
        Point two{even.x - odd.x, even.y - odd.y};
        Point three{a.x - c.x - (b.y - d.y), a.y - c.y + (b.x - d.x)};
        const int turns = at * (kPoints / 4 / span);
        multiply(one.x, one.y, roots[turns]);
        multiply(two.x, two.y, roots[2 * turns]);
        multiply(three.x, three.y, roots[3 * turns]);
        own[span] = one;
        own[2 * span] = two;
        own[3 * span] = three;
    }
    __syncthreads();
    int place = 0;
    for (int digit = 1; digit < kPoints; digit *= 4) { place = 4 * place + thread / digit % 4; }
    const T share = T{1} / (static_cast<T>(kPoints) * runs);
    Point value = points[place];
    int f = thread;
    if (g.for_block != 0) {  // undo_lanes(), turn_rows() and as_tangents() of overlap_save_tables.hpp
        multiply(value.x, value.y, turn_of<T>(-step * (thread % 32), std::int64_t{4} * kPoints * runs));
        if (g.warps == 2 && block == 1 && g.is_complex == 0) {
            f = (thread + kPoints / 2) % kPoints;
            value = thread % 2 == 0 ? value : Point{-value.x, -value.y};
        }
        constexpr T kLeast = sizeof(T) == 8 ? T(0x1p-60) : T(0x1p-30);
        const bool is_small = !(fabs(value.x) >= kLeast * fabs(value.y));
        const T c = is_small ? copysign(kLeast * fabs(value.y), value.x) : value.x;
        value = {share * c, c == 0 ? 0 : value.y / c};
    } else {
        value = {share * value.x, share * value.y};
    }
    auto* const spectrum =
        reinterpret_cast<Point*>(static_cast<char*>(g.tables) + g.ready_bytes) + static_cast<std::int64_t>(block) * kPoints;
    spectrum[g.in_couples != 0 ? couple_place(f / 32, f % 32) : f] = value;
}

const void* kernel_of(const Problem& p) {
    return type_of(p).point_bytes == 16 ? reinterpret_cast<const void*>(&spectrum_kernel<double>)
                                        : reinterpret_cast<const void*>(&spectrum_kernel<float>);
}

}  // namespace

SpectrumJob spectrum_job(const Prepared& prepared, void* tables, void* taps, const cuda_abi::DeviceTaps& given) {
    const Problem& p = prepared.problem;
    SpectrumJob job{};
    job.given = given.data;
    job.ready = prepared.tables;
    job.tables = tables;
    job.taps = taps;
    job.k = static_cast<int>(p.k);
    job.is_complex = type_of(p).is_complex ? 1 : 0;
    job.real_taps = p.taps_dtype == kF32 || p.taps_dtype == kF64 ? 1 : 0;
    job.reversed = given.reversed;
    job.conjugated = given.conjugated;
    return job;
}

void load_spectrum_kernel(const Problem& p) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel_of(p)), "loading a kernel");
}

void launch_spectrum(const Problem& p, const SpectrumJob& job, cudaStream_t stream) {
    SpectrumJob own = job;
    void* arguments[] = {&own};
    const int copying = std::min(1 + job.k / (4 * kThreads), kMostCopying);
    launch(kernel_of(p), dim3(static_cast<unsigned>(job.rows * job.warps + copying)), kThreads, arguments, 0, stream);
}

}  // namespace tapline::cuda::overlap_save
