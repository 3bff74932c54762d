// Direct convolution of images: every product, a tile of outputs at a time.
#include <algorithm>
#include <bit>
#include <functional>

#include "core/plan/parallel.hpp"
#include "cpu/algorithms.hpp"
#include "cpu/element_types.hpp"
#include "cpu/image/image_cost.hpp"
#include "cpu/image/image_tasks.hpp"
#include "cpu/image/pixel_algorithm.hpp"

namespace tapline::cpu {
namespace {

using core::Request;
using core::Resolved;

// Input rows in work, so that they stay in the L2 cache beside what passes through.
constexpr std::int64_t kRingBytes = std::int64_t{512} << 10;
// Masks of more taps are summed in groups, groups of groups and the rest, so that no chain of additions is long: where a mask and
// an image of bytes are flat every rounding goes the same way, and 1,256 equal products in one sum end up to 1.8e-5 off, where the
// promise is 1e-6. A chain of 64 leaves at most 9.3e-7, 32 half of that.
constexpr std::int64_t kTapsInTurn = 64;
constexpr std::int64_t kGroup = 20;
constexpr std::int64_t kGroupsInTurn = 32;
constexpr std::int64_t kLeastBlock = 256, kMostBlock = 4096;
// A tile's loads and stores count as so many products an output: 5x5, 7x7, 11x11, 15x15 on 2048 x 2048 f32 with one thread
// take 2.3, 3.9, 8.5, 14.4 ms; 2.3, 3.8, 8.1, 14.4 predicted.
constexpr double kProductsOfAnOutput = 13.5;
// An output's share of converting the input and rounding the output: u8 with 3x3 and 7x7 takes 2.0 and 4.5 ms.
constexpr double kConvertProducts = 10;

template <class T>
class Direct final : public core::Executable {
public:
    Direct(const Resolved& problem, const void* taps, const Request& request, double seconds)
        : problem_(problem),
          target_(current_target()),
          kernels_(image_kernels(target_).of<T>()),
          lines_(problem_, kernels_),
          threads_(core::worthwhile_threads(seconds, request.threads)),
          seconds_(seconds),
          in_groups_(problem.taps() > kTapsInTurn),
          rows_(kernels_.call_rows(problem.y.k, problem.x.k)),
          ring_(problem.y.k + rows_ - 1 + lines_.rows_together() - 1) {
        const auto count = static_cast<std::size_t>(problem.filters * problem.taps());
        const T* from = static_cast<const T*>(taps);
        const std::size_t parts = problem.complex_taps ? 2 : 1;
        for (std::size_t part = 0; part < parts; ++part) {
            for (std::size_t t = 0; t < count; ++t) { taps_[part].push_back(from[t * parts + part]); }
            if (in_groups_) { put_columns_together(taps_[part]); }
        }
        const std::int64_t halo = (problem.x.k - 1) * lines_.step();
        const std::int64_t fitting = kRingBytes / static_cast<std::int64_t>(sizeof(T)) / ring_ - halo;
        block_ = std::min(std::clamp(fitting / kImagePadding * kImagePadding, kLeastBlock, kMostBlock),
                          whole_vectors(lines_.out_elements()));
        pitch_ = whole_vectors(block_ + halo) + kImagePadding;
        sums_pitch_ = block_ + kImagePadding;
    }

    [[nodiscard]] std::size_t workspace_bytes() const override { return static_cast<std::size_t>(threads_) * slot_bytes(); }

    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const override {
        void* const out = output.data;
        const void* const in = input.main.data;
        const ImageTasks tasks = divide(problem_, lines_, out, block_, 2 * problem_.y.k, threads_, true);
        const auto body = [&](std::int64_t task, int slot) {
            const std::int64_t band = task / tasks.segments % tasks.bands;
            const Plane plane = lines_.plane(task / tasks.segments / tasks.bands);
            const Segment segment = tasks.segment(task % tasks.segments);
            if (segment.count <= 0) { return; }
            const std::int64_t first = band * tasks.band, last = std::min(first + tasks.band, problem_.y.outputs);
            run(tasks, plane, segment, first, last, out, in, workspace.data() + static_cast<std::size_t>(slot) * slot_bytes());
        };
        core::parallel_for(tasks.tasks(), threads_, std::cref(body), seconds_);
    }

    [[nodiscard]] std::string describe() const override {
        return std::string(to_string(target_)) + ", tiles of " + std::to_string(rows_) + " rows, segments of " +
               std::to_string(block_) + " elements";
    }

private:
    [[nodiscard]] std::size_t slot_bytes() const {
        const std::int64_t elements = ring_ * pitch_ + 2 * rows_ * sums_pitch_;
        const std::size_t bytes =
            static_cast<std::size_t>(elements) * sizeof(T) + static_cast<std::size_t>(ring_) * sizeof(const T*);
        return (bytes + 63) / 64 * 64;
    }

