// Exact sums of integers: one output a thread, whatever the layout, the boundary and the number of axes.
#pragma once

#include "cuda/families/integer/integer_any.hpp"
#include "cuda/families/integer/integer_finish.cuh"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::integer {

/// Where an output stands.
struct AnyPlace {
    std::int64_t z = 0, y = 0, x = 0;  // of the problem's outputs
    std::int64_t channel = 0, batch = 0;
    std::int64_t in = 0, out = 0;  // elements, from the outer axes
    std::int64_t set = 0;          // its first filter, from there too
    std::int64_t outer = 0;        // counted through them
};

/// What a tap meets along one axis.
struct AnyMet {
    enum class What { absent, constant, sample };
    What what = What::absent;
    std::int64_t offset = 0;
};

__device__ __forceinline__ AnyMet meet(const AnyAxis& a, std::int64_t position) {
    if (position < a.in_first || position >= a.in_last) {
        const std::int64_t index = near_boundary_index(a.boundary, position, a.n);
        if (index < 0) { return {a.boundary == kConstant ? AnyMet::What::constant : AnyMet::What::absent, 0}; }
        // A sample that is not there belongs to no output that was asked for.
        if (index < a.in_first || index >= a.in_last) { return {}; }
        position = index;
    }
    return {AnyMet::What::sample, (position - a.in_first) * a.in_stride};
}

/// A sum modulo 2^64, which is all of it where that is known to fit.
struct Narrow {
    std::uint64_t sum = 0;
    __device__ __forceinline__ void add(std::int64_t x, std::int64_t h, bool /*wholes*/) {
        sum += static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(h);
    }
    [[nodiscard]] __device__ __forceinline__ bool finish(const Finish& f, std::uint64_t& raw) const {
        return integer::finish(f, static_cast<std::int64_t>(sum), raw);
    }
};

/// A sum of any size.
struct Exact {
    Wide low = 0;
    std::int64_t high = 0;
    __device__ __forceinline__ void add(std::int64_t x, std::int64_t h, bool wholes) {
        __extension__ typedef __int128 SignedWide;
        const Wide product = wholes ? static_cast<Wide>(static_cast<std::uint64_t>(x)) * static_cast<std::uint64_t>(h)
                                    : static_cast<Wide>(static_cast<SignedWide>(x) * h);
        low += product;
        high += (low < product ? 1 : 0) - (!wholes && (product >> 127) != 0 ? 1 : 0);
    }
    [[nodiscard]] __device__ __forceinline__ Sum sum() const {
        return {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(low >> 64), high};
    }
    [[nodiscard]] __device__ __forceinline__ bool finish(const Finish& f, std::uint64_t& raw) const {
        return integer::finish(f, sum(), raw);
    }
};

template <class T>
__device__ __forceinline__ std::int64_t load(const Any& g, std::int64_t index) {
    const auto x = static_cast<std::int64_t>(static_cast<const T*>(g.in)[index]);
    if constexpr (sizeof(T) == 1 && static_cast<T>(-1) > 0) { return g.is_bool != 0 && x != 0 ? 1 : x; }
    return x;
}

/// Adds a row of taps; `row`: the element that sample in_first of x has, or none where all stand for the constant.
template <class T, class Accumulator>
__device__ __forceinline__ void add_row(Accumulator& sum, const Any& g, std::int64_t o, bool is_constant, std::int64_t row,
                                        const std::int64_t* taps) {
    const AnyAxis& x = g.x;
    const std::int64_t position = o - x.origin;
    const bool wholes = g.wholes != 0;
    const auto add_outside = [&](std::int64_t from, std::int64_t to) {
#pragma unroll 1
        for (std::int64_t t = from; t < to; ++t) {
            const AnyMet met = meet(x, position + t);
            if (met.what == AnyMet::What::absent) { continue; }
            const bool constant = is_constant || met.what == AnyMet::What::constant;
            sum.add(constant ? g.constant : load<T>(g, row + met.offset), taps[t], wholes);
        }
    };
    const std::int64_t first = min(max(x.in_first - position, std::int64_t{0}), x.k);
    const std::int64_t last = is_constant ? first : max(min(x.in_last - position, x.k), first);
    // Outside there is nothing under most boundaries that are most common.
    if (is_constant || x.boundary != kZero) { add_outside(0, first); }
    std::int64_t at = row + (position + first - x.in_first) * x.in_stride;
#pragma unroll 4
    for (std::int64_t t = first; t < last; ++t, at += x.in_stride) { sum.add(load<T>(g, at), __ldg(taps + t), wholes); }
    if (is_constant || x.boundary != kZero) { add_outside(last, x.k); }
}

