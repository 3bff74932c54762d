// When an output of a transform in double keeps the bound of strict accuracy: the inequalities of docs/numerics.md, "How a
// transform is held to the strict bound", in numbers.
#pragma once

#include <vector>

#include "core/problem/resolved.hpp"

namespace tapline::cpu {

/// Where the taps of a mask, row by row, stand in the filter of a tile that is one flat window. Of a signal: one after the other.
struct TapPlaces {
    std::int64_t width = 0;  ///< taps of a row; 0: all
    std::int64_t pitch = 0;  ///< from row to row
    std::int64_t step = 1;   ///< from tap to tap
};

/// A tap that counts much, where it stands in the filter, with the magnitudes of its parts.
struct LargeTap {
    std::int64_t position;
    double re, im;
};

/// S of an output, or of a real component of a complex one, is the sum of the magnitudes of the real products that make it. Strict
/// accuracy allows an error of (k + 2) eps S, of which rounding the result to T takes at most eps / 2 times the output. The energy
/// of a transform's window (the sum of the squares of all samples, of both segments that share it) and the filter bound the error
/// of a transform in double. T: of samples and outputs.
template <class T>
class OutputBound {
public:
    /// `taps`: problem.filters times problem.taps() finite taps, in (re, im) pairs if complex.
    OutputBound(const core::Resolved& problem, int log2_size, const T* taps, const TapPlaces& places = {});

    /// What an output of one transform of a window with this energy may be off by, before it is rounded.
    [[nodiscard]] double error(std::int64_t filter, double energy) const;
    /// The smallest S at which an output that is off by at most `error` before it is rounded keeps the bound.
    [[nodiscard]] double least_sum(double error) const;
    /// The smallest magnitude of a computed output from which S is known to be large enough. NaN for an error that is.
    [[nodiscard]] double least_output(double error) const;
    /// The same of outputs of one transform.
    [[nodiscard]] double least_sum(std::int64_t filter, double energy) const { return least_sum(error(filter, energy)); }
    [[nodiscard]] double least_output(std::int64_t filter, double energy) const { return least_output(error(filter, energy)); }
    /// Whether S cannot be large enough where the samples under the filter have no more than energy `local`.
    [[nodiscard]] bool is_hopeless(std::int64_t filter, double local, double energy) const;

    /// Whether the terms of the filter's largest taps alone make S of output first + i at least lacking[i], for all 0 <= i < count.
    /// a[p] is the sample of the window under tap 0 of output p that meets the taps' real parts in this component, b[p] the one
    /// that meets imaginary parts; null of real taps. Changes `lacking`.
    [[nodiscard]] bool reaches(double* lacking, std::int64_t filter, const T* a, const T* b, std::int64_t first,
                               std::int64_t count) const;
    /// The filter's largest taps, in descending order.
    [[nodiscard]] const std::vector<LargeTap>& largest(std::int64_t filter) const {
        return filters_[static_cast<std::size_t>(filter)].largest;
    }

    /// Whether complex taps are all real or all imaginary: components of outputs may then be sums of nothing but zeros.
    [[nodiscard]] bool is_degenerate(std::int64_t filter) const { return filters_[static_cast<std::size_t>(filter)].degenerate; }

private:
    struct Filter {
        double norm = 0;  ///< L2
        std::vector<LargeTap> largest;
        bool degenerate = false;
    };
    std::vector<Filter> filters_;
    double proved_error_;
    double allowed_;  ///< (k + 2) eps
};

/// Of samples of f32 that one transform in double takes.
using CheckedBound = OutputBound<float>;

extern template class OutputBound<float>;
extern template class OutputBound<double>;

}  // namespace tapline::cpu
