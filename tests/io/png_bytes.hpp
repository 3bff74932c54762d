// PNG files written byte by byte, so that what libpng reads was not written by libpng.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tapline::io::test {

inline std::string big_endian(std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) { bytes += static_cast<char>(value >> shift & 0xff); }
    return bytes;
}

inline std::uint32_t png_crc(std::string_view bytes) {
    std::uint32_t crc = 0xffffffffU;
    for (const char c : bytes) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) { crc = (crc & 1U) != 0 ? crc >> 1 ^ 0xedb88320U : crc >> 1; }
    }
    return ~crc;
}

inline std::string png_chunk(const std::string& type, const std::string& data) {
    return big_endian(static_cast<std::uint32_t>(data.size())) + type + data + big_endian(png_crc(type + data));
}

/// A zlib stream of one stored block: at most 65,535 bytes.
inline std::string zlib_stored(const std::string& data) {
    std::uint32_t a = 1, b = 0;
    for (const char c : data) {
        a = (a + static_cast<unsigned char>(c)) % 65521;
        b = (b + a) % 65521;
    }
    const auto size = static_cast<std::uint32_t>(data.size());
    std::string head = "\x78\x01\x01";
    for (const std::uint32_t value : {size, ~size}) {
        head += static_cast<char>(value & 0xff);
        head += static_cast<char>(value >> 8 & 0xff);
    }
    return head + data + big_endian(b << 16 | a);
}

/// `rows`: each row's filter byte and bytes. `chunks`: what stands between the header and the pixels (PLTE, tRNS ...).
inline std::string png_bytes(std::uint32_t width, std::uint32_t height, int depth, int colour, const std::string& rows,
                             const std::string& chunks = "", bool interlaced = false) {
    std::string header = big_endian(width) + big_endian(height);
    for (const int value : {depth, colour, 0, 0, interlaced ? 1 : 0}) { header += static_cast<char>(value); }
    return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + chunks + png_chunk("IDAT", zlib_stored(rows)) + png_chunk("IEND", "");
}

}  // namespace tapline::io::test
