// Thin wrappers over POSIX files: complete reads and writes, errors with a remedy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tapline::io {

/// Throws Error(io): "cannot <verb> <name>: <strerror>; <remedy>".
[[noreturn]] void fail_errno(const char* verb, const std::string& name, int error);

/// Throws Error(io): "<name>: <message>".
[[noreturn]] void fail_content(const std::string& name, const std::string& message);

/// Reads until `bytes` or the end; -1 with errno on failure. `offset` < 0 reads on from the file's own position.
std::int64_t read_fully(int fd, void* out, std::size_t bytes, std::int64_t offset = -1);

/// Writes everything; false with errno on failure.
bool write_fully(int fd, const void* data, std::size_t bytes, std::int64_t offset = -1);

/// An unnamed file in $TMPDIR (or /tmp), gone when it is closed. Throws Error(io).
int open_spool();

/// Bytes for a message: control and non-ASCII bytes as \xNN, at most 40, in quotes.
std::string printable(const std::string& text);

}  // namespace tapline::io
