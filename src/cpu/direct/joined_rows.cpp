#include "cpu/direct/joined_rows.hpp"

#include <algorithm>
#include <complex>
#include <functional>
#include <optional>
#include <type_traits>

#include "core/plan/parallel.hpp"
#include "core/plan/repeated.hpp"
#include "core/problem/arrange.hpp"
#include "core/problem/elements.hpp"
#include "core/problem/window.hpp"
#include "cpu/caches.hpp"
#include "cpu/direct/direct_executable.hpp"
#include "cpu/lines/line_layout.hpp"
#include "cpu/lines/line_moves.hpp"
#include "cpu/lines/line_store.hpp"
#include "cpu/lines/line_tiles.hpp"

namespace tapline::cpu {
namespace {

using core::Input;
using core::Output;
using core::Request;
using core::Resolved;

// Of more the ends of a row take as long as the rest of it does; longer rows are as fast by themselves. 20,000 rows of 100 under 9
// taps take 0.61 ms so and 1.18 by themselves, 1,000 of 2,000 under 5 0.29 and 0.45, 30,000 of 64 under 25 2.2 and 1.9 (one thread,
// AVX-512).
constexpr std::int64_t kMostTaps = 64, kTapsOfARow = 3, kMostSamples = 4096;
// Rows with other outputs than samples are copied to where they belong: in full mode 10,000 rows of 184 under 25 taps take 2.0 ms
// so and 2.2 by themselves, 2,900 of 700 under 9 0.70 and 0.72.
constexpr std::int64_t kTapsOfACopy = 6, kMostCopied = 640;
// Rows that lie in any other way are packed first.
constexpr std::int64_t kMostPackedBytes = 4096;
constexpr std::int64_t kFewTaps = 4, kFewestOfFewTaps = 768, kMostStepOfFewTaps = 1024;
// Of channels more are turned for as many samples: 99 frames of 216 x 8 under 60 taps take 274 us so and 227 by themselves, 2,000
// of 300 x 4 under 40 1.46 ms and 2.08 (two threads).
constexpr std::int64_t kTapsOfAFrame = 5;
constexpr std::int64_t kFewestRows = 16, kMostChannels = 32;
// Elements of a chunk, which stay in the L2 cache, and its rows: whole vectors at the ends.
constexpr std::int64_t kChunkElements = 16384, kMostRows = 128, kVector = 16;
// What the ends of a row take beside the products: samples that are turned, and outputs.
constexpr double kEndSeconds = 0.35e-9;
constexpr double kRowSeconds = 3e-9;

// Outputs whose windows lie inside a row, and those behind them; as many as the origin says are before them.
std::int64_t inside_of(const Resolved& p) { return p.x.n - p.x.k + 1; }
std::int64_t after_of(const Resolved& p) { return p.x.outputs - inside_of(p) - p.x.origin; }

// Of as_joined(): rows, and what lies side by side in a sample, follow each other.
bool samples_follow(const Resolved& p) {
    return p.x.in_stride == p.channels.length && p.batch.in_stride == p.x.n * p.channels.length;
}
bool outputs_follow(const Resolved& p) {
    return p.x.out_stride == p.channels.length && p.batch.out_stride == p.x.outputs * p.channels.length;
}

// Rows that are worth packing, whose outputs need not be moved one by one.
bool are_packed(const Resolved& p) {
    const auto bytes = static_cast<std::int64_t>(size_of(p.sum_dtype));
    // Those side by side are summed as they lie under few taps (lines/few_taps.hpp).
    const std::int64_t step_bytes = std::abs(p.x.in_stride) * static_cast<std::int64_t>(size_of(p.dtype));
    const bool few = p.batch.in_stride == 1 && p.x.k <= kFewTaps && p.x.n >= kFewestOfFewTaps && step_bytes < kMostStepOfFewTaps;
    return p.channels.length == 1 && p.x.out_stride == 1 && p.batch.in_stride != 0 && p.x.n * bytes <= kMostPackedBytes && !few;
}

// The problem with its rows in `batch` and what lies side by side in a sample in `channels`; none where there are other axes,
// filters or gaps, and where rows are as fast by themselves.
std::optional<Resolved> as_joined(const Resolved& problem, const Request& request) {
    Resolved p = problem;
    const bool plain = p.rank == 1 && !p.changes_rate() && !p.is_exact() && p.filters == 1 && !p.complex_taps;
    const bool finite = request.facts.finite || p.x.boundary != Boundary::zero;
    if (!plain || !finite || p.x.n == kUnknownLength || p.sum_dtype == Dtype::complex128) { return std::nullopt; }
    if (is_complex(p.sum_dtype) && !p.trivial_epilogue) { return std::nullopt; }
    if (p.has_outer()) {
        if (p.outer[1].length > 1 || p.outer[0].taps_stride != 0) { return std::nullopt; }
        const bool first = p.batch.in_stride == 1;
        p.channels = first ? p.batch : p.outer[0];
        p.batch = first ? p.outer[0] : p.batch;
        p.outer[0] = {};
    }
    const std::int64_t k = p.x.k, n = p.x.n, after = after_of(p), c = p.channels.length;
    const bool together = c == 1 || (c <= kMostChannels && p.channels.in_stride == 1 && p.channels.out_stride == 1);
    const bool follow = (samples_follow(p) && outputs_follow(p)) || are_packed(p);
    const bool alike = p.x.outputs == n;
    const std::int64_t least = k * (!alike ? kTapsOfACopy : c > 1 ? kTapsOfAFrame : kTapsOfARow);
    const bool many = p.batch.length >= kFewestRows && n >= least && n * c <= (alike ? kMostSamples : kMostCopied);
    const bool near = k > 1 && k <= kMostTaps && p.x.origin >= 0 && p.x.origin < k && after >= 0 && after < k;
    return together && follow && many && near ? std::optional(p) : std::nullopt;
}

// Of a sample.
double seconds_of_packing(const Resolved& p, const Request& request) {
    return p.batch.in_stride == 1 ? seconds_apart(p, request.threads) : kWidenSeconds;
}

// All rows as one, sums as outputs.
Resolved as_one_row(const Resolved& p) {
    Resolved one = problem_of_lines(p, 1);
    const std::int64_t c = p.channels.length;
    one.x.n = one.x.outputs = p.batch.length * p.x.n;
    one.x.in_stride = one.x.out_stride = c;
    one.x.boundary = Boundary::zero;
    one.batch = {.length = c, .in_stride = 1, .out_stride = 1};
    one.channels = {};
    one.output_dtype = one.sum_dtype;
    one.scale = 1;
    one.bias = 0;
    one.has_clamp = false;
    one.trivial_epilogue = true;
    return one;
}

// Windows of a row's first outputs and of its last ones, one after the other, of `rows` rows side by side: the first and the last k
// samples with what is beyond them. Between them lie outputs that nobody asked for.
Resolved of_ends(const Resolved& p, std::int64_t rows) {
    Resolved ends = as_one_row(p);
    ends.mode = Mode::valid;
    const std::int64_t beyond = p.x.origin + after_of(p), columns = rows * p.channels.length;
    ends.x = {.n = beyond + 2 * p.x.k, .k = p.x.k, .outputs = beyond + p.x.k + 1, .in_stride = columns, .out_stride = columns};
    ends.batch = {.length = columns, .in_stride = 1, .out_stride = 1};
    return ends;
}

/// X: the type of sums. Pieces of rows are left to an executable for rows by themselves, which has the same bits.
template <class X>
class JoinedRows final : public core::Executable {
    using Tap = std::conditional_t<std::is_same_v<X, double>, double, float>;
    using Moved = std::conditional_t<sizeof(X) == 8, double, float>;  ///< a complex sample as one element

public:
    /// `problem`: as_joined() of the problem of `pieces`, whose rows are `batch_strides` apart.
    JoinedRows(const Resolved& problem, const core::Batch& batch_strides, const void* taps, const Request& request,
               std::unique_ptr<const core::Executable> pieces)
        : problem_(problem),
          batch_strides_(batch_strides),
          channels_(problem.channels.length),
          lines_(problem_of_lines(problem, 1)),
          rows_(rows_of_a_chunk(problem)),
          chunks_(divide_up(problem.batch.length, rows_)),
          one_(as_one_row(problem), taps, alone(request)),
          ends_(of_ends(problem, rows_), taps, alone(request)),
          end_windows_(of_ends(problem, rows_).x.n),
          pieces_(std::move(pieces)),
          put_(problem, lines_, current_target()),
          moves_(line_kernels(current_target())),
          pack_(current_target(), problem.dtype, lines_.dtype, lines_.output_dtype, problem.output_dtype),
          packs_(!samples_follow(problem) || problem.dtype != lines_.dtype),
          threads_(static_cast<int>(std::min<std::int64_t>(request.threads, chunks_))) {
        const auto rows = static_cast<double>(problem.batch.length * channels_);
        const double in = rows * static_cast<double>(problem.x.n) * static_cast<double>(size_of(problem.dtype));
        past_caches_ =
            put_.as_made() && stores_past_caches(in, rows * static_cast<double>(problem.x.outputs * sizeof(X)), threads_);
        in_place_ = put_.as_made() && !past_caches_ && outputs_follow(problem);
        seconds_ = rows * static_cast<double>(problem.x.n) * direct_seconds_of_output(as_one_row(problem));
    }

