#include "io/reader.hpp"

#include <algorithm>
#include <exception>

#include "io/readers.hpp"
#include "io/shape.hpp"
#include "io/system.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

namespace {

bool is_audio(std::string_view head) {
    for (const std::string_view magic : {"RIFF", "RIFX", "RF64", "riff", "fLaC", "OggS", "FORM", ".snd", "caff", "ID3"}) {
        if (head.substr(0, magic.size()) == magic) return true;
    }
    return false;
}

// Bytes below space other than tab, line and page ends do not occur in text of any encoding that holds plain digits.
bool is_text(std::string_view head) {
    return std::none_of(head.begin(), head.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && (byte < 0x09 || byte > 0x0d)) || byte == 0x7f;
    });
}

Format format_of_content(ByteSource& source, const OpenOptions& options) {
    const std::string_view head = source.peek(12);
    if (head.substr(0, kNpyMagic.size()) == kNpyMagic) return Format::npy;
    if (is_audio(head)) return Format::audio;
    if (options.raw_dtype) return Format::raw;
    if (is_text(head)) return Format::text;
    throw Error(ErrorCode::io,
                source.name() + ": neither NumPy, audio nor text; if it is raw data, say so and give its element type");
}

}  // namespace

std::unique_ptr<Reader> Reader::open(const std::string& path, const OpenOptions& options) {
    std::optional<Format> format = options.format ? options.format : format_of_name(path);
    std::unique_ptr<ByteSource> source = ByteSource::open(path);
    if (!format) format = format_of_content(*source, options);
    if (options.need_seek || format == Format::audio) source->make_seekable();
    switch (*format) {
        case Format::npy:
            return open_npy(std::move(source));
        case Format::audio:
            return open_audio(std::move(source));
        case Format::text:
            return open_text(std::move(source));
        case Format::raw:
            break;
    }
    const std::optional<Dtype> dtype = options.raw_dtype ? options.raw_dtype : raw_dtype_of_name(path);
    if (!dtype) {
        throw Error(ErrorCode::argument, source->name() +
                                             ": raw data does not tell its element type; name the file .f32 or .f64, or "
                                             "give the type");
    }
    return open_raw(std::move(source), *dtype);
}

std::int64_t Reader::read(void* out, std::int64_t max_frames) {
    if (max_frames < 0) throw Error(ErrorCode::argument, "max_frames: " + std::to_string(max_frames) + "; it must not be negative");
    std::int64_t frames = max_frames;
    if (info_.frames != kUnknownLength) frames = std::min(frames, info_.frames - position_);
    if (frames == 0) return 0;
    checked_product({frames, info_.channels, static_cast<std::int64_t>(size_of(info_.dtype))}, ErrorCode::argument,
                    "max_frames: bytes to read", "no buffer is so large, read in parts");
    const std::int64_t got = read_frames(out, frames);
    position_ += got;
    return got;
}

void Reader::seek(std::int64_t frame) {
    if (!info_.seekable) {
        throw Error(ErrorCode::unsupported,
                    name_ + ": cannot seek in a stream; save it to a file first, or open it with need_seek");
    }
    if (frame < 0 || (info_.frames != kUnknownLength && frame > info_.frames)) {
        throw Error(ErrorCode::argument, "frame: " + std::to_string(frame) + " is outside " + name_ + ", which has " +
                                             std::to_string(info_.frames) + " frames");
    }
    seek_frame(frame);
    position_ = frame;
}

Layout layout_along(const Info& info, int axis) {
    if (info.format != Format::npy) {
        if (axis != 0 && axis != -1) {
            throw Error(ErrorCode::argument, "axis: " + std::to_string(axis) + "; a signal of this format has one axis, 0");
        }
        return {1, info.frames, info.channels};
    }
    const int dimensions = static_cast<int>(info.shape.size());
    if (axis < -dimensions || axis >= dimensions) {
        throw Error(ErrorCode::argument,
                    "axis: " + std::to_string(axis) + " is outside the array's shape " + describe_shape(info.shape));
    }
    // Fortran order is C order of the reversed shape.
    Shape shape = info.shape;
    int at = axis < 0 ? axis + dimensions : axis;
    if (info.fortran) {
        std::reverse(shape.begin(), shape.end());
        at = dimensions - 1 - at;
    }
    const auto split = shape.begin() + at;
    const auto blocks = [&](Shape::const_iterator begin, Shape::const_iterator end) {
        return checked_product({begin, end}, ErrorCode::argument, "shape: elements beside axis " + std::to_string(axis),
                               "cut the array into parts");
    };
    return {blocks(shape.begin(), split), *split, blocks(split + 1, shape.end())};
}

Contents read_all(const std::string& path, std::int64_t max_bytes, const OpenOptions& options) {
    const std::unique_ptr<Reader> reader = Reader::open(path, options);
    Contents contents;
    contents.info = reader->info();
    const std::int64_t frame_bytes = contents.info.channels * static_cast<std::int64_t>(size_of(contents.info.dtype));
    const auto too_large = [&] {
        throw Error(ErrorCode::argument, reader->name() + ": holds more than the " + std::to_string(max_bytes) +
                                             " bytes that are allowed here; give a shorter file or raise the limit");
    };
    if (contents.info.frames != kUnknownLength && contents.info.frames > max_bytes / frame_bytes) too_large();
    // A header may promise what is not there: room grows with what arrives.
    constexpr std::int64_t kFirstBytes = 1 << 20;
    std::int64_t frames = 0, room = std::max<std::int64_t>(1, kFirstBytes / frame_bytes);
    while (true) {
        try {
            contents.data.resize(static_cast<std::size_t>(room * frame_bytes));
        } catch (const std::exception&) {
            throw Error(ErrorCode::memory,
                        reader->name() + ": no memory for " + std::to_string(room * frame_bytes) + " bytes; give a shorter file");
        }
        frames += reader->read(contents.data.data() + frames * frame_bytes, room - frames);
        if (frames > max_bytes / frame_bytes) too_large();
        if (frames < room) break;
        room *= 2;
    }
    contents.data.resize(static_cast<std::size_t>(frames * frame_bytes));
    contents.info.frames = frames;
    if (contents.info.shape.empty()) contents.info.shape = {frames};
    return contents;
}

}  // namespace tapline::io
