#include "cpu/direct/direct_executable.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/plan/parallel.hpp"
#include "core/problem/epilogue.hpp"
#include "core/problem/window.hpp"
#include "cpu/caches.hpp"
#include "cpu/direct/calls/direct_cost.hpp"

namespace tapline::cpu {
namespace {

// Copying 8 KiB takes as long as the two more calls for the ends of a row: shorter rows are gathered whole.
constexpr std::int64_t kMinInPlace = 2048;

// Tasks so long that what they begin with does not count, nor the samples that neighbours share; so short that what they read and
// write stays in the L2 cache of whoever repeats the call.
constexpr double kMostTaskSeconds = 50e-6;
constexpr std::int64_t kMinTaskOutputs = 512;

constexpr std::size_t kAlignment = 64;

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
bool is_finite(float x) { return std::isfinite(x); }
bool is_finite(double x) { return std::isfinite(x); }
template <class T>
bool is_finite(const std::complex<T>& x) {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
}

}  // namespace

template <class X, class H>
DirectExecutable<X, H>::DirectExecutable(const core::Resolved& problem, const void* taps, const core::Request& request)
    : problem_(problem),
      taps_(static_cast<const H*>(taps), static_cast<const H*>(taps) + problem.filters * problem.x.k),
      threads_(request.threads),
      target_(current_target()),
      store_(problem_, target_) {
    const DirectKernels<Real>& kernels = direct_kernels(target_).of<Real>();
    if constexpr (!kComplexTaps) { doubles_ = sums_by_doubling(problem.x.k, request.facts.equal); }
    kernel_ = kComplexTaps ? kernels.complex : doubles_ ? kernels.equal : kernels.real;
    careful_kernel_ = kComplexTaps ? kernels.careful_complex : kernels.careful_real;
    finite_taps_ = std::all_of(taps_.begin(), taps_.end(), [](const H& tap) { return is_finite(tap); });
    if constexpr (!kComplex) {
        const bool few = finite_taps_ && problem.x.k <= kMostFewTaps<Real> && problem.x.boundary == Boundary::zero;
        few_kernel_ = few ? kernels.few : nullptr;
    }
    if (problem.x.outputs > 0 && problem.batch.length > 0) { whole_ = divide(problem.x.outputs, false, false); }
}

template <class X, class H>
std::int64_t DirectExecutable<X, H>::chunk() const {
    return std::min(problem_.x.k, kTapChunk);
}

template <class X, class H>
std::size_t DirectExecutable<X, H>::window_samples() const {
    const bool panels = problem_.filters == 1 && problem_.batch.length * kParts >= kMinPanelWidth && problem_.x.k <= kMaxPanelTaps;
    const std::int64_t panel = panels ? (kPanelSamples + problem_.x.k) * kPanelWidth : 0;
    return static_cast<std::size_t>(std::max(kTile + chunk(), panel) + kDirectPadding);
}

template <class X, class H>
std::int64_t DirectExecutable<X, H>::sums_samples() const {
    return std::max(kTile, panel_step() * kPanelWidth) + kDirectPadding;
}

template <class X, class H>
std::size_t DirectExecutable<X, H>::slot_bytes() const {
    const std::size_t window = window_samples();
    const auto sums = static_cast<std::size_t>(sums_samples());
    const bool careful = !finite_taps_ && problem_.x.boundary == Boundary::zero;
    return aligned(window * sizeof(X)) * (careful ? 2 : 1) + aligned(sums * sizeof(X));
}

template <class X, class H>
std::size_t DirectExecutable<X, H>::workspace_bytes() const {
    return slot_bytes() * static_cast<std::size_t>(threads_);
}

template <class X, class H>
auto DirectExecutable<X, H>::scratch_of(const Job& job, int slot) const -> Scratch {
    std::byte* base = job.workspace + static_cast<std::size_t>(slot) * slot_bytes();
    const std::size_t sums_bytes = aligned(static_cast<std::size_t>(sums_samples()) * sizeof(X));
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
    job.side_by_side = p.batch.length > 1 && p.filters == 1 && input.main.batch_stride == 1 && output.batch_stride == 1 &&
                       std::abs(input.main.stride) >= p.batch.length && std::abs(output.stride) >= p.batch.length;
    job.panels = job.side_by_side && p.batch.length * kParts >= kMinPanelWidth && p.x.k <= kMaxPanelTaps;
    const std::int64_t window_bytes = p.x.k * p.batch.length * static_cast<std::int64_t>(sizeof(X));
    job.flat = job.side_by_side && input.main.stride == p.batch.length && output.stride == p.batch.length &&
               (p.x.k < kMinPanelTaps || (job.panels ? window_bytes <= kFlatBytes : p.x.k <= kTapChunk));
    job.side_by_side = job.flat || job.panels;
    job.plain_output = p.trivial_epilogue && (output.stride == 1 || job.side_by_side);
    if (job.side_by_side || (input.main.stride == 1 && p.x.k <= kTapChunk)) {
        job.interior_first = std::clamp(input.main.first + p.x.origin, output.first, end);
        job.interior_last = std::clamp(input.main.last + p.x.origin - p.x.k + 1, job.interior_first, end);
    }
    const bool known = !job.side_by_side && output.count == p.x.outputs;
    job.division = known ? whole_ : divide(output.count, job.side_by_side, job.flat);
    job.stream = job.plain_output && job.division.past_caches;
    return job;
}

// Tasks depend on the problem and the number of threads; bits do not depend on tasks.
template <class X, class H>
auto DirectExecutable<X, H>::divide(std::int64_t count, bool side_by_side, bool flat) const -> Division {
    Division division;
    const double items = static_cast<double>(problem_.batch.length) * static_cast<double>(problem_.outer_length());
    const double bytes = items * static_cast<double>(count) * static_cast<double>(sizeof(X));
    division.past_caches = stores_past_caches(bytes, bytes, threads_);
    const std::int64_t together = flat ? problem_.batch.length : 1;  // rows of which a task takes all or none
    const std::int64_t rows = problem_.batch.length / together;
    const double output_seconds = static_cast<double>(kParts * kTapParts * together) *
                                  (direct_products(problem_.x.k, doubles_) + kProductsOfAnOutput) *
                                  direct_product_seconds(target_, sizeof(Real));
    division.seconds = output_seconds * static_cast<double>(rows) * static_cast<double>(count);
    const double wanted =
        std::max(static_cast<double>(core::good_number_of_tasks(division.seconds, threads_)), division.seconds / kMostTaskSeconds);
    const std::int64_t outputs =
        std::max(static_cast<std::int64_t>(division.seconds / wanted / output_seconds) + 1, divide_up(kMinTaskOutputs, together));
    if (side_by_side && !flat) {
        division.outputs_per_task = std::min(count, kPanelSamples);
        division.rows_per_task = std::min(divide_up(outputs / division.outputs_per_task + 1, kPanelWidth) * kPanelWidth, rows);
    } else {
        division.outputs_per_task = outputs;
        const auto least = std::max(divide_up(rows, static_cast<std::int64_t>(wanted)), divide_up(kMinTaskOutputs, count));
        division.rows_per_task = outputs < count ? 1 : std::clamp(least, std::int64_t{1}, rows);
    }
    division.tasks_per_row = divide_up(count, division.outputs_per_task);
    division.tasks = division.tasks_per_row * divide_up(rows, division.rows_per_task);
    division.rows_per_task *= together;
    return division;
}

template <class X, class H>
void DirectExecutable<X, H>::execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace,
                                     void*) const {
    if (output.count <= 0) { return; }
    const Job job = plan_job(output, input, workspace);
    core::parallel_for(
        job.division.tasks, threads_, [this, &job](std::int64_t task, int slot) { run_task(job, task, slot); },
        job.division.seconds);
}

