// The filter of an overlap-save plan: its spectra and what repairs need to know about it.
#pragma once

#include <memory>
#include <vector>

#include "core/choice/engine.hpp"
#include "cpu/fft/fft.hpp"
#include "cpu/overlap_save/overlap_save_shape.hpp"

namespace tapline::cpu {

template <class T>
struct OverlapSaveTaps {
    /// filters x partitions spectra of fft.extent() elements, with 1 / N; without taps that are not finite.
    std::unique_ptr<T[], void (*)(T*)> spectra{nullptr, nullptr};
    /// The spectra are those of taps * 2^-unscale_exponent: 0 unless the taps are very large or very small.
    int unscale_exponent = 0;
    /// filters x k taps in correlation order, (re, im) pairs if complex.
    std::vector<T> taps;
    bool complex_taps = false;
    /// For each filter the taps that are not finite, NaN first. Empty if there are none at all.
    std::vector<std::vector<std::int64_t>> special;
    /// For each filter whether all taps are positive or all negative. Empty for complex taps.
    std::vector<bool> one_sign;

    [[nodiscard]] const T* spectrum(const BlockFft<T>& fft, std::int64_t partitions, std::int64_t filter,
                                    std::int64_t partition) const {
        return spectra.get() + (filter * partitions + partition) * fft.extent();
    }
};

/// Throws Error (memory).
template <class T>
OverlapSaveTaps<T> prepare_taps(const core::Resolved& problem, const OverlapSaveShape& shape, const BlockFft<T>& fft,
                                const void* taps, int threads);

/// 2^exponent as two factors, of which each is a normal number of T: for exponents beyond T's own range.
template <class T>
struct PowerOfTwo {
    T first, second;
    explicit PowerOfTwo(int exponent);
};

}  // namespace tapline::cpu
