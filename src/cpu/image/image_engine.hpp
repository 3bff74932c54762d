// The CPU's algorithms for images and what their cost models share.
#pragma once

#include "core/choice/image_engine.hpp"

namespace tapline::cpu {

const core::ImageAlgorithm& image_direct_algorithm();
const core::ImageAlgorithm& image_separable_algorithm();
const core::ImageAlgorithm& image_fft_algorithm();
const core::ImageAlgorithm& image_textbook_algorithm();

/// Real outputs of all images and channels.
double outputs_of(const core::ResolvedImage& problem);

/// Seconds of one product of real elements of the sums' type on one core, in the caches.
double image_product_seconds(const core::ResolvedImage& problem);

/// Seconds of reading the input and writing the output past the caches.
double image_memory_seconds(const core::ResolvedImage& problem, int threads);

/// Threads that pay for so many seconds of work: all or one.
int image_threads(double seconds, int threads);

}  // namespace tapline::cpu
