#include "cpu/direct_executable.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/epilogue.hpp"
#include "core/parallel.hpp"
#include "core/window.hpp"

namespace tapline::cpu {
namespace {

// Samples of a gathered tile: with its window in the L1 cache for short filters, and enough of them that gathering a window
// of kTapChunk samples is nothing beside 4096 x 16384 products.
constexpr std::int64_t kTile = 4096;
// Longer filters are summed chunk by chunk, so that the scratch memory does not grow with the filter.
constexpr std::int64_t kTapChunk = 16384;
static_assert(kTapChunk % kDirectGroup == 0);

// Copying 8 KiB takes as long as the two more calls for the ends of a row: shorter rows are gathered whole.
constexpr std::int64_t kMinInPlace = 2048;

// Outputs of at least this many bytes are written past the caches.
constexpr std::int64_t kStreamBytes = std::int64_t{1} << 20;

// Side by side, many rows (the columns of an image) with more than a few taps go panel by panel through scratch memory: in
// place the lines of a window share the sets of the caches. With lines of 16 KiB 15, 33 and 127 taps took 20, 34 and 145 ms in
// place and 21, 28 and 58 ms in panels (2^24 elements, one thread).
constexpr std::int64_t kPanelSamples = 256;  ///< outputs of a row in a panel: beside the k - 1 samples more that are packed
constexpr std::int64_t kPanelStep = 64;      ///< of which so many are computed before more lines are packed
constexpr std::int64_t kPanelWidth = 64;     ///< rows
constexpr std::int64_t kMinPanelWidth = 16;  ///< real elements of the widest vector
constexpr std::int64_t kMaxPanelTaps = 512;
constexpr std::int64_t kMinPanelTaps = 17;

// Work is counted in products of real elements, about 80 of them a nanosecond; loading and storing an output counts as 6.
constexpr std::int64_t kProductsOfAnOutput = 6;
constexpr std::int64_t kSerialProducts = 2'000'000;  // 25 us: waking a thread takes 5 to 10
constexpr std::int64_t kMinTaskProducts = 1'000'000;
constexpr std::int64_t kMaxTaskProducts = 4'000'000;
constexpr std::int64_t kTasksOfAThread = 16;
constexpr std::int64_t kMinTaskOutputs = 512;

constexpr std::size_t kAlignment = 64;

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

bool is_finite(float x) { return std::isfinite(x); }
bool is_finite(double x) { return std::isfinite(x); }
template <class T>
bool is_finite(const std::complex<T>& x) {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
}

// The next panel's part of a line: each lies in a page of its own, which no hardware prefetcher foresees.
template <bool kWrite, class X>
void prefetch_bytes(const X* line) {
    for (std::size_t byte = 0; byte < kPanelWidth * sizeof(X); byte += 64) {
        __builtin_prefetch(reinterpret_cast<const char*>(line) + byte, kWrite ? 1 : 0, kWrite ? 3 : 2);
    }
}

template <class Real, class X>
const Real* real_elements(const X* x) {
    return reinterpret_cast<const Real*>(x);
}
template <class Real, class X>
Real* real_elements(X* x) {
    return reinterpret_cast<Real*>(x);
}

}  // namespace

template <class X, class H>
struct DirectExecutable<X, H>::Job {
    const core::Output& output;
    const core::Input& input;
    std::byte* workspace = nullptr;
    std::int64_t interior_first = 0;  ///< outputs whose windows lie in input.main
    std::int64_t interior_last = 0;
    bool side_by_side = false;
    bool flat = false;          ///< side by side without gaps: computed in place, as one long row
    bool panels = false;        ///< side by side, rows enough for panels
    bool plain_output = false;  ///< sums are the output, with unit stride
    bool stream = false;
    std::int64_t rows_per_task = 1;  ///< side by side: all, or the columns of some panels
    std::int64_t outputs_per_task = 1;
    std::int64_t tasks_per_row = 1;
    std::int64_t tasks = 1;
    int threads = 1;
};

template <class X, class H>
DirectExecutable<X, H>::DirectExecutable(const core::Resolved& problem, const void* taps, const core::Request& request)
    : problem_(problem),
      taps_(static_cast<const H*>(taps), static_cast<const H*>(taps) + problem.filters * problem.k),
      threads_(request.threads),
      target_(current_target()),
      kernels_(&direct_kernels(target_).of<Real>()) {
    finite_taps_ = std::all_of(taps_.begin(), taps_.end(), [](const H& tap) { return is_finite(tap); });
}

template <class X, class H>
std::int64_t DirectExecutable<X, H>::chunk() const {
    return std::min(problem_.k, kTapChunk);
}

template <class X, class H>
std::size_t DirectExecutable<X, H>::window_samples() const {
    const bool panels = problem_.batch * kParts >= kMinPanelWidth && problem_.k <= kMaxPanelTaps;
    const std::int64_t panel = panels ? (kPanelSamples + problem_.k) * kPanelWidth : 0;
    return static_cast<std::size_t>(std::max(kTile + chunk(), panel) + kDirectPadding);
}

template <class X, class H>
std::size_t DirectExecutable<X, H>::slot_bytes() const {
    const std::size_t window = window_samples();
    const auto sums = static_cast<std::size_t>(kTile + kDirectPadding);
    const bool careful = !finite_taps_ && problem_.problem.boundary == Boundary::zero;
    return aligned(window * sizeof(X)) * (careful ? 2 : 1) + aligned(sums * sizeof(X));
}

template <class X, class H>
std::size_t DirectExecutable<X, H>::workspace_bytes() const {
    return slot_bytes() * static_cast<std::size_t>(threads_);
}

template <class X, class H>
auto DirectExecutable<X, H>::scratch_of(const Job& job, int slot) const -> Scratch {
    std::byte* base = job.workspace + static_cast<std::size_t>(slot) * slot_bytes();
    const std::size_t sums_bytes = aligned(static_cast<std::size_t>(kTile + kDirectPadding) * sizeof(X));
    const std::size_t window_bytes = aligned(window_samples() * sizeof(X));
    return {.window = reinterpret_cast<X*>(base + sums_bytes),
            .sums = reinterpret_cast<X*>(base),
            .present = reinterpret_cast<Real*>(base + sums_bytes + window_bytes)};
}

template <class X, class H>
auto DirectExecutable<X, H>::plan_job(const core::Output& output, const core::Input& input, std::span<std::byte> workspace) const
    -> Job {
    Job job{.output = output, .input = input, .workspace = workspace.data()};
    const core::Resolved& p = problem_;
    const std::int64_t end = output.first + output.count;
    job.side_by_side = p.batch > 1 && p.filters == 1 && input.main.row_stride == 1 && output.row_stride == 1 &&
                       input.main.sample_stride >= p.batch && output.sample_stride >= p.batch;
    job.panels = job.side_by_side && p.batch * kParts >= kMinPanelWidth && p.k <= kMaxPanelTaps;
    job.flat = job.side_by_side && input.main.sample_stride == p.batch && output.sample_stride == p.batch &&
               p.k <= (job.panels ? kMinPanelTaps - 1 : kTapChunk);
    job.side_by_side = job.flat || job.panels;
    job.plain_output = p.trivial_epilogue && (output.sample_stride == 1 || job.side_by_side);
    if (job.side_by_side || (input.main.sample_stride == 1 && p.k <= kTapChunk)) {
        job.interior_first = std::clamp(input.main.first + p.origin, output.first, end);
        job.interior_last = std::clamp(input.main.last + p.origin - p.k + 1, job.interior_first, end);
    }
    job.stream = job.plain_output && output.count * p.batch * static_cast<std::int64_t>(sizeof(X)) >= kStreamBytes;
    divide(job);
    return job;
}

// Tasks depend on the problem and the number of threads; bits do not depend on tasks.
template <class X, class H>
void DirectExecutable<X, H>::divide(Job& job) const {
    const std::int64_t count = job.output.count;
    const std::int64_t together = job.flat ? problem_.batch : 1;  // rows of which a task takes all or none
    const std::int64_t rows = problem_.batch / together;
    const std::int64_t products_of_output = kParts * kTapParts * together * (problem_.k + kProductsOfAnOutput);
    const double products = static_cast<double>(products_of_output) * static_cast<double>(rows) * static_cast<double>(count);
    job.threads = products < static_cast<double>(kSerialProducts) ? 1 : threads_;
    const auto per_task = std::clamp(static_cast<std::int64_t>(products / static_cast<double>(kTasksOfAThread * job.threads)),
                                     kMinTaskProducts, kMaxTaskProducts);
    const std::int64_t outputs = std::max(per_task / products_of_output, divide_up(kMinTaskOutputs, together));
    if (job.side_by_side && !job.flat) {
        job.outputs_per_task = std::min(count, kPanelSamples);
        job.rows_per_task = std::min(divide_up(outputs / job.outputs_per_task + 1, kPanelWidth) * kPanelWidth, rows);
    } else {
        job.outputs_per_task = outputs;
        job.rows_per_task = outputs < count ? 1 : std::clamp(outputs / count, std::int64_t{1}, rows);
    }
    job.tasks_per_row = divide_up(count, job.outputs_per_task);
    job.tasks = job.tasks_per_row * divide_up(rows, job.rows_per_task);
    job.rows_per_task *= together;
}

template <class X, class H>
void DirectExecutable<X, H>::execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace,
                                     void*) const {
    if (output.count <= 0) { return; }
    const Job job = plan_job(output, input, workspace);
    if (job.threads <= 1 || job.tasks <= 1) {
        for (std::int64_t task = 0; task < job.tasks; ++task) { run_task(job, task, 0); }
        return;
    }
    core::parallel_for(job.tasks, job.threads, [this, &job](std::int64_t task, int slot) { run_task(job, task, slot); });
}

