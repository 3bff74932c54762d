// Segments of widened samples: how every output is checked for the bound of strict accuracy, and what is not known to keep it goes
// to the list of what is summed directly (overlap_save_repair.cuh). docs/numerics.md has the inequalities.
#pragma once

#include <cfloat>

#include "cuda/families/overlap_save/overlap_save.hpp"
#include "cuda/primitives/segment.cuh"
#include "cuda/primitives/widened.cuh"

namespace tapline::cuda::overlap_save {

/// The energy of a segment's samples: the sums of the squares of their parts. Each warp leaves what it read in shared memory until
/// its outputs are made. Of samples that are not widened: nothing.
template <class S, int kWarps, bool kChecked = kIsWidened<S>>
class SegmentEnergy {
public:
    __device__ __forceinline__ explicit SegmentEnergy(char* /*energies*/) {}
    template <class Points>
    __device__ __forceinline__ const Points& measured(const Points& points) const {
        return points;
    }
    __device__ __forceinline__ void put() const {}
    __device__ __forceinline__ void get_of_many() const {}
};

template <class S, int kWarps>
class SegmentEnergy<S, kWarps, true> {
public:
    /// `energies`: double2, one for each warp of the block.
    __device__ __forceinline__ explicit SegmentEnergy(char* energies)
        : own_(reinterpret_cast<double2*>(energies) + threadIdx.x / 32) {}

    /// Points whose squares are added up as they are read: four sums, since one would wait for itself. Not a copy of the points:
    /// nvcc 13.0 reads what that refers to, the kernel's parameter, as if it were local memory.
    template <class Points>
    struct Measured {
        const Points& points;
        double (&squares)[4];
        __device__ __forceinline__ void operator()(int c, int t, double& x, double& y) const {
            points(c, t, x, y);
            const int turn = c / Division<kWarps, kIsComplexElement<S>>::kSpan % 2;
            double& first = squares[turn];
            double& second = squares[2 + turn];
            first = fma(x, x, first);
            second = fma(y, y, second);
        }
    };
    template <class Points>
    __device__ __forceinline__ Measured<Points> measured(const Points& points) {
        for (double& sum : squares_) { sum = 0; }
        return {points, squares_};
    }
    /// By all lanes, once all is read. A barrier of the segment follows.
    __device__ __forceinline__ void put() const {
        double2 sum{squares_[0] + squares_[1], squares_[2] + squares_[3]};
        if constexpr (!kIsComplexElement<S>) { sum = {sum.x + sum.y, 0}; }
#pragma unroll
        for (int mask = 16; mask > 0; mask /= 2) {
            sum.x += __shfl_xor_sync(0xffffffffu, sum.x, mask);
            if constexpr (kIsComplexElement<S>) { sum.y += __shfl_xor_sync(0xffffffffu, sum.y, mask); }
        }
        if (threadIdx.x % 32 == 0) { *own_ = sum; }
    }
    /// Of more than two warps each has read a part. Between two barriers of the segment.
    __device__ __forceinline__ void get_of_many() {
        if constexpr (kWarps > 2) {
            const double2* const first = own_ - threadIdx.x / 32 % kWarps;
            of_many_ = {0, 0};
            for (int warp = 0; warp < kWarps; ++warp) {
                of_many_.x += first[warp].x;
                of_many_.y += first[warp].y;
            }
        }
    }
    [[nodiscard]] __device__ __forceinline__ double2 get() const {
        if constexpr (kWarps > 2) { return of_many_; }
        return *own_;
    }

private:
    double2* own_;
    double2 of_many_{};
    double squares_[4]{};
};

/// The bound of a row's filter.
__device__ __forceinline__ const FilterBound& bound_of_row(const Checks& checks, std::int64_t row) {
    return checks.bounds[checks.filters == 1 ? 0 : (checks.first_filter + row) % checks.filters];
}

/// Whether the terms of the filter's largest taps alone make the sums of magnitudes of output o, of each component, at least
/// `least`. A part of zeros is no component. False of NaN. `in`: sample in_first of the row.
template <class S>
__device__ __forceinline__ bool reaches(const Arguments& a, const FilterBound& bound, const S* in, std::int64_t o, double2 least) {
    constexpr int kAtOnce = 4;  // loads that do not wait for each other
    const std::int64_t position = a.first + o - a.origin;
    const S* const first = in + (position - a.in_first) * a.in_sample;
    const bool inside = position >= a.in_first && position + a.k <= a.in_last;
    double2 sum{0, 0};
#pragma unroll 1
    for (int i = 0; i < kLargestTaps; i += kAtOnce) {
        S x[kAtOnce];
        if (inside) {
#pragma unroll
            for (int j = 0; j < kAtOnce; ++j) { x[j] = load_element(first + bound.positions[i + j] * a.in_sample); }
        } else {
            for (int j = 0; j < kAtOnce; ++j) { x[j] = sample(a, in, position + bound.positions[i + j]); }
        }
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j) {
            const auto wide = Element<S>::widen(x[j]);
            const double re = bound.re[i + j];
            if constexpr (kIsComplexElement<S>) {
                const double im = bound.im[i + j];
                sum.x += re * fabs(wide.x) + im * fabs(wide.y);
                sum.y += re * fabs(wide.y) + im * fabs(wide.x);
            } else {
                sum.x += re * fabs(wide);
            }
        }
        if (sum.x >= least.x && sum.y >= least.y) { return true; }
    }
    return false;
}

