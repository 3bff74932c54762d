// As for signals (checked_overlap_save.cpp, split_overlap_save.cpp), a tile of samples is transformed in double, those of f64 in
// two parts, and each output is compared with what the norms of the tile and of the mask allow (OutputBound). Ordinary images leave
// none over. Of those that are left
//
// - sums of nothing but zeros, as in the black parts of an image, are zero: a table of the tile's samples that are not zero, each
//   entry the number of those above and left of it, tells them by four of its numbers;
// - some show by the terms of the largest taps that they keep their bound;
// - all others are summed directly, with the bits of the algorithm `direct`. So is a tile with a NaN or an infinity.
//
// Whatever is decided depends on the samples of a tile alone, so bits are those of parts of an image and of any number of threads.
#include "cpu/image_fft/checked_image_fft.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <type_traits>

#include "core/plan/parallel.hpp"
#include "cpu/element_types.hpp"
#include "cpu/image/image_cost.hpp"
#include "cpu/image/image_direct.hpp"
#include "cpu/image_fft/image_tiles.hpp"
#include "cpu/overlap_save/checked_bound.hpp"
#include "cpu/overlap_save/checked_overlap_save.hpp"
#include "cpu/overlap_save/split_fft.hpp"

namespace tapline::cpu {
namespace {

// Outputs of a row that are looked at again together: where one must be summed directly all are.
constexpr std::int64_t kGroup = 32;

OverlapSaveTaps<double> filters_of(const core::Resolved& problem, const ImageFftShape& shape, const CheckedFft& fft,
                                   const float* taps, int threads) {
    const std::int64_t reals = problem.filters * problem.taps() * (problem.complex_taps ? 2 : 1);
    const std::vector<double> wide(taps, taps + reals);
    return spectra_of_masks<double>(problem, shape, fft.wide(), wide.data(), threads);
}
SplitFilters filters_of(const core::Resolved& problem, const ImageFftShape& shape, const SplitFft& fft, const double* taps,
                        int threads) {
    return split_filters(shape.log2_size, taps, problem.filters, problem.taps() * (problem.complex_taps ? 2 : 1),
                         [&](const double* part) { return spectra_of_masks<double>(problem, shape, fft.wide(), part, threads); });
}

/// T: of samples and sums.
template <class T>
class CheckedImageFft final : public core::Executable {
public:
    CheckedImageFft(const core::Resolved& problem, const T* taps, const core::Request& request, const ImageFftShape& shape)
        : problem_(problem),
          shape_(shape),
          target_(current_target()),
          kernels_(image_kernels(target_).of<T>()),
          lines_(problem_, kernels_),
          fft_(target_, shape.log2_size),
          layout_(checked_layout(tables())),
          tiles_(problem_, shape_, lines_, kernels_, fft_kernels<T>(target_), layout_),
          taps_(filters_of(problem_, shape_, fft_, taps, request.threads)),
          bound_(problem_, shape.log2_size, taps, {.width = problem.x.k, .pitch = shape.pitch, .step = shape.step}),
          direct_(problem_, taps, on_one_thread(request), 0),
          threads_(core::worthwhile_threads(shape.seconds, request.threads)),
          shared_(shares_transforms(shape, threads_)) {}

    [[nodiscard]] std::size_t workspace_bytes() const override { return static_cast<std::size_t>(slots()) * slot_bytes(); }
    [[nodiscard]] std::int64_t granularity() const override { return (shape_.pairs ? 2 : 1) * shape_.out_rows; }
    [[nodiscard]] std::int64_t inner_granularity() const override { return shape_.inner_granularity(); }
    [[nodiscard]] std::string describe() const override {
        return std::string(to_string(target_)) + ", " + shape_.describe() + (kSplit ? ", in double, in two parts" : ", in double") +
               ", every output checked";
    }

    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const override {
        const bool stream = image_goes_past_caches(problem_, threads_);
        const auto body = [&](std::int64_t task, int slot) {
            run(work(task, output, input, workspace.data() + static_cast<std::size_t>(slot) * slot_bytes()), stream);
        };
        core::parallel_for(shape_.planes * shape_.units(), shared_ ? 1 : threads_, std::cref(body), shape_.seconds);
    }

private:
    static constexpr bool kSplit = std::is_same_v<T, double>;
    static constexpr int kBuffers = kSplit ? SplitFft::kBuffers : 1;