template <class X, class H>
void DirectExecutable<X, H>::run_task(const Job& job, std::int64_t task, int slot) const {
    const Scratch scratch = scratch_of(job, slot);
    const std::int64_t end = job.output.first + job.output.count;
    const std::int64_t first = job.output.first + task % job.tasks_per_row * job.outputs_per_task;
    const std::int64_t last = std::min(first + job.outputs_per_task, end);
    const std::int64_t row = task / job.tasks_per_row * job.rows_per_task;
    const std::int64_t row_end = std::min(row + job.rows_per_task, problem_.batch);
    if (job.side_by_side) {
        run_side_by_side(job, scratch, first, last, row, row_end);
        return;
    }
    for (std::int64_t r = row; r < row_end; ++r) { run_row(job, scratch, r, first, last); }
}

template <class X, class H>
void DirectExecutable<X, H>::run_row(const Job& job, const Scratch& scratch, std::int64_t row, std::int64_t first,
                                     std::int64_t last) const {
    const std::int64_t from = std::clamp(job.interior_first, first, last);
    const std::int64_t to = std::clamp(job.interior_last, from, last);
    const bool whole = from == first && to == last;
    if (to - from < (whole ? kDirectBlock : kMinInPlace)) {
        run_gathered(job, scratch, row, first, last);
        return;
    }
    run_gathered(job, scratch, row, first, from);
    run_in_place(job, scratch, row, from, to);
    run_gathered(job, scratch, row, to, last);
}

