// The exception type of the library.
#pragma once

#include <stdexcept>
#include <string>

#include "tapline/export.hpp"

namespace tapline {

/// What kind of thing went wrong. The message says which argument, its value and the remedy.
enum class ErrorCode {
    argument,     ///< a value outside its range, or buffers that do not fit the problem
    type,         ///< element types that cannot be combined
    unsupported,  ///< a valid request that no algorithm on this device can serve
    memory,       ///< an allocation failed
    io,           ///< a file could not be read or written
    device,       ///< the GPU or its driver failed
};

/// What tapline throws for everything that it refuses or that fails. Functions that return or grow a std::vector or a std::string
/// may also let std::bad_alloc out.
class TAPLINE_EXPORT Error : public std::runtime_error {
public:
    Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}  ///< what() is the message
    ~Error() override;

    [[nodiscard]] ErrorCode code() const noexcept { return code_; }  ///< what kind of thing went wrong

private:
    ErrorCode code_;
};

/// "argument", "type", ...
TAPLINE_EXPORT const char* to_string(ErrorCode code) noexcept;

}  // namespace tapline
