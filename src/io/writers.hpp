// The writer of each format; Writer::create chooses.
#pragma once

#include <memory>
#include <string>

#include "io/writer.hpp"

namespace tapline::io {

std::unique_ptr<Writer> create_npy(const std::string& path, const WriteOptions& options);
std::unique_ptr<Writer> create_raw(const std::string& path, const WriteOptions& options);
std::unique_ptr<Writer> create_text(const std::string& path, const WriteOptions& options);
std::unique_ptr<Writer> create_audio(const std::string& path, const WriteOptions& options);

/// What tells the format: the extension that was asked for, else the path.
inline const std::string& naming(const std::string& path, const WriteOptions& options) {
    return options.extension.empty() ? path : options.extension;
}

/// Calls `visit(const T*)` with the C++ type of a real dtype of at most 64 bits; false for complex and 16-bit floating types.
template <class Visit>
bool visit_real(Dtype dtype, const void* data, Visit&& visit) {
    // clang-format off
    switch (dtype) {
        case Dtype::f32: visit(static_cast<const float*>(data)); return true;
        case Dtype::f64: visit(static_cast<const double*>(data)); return true;
        case Dtype::boolean: visit(static_cast<const std::uint8_t*>(data)); return true;
        case Dtype::i8: visit(static_cast<const std::int8_t*>(data)); return true;
        case Dtype::i16: visit(static_cast<const std::int16_t*>(data)); return true;
        case Dtype::i32: visit(static_cast<const std::int32_t*>(data)); return true;
        case Dtype::i64: visit(static_cast<const std::int64_t*>(data)); return true;
        case Dtype::u8: visit(static_cast<const std::uint8_t*>(data)); return true;
        case Dtype::u16: visit(static_cast<const std::uint16_t*>(data)); return true;
        case Dtype::u32: visit(static_cast<const std::uint32_t*>(data)); return true;
        case Dtype::u64: visit(static_cast<const std::uint64_t*>(data)); return true;
        default: return false;
    }
    // clang-format on
}

inline bool is_real(Dtype dtype) {
    return visit_real(dtype, nullptr, [](const auto*) {});
}

}  // namespace tapline::io
