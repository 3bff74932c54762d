// A row's samples as numbers of 64 bits, and its outputs.
#pragma once

#include "cuda/families/integer/integer_finish.cuh"
#include "cuda/families/integer/integer_signal.hpp"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::integer {

/// An element as a number.
template <class Raw>
__device__ __forceinline__ std::int64_t widened_raw(const Signal& g, Raw raw) {
    if constexpr (sizeof(Raw) == 8) {
        return static_cast<std::int64_t>(raw);
    } else {
        const auto with_sign = static_cast<std::int32_t>(static_cast<std::make_signed_t<Raw>>(raw));
        const std::int64_t x = g.in_signed != 0 ? with_sign : static_cast<std::int64_t>(raw);
        return sizeof(Raw) == 1 && g.in_bool != 0 ? (x != 0 ? 1 : 0) : x;
    }
}

__device__ __forceinline__ std::int64_t load_integer(const Signal& g, std::int64_t index) {
    std::int64_t x = 0;
    with_raw(g.in_bytes, [&](auto raw) { x = widened_raw(g, static_cast<const decltype(raw)*>(g.a.in)[index]); });
    return x;
}

/// The sample at a position counted from sample in_first, where it may be outside.
__device__ __noinline__ inline std::int64_t sample_elsewhere(const Signal& g, std::int64_t row, std::int64_t at) {
    const Arguments& a = g.a;
    const std::int64_t index = near_boundary_index(a.boundary, a.in_first + at, a.n);
    if (index < 0) { return a.boundary == kConstant ? g.constant : 0; }
    if (index < a.in_first || index >= a.in_last) { return 0; }  // belongs to no output that was asked for
    return load_integer(g, row + (index - a.in_first) * a.in_sample);
}
__device__ __forceinline__ std::int64_t sample_at(const Signal& g, std::int64_t row, std::int64_t at) {
    if (at >= 0 && at < g.a.in_last - g.a.in_first) { return load_integer(g, row + at * g.a.in_sample); }
    return g.a.boundary == kZero ? 0 : sample_elsewhere(g, row, at);
}

/// Output o, counted from the job's first one; `sum` as finish() takes it.
template <class S>
__device__ __forceinline__ void put_output(const Signal& g, const LineTile& tile, std::int64_t o, const S& sum) {
    std::uint64_t raw = 0;
    if (!finish(g.finish, sum, raw) && g.found != nullptr) {
        // As Found counts where the batch is the only axis; other overflows are left to integer_any.
        const auto number = static_cast<unsigned long long>((g.batch_first + tile.row) * g.outputs + g.a.first + o);
        atomicMin(&g.found->output, number);
    }
    store_raw(g.a.out, g.finish.output_bytes, tile.out + o * g.a.out_sample, raw);
}

/// Whether outputs are the low bytes of sums, whatever those are.
__device__ __forceinline__ bool stores_low_bytes(const Signal& g) {
    return is_plain(g.finish) && (g.finish.wraps != 0 || g.found == nullptr);
}

/// Outputs o + i * step for i < kCount, as long as they are below `end` and the job's count; sum(i) are theirs.
template <int kCount, class SumOf>
__device__ __forceinline__ void put_outputs(const Signal& g, const LineTile& tile, std::int64_t o, std::int64_t end, int step,
                                            const SumOf& sum) {
    const std::int64_t left = min(g.a.count, end) - o;
    if (stores_low_bytes(g)) {
        with_raw(g.finish.output_bytes, [&](auto raw) {
            using Raw = decltype(raw);
            Raw* const out = static_cast<Raw*>(g.a.out) + tile.out + o * g.a.out_sample;
#pragma unroll
            for (int i = 0; i < kCount; ++i) {
                if (i * step < left) { out[i * step * g.a.out_sample] = static_cast<Raw>(sum(i)); }
            }
        });
        return;
    }
    std::int64_t sums[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) { sums[i] = sum(i); }
#pragma unroll 1
    for (int i = 0; i < kCount; ++i) {
        if (i * step < left) { put_output(g, tile, o + i * step, sums[i]); }
    }
}

}  // namespace tapline::cuda::integer
