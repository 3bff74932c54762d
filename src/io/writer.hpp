// Writes results: to a temporary name first, so that a failed or interrupted run leaves the old file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/problem/interface.hpp"
#include "io/format.hpp"
#include "io/output_file.hpp"
#include "tapline/problem.hpp"

namespace tapline::io {

struct WriteOptions {
    /// ".flac", ".f32": what the name would end with; it decides instead of the path's own extension. For "-" and other names.
    std::string extension = {};
    std::optional<Format> format = {};  ///< default: by extension; needed for "-" and unknown extensions
    Dtype dtype = Dtype::f32;           ///< of the elements that write() takes
    std::int64_t channels = 1;          ///< interleaved elements of a frame
    int sample_rate = 0;                ///< audio only, where it is needed
    AudioFormat audio = {};  ///< subtype, byte order and channel map to keep where the container can; usually the input's
    std::int64_t frames = kUnknownLength;  ///< all that will be written, if known
    /// .npy: the header's shape, whose product is frames * channels. Default: {frames}, or {frames, channels} if channels > 1.
    std::vector<std::int64_t> shape = {};
    bool fortran = false;  ///< .npy: the first index moves fastest
};

class Writer : public core::Interface {
public:
    /// `path` "-" is standard output. Throws Error before anything is created: argument for an unknown extension, type for
    /// elements that the format cannot hold, io if the target cannot be written. Without commit() the temporary file is removed
    /// and the target is as it was.
    static std::unique_ptr<Writer> create(const std::string& path, const WriteOptions& options);

    void write(const void* in, std::int64_t frames);

    /// Completes the file and puts it in its place. Throws Error(argument) if the promised frames were not written.
    void commit();

    [[nodiscard]] std::int64_t frames_written() const { return frames_written_; }
    /// Samples that did not fit the audio file's type and became its nearest value (NaN: 0).
    [[nodiscard]] std::int64_t clipped_samples() const { return clipped_samples_; }
    /// "NumPy array, f32", "WAV (Microsoft), Signed 16 bit PCM": what is written.
    [[nodiscard]] const std::string& description() const { return description_; }

protected:
    explicit Writer(const WriteOptions& options) : options_(options) {}
    virtual void write_frames(const void* in, std::int64_t frames) = 0;
    /// Last bytes and corrections of the header, before the file takes its place.
    virtual void finish() = 0;

    WriteOptions options_;
    OutputFile file_;
    std::string description_;
    std::int64_t frames_written_ = 0;
    std::int64_t clipped_samples_ = 0;
    bool committed_ = false;
};

}  // namespace tapline::io