template <class X, class H>
void DirectExecutable<X, H>::run_in_place(const Job& job, const Scratch& scratch, std::int64_t row, std::int64_t first,
                                          std::int64_t last) const {
    const core::Piece& main = job.input.main;
    const X* in = static_cast<const X*>(main.data) + row * main.row_stride + (first - problem_.origin - main.first);
    run_contiguous(job, scratch, job.output, row, first, last - first, in, taps_of(row), 1);
}

// `count` outputs from what lies at `in`, at least a block of them; samples of a signal are `step` elements apart.
template <class X, class H>
void DirectExecutable<X, H>::run_contiguous(const Job& job, const Scratch& scratch, const core::Output& output, std::int64_t row,
                                            std::int64_t first, std::int64_t count, const X* in, const H* taps,
                                            std::int64_t step) const {
    Call call{.in = real_elements<Real>(in), .taps = real_elements<Real>(taps), .step = step * kParts, .k = problem_.k};
    if (job.plain_output) {
        call.out = real_elements<Real>(static_cast<X*>(output.data) + row * output.row_stride + (first - output.first));
        call.count = count * kParts;
        call.stream = job.stream;
        call_kernel(call);
        return;
    }
    call.out = real_elements<Real>(scratch.sums);
    for (std::int64_t rest = count; rest > 0;) {
        // The last two tiles share what is left, so that none is shorter than a block.
        const std::int64_t some = rest <= kTile ? rest : (rest < 2 * kTile ? rest / 2 : kTile);
        call.count = some * kParts;
        call_kernel(call);
        core::store(problem_, output, row, first + (count - rest), some, scratch.sums);
        call.in += some * kParts;
        rest -= some;
    }
}

