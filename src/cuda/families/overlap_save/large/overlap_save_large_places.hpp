// Where the tables of large segments lie: for the host that makes them and the kernels that read them.
#pragma once

#include "cuda/primitives/fft.cuh"

namespace tapline::cuda::overlap_save {

/// Offsets of the tables, in points: factors of the columns' transforms there and back and of the rows', twiddles of a row's warps,
/// and what undoes the quarter turn of real segments. Columns have 32 * radix rows; `wide`: of points in double.
///
/// Factors are pairs (c, t) of columns of 32 x radix points, those of four steps by fft::four_steps_by of columns of 16 x 16, and
/// for rows pairs in double, those of fft::four_steps_by and the last step in float.
struct LargeTables {
    bool has_fours;
    int there = 0, back, rows, twiddles, unturns, end;
    constexpr LargeTables(int radix, int warps, bool wide)
        : has_fours(!wide && radix == 8),
          back(has_fours ? 2 * fft::kFours * 16 : 16 * 32),
          rows(2 * back),
          twiddles(rows + 32 * (wide ? 16 : fft::kFactorsOf32)),
          unturns(twiddles + 64 * warps),
          end(unturns + 32 * radix) {}
};

}  // namespace tapline::cuda::overlap_save
