// The header of a .npy file: parsing it strictly, writing it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/shape.hpp"
#include "tapline/types.hpp"

namespace tapline::io {

/// Version 1 cannot have more; an array of numbers needs a few hundred bytes.
inline constexpr std::int64_t kNpyMaxHeaderBytes = 65535;

struct NpyHeader {
    Dtype dtype = Dtype::f32;
    bool big_endian = false;
    bool fortran = false;
    Shape shape;
    std::int64_t elements = 0;  ///< the product of shape; elements * size fits 63 bits
};

/// Parses the Python dict literal after the length field. Throws Error: io for what is malformed, type for elements that are no
/// numbers (objects, structures, strings, dates). `name` stands in the messages.
NpyHeader parse_npy_header(std::string_view text, const std::string& name);

/// Magic, version 1.0, length and dict, padded with spaces to a multiple of 64 bytes and at least min_bytes.
/// Throws Error(type) for bf16, which .npy does not have.
std::string format_npy_header(Dtype dtype, const Shape& shape, bool fortran, std::size_t min_bytes = 0);

}  // namespace tapline::io
