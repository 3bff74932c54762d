#include <charconv>

#include "io/writers.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

namespace {

// One number a line, with as many digits as it takes to read back the same value.
class TextWriter final : public Writer {
public:
    TextWriter(const std::string& path, const WriteOptions& options) : Writer(options) {
        if (!is_real(options.dtype)) {
            throw Error(ErrorCode::type, path + ": text holds real numbers, not " + to_string(options.dtype) + "; write .npy");
        }
        if (options.channels > 1) {
            throw Error(ErrorCode::argument, path + ": text holds one column, not " + std::to_string(options.channels) +
                                                 " channels; write .npy or an audio file");
        }
        file_.create(path, false);
        description_ = "text, one column";
    }

private:
    void write_frames(const void* in, std::int64_t frames) override {
        visit_real(options_.dtype, in, [&](const auto* values) {
            for (std::int64_t i = 0; i < frames; ++i) {
                char line[40];  // the longest double has 24 characters
                char* end = std::to_chars(line, line + sizeof(line) - 1, values[i]).ptr;
                *end++ = '\n';
                file_.write(line, static_cast<std::size_t>(end - line));
            }
        });
    }

    void finish() override {}
};

}  // namespace

std::unique_ptr<Writer> create_text(const std::string& path, const WriteOptions& options) {
    return std::make_unique<TextWriter>(path, options);
}

}  // namespace tapline::io