    struct Work : TileUnit {
        double* data = nullptr;                       ///< the transforms', and the table of samples that are not zero
        double* scratch = nullptr;                    ///< the transform's own
        T *window = nullptr, *sums = nullptr;         ///< both parts of each
        T* line = nullptr;                            ///< room for a line
        std::uint8_t* small[2] = {nullptr, nullptr};  ///< bit i % 8 of byte i / 8 of a part: output i may not keep its bound
        std::byte* direct = nullptr;                  ///< of direct sums: one thread's behind the other
        std::int64_t mask = 0;
    };

    [[nodiscard]] const FftTables<double>& tables() const { return fft_.wide().tables(); }
    [[nodiscard]] int slots() const { return shared_ ? 1 : threads_; }
    [[nodiscard]] int transform_threads() const { return shared_ ? threads_ : 1; }
    [[nodiscard]] std::int64_t window_extent() const { return extent_of(layout_) + kImagePadding; }
    [[nodiscard]] std::int64_t small_bytes() const { return layout_.size / 8; }
    static std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
    [[nodiscard]] std::size_t double_bytes() const {
        const std::int64_t scratch = tables().scratch_extent * transform_threads();
        return aligned(static_cast<std::size_t>(kBuffers * tables().extent + scratch) * sizeof(double));
    }
    [[nodiscard]] std::size_t sample_bytes() const {
        return aligned(static_cast<std::size_t>(2 * window_extent() + tiles_.line_elements()) * sizeof(T));
    }
    [[nodiscard]] std::size_t slot_bytes() const {
        return double_bytes() + sample_bytes() + aligned(static_cast<std::size_t>(2 * small_bytes())) +
               static_cast<std::size_t>(transform_threads()) * aligned(direct_.rectangle_bytes());
    }

    [[nodiscard]] Work work(std::int64_t task, const core::Output& output, const core::Input& input, std::byte* slot) const {
        Work work{tiles_.unit(task, output.data, input.main.data)};
        work.data = reinterpret_cast<double*>(slot);
        work.scratch = work.data + kBuffers * tables().extent;
        work.window = reinterpret_cast<T*>(slot + double_bytes());
        work.sums = work.window + window_extent();
        work.line = work.sums + window_extent();
        work.small[0] = reinterpret_cast<std::uint8_t*>(slot + double_bytes() + sample_bytes());
        work.small[1] = work.small[0] + small_bytes();
        work.direct = slot + double_bytes() + sample_bytes() + aligned(static_cast<std::size_t>(2 * small_bytes()));
        work.mask = lines_.mask(work.plane);
        return work;
    }

    void run(const Work& work, bool stream) const {
        tiles_.load(work, work.window, work.line, 0, false);
        const Loudness loudness = measure(work);
        const bool spoilt = !(kSplit ? loudness.is_moderate() : std::isfinite(loudness.energy)) || bound_.is_degenerate(work.mask);
        if (spoilt) {
            std::fill_n(work.small[0], 2 * small_bytes(), std::uint8_t{0xFF});
        } else {
            std::fill_n(work.small[0], 2 * small_bytes(), std::uint8_t{0});
            const Outcome outcome = transform(work, loudness);
            for (int part = 0; part < 2 && !outcome.good; ++part) { settle(work, part, outcome.error); }
            tiles_.store(work, work.sums, work.line, stream);
            if (outcome.good) { return; }
        }
        for (int side = 0; side < tiles_.sides(work); ++side) { sum_directly(work, side); }
    }

    [[nodiscard]] FftSource<T> window(const Work& work) const {
        return {work.window, work.window + layout_.im_offset, tables().columns};
    }

    [[nodiscard]] Loudness measure(const Work& work) const {
        if constexpr (kSplit) {
            return fft_.measure(window(work), [](int, std::int64_t, double) {});
        } else {
            const FftSource<T> parts = window(work);
            return {.energy = fft_.kernels().energy(parts.re, layout_.size) + fft_.kernels().energy(parts.im, layout_.size)};
        }
    }

