#include "io/system.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "tapline/error.hpp"

namespace tapline::io {

namespace {

const char* remedy(int error) {
    switch (error) {
        case ENOENT:
            return "; check that the path exists";
        case ENOTDIR:
            return "; a part of the path is not a folder";
        case EACCES:
        case EPERM:
            return "; check the permissions of the file and its folder";
        case EROFS:
            return "; choose a place that is not read-only";
        case EISDIR:
            return "; name a file";
        case ENOSPC:
        case EDQUOT:
            return "; free some space or choose another place";
        case EFBIG:
            return "; raise the file size limit (ulimit -f) or choose another file system";
        case EMFILE:
        case ENFILE:
            return "; raise the limit of open files (ulimit -n)";
        case ENAMETOOLONG:
            return "; choose a shorter name";
        default:
            return "";
    }
}

}  // namespace

void fail_errno(const char* verb, const std::string& name, int error) {
    throw Error(ErrorCode::io,
                std::string("cannot ") + verb + " " + name + ": " + std::generic_category().message(error) + remedy(error));
}

void fail_content(const std::string& name, const std::string& message) { throw Error(ErrorCode::io, name + ": " + message); }

std::int64_t read_fully(int fd, void* out, std::size_t bytes, std::int64_t offset) {
    std::size_t done = 0;
    while (done < bytes) {
        char* to = static_cast<char*>(out) + done;
        const ssize_t got =
            offset < 0 ? ::read(fd, to, bytes - done) : ::pread(fd, to, bytes - done, offset + static_cast<std::int64_t>(done));
        if (got == 0) break;
        if (got > 0) {
            done += static_cast<std::size_t>(got);
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return static_cast<std::int64_t>(done);
}

bool write_fully(int fd, const void* data, std::size_t bytes, std::int64_t offset) {
    std::size_t done = 0;
    while (done < bytes) {
        const char* from = static_cast<const char*>(data) + done;
        const ssize_t put = offset < 0 ? ::write(fd, from, bytes - done)
                                       : ::pwrite(fd, from, bytes - done, offset + static_cast<std::int64_t>(done));
        if (put >= 0) {
            done += static_cast<std::size_t>(put);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

int open_spool() {
    const char* folder = std::getenv("TMPDIR");
    std::string name = (folder != nullptr && *folder != '\0' ? std::string(folder) : std::string("/tmp"));
    int fd = ::open(name.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {  // some file systems have no unnamed files
        name += "/tapline-XXXXXX";
        fd = ::mkostemp(name.data(), O_CLOEXEC);
        if (fd < 0) {
            throw Error(ErrorCode::io, "cannot create a temporary file in " + name.substr(0, name.rfind('/')) + ": " +
                                           std::generic_category().message(errno) + "; set TMPDIR to a folder with space");
        }
        ::unlink(name.c_str());
    }
    return fd;
}

std::string printable(const std::string& text) {
    constexpr std::size_t kMost = 40;
    std::string result = "'";
    for (const char c : text.substr(0, std::min(text.size(), kMost))) {
        if (c >= 0x20 && c < 0x7f) {
            result += c;
        } else {
            char escaped[8];
            std::snprintf(escaped, sizeof(escaped), "\\x%02x", static_cast<unsigned char>(c));
            result += escaped;
        }
    }
    return result + (text.size() > kMost ? "...'" : "'");
}

}  // namespace tapline::io
