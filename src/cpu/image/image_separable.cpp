// Masks that are a sum of few outer products: a row pass and a column pass for each, over a band that stays in the caches.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/plan/parallel.hpp"
#include "cpu/algorithms.hpp"
#include "cpu/direct/calls/simd_direct.hpp"
#include "cpu/element_types.hpp"
#include "cpu/image/image_cost.hpp"
#include "cpu/image/image_patch.hpp"
#include "cpu/image/image_tasks.hpp"
#include "cpu/image/pixel_algorithm.hpp"

namespace tapline::cpu {
namespace {

using core::Request;
using core::Resolved;

// Lines of the row passes in work, in the L2 cache beside what passes through. Whole tiles of the row kernel (16 vectors of 16
// lanes) matter more than the L1 cache: with blocks of 512 to 2048 elements 31x31 takes the same time, with 560 8% longer.
constexpr std::int64_t kRingBytes = std::int64_t{512} << 10;
constexpr std::int64_t kBlockMultiple = 256;
constexpr std::int64_t kLeastBlock = 256, kMostBlock = 1024;
// A kernel reads whole vectors behind a call with fewer outputs: such lines are gathered.
constexpr std::int64_t kLeastInPlace = kDirectBlock;
// Rows of a band, in heights of the mask: the row pass is done again for the rows that two bands share.
constexpr std::int64_t kBandMasks = 8;
// 7x7, 15x15, 31x31, 63x63 on 2048 x 2048 f32 with one thread: 2.4, 3.9, 6.3, 11.3 ms; 2.7, 3.9, 6.5, 11.5 predicted.
constexpr double kProductFactor = 1.3;
// Beside them a plane of outputs and a row of it: 7,500 images of 28 x 28 under 3 x 3 taps take 3 to 5 us each.
constexpr double kPlaneSeconds = 0.5e-6, kRowSeconds = 40e-9;
constexpr double kProductsOfAnOutput = 26;
// Of several outer products, of a few columns and under large masks each row of the window has passes of its own: a call for each,
// some elements more, and each that it leaves in the ring, as products. 1,000 x 1,000 under 31 x 4 taps (rank 4) take 4.4 ms, 54 x
// 11 under 78 x 2 (rank 2) 22 us, 400 x 400 under 65 x 65 (rank 1) 0.55 ms; 4.2, 27 and 0.53 predicted (one thread, AVX-512).
constexpr double kPassSeconds = 70e-9, kProductsOfARing = 21, kElementsOfAPass = 32;
constexpr double kRowFactor = 1.25, kColumnFactor = 1.15, kAloneFactor = 1.9;

// Both passes at once: output rows of a call, and the highest mask. More rows share more of the row pass, fewer stay in the L1
// cache.
constexpr std::int64_t kStripRows = 56, kStripHeight = 32;
// Strips of many columns make row passes of the mask's height again below each other; where rows are long ones, too, that is not
// won back, but at the edges, which are most of a small image: 25 x 25 taps on 1,185 x 1,185 take 6% more, on 200 x 200 26% less.
constexpr std::int64_t kLowStrip = 20, kFewColumns = 512;

/// One outer product of a mask.
template <class T>
struct Term {
    std::vector<T> column, row;
};

template <class T>
struct SeparableTaps {
    std::vector<Term<T>> terms;
    std::vector<T> taps;  ///< the mask itself
    bool exact_specials = false;
};

template <class T>
class Separable final : public core::Executable {
public:
    Separable(const Resolved& problem, const void* taps, const Request& request, double seconds)
        : problem_(problem),
          target_(current_target()),
          kernels_(image_kernels(target_).of<T>()),
          row_kernel_(direct_kernels(target_).of<T>().real),
          lines_(problem_, kernels_),
          patch_(problem_, lines_, kernels_),
          threads_(core::worthwhile_threads(seconds, request.threads)),
          seconds_(seconds),
          rank_(request.facts.rank()),
          ring_(problem.y.k + kImageRows - 1),
          halo_((problem.x.k - 1) * lines_.step()) {
        const T* from = static_cast<const T*>(taps);
        for (const core::SeparableMask& mask : request.facts.separable) {
            masks_.push_back(prepared(mask, from));
            from += problem.taps();
        }
        const auto keeps_specials = [](const SeparableTaps<T>& mask) { return mask.exact_specials; };
        strips_ =
            kernels_.separable != nullptr && rank_ == 1 && std::all_of(masks_.begin(), masks_.end(), keeps_specials) &&
            lines_.step() == 1 && lines_.is_in_place() && lines_.is_plain_output() && problem.x.k <= kSeparableWidth<T> &&
            problem.y.k <= (problem.x.k <= kSeparableWidth<T> / 2 || problem.x.outputs <= kFewColumns ? kStripHeight : kLowStrip);
        const std::int64_t fitting = kRingBytes / static_cast<std::int64_t>(sizeof(T)) / (rank_ * ring_);
        block_ = std::min(std::clamp(fitting / kBlockMultiple * kBlockMultiple, kLeastBlock, kMostBlock),
                          whole_vectors(lines_.out_elements()));
        pitch_ = block_ + kImagePadding;  // not a power of two: the lines of a column lie in different cache sets
    }

