// Integers to digits in double before the rungs for real numbers, and their products back to exact sums.
#include "cuda/families/integer/integer_long.hpp"
#include "cuda/families/integer/integer_signal.cuh"

namespace tapline::cuda::integer {
namespace {

/// Where an element lies, and its places along two axes.
struct Place {
    std::int64_t at, filtered, batch;
};
__device__ __forceinline__ Place place_of(const Walk& walk, std::int64_t number) {
    Place place{walk.first, 0, 0};
#pragma unroll
    for (int i = 0; i < Walk::kMostAxes; ++i) {
        if (walk.lengths[i] == 1) { continue; }
        const std::int64_t rest = divide(number, walk.lengths[i]);
        const std::int64_t index = number - rest * walk.lengths[i];
        place.at += index * walk.steps[i];
        if (i == walk.filtered) { place.filtered = index; }
        if (i == walk.batch) { place.batch = index; }
        number = rest;
    }
    return place;
}

template <class Body>
__device__ __forceinline__ void for_each_element(std::int64_t count, const Body& body) {
    const std::int64_t first = std::int64_t{blockIdx.x} * (kLongThreads * kLongEach) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < kLongEach; ++i) {
        const std::int64_t number = first + i * kLongThreads;
        if (number < count) { body(number); }
    }
}

/// The lowest digit leaves `rest`.
__device__ __forceinline__ std::int64_t take_digit(std::int64_t& rest, int bits) {
    const int unused = 64 - bits;
    const std::int64_t digit = static_cast<std::int64_t>(static_cast<std::uint64_t>(rest) << unused) >> unused;
    rest = static_cast<std::int64_t>(static_cast<std::uint64_t>(rest) - static_cast<std::uint64_t>(digit)) >> bits;
    return digit;
}

__global__ void __launch_bounds__(kLongThreads) split_samples_kernel(const __grid_constant__ Split s) {
    for_each_element(s.walk.count, [&](std::int64_t number) {
        std::int64_t rest = load_integer(s.signal, place_of(s.walk, number).at);
        for (int d = 0; d + 1 < s.digits.count; ++d) {
            s.to[d * s.plane + number] = static_cast<double>(take_digit(rest, s.digits.bits));
        }
        s.to[(s.digits.count - 1) * s.plane + number] = static_cast<double>(rest);
    });
}

__global__ void __launch_bounds__(kLongThreads) join_products_kernel(const __grid_constant__ Join j) {
    for_each_element(j.walk.count, [&](std::int64_t number) {
        std::uint64_t sum = static_cast<std::uint64_t>(__double2ll_rn(j.from[number])) << j.shift;
        if (j.is_first == 0) { sum += static_cast<std::uint64_t>(j.sums[number]); }
        if (j.is_last == 0) {
            j.sums[number] = static_cast<std::int64_t>(sum);
            return;
        }
        const Place place = place_of(j.walk, number);
        LineTile tile{};
        tile.out = place.at - place.filtered * j.signal.a.out_sample;
        tile.row = place.batch;
        put_output(j.signal, tile, place.filtered, static_cast<std::int64_t>(sum));
    });
}

}  // namespace

SplitKernel split_kernel() { return &split_samples_kernel; }
JoinKernel join_kernel() { return &join_products_kernel; }

}  // namespace tapline::cuda::integer
