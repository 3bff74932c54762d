#include "cpu/overlap_save/column_transforms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/plan/parallel.hpp"
#include "core/plan/repeated.hpp"
#include "core/problem/window.hpp"
#include "cpu/caches.hpp"
#include "cpu/direct/calls/direct_shape.hpp"
#include "cpu/fft/fft.hpp"
#include "cpu/lines/line_tiles.hpp"
#include "cpu/overlap_save/local_sums.hpp"
#include "cpu/overlap_save/overlap_save_shape.hpp"
#include "cpu/overlap_save/overlap_save_taps.hpp"

namespace tapline::cpu {
namespace {

using core::Input;
using core::Output;
using core::Piece;
using core::Resolved;

using T = float;

// Points of a transform: the lanes of longer ones leave too little of the L2 cache (2^13: 50 ns a point, one MiB of points; 2^17
// samples of 64 rows under 2,047 and 4,095 taps then take as long as in tiles).
constexpr int kLeastLog2 = 8, kMostLog2 = 12;
// Nanoseconds a point of all lanes takes one thread, there and back, AVX-512.
constexpr std::array<double, kMostLog2 - kLeastLog2 + 1> kPointNs = {33, 31, 35, 36, 50};
// A vector fills a line of the cache: where it does not, turning samples was never measured to take longer.
constexpr int kLanes = 16;
constexpr std::int64_t kCacheLine = 64;
// Of what tiles are predicted to take, which small ones exceed: 143 x 208 x 32 under 145 taps, at 1.1 times that, take 0.6 times as
// long as in tiles, 3,000 samples of 28 rows under 300 taps at 1.5 0.6, 10 x 3,000 x 32 under 600 at 2.1 1.25 (two threads).
constexpr double kMostOfTiles = 1.3;
// Asking for outputs that are in the cache of a core takes 3 to 8% longer than not asking.
constexpr std::int64_t kBytesOfACore = 1 << 20;
// Groups of rows side by side that a task goes through.
constexpr std::int64_t kMostGroups = 8;
// From so many groups on, one of them, whose samples are copied, costs less than the others gain.
constexpr std::int64_t kFewestGroups = 4;

std::int64_t block_of(const Resolved& p, int log2_size) {
    return ((std::int64_t{1} << log2_size) - p.x.k + 1) / kBlockMultiple * kBlockMultiple;
}

// Real segments go as the parts of complex ones: two of each group of rows or, of rows that are one segment, those of two groups.
struct Units {
    std::int64_t segments, groups;
    bool pairs_groups;
};
Units units_of(const Resolved& p, std::int64_t block) {
    const std::int64_t segments = divide_up(p.x.outputs, block), groups = divide_up(p.batch.length, kLanes);
    if (is_complex(p.dtype)) { return {segments, groups, false}; }
    if (segments == 1) { return {1, divide_up(groups, 2), true}; }
    return {divide_up(segments, 2), groups, false};
}

OverlapSaveShape shape_of(const Resolved& p) {
    OverlapSaveShape best;
    best.seconds = std::numeric_limits<double>::infinity();
    for (int m = kLeastLog2; m <= kMostLog2; ++m) {
        const std::int64_t block = block_of(p, m);
        if (block < kBlockMultiple) { continue; }
        const Units units = units_of(p, block);
        const double each = std::ldexp(1e-9 * kPointNs.at(static_cast<std::size_t>(m - kLeastLog2)), m);
        const double seconds = each * static_cast<double>(units.segments * units.groups * p.outer_length());
        if (seconds >= best.seconds) { continue; }
        best.log2_size = m;
        best.block = block;
        best.seconds = seconds;
    }
    return best;
}

class ColumnTransforms final : public core::Executable {
public:
    ColumnTransforms(const LineLayout& layout, const void* taps, const core::Request& request, const OverlapSaveShape& shape,
                     std::unique_ptr<core::Executable> line)
        : problem_(layout.problem),
          reordered_(layout.reordered),
          complex_(is_complex(problem_.dtype)),
          block_(shape.block),
          seconds_(shape.seconds),
          threads_(request.threads),
          target_(current_target()),
          kernels_(fft_kernels<T>(target_)),
          fft_(Target::scalar, shape.log2_size),
          lines_(problem_of_lines(problem_, 1)),
          watches_(keeps_errors_local(lines_, request)),
          taps_(prepare_taps(lines_, shape, fft_, taps, request.threads)),
          units_(units_of(problem_, block_)),
          far_(problem_.outer_length() * problem_.batch.length * problem_.x.outputs * row_bytes() > kBytesOfACore),
          line_(std::move(line)) {}

