#include <algorithm>
#include <cstring>
#include <vector>

#include "core/problem/half.hpp"
#include "io/block_sizes.hpp"
#include "io/npy/header.hpp"
#include "io/readers.hpp"
#include "io/system.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

namespace {

template <class Word>
void swap_words(void* data, std::int64_t count) {
    auto* bytes = static_cast<unsigned char*>(data);
    for (std::int64_t i = 0; i < count; ++i) {
        Word word;
        std::memcpy(&word, bytes + i * static_cast<std::int64_t>(sizeof(Word)), sizeof(Word));
        if constexpr (sizeof(Word) == 2) word = __builtin_bswap16(word);
        if constexpr (sizeof(Word) == 4) word = __builtin_bswap32(word);
        if constexpr (sizeof(Word) == 8) word = __builtin_bswap64(word);
        std::memcpy(bytes + i * static_cast<std::int64_t>(sizeof(Word)), &word, sizeof(Word));
    }
}

void swap_bytes(void* data, Dtype dtype, std::int64_t count) {
    if (is_complex(dtype)) count *= 2;
    switch (size_of(real_part_of(dtype))) {
        case 2:
            return swap_words<std::uint16_t>(data, count);
        case 4:
            return swap_words<std::uint32_t>(data, count);
        case 8:
            return swap_words<std::uint64_t>(data, count);
        default:
            return;
    }
}

class NpyReader final : public Reader {
public:
    explicit NpyReader(std::unique_ptr<ByteSource> source) : Reader(source->name()), source_(std::move(source)) {
        header_ = parse_npy_header(header_text(), name_);
        data_offset_ = source_->position();
        element_bytes_ = static_cast<std::int64_t>(size_of(header_.dtype));
        if (source_->seekable()) {
            const std::int64_t found = (source_->size() - data_offset_) / element_bytes_;
            if (found < header_.elements) fail_truncated(found);
        }
        info_.format = Format::npy;
        info_.stored = header_.dtype;
        info_.dtype = header_.dtype == Dtype::f16 ? Dtype::f32 : header_.dtype;
        info_.frames = header_.elements;
        info_.shape = header_.shape;
        info_.fortran = header_.fortran && header_.shape.size() > 1;
        info_.seekable = source_->seekable();
        info_.description = std::string("NumPy array, ") + to_string(header_.dtype) + ", shape " + describe_shape(header_.shape) +
                            (info_.fortran ? ", Fortran order" : "") + (header_.big_endian ? ", big-endian" : "");
    }

private:
    [[noreturn]] void fail_truncated(std::int64_t found) const {
        fail_content(name_, "truncated: the header promises " + std::to_string(header_.elements) + " elements, the file holds " +
                                std::to_string(found));
    }

    std::string header_text() {
        unsigned char head[12];
        const std::size_t got = source_->read(head, 10);
        if (got < 10 || std::memcmp(head, kNpyMagic.data(), kNpyMagic.size()) != 0) {
            fail_content(name_, "is not a .npy file (it does not start with \\x93NUMPY and a version)");
        }
        const int version = head[6];
        if (version < 1 || version > 3 || head[7] != 0) {
            fail_content(name_, ".npy format version " + std::to_string(version) + "." + std::to_string(head[7]) +
                                    " is not known; versions 1.0, 2.0 and 3.0 are");
        }
        std::int64_t bytes = head[8] + 256 * head[9];
        if (version >= 2) {
            if (source_->read(head + 10, 2) < 2) fail_content(name_, "truncated within the .npy header");
            bytes += (static_cast<std::int64_t>(head[10]) << 16) + (static_cast<std::int64_t>(head[11]) << 24);
        }
        if (bytes > kNpyMaxHeaderBytes) {
            fail_content(name_, "the .npy header claims " + std::to_string(bytes) + " bytes; an array of numbers needs at most " +
                                    std::to_string(kNpyMaxHeaderBytes));
        }
        std::string text(static_cast<std::size_t>(bytes), '\0');
        const std::size_t found = source_->read(text.data(), text.size());
        if (found < text.size()) {
            fail_content(name_, "truncated within the .npy header: it claims " + std::to_string(bytes) + " bytes, the file holds " +
                                    std::to_string(found));
        }
        return text;
    }

    std::int64_t read_frames(void* out, std::int64_t max_frames) override {
        if (header_.dtype != Dtype::f16) {
            read_elements(out, position_, max_frames);
            if (header_.dtype == Dtype::boolean) normalise_booleans(out, max_frames);
            return max_frames;
        }
        half_.resize(static_cast<std::size_t>(kBlockElements));
        for (std::int64_t done = 0; done < max_frames; done += kBlockElements) {
            const std::int64_t count = std::min(kBlockElements, max_frames - done);
            read_elements(half_.data(), position_ + done, count);
            float* to = static_cast<float*>(out) + done;
            std::transform(half_.begin(), half_.begin() + count, to, core::from_f16);
        }
        return max_frames;
    }

    void read_elements(void* out, std::int64_t first, std::int64_t count) {
        const std::size_t got = source_->read(out, static_cast<std::size_t>(count * element_bytes_));
        const std::int64_t elements = static_cast<std::int64_t>(got) / element_bytes_;
        if (elements < count) fail_truncated(first + elements);
        if (header_.big_endian) swap_bytes(out, header_.dtype, count);
    }

    void seek_frame(std::int64_t frame) override { source_->seek(data_offset_ + frame * element_bytes_); }

    std::unique_ptr<ByteSource> source_;
    NpyHeader header_;
    std::int64_t data_offset_ = 0;
    std::int64_t element_bytes_ = 1;
    std::vector<std::uint16_t> half_;
};

}  // namespace

std::unique_ptr<Reader> open_npy(std::unique_ptr<ByteSource> source) { return std::make_unique<NpyReader>(std::move(source)); }

}  // namespace tapline::io