template <class X, class H>
void DirectExecutable<X, H>::execute_run(const core::Output& output, const core::Input& input, std::span<std::byte> workspace,
                                         std::int64_t row, std::int64_t first, std::int64_t last, bool past_caches) const {
    Job job{.output = output, .input = input, .workspace = workspace.data()};
    job.plain_output = problem_.trivial_epilogue && output.stride == 1;
    job.stream = past_caches && job.plain_output;
    if (input.main.stride == 1 && problem_.x.k <= kTapChunk) {
        job.interior_first = std::clamp(input.main.first + problem_.x.origin, first, last);
        job.interior_last = std::clamp(input.main.last + problem_.x.origin - problem_.x.k + 1, job.interior_first, last);
    }
    run_row(job, scratch_of(job, 0), row, first, last);
}

template <class X, class H>
void DirectExecutable<X, H>::execute_line(std::int64_t filter, const core::Output& output, const core::Input& input,
                                          bool past_caches, std::span<std::byte> workspace) const {
    core::Output line = output;
    core::Input samples = input;
    line.batch_stride = samples.main.batch_stride = samples.extra.batch_stride = 0;
    execute_run(line, samples, workspace, filter, output.first, output.first + output.count, past_caches);
}

// A tap that is not finite makes a NaN of a zero; of longer filters those taps are left out that meet zeros only.
template <class X, class H>
bool DirectExecutable<X, H>::takes_extended_lines() const {
    return problem_.x.boundary != Boundary::zero || (finite_taps_ && problem_.x.k <= kDirectGroup);
}

