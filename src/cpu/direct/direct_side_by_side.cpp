// Rows whose samples lie side by side: interleaved channels, the columns of an image.
#include <algorithm>
#include <cstring>

#include "core/problem/elements.hpp"
#include "core/problem/epilogue.hpp"
#include "core/problem/window.hpp"
#include "cpu/direct/direct_executable.hpp"

namespace tapline::cpu {
namespace {

// The next panel's part of a line: each lies in a page of its own, which no hardware prefetcher foresees.
template <bool kWrite, class X>
void prefetch_bytes(const X* line) {
    for (std::size_t byte = 0; byte < kPanelWidth * sizeof(X); byte += 64) {
        __builtin_prefetch(reinterpret_cast<const char*>(line) + byte, kWrite ? 1 : 0, kWrite ? 3 : 2);
    }
}

// A panel's part of a line: its usual size is known, so that no call is made for it.
template <class X>
void copy_row(X* to, const X* from, std::int64_t rows) {
    if (rows == kPanelWidth) {
        std::memcpy(to, from, kPanelWidth * sizeof(X));
    } else {
        std::memcpy(to, from, static_cast<std::size_t>(rows) * sizeof(X));
    }
}

}  // namespace

template <class X, class H>
void DirectExecutable<X, H>::run_side_by_side(const Job& job, const Scratch& scratch, std::int64_t first, std::int64_t last,
                                              std::int64_t row, std::int64_t row_end) const {
    std::int64_t from = std::clamp(job.interior_first, first, last);
    std::int64_t to = std::clamp(job.interior_last, from, last);
    if (job.flat && (to - from) * problem_.batch.length * kParts < kDirectBlock) { from = to = last; }
    const bool careful = !finite_taps_ && problem_.x.boundary == Boundary::zero;
    if (job.flat) {
        if (from < to) { run_flat(job, scratch, from, to - from); }
    } else {
        run_panels(job, scratch, from, to, row, row_end);
    }
    if (job.panels && !careful) {
        run_panels(job, scratch, first, from, row, row_end);
        run_panels(job, scratch, to, last, row, row_end);
        return;
    }
    for (std::int64_t r = row; r < row_end; ++r) {
        run_gathered(job, scratch, r, first, from);
        run_gathered(job, scratch, r, to, last);
    }
}

// Outputs [first, first + count) of all rows, which lie one after the other in memory, as does what they read.
template <class X, class H>
void DirectExecutable<X, H>::run_flat(const Job& job, const Scratch& scratch, std::int64_t first, std::int64_t count) const {
    const std::int64_t batch = problem_.batch.length;
    const core::Piece& main = job.input.main;
    const X* in = static_cast<const X*>(main.data) + (first - problem_.x.origin - main.first) * batch;
    const core::Output line{.data = job.output.data,
                            .first = job.output.first * batch,
                            .count = job.output.count * batch,
                            .batch_stride = 0,
                            .stride = 1};
    run_contiguous(job, scratch, line, 0, first * batch, count * batch, in, taps_.data(), batch);
}

// Sample `position` of rows [row, row_end), side by side.
template <class X, class H>
void DirectExecutable<X, H>::gather_line(X* line, const Job& job, std::int64_t position, std::int64_t row, std::int64_t row_end,
                                         std::int64_t ahead) const {
    const core::Input& input = job.input;
    // A part's piece also holds samples of positions outside the signal.
    const bool held = position >= input.main.first && position < input.main.last;
    const std::int64_t index = held ? position : core::boundary_index(problem_.x.boundary, position, input.n);
    for (const core::Piece* piece : {&input.main, &input.extra}) {
        if ((index < 0 && !held) || index < piece->first || index >= piece->last) { continue; }
        const X* from = static_cast<const X*>(piece->data) + (index - piece->first) * piece->stride + row * piece->batch_stride;
        if (piece->batch_stride == 1) {
            copy_row(line, from, row_end - row);
            prefetch_bytes<false>(from + ahead);
        } else {
            for (std::int64_t r = row; r < row_end; ++r) { line[r - row] = from[(r - row) * piece->batch_stride]; }
        }
        return;
    }
    const std::complex<double> constant = problem_.x.boundary == Boundary::constant && index < 0 ? problem_.constant : 0.0;
    std::fill(line, line + (row_end - row), core::element_of<X>(constant));
}

template <class X, class H>
void DirectExecutable<X, H>::run_panels(const Job& job, const Scratch& scratch, std::int64_t first, std::int64_t last,
                                        std::int64_t row, std::int64_t row_end) const {
    for (std::int64_t o = first; o < last; o += kPanelSamples) {
        const std::int64_t end = std::min(o + kPanelSamples, last);
        for (std::int64_t r = row; r < row_end; r += kPanelWidth) {
            run_panel(job, scratch, o, end, r, std::min(r + kPanelWidth, row_end));
        }
    }
}

// The lines of the window are packed just before they are needed, so that those in use stay in the L1 cache.
template <class X, class H>
void DirectExecutable<X, H>::run_panel(const Job& job, const Scratch& scratch, std::int64_t first, std::int64_t last,
                                       std::int64_t row, std::int64_t row_end) const {
    constexpr std::int64_t kLeast = kMinPanelWidth / kParts;
    const std::int64_t rows = row_end - row;
    const std::int64_t pitch = divide_up(rows, kLeast) * kLeast;
    const std::int64_t ahead = job.input.main.batch_stride == 1 ? kPanelWidth : 0;
    const core::Output& output = job.output;
    const core::Output line{.data = output.data, .first = 0, .count = 0, .batch_stride = 0, .stride = 1};
    std::int64_t packed = 0;
    const std::int64_t step = panel_step();
    for (std::int64_t o = first; o < last; o += step) {
        const std::int64_t count = std::min(step, last - o);
        X* window = scratch.window + (o - first) * pitch;
        for (const std::int64_t needed = o - first + count + problem_.x.k - 1; packed < needed; ++packed) {
            X* to = scratch.window + packed * pitch;
            gather_line(to, job, first - problem_.x.origin + packed, row, row_end, ahead);
            std::fill(to + rows, to + pitch, X{});
        }
        if (doubles_ && job.plain_output && pitch == rows) {
            X* const out = static_cast<X*>(output.data) + (o - output.first) * output.stride + row;
            kernel_({.out = real_elements<Real>(out),
                     .in = real_elements<Real>(window),
                     .taps = real_elements<Real>(taps_.data()),
                     .count = count * pitch * kParts,
                     .step = pitch * kParts,
                     .k = problem_.x.k,
                     .out_step = output.stride * kParts});
            continue;
        }
        kernel_({.out = real_elements<Real>(scratch.sums),
                 .in = real_elements<Real>(window),
                 .taps = real_elements<Real>(taps_.data()),
                 .count = count * pitch * kParts,
                 .step = pitch * kParts,
                 .k = problem_.x.k});
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t offset = (o - output.first + i) * output.stride + row;
            if (job.plain_output) {
                X* out = static_cast<X*>(output.data) + offset;
                copy_row(out, scratch.sums + i * pitch, rows);
                prefetch_bytes<true>(out + ahead);
            } else {
                store_(problem_, line, 0, offset, rows, scratch.sums + i * pitch);
            }
        }
    }
}

