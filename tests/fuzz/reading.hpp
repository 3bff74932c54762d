// Reads hostile bytes the way the command does: as a file or through a pipe, in chunks, with seeking. Only tapline::Error may come
// out.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "io/reader.hpp"
#include "tapline/error.hpp"

namespace tapline::io::fuzz {

// A descriptor from which `data` can be read: an end of a pipe, as long as its buffer takes all, or the one file in memory.
class Input {
public:
    Input(const std::uint8_t* data, std::size_t size, bool through_pipe) {
        int ends[2];
        if (through_pipe && size <= kPipeBytes && ::pipe(ends) == 0) {
            put(ends[1], data, size);
            ::close(ends[1]);
            fd_ = pipe_ = ends[0];
        } else {
            static const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
            fd_ = file;
            if (::lseek(fd_, 0, SEEK_SET) != 0) std::abort();
            put(fd_, data, size);
            if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) std::abort();
        }
    }
    ~Input() {
        if (pipe_ >= 0) ::close(pipe_);
    }
    Input(const Input&) = delete;
    Input& operator=(const Input&) = delete;
    [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

private:
    static constexpr std::size_t kPipeBytes = 60000;

    static void put(int fd, const std::uint8_t* data, std::size_t size) {
        if (::write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
    }
    int fd_ = -1;
    int pipe_ = -1;
};

inline void require(bool condition) {
    if (!condition) std::abort();
}

// Reads up to max_elements; the sizes of the buffers are exact, so that the sanitizer sees one element too many.
inline std::int64_t read_some(Reader& reader, std::int64_t chunk, std::int64_t max_elements) {
    const std::int64_t channels = reader.info().channels;
    const std::size_t bytes = static_cast<std::size_t>(chunk * channels) * size_of(reader.info().dtype);
    std::int64_t total = 0;
    while (total * channels < max_elements) {
        const std::unique_ptr<char[]> buffer(new char[bytes]);
        const std::int64_t got = reader.read(buffer.get(), chunk);
        require(got >= 0 && got <= chunk);
        total += got;
        if (got < chunk) {
            require(reader.info().frames == kUnknownLength || reader.position() == reader.info().frames);
            break;
        }
    }
    return total;
}

inline void read_everything(const std::uint8_t* data, std::size_t size, const OpenOptions& options, bool through_pipe) {
    constexpr std::int64_t kMaxElements = 1 << 17;
    const Input input(data, size, through_pipe);
    try {
        const auto reader = Reader::open(input.path(), options);
        const Info info = reader->info();
        require(info.channels >= 1 && info.frames >= kUnknownLength);
        for (int axis = 0; axis < static_cast<int>(info.shape.size()) && info.format == Format::npy; ++axis) {
            const Layout layout = layout_along(info, axis);
            require(layout.outer * layout.length * layout.inner == info.frames);
        }
        const std::int64_t total = read_some(*reader, 1 + static_cast<std::int64_t>(size) % 97, kMaxElements);
        if (info.seekable) {
            reader->seek(total / 2);
            read_some(*reader, 33, kMaxElements);
        }
    } catch (const Error&) { /* the one way out for bad input */
    }
}

}  // namespace tapline::io::fuzz
