// Bytes from a file, a pipe or standard input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tapline::io {

class ByteSource {
public:
    /// "-" is standard input. Throws Error(io).
    static std::unique_ptr<ByteSource> open(const std::string& path);
    ~ByteSource();
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] bool seekable() const { return size_ >= 0; }
    /// Bytes in all, or -1: pipes, devices, and files such as those of /proc that do not know.
    [[nodiscard]] std::int64_t size() const { return size_; }
    [[nodiscard]] std::int64_t position() const { return position_; }

    /// Fewer than `bytes` only at the end. Throws Error(io).
    std::size_t read(void* out, std::size_t bytes);
    /// Up to `bytes` (at most kPeekBytes) without taking them.
    std::string_view peek(std::size_t bytes);
    void seek(std::int64_t position);
    /// Copies what cannot seek into an unnamed temporary file; position must be 0.
    void make_seekable();

    /// For libsndfile's own reads with pread: byte 0 of the source is at base().
    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] std::int64_t base() const { return base_; }

    static constexpr std::size_t kPeekBytes = 64;

private:
    ByteSource(std::string name, int fd, bool owned);
    std::size_t read_some(void* out, std::size_t bytes);

    std::string name_;
    int fd_;
    bool owned_;
    std::int64_t base_ = 0;  // standard input redirected from a file may start anywhere
    std::int64_t size_ = -1;
    std::int64_t position_ = 0;
    std::vector<char> buffer_;
    std::size_t begin_ = 0, end_ = 0;  // unread part of buffer_
};

}  // namespace tapline::io
