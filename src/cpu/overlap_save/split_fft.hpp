// Convolutions of f64 whose error is far below that of one transform in double: samples and taps in two parts.
//
// One transform in double is off by more than strict accuracy allows of f64 (docs/numerics.md, "Samples of f64"). So samples and
// taps are cut in two: x = x1 + x2, where x1 are whole multiples of 2^-p of the window's largest sample, and h = h1 + h2 alike.
// Then
//
//     x * h = x1 * h1 + (x1 * h2 + x2 * h1 + x2 * h2)
//
// p is such that the transform gives x1 * h1 within a quarter of a unit: rounded to the nearest one it is exact. What is in
// brackets is 2^-p as large, and so is its error.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "cpu/fft/fft.hpp"
#include "cpu/overlap_save/overlap_save_taps.hpp"

namespace tapline::cpu {

/// Filters of finite taps in two parts, each divided by a power of two so that its largest tap is in [1/2, 1).
struct SplitFilters {
    struct Facts {
        int exponent = 0;
        double high_norm = 0, low_norm = 0;  ///< L2
    };
    int bits = 0;  ///< p
    std::vector<Facts> filters;
    OverlapSaveTaps<double> high, low;
};

/// `taps`: `filters` times `reals` of them, parts of complex ones each for itself. `spectra` makes those of so many taps.
SplitFilters split_filters(int log2_size, const double* taps, std::int64_t filters, std::int64_t reals,
                           const std::function<OverlapSaveTaps<double>(const double* taps)>& spectra);

/// Of a window, both parts.
struct Loudness {
    double energy = 0;   ///< sum of squares; NaN or infinite if a sample is
    double largest = 0;  ///< magnitude

    /// Whether SplitFft may take the window: its numbers, if they are such, are far from overflow and underflow.
    [[nodiscard]] bool is_moderate() const {
        constexpr int kMostExponent = 400;
        return std::isfinite(energy) && (largest == 0 || std::abs(std::ilogb(largest)) < kMostExponent);
    }
};

/// Complex transforms of 2^log2_size points.
class SplitFft {
public:
    static constexpr int kBuffers = 3;  ///< of wide().extent() elements, for execution

    SplitFft(Target target, int log2_size);

    [[nodiscard]] const BlockFft<double>& wide() const { return fft_; }

    /// Calls visit(part, group, largest magnitude) for each kFftPassage samples of both parts that follow each other. In one
    /// thread, as the order of a sum would depend on their number.
    template <class Visit>
    [[nodiscard]] Loudness measure(const FftSource<double>& window, const Visit& visit) const {
        const FftTables<double>& t = fft_.tables();
        Loudness loudness;
        const double* const parts[2] = {window.re, window.im};
        for (int part = 0; part < 2; ++part) {
            for (std::int64_t at = 0; at < t.size; at += kFftPassage) {
                const double* const x = parts[part] + at / t.columns * window.pitch + at % t.columns;
                double squares = 0, largest = 0;
                for (std::int64_t i = 0; i < kFftPassage; ++i) {
                    squares += x[i] * x[i];
                    largest = std::max(largest, std::abs(x[i]));  // a NaN shows in the squares
                }
                loudness.energy += squares;
                loudness.largest = std::max(loudness.largest, largest);
                visit(part, at / kFftPassage, largest);
            }
        }
        return loudness;
    }

    /// The outputs of a window that is_moderate(), to sink (which may lie in the third buffer, as the window may in the first);
    /// returns what each may be off by beside one rounding. `scratch`: as BlockFft's.
    double convolve(double* buffers, double* scratch, int threads, const SplitFilters& taps, std::int64_t filter,
                    const FftSource<double>& window, const Loudness& loudness, const FftSink<double>& sink) const;

private:
    void multiply(double* sum, const double* x, const double* spectrum, bool first, int threads) const;

    BlockFft<double> fft_;
    double proved_error_;
};

}  // namespace tapline::cpu
