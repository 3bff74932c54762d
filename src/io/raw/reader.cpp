#include "core/problem/elements.hpp"
#include "io/readers.hpp"
#include "io/system.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

void normalise_booleans(void* data, std::int64_t count) {
    auto* bytes = static_cast<unsigned char*>(data);
    for (std::int64_t i = 0; i < count; ++i) { bytes[i] = bytes[i] != 0 ? 1 : 0; }
}

namespace {

// Elements one after another in the machine's own (little-endian) byte order.
class RawReader final : public Reader {
public:
    RawReader(std::unique_ptr<ByteSource> source, Dtype dtype)
        : Reader(source->name()), source_(std::move(source)), element_bytes_(static_cast<std::int64_t>(size_of(dtype))) {
        if (core::is_half(dtype)) {
            throw Error(ErrorCode::type,
                        name_ + ": raw data of type " + std::string(to_string(dtype)) + " is not supported; store f32");
        }
        info_.format = Format::raw;
        info_.dtype = info_.stored = dtype;
        info_.seekable = source_->seekable();
        info_.description = std::string("raw ") + to_string(dtype);
        if (source_->seekable()) {
            if (source_->size() % element_bytes_ != 0) fail_partial(source_->size());
            info_.frames = source_->size() / element_bytes_;
            info_.shape = {info_.frames};
        }
    }

private:
    [[noreturn]] void fail_partial(std::int64_t bytes) const {
        fail_content(name_, std::to_string(bytes) + " bytes are not a whole number of " + to_string(info_.dtype) + " elements of " +
                                std::to_string(element_bytes_) + " bytes; check the element type or whether the file is complete");
    }

    std::int64_t read_frames(void* out, std::int64_t max_frames) override {
        const std::size_t got = source_->read(out, static_cast<std::size_t>(max_frames * element_bytes_));
        const std::int64_t frames = static_cast<std::int64_t>(got) / element_bytes_;
        if (static_cast<std::int64_t>(got) % element_bytes_ != 0) fail_partial(source_->position());
        if (frames < max_frames && info_.frames != kUnknownLength) {
            fail_content(name_, "truncated while it was read: " + std::to_string(info_.frames) + " elements were there, " +
                                    std::to_string(position_ + frames) + " are");
        }
        if (info_.dtype == Dtype::boolean) normalise_booleans(out, frames);
        return frames;
    }

    void seek_frame(std::int64_t frame) override { source_->seek(frame * element_bytes_); }

    std::unique_ptr<ByteSource> source_;
    std::int64_t element_bytes_;
};

}  // namespace

std::unique_ptr<Reader> open_raw(std::unique_ptr<ByteSource> source, Dtype dtype) {
    return std::make_unique<RawReader>(std::move(source), dtype);
}

}  // namespace tapline::io
