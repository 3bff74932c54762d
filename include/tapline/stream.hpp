// Convolution of a signal that arrives in chunks.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tapline/plan.hpp"

namespace tapline {

struct StreamOptions {
    PlanOptions plan = {};
    /// For Boundary::wrap only: the signal's last samples, frame by frame (batch elements each), at least `origin` frames
    /// or the whole signal; the first outputs read them.
    const void* tail = nullptr;
    std::int64_t tail_frames = 0;
    /// Outputs are computed in runs of about this many samples over all rows; 0: a few MiB, so that all threads have work.
    std::int64_t samples_per_run = 0;
};

/// Convolves `batch` signals that arrive together, frame by frame: a frame is one sample of each row, stored side by
/// side (interleaved audio). Any number of frames may be pushed at a time; the outputs are the same bits as those of one
/// Plan over the whole signal with the same problem and packed rows (docs/numerics.md has exceptions on a GPU). Memory: the filter
/// and the input and output of a run or two (docs/streaming.md), never the signal.
///
/// The problem's strides are ignored; its length may be kUnknownLength until flush(). Frames are in host memory on every device;
/// "auto" is the CPU.
///
///     Stream stream(problem, taps);
///     const auto drain = [&] { while (auto got = stream.take(out, capacity)) { write(out, got); } };
///     while (auto frames = read(in)) { stream.push(in, frames); drain(); }
///     stream.flush();
///     drain();
class TAPLINE_EXPORT Stream {
public:
    /// `taps` as for make_plan. Throws Error for an invalid problem, and for Boundary::wrap without a tail.
    Stream(const Problem& problem, const void* taps, const StreamOptions& options = {});
    ~Stream();
    Stream(Stream&&) noexcept;             ///< the other one can only be assigned to or destroyed
    Stream& operator=(Stream&&) noexcept;  ///< as the move constructor

    /// `in` holds frames * batch elements of the problem's dtype. Throws Error after flush(), or past a known length.
    void push(const void* in, std::int64_t frames);

    /// No more input: computes what is left. Throws Error if a known length was not reached.
    void flush();

    /// Frames of output that are ready.
    [[nodiscard]] std::int64_t available() const noexcept;

    /// Moves up to max_frames frames of output (elements of output_dtype(problem)) to `out`; returns how many.
    std::int64_t take(void* out, std::int64_t max_frames);

    /// Everything that the future outputs depend on, except the taps and options. Restore it into a Stream made from the same
    /// problem, taps and options, on the same machine model, in this process or another; Error otherwise.
    [[nodiscard]] std::vector<std::byte> save() const;
    void restore(std::span<const std::byte> state);  ///< throws Error for a state of another stream or machine model

    [[nodiscard]] std::int64_t frames_in() const noexcept;   ///< frames pushed so far
    [[nodiscard]] std::int64_t frames_out() const noexcept;  ///< frames taken so far
    /// Input frames that an output may lag behind its last input.
    [[nodiscard]] std::int64_t latency_frames() const noexcept;
    [[nodiscard]] const Plan& plan() const noexcept;  ///< what its runs are executed with

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace tapline
