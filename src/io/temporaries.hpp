// The names of files under construction, where a signal handler can find them.
#pragma once

#include <string>

namespace tapline::io {

/// Returns the name's slot, or -1 if the table is full or the name too long: the file is then not removed on a signal.
int remember_temporary(const std::string& path) noexcept;
void forget_temporary(int slot) noexcept;

}  // namespace tapline::io
