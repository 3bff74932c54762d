// A filter's spectrum made on the GPU: what Spectra does on the host.
#include "cuda/families/overlap_save/overlap_save_spectrum.hpp"

#include <algorithm>
#include <type_traits>

#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/shared_memory.hpp"
#include "cuda/families/overlap_save/overlap_save_spectrum_columns.cuh"
#include "cuda/families/overlap_save/overlap_save_spectrum_warps.cuh"
#include "cuda/launch.hpp"

namespace tapline::cuda::overlap_save {
namespace {

constexpr int kThreads = kPoints;
constexpr int kMostCopying = 32;  // blocks
constexpr int kTogether = 2;      // runs of a block where there are kMany
constexpr int kMany = 64;
constexpr int kMostRunsOfBlock = 16;
// A run of 1,024 points of a multiprocessor, by warps and by a block. Fitted to gradients of taps of f32 on an H200: (8, 2048,
// 8192) samples, 512 taps 3.23 and 8.02 ms, (8, 768, 8192) with filters as long 1.32 and 3.48 ms. On an H100 a filter for each of
// 4,096 and of 60,000 rows of 1,024, 129 taps, 82 and 1,160 us.
constexpr double kRunSeconds = 1.6e-6;
constexpr double kRunOfBlockSeconds = 6.4e-6;

/// What only has to be copied, by the blocks from number `transforming` on.
template <class T>
__device__ __forceinline__ void copy_rest(const SpectrumJob& g, const OwnTaps& own, int transforming) {
    using Point = typename PointOf<T>::Type;
    const int first = kThreads * (static_cast<int>(blockIdx.x) - transforming) + static_cast<int>(threadIdx.x);
    const int all = kThreads * (static_cast<int>(gridDim.x) - transforming);
    for (int v = first; v < g.shape.ready_bytes / 16; v += all) {
        static_cast<uint4*>(g.tables)[v] = static_cast<const uint4*>(g.ready)[v];
    }
    for (int t = first; t < g.k; t += all) {
        if (g.real_taps != 0) {
            static_cast<T*>(g.taps)[t] = part_of_tap<T, T, 1>(own, t);
        } else {
            const T imaginary = part_of_tap<T, T, 2>(own, t, 1);
            static_cast<Point*>(g.taps)[t] = {part_of_tap<T, T, 2>(own, t), g.conjugated != 0 ? -imaginary : imaginary};
        }
    }
}

/// Discrete transforms of kRuns times kPoints points, in place: place b0 b1 b2 b3 b4, as digits to the base of four, ends with
/// frequency b4 b3 b2 b1 b0. Begins and ends with a barrier.
template <int kRuns, class Point>
__device__ __forceinline__ void transform_runs(Point (&points)[kRuns][kPoints], const Point (&roots)[kPoints]) {
    static_assert(kRuns <= 4);
    const int thread = static_cast<int>(threadIdx.x) % (kPoints / 4);
    const int run = static_cast<int>(threadIdx.x) / (kPoints / 4);
#pragma unroll 1
    for (int span = kPoints / 4; span > 0; span /= 4) {
        __syncthreads();
        if (run >= kRuns) { continue; }
        const int at = thread % span;
        Point* const own = points[run] + (thread - at) * 4 + at;
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
}

/// A block kRuns runs of 1,024 factors, and further blocks what is only copied. The rounding is that of a segment's own transform.
///
/// The factor for z is P(z) / M of the polynomial with the coefficients conj(taps[t]) at t + skip, taken modulo X^M - e^(i phi) as
/// segments are, phi = 0 for complex samples and pi/2 for real ones. A segment lies in R rows of 1,024 W points (R = 1 but for
/// large ones); warp w has of row m the roots e^(i theta) e^(-2 pi i f/1024), theta = (phi + 2 pi N) / M, N = m + R reversed(w),
/// place f of 1,024. Their factors are the discrete transform of
///
///     e^(i theta j) sum_q P[j + 1024 q] e^(i theta 1024 q),   0 <= j < 1024,  0 <= q < R W.
///
/// Of the runs N + n R W / kRuns, n < kRuns, a block forms kRuns sums, those of q = i modulo kRuns: each run's is the sum of them
/// times e^(2 pi i n i/kRuns). So 65,535 taps are read by 128 blocks, all of which run at once, not by 256.
///
/// The block does it in loops: code that is run once takes as long as it takes to come from memory, and rung 27's transform, all
/// unrolled, made it 10 us for each launch.
///
/// `Given`: the type of the taps' parts, and of the spectrum's.
template <class T, class Given, int kRuns>
__global__ void __launch_bounds__(kThreads) spectrum_kernel(const __grid_constant__ SpectrumJob g) {
    using Point = typename PointOf<T>::Type;
    __shared__ Point points[kRuns][kPoints];
    __shared__ Point roots[kPoints];
    const int thread = static_cast<int>(threadIdx.x);
    const int runs = g.shape.rows * g.shape.warps;
    const int first_run = static_cast<int>(blockIdx.x);
    const OwnTaps taps(g, Given{}, g.first_spectrum + static_cast<int>(blockIdx.y));
    if constexpr (std::is_same_v<T, Given>) {
        if (first_run >= runs / kRuns) {
            copy_rest<T>(g, taps, runs / kRuns);
            return;
        }
    }

    // Angles as multiples of 2 pi / 4M, exact: theta is step_of(n) of them.
    const auto step_of = [&](int n) {
        const std::int64_t number = first_run + n * (runs / kRuns);
        return 4 * number + (g.is_complex != 0 ? 0 : 1);
    };
    T re[kRuns] = {};
    T im[kRuns] = {};
    const std::int64_t spectrum = g.first_spectrum + static_cast<int>(blockIdx.y);
    auto* const to = reinterpret_cast<typename PointOf<Given>::Type*>(static_cast<char*>(g.tables) + g.shape.ready_bytes) +
                     spectrum * kPoints * runs;
    // None where spectrum_columns_kernel has formed the sums.
    const int terms = g.has_columns != 0 ? 0 : min((taps.count + taps.skip + kPoints - 1) / kPoints, runs);
    if (g.has_columns != 0) {
        const auto sum = to[kPoints * run_of(g.shape, first_run) + thread];
        re[0] = static_cast<T>(sum.x);
        im[0] = static_cast<T>(sum.y);
    }
    // A coefficient has two parts if taps have, or if a real one's is folded: X^M is i.
    const bool is_folded = g.is_complex == 0 && taps.count + taps.skip > kPoints * runs;
    // As many loads at once as there are registers for: the latency of memory is most of the time.
    constexpr int kAtOnce = kRuns == 1 ? 4 : sizeof(T) == 8 ? 8 : 16;
    static_assert(kPoints % kAtOnce == 0 && kAtOnce % kRuns == 0);
    const auto add = [&](int own, int some, const auto& coefficient) {
        for (int group = 0; group < some; group += kAtOnce) {
            decltype(coefficient(0)) p[kAtOnce];
#pragma unroll
            for (int i = 0; i < kAtOnce; ++i) {
                const int q = group + i;
                p[i] = coefficient(q < some ? own + kPoints * q : taps.end);
            }
#pragma unroll
            for (int i = 0; i < kAtOnce; ++i) {
                const Point w = points[0][group + i];
                if constexpr (sizeof p[0] == sizeof(T)) {
                    re[i % kRuns] = fma(p[i], w.x, re[i % kRuns]);
                    im[i % kRuns] = fma(p[i], w.y, im[i % kRuns]);
                } else {
                    multiply(p[i].x, p[i].y, w);
                    re[i % kRuns] += p[i].x;
                    im[i % kRuns] += p[i].y;
                }
            }
        }
    };
    for (int first = 0; first < terms; first += kPoints) {
        const int some = min(terms - first, kPoints);
        const int own = thread + kPoints * first - taps.skip;
        __syncthreads();
        if (thread < some + kAtOnce - 1) {
            const bool is_one = first + thread == 0 || thread >= some;
            points[0][thread] = is_one ? Point{1, 0} : turn_of<T>(step_of(0) * (first + thread), 4 * runs);
        }
        __syncthreads();
        if (g.real_taps == 0) {
            const T sign = g.conjugated != 0 ? 1 : -1;
            add(own, some, [&](int t) {
                return Point{part_of_tap<T, Given, 2>(taps, t), sign * part_of_tap<T, Given, 2>(taps, t, 1)};
            });
        } else if (is_folded) {
            add(own, some, [&](int t) {
                return Point{part_of_tap<T, Given, 1>(taps, t), part_of_tap<T, Given, 1>(taps, t + kPoints * runs)};
            });
        } else {
            add(own, some, [&](int t) { return part_of_tap<T, Given, 1>(taps, t); });
        }
    }
    __syncthreads();
    fft::transform<kRuns>(re, im);
    roots[thread] = turn_of<T>(-thread, kPoints);
    fft::for_each_index<0, kRuns>([&](auto run) {
        constexpr int m = decltype(run)::value;
        points[fft::reversed(m, fft::log2_of(kRuns))][thread] = {re[m], im[m]};
    });
#pragma unroll 1
    for (int n = 0; n < kRuns; ++n) {
        Point& p = points[n][thread];
        multiply(p.x, p.y, turn_of<T>(step_of(n) * thread, std::int64_t{4} * kPoints * runs));
    }
    transform_runs<kRuns>(points, roots);

    int place = 0;
    for (int digit = 1; digit < kPoints; digit *= 4) { place = 4 * place + thread / digit % 4; }
    const T share = T{1} / (static_cast<T>(kPoints) * runs);
#pragma unroll 1
    for (int n = 0; n < kRuns; ++n) {
        Point value = points[n][place];
        const int number = first_run + n * (runs / kRuns);
        const int run = run_of(g.shape, number);
        int f = thread;
        if (g.shape.for_block != 0) {  // undo_lanes(), turn_rows() and as_tangents() of overlap_save_tables.hpp
            multiply(value.x, value.y, turn_of<T>(-step_of(n) * (thread % 32), std::int64_t{4} * kPoints * runs));
            if (g.shape.warps == 2 && run == 1 && g.is_complex == 0) {
                f = (thread + kPoints / 2) % kPoints;
                value = thread % 2 == 0 ? value : Point{-value.x, -value.y};
            }
            constexpr T kLeast = sizeof(Given) == 8 ? T(0x1p-60) : T(0x1p-30);
            const bool is_small = !(fabs(value.x) >= kLeast * fabs(value.y));
            const T c = is_small ? copysign(kLeast * fabs(value.y), value.x) : value.x;
            value = {share * c, c == 0 ? 0 : value.y / c};
        } else {
            value = {share * value.x, share * value.y};
        }
        if (g.of.lags > 0) {  // z^-M of the powers moved, -i
            const int j = (number - f * runs) & (kPoints * runs - 1);
            to[place_of_row(g.shape.order, runs, j)] = {static_cast<Given>(value.y), static_cast<Given>(-value.x)};
            continue;
        }
        const int row = f / 32;
        const int lane = f % 32;
        const int at = g.shape.order == SpectrumOrder::couples  ? couple_place(row, lane)
                       : g.shape.order == SpectrumOrder::halves ? fft::halves_place(row, lane)
                                                                : f;
        to[run * kPoints + at] = {static_cast<Given>(value.x), static_cast<Given>(value.y)};
    }
}

}  // namespace

namespace {

SpectrumPlan plan_for(const Problem& p, const SpectrumShape& shape) {
    const PointType type = point_type_of(p);
    SpectrumPlan plan;
    plan.job.k = static_cast<int>(p.x.k);
    plan.job.is_complex = type.is_complex ? 1 : 0;
    plan.job.real_taps = has_real_taps(p) ? 1 : 0;
    plan.job.shape = shape;
    return plan;
}

/// One or two runs a block, and the blocks for them.
template <class T, class Given>
void choose_kernel(SpectrumPlan& plan) {
    const int runs = plan.job.shape.rows * plan.job.shape.warps;
    const bool together = runs >= kMany;
    plan.kernel = together ? &spectrum_kernel<T, Given, kTogether> : &spectrum_kernel<T, Given, 1>;
    plan.blocks = static_cast<unsigned>(together ? runs / kTogether : runs);
    load_kernel(plan.kernel);
}

}  // namespace

SpectrumPlan load_spectrum(const Problem& p, const SpectrumShape& shape) {
    SpectrumPlan plan = plan_for(p, shape);
    if (point_type_of(p).is_wide()) {
        choose_kernel<double, double>(plan);
    } else {
        choose_kernel<float, float>(plan);
    }
    plan.blocks += static_cast<unsigned>(std::min(1 + plan.job.k / (4 * kThreads), kMostCopying));
    return plan;
}

void launch_spectrum(const SpectrumPlan& plan, const void* ready, void* tables, void* taps, const cuda_abi::DeviceTaps& given,
                     cudaStream_t stream) {
    SpectrumJob job = plan.job;
    job.given = given.data;
    job.ready = ready;
    job.tables = tables;
    job.taps = taps;
    job.reversed = given.reversed;
    job.conjugated = given.conjugated;
    launch_kernel(plan.kernel, plan.blocks, kThreads, 0, stream, job);
}

SpectrumPlan load_plan_spectra(const Prepared& prepared, const SpectrumShape& shape, const SpectrumTaps& taps) {
    const Problem& p = prepared.problem;
    SpectrumPlan plan = plan_for(p, shape);
    plan.job.shape.ready_bytes = 0;
    plan.job.of = taps;
    const bool wide = point_type_of(p).is_wide();
    const int runs = shape.rows * shape.warps;
    if (p.taps_come_later && taps.lags == 0) {
        plan.columns = wide ? columns_kernel_of<double>(runs) : columns_kernel_of<float>(runs);
        plan.column_blocks = static_cast<unsigned>(kPoints / (wide ? kColumns<double> : kColumns<float>));
    }
    if (plan.columns != nullptr) {
        load_kernel(plan.columns);
        plan.job.has_columns = 1;
        plan.kernel = wide ? &spectrum_kernel<double, double, 1> : &spectrum_kernel<float, float, 1>;
        plan.blocks = static_cast<unsigned>(runs);
        load_kernel(plan.kernel);
    }
    plan.job.spectra = taps.filters * std::max(taps.parts, taps.lags);
    if (p.taps_come_later && !wide && (runs <= kMostRunsOfBlock || plan.columns != nullptr)) {
        const WarpsKernel by_warps = warps_kernel_of(runs);
        if (by_warps.shared_bytes <= prepared.device.shared_bytes_per_block) {
            plan.by_warps = by_warps.function;
            plan.warps = by_warps.warps;
            plan.shared_bytes = by_warps.shared_bytes;
            const auto bytes = static_cast<std::size_t>(plan.shared_bytes);
            load_kernel(plan.by_warps, bytes, prepared.device);
            plan.blocks_held = prepared.device.multiprocessors * blocks_held(plan.by_warps, 32 * plan.warps, bytes);
        }
    }
    if (plan.by_warps != nullptr || plan.columns != nullptr) { return plan; }
    if (wide) {
        choose_kernel<double, double>(plan);
    } else if (p.taps_come_later) {
        choose_kernel<float, float>(plan);
    } else {
        choose_kernel<double, float>(plan);
    }
    return plan;
}

void launch_plan_spectra(const SpectrumPlan& plan, const void* taps, void* to, cudaStream_t stream) {
    constexpr int kMostAtOnce = 65535;  // rows of a grid
    SpectrumJob job = plan.job;
    job.given = taps;
    job.tables = to;
    for (; job.first_spectrum < job.spectra; job.first_spectrum += kMostAtOnce) {
        const auto some = static_cast<unsigned>(std::min(job.spectra - job.first_spectrum, kMostAtOnce));
        if (plan.columns != nullptr) {
            launch_kernel(plan.columns, dim3(plan.column_blocks, some), kColumnThreads, 0, stream, job);
        }
        if (plan.by_warps == nullptr) { launch_kernel(plan.kernel, dim3(plan.blocks, some), kThreads, 0, stream, job); }
    }
    if (plan.by_warps == nullptr) { return; }
    const std::int64_t runs = std::int64_t{job.spectra} * job.shape.rows * job.shape.warps;
    const std::int64_t blocks = std::min<std::int64_t>(divide_up(runs, plan.warps), plan.blocks_held);
    launch_kernel(plan.by_warps, static_cast<unsigned>(blocks), static_cast<unsigned>(32 * plan.warps),
                  static_cast<std::size_t>(plan.shared_bytes), stream, job);
}

void launch_later_spectra(const Prepared& prepared, const OrderPlan& order, const SpectrumPlan& plan, std::int64_t ready_bytes,
                          void* tables, void* taps, const GivenFilters& given, cudaStream_t stream) {
    launch_order(order, prepared, taps, given, {.from = prepared.on_device.tables, .to = tables, .bytes = ready_bytes}, stream);
    launch_plan_spectra(plan, taps, static_cast<char*>(tables) + ready_bytes, stream);
}

double spectra_seconds(const Problem& p, std::int64_t points, std::int64_t spectra, bool long_rows,
                       const cuda_abi::Device& device) {
    const auto runs = static_cast<double>(spectra * points / kPoints);
    const double bytes = static_cast<double>(spectra * points) * point_type_of(p).point_bytes;
    const double run = long_rows || point_type_of(p).is_wide() ? kRunOfBlockSeconds : kRunSeconds;
    return runs * run / device.multiprocessors + 2 * bytes / device.copy_bytes_per_second;
}

}  // namespace tapline::cuda::overlap_save
