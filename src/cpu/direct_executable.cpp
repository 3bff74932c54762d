#include "cpu/direct_executable.hpp"

#include <algorithm>
#include <cmath>

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

// Side by side, the k rows of samples under a window stay in the L2 cache from one output to the next.
constexpr std::int64_t kPanelBytes = std::int64_t{1} << 19;
constexpr std::int64_t kMinPanel = 2 * kDirectBlock;

// Work is counted in products of real elements, about 80 of them a nanosecond; loading and storing an output counts as 6.
constexpr std::int64_t kProductsOfAnOutput = 6;
constexpr std::int64_t kSerialProducts = 2'000'000;  // 25 us: waking a thread takes 5 to 10
constexpr std::int64_t kMinTaskProducts = 1'000'000;
constexpr std::int64_t kMaxTaskProducts = 4'000'000;
constexpr std::int64_t kTasksOfAThread = 16;
constexpr std::int64_t kMinTaskOutputs = 512;
constexpr std::int64_t kMinTaskRows = 64;  // of a panel: beside the k - 1 more that are read

constexpr std::size_t kAlignment = 64;

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

bool is_finite(float x) { return std::isfinite(x); }
bool is_finite(double x) { return std::isfinite(x); }
template <class T>
bool is_finite(const std::complex<T>& x) {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
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
    bool flat = false;  ///< side by side without gaps
    bool in_place_input = false;
    bool plain_output = false;  ///< sums are the output, with unit stride
    bool stream = false;
    std::int64_t rows_per_task = 1;
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
std::size_t DirectExecutable<X, H>::slot_bytes() const {
    const auto window = static_cast<std::size_t>(kTile + chunk() + kDirectPadding);
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
    const std::size_t window_bytes = aligned(static_cast<std::size_t>(kTile + chunk() + kDirectPadding) * sizeof(X));
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
                       input.main.sample_stride >= p.batch && output.sample_stride >= p.batch && p.k <= kTapChunk;
    job.flat = job.side_by_side && input.main.sample_stride == p.batch && output.sample_stride == p.batch;
    if (job.side_by_side && !job.flat) { job.side_by_side = p.batch * kParts >= kDirectBlock; }
    job.in_place_input = (input.main.sample_stride == 1 || job.side_by_side) && p.k <= kTapChunk;
    job.plain_output = p.trivial_epilogue && (output.sample_stride == 1 || job.side_by_side);
    if (job.in_place_input) {
        job.interior_first = std::clamp(input.main.first + p.origin, output.first, end);
        job.interior_last = std::clamp(input.main.last + p.origin - p.k + 1, job.interior_first, end);
    }
    job.stream = job.plain_output && output.count * p.batch * static_cast<std::int64_t>(sizeof(X)) >= kStreamBytes;

    const std::int64_t width = kParts * kTapParts * (job.side_by_side ? p.batch : 1);
    const std::int64_t rows = job.side_by_side ? 1 : p.batch;
    const std::int64_t products_of_output = width * (p.k + kProductsOfAnOutput);
    const double products = static_cast<double>(products_of_output) * static_cast<double>(rows) * static_cast<double>(output.count);
    job.threads = products < static_cast<double>(kSerialProducts) ? 1 : threads_;
    const auto per_task = std::clamp(static_cast<std::int64_t>(products / static_cast<double>(kTasksOfAThread * job.threads)),
                                     kMinTaskProducts, kMaxTaskProducts);
    const std::int64_t least = job.side_by_side ? std::min(kMinTaskRows, divide_up(kMinTaskOutputs, p.batch)) : kMinTaskOutputs;
    job.outputs_per_task = std::max(per_task / products_of_output, least);
    job.tasks_per_row = divide_up(output.count, job.outputs_per_task);
    job.rows_per_task = job.tasks_per_row > 1 ? 1 : std::clamp(job.outputs_per_task / output.count, std::int64_t{1}, rows);
    job.tasks = job.tasks_per_row * divide_up(rows, job.rows_per_task);
    return job;
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
    if (job.side_by_side) {
        run_side_by_side(job, scratch, first, last);
        return;
    }
    const std::int64_t row = task / job.tasks_per_row * job.rows_per_task;
    const std::int64_t row_end = std::min(row + job.rows_per_task, problem_.batch);
    for (std::int64_t r = row; r < row_end; ++r) { run_row(job, scratch, r, first, last); }
}

template <class X, class H>
void DirectExecutable<X, H>::run_row(const Job& job, const Scratch& scratch, std::int64_t row, std::int64_t first,
                                     std::int64_t last) const {
    const std::int64_t from = std::clamp(job.interior_first, first, last);
    const std::int64_t to = std::clamp(job.interior_last, from, last);
    const bool whole = from == first && to == last;
    // Side by side the interior is done already; these are the ends.
    if (job.side_by_side || to - from < (whole ? kDirectBlock : kMinInPlace)) {
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
    Call call{.in = real_elements<Real>(in),
              .taps = real_elements<Real>(taps_of(row)),
              .step = kParts,
              .k = problem_.k};
    if (job.plain_output) {
        X* out = static_cast<X*>(job.output.data) + row * job.output.row_stride + (first - job.output.first);
        call.out = real_elements<Real>(out);
        call.count = (last - first) * kParts;
        call.stream = job.stream;
        call_kernel(call);
        return;
    }
    call.out = real_elements<Real>(scratch.sums);
    for (std::int64_t o = first; o < last;) {
        // The last two tiles share what is left, so that none is shorter than a block.
        const std::int64_t rest = last - o;
        const std::int64_t count = rest <= kTile ? rest : (rest < 2 * kTile ? rest / 2 : kTile);
        call.count = count * kParts;
        call_kernel(call);
        core::store(problem_, job.output, row, o, count, scratch.sums);
        call.in += count * kParts;
        o += count;
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
void DirectExecutable<X, H>::run_side_by_side(const Job& job, const Scratch& scratch, std::int64_t first, std::int64_t last) const {
    const std::int64_t batch = problem_.batch;
    std::int64_t from = std::clamp(job.interior_first, first, last);
    std::int64_t to = std::clamp(job.interior_last, from, last);
    if ((to - from) * batch * kParts < kDirectBlock) { from = to = last; }
    const std::int64_t window_bytes = problem_.k * batch * static_cast<std::int64_t>(sizeof(X));
    if (job.flat && (window_bytes <= kPanelBytes || batch * kParts < kDirectBlock)) {
        if (from < to) { run_flat(job, scratch, from, to - from, 0, batch); }
    } else {
        const std::int64_t fitting = kPanelBytes / (problem_.k * static_cast<std::int64_t>(sizeof(X)));
        const std::int64_t panels = std::max(std::int64_t{1}, batch / std::max(fitting, kMinPanel));
        for (std::int64_t panel = 0; panel < panels; ++panel) {
            const std::int64_t column = batch * panel / panels;
            const std::int64_t columns = batch * (panel + 1) / panels - column;
            for (std::int64_t o = from; o < to; ++o) { run_flat(job, scratch, o, 1, column, columns); }
        }
    }
    for (std::int64_t row = 0; row < batch; ++row) {
        run_row(job, scratch, row, first, from);
        run_row(job, scratch, row, to, last);
    }
}

// Outputs [first, first + count) of rows [column, column + columns), which lie one after the other in memory: count is 1
// or all rows are meant and nothing lies between samples.
template <class X, class H>
void DirectExecutable<X, H>::run_flat(const Job& job, const Scratch& scratch, std::int64_t first, std::int64_t count,
                                      std::int64_t column, std::int64_t columns) const {
    const core::Piece& main = job.input.main;
    const X* in = static_cast<const X*>(main.data) + (first - problem_.origin - main.first) * main.sample_stride + column;
    const std::int64_t elements = count * columns;
    const std::int64_t offset = (first - job.output.first) * job.output.sample_stride + column;
    Call call{.in = real_elements<Real>(in),
              .taps = real_elements<Real>(taps_.data()),
              .step = main.sample_stride * kParts,
              .k = problem_.k};
    if (job.plain_output) {
        call.out = real_elements<Real>(static_cast<X*>(job.output.data) + offset);
        call.count = elements * kParts;
        call.stream = job.stream && count > 1;  // ending a stream of stores takes too long for one line of an image
        call_kernel(call);
        return;
    }
    const core::Output line{.data = job.output.data, .first = 0, .count = offset + elements, .row_stride = 0, .sample_stride = 1};
    call.out = real_elements<Real>(scratch.sums);
    for (std::int64_t i = 0; i < elements;) {
        const std::int64_t rest = elements - i;
        const std::int64_t some = rest <= kTile ? rest : (rest < 2 * kTile ? rest / 2 : kTile);
        call.count = some * kParts;
        call_kernel(call);
        core::store(problem_, line, 0, offset + i, some, scratch.sums);
        call.in += some * kParts;
        i += some;
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
