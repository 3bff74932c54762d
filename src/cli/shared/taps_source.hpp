// Filters from files and from texts such as "lowpass:3000".
#pragma once

#include <cstdint>
#include <string>

#include "cli/shared/elements.hpp"
#include "io/reader.hpp"

namespace tapline::cli {

/// One filter or several, in rows.
struct TapsSet {
    Dtype dtype = Dtype::f64;
    std::int64_t filters = 1;
    std::int64_t taps = 0;  ///< coefficients of one filter
    Bytes data;             ///< filters x taps elements of dtype
    bool adapts = false;    ///< written or sound, not an array: takes the precision of the signal
    int sample_rate = 0;    ///< of a sound, else 0
    std::string description;

    /// Row `row` .. row + count, converted to `to`.
    [[nodiscard]] Bytes rows_as(Dtype to, std::int64_t row, std::int64_t count) const;
};

/// A design (see design/design.hpp) or a file: one dimension is one filter; a two-dimensional .npy array has one filter a row;
/// each channel of a sound is a filter. `sample_rate` of the signal (0: none) is what cutoffs in Hz refer to.
TapsSet load_taps(const std::string& text, double sample_rate, const io::OpenOptions& options);

}  // namespace tapline::cli