    [[nodiscard]] std::size_t workspace_bytes() const override { return static_cast<std::size_t>(threads_) * slot_bytes(); }

    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const override {
        void* const out = output.data;
        const void* const in = input.main.data;
        const ImageTasks tasks = divide(problem_, lines_, out, block_, kBandMasks * problem_.y.k, threads_, strips_);
        const auto body = [&](std::int64_t task, int slot) {
            const std::int64_t band = task / tasks.blocks() % tasks.bands;
            const std::int64_t first = band * tasks.band, last = std::min(first + tasks.band, problem_.y.outputs);
            tasks.visit_block(task % tasks.blocks(), [&](const Segment& segment) {
                const Job job{tasks,   lines_.plane(task / tasks.blocks() / tasks.bands),
                              segment, out,
                              in,      workspace.data() + static_cast<std::size_t>(slot) * slot_bytes()};
                if (!run_strips(job, first, last)) { run(job, first, last); }
            });
        };
        core::parallel_for(tasks.tasks(), threads_, std::cref(body), seconds_);
    }

    [[nodiscard]] std::string describe() const override {
        return std::string(to_string(target_)) + ", rank " + std::to_string(rank_) + ", row and column passes over blocks of " +
               std::to_string(block_) + " elements";
    }

private:
    struct Job {
        const ImageTasks& tasks;
        Plane plane;
        Segment segment;
        void* out;
        const void* in;
        std::byte* scratch;
    };

    /// Input rows [first, last) in the gathered lines; rows are asked for in ascending order.
    struct Gathered {
        std::int64_t first = 0, last = std::numeric_limits<std::int64_t>::min();
    };

    SeparableTaps<T> prepared(const core::SeparableMask& mask, const T* taps) const {
        SeparableTaps<T> result;
        const auto narrow = [](const std::vector<double>& values, std::int64_t term, std::int64_t count) {
            std::vector<T> factors;
            for (std::int64_t i = 0; i < count; ++i) {
                factors.push_back(static_cast<T>(values[static_cast<std::size_t>(term * count + i)]));
            }
            return factors;
        };
        for (int r = 0; r < mask.rank; ++r) {
            result.terms.push_back({narrow(mask.columns, r, problem_.y.k), narrow(mask.rows, r, problem_.x.k)});
        }
        result.taps.assign(taps, taps + problem_.taps());
        result.exact_specials = mask.exact_specials;
        return result;
    }