    /// Whether transforms hold these taps.
    [[nodiscard]] bool takes_taps() const { return taps_.special.empty() && taps_.unscale_exponent == 0; }

    [[nodiscard]] std::size_t workspace_bytes() const override { return static_cast<std::size_t>(slot_bytes() * threads_); }
    [[nodiscard]] std::int64_t granularity() const override { return block_ * (complex_ || units_.pairs_groups ? 1 : 2); }
    [[nodiscard]] std::string describe() const override {
        return "FFT of " + std::to_string(fft_.size()) + " points, " + std::to_string(block_) + " outputs each, of " +
               std::to_string(kLanes) + " rows side by side, " + to_string(target_);
    }

    void execute(const Output& output, const Input& input, std::span<std::byte> workspace, void*) const override {
        if (output.count <= 0) { return; }
        const std::int64_t first = output.first / granularity(), across = divide_up(output.count, granularity());
        const std::int64_t outer = problem_.outer_length();
        const std::int64_t together =
            std::clamp<std::int64_t>(outer * across * units_.groups / (4 * threads_), 1, std::min(kMostGroups, units_.groups));
        const std::int64_t tasks = divide_up(units_.groups, together);
        const auto task = [&](std::int64_t index, int slot) {
            const core::OuterElement element = element_of(problem_, reordered_, output, input, index / tasks / across);
            const Slot memory = slot_at(workspace.data() + slot * slot_bytes());
            const std::int64_t begin = index % tasks * together, end = std::min(begin + together, units_.groups);
            for (std::int64_t group = begin; group < end; ++group) {
                run(element.output, element.input, first + index / tasks % across, group, group + 1 < end, memory);
            }
        };
        core::parallel_for(outer * across * tasks, threads_, std::cref(task), seconds_);
    }

private:
    // A thread's memory.
    struct Slot {
        T* points;
        T* gathered;  // samples and outputs of rows that do not fill a vector
        T* sums;
        T* zeros;
        T* constants;
        T* total;
        T* least;
        T* powers;  // of passages
        const T** rows;
        std::byte* of_line;
    };
    // A part of a unit: rows of a segment, of which so many outputs are wanted; without any it is zeros. They lie side by side from
    // `row` on but for the last few of a group that begins again at row 0.
    struct Side {
        std::int64_t row = 0, rows = 0, near = 0, first_output = 0, count = 0;
        [[nodiscard]] bool fills_vectors() const { return near == kLanes; }
        [[nodiscard]] std::int64_t row_of(std::int64_t lane) const { return lane < near ? row + lane : lane - near; }
    };
    using Sides = std::array<Side, 2>;

    [[nodiscard]] std::int64_t parts() const { return complex_ ? 2 : 1; }
    [[nodiscard]] std::int64_t vector() const { return kLanes * parts(); }  // elements of T of a row
    [[nodiscard]] std::int64_t row_bytes() const { return static_cast<std::int64_t>(size_of(problem_.dtype)); }
    [[nodiscard]] std::int64_t points_elements() const { return 2 * fft_.size() * kLanes; }
    [[nodiscard]] std::int64_t elements() const {
        return 2 * points_elements() + (2 * block_ + 8 + fft_.size() / kFftPassage) * kLanes;
    }
    [[nodiscard]] std::int64_t rows_bytes() const { return 2 * fft_.size() * static_cast<std::int64_t>(sizeof(const T*)); }
    [[nodiscard]] std::int64_t slot_bytes() const {
        return elements() * static_cast<std::int64_t>(sizeof(T)) + rows_bytes() +
               round_up(static_cast<std::int64_t>(line_->workspace_bytes()), kCacheLine);
    }
    [[nodiscard]] Slot slot_at(std::byte* memory) const {
        Slot s{};
        s.points = reinterpret_cast<T*>(memory);
        s.gathered = s.points + points_elements();
        s.sums = s.gathered + points_elements();
        s.zeros = s.sums + 2 * block_ * kLanes;
        s.constants = s.zeros + 2 * kLanes;
        s.total = s.constants + 2 * kLanes;
        s.least = s.total + 2 * kLanes;
        s.powers = s.least + 2 * kLanes;
        s.rows = reinterpret_cast<const T**>(s.points + elements());
        s.of_line = reinterpret_cast<std::byte*>(s.rows) + rows_bytes();
        std::fill_n(s.zeros, 2 * kLanes, T{0});
        for (std::int64_t i = 0; i < vector(); ++i) {
            const bool real = !complex_ || i % 2 == 0;
            s.constants[i] = static_cast<T>(real ? problem_.constant.real() : problem_.constant.imag());
        }
        return s;
    }

