// What the cost models of the algorithms for images share.
#pragma once

#include "core/problem/resolved.hpp"

namespace tapline::cpu {

/// Real outputs of all images and channels.
double outputs_of(const core::Resolved& problem);

/// Seconds of one product of real elements of the sums' type on one core, in the caches.
double image_product_seconds(const core::Resolved& problem);

/// Real elements of a row of outputs. What is left beside strips of some vectors is summed a vector at a time, in whole ones, and
/// counts `alone` times.
double elements_in_strips(const core::Resolved& problem, double alone);

/// Whether images are so large that outputs are stored past the caches.
bool image_goes_past_caches(const core::Resolved& problem, int threads);

/// Seconds of work that takes one thread `seconds` in the caches, on as many as it is worth, or of what memory needs meanwhile.
double image_seconds(const core::Resolved& problem, double seconds, int threads);

}  // namespace tapline::cpu