    // In a slot: the patch, the rings of all terms, gathered lines, the sums of a row of tiles, row pointers.
    [[nodiscard]] std::int64_t line_elements() const { return whole_vectors(block_ + halo_) + 2 * kImagePadding; }
    [[nodiscard]] std::size_t slot_bytes() const {
        const std::int64_t elements = rank_ * ring_ * pitch_ + lines_.rows_together() * line_elements() + kImageRows * pitch_;
        const std::size_t bytes =
            static_cast<std::size_t>(elements) * sizeof(T) + static_cast<std::size_t>(ring_) * sizeof(const T*);
        return patch_.bytes() + (bytes + 63) / 64 * 64 + strip_bytes();
    }
    // Of strips: the buffer, rows that are not in the image, row pointers twice.
    [[nodiscard]] std::int64_t strip_lines() const { return kStripRows + problem_.y.k - 1; }
    [[nodiscard]] std::size_t strip_bytes() const {
        if (!strips_) { return 0; }
        const auto line = static_cast<std::size_t>(kSeparableStrip + line_elements()) * sizeof(T) + 2 * sizeof(const T*);
        return (static_cast<std::size_t>(strip_lines()) * line + 63) / 64 * 64;
    }
    [[nodiscard]] T* rings(const Job& job) const { return reinterpret_cast<T*>(job.scratch + patch_.bytes()); }
    [[nodiscard]] T* line(const Job& job) const { return rings(job) + rank_ * ring_ * pitch_; }
    [[nodiscard]] T* sums(const Job& job) const { return line(job) + lines_.rows_together() * line_elements(); }
    [[nodiscard]] const T** rows(const Job& job) const { return reinterpret_cast<const T**>(sums(job) + kImageRows * pitch_); }
    [[nodiscard]] T* ring_line(const Job& job, int term, std::int64_t row) const {
        return rings(job) + (term * ring_ + ((row % ring_) + ring_) % ring_) * pitch_;
    }

    /// At the image's edges rows are copied with what is beyond them. False: too few columns, or not as they go past the caches.
    bool run_strips(const Job& job, std::int64_t first, std::int64_t last) const {
        const SeparableTaps<T>& mask = masks_[static_cast<std::size_t>(lines_.mask(job.plane))];
        const bool stream = job.tasks.stream && job.tasks.is_inner(job.segment);
        if (!strips_ || job.segment.count < kImagePadding) { return false; }
        const std::int64_t lines = strip_lines();
        T* const buffer = reinterpret_cast<T*>(job.scratch + slot_bytes() - strip_bytes());
        T* const outside = buffer + lines * kSeparableStrip;
        const T** const rows = reinterpret_cast<const T**>(outside + lines * line_elements());
        RowWindow<T> window(lines_, job.in, job.plane, job.segment.first - problem_.x.origin, job.segment.count + halo_, outside,
                            line_elements(), rows, lines);
        SeparableCall<T> call;
        call.out_pitch = problem_.y.out_stride;
        call.column = mask.terms[0].column.data();
        call.row = mask.terms[0].row.data();
        call.height = problem_.y.k;
        call.width = problem_.x.k;
        call.count = job.segment.count;
        call.stream = stream;
        call.buffer = buffer;
        call.lines = rows + lines;
        for (std::int64_t y = first; y < last; y += kStripRows) {
            call.rows = std::min(kStripRows, last - y);
            call.in = window.at(y - problem_.y.origin, call.rows + problem_.y.k - 1);
            call.out = lines_.target(job.out, job.plane, y, job.segment.first, job.segment.count);
            kernels_.separable(call);
        }
        if (stream) { kernels_.flush(); }
        return true;
    }

