// The same passes where doubles are as fast as other numbers: sums in double, a run of a line's outputs a thread.
#pragma once

#include "cuda/families/rounded_passes/rounded_passes.cuh"

namespace tapline::cuda::rounded_passes {

/// Under the first taps of a thread's run: the samples that its outputs share move along in registers.
constexpr int kHeld = 2 * kRun - 1;

/// Adds taps from `first` on, as many as a run has outputs or, kAll = false, those that are left; sample(j) is the next one, that
/// tap `first` + j brings.
template <bool kAll, class Sample>
__device__ __forceinline__ void add_taps(const DoublesArguments& a, int which, int first, double (&held)[kHeld],
                                         double (&sums)[kRun], const Sample& sample) {
#pragma unroll
    for (int j = 0; j < kRun; ++j) {
        if (kAll || first + j < a.passes.pass[which].taps) {
            held[kRun - 1 + j] = sample(j);
            const double weight = a.weights[which][first + j];
#pragma unroll
            for (int i = 0; i < kRun; ++i) { sums[i] = fma(weight, held[i + j], sums[i]); }
        }
    }
    if constexpr (kAll) {
#pragma unroll
        for (int i = 0; i < kRun - 1; ++i) { held[i] = held[kRun + i]; }
    }
}

/// Runs of lines, lanes across the lines (kDown) or along them: those of a thread, one after the other, without dividing.
struct Runs {
    int major, minor;
    int by_major, by_minor, minors;

    __device__ explicit Runs(int of_minor)
        : major(static_cast<int>(threadIdx.x) / of_minor),
          minor(static_cast<int>(threadIdx.x) - major * of_minor),
          by_major(kThreads / of_minor),
          by_minor(kThreads - by_major * of_minor),
          minors(of_minor) {}
    __device__ void next() {
        major += by_major;
        minor += by_minor;
        if (minor >= minors) {
            minor -= minors;
            ++major;
        }
    }
};

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
    const int runs = (rows + kRun - 1) / kRun;
    const int taps = a.pass[0].taps;
#pragma unroll 1
    for (Runs at(lines); at.major < runs; at.next()) {
        const int place = kRun * at.major * a.in_pitch + at.minor;
        const std::uint16_t* from = samples + place;
        double held[kHeld] = {};
        double sums[kRun] = {};
#pragma unroll
        for (int i = 0; i < kRun - 1; ++i) { held[i] = as_double(from[i * a.in_pitch], zero); }
        from += (kRun - 1) * a.in_pitch;
        const auto sample = [&](int j) { return as_double(from[j * a.in_pitch], zero); };
        int first = 0;
#pragma unroll 1
        for (; first + kRun <= taps; first += kRun) {
            add_taps<true>(all, 0, first, held, sums, sample);
            from += kRun * a.in_pitch;
        }
        add_taps<false>(all, 0, first, held, sums, sample);
        std::uint16_t* const to = between + place;
        const int x = first_column + at.minor;
        if (constant_ends && (x < 0 || x >= a.columns)) {
#pragma unroll
            for (int i = 0; i < kRun; ++i) { to[i * a.in_pitch] = static_cast<std::uint16_t>(a.constant); }
        } else {
#pragma unroll
            for (int i = 0; i < kRun; ++i) { to[i * a.in_pitch] = static_cast<std::uint16_t>(cut_off<kBytes>(all, 0, sums[i])); }
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
    const int taps = a.pass[1].taps;
#pragma unroll 1
    for (Runs at((columns + kRun - 1) / kRun); at.major < rows; at.next()) {
        const int place = at.major * a.in_pitch + kRun * at.minor;
        const auto* from = reinterpret_cast<const uint4*>(between + place);
        uint4 here = from[0];
        double held[kHeld] = {};
        double sums[kRun] = {};
#pragma unroll
        for (int i = 0; i < kRun - 1; ++i) { held[i] = sample_of(here, i); }
        uint4 next{};
        const auto sample = [&](int j) { return j == 0 ? sample_of(here, kRun - 1) : sample_of(next, j - 1); };
        int first = 0;
#pragma unroll 1
        for (; first + kRun <= taps; first += kRun) {
            next = *++from;
            add_taps<true>(all, 1, first, held, sums, sample);
            here = next;
        }
        if (first + 1 < taps) { next = *++from; }
        add_taps<false>(all, 1, first, held, sums, sample);
        unsigned made[kRun];
#pragma unroll
        for (int i = 0; i < kRun; ++i) { made[i] = cut_off<kBytes>(all, 1, sums[i]); }
        *reinterpret_cast<uint4*>(out + place) =
            uint4{made[0] | made[1] << 16, made[2] | made[3] << 16, made[4] | made[5] << 16, made[6] | made[7] << 16};
    }
}

/// A tile of an image. In shared memory all numbers have 16 bits: samples, over which outputs lie, then what is between the passes.
template <int kBytes>
__global__ void __launch_bounds__(kThreads, 4) doubles_kernel(const __grid_constant__ DoublesArguments all) {
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