    void run(const ImageTasks& tasks, const Plane& plane, const Segment& segment, std::int64_t first, std::int64_t last, void* out,
             const void* in, std::byte* scratch) const {
        T* const lines = reinterpret_cast<T*>(scratch);
        T* const sums = lines + ring_ * pitch_;
        const T** const rows = reinterpret_cast<const T**>(sums + 2 * rows_ * sums_pitch_);
        const std::int64_t vectors = whole_vectors(segment.count);
        const std::int64_t halo = (problem_.x.k - 1) * lines_.step();
        RowWindow<T> window(lines_, in, plane, segment.first - problem_.x.origin * lines_.step(), vectors + halo, lines, pitch_,
                            rows, ring_, vectors - segment.count);
        const bool edge =
            tasks.inner_first < tasks.inner_last && (segment.first < tasks.inner_first || segment.first >= tasks.inner_last);
        const bool inner = !edge && tasks.inner_first < tasks.inner_last;
        const bool in_place = inner && lines_.is_plain_output() && !problem_.complex_taps && (tasks.aligned || !tasks.stream) &&
                              (!in_groups_ || !tasks.stream);
        ImageCall<T> call;
        call.height = problem_.y.k;
        call.width = problem_.x.k;
        call.step = lines_.step();
        call.count = vectors;
        for (std::int64_t y = first; y < last; y += rows_) {
            call.rows = std::min(rows_, last - y);
            call.in = window.at(y - problem_.y.origin, call.rows + problem_.y.k - 1);
            if (in_place) {
                call.out = lines_.target(out, plane, y, segment.first, vectors);
                call.out_pitch = problem_.y.out_stride * lines_.parts();
                call.stream = tasks.stream;
                sum(call, plane, 0);
                continue;
            }
            call.out = sums;
            call.out_pitch = sums_pitch_;
            sum(call, plane, 0);
            if (problem_.complex_taps) {
                call.out = sums + rows_ * sums_pitch_;
                sum(call, plane, 1);
                combine(sums, call.rows, segment.count);
            }
            for (std::int64_t r = 0; r < call.rows; ++r) {
                lines_.store(out, plane, y + r, segment.first, segment.count, sums + r * sums_pitch_, tasks.stream && !edge);
            }
        }
        if (tasks.stream) { kernels_.flush(); }
    }

    // Columns of the mask that are summed together.
    [[nodiscard]] std::int64_t group_width() const {
        const std::int64_t parts = (problem_.x.k + kGroup - 1) / kGroup;
        return (problem_.x.k + parts - 1) / parts;
    }
    // Of each mask the columns of one group, row after row, and behind them those of the next.
    void put_columns_together(std::vector<T>& taps) const {
        const std::vector<T> masks = taps;
        const std::int64_t width = group_width(), height = problem_.y.k;
        auto to = taps.begin();
        for (auto mask = masks.begin(); mask != masks.end(); mask += problem_.taps()) {
            for (std::int64_t j = 0; j < problem_.x.k; j += width) {
                const std::int64_t columns = std::min(width, problem_.x.k - j);
                for (std::int64_t i = 0; i < height; ++i) { to = std::copy_n(mask + i * problem_.x.k + j, columns, to); }
            }
        }
    }

    void sum(const ImageCall<T>& whole, const Plane& plane, std::size_t part) const {
        const T* const taps = taps_[part].data() + lines_.mask(plane) * problem_.taps();
        ImageCall<T> call = whole;
        if (!in_groups_) {
            call.taps = taps;
            return kernels_.sums(call);
        }
        const std::int64_t width = group_width();
        call.group_rows = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(kGroup / width)));
        const std::int64_t height = call.group_rows * kGroupsInTurn;
        for (std::int64_t i = 0; i < problem_.y.k; i += height) {
            for (std::int64_t j = 0; j < problem_.x.k; j += width) {
                call.in = whole.in + i;
                call.offset = j * call.step;
                call.height = std::min(height, problem_.y.k - i);
                call.width = std::min(width, problem_.x.k - j);
                call.taps = taps + j * problem_.y.k + i * call.width;
                call.accumulate = i + j > 0;
                kernels_.sums(call);
            }
        }
    }

    // (a, b) of the products with imaginary parts belongs to the output as (-b, a).
    void combine(T* sums, std::int64_t rows, std::int64_t count) const {
        for (std::int64_t r = 0; r < rows; ++r) {
            T* const real = sums + r * sums_pitch_;
            const T* const imaginary = real + rows_ * sums_pitch_;
            for (std::int64_t e = 0; e < count; e += 2) {
                real[e] -= imaginary[e + 1];
                real[e + 1] += imaginary[e];
            }
        }
    }

    Resolved problem_;
    Target target_;
    const ImageKernels<T>& kernels_;
    ImageLines<T> lines_;
    std::vector<T> taps_[2];  ///< real and imaginary parts
    int threads_;
    double seconds_;  ///< on one thread
    bool in_groups_;
    std::int64_t rows_;  ///< of outputs at a time
    std::int64_t ring_;  ///< input rows in work
    std::int64_t block_ = 0, pitch_ = 0, sums_pitch_ = 0;
};

class DirectAlgorithm final : public core::Algorithm {
public:
    [[nodiscard]] std::string_view name() const override { return "direct"; }
    [[nodiscard]] std::string_view summary() const override { return "every product, tiles of outputs in SIMD registers"; }
    [[nodiscard]] bool takes_rank(int rank) const override { return rank == 2; }
    [[nodiscard]] core::Support supports(const Resolved&, const Request& request) const override {
        return request.facts.finite ? core::Support::yes() : core::Support::no("a tap is not finite");
    }
    [[nodiscard]] double estimate_seconds(const Resolved& p, const Request& request) const override {
        const double sums = work(p);
        return image_seconds(p, sums, request.threads);
    }
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& p, const void* taps,
                                                            const Request& request) const override {
        return with_real_type(p.sum_dtype, [&]<class T>(T) -> std::unique_ptr<core::Executable> {
            return std::make_unique<Direct<T>>(p, taps, request, work(p));
        });
    }

private:
    static double work(const Resolved& p) {
        const double convert = p.dtype == p.sum_dtype ? 0 : kConvertProducts;
        return outputs_of(p) * (static_cast<double>(p.taps()) + kProductsOfAnOutput + convert) * image_product_seconds(p);
    }
};

}  // namespace

const core::Algorithm& image_direct_algorithm() {
    static const DirectAlgorithm kInner;
    static const PixelAlgorithm kAlgorithm(kInner);
    return kAlgorithm;
}

}  // namespace tapline::cpu