    [[nodiscard]] std::size_t workspace_bytes() const override {
        return std::max(pieces_->workspace_bytes(), static_cast<std::size_t>(threads_) * slot_bytes());
    }
    [[nodiscard]] std::int64_t granularity() const override { return pieces_->granularity(); }
    [[nodiscard]] std::int64_t lookahead() const override { return pieces_->lookahead(); }
    [[nodiscard]] std::string describe() const override {
        return "rows as one, " + std::to_string(rows_) + " at a time, ends by themselves, " + to_string(current_target());
    }

    void execute(const Output& output, const Input& input, std::span<std::byte> workspace, void* stream) const override {
        const std::int64_t n = problem_.x.n;
        const bool as_planned = input.main.batch_stride == batch_strides_.in_stride && input.main.stride == problem_.x.in_stride &&
                                output.batch_stride == batch_strides_.out_stride && output.stride == channels_;
        const bool whole = as_planned && output.count == problem_.x.outputs && input.main.first == 0 && input.main.last == n &&
                           input.extra.first >= input.extra.last;
        if (!whole) { return pieces_->execute(output, input, workspace, stream); }
        const auto task = [&](std::int64_t index, int slot) {
            std::byte* const scratch = workspace.data() + static_cast<std::size_t>(slot) * slot_bytes();
            run({.first = index * rows_,
                 .rows = std::min(rows_, problem_.batch.length - index * rows_),
                 .in = static_cast<const std::byte*>(input.main.data),
                 .out = static_cast<std::byte*>(output.data)},
                scratch);
        };
        core::parallel_for(chunks_, threads_, std::cref(task), seconds_);
    }

private:
    struct Chunk {
        std::int64_t first, rows;
        const std::byte* in;
        std::byte* out;
    };