template <class X, class H>
void DirectExecutable<X, H>::run_gathered(const Job& job, const Scratch& scratch, std::int64_t row, std::int64_t first,
                                          std::int64_t last) const {
    for (std::int64_t o = first; o < last; o += kTile) {
        const std::int64_t count = std::min(kTile, last - o);
        sum_gathered(job, scratch, row, o, count);
    }
}

// The taps which meet the signal in outputs [first, first + count) under a zero boundary, to whole groups: the products of
// the others are zeros, which change no sum.
struct TapRange {
    std::int64_t first, last;
};
static TapRange meeting_taps(const core::Resolved& problem, std::int64_t n, std::int64_t first, std::int64_t count) {
    const std::int64_t from = std::clamp(problem.origin - (first + count - 1), std::int64_t{0}, problem.k);
    const std::int64_t to = n == kUnknownLength ? problem.k : std::clamp(n + problem.origin - first, std::int64_t{0}, problem.k);
    return {from / kDirectGroup * kDirectGroup, std::min(divide_up(to, kDirectGroup) * kDirectGroup, problem.k)};
}

template <class X, class H>
void DirectExecutable<X, H>::sum_gathered(const Job& job, const Scratch& scratch, std::int64_t row, std::int64_t first,
                                          std::int64_t count) const {
    const core::Resolved& p = problem_;
    const std::int64_t n = job.input.n;
    const std::int64_t begin = first - p.origin;  // the sample that tap 0 meets
    const bool zero = p.problem.boundary == Boundary::zero;
    const bool leaves = begin < 0 || (n != kUnknownLength && begin + count + p.k - 1 > n);
    const bool careful = zero && leaves && !finite_taps_;
    const TapRange range = zero && leaves && !careful ? meeting_taps(p, n, first, count) : TapRange{0, p.k};

    Call call{.out = real_elements<Real>(scratch.sums),
              .in = real_elements<Real>(scratch.window),
              .present = scratch.present,
              .count = count * kParts,
              .step = kParts};
    const bool plain = job.plain_output && job.output.sample_stride == 1;
    X* target = plain && p.k <= kTapChunk && !careful && call.count >= kDirectBlock && range.first < range.last
                    ? static_cast<X*>(job.output.data) + row * job.output.row_stride + (first - job.output.first)
                    : nullptr;
    if (target != nullptr) { call.out = real_elements<Real>(target); }
    for (std::int64_t start = range.first / kTapChunk * kTapChunk; start < range.last; start += kTapChunk) {
        const std::int64_t from = std::max(start, range.first);
        const std::int64_t to = std::min(start + kTapChunk, range.last);
        const std::int64_t samples = count + to - from - 1;
        core::gather(scratch.window, p, job.input, row, begin + from, samples);
        std::fill_n(scratch.window + samples, kDirectPadding, X{});
        call.taps = real_elements<Real>(taps_of(row) + from);
        call.k = to - from;
        if (careful) {
            for (std::int64_t i = 0; i < samples + kDirectPadding; ++i) {
                const std::int64_t position = begin + from + i;
                const bool there = position >= 0 && (n == kUnknownLength || position < n);
                std::fill_n(scratch.present + i * kParts, kParts, static_cast<Real>(there ? 1 : 0));
            }
            (kComplexTaps ? kernels_->careful_complex : kernels_->careful_real)(call);
        } else {
            call_kernel(call);
        }
        call.accumulate = true;
    }
    if (target != nullptr) { return; }
    if (range.first >= range.last) { std::fill_n(scratch.sums, count, X{}); }
    core::store(p, job.output, row, first, count, scratch.sums);
}

