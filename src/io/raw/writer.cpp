#include <algorithm>

#include "io/block_sizes.hpp"
#include "io/writers.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

namespace {

// Elements one after another in the machine's byte order. A name that tells its type (.f32, .f64) gets that type.
class RawWriter final : public Writer {
public:
    RawWriter(const std::string& path, const WriteOptions& options)
        : Writer(options), stored_(raw_dtype_of_name(naming(path, options)).value_or(options.dtype)) {
        if (stored_ != options.dtype && !is_real(options.dtype)) {
            throw Error(ErrorCode::type, path + ": " + to_string(options.dtype) + " elements do not fit a file of " +
                                             to_string(stored_) + "; write .npy or .raw");
        }
        file_.create(path, false);
        description_ = std::string("raw ") + to_string(stored_);
    }

private:
    void write_frames(const void* in, std::int64_t frames) override {
        const std::int64_t count = frames * options_.channels;
        if (stored_ == options_.dtype) {
            file_.write(in, static_cast<std::size_t>(count) * size_of(stored_));
        } else if (stored_ == Dtype::f32) {
            visit_real(options_.dtype, in, [&](const auto* from) { write_as<float>(from, count); });
        } else {
            visit_real(options_.dtype, in, [&](const auto* from) { write_as<double>(from, count); });
        }
    }

    template <class To, class From>
    void write_as(const From* in, std::int64_t count) {
        To block[kBlockElements];
        for (std::int64_t done = 0; done < count; done += kBlockElements) {
            const std::int64_t now = std::min(kBlockElements, count - done);
            std::transform(in + done, in + done + now, block, [](From value) { return static_cast<To>(value); });
            file_.write(block, static_cast<std::size_t>(now) * sizeof(To));
        }
    }

    void finish() override {}

    Dtype stored_;
};

}  // namespace

std::unique_ptr<Writer> create_raw(const std::string& path, const WriteOptions& options) {
    return std::make_unique<RawWriter>(path, options);
}

}  // namespace tapline::io
