#include "io/audio/sound_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "io/system.hpp"

namespace tapline::io {

sf_count_t SoundFile::get_length(void* user) { return static_cast<VirtualFile*>(user)->size; }

sf_count_t SoundFile::seek(sf_count_t offset, int whence, void* user) {
    auto& file = *static_cast<VirtualFile*>(user);
    const std::int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file.at : file.size;
    std::int64_t to = 0;
    if (__builtin_add_overflow(from, offset, &to) || to < 0) return -1;
    file.at = to;
    return to;
}

sf_count_t SoundFile::read(void* out, sf_count_t bytes, void* user) {
    auto& file = *static_cast<VirtualFile*>(user);
    const std::int64_t wanted = std::clamp<std::int64_t>(file.size - file.at, 0, std::max<sf_count_t>(bytes, 0));
    const std::int64_t got = wanted == 0 ? 0 : read_fully(file.fd, out, static_cast<std::size_t>(wanted), file.base + file.at);
    if (got < 0) {
        if (file.error == 0) file.error = errno;
        return 0;
    }
    file.at += got;
    return got;
}

sf_count_t SoundFile::write(const void* data, sf_count_t bytes, void* user) {
    auto& file = *static_cast<VirtualFile*>(user);
    if (bytes <= 0) return 0;
    if (!write_fully(file.fd, data, static_cast<std::size_t>(bytes), file.base + file.at)) {
        if (file.error == 0) file.error = errno;
        return 0;
    }
    file.at += bytes;
    file.size = std::max(file.size, file.at);
    return bytes;
}

sf_count_t SoundFile::tell(void* user) { return static_cast<VirtualFile*>(user)->at; }

bool SoundFile::open(int fd, int mode, SF_INFO& info, std::int64_t base, std::int64_t size) {
    static SF_VIRTUAL_IO calls{&SoundFile::get_length, &SoundFile::seek, &SoundFile::read, &SoundFile::write, &SoundFile::tell};
    file_ = {fd, base, size, 0, 0};
    handle_ = sf_open_virtual(&calls, mode, &info, &file_);
    return handle_ != nullptr;
}

bool SoundFile::can_write(SF_INFO info) {
    if (sf_format_check(&info) == SF_FALSE) return false;
    static SF_VIRTUAL_IO calls{&SoundFile::get_length, &SoundFile::seek, &SoundFile::read,
                               [](const void*, sf_count_t bytes, void* user) {
                                   auto& file = *static_cast<VirtualFile*>(user);
                                   file.at += bytes;
                                   file.size = std::max(file.size, file.at);
                                   return bytes;
                               },
                               &SoundFile::tell};
    VirtualFile nowhere;
    SNDFILE* handle = sf_open_virtual(&calls, SFM_WRITE, &info, &nowhere);
    if (handle == nullptr) return false;
    sf_close(handle);
    return true;
}

bool SoundFile::close() {
    if (handle_ == nullptr) return true;
    const int status = sf_close(handle_);
    handle_ = nullptr;
    return status == 0 && file_.error == 0;
}

}  // namespace tapline::io
