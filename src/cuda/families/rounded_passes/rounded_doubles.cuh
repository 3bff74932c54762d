// The same passes where doubles are as fast as other numbers: sums in double, a run of a line's outputs a thread.
#pragma once

#include "cuda/families/rounded_passes/rounded_passes.cuh"

namespace tapline::cuda::rounded_passes {

/// Under the first taps of a thread's run: the samples that its outputs share move along in registers.
constexpr int kHeld = 2 * kRun - 1;

/// Adds some taps, of those from `first` on, to a run's sums; sample(j) is the next one, that tap `first` + j brings.
template <class Sample>
__device__ __forceinline__ void add_taps(const DoublesArguments& a, int which, int first, double (&held)[kHeld],
                                         double (&sums)[kRun], const Sample& sample) {
    const int taps = a.passes.pass[which].taps;
#pragma unroll
    for (int j = 0; j < kRun; ++j) {
        if (first + j < taps) {
            held[kRun - 1 + j] = sample(j);
            const double weight = a.weights[which][first + j];
#pragma unroll
            for (int i = 0; i < kRun; ++i) { sums[i] = fma(weight, held[i + j], sums[i]); }
        }
    }
#pragma unroll
    for (int i = 0; i < kRun - 1; ++i) { held[i] = held[kRun + i]; }
}

/// 2^52 more than a sample has it in its lowest bits.
__device__ __forceinline__ double as_double(unsigned sample, double zero) {
    return __hiloint2double(0x43300000, static_cast<int>(sample)) - zero;
}

/// A sum as it is stored, its sign flipped: without its fraction, of whole numbers the low bits.
template <int kBytes>
__device__ __forceinline__ unsigned cut_off(const DoublesArguments& a, int which, double sum) {
    const auto whole = static_cast<unsigned>(static_cast<int>(sum * a.scale[which]));
    return (whole ^ a.passes.flip) & (kBytes == 1 ? 0xff : 0xffff);
}

/// Lanes lie across the columns.
template <int kBytes>
__device__ __forceinline__ void sum_down(const DoublesArguments& all, const std::uint16_t* samples, std::uint16_t* between,
                                         int lines, int rows, int first_column) {
    const PassesArguments& a = all.passes;
    const double zero = all.zero;
    // Beyond the ends there is the constant before the second pass, not what the first one makes of it.
    const bool constant_ends = a.pass[1].taps > 0 && a.pass[1].boundary <= kConstant;
    const int units = lines * ((rows + kRun - 1) / kRun);
#pragma unroll 1
    for (int unit = static_cast<int>(threadIdx.x); unit < units; unit += kThreads) {
        const int run = unit / lines;
        const int column = unit - run * lines;
        const int at = kRun * run * a.in_pitch + column;
        const std::uint16_t* from = samples + at;
        double held[kHeld] = {};
        double sums[kRun] = {};
#pragma unroll
        for (int i = 0; i < kRun - 1; ++i) { held[i] = as_double(from[i * a.in_pitch], zero); }
        from += (kRun - 1) * a.in_pitch;
#pragma unroll 1
        for (int first = 0; first < a.pass[0].taps; first += kRun) {
            add_taps(all, 0, first, held, sums, [&](int j) { return as_double(from[j * a.in_pitch], zero); });
            from += kRun * a.in_pitch;
        }
        const int x = first_column + column;
        const bool outside = constant_ends && (x < 0 || x >= a.columns);
#pragma unroll
        for (int i = 0; i < kRun; ++i) {
            between[at + i * a.in_pitch] = static_cast<std::uint16_t>(outside ? a.constant : cut_off<kBytes>(all, 0, sums[i]));
        }
    }
}

/// A thread has neighbouring places of a row, which are a vector of shared memory.
template <int kBytes>
__device__ __forceinline__ void sum_along(const DoublesArguments& all, const std::uint16_t* between, std::uint16_t* out, int rows,
                                          int columns) {
    const PassesArguments& a = all.passes;
    const double zero = all.zero;
    const auto sample_of = [zero](const uint4& v, int i) {
        const unsigned word = i < 2 ? v.x : i < 4 ? v.y : i < 6 ? v.z : v.w;
        return as_double(i % 2 == 0 ? word & 0xffff : word >> 16, zero);
    };
    const int runs = (columns + kRun - 1) / kRun;
#pragma unroll 1
    for (int unit = static_cast<int>(threadIdx.x); unit < rows * runs; unit += kThreads) {
        const int row = unit / runs;
        const int at = row * a.in_pitch + kRun * (unit - row * runs);
        const auto* from = reinterpret_cast<const uint4*>(between + at);
        uint4 here = from[0];
        double held[kHeld] = {};
        double sums[kRun] = {};
#pragma unroll
        for (int i = 0; i < kRun - 1; ++i) { held[i] = sample_of(here, i); }
#pragma unroll 1
        for (int first = 0; first < a.pass[1].taps; first += kRun) {
            ++from;
            const uint4 next = first + 1 < a.pass[1].taps ? *from : uint4{};
            add_taps(all, 1, first, held, sums, [&](int j) { return j == 0 ? sample_of(here, kRun - 1) : sample_of(next, j - 1); });
            here = next;
        }
        unsigned made[kRun];
#pragma unroll
        for (int i = 0; i < kRun; ++i) { made[i] = cut_off<kBytes>(all, 1, sums[i]); }
        *reinterpret_cast<uint4*>(out + at) =
            uint4{made[0] | made[1] << 16, made[2] | made[3] << 16, made[4] | made[5] << 16, made[6] | made[7] << 16};
    }
}

/// A tile of an image. In shared memory all numbers have 16 bits: samples, over which outputs lie, then what is between the passes.
template <int kBytes>
__global__ void __launch_bounds__(kThreads, 3) doubles_kernel(const __grid_constant__ DoublesArguments all) {
    extern __shared__ __align__(128) char shared[];
    const PassesArguments& a = all.passes;
    const unsigned of_image = static_cast<unsigned>(a.tiles_down) * static_cast<unsigned>(a.tiles_across);
    const std::int64_t image = blockIdx.x / of_image;
    const unsigned tile = blockIdx.x % of_image;
    const int row = static_cast<int>(tile / static_cast<unsigned>(a.tiles_across)) * a.tile_rows;
    const int column = static_cast<int>(tile % static_cast<unsigned>(a.tiles_across)) * a.tile_columns;
    const int rows = min(a.tile_rows, a.rows - row);
    const int columns = min(a.tile_columns, a.columns - column);
    const bool down = a.pass[0].taps > 0;
    const bool along = a.pass[1].taps > 0;
    const int lines = columns + (along ? a.pass[1].taps - 1 : 0);
    const int first_column = column - (along ? a.pass[1].origin : 0);
    auto* const samples = reinterpret_cast<std::uint16_t*>(shared);
    std::uint16_t* const between = samples + a.in_rows * a.in_pitch;

    const int loaded = down ? 0 : a.in_rows * a.in_pitch;  // distances keep the addresses those of shared memory
    const int first_row = row - (down ? a.pass[0].origin : 0);
    load_tile<Shape<kBytes, true>>(a, image * a.in_image, first_row, first_column, rows + (down ? a.pass[0].taps - 1 : 0), lines,
                                   [&](int quad, int four, const std::uint32_t(&h)[4][kBytes]) {
#pragma unroll
                                       for (int r = 0; r < 4; ++r) {
                                           const unsigned high = kBytes == 1 ? 0 : h[r][kBytes - 1];
                                           *reinterpret_cast<uint2*>(samples + loaded + (4 * quad + r) * a.in_pitch + 4 * four) =
                                               uint2{__byte_perm(h[r][0], high, 0x5140), __byte_perm(h[r][0], high, 0x7362)};
                                       }
                                   });
    __syncthreads();
    if (down) {
        sum_down<kBytes>(all, samples, between, lines, rows, first_column);
        __syncthreads();
    }
    if (along) {
        sum_along<kBytes>(all, between, samples, rows, columns);
        __syncthreads();
    }
    const int made = along ? 0 : a.in_rows * a.in_pitch;
    const auto four = [&](int row_of, int first, int plane) {
        const auto* const words = reinterpret_cast<const unsigned*>(samples + made + row_of * a.in_pitch) + first / 2;
        const bool odd = first % 2 != 0;
        const unsigned low = odd ? __funnelshift_r(words[0], words[1], 16) : words[0];
        const unsigned high = odd ? __funnelshift_r(words[1], words[2], 16) : words[1];
        return __byte_perm(low, high, plane == 0 ? 0x6420 : 0x7531);
    };
    const auto one = [&](int row_of, int k) { return unsigned{samples[made + row_of * a.in_pitch + k]}; };
    store_tile<kBytes>(a, image * a.out_image + row * a.out_row + column, rows, columns, four, one);
}

}  // namespace tapline::cuda::rounded_passes
