// Moving samples between memory of any layout and lines of packed elements, compiled once for each instruction set.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/targets.hpp"
#include "tapline/types.hpp"

namespace tapline::cpu {

/// One element as so many bytes: a complex64 that is moved as a double lies at any address that a float may have.
template <class T>
void copy_element(T* to, const T* from) {
    std::memcpy(static_cast<void*>(to), static_cast<const void*>(from), sizeof(T));
}

/// scale * sum + bias within limits, as sums become integers.
template <class T>
struct SumsFinish {
    T scale = 1, bias = 0, low = 0, high = 0;
    bool limits = false;     ///< there are low and high
    bool truncates = false;  ///< the low bits of an integer without the fraction; else rounded to even and saturated
};
/// to[i] from sums[i] for 0 <= i < count, as core::store() has it.
template <class T>
using FinishSums = void (*)(void* to, const T* sums, std::int64_t count, const SumsFinish<T>& finish);

/// T: float or double, or any element of their size; values are moved, not computed with.
template <class T>
struct LineKernels {
    /// to[l * pitch + p] = from[p * step + l] for 0 <= l < lines and 0 <= p < count.
    void (*split)(T* to, std::int64_t pitch, const T* from, std::int64_t step, std::int64_t lines, std::int64_t count);
    /// Back: to[p * step + l] = from[l * pitch + p].
    void (*join)(T* to, std::int64_t step, const T* from, std::int64_t pitch, std::int64_t lines, std::int64_t count);
    /// to[i] = from[-i] for 0 <= i < count.
    void (*reverse)(T* to, const T* from, std::int64_t count);
    /// to[i] = from[2 i] for 0 <= i < count; nothing behind the last of them is read.
    void (*every_second)(T* to, const T* from, std::int64_t count);
    /// Sums to their own type, to integers of 8 and 16 bits, and truncated to those of 32 and 64; null for other types and without
    /// SIMD.
    FinishSums<T> (*finishing)(Dtype to, bool truncates);
};
/// to[i] = from[i] for 0 <= i < count, rounded to nearest; any byte of a bool but 0 is 1.
using Convert = void (*)(void* to, const void* from, std::int64_t count);
using SplitWidened = void (*)(void* to, std::int64_t pitch, const void* from, std::int64_t step, std::int64_t lines,
                              std::int64_t count);

struct LineTable : KernelTable<LineKernels> {
    /// Of bool and the integers, to f64 or to f32, and of f16 and bf16 to f32.
    Convert (*widening)(Dtype from, bool to_double);
    /// Back from f32 to f16 or bf16, to nearest and ties to even.
    Convert (*narrowing)(Dtype to);
    /// Copies runs of so many bytes, each `to_step` and `from_step` bytes behind the one before, past the caches.
    void (*stream)(void* to, std::int64_t to_step, const void* from, std::int64_t from_step, std::int64_t bytes, std::int64_t runs);
    /// LineKernels::split of elements that are widened on the way.
    SplitWidened (*split_widened)(Dtype from, bool to_double);
};

/// The kernels of a runnable target.
const LineTable& line_kernels(Target target);
/// Those compiled without SIMD, in a source of their own.
const LineTable& scalar_line_kernels();

}  // namespace tapline::cpu
