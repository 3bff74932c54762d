// The algorithms of the CPU engine, a file or a folder each.
#pragma once

#include "core/choice/engine.hpp"

namespace tapline::cpu {

/// The naive loop: one output at a time, one tap at a time. Solves every problem that the engine accepts: one to three filtered
/// axes, any strides, boundaries and rates. The lowest rung of the CPU's ladder.
const core::Algorithm& textbook_algorithm();

/// Every term is multiplied and added, in SIMD lanes, on all cores; any number of taps, strict accuracy.
const core::Algorithm& direct_algorithm();
/// The same, of many signals side by side under few taps as the columns of images.
const core::Algorithm& direct_signals_algorithm();

/// Exact convolution of bool and integer signals: direct summation in the narrowest accumulator that cannot overflow, from 32 to
/// 192 bits, chosen tile by tile.
const core::Algorithm& integer_algorithm();
/// The same as direct sums of floats or doubles, where no sum passes what they count one by one: any layout, and images.
const core::Algorithm& integer_floats_algorithm();
/// The same by transforms in double, whose error is proved to be below one half: long filters.
const core::Algorithm& integer_fft_algorithm();

/// Fast Fourier transforms of overlapping blocks; one transform holds the whole filter. Strict accuracy: in double, with every
/// output checked.
const core::Algorithm& overlap_save_algorithm();
/// The same, of signals about as long as the filter in one transform of half their length.
const core::Algorithm& overlap_save_signals_algorithm();
/// The filter is cut into parts of half a transform: filters so long that one transform would need too much memory, or much
/// longer than the signal.
const core::Algorithm& partitioned_algorithm();

/// Of images of packed pixels: every product, tiles of outputs in SIMD registers.
const core::Algorithm& image_direct_algorithm();
/// A row pass and a column pass for each outer product that a mask is the sum of.
const core::Algorithm& image_separable_algorithm();
/// Tiles by fast Fourier transforms.
const core::Algorithm& image_fft_algorithm();

}  // namespace tapline::cpu
