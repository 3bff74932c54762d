// What the cost models of the algorithms for images share.
#pragma once

#include "core/problem/resolved.hpp"

namespace tapline::cpu {

/// Real outputs of all images and channels.
double outputs_of(const core::Resolved& problem);

/// Seconds of one product of real elements of the sums' type on one core, in the caches.
double image_product_seconds(const core::Resolved& problem);

/// Seconds of reading the input and writing the output past the caches.
double image_memory_seconds(const core::Resolved& problem, int threads);

/// Threads that pay for so many seconds of work: all or one.
int image_threads(double seconds, int threads);

}  // namespace tapline::cpu