    static std::int64_t rows_of_a_chunk(const Resolved& p) {
        const std::int64_t rows = round_up(divide_up(kChunkElements, p.x.n * p.channels.length), kVector);
        return std::min(std::min(rows, kMostRows), round_up(p.batch.length, kVector));
    }

    static Request alone(const Request& request) {
        Request one = request;
        one.threads = 1;
        return one;
    }
    [[nodiscard]] std::int64_t k() const { return problem_.x.k; }
    [[nodiscard]] std::int64_t columns() const { return rows_ * channels_; }  ///< of the ends

    // Parts of a slot, in elements: packed samples, sums of a chunk as one row, its outputs and as many beside them, where there
    // are such; the windows of the ends and their sums; then what one_ and ends_ need.
    [[nodiscard]] std::int64_t window_elements() const {
        return round_up((rows_ * problem_.x.n + k()) * channels_, kVector) + kDirectPadding;
    }
    [[nodiscard]] std::int64_t packed_elements() const { return packs_ ? window_elements() : 0; }
    [[nodiscard]] std::int64_t as_one_elements() const { return problem_.x.outputs == problem_.x.n ? 0 : window_elements(); }
    [[nodiscard]] std::int64_t outputs_elements() const {
        return in_place_ ? 0 : round_up(rows_ * problem_.x.outputs * channels_, kVector);
    }
    [[nodiscard]] std::int64_t ends_elements() const { return end_windows_ * columns() + kDirectPadding; }
    [[nodiscard]] std::int64_t elements() const {
        return packed_elements() + as_one_elements() + 2 * outputs_elements() + 2 * ends_elements();
    }
    [[nodiscard]] std::size_t own_bytes() const {
        return static_cast<std::size_t>(round_up(elements() * static_cast<std::int64_t>(sizeof(X)), 64));
    }
    [[nodiscard]] std::size_t slot_bytes() const {
        const std::size_t inner = std::max(one_.workspace_bytes(), ends_.workspace_bytes());
        return own_bytes() + static_cast<std::size_t>(round_up(static_cast<std::int64_t>(inner), 64));
    }

