// Sums along rows that lie side by side, each under a filter of its own, compiled once for each instruction set.
#pragma once

#include <cstdint>

#include "cpu/targets.hpp"

namespace tapline::cpu {

/// out[r * period + j] = sum_{t=0}^{k-1} taps[t * period + j] * in[r * period + j + t * step] for 0 <= r < rows and 0 <= j <
/// period, the terms in the order of direct sums along a line, whose bits these are. `step` is the number of rows, and `period` a
/// multiple of it and of kColumnsLanes.
template <class T>
struct ColumnsCall {
    T* out = nullptr;
    const T* in = nullptr;
    const T* taps = nullptr;
    std::int64_t rows = 0, period = 0, step = 1, k = 1;
};

inline constexpr std::int64_t kColumnsLanes = 16;  ///< of the widest vector

template <class T>
struct ColumnsKernels {
    void (*sum)(const ColumnsCall<T>&);
};
using ColumnsTable = KernelTable<ColumnsKernels>;

/// The kernels of a runnable target.
const ColumnsTable& columns_kernels(Target target);
/// Those compiled without SIMD, in a source of their own.
const ColumnsTable& scalar_columns_kernels();

}  // namespace tapline::cpu