template <class T, class Accumulator>
__device__ __forceinline__ Accumulator sum_at(const Any& g, const AnyPlace& p) {
    const std::int64_t filter =
        g.of_rank_1 != 0 ? g.first_set + p.set + (g.first_in_set + p.batch) % g.filters : p.channel % g.filters;
    const auto* taps = reinterpret_cast<const std::int64_t*>(static_cast<const char*>(g.taps) + filter * g.filter_bytes);
    const std::int64_t item = p.in + p.batch * g.batch_in + p.channel * g.channel_in;
    Accumulator sum;
#pragma unroll 1
    for (std::int64_t i = 0; i < g.z.k; ++i) {
        const AnyMet z = meet(g.z, p.z + i - g.z.origin);
#pragma unroll 1
        for (std::int64_t j = 0; j < g.y.k; ++j, taps += g.x.k) {
            const AnyMet y = meet(g.y, p.y + j - g.y.origin);
            if (z.what == AnyMet::What::absent || y.what == AnyMet::What::absent) { continue; }
            const bool is_constant = z.what == AnyMet::What::constant || y.what == AnyMet::What::constant;
            add_row<T>(sum, g, p.x, is_constant, item + z.offset + y.offset, taps);
        }
    }
    return sum;
}

/// Of the job's output number `number`, in memory's order.
__device__ __forceinline__ AnyPlace place_of(const Any& g, std::int64_t number) {
    AnyPlace p;  // axes of one output are not walked along
    p.z = g.z.first;
    p.y = g.y.first;
    p.x = g.x.first;
    std::int64_t outer[Any::kOuter] = {};
#pragma unroll 1
    for (int i = 0; i < g.axes; ++i) {
        const Walked& axis = g.walked[i];
        const std::int64_t rest = divide(number, axis.length);
        const std::int64_t at = number - rest * axis.length;
        number = rest;
        p.out += at * axis.out_stride;
        switch (axis.role) {
            case Role::z:
                p.z = g.z.first + at;
                break;
            case Role::y:
                p.y = g.y.first + at;
                break;
            case Role::x:
                p.x = g.x.first + at;
                break;
            case Role::channel:
                p.channel = at;
                break;
            case Role::batch:
                p.batch = at;
                break;
            default:
#pragma unroll
                for (int o = 0; o < Any::kOuter; ++o) { outer[o] = axis.outer == o ? at : outer[o]; }
                break;
        }
    }
#pragma unroll
    for (int o = 0; o < Any::kOuter; ++o) {
        p.in += outer[o] * g.outer_in[o];
        p.set += outer[o] * g.outer_filters[o];
        p.outer = p.outer * g.outer_length[o] + outer[o];
    }
    return p;
}

/// As Found::output counts.
__device__ __forceinline__ unsigned long long number_of(const Any& g, const AnyPlace& p) {
    const std::int64_t row = (p.outer * (g.batch_first + g.batch) + g.batch_first + p.batch) * g.channels + p.channel;
    return static_cast<unsigned long long>(((row * g.z.outputs + p.z) * g.y.outputs + p.y) * g.x.outputs + p.x);
}
__device__ inline AnyPlace place_of_found(const Any& g, unsigned long long number) {
    AnyPlace p;
    auto rest = static_cast<std::int64_t>(number);
    const auto take = [&](std::int64_t length) {
        const std::int64_t before = rest;
        rest /= length;
        return before - rest * length;
    };
    p.x = take(g.x.outputs);
    p.y = take(g.y.outputs);
    p.z = take(g.z.outputs);
    p.channel = take(g.channels);
    p.batch = take(g.batch_first + g.batch) - g.batch_first;
    for (int o = Any::kOuter - 1; o >= 0; --o) {
        const std::int64_t at = take(g.outer_length[o]);
        p.in += at * g.outer_in[o];
        p.set += at * g.outer_filters[o];
    }
    return p;
}

template <class T, class Accumulator>
__global__ void __launch_bounds__(kThreads) any_sums_kernel(const __grid_constant__ Any g) {
    if (g.unless_fits != 0 && g.found->largest <= g.most) { return; }
    for (std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; number < g.outputs;
         number += static_cast<std::int64_t>(gridDim.x) * kThreads) {
        const AnyPlace p = place_of(g, number);
        const Accumulator sum = sum_at<T, Accumulator>(g, p);
        std::uint64_t raw = 0;
        if (!sum.finish(g.finish, raw) && g.found != nullptr) { atomicMin(&g.found->output, number_of(g, p)); }
        store_raw(g.out, g.finish.output_bytes, p.out, raw);
    }
}

template <class T>
__global__ void found_sum_kernel(const __grid_constant__ Any g) {
    if (g.found->output == kNone) { return; }
    const AnyPlace p = place_of_found(g, g.found->output);
    g.found->sum = sum_at<T, Exact>(g, p).sum();
    g.found->row = (g.batch_first + p.batch) * g.channels + p.channel;
    g.found->place = (p.z * g.y.outputs + p.y) * g.x.outputs + p.x;
}

__global__ void nothing_found_kernel(Found* found) {
    found->output = kNone;
    found->largest = 0;
}

}  // namespace tapline::cuda::integer