template <class X, class H>
void DirectExecutable<X, H>::run_side_by_side(const Job& job, const Scratch& scratch, std::int64_t first, std::int64_t last,
                                              std::int64_t row, std::int64_t row_end) const {
    std::int64_t from = std::clamp(job.interior_first, first, last);
    std::int64_t to = std::clamp(job.interior_last, from, last);
    if (job.flat && (to - from) * problem_.batch * kParts < kDirectBlock) { from = to = last; }
    const bool careful = !finite_taps_ && problem_.problem.boundary == Boundary::zero;
    if (job.flat) {
        run_flat(job, scratch, from, to - from);
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
    const std::int64_t batch = problem_.batch;
    const core::Piece& main = job.input.main;
    const X* in = static_cast<const X*>(main.data) + (first - problem_.origin - main.first) * batch;
    const core::Output line{.data = job.output.data,
                            .first = job.output.first * batch,
                            .count = job.output.count * batch,
                            .row_stride = 0,
                            .sample_stride = 1};
    run_contiguous(job, scratch, line, 0, first * batch, count * batch, in, taps_.data(), batch);
}

// Sample `position` of rows [row, row_end), side by side.
template <class X, class H>
void DirectExecutable<X, H>::gather_line(X* line, const Job& job, std::int64_t position, std::int64_t row, std::int64_t row_end,
                                         std::int64_t ahead) const {
    const core::Input& input = job.input;
    const std::int64_t index = position >= input.main.first && position < input.main.last
                                   ? position
                                   : core::boundary_index(problem_.problem.boundary, position, input.n);
    for (const core::Piece* piece : {&input.main, &input.extra}) {
        if (index < 0 || index < piece->first || index >= piece->last) { continue; }
        const X* from =
            static_cast<const X*>(piece->data) + (index - piece->first) * piece->sample_stride + row * piece->row_stride;
        if (piece->row_stride == 1) {
            std::memcpy(line, from, static_cast<std::size_t>(row_end - row) * sizeof(X));
            prefetch_bytes<false>(from + ahead);
        } else {
            for (std::int64_t r = row; r < row_end; ++r) { line[r - row] = from[(r - row) * piece->row_stride]; }
        }
        return;
    }
    const std::complex<double> constant =
        problem_.problem.boundary == Boundary::constant && index < 0 ? problem_.problem.constant : 0.0;
    if constexpr (kComplex) {
        std::fill(line, line + (row_end - row), X(static_cast<Real>(constant.real()), static_cast<Real>(constant.imag())));
    } else {
        std::fill(line, line + (row_end - row), static_cast<X>(constant.real()));
    }
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
    const std::int64_t ahead = job.input.main.row_stride == 1 ? kPanelWidth : 0;
    const core::Output& output = job.output;
    const core::Output line{.data = output.data, .first = 0, .count = 0, .row_stride = 0, .sample_stride = 1};
    std::int64_t packed = 0;
    for (std::int64_t o = first; o < last; o += kPanelStep) {
        const std::int64_t count = std::min(kPanelStep, last - o);
        X* window = scratch.window + (o - first) * pitch;
        for (const std::int64_t needed = o - first + count + problem_.k - 1; packed < needed; ++packed) {
            X* to = scratch.window + packed * pitch;
            gather_line(to, job, first - problem_.origin + packed, row, row_end, ahead);
            std::fill(to + rows, to + pitch, X{});
        }
        call_kernel({.out = real_elements<Real>(scratch.sums),
                     .in = real_elements<Real>(window),
                     .taps = real_elements<Real>(taps_.data()),
                     .count = count * pitch * kParts,
                     .step = pitch * kParts,
                     .k = problem_.k});
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t offset = (o - output.first + i) * output.sample_stride + row;
            if (job.plain_output) {
                X* out = static_cast<X*>(output.data) + offset;
                std::memcpy(out, scratch.sums + i * pitch, static_cast<std::size_t>(rows) * sizeof(X));
                prefetch_bytes<true>(out + ahead);
            } else {
                core::store(problem_, line, 0, offset, rows, scratch.sums + i * pitch);
            }
        }
    }
}

template <class X, class H>
std::string DirectExecutable<X, H>::describe() const {
    return std::string(to_string(target_)) + ", " + (kComplexTaps ? "complex" : "real") + " taps" +
           (finite_taps_ ? "" : ", not all finite");
}

template class DirectExecutable<float, float>;
template class DirectExecutable<double, double>;
template class DirectExecutable<std::complex<float>, float>;
template class DirectExecutable<std::complex<float>, std::complex<float>>;
template class DirectExecutable<std::complex<double>, double>;
template class DirectExecutable<std::complex<double>, std::complex<double>>;

}  // namespace tapline::cpu
