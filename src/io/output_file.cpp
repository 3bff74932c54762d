#include "io/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "io/block_sizes.hpp"
#include "io/system.hpp"
#include "io/temporaries.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

namespace {

std::string folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// The descriptor that names such as /dev/stdout stand for, or -1. Opened again they would be written from their start.
int descriptor_of(const std::string& path) {
    if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
    if (path == "/dev/stderr") return STDERR_FILENO;
    for (const std::string prefix : {"/dev/fd/", "/proc/self/fd/"}) {
        if (path.compare(0, prefix.size(), prefix) != 0) continue;
        const std::string digits = path.substr(prefix.size());
        const bool number = !digits.empty() && digits.size() < 8 && digits.find_first_not_of("0123456789") == std::string::npos;
        if (number) return std::stoi(digits);
    }
    return -1;
}

// A link is followed, so that it stays a link and the file behind it is replaced.
std::string behind_links(std::string path, const std::string& shown) {
    constexpr int kMostLinks = 40;  // as the kernel
    for (int i = 0; i < kMostLinks; ++i) {
        char to[PATH_MAX];
        const ssize_t length = ::readlink(path.c_str(), to, sizeof(to));
        if (length < 0) return path;
        const std::string link(to, static_cast<std::size_t>(length));
        path = link.front() == '/' ? link : folder_of(path) + "/" + link;
    }
    fail_errno("write", shown, ELOOP);
}

[[noreturn]] void fail_in_folder(const std::string& shown, const std::string& folder, int error) {
    fail_errno("write", shown + " (a temporary file in the folder " + folder + " comes first)", error);
}

std::string random_name() {
    static std::random_device device;
    char name[40];
    std::snprintf(name, sizeof(name), ".tapline-%08x%08x", device(), device());
    return name;
}

}  // namespace

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() noexcept {
    if (fd_ >= 0) ::close(fd_);
    if (spool_fd_ >= 0) ::close(spool_fd_);
    fd_ = spool_fd_ = -1;
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
    forget_temporary(slot_);
    slot_ = -1;
}

void OutputFile::fail(int error) const { fail_errno("write", name_, error); }

void OutputFile::create(const std::string& path, bool need_seek) {
    const int descriptor = descriptor_of(path);
    name_ = path == "-" ? "standard output" : path;
    buffer_.reserve(kBufferBytes);
    if (path.empty()) throw Error(ErrorCode::argument, "the output's name is empty; name a file, or - for standard output");
    if (descriptor >= 0) {
        fd_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
        if (fd_ < 0) fail(errno);
    } else {
        const std::string target = behind_links(path, name_);
        struct stat status {};
        const bool exists = ::stat(target.c_str(), &status) == 0;
        if (!exists && errno != ENOENT) fail(errno);
        if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
        if (!exists || S_ISREG(status.st_mode)) return create_beside(target, name_);
        fd_ = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (fd_ < 0) fail(errno);
    }
    if (need_seek) spool_fd_ = open_spool();
}

void OutputFile::create_beside(const std::string& target, const std::string& shown) {
    if (target.back() == '/') fail(EISDIR);
    struct stat status {};
    const bool exists = ::stat(target.c_str(), &status) == 0;
    if (exists && ::access(target.c_str(), W_OK) != 0) fail(errno);  // a rename would replace even a read-only file
    target_ = target;
    const std::string folder = folder_of(target);
    constexpr int kTries = 16;
    for (int i = 0; i < kTries && fd_ < 0; ++i) {
        const std::string name = folder + "/" + random_name();
        slot_ = remember_temporary(name);  // first, so that no signal finds a file that is not known
        fd_ = ::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
        if (fd_ >= 0) {
            temporary_ = name;
            break;
        }
        const int error = errno;
        forget_temporary(slot_);
        slot_ = -1;
        if (error != EEXIST) fail_in_folder(shown, folder, error);
    }
    if (fd_ < 0) fail(EEXIST);
    if (exists) {
        // Owner first: changing it clears the set-id bits. Only root can; others keep their own files.
        if (status.st_uid != ::geteuid() || status.st_gid != ::getegid()) {
            [[maybe_unused]] const int kept = ::fchown(fd_, status.st_uid, status.st_gid);
        }
        if (::fchmod(fd_, status.st_mode & 07777) != 0) fail(errno);
    }
}

void OutputFile::write(const void* data, std::size_t bytes) {
    if (buffer_.size() + bytes <= kBufferBytes) {
        const auto* from = static_cast<const std::byte*>(data);
        buffer_.insert(buffer_.end(), from, from + bytes);
        return;
    }
    flush();
    if (!write_fully(fd(), data, bytes)) fail(errno);
}

void OutputFile::flush() {
    if (!buffer_.empty() && !write_fully(fd(), buffer_.data(), buffer_.size())) fail(errno);
    buffer_.clear();
}

void OutputFile::write_at(std::int64_t offset, const void* data, std::size_t bytes) {
    flush();
    if (!write_fully(fd(), data, bytes, offset)) fail(errno);
}

void OutputFile::copy_spool() {
    std::vector<char> block(kSpoolBlockBytes);
    std::int64_t at = 0;
    while (true) {
        const std::int64_t got = read_fully(spool_fd_, block.data(), block.size(), at);
        if (got < 0) fail_errno("read", "a temporary file", errno);
        if (got == 0) return;
        if (!write_fully(fd_, block.data(), static_cast<std::size_t>(got))) fail(errno);
        at += got;
    }
}

void OutputFile::commit() {
    flush();
    if (spool_fd_ >= 0) copy_spool();
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) != 0 && errno != EINTR) fail(errno);
    if (!temporary_.empty()) {
        if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
        temporary_.clear();
    }
    discard();
}

}  // namespace tapline::io
