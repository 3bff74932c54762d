// What is wrong with an argument ends a call.
#pragma once

#include <string>

#include "tapline/error.hpp"

namespace tapline::core {

[[noreturn]] inline void refuse(const std::string& message) { throw Error(ErrorCode::argument, message); }

}  // namespace tapline::core