    void run(const Job& job, std::int64_t first, std::int64_t last) const {
        const SeparableTaps<T>& mask = masks_[static_cast<std::size_t>(lines_.mask(job.plane))];
        const std::int64_t vectors = whole_vectors(job.segment.count);
        const bool stream = job.tasks.stream && !strips_;  // else a few columns are left to this function
        std::int64_t next = first - problem_.y.origin;     // the next input row of the row pass
        Gathered gathered;
        for (std::int64_t y = first; y < last; y += kImageRows) {
            const std::int64_t count = std::min(kImageRows, last - y);
            const std::int64_t top = y - problem_.y.origin, bottom = top + count + problem_.y.k - 1;
            for (; next < bottom; ++next) { pass_row(job, mask, next, vectors, gathered); }
            for (std::int64_t row = next; row < next + kImageRows && y + kImageRows < last; ++row) {
                lines_.prefetch(job.in, job.plane, row, job.segment.first - problem_.x.origin * lines_.step(), vectors + halo_);
            }
            T* to = mask.exact_specials ? lines_.target(job.out, job.plane, y, job.segment.first, vectors) : nullptr;
            const bool in_place = to != nullptr;
            const std::int64_t pitch = in_place ? problem_.y.out_stride * lines_.parts() : pitch_;
            if (!in_place) { to = sums(job); }
            for (int term = 0; term < static_cast<int>(mask.terms.size()); ++term) {
                pass_column(job, mask, term, top, count, vectors, to, pitch, in_place && stream);
            }
            if (in_place) { continue; }
            if (!mask.exact_specials) { repair(job, mask, y, count); }
            lines_.store(job.out, job.plane, y, count, job.segment.first, job.segment.count, to, pitch, stream);
        }
        if (stream) { kernels_.flush(); }
    }

    void pass_row(const Job& job, const SeparableTaps<T>& mask, std::int64_t row, std::int64_t vectors, Gathered& gathered) const {
        const std::int64_t first = job.segment.first - problem_.x.origin * lines_.step();
        const T* from = vectors >= kLeastInPlace ? lines_.view(job.in, job.plane, row, first, vectors + halo_) : nullptr;
        if (from == nullptr) {
            if (row >= gathered.last) {
                gathered = {row, row + lines_.rows_at_once(row, lines_.rows_together())};
                lines_.gather_rows(line(job), line_elements(), job.in, job.plane, row, gathered.last - row, first,
                                   vectors + halo_ + kImagePadding);
            }
            from = line(job) + (row - gathered.first) * line_elements();
        }
        for (int term = 0; term < static_cast<int>(mask.terms.size()); ++term) {
            DirectCall<T> call;
            call.out = ring_line(job, term, row);
            call.in = from;
            call.taps = mask.terms[static_cast<std::size_t>(term)].row.data();
            call.count = vectors;
            call.step = lines_.step();
            call.k = problem_.x.k;
            row_kernel_(call);
        }
    }

    void pass_column(const Job& job, const SeparableTaps<T>& mask, int term, std::int64_t top, std::int64_t count,
                     std::int64_t vectors, T* to, std::int64_t pitch, bool stream) const {
        const T** const from = rows(job);
        const std::int64_t height = count + problem_.y.k - 1;
        for (std::int64_t i = 0; i < height; ++i) { from[i] = ring_line(job, term, top + i); }
        ImageCall<T> call;
        call.out = to;
        call.out_pitch = pitch;
        call.in = from;
        call.taps = mask.terms[static_cast<std::size_t>(term)].column.data();
        call.height = problem_.y.k;
        call.width = 1;
        call.rows = count;
        call.count = vectors;
        call.accumulate = term > 0;
        call.stream = stream;
        kernels_.sums(call);
    }

    // Sums that are not finite have such samples in their windows (or overflowed on the way): they are formed again directly, since
    // a sum of several products may turn an infinity into a NaN, or give it the wrong sign.
    void repair(const Job& job, const SeparableTaps<T>& mask, std::int64_t y, std::int64_t count) const {
        for (std::int64_t e = 0; e < job.segment.count; e += ImagePatch<T>::kElements) {
            const std::int64_t elements = std::min(ImagePatch<T>::kElements, job.segment.count - e);
            bool finite = true;
            for (std::int64_t r = 0; r < count; ++r) {
                finite = finite && kernels_.all_finite(sums(job) + r * pitch_ + e, elements);
            }
            if (finite) { continue; }
            const T* const again =
                patch_.sums(job.in, job.plane, mask.taps.data(), y, count, job.segment.first + e, elements, job.scratch);
            // Only those that are not: the others' bits must not depend on which tile they share with a NaN.
            for (std::int64_t r = 0; r < count; ++r) {
                T* const sum = sums(job) + r * pitch_ + e;
                const T* const own = again + r * ImagePatch<T>::kElements;
                for (std::int64_t i = 0; i < elements; ++i) { sum[i] = std::isfinite(sum[i]) ? sum[i] : own[i]; }
            }
        }
    }

