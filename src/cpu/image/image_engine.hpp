// The CPU's algorithms for images and what their cost models share.
#pragma once

#include "core/choice/engine.hpp"

namespace tapline::cpu {

const core::Algorithm& image_direct_algorithm();
const core::Algorithm& image_separable_algorithm();
const core::Algorithm& image_fft_algorithm();
const core::Algorithm& image_textbook_algorithm();

/// Real outputs of all images and channels.
double outputs_of(const core::Resolved& problem);

/// Seconds of one product of real elements of the sums' type on one core, in the caches.
double image_product_seconds(const core::Resolved& problem);

/// Seconds of reading the input and writing the output past the caches.
double image_memory_seconds(const core::Resolved& problem, int threads);

/// Threads that pay for so many seconds of work: all or one.
int image_threads(double seconds, int threads);

}  // namespace tapline::cpu
