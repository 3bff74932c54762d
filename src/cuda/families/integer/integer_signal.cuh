// A row's samples as numbers of 64 bits, and its outputs.
#pragma once

#include "cuda/families/integer/integer_finish.cuh"
#include "cuda/families/integer/integer_signal.hpp"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::integer {

__device__ __forceinline__ std::int64_t load_integer(const Signal& g, std::int64_t index) {
    const void* const in = g.a.in;
    switch (g.in_bytes) {
        case 1: {
            const int x = static_cast<const std::uint8_t*>(in)[index];
            return g.in_bool != 0 ? (x != 0 ? 1 : 0) : g.in_signed != 0 ? static_cast<std::int8_t>(x) : x;
        }
        case 2: {
            const int x = static_cast<const std::uint16_t*>(in)[index];
            return g.in_signed != 0 ? static_cast<std::int16_t>(x) : x;
        }
        case 4: {
            const std::uint32_t x = static_cast<const std::uint32_t*>(in)[index];
            return g.in_signed != 0 ? static_cast<std::int64_t>(static_cast<std::int32_t>(x)) : static_cast<std::int64_t>(x);
        }
        default:
            return static_cast<const std::int64_t*>(in)[index];
    }
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

/// Output o, counted from the job's first one.
__device__ __forceinline__ void put_output(const Signal& g, const LineTile& tile, std::int64_t o, std::int64_t sum) {
    std::uint64_t raw = 0;
    if (!finish(g.finish, sum, raw) && g.found != nullptr) {
        // As Found counts where the batch is the only axis; other overflows are left to integer_any.
        const auto number = static_cast<unsigned long long>((g.batch_first + tile.row) * g.outputs + g.a.first + o);
        atomicMin(&g.found->output, number);
    }
    store_raw(g.a.out, g.finish.output_bytes, tile.out + o * g.a.out_sample, raw);
}

}  // namespace tapline::cuda::integer