    void run(const Chunk& chunk, std::byte* scratch) const {
        const std::int64_t n = problem_.x.n, outputs = problem_.x.outputs, origin = problem_.x.origin;
        const std::int64_t begin = chunk.first * n, end = begin + chunk.rows * n, all = problem_.batch.length * n;
        X* const packed = reinterpret_cast<X*>(scratch);
        X* const as_one = packed + packed_elements();
        X* const made = as_one + as_one_elements();
        X* const windows = made + 2 * outputs_elements();
        const std::span<std::byte> inner{scratch + own_bytes(), slot_bytes() - own_bytes()};

        const std::int64_t c = channels_;
        core::Piece piece{.data = chunk.in, .first = 0, .last = all, .batch_stride = 1, .stride = c};
        if (packs_) {
            piece.first = std::max<std::int64_t>(begin - origin, 0);
            piece.last = std::min(end + k() - 1 - origin, all);
            piece.data = packed;
            pack(chunk, packed, (begin - piece.first) * c, (piece.last - end) * c);
        }
        const auto out_bytes = static_cast<std::int64_t>(size_of(problem_.output_dtype));
        const std::int64_t out_row = problem_.batch.out_stride * out_bytes;
        std::byte* const out = chunk.out + chunk.first * out_row;
        X* const to = in_place_ ? reinterpret_cast<X*>(out) : made;
        X* const sums = outputs == n ? to : as_one;
        const std::int64_t from = std::max(begin, origin), last = std::min(end, all - (k() - 1 - origin));
        const Input samples{.main = piece, .extra = {}, .n = all};
        if (c == 1) {
            one_.execute_run({.data = sums, .first = begin, .count = end - begin, .batch_stride = 0, .stride = 1}, samples, inner,
                             0, from, last);
        } else {
            one_.execute({.data = sums + (from - begin) * c, .first = from, .count = last - from, .batch_stride = 1, .stride = c},
                         samples, inner, nullptr);
        }
        if (sums != to) {
            for (std::int64_t row = 0; row < chunk.rows; ++row) {
                std::copy_n(sums + (row * n + origin) * c, inside_of(problem_) * c, to + (row * outputs + origin) * c);
            }
        }
        replace_ends(to, static_cast<const X*>(piece.data) + (begin - piece.first) * c, chunk.rows, windows, inner);
        if (in_place_) { return; }
        const bool as_run = outputs_follow(problem_);
        const std::int64_t runs = as_run ? 1 : chunk.rows, count = chunk.rows * outputs * c / runs;
        if (past_caches_) { return moves_.stream(out, out_row, made, count * out_bytes, count * out_bytes, runs); }
        for (std::int64_t run = 0; run < runs; ++run) {
            put_(out + run * out_row, made + run * count, made + outputs_elements(), count);
        }
    }

    // The rows' samples, packed, and zeros where outputs that are replaced read further.
    void pack(const Chunk& chunk, X* to, std::int64_t before, std::int64_t after) const {
        const std::int64_t row = problem_.x.n * channels_, rows = chunk.rows;
        const std::byte* const from =
            chunk.in + chunk.first * problem_.batch.in_stride * static_cast<std::int64_t>(size_of(problem_.dtype));
        std::byte* const at = reinterpret_cast<std::byte*>(to + before);
        std::fill_n(to, before, X{});
        if (samples_follow(problem_)) {
            pack_.gather(at, 0, from, {.line_stride = 0, .step = 1}, 1, rows * row);
        } else {
            pack_.gather(at, row, from, {.line_stride = problem_.batch.in_stride, .step = problem_.x.in_stride}, rows, row);
        }
        std::fill_n(to + before + rows * row, after, X{});
    }

    // Samples are moved as what has their bytes.
    static Moved* moved(X* at) { return reinterpret_cast<Moved*>(at); }
    static const Moved* moved(const X* at) { return reinterpret_cast<const Moved*>(at); }