    struct Outcome {
        double error;  ///< of an output, before it is rounded
        bool good;     ///< no output is small
    };
    Outcome transform(const Work& work, const Loudness& loudness) const {
        const std::int64_t first = tiles_.wanted(work.tile[0]), second = shape_.pairs ? tiles_.wanted(work.tile[1]) : first;
        const FftSink<T> to{work.sums, work.sums + layout_.im_offset, tables().columns, first, second, false};
        if constexpr (kSplit) {
            const double error =
                fft_.convolve(work.data, work.scratch, transform_threads(), taps_, work.mask, window(work), loudness, to);
            const double least = bound_.least_output(error);
            const bool good[2] = {mark_small(to.re, first, least, work.small[0]), mark_small(to.im, second, least, work.small[1])};
            return {error, good[0] && good[1]};
        } else {
            const double error = bound_.error(work.mask, loudness.energy);
            const CheckedSink sink{
                .to = to, .least = bound_.least_output(error), .small_re = work.small[0], .small_im = work.small[1]};
            return {error, fft_.convolve(work.data, taps_.spectrum(fft_.wide(), 1, work.mask, 0), work.scratch, transform_threads(),
                                         window(work), sink)};
        }
    }

    // Whether none is.
    static bool mark_small(const T* sums, std::int64_t count, double least, std::uint8_t* small) {
        bool good = true;
        for (std::int64_t i = 0; i < count; ++i) {
            const bool is_small = !(std::abs(static_cast<double>(sums[i])) >= least);
            small[i / 8] = static_cast<std::uint8_t>(small[i / 8] | (is_small ? 1U << (i % 8) : 0U));
            good = good && !is_small;
        }
        return good;
    }

    // Of a part of the outputs: those that are sums of zeros become zero; they and those that keep their bound after all are small
    // no more.
    void settle(const Work& work, int part, double error) const {
        const ImageTile& tile = work.tile[shape_.pairs ? part : 0];
        const T* const a = work.window + part * layout_.im_offset;
        const T* const b = problem_.complex_taps ? work.window + (1 - part) * layout_.im_offset : nullptr;
        const double least = bound_.least_sum(error);
        bool counted = false;
        for (std::int64_t y = 0; y < tile.rows; ++y) {
            for (std::int64_t x = 0; x < tile.samples; x += kGroup) {
                const std::int64_t at = y * shape_.pitch + x, count = std::min(kGroup, tile.samples - x);
                std::uint8_t* const small = work.small[part] + at / 8;
                const auto is_small = [small](std::int64_t i) { return (small[i / 8] >> (i % 8) & 1) != 0; };
                double lacking[kGroup];
                bool any = false;
                for (std::int64_t i = 0; i < count; ++i) {
                    lacking[i] = is_small(i) ? least : 0;
                    any = any || is_small(i);
                }
                if (!any) { continue; }
                if (bound_.reaches(lacking, work.mask, a, b, at, count)) {
                    std::fill_n(small, (count + 7) / 8, std::uint8_t{0});
                    continue;
                }
                if (!counted) { count_samples(work, tile, a, b); }
                counted = true;
                for (std::int64_t i = 0; i < count; ++i) {
                    if (!is_small(i) || samples_under(work, y, x + i) > 0) { continue; }
                    work.sums[part * layout_.im_offset + at + i] = 0;
                    small[i / 8] = static_cast<std::uint8_t>(small[i / 8] & ~(1U << (i % 8)));
                }
            }
        }
    }