// The class is instantiated where the rest of it stands; these are the members defined here.
#define TAPLINE_SIDE_BY_SIDE(X, H)                                                                                               \
    template void DirectExecutable<X, H>::run_side_by_side(const Job&, const Scratch&, std::int64_t, std::int64_t, std::int64_t, \
                                                           std::int64_t) const;                                                  \
    template void DirectExecutable<X, H>::run_flat(const Job&, const Scratch&, std::int64_t, std::int64_t) const;                \
    template void DirectExecutable<X, H>::run_panels(const Job&, const Scratch&, std::int64_t, std::int64_t, std::int64_t,       \
                                                     std::int64_t) const;                                                        \
    template void DirectExecutable<X, H>::run_panel(const Job&, const Scratch&, std::int64_t, std::int64_t, std::int64_t,        \
                                                    std::int64_t) const;                                                         \
    template void DirectExecutable<X, H>::gather_line(X*, const Job&, std::int64_t, std::int64_t, std::int64_t, std::int64_t) const
TAPLINE_SIDE_BY_SIDE(float, float);
TAPLINE_SIDE_BY_SIDE(double, double);
TAPLINE_SIDE_BY_SIDE(std::complex<float>, float);
TAPLINE_SIDE_BY_SIDE(std::complex<float>, std::complex<float>);
TAPLINE_SIDE_BY_SIDE(std::complex<double>, double);
TAPLINE_SIDE_BY_SIDE(std::complex<double>, std::complex<double>);
#undef TAPLINE_SIDE_BY_SIDE

}  // namespace tapline::cpu
