#include <locale.h>
#include <stdlib.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <vector>

#include "io/block_sizes.hpp"
#include "io/readers.hpp"
#include "io/system.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

namespace {

constexpr std::size_t kMaxLineBytes = kBufferBytes;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view trim(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\f\v";
    const std::size_t begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// One number a line; '#' starts a comment; blank lines do not count; the first line may be a heading.
class TextReader final : public Reader {
public:
    explicit TextReader(std::unique_ptr<ByteSource> source) : Reader(source->name()), source_(std::move(source)) {
        info_.format = Format::text;
        info_.dtype = info_.stored = Dtype::f64;
        info_.seekable = source_->seekable();
        info_.description = "text, one column";
        block_.resize(kMaxLineBytes + kBufferBytes);
    }

private:
    std::int64_t read_frames(void* out, std::int64_t max_frames) override {
        auto* values = static_cast<char*>(out);
        std::int64_t count = 0;
        for (double value = 0; count < max_frames && next_value(value); ++count) {
            std::memcpy(values + count * static_cast<std::int64_t>(sizeof(double)), &value, sizeof(double));
        }
        return count;
    }

    // Lines have no fixed length: the way to a frame is to read up to it.
    void seek_frame(std::int64_t frame) override {
        source_->seek(0);
        begin_ = end_ = 0;
        line_ = 0;
        at_end_ = false;
        heading_allowed_ = true;
        double value = 0;
        for (std::int64_t i = 0; i < frame; ++i) {
            if (!next_value(value)) {
                throw Error(ErrorCode::argument, "frame: " + std::to_string(frame) + " is outside " + name_ + ", which has " +
                                                     std::to_string(i) + " frames");
            }
        }
    }

    bool next_value(double& value) {
        std::string_view line;
        while (next_line(line)) {
            line = trim(line.substr(0, line.find('#')));
            if (line.empty()) continue;
            if (parse(line, value)) {
                heading_allowed_ = false;
                return true;
            }
            const bool heading = heading_allowed_ && is_heading(line);
            heading_allowed_ = false;
            if (!heading) fail_line(line);
        }
        return false;
    }

    // A heading is a name, not a mistyped number or a row of several.
    static bool is_heading(std::string_view line) {
        const auto first = static_cast<unsigned char>(line.front());
        return (std::isalpha(first) != 0 || first == '"' || first == '\'' || first == '_' || first >= 0x80) &&
               line.find_first_of(",;\t") == std::string_view::npos && line.find('\0') == std::string_view::npos;
    }

    [[noreturn]] void fail_line(std::string_view line) const {
        const bool columns = line.find_first_of(",; \t") != std::string_view::npos;
        fail_content(name_, "line " + std::to_string(line_) + ": " + printable(std::string(line)) +
                                (columns ? " is more than one column; give one number a line" : " is not a number"));
    }

    bool parse(std::string_view text, double& value) const {
        if (text.front() == '+' && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (stop != end || error == std::errc::invalid_argument) return false;
        if (error == std::errc()) return true;
        value = round_out_of_range(std::string(text));
        return true;
    }

    // Too small is 0 or subnormal; too large has no double.
    [[nodiscard]] double round_out_of_range(const std::string& text) const {
        static const locale_t kPlain = newlocale(LC_ALL_MASK, "C", nullptr);
        const double value = strtod_l(text.c_str(), nullptr, kPlain);
        if (std::isinf(value)) {
            fail_content(name_, "line " + std::to_string(line_) + ": " + printable(text) +
                                    " does not fit a double; write inf if that is meant");
        }
        return value;
    }

    bool next_line(std::string_view& line) {
        while (true) {
            const auto* start = block_.data() + begin_;
            const auto* newline = static_cast<const char*>(std::memchr(start, '\n', end_ - begin_));
            if (newline != nullptr || (at_end_ && begin_ < end_)) {
                const std::size_t length = newline != nullptr ? static_cast<std::size_t>(newline - start) : end_ - begin_;
                line = {start, length};
                begin_ += length + (newline != nullptr ? 1 : 0);
                if (++line_ == 1 && line.substr(0, kByteOrderMark.size()) == kByteOrderMark)
                    line.remove_prefix(kByteOrderMark.size());
                return true;
            }
            if (at_end_) return false;
            if (end_ - begin_ > kMaxLineBytes) {
                fail_content(name_, "line " + std::to_string(line_ + 1) + " has more than " + std::to_string(kMaxLineBytes) +
                                        " bytes; text is one number a line");
            }
            refill();
        }
    }

    void refill() {
        std::memmove(block_.data(), block_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
        const std::size_t wanted = std::min(kBufferBytes, block_.size() - end_);
        const std::size_t got = source_->read(block_.data() + end_, wanted);
        at_end_ = got < wanted;
        end_ += got;
    }

    std::unique_ptr<ByteSource> source_;
    std::vector<char> block_;
    std::size_t begin_ = 0, end_ = 0;  // unread part of block_
    std::int64_t line_ = 0;
    bool at_end_ = false;
    bool heading_allowed_ = true;
};

}  // namespace

std::unique_ptr<Reader> open_text(std::unique_ptr<ByteSource> source) { return std::make_unique<TextReader>(std::move(source)); }

}  // namespace tapline::io
