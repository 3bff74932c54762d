// Reads signals from files, pipes and standard input, chunk by chunk in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/problem/interface.hpp"
#include "io/format.hpp"
#include "tapline/problem.hpp"

namespace tapline::io {

/// What a file holds, as read() hands it out. Where the length is known, all its elements together have fewer than 2^63 bytes.
struct Info {
    Format format = Format::raw;
    Dtype dtype = Dtype::f32;   ///< of the elements that read() gives
    Dtype stored = Dtype::f32;  ///< of the elements in the file: f16 is widened to f32, audio becomes f32 or f64
    std::int64_t frames = kUnknownLength;
    std::int64_t channels = 1;  ///< elements of a frame: more than 1 for audio only
    int sample_rate = 0;        ///< 0 = none
    /// .npy: as its header says, at least one dimension; frames is the product. Else {frames}, or {frames, channels} if there
    /// are several channels; empty if the length is unknown.
    std::vector<std::int64_t> shape = {};
    bool fortran = false;   ///< .npy of two or more dimensions: the first index moves fastest
    bool seekable = false;  ///< seek() works
    AudioFormat audio;
    std::string description;  ///< "NumPy array, f32, shape (3, 100)", for people
};

/// An array seen along one axis: `outer` blocks follow each other in the file, each of `length` frames of `inner` interleaved
/// elements. Rows of a C-order array along axis -1 are (rows, n, 1); its columns, along axis 0, are (1, rows, n); Fortran
/// order swaps them. Audio is (1, frames, channels).
struct Layout {
    std::int64_t outer = 1;
    std::int64_t length = 0;  ///< may be kUnknownLength
    std::int64_t inner = 1;
};

/// `axis` counts from the end if negative; only .npy has more than one. Throws Error(argument) if there is no such axis.
Layout layout_along(const Info& info, int axis);

struct OpenOptions {
    std::optional<Format> format = {};    ///< default: by extension, else by content
    std::optional<Dtype> raw_dtype = {};  ///< of raw data whose extension does not tell it
    bool need_seek = false;               ///< spool what cannot seek (pipes) to an unnamed file in $TMPDIR
};

class Reader : public core::Interface {
public:
    /// `path` "-" is standard input. Throws Error: io if it cannot be read or is malformed, argument for an unknown extension or
    /// a missing raw dtype, type for elements that are no numbers.
    static std::unique_ptr<Reader> open(const std::string& path, const OpenOptions& options = {});

    [[nodiscard]] const Info& info() const { return info_; }
    /// The path, or "standard input".
    [[nodiscard]] const std::string& name() const { return name_; }
    /// Frames read so far, or where seek() went.
    [[nodiscard]] std::int64_t position() const { return position_; }

    /// Frames of info().channels elements of info().dtype, in the file's order. Fewer than max_frames only at the end; then 0.
    /// Throws Error(io) if the data ends before what the header promised; text: with the line's number.
    std::int64_t read(void* out, std::int64_t max_frames);

    /// The next read() starts at `frame`. Throws Error(unsupported) if not info().seekable, (argument) if past a known end.
    /// Text is read again from its start.
    void seek(std::int64_t frame);
    void rewind() { seek(0); }

protected:
    explicit Reader(std::string name) : name_(std::move(name)) {}
    virtual std::int64_t read_frames(void* out, std::int64_t max_frames) = 0;
    virtual void seek_frame(std::int64_t frame) = 0;

    Info info_;
    std::string name_;
    std::int64_t position_ = 0;
};

struct Contents {
    Info info;  ///< frames is known
    std::vector<std::byte> data;
};

/// The whole file: for taps. Memory grows with what was really read, never with what a header claims. Throws Error(argument) if it
/// holds more than max_bytes.
Contents read_all(const std::string& path, std::int64_t max_bytes, const OpenOptions& options = {});

}  // namespace tapline::io
