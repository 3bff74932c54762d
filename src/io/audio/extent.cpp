#include "io/audio/extent.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "io/system.hpp"

namespace tapline::io {

namespace {

constexpr int kMostChunks = 1000;  // before the samples; real files have a few

class Extent {
public:
    explicit Extent(const ByteSource& source) : source_(source) {}

    void check() const {
        const std::string magic = bytes(0, 4);
        if (magic == "RIFF") return check_chunks(12, 8, false, "data", 0);
        if (magic == "RIFX") return check_chunks(12, 8, true, "data", 0);
        if (magic == "FORM") return check_chunks(12, 8, true, "SSND", 0);
        if (magic == "caff") return check_chunks(8, 12, true, "data", 0);
        if (magic == "RF64" && bytes(12, 4) == "ds64") return check_chunks(12, 8, false, "data", number(28, 8, false));
        if (magic == ".snd") check_bytes(number(4, 4, true), number(8, 4, true));
    }

private:
    [[nodiscard]] std::string bytes(std::int64_t at, std::size_t count) const {
        std::string result(count, '\0');
        if (at < 0 || at > source_.size()) return {};
        const std::int64_t got = read_fully(source_.fd(), result.data(), count, source_.base() + at);
        return got == static_cast<std::int64_t>(count) ? result : std::string();
    }

    // Of 4 or 8 bytes; 0 past the end.
    [[nodiscard]] std::uint64_t number(std::int64_t at, std::size_t count, bool big_endian) const {
        std::string field = bytes(at, count);
        if (!big_endian) std::reverse(field.begin(), field.end());
        std::uint64_t value = 0;
        for (const char byte : field) { value = value << 8 | static_cast<unsigned char>(byte); }
        return value;
    }

    // Chunks: a name of 4 bytes, a size that fills the rest of `head` bytes, the contents, padded to even sizes except in CAF.
    void check_chunks(std::int64_t at, std::int64_t head, bool big_endian, std::string_view wanted,
                      std::uint64_t size_elsewhere) const {
        for (int i = 0; i < kMostChunks && at <= source_.size() - head; ++i) {
            const std::string name = bytes(at, 4);
            const std::uint64_t size = number(at + 4, static_cast<std::size_t>(head - 4), big_endian);
            if (name == wanted)
                return check_bytes(static_cast<std::uint64_t>(at + head), size_elsewhere != 0 ? size_elsewhere : size);
            at += head;
            const auto left = static_cast<std::uint64_t>(source_.size() - at);
            if (size >= left) return;  // the last one
            at += static_cast<std::int64_t>(size + (head == 8 ? size % 2 : 0));
        }
    }

    // All ones, or about 2^31: the length was not known when the header was written.
    static bool is_placeholder(std::uint64_t size) {
        return size >= 0xffff0000'00000000 || (size >= 0xffff0000 && size <= 0xffffffff) ||
               (size >= 0x7fff0000 && size <= 0x80001000);
    }

    void check_bytes(std::uint64_t start, std::uint64_t promised) const {
        const auto size = static_cast<std::uint64_t>(source_.size());
        if (is_placeholder(promised) || start > size || promised <= size - start) return;
        fail_content(source_.name(), "truncated: its header promises " + std::to_string(promised) +
                                         " bytes of samples, the file holds " + std::to_string(size - start) +
                                         "; get it again or repair it with an audio editor");
    }

    const ByteSource& source_;
};

}  // namespace

void check_audio_extent(const ByteSource& source) { Extent(source).check(); }

}  // namespace tapline::io