    // The row that the groups begin with: vectors of samples that do not straddle lines of the cache are read in 0.8 of the time.
    [[nodiscard]] std::int64_t first_row(const Input& input) const {
        // Rows that share a transform stay together wherever they lie: so do their bits.
        const bool alike = input.main.stride * row_bytes() % kCacheLine == 0;
        return units_.pairs_groups || units_.groups < kFewestGroups || !alike ? 0 : elements_to_line(input.main.data, row_bytes());
    }

    [[nodiscard]] Side side_of(const Output& output, const Input& input, std::int64_t unit, std::int64_t group, int number) const {
        const std::int64_t before = (units_.pairs_groups ? 2 * group + number : group) * kLanes;
        Side side;
        side.row = (first_row(input) + before) % problem_.batch.length;
        side.first_output = (complex_ || units_.pairs_groups ? unit : 2 * unit + number) * block_;
        side.rows = std::clamp<std::int64_t>(problem_.batch.length - before, 0, kLanes);
        side.near = std::min(side.rows, problem_.batch.length - side.row);
        side.count = std::clamp<std::int64_t>(output.first + output.count - side.first_output, 0, block_);
        if (side.rows == 0 || side.count == 0 || (complex_ && number == 1)) { side.rows = side.near = side.count = 0; }
        return side;
    }

    void run(const Output& output, const Input& input, std::int64_t unit, std::int64_t group, bool goes_on,
             const Slot& memory) const {
        const std::int64_t size = fft_.size();
        const Sides sides{side_of(output, input, unit, group, 0), side_of(output, input, unit, group, 1)};
        find_rows(input, sides[0], memory.gathered, memory.rows, memory);
        if (!complex_) { find_rows(input, sides[1], memory.gathered + size * kLanes, memory.rows + size, memory); }
        std::uint32_t lanes = watches_ ? uneven_lanes(input, sides, memory) : 0;
        const LaneRows<T> from{memory.rows, complex_ ? nullptr : memory.rows + size, goes_on ? 2 * vector() - 1 : 0};
        LaneSink<T> to{.re = memory.sums,
                       .im = memory.sums + block_ * kLanes,
                       .stride = vector(),
                       .re_count = sides[0].count,
                       .im_count = sides[1].count,
                       .pairs = complex_,
                       .far = far_};
        const bool in_place = sides[0].fills_vectors() && (sides[1].rows == 0 || sides[1].fills_vectors());
        if (in_place) {
            to.re = out_at(output, sides[0], sides[0].row);
            to.im = out_at(output, sides[1], sides[1].row);
            to.stride = output.stride * parts();
        }
        const T* const h = taps_.spectrum(fft_, 1, 0, 0);
        T* const im = memory.points + size * kLanes;
        lanes |= kernels_.convolve_lanes(fft_.tables(), from, memory.points, im, h, h + fft_.tables().im_offset, to);
        if (!in_place) {
            put_rows(output, sides[0], to.re);
            put_rows(output, sides[1], to.im);
        }
        if (lanes != 0) { repair(output, input, sides, lanes, memory); }
    }

