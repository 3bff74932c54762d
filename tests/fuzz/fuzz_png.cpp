// A PNG file whose checksums are put right first, since almost every change of a byte would end at them; odd last byte: as it is.
#include "../io/png_bytes.hpp"
#include "images.hpp"

namespace {

void repair_checksums(std::vector<std::uint8_t>& png) {
    for (std::size_t at = 8; at + 12 <= png.size();) {
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < 4; ++i) { bytes = bytes << 8 | png[at + i]; }
        if (bytes > png.size() - at - 12) { return; }
        const std::uint32_t crc = tapline::io::test::png_crc({reinterpret_cast<const char*>(png.data()) + at + 4, bytes + 4});
        for (std::size_t i = 0; i < 4; ++i) { png[at + 8 + bytes + i] = static_cast<std::uint8_t>(crc >> (24 - 8 * i)); }
        at += bytes + 12;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::uint8_t> png(data, data + size);
    if (size > 0 && data[size - 1] % 2 == 0) { repair_checksums(png); }
    tapline::io::fuzz::decode(png.data(), png.size(), size % 2 == 1);
    return 0;
}
