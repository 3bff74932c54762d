#include "io/writer.hpp"

#include "io/shape.hpp"
#include "io/system.hpp"
#include "io/writers.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

std::unique_ptr<Writer> Writer::create(const std::string& path, const WriteOptions& options) {
    const std::optional<Format> format = options.format ? options.format : format_of_name(naming(path, options));
    if (!format) {
        throw Error(ErrorCode::argument, "the output's name " + printable(path) + " does not tell a format; use one of " +
                                             std::string(kKnownExtensions) + ", or say the format");
    }
    if (options.channels < 1)
        throw Error(ErrorCode::argument, "channels: " + std::to_string(options.channels) + "; at least 1 is needed");
    if (options.frames < kUnknownLength)
        throw Error(ErrorCode::argument, "frames: " + std::to_string(options.frames) + " is negative");
    switch (*format) {
        case Format::npy:
            return create_npy(path, options);
        case Format::audio:
            return create_audio(path, options);
        case Format::text:
            return create_text(path, options);
        case Format::raw:
            break;
    }
    return create_raw(path, options);
}

void Writer::write(const void* in, std::int64_t frames) {
    if (frames < 0) throw Error(ErrorCode::argument, "frames: " + std::to_string(frames) + "; it must not be negative");
    if (committed_) throw Error(ErrorCode::argument, file_.name() + ": write after commit");
    if (options_.frames != kUnknownLength && frames > options_.frames - frames_written_) {
        const auto all = static_cast<std::uint64_t>(frames_written_) + static_cast<std::uint64_t>(frames);
        throw Error(ErrorCode::argument, file_.name() + ": " + std::to_string(options_.frames) + " frames were promised, " +
                                             std::to_string(all) + " are written");
    }
    if (frames == 0) return;
    checked_product({frames, options_.channels, static_cast<std::int64_t>(size_of(options_.dtype))}, ErrorCode::argument,
                    "frames: bytes to write", "no buffer is so large, write in parts");
    write_frames(in, frames);
    frames_written_ += frames;
    if (file_.direct()) file_.flush();
}

void Writer::commit() {
    if (committed_) return;
    if (options_.frames != kUnknownLength && frames_written_ != options_.frames) {
        throw Error(ErrorCode::argument, file_.name() + ": " + std::to_string(options_.frames) + " frames were promised, " +
                                             std::to_string(frames_written_) + " were written");
    }
    finish();
    file_.commit();
    committed_ = true;
}

}  // namespace tapline::io