    // Where each point of a side's window lies: in the signal or, of rows that do not fill a vector, copied.
    void find_rows(const Input& input, const Side& side, T* gathered, const T** rows, const Slot& memory) const {
        const std::int64_t begin = side.first_output - problem_.x.origin;
        const std::int64_t end = side.rows == 0 ? 0 : std::clamp<std::int64_t>(needed_end(side) - begin, 0, fft_.size());
        std::fill(rows + end, rows + fft_.size(), memory.zeros);
        for (std::int64_t i = 0; i < end; ++i) {
            std::int64_t position = begin + i;
            const Piece* piece = piece_of(input, position);
            if (piece == nullptr && (position < 0 || (input.n != kUnknownLength && position >= input.n))) {
                position = core::boundary_index(problem_.x.boundary, position, input.n);
                if (position >= 0) { piece = piece_of(input, position); }
            }
            if (piece == nullptr) {  // the boundary's, or one that no wanted output needs
                rows[i] = position < 0 && problem_.x.boundary == Boundary::constant ? memory.constants : memory.zeros;
                continue;
            }
            const T* const row_0 = static_cast<const T*>(piece->data) + (position - piece->first) * piece->stride * parts();
            rows[i] = row_0 + side.row * parts();
            if (!side.fills_vectors()) {
                T* const to = gathered + i * vector();
                std::copy_n(rows[i], side.near * parts(), to);
                std::copy_n(row_0, (side.rows - side.near) * parts(), to + side.near * parts());
                std::fill(to + side.rows * parts(), to + vector(), T{0});
                rows[i] = to;
            }
        }
    }
    // No output of the side reads this position.
    [[nodiscard]] std::int64_t needed_end(const Side& side) const {
        return std::min(side.first_output + block_, problem_.x.outputs) - problem_.x.origin + problem_.x.k - 1;
    }
    static const Piece* piece_of(const Input& input, std::int64_t position) {
        for (const Piece* piece : {&input.main, &input.extra}) {
            if (position >= piece->first && position < piece->last) { return piece; }
        }
        return nullptr;
    }

    [[nodiscard]] T* out_at(const Output& output, const Side& side, std::int64_t row) const {
        const std::int64_t at = (side.first_output - output.first) * output.stride + row;
        return static_cast<T*>(output.data) + at * parts();
    }
    void put_rows(const Output& output, const Side& side, const T* sums) const {
        T* row_0 = out_at(output, side, 0);
        for (std::int64_t i = 0; i < side.count; ++i, row_0 += output.stride * parts()) {
            const T* const from = sums + i * vector();
            std::copy_n(from, side.near * parts(), row_0 + side.row * parts());
            std::copy_n(from + side.near * parts(), (side.rows - side.near) * parts(), row_0);
        }
    }

    // Lanes in which a window may be too quiet beside the rest, as LocalSums says it of a unit, but of as many passages together as
    // lie in every window: a sample that a boundary repeats often makes no window quiet.
    [[nodiscard]] std::uint32_t uneven_lanes(const Input& input, const Sides& sides, const Slot& memory) const {
        const std::int64_t together = (problem_.x.k - kFftPassage + 1) / kFftPassage;
        T* const least_at_ends = memory.least + kLanes;
        std::fill_n(memory.total, kLanes, T{0});
        std::fill_n(memory.least, 2 * kLanes, std::numeric_limits<T>::infinity());
        for (std::size_t i = 0; i < 2; ++i) {
            if (sides.at(i).rows == 0) { continue; }
            const T* const* const rows = memory.rows + static_cast<std::int64_t>(i) * fft_.size();
            const LocalPassages passages = local_passages(
                problem_.x.boundary, input.n, sides.at(i).first_output - problem_.x.origin, needed_end(sides.at(i)), fft_.size());
            const auto add = [&](std::int64_t first, std::int64_t count, T* least) {
                kernels_.add_lane_power(rows + first, count, complex_, nullptr, least);
            };
            const std::int64_t there = passages.to - passages.from;
            kernels_.add_lane_passages(rows + passages.from, there, complex_, together, memory.powers, memory.total, memory.least);
            if (passages.is_short()) { std::fill_n(least_at_ends, kLanes, T{0}); }
            if (there < kFftPassage) { continue; }
            if (problem_.x.boundary == Boundary::zero || there < together * kFftPassage) {
                // Windows that lie in the signal only in part.
                add(passages.from, kFftPassage, least_at_ends);
                add(passages.to - kFftPassage, kFftPassage, least_at_ends);
            }
            const std::int64_t run = std::min(together * kFftPassage, there);
            if (there % kFftPassage != 0 || run < together * kFftPassage) { add(passages.to - run, run, memory.least); }
        }
        std::uint32_t uneven = 0;
        for (std::int64_t l = 0; l < std::max(sides[0].rows, sides[1].rows); ++l) {
            const double least = std::min(static_cast<double>(memory.least[l]) / static_cast<double>(together),
                                          static_cast<double>(least_at_ends[l]));
            const bool even = is_even_enough(static_cast<double>(memory.total[l]), least, fft_.size(), complex_, sizeof(T));
            uneven |= (even ? 0U : 1U) << l;
        }
        return uneven;
    }

