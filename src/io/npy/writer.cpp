#include <limits>

#include "io/npy/header.hpp"
#include "io/writers.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

namespace {

// The header comes first and holds the length: if that is not known, room for any length is left and filled in at the end.
class NpyWriter final : public Writer {
public:
    NpyWriter(const std::string& path, const WriteOptions& options)
        : Writer(options), frame_bytes_(static_cast<std::size_t>(options.channels) * size_of(options.dtype)) {
        const bool known = options.frames != kUnknownLength;
        if (!options.shape.empty()) check_shape();
        const std::string header = header_for(known ? options.frames : kLongest);
        header_bytes_ = header.size();
        file_.create(path, !known);
        file_.write(header.data(), header.size());
        description_ = std::string("NumPy array, ") + to_string(options.dtype);
    }

private:
    static constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max();

    void check_shape() const {
        const auto product = product_of(options_.shape), wanted = product_of({options_.frames, options_.channels});
        if (!product || product != wanted) {
            throw Error(ErrorCode::argument, "shape: " + describe_shape(options_.shape) + " does not hold " +
                                                 std::to_string(options_.frames) + " frames of " +
                                                 std::to_string(options_.channels) + " elements");
        }
    }

    [[nodiscard]] std::string header_for(std::int64_t frames) const {
        std::vector<std::int64_t> shape = options_.shape;
        if (shape.empty()) shape = {frames};
        if (options_.shape.empty() && options_.channels > 1) shape.push_back(options_.channels);
        return format_npy_header(options_.dtype, shape, options_.fortran, header_bytes_);
    }

    void write_frames(const void* in, std::int64_t frames) override {
        file_.write(in, static_cast<std::size_t>(frames) * frame_bytes_);
    }

    void finish() override {
        if (options_.frames != kUnknownLength) return;
        const std::string header = header_for(frames_written_);
        file_.write_at(0, header.data(), header.size());
    }

    std::size_t frame_bytes_;
    std::size_t header_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Writer> create_npy(const std::string& path, const WriteOptions& options) {
    return std::make_unique<NpyWriter>(path, options);
}

}  // namespace tapline::io
