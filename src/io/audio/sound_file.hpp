// libsndfile over our own file descriptor, so that every failed read or write is noticed with its errno.
#pragma once

#include <sndfile.h>

#include <cstdint>

namespace tapline::io {

/// Does not own the descriptor. Must not move: libsndfile keeps its address.
class SoundFile {
public:
    SoundFile() = default;
    ~SoundFile() { close(); }
    SoundFile(const SoundFile&) = delete;
    SoundFile& operator=(const SoundFile&) = delete;

    /// Byte 0 of the audio is at `base` of the file; for SFM_READ it has `size` bytes. False if libsndfile refuses: see message().
    bool open(int fd, int mode, SF_INFO& info, std::int64_t base, std::int64_t size);
    /// Writes what is pending. False if libsndfile or the system failed.
    bool close();

    /// Whether open() for SFM_WRITE would succeed. sf_format_check also says yes to what opening then refuses (MPEG in WAV).
    static bool can_write(SF_INFO info);

    [[nodiscard]] SNDFILE* get() const { return handle_; }
    /// errno of the first read or write that failed, or 0.
    [[nodiscard]] int system_error() const { return file_.error; }
    [[nodiscard]] const char* message() const { return sf_strerror(handle_); }

private:
    struct VirtualFile {
        int fd = -1;
        std::int64_t base = 0;
        std::int64_t size = 0;
        std::int64_t at = 0;
        int error = 0;
    };
    static sf_count_t get_length(void* user);
    static sf_count_t seek(sf_count_t offset, int whence, void* user);
    static sf_count_t read(void* out, sf_count_t bytes, void* user);
    static sf_count_t write(const void* data, sf_count_t bytes, void* user);
    static sf_count_t tell(void* user);

    VirtualFile file_;
    SNDFILE* handle_ = nullptr;
};

}  // namespace tapline::io