    // Those lanes row by row.
    void repair(const Output& output, const Input& input, const Sides& sides, std::uint32_t lanes, const Slot& memory) const {
        for (const Side& side : sides) {
            for (std::int64_t l = 0; l < side.rows; ++l) {
                if ((lanes >> l & 1) == 0) { continue; }
                Output one = output;
                one.first = side.first_output;
                one.count = side.count;
                one.data = out_at(output, side, side.row_of(l));
                Input from = input;
                for (Piece* const piece : {&from.main, &from.extra}) {
                    if (piece->data == nullptr) { continue; }
                    piece->data = static_cast<const std::byte*>(piece->data) + side.row_of(l) * row_bytes();
                }
                line_->execute(one, from, {memory.of_line, line_->workspace_bytes()}, nullptr);
            }
        }
    }

    Resolved problem_;
    bool reordered_, complex_;
    std::int64_t block_;
    double seconds_;
    int threads_;
    Target target_;
    const FftKernels<T>& kernels_;
    BlockFft<T> fft_;  ///< of one lane: its tables, and the order of its spectra
    Resolved lines_;
    bool watches_;
    OverlapSaveTaps<T> taps_;
    Units units_;
    bool far_;  ///< outputs, which then are not in a core's cache
    std::unique_ptr<core::Executable> line_;
};

}  // namespace

bool takes_column_transforms(const LineLayout& layout, const core::Request& request) {
    const Resolved& p = layout.problem;
    const bool plain = (p.dtype == Dtype::f32 || p.dtype == Dtype::complex64) && p.output_dtype == p.dtype && !p.changes_sums();
    const bool near = p.batch.in_stride == 1 && p.batch.out_stride == 1;
    const bool as_a_whole = !request.rows_alone && request.whole == nullptr && !request.taps_come_later;
    if (layout.way != LineLayout::Way::tiles || layout.filters != 1 || !plain || !near || !as_a_whole ||
        request.accuracy == Accuracy::strict || p.x.n == kUnknownLength || p.x.outputs < 1 ||
        fft_kernels<T>(current_target()).lanes != kLanes) {
        return false;
    }
    // A last group of few rows takes as long as a full one, as does a last segment: in tiles less is left over.
    const std::int64_t lanes = divide_up(p.batch.length, kLanes) * kLanes;
    if (4 * p.batch.length < 3 * lanes || 10 * block_of(p, kMostLog2) < std::int64_t{7} << kMostLog2) { return false; }
    if (10 * p.batch.length < 9 * lanes && 2 * block_of(p, kMostLog2 - 1) < std::int64_t{1} << (kMostLog2 - 1)) { return false; }
    const Resolved lines = problem_of_lines(p, p.batch.length * p.outer_length());
    const double of_tiles = overlap_save_shape(lines, 1).seconds + seconds_of_moving(layout, 1);
    return shape_of(p).seconds <= kMostOfTiles * of_tiles;
}

double seconds_of_column_transforms(const LineLayout& layout) { return shape_of(layout.problem).seconds; }

std::unique_ptr<core::Executable> prepare_column_transforms(const LineLayout& layout, const void* taps,
                                                            const core::Request& request, std::unique_ptr<core::Executable> line) {
    auto made = std::make_unique<ColumnTransforms>(layout, taps, request, shape_of(layout.problem), std::move(line));
    if (!made->takes_taps()) { return nullptr; }
    return made;
}

}  // namespace tapline::cpu
