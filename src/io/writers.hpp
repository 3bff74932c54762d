// The writer of each format; Writer::create chooses.
#pragma once

#include <memory>
#include <string>

#include "core/problem/elements.hpp"
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

inline bool is_real(Dtype dtype) { return !is_complex(dtype) && !core::is_half(dtype); }

/// visit(const T*) with the C++ type of a dtype that is_real(); a bool is a byte.
template <class Visit>
void visit_real(Dtype dtype, const void* data, const Visit& visit) {
    core::with_type_of<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint16_t, std::uint32_t,
                       std::uint64_t, std::uint8_t>(dtype, [&]<class T>(T) { visit(static_cast<const T*>(data)); });
}

}  // namespace tapline::io
