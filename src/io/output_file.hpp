// A file under construction: bytes go to a temporary name beside the target, commit() renames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tapline::io {

/// Pipes, devices and standard output ("-") have no name to rename to: they are written directly, or, if the format must seek,
/// through an unnamed spool file that commit() copies.
class OutputFile {
public:
    OutputFile() = default;
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    /// Throws Error(io). A new file gets the permissions that the umask leaves, an existing one keeps its own.
    void create(const std::string& path, bool need_seek);

    void write(const void* data, std::size_t bytes);
    /// Overwrites bytes written before; needs need_seek or a regular target.
    void write_at(std::int64_t offset, const void* data, std::size_t bytes);
    /// Gathered small writes reach the system; streams also see them.
    void flush();
    void commit();

    /// write_at() works.
    [[nodiscard]] bool seekable() const { return spool_fd_ >= 0 || !temporary_.empty(); }
    /// Bytes go straight to a pipe or device.
    [[nodiscard]] bool direct() const { return !seekable(); }
    [[nodiscard]] const std::string& name() const { return name_; }
    /// For libsndfile's own writes; flush() first.
    [[nodiscard]] int fd() const { return spool_fd_ >= 0 ? spool_fd_ : fd_; }
    [[noreturn]] void fail(int error) const;

private:
    void create_beside(const std::string& target, const std::string& shown);
    void discard() noexcept;
    void copy_spool();

    std::string name_;
    std::string target_;     // what commit() replaces; empty when written directly
    std::string temporary_;  // its name until commit()
    int fd_ = -1;
    int spool_fd_ = -1;
    int slot_ = -1;  // in the table that signal handlers read
    std::vector<std::byte> buffer_;
};

/// On SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGPIPE the temporaries are unlinked and the signal then takes its default course.
/// Signals that are ignored (nohup, background jobs) stay ignored; so does SIGXFSZ from now on: a file that grows past the
/// limit is an Error. Call it once, at the start of main.
void remove_temporaries_on_signals();

}  // namespace tapline::io
