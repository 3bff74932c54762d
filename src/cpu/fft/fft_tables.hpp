// Sizes, memory layout and twiddle factors of the block FFT: what its kernels read. Shared by all plans of one size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tapline::cpu {

inline constexpr int kMinLog2Fft = 8;
inline constexpr int kMaxLog2Fft = 26;

/// One radix-q pass over blocks of q * step points (rows of a strip, in the column passes).
template <class T>
struct FftPass {
    int radix = 0;
    std::int64_t step = 0;
    /// Points: for every vector of L indices j < step: re, im of w^j, w^2j, ... w^(q-1)j, w = exp(-2 pi i / (q step)).
    /// Columns: the same with one index (scalars) instead of L.
    const T* twiddles = nullptr;
    /// Points, radix 8 only: for every vector of indices re, im of w^j, w^2j, w^4j, exp(-pi i / 4) w^j.
    const T* chained = nullptr;
};

/// A transform of N = rows * columns complex points, split into a re and an im array of `rows` rows, each `pitch` elements
/// apart. Position r * columns + c of the natural order lies at r * pitch + c.
///
/// Forward: the columns' transforms of `rows` points, strip by strip of `strip` columns, with the twiddle factors w_N^(fc)
/// (f: the frequency that row r ends up with); then each row on its own: radix-8 and radix-4 passes, decimation in
/// frequency, down to tiles whose last levels run across the lanes. The result's order is a permutation that only the inverse
/// (the same steps backwards) knows: products of spectra do not care.
template <class T>
struct FftTables {
    static constexpr int kMaxPasses = 8;

    int log2_size = 0;
    int lanes = 1;  ///< of the target's vectors; the layout of spectra depends on it
    std::int64_t size = 0;
    std::int64_t rows = 1, columns = 0, pitch = 0;
    std::int64_t strip = 0;                                  ///< columns transformed together; columns is a multiple of it
    std::int64_t im_offset = 0;                              ///< elements from re[0] to im[0]
    std::int64_t extent = 0;                                 ///< elements of both arrays
    std::int64_t scratch_im_offset = 0, scratch_extent = 0;  ///< the same for the buffer of one strip; 0 without columns

    int row_passes = 0;
    std::array<FftPass<T>, kMaxPasses> row_pass{};
    const T* tile = nullptr;  ///< twiddle factors within a tile, laid out as simd_fft_tile.inl loads them
    int column_passes = 0;
    std::array<FftPass<T>, kMaxPasses> column_pass{};
    /// w_N^(f(r) c) = strip_twiddles[c / strip][r] * lane_twiddles[r][c % strip]; (re, im) pairs in the first, a row of
    /// `strip` re then a row of `strip` im in the second. Two factors of 2^-24 rounding each, instead of a table as long
    /// as the data.
    const T* strip_twiddles = nullptr;
    const T* lane_twiddles = nullptr;

    std::shared_ptr<const void> storage;  ///< owns all of the above
    std::size_t table_bytes = 0;
};

/// The tables of a size and lane count: made once, shared by everyone who asks while someone holds them.
template <class T>
std::shared_ptr<const FftTables<T>> fft_tables(int log2_size, int lanes);

/// Bytes that fft_tables(log2_size, lanes) takes, without making it.
template <class T>
std::size_t fft_table_bytes(int log2_size, int lanes);

/// The frequency that a forward transform leaves at (row, column).
template <class T>
std::int64_t frequency_at(const FftTables<T>& tables, std::int64_t row, std::int64_t column);

/// Only the layout: every field but the pointers.
template <class T>
FftTables<T> fft_layout(int log2_size, int lanes);

}  // namespace tapline::cpu