template <class X, class H>
const void* DirectExecutable<X, H>::taps_in_order(std::int64_t filter) const {
    const bool in_order = !kComplexTaps && !doubles_ && problem_.x.k <= cpu::taps_in_order(target_, sizeof(Real));
    return in_order ? taps_of(filter) : nullptr;
}

template <class X, class H>
void DirectExecutable<X, H>::run_task(const Job& job, std::int64_t task, int slot) const {
    const Division& division = job.division;
    const Scratch scratch = scratch_of(job, slot);
    const std::int64_t end = job.output.first + job.output.count;
    const std::int64_t first = job.output.first + task % division.tasks_per_row * division.outputs_per_task;
    const std::int64_t last = std::min(first + division.outputs_per_task, end);
    const std::int64_t row = task / division.tasks_per_row * division.rows_per_task;
    const std::int64_t row_end = std::min(row + division.rows_per_task, problem_.batch.length);
    if (job.side_by_side) {
        run_side_by_side(job, scratch, first, last, row, row_end);
        return;
    }
    for (std::int64_t r = row; r < row_end; ++r) { run_row(job, scratch, r, first, last); }
}

template <class X, class H>
void DirectExecutable<X, H>::run_row(const Job& job, const Scratch& scratch, std::int64_t row, std::int64_t first,
                                     std::int64_t last) const {
    if (few_kernel_ != nullptr && run_few(job, row, first, last)) { return; }
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

// Outputs with their windows, as far as the signal has them, in one piece of memory: false where that is not so.
template <class X, class H>
bool DirectExecutable<X, H>::run_few(const Job& job, std::int64_t row, std::int64_t first, std::int64_t last) const {
    const core::Piece& main = job.input.main;
    const std::int64_t n = job.input.n, k = problem_.x.k;
    if (!job.plain_output || job.output.stride != 1 || main.stride != 1 || n == kUnknownLength || first >= last) { return false; }
    const std::int64_t begin = first - problem_.x.origin, end = last - problem_.x.origin + k - 1;
    const std::int64_t lead = std::max<std::int64_t>(-begin, 0), trail = std::max<std::int64_t>(end - n, 0);
    if (lead >= k || trail >= k || begin + lead < main.first || end - trail > main.last) { return false; }
    few_kernel_(
        {.out = real_elements<Real>(static_cast<X*>(job.output.data) + row * job.output.batch_stride + (first - job.output.first)),
         .in = real_elements<Real>(static_cast<const X*>(main.data) + row * main.batch_stride + (begin - main.first)),
         .taps = real_elements<Real>(taps_of(row)),
         .count = last - first,
         .k = k,
         .stream = job.stream,
         .lead = lead,
         .trail = trail});
    return true;
}

template <class X, class H>
void DirectExecutable<X, H>::run_in_place(const Job& job, const Scratch& scratch, std::int64_t row, std::int64_t first,
                                          std::int64_t last) const {
    const core::Piece& main = job.input.main;
    const X* in = static_cast<const X*>(main.data) + row * main.batch_stride + (first - problem_.x.origin - main.first);
    run_contiguous(job, scratch, job.output, row, first, last - first, in, taps_of(row), 1);
}

// `count` outputs from what lies at `in`, at least a block of them; samples of a signal are `step` elements apart.
template <class X, class H>
void DirectExecutable<X, H>::run_contiguous(const Job& job, const Scratch& scratch, const core::Output& output, std::int64_t row,
                                            std::int64_t first, std::int64_t count, const X* in, const H* taps,
                                            std::int64_t step) const {
    Call call{.in = real_elements<Real>(in), .taps = real_elements<Real>(taps), .step = step * kParts, .k = problem_.x.k};
    if (job.plain_output) {
        call.out = real_elements<Real>(static_cast<X*>(output.data) + row * output.batch_stride + (first - output.first));
        call.count = count * kParts;
        call.stream = job.stream;
        kernel_(call);
        return;
    }
    call.out = real_elements<Real>(scratch.sums);
    for (std::int64_t rest = count; rest > 0;) {
        // The last two tiles share what is left, so that none is shorter than a block.
        const std::int64_t some = rest <= kTile ? rest : (rest < 2 * kTile ? rest / 2 : kTile);
        call.count = some * kParts;
        kernel_(call);
        store_(problem_, output, row, first + (count - rest), some, scratch.sums);
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
    const std::int64_t from = std::clamp(problem.x.origin - (first + count - 1), std::int64_t{0}, problem.x.k);
    const std::int64_t to =
        n == kUnknownLength ? problem.x.k : std::clamp(n + problem.x.origin - first, std::int64_t{0}, problem.x.k);
    return {from / kDirectGroup * kDirectGroup, std::min(divide_up(to, kDirectGroup) * kDirectGroup, problem.x.k)};
}

template <class X, class H>
void DirectExecutable<X, H>::sum_gathered(const Job& job, const Scratch& scratch, std::int64_t row, std::int64_t first,
                                          std::int64_t count) const {
    const core::Resolved& p = problem_;
    const std::int64_t n = job.input.n;
    const std::int64_t begin = first - p.x.origin;  // the sample that tap 0 meets
    const bool zero = p.x.boundary == Boundary::zero;
    const bool leaves = begin < 0 || (n != kUnknownLength && begin + count + p.x.k - 1 > n);
    const bool careful = zero && leaves && !finite_taps_;
    const TapRange range = zero && leaves && !careful && !doubles_ ? meeting_taps(p, n, first, count) : TapRange{0, p.x.k};
    if (range.first >= range.last) {
        std::fill_n(scratch.sums, count, X{});
        store_(p, job.output, row, first, count, scratch.sums);
        return;
    }

    Call call{.out = real_elements<Real>(scratch.sums),
              .in = real_elements<Real>(scratch.window),
              .present = scratch.present,
              .count = count * kParts,
              .step = kParts};
    const bool plain = job.plain_output && job.output.stride == 1;
    X* target = plain && p.x.k <= kTapChunk && !careful && call.count >= kDirectBlock
                    ? static_cast<X*>(job.output.data) + row * job.output.batch_stride + (first - job.output.first)
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
            careful_kernel_(call);
        } else {
            kernel_(call);
        }
        call.accumulate = true;
    }
    if (target == nullptr) { store_(p, job.output, row, first, count, scratch.sums); }
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