    // The outputs at the ends of rows, of which `samples` and `to` have the first.
    void replace_ends(X* to, const X* samples, std::int64_t rows, X* windows, std::span<std::byte> workspace) const {
        const std::int64_t n = problem_.x.n, outputs = problem_.x.outputs, origin = problem_.x.origin, after = after_of(problem_);
        if (origin == 0 && after == 0) { return; }
        const auto& turns = moves_.template of<Moved>();
        const std::int64_t c = channels_, row = n * c, out_row = outputs * c;
        X* const first = windows + origin * columns();  // where the windows hold the first sample of the rows, and the last k
        X* const last = first + k() * columns();
        turns.join(moved(first), rows_, moved(samples), row, rows, k() * c);
        turns.join(moved(last), rows_, moved(samples + row - k() * c), row, rows, k() * c);
        const auto fill = [&](X* line, std::int64_t position) {
            const std::int64_t index = core::boundary_index(problem_.x.boundary, position, n);
            if (index >= 0) {
                std::copy_n(index < k() ? first + index * columns() : last + (index - n + k()) * columns(), columns(), line);
            } else {
                const bool constant = problem_.x.boundary == Boundary::constant;
                std::fill_n(line, columns(), core::element_of<X>(constant ? problem_.constant : 0.0));
            }
        };
        for (std::int64_t i = 1; i <= origin; ++i) { fill(first - i * columns(), -i); }
        for (std::int64_t i = 0; i < after; ++i) { fill(last + (k() + i) * columns(), n + i); }
        X* const sums = windows + ends_elements();
        const std::int64_t of_ends = end_windows_ - k() + 1;
        ends_.execute({.data = sums, .first = 0, .count = of_ends, .batch_stride = 1, .stride = columns()},
                      {.main = {.data = windows, .first = 0, .last = end_windows_, .batch_stride = 1, .stride = columns()},
                       .extra = {},
                       .n = end_windows_},
                      workspace, nullptr);
        if (origin > 0) { turns.split(moved(to), out_row, moved(sums), rows_, rows, origin * c); }
        if (after > 0) {
            turns.split(moved(to + out_row - after * c), out_row, moved(sums + (of_ends - after) * columns()), rows_, rows,
                        after * c);
        }
    }

    Resolved problem_;
    core::Batch batch_strides_;  // of what an execution brings
    std::int64_t channels_;
    Resolved lines_;              // with the types of sums
    std::int64_t rows_, chunks_;  // of a chunk, of all
    DirectExecutable<X, Tap> one_, ends_;
    std::int64_t end_windows_;  // samples of the ends' windows
    std::unique_ptr<const core::Executable> pieces_;
    RunStore<X> put_;
    const LineTable& moves_;
    LineMoves pack_;
    bool packs_;  // samples of a chunk: they are widened, or lie in another way
    int threads_;
    bool past_caches_ = false, in_place_ = false;  // where outputs are stored
    double seconds_ = 0;                           // of one thread
};

}  // namespace

bool JoinedRowsAlgorithm::takes_outer(const Resolved& problem, const Request& request) const {
    return inner().takes_outer(problem, request) || as_joined(problem, request).has_value();
}

core::Support JoinedRowsAlgorithm::supports(const Resolved& problem, const Request& request) const {
    return inner().supports(as_joined(problem, request) ? core::without_outer(problem) : problem, request);
}

double JoinedRowsAlgorithm::estimate_seconds(const Resolved& problem, const Request& request) const {
    const std::optional<Resolved> joined = as_joined(problem, request);
    if (!joined) { return inner().estimate_seconds(problem, request); }
    const Resolved one = as_one_row(*joined);
    const double rows = static_cast<double>(joined->batch.length * joined->channels.length), k = static_cast<double>(problem.x.k);
    double beside = rows * (kRowSeconds + 2 * k * direct_seconds_of_output(one) + 3 * k * kEndSeconds);
    if (!samples_follow(*joined)) { beside += rows * static_cast<double>(problem.x.n) * seconds_of_packing(*joined, request); }
    return inner().estimate_seconds(one, request) + core::seconds_on_threads(beside, request.threads);
}

std::unique_ptr<core::Executable> JoinedRowsAlgorithm::prepare(const Resolved& problem, const void* taps,
                                                               const Request& request) const {
    const std::optional<Resolved> joined = as_joined(problem, request);
    if (!joined) { return inner().prepare(problem, taps, request); }
    const auto make = [&]<class X>(X) -> std::unique_ptr<core::Executable> {
        return std::make_unique<JoinedRows<X>>(*joined, problem.batch, taps, request,
                                               core::prepare_with_outer(inner(), problem, taps, request));
    };
    if (is_complex(problem.sum_dtype)) { return make(std::complex<float>{}); }
    return problem.sum_dtype == Dtype::f64 ? make(double{}) : make(float{});
}

}  // namespace tapline::cpu
