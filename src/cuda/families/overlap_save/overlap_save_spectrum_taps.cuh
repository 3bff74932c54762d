// Which taps a spectrum is made of.
#pragma once

#include "cuda/families/overlap_save/overlap_save_spectrum.hpp"
#include "cuda/primitives/segment.cuh"
#include "cuda/primitives/turns.cuh"

namespace tapline::cuda::overlap_save {

/// The taps of one spectrum. Numbers are those of its polynomial's coefficients: of whole rows the last tap comes first.
struct OwnTaps {
    const void* given;
    int k, begin, end;  // of all taps; those that there are
    int reversed;
    int skip;  // coefficient i belongs to the power i + skip
    int count;

    template <class Given>
    __device__ __forceinline__ OwnTaps(const SpectrumJob& g, Given, int spectrum)
        : given(g.given), k(g.k), begin(0), end(g.k), reversed(g.reversed), skip(g.shape.skip), count(g.k) {
        const SpectrumTaps& of = g.of;
        const int filter = of.lags > 0 ? spectrum / of.lags : spectrum % of.filters;
        const auto* bytes = static_cast<const char*>(g.given) + filter * of.pitch_bytes;
        if (of.lags > 0) {
            // Powers origin - t - lag are moved by one round, so that none is negative; of halves those past a round are the
            // other half's.
            const int points = kPoints * g.shape.rows * g.shape.warps;
            skip = of.origin - spectrum % of.lags * points - (k - 1) + points;
            reversed = 1;
            if (of.lags > 1) { end = min(k, 2 * points - skip); }
        } else if (of.part_taps > 0) {
            const int part = spectrum / of.filters;
            const int own = part * of.part_taps;
            const int first = part > 0 && part == of.parts - 1 ? of.last_first : own;
            begin = own - first;
            end = min(own + of.part_taps, k) - first;
            count = end;
            bytes += static_cast<std::int64_t>(first) * (g.real_taps != 0 ? 1 : 2) * static_cast<int>(sizeof(Given));
        }
        given = bytes;
    }
};

/// Tap t in correlation order, or one of its parts; zero where there is none. That is no branch: loads need not wait for each
/// other.
template <class T, class Given, int kParts>
__device__ __forceinline__ T part_of_tap(const OwnTaps& g, int t, int part = 0) {
    const int inside = min(max(t, g.begin), g.end - 1);
    const Given value = static_cast<const Given*>(g.given)[kParts * (g.reversed != 0 ? g.k - 1 - inside : inside) + part];
    return t == inside ? static_cast<T>(value) : T{};
}

/// e^(2 pi i e / 2^k), `whole` = 2^k.
template <class T>
__device__ __forceinline__ auto turn_of(std::int64_t e, std::int64_t whole) {
    return half_turns(T{2} * static_cast<T>(e & (whole - 1)) / static_cast<T>(whole));
}

/// The place of run `number`, theta = (phi + 2 pi number) / M, among a segment's. Neither a division nor a loop over the bits of
/// `warps`, a power of two: with both the columns of 154 spectra of 131,072 points took 201 us on an H100, without 125.
__device__ __forceinline__ int run_of(const SpectrumShape& shape, int number) {
    const int row = shape.rows == 1 ? 0 : number % shape.rows;
    const int warp = shape.rows == 1 ? number : number / shape.rows;
    const int other_bits = __clz(shape.warps);  // 31 less those that are reversed
    return row * shape.warps + static_cast<int>(__brev(static_cast<unsigned>(warp)) >> 1 >> other_bits);
}

/// Where kernels of whole rows have the factor of root j of 1,024 `runs`: threads read two values at a time (frequency_of() of
/// row/overlap_save_row_tables.cpp).
__device__ __forceinline__ int place_of_row(SpectrumOrder order, int runs, int j) {
    int thread = 0;
    int value = 0;
    int group = 32;  // threads whose values lie together
    if (order == SpectrumOrder::square_row) {
        const int side_bits = runs == 1 ? 5 : 6;
        group = 1 << side_bits;
        thread = j & (group - 1);
        value = fft::reversed(j >> side_bits, side_bits);
    } else if (order == SpectrumOrder::half_row) {
        thread = 32 * fft::reversed(j % 16, 4) + j / 16 % 32;
        value = fft::reversed(j / 512, 5);
    } else {
        thread = 512 * (j % 2) + 32 * fft::reversed(j / 2 % 16, 4) + j / 32 % 32;
        value = fft::reversed(j / 1024, 5);
    }
    const int values = group;  // of a thread, as many
    return thread / group * group * values + value / 2 * 2 * group + thread % group * 2 + value % 2;
}

}  // namespace tapline::cuda::overlap_save
