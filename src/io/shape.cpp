#include "io/shape.hpp"

#include <algorithm>

namespace tapline::io {

std::string describe_shape(const Shape& shape) {
    std::string result = "(";
    for (const std::int64_t length : shape) { result += (result.size() > 1 ? ", " : "") + std::to_string(length); }
    return result + (shape.size() == 1 ? ",)" : ")");
}

std::optional<std::int64_t> product_of(const Shape& lengths) {
    std::int64_t product = 1;
    for (const std::int64_t length : lengths) {
        if (length < 0 || __builtin_mul_overflow(product, std::max<std::int64_t>(length, 1), &product)) { return std::nullopt; }
    }
    return std::find(lengths.begin(), lengths.end(), 0) != lengths.end() ? 0 : product;
}

std::int64_t checked_product(const Shape& lengths, ErrorCode code, std::string_view what, std::string_view remedy) {
    if (const auto product = product_of(lengths)) { return *product; }
    const bool negative = std::any_of(lengths.begin(), lengths.end(), [](std::int64_t length) { return length < 0; });
    const std::string reason = negative ? ": a length of " + describe_shape(lengths) + " is negative; "
                                        : ": the product of " + describe_shape(lengths) + " is above 2^63 - 1; ";
    throw Error(code, std::string(what) + reason + std::string(remedy));
}

}  // namespace tapline::io
