// Shapes: the lengths of an array's axes, and the one place where lengths that a file or a caller names are multiplied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tapline/error.hpp"

namespace tapline::io {

using Shape = std::vector<std::int64_t>;

/// "(3, 100)".
std::string describe_shape(const Shape& shape);

/// Nothing if a length is negative or the product passes 2^63 - 1. A length of 0 does not excuse the others: what fits, fits for
/// every selection of the lengths too.
std::optional<std::int64_t> product_of(const Shape& lengths);

/// The same, or an Error: "<what>: the product of (3, 100) is above 2^63 - 1; <remedy>".
std::int64_t checked_product(const Shape& lengths, ErrorCode code, std::string_view what, std::string_view remedy);

}  // namespace tapline::io
