// Decodes hostile images the way the command does. Only tapline::Error may come out, and what was decoded must survive PNG.
#pragma once

#include <cstring>

#include "io/image/image.hpp"
#include "reading.hpp"

namespace tapline::io::fuzz {

inline void round_trip(const Image& image) {
    const int fd = ::memfd_create("again", MFD_CLOEXEC);
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    OutputFile file;
    file.create(path, false);
    write_image(file, image, {.format = ImageFormat::png, .compression = 1});
    file.commit();
    const Image again = read_image(path);
    require(again.height == image.height && again.width == image.width && again.channels == image.channels);
    require(again.dtype == image.dtype && std::memcmp(again.pixels.get(), image.pixels.get(), image.bytes()) == 0);
    ::close(fd);
}

inline void decode(const std::uint8_t* data, std::size_t size, bool through_pipe) {
    constexpr std::int64_t kMaxBytes = 4 << 20;
    constexpr std::int64_t kMaxAgain = 1 << 14;
    const Input input(data, size, through_pipe);
    Image image;
    try {
        image = read_image(input.path(), {.max_bytes = kMaxBytes});
    } catch (const Error&) { return; /* the one way out for bad input */ }
    require(image.height > 0 && image.width > 0 && image.channels > 0);
    if (image.format != ImageFormat::npy && image.elements() <= kMaxAgain) { round_trip(image); }
}

}  // namespace tapline::io::fuzz
