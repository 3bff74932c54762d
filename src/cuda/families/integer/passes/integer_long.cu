// Integers to digits in double before the rungs for real numbers, and their products back to exact sums.
#include "cuda/families/common/walk.cuh"
#include "cuda/families/integer/integer_signal.cuh"
#include "cuda/families/integer/passes/integer_long.hpp"

namespace tapline::cuda::integer {
namespace {

__global__ void __launch_bounds__(kPassThreads) split_samples_kernel(const __grid_constant__ Split s) {
    const bool is_unsigned = s.signal.in_bytes == 8 && s.signal.in_signed == 0;  // others have all their bits
    for_each_element(s.walk.count, [&](std::int64_t number) {
        std::int64_t rest = load_integer(s.signal, place_of(s.walk, number).at);
        if (s.digits.count == 1 && is_unsigned) {
            s.to[number] = static_cast<double>(static_cast<std::uint64_t>(rest));
            return;
        }
        for (int d = 0; d + 1 < s.digits.count; ++d) {
            s.to[d * s.plane + number] = static_cast<double>(take_digit(rest, s.digits.bits, is_unsigned && d == 0));
        }
        s.to[(s.digits.count - 1) * s.plane + number] = static_cast<double>(rest);
    });
}

/// Modulo 2^64, or all of a sum.
__device__ __forceinline__ std::int64_t sum_of_bits(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }
__device__ __forceinline__ Sum sum_of_bits(core::Uint128 bits) {
    const auto middle = static_cast<std::uint64_t>(bits >> 64);
    return {static_cast<std::uint64_t>(bits), middle, static_cast<std::int64_t>(middle) < 0 ? -1 : 0};
}

template <class Bits>
__global__ void __launch_bounds__(kPassThreads) join_products_kernel(const __grid_constant__ Join j) {
    Bits* const sums = static_cast<Bits*>(j.sums);
    for_each_element(j.walk.count, [&](std::int64_t number) {
        Bits sum = static_cast<Bits>(static_cast<core::Int128>(__double2ll_rn(j.from[number]))) << j.shift;
        if (j.is_first == 0) { sum += sums[number]; }
        if (j.is_last == 0) {
            sums[number] = sum;
            return;
        }
        const WalkPlace place = place_of(j.walk, number);
        LineTile tile{};
        tile.out = place.at - place.filtered * j.signal.a.out_sample;
        tile.row = place.batch;
        put_output(j.signal, tile, place.filtered, sum_of_bits(sum));
    });
}

}  // namespace

SplitKernel split_kernel() { return &split_samples_kernel; }
JoinKernel join_kernel(bool wide) { return wide ? &join_products_kernel<core::Uint128> : &join_products_kernel<std::uint64_t>; }

}  // namespace tapline::cuda::integer
