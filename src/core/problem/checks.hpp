// Checks of single fields that several problems share. All throw Error (argument).
#pragma once

#include <cstdint>
#include <string>

#include "tapline/error.hpp"

namespace tapline::core {

/// Far above any memory, far below where sums of three such numbers overflow 64 bits.
inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 56;

inline void check_count(const char* name, std::int64_t value, const char* what) {
    if (value < 1) {
        throw Error(ErrorCode::argument, std::string(name) + ": " + std::to_string(value) + "; " + what + " needs at least 1");
    }
    if (value > kMaxCount) {
        throw Error(ErrorCode::argument,
                    std::string(name) + ": " + std::to_string(value) + " is more than any memory holds (2^56)");
    }
}

template <class E>
void check_enum(const char* name, E value, E last) {
    const auto number = static_cast<long long>(value);
    if (number < 0 || number > static_cast<long long>(last)) {
        throw Error(ErrorCode::argument, std::string(name) + ": an enumeration holds a value that is none of its names");
    }
}

}  // namespace tapline::core