    // How many samples that are not zero stand above and left of each, among those that a mask can join.
    void count_samples(const Work& work, const ImageTile& tile, const T* a, const T* b) const {
        auto* const table = reinterpret_cast<std::int32_t*>(work.data);
        for (std::int64_t y = 0; y < tiles_.window_rows(tile); ++y) {
            const std::int64_t row = y * shape_.pitch;
            for (std::int64_t x = 0; x < tiles_.window_samples(tile); ++x) {
                const std::int64_t at = row + x;
                const bool counts = a[at] != 0 || (b != nullptr && b[at] != 0);
                const std::int32_t left = x < shape_.step ? 0 : table[at - shape_.step];
                const std::int32_t above = y == 0 ? 0 : table[at - shape_.pitch];
                const std::int32_t both = x < shape_.step || y == 0 ? 0 : table[at - shape_.pitch - shape_.step];
                table[at] = left + above - both + (counts ? 1 : 0);
            }
        }
    }
    [[nodiscard]] std::int32_t samples_under(const Work& work, std::int64_t y, std::int64_t x) const {
        const auto* const table = reinterpret_cast<const std::int32_t*>(work.data);
        const auto up_to = [&](std::int64_t row, std::int64_t sample) {
            return row < 0 || sample < 0 ? 0 : table[row * shape_.pitch + sample];
        };
        const std::int64_t last = y + problem_.y.k - 1, right = x + shape_.halo, left = x - shape_.step;
        return up_to(last, right) - up_to(y - 1, right) - up_to(last, left) + up_to(y - 1, left);
    }

    // What is still small in a tile, in rectangles of as many rows as are best summed together.
    void sum_directly(const Work& work, int side) const {
        const ImageTile& tile = work.tile[side];
        const std::int64_t height = direct_.rows_together(), bands = (tile.rows + height - 1) / height;
        const auto band = [&](std::int64_t index, int slot) {
            const std::int64_t y = index * height, rows = std::min(height, tile.rows - y);
            std::byte* const scratch = work.direct + static_cast<std::size_t>(slot) * aligned(direct_.rectangle_bytes());
            for (std::int64_t x = 0; x < tile.samples;) {
                const std::int64_t first = x;
                while (x < tile.samples && is_left(work, side, y, rows, x)) { x += kGroup; }
                if (x == first) {
                    x += kGroup;
                    continue;
                }
                const std::int64_t count = std::min(x, tile.samples) - first;
                direct_.execute_rectangle(work.out, work.in, work.plane, tile.y + y, rows, (tile.x + first) * tiles_.parts(),
                                          count * tiles_.parts(), scratch);
            }
        };
        if (transform_threads() == 1) {
            for (std::int64_t index = 0; index < bands; ++index) { band(index, 0); }
        } else {
            core::parallel_for(bands, transform_threads(), std::cref(band));
        }
    }
    // Whether an output of rows [y, y + rows) of the group at x is small.
    [[nodiscard]] bool is_left(const Work& work, int side, std::int64_t y, std::int64_t rows, std::int64_t x) const {
        const std::int64_t count = std::min(kGroup, work.tile[side].samples - x);
        for (int part = 0; part < 2; ++part) {
            if (shape_.pairs && part != side) { continue; }
            for (std::int64_t r = y; r < y + rows; ++r) {
                const std::uint8_t* const small = work.small[part] + (r * shape_.pitch + x) / 8;
                for (std::int64_t i = 0; i < count; i += 8) {
                    const std::int64_t beyond = std::max<std::int64_t>(i + 8 - count, 0);  // of the tile
                    if ((small[i / 8] & 0xFF >> beyond) != 0) { return true; }
                }
            }
        }
        return false;
    }

    core::Resolved problem_;
    ImageFftShape shape_;
    Target target_;
    const ImageKernels<T>& kernels_;
    ImageLines<T> lines_;
    std::conditional_t<kSplit, SplitFft, CheckedFft> fft_;
    WindowLayout layout_;
    ImageTiles<T> tiles_;
    std::conditional_t<kSplit, SplitFilters, OverlapSaveTaps<double>> taps_;
    OutputBound<T> bound_;
    ImageDirect<T> direct_;
    int threads_;
    bool shared_;  ///< all threads in one transform at a time
};

}  // namespace

std::unique_ptr<core::Executable> prepare_checked_image(const core::Resolved& problem, const void* taps,
                                                        const core::Request& request, const ImageFftShape& shape) {
    return with_real_type(problem.sum_dtype, [&]<class T>(T) -> std::unique_ptr<core::Executable> {
        return std::make_unique<CheckedImageFft<T>>(problem, static_cast<const T*>(taps), request, shape);
    });
}

}  // namespace tapline::cpu
