// The reader of each format; Reader::open chooses.
#pragma once

#include <memory>
#include <string_view>

#include "io/byte_source.hpp"
#include "io/reader.hpp"

namespace tapline::io {

/// How a .npy file begins.
inline constexpr std::string_view kNpyMagic{"\x93NUMPY", 6};
std::unique_ptr<Reader> open_npy(std::unique_ptr<ByteSource> source);
std::unique_ptr<Reader> open_raw(std::unique_ptr<ByteSource> source, Dtype dtype);
std::unique_ptr<Reader> open_text(std::unique_ptr<ByteSource> source);
std::unique_ptr<Reader> open_audio(std::unique_ptr<ByteSource> source);

/// In place: a byte that is not 0 becomes 1, since a bool of another value is undefined in C++.
void normalise_booleans(void* data, std::int64_t count);

}  // namespace tapline::io