/// Lists the groups of a warp's outputs that hold one which may not keep its bound. `below`: of the thread's outputs, as
/// OutputChecks::below_; `norm`: of the samples; silent: complex samples' parts that are zeros throughout.
template <class S, int kWarps>
__device__ __noinline__ void list_failed(const Arguments& a, const Checks& checks, std::int64_t row, std::int64_t first_output,
                                         int wanted, int mine, std::uint64_t below, double norm, bool silent_x, bool silent_y) {
    using Parts = Division<kWarps, kIsComplexElement<S>>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const FilterBound& bound = bound_of_row(checks, row);
    const S* const in = static_cast<const S*>(a.in) + row * a.in_row;
    const double least = bound.least_sum * norm;
    const double2 leasts{silent_x ? -1 : least, silent_y || !kIsComplexElement<S> ? -1 : least};
    const auto offset = [](int u) { return Parts::offset(u % 32) + (u < 32 ? 0 : kPoints * kWarps); };
    std::uint64_t failed = 0;
#pragma unroll 1
    for (int u = 0; u < (kIsComplexElement<S> ? 32 : 64); ++u) {
        bool fails = (below >> u & 1) != 0;
        if (!__any_sync(0xffffffffu, fails)) { continue; }
        const int at = mine + offset(u);
        fails = fails && at < wanted && !reaches(a, bound, in, first_output + at, leasts);
        if (__any_sync(0xffffffffu, fails)) { failed |= std::uint64_t{1} << u; }
    }
    if (failed == 0) { return; }
    unsigned place = 0;
    if (lane == 0) { place = atomicAdd(checks.failed_groups, static_cast<unsigned>(__popcll(failed))); }
    place = __shfl_sync(0xffffffffu, place, 0);
    for (int u = lane; u < 64; u += 32) {
        if ((failed >> u & 1) == 0) { continue; }
        const std::int64_t group = (first_output + mine - lane + offset(u)) / kGroup;
        checks.failed[place + static_cast<unsigned>(__popcll(failed & ((std::uint64_t{1} << u) - 1)))] =
            static_cast<unsigned>(checks.first_group + row * checks.groups + group);
    }
}

/// The checks of a thread's outputs (SegmentOutputs has which they are). Of samples that are not widened: nothing.
template <class S, int kWarps, bool kChecked = kIsWidened<S>>
struct OutputChecks {
    template <class Energy>
    __device__ __forceinline__ OutputChecks(const Checks&, const Energy&, std::int64_t /*row*/) {}
    template <int kStages, int kStage, class T>
    __device__ __forceinline__ void look(T*, T*) const {}
};

template <class S, int kWarps>
class OutputChecks<S, kWarps, true> {
public:
    static constexpr bool kComplex = kIsComplexElement<S>;
    using Parts = Division<kWarps, kComplex>;

    template <class Energy>
    __device__ __forceinline__ OutputChecks(const Checks& checks, const Energy& energy, std::int64_t row) : checks_(checks) {
        const double2 squares = energy.get();
        const double all = squares.x + squares.y;
        // Samples that are finite have a finite energy: nothing else passes.
        norm_ = all <= DBL_MAX ? sqrt(all) : NAN;
        // With real taps each part of a signal is one of its own.
        const FilterBound& bound = bound_of_row(checks, row);
        silent_x_ = kComplex && bound.least_output >= 0 && checks.real_taps != 0 && squares.x == 0;
        silent_y_ = kComplex && bound.least_output >= 0 && checks.real_taps != 0 && squares.y == 0;
        least_ = bound.least_output * norm_;
    }
    /// Before the epilogue, by all lanes.
    template <int kStages, int kStage>
    __device__ __forceinline__ void look(double* re, double* im) {
        constexpr int kOfStage = 32 / kStages;
        if constexpr (kComplex) {
            if (silent_x_) { zero<kOfStage, kStages, kStage>(re); }
            if (silent_y_) { zero<kOfStage, kStages, kStage>(im); }
        }
        const double least_x = silent_x_ ? -1 : least_;
        const double least_y = silent_y_ ? -1 : least_;
        bool any = false;
        fft::for_each_index<0, kOfStage>([&](auto output) {
            constexpr int r = Parts::held(Parts::staged(kStages, kStage, decltype(output)::value));
            any = any || !(fabs(re[r]) >= least_x) || !(fabs(im[r]) >= least_y);
        });
        if (!__any_sync(0xffffffffu, any)) { return; }
        fft::for_each_index<0, kOfStage>([&](auto output) {
            constexpr int u = Parts::staged(kStages, kStage, decltype(output)::value);
            constexpr int r = Parts::held(u);
            constexpr int v = kComplex ? u : u + 32;
            below_ |= static_cast<std::uint64_t>(!(fabs(re[r]) >= least_x)) << u;
            below_ |= static_cast<std::uint64_t>(!(fabs(im[r]) >= least_y)) << v;
        });
    }
    /// By all lanes, when nothing is in registers any more.
    template <class Outputs>
    __device__ __forceinline__ void tell(const Arguments& a, const Outputs& outputs) const {
        if (!__any_sync(0xffffffffu, below_ != 0)) { return; }
        list_failed<S, kWarps>(a, checks_, outputs.row, outputs.first_output, outputs.wanted, outputs.mine, below_, norm_,
                               silent_x_, silent_y_);
    }

private:
    template <int kOfStage, int kStages, int kStage>
    static __device__ __forceinline__ void zero(double* part) {
        fft::for_each_index<0, kOfStage>(
            [&](auto output) { part[Parts::held(Parts::staged(kStages, kStage, decltype(output)::value))] = 0; });
    }

    const Checks& checks_;
    double norm_, least_;
    bool silent_x_, silent_y_;
    std::uint64_t below_ = 0;  // bit u: output mine + offset(u); real segments' imaginary parts: bit 32 + u
};

}  // namespace tapline::cuda::overlap_save