    Resolved problem_;
    Target target_;
    const ImageKernels<T>& kernels_;
    void (*row_kernel_)(const DirectCall<T>&);
    ImageLines<T> lines_;
    ImagePatch<T> patch_;
    int threads_;
    double seconds_;  ///< on one thread
    std::int64_t rank_;
    std::int64_t ring_;  ///< lines of a term's row pass in work
    std::int64_t halo_;
    bool strips_ = false;  ///< both passes at once where windows are within the rows
    std::int64_t block_ = 0, pitch_ = 0;
    std::vector<SeparableTaps<T>> masks_;
};

class SeparableAlgorithm final : public core::Algorithm {
public:
    [[nodiscard]] std::string_view name() const override { return "separable"; }
    [[nodiscard]] std::string_view summary() const override {
        return "a row pass and a column pass for each outer product that the mask is the sum of";
    }
    [[nodiscard]] bool takes_rank(int rank) const override { return rank == 2; }
    [[nodiscard]] core::Support supports(const Resolved& p, const Request& request) const override {
        if (request.accuracy == Accuracy::strict) { return core::Support::no("accuracy strict allows direct summation only"); }
        if (p.complex_taps) { return core::Support::no("complex masks are not decomposed"); }
        if (request.facts.rank() > 0) { return core::Support::yes(); }
        return core::Support::no("the mask is no sum of " + std::to_string(core::kMaxMaskRank) + " or fewer outer products");
    }
    [[nodiscard]] double estimate_seconds(const Resolved& p, const Request& request) const override {
        const double sums = work(p, request);
        return image_seconds(p, sums, request.threads);
    }
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& p, const void* taps,
                                                            const Request& request) const override {
        return with_real_type(p.sum_dtype, [&]<class T>(T) -> std::unique_ptr<core::Executable> {
            return std::make_unique<Separable<T>>(p, taps, request, work(p, request));
        });
    }

private:
    static double work(const Resolved& p, const Request& request) {
        const double planes = static_cast<double>(p.batch.length), product = image_product_seconds(p);
        const double around = planes * (kPlaneSeconds + static_cast<double>(p.y.outputs) * kRowSeconds);
        const double elements = outputs_of(p) / (planes * static_cast<double>(p.y.outputs));  // of a row
        const double rank = request.facts.rank();
        const bool at_once = p.y.k <= kStripHeight && p.x.k <= kSeparableWidth<float> && elements >= kImagePadding;
        if (rank == 1 && at_once) {
            const double products = static_cast<double>(p.y.k + p.x.k) * kProductFactor + kProductsOfAnOutput;
            return outputs_of(p) * products * product + around;
        }
        const auto lines = static_cast<double>(p.y.outputs + p.y.k - 1), outputs = static_cast<double>(p.y.outputs);
        const double of_row = static_cast<double>(p.x.k) * kRowFactor + kProductsOfARing;
        const double of_rows = lines * (kPassSeconds + (elements + kElementsOfAPass) * of_row * product);
        const double of_columns =
            outputs * static_cast<double>(p.y.k) * elements_in_strips(p, kAloneFactor) * kColumnFactor * product;
        return planes * rank * (of_rows + of_columns) + outputs_of(p) * kProductsOfAnOutput / 2 * product + around;
    }
};

}  // namespace

const core::Algorithm& image_separable_algorithm() { return core::only<PixelAlgorithm, SeparableAlgorithm>(); }

}  // namespace tapline::cpu
