// Sums along rows that lie side by side, each under a filter of its own, compiled once for each instruction set.
#pragma once

#include <cstdint>

#include "cpu/targets.hpp"

namespace tapline::cpu {

/// out[r * out_pitch + j] = sum_{t=0}^{k-1} taps[t * period + j] * in[r * pitch + j + t * step] for 0 <= r < rows and 0 <= j <
/// columns, the terms in the order of direct sums along a line, whose bits these are. `step` is the number of rows, and `period` a
/// multiple of it and of kColumnsLanes; `columns` is the period, or fewer, at least kColumnsLanes, of up to `most_held` taps. Rows
/// whose samples have others between them are as many as a period.
template <class T>
struct ColumnsCall {
    T* out = nullptr;
    const T* in = nullptr;
    const T* taps = nullptr;
    std::int64_t rows = 0, period = 0, columns = 0, step = 1, k = 1;
    std::int64_t pitch = 0, out_pitch = 0;  ///< period where the samples, or the outputs, have no others between them
};

inline constexpr std::int64_t kColumnsLanes = 16;  ///< of the widest vector
inline constexpr std::int64_t kFewestAlike = 8;    ///< rows of outputs under one filter

template <class T>
struct ColumnsKernels {
    void (*sum)(const ColumnsCall<T>&);
    std::int64_t most_held = 0;  ///< taps up to which each sample is read once, where step is pitch
    /// The same of rows under one filter, taps[0 .. k - 1], where step is pitch: of any number of `columns` from kColumnsLanes on
    /// and of rows from kFewestAlike on.
    void (*sum_alike)(const ColumnsCall<T>&) = nullptr;
    std::int64_t most_alike = 0;  ///< taps; 0 where registers are too few
};
using ColumnsTable = KernelTable<ColumnsKernels>;

/// The kernels of a runnable target.
const ColumnsTable& columns_kernels(Target target);
/// Those compiled without SIMD, in a source of their own.
const ColumnsTable& scalar_columns_kernels();

}  // namespace tapline::cpu
