#include "io/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "io/block_sizes.hpp"
#include "io/system.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

std::unique_ptr<ByteSource> ByteSource::open(const std::string& path) {
    if (path == "-") return std::unique_ptr<ByteSource>(new ByteSource("standard input", STDIN_FILENO, false));
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail_errno("read", path, errno);
    return std::unique_ptr<ByteSource>(new ByteSource(path, fd, true));
}

ByteSource::ByteSource(std::string name, int fd, bool owned) : name_(std::move(name)), fd_(fd), owned_(owned) {
    struct stat status {};
    int error = ::fstat(fd_, &status) != 0 ? errno : 0;
    if (error == 0 && S_ISDIR(status.st_mode)) error = EISDIR;
    if (error != 0) {
        if (owned_) ::close(fd_);
        fail_errno("read", name_, error);
    }
    // Files of /proc claim to be regular and empty; what is empty can as well be read as a stream.
    if (S_ISREG(status.st_mode) && status.st_size > 0) {
        const off_t at = ::lseek(fd_, 0, SEEK_CUR);
        if (at >= 0) {
            base_ = at;
            size_ = std::max<std::int64_t>(0, status.st_size - at);
        }
    }
    static_assert(kBufferBytes >= kPeekBytes);
    buffer_.resize(kBufferBytes);
}

ByteSource::~ByteSource() {
    if (owned_) ::close(fd_);
}

std::size_t ByteSource::read_some(void* out, std::size_t bytes) {
    const std::int64_t got = read_fully(fd_, out, bytes);
    if (got < 0) fail_errno("read", name_, errno);
    return static_cast<std::size_t>(got);
}

std::size_t ByteSource::read(void* out, std::size_t bytes) {
    char* to = static_cast<char*>(out);
    std::size_t done = std::min(bytes, end_ - begin_);
    if (done > 0) std::memcpy(to, buffer_.data() + begin_, done);
    begin_ += done;
    const std::size_t rest = bytes - done;
    if (rest >= buffer_.size()) {
        done += read_some(to + done, rest);
    } else if (rest > 0) {
        // A stream hands out what is asked, not a full buffer: waiting for more would stall a live pipe.
        begin_ = 0;
        end_ = read_some(buffer_.data(), seekable() ? buffer_.size() : rest);
        const std::size_t taken = std::min(rest, end_);
        if (taken > 0) std::memcpy(to + done, buffer_.data(), taken);
        begin_ = taken;
        done += taken;
    }
    position_ += static_cast<std::int64_t>(done);
    return done;
}

std::string_view ByteSource::peek(std::size_t bytes) {
    bytes = std::min(bytes, kPeekBytes);
    if (end_ - begin_ < bytes) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
        end_ += read_some(buffer_.data() + end_, bytes - end_);
    }
    return {buffer_.data() + begin_, std::min(bytes, end_ - begin_)};
}

void ByteSource::seek(std::int64_t position) {
    if (!seekable()) throw Error(ErrorCode::unsupported, name_ + ": cannot seek; write it to a file first");
    if (::lseek(fd_, base_ + position, SEEK_SET) < 0) fail_errno("seek in", name_, errno);
    begin_ = end_ = 0;
    position_ = position;
}

void ByteSource::make_seekable() {
    if (seekable()) return;
    const int spool = open_spool();
    std::int64_t total = 0;
    try {
        std::vector<char> block(kSpoolBlockBytes);
        while (const std::size_t got = read(block.data(), block.size())) {
            if (!write_fully(spool, block.data(), got)) {
                throw Error(ErrorCode::io, "cannot spool " + name_ + " to a temporary file: " +
                                               std::generic_category().message(errno) + "; set TMPDIR to a folder with space");
            }
            total += static_cast<std::int64_t>(got);
        }
    } catch (...) {
        ::close(spool);
        throw;
    }
    if (owned_) ::close(fd_);
    fd_ = spool;
    owned_ = true;
    base_ = 0;
    size_ = total;
    seek(0);
}

}  // namespace tapline::io
