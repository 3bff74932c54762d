// Everything: convolution of signals and images with filters of any length.
#pragma once

#include "tapline/convolve.hpp"   // IWYU pragma: export
#include "tapline/depthwise.hpp"  // IWYU pragma: export
#include "tapline/devices.hpp"    // IWYU pragma: export
#include "tapline/error.hpp"      // IWYU pragma: export
#include "tapline/image.hpp"      // IWYU pragma: export
#include "tapline/info.hpp"       // IWYU pragma: export
#include "tapline/passes.hpp"     // IWYU pragma: export
#include "tapline/plan.hpp"       // IWYU pragma: export
#include "tapline/problem.hpp"    // IWYU pragma: export
#include "tapline/shard.hpp"      // IWYU pragma: export
#include "tapline/stream.hpp"     // IWYU pragma: export
#include "tapline/types.hpp"      // IWYU pragma: export

/// The library's interface for C++. What a function throws is an Error unless its description says otherwise; one that is noexcept
/// throws nothing.
namespace tapline {}
