// What is shared by the arithmetic of shards and the plans of parts.
#pragma once

#include "core/choice/engine.hpp"
#include "tapline/shard.hpp"

namespace tapline::core {

/// Positions that whole blocks of the outputs `computed` read; under a zero or constant boundary those inside the signal, one at
/// least.
Span window_of(const Axis& axis, const Blocks& blocks, const Span& computed);

/// The batch axes of a problem in either form, without strides but those of taps.
UpTo<BatchAxis, 4> batch_axes_of(const Problem& problem);

}  // namespace tapline::core
