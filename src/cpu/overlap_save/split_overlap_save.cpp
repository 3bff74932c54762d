// Transforms of samples and taps in two parts (split_fft.hpp), of which every output is compared with the error that is left, as
// those of f32 are (checked_overlap_save.cpp): small ones may show by their largest terms that they keep their bound, or that all
// their samples are zero; the others are summed directly, with the bits of the algorithm `direct`, as are windows with a NaN or an
// infinity.
//
// Whatever is decided depends on the samples of a window alone, so bits are those of a stream as well.
#include "cpu/overlap_save/split_overlap_save.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/plan/parallel.hpp"
#include "core/problem/window.hpp"
#include "cpu/direct/direct_executable.hpp"
#include "cpu/overlap_save/checked_bound.hpp"
#include "cpu/overlap_save/checked_overlap_save.hpp"
#include "cpu/overlap_save/overlap_save_blocks.hpp"
#include "cpu/overlap_save/overlap_save_taps.hpp"
#include "cpu/overlap_save/split_fft.hpp"

namespace tapline::cpu {
namespace {

// Outputs that are judged together. Rows of transforms are multiples of it.
constexpr std::int64_t kGroup = kFftPassage;

SplitFilters filters_of(const core::Resolved& problem, const OverlapSaveShape& shape, const BlockFft<double>& fft,
                        const double* taps, int threads) {
    return split_filters(shape.log2_size, taps, problem.filters, problem.x.k * (problem.complex_taps ? 2 : 1),
                         [&](const double* part) { return prepare_taps<double>(problem, shape, fft, part, threads); });
}

template <class X, class H>
class SplitOverlapSave final : public core::Executable {
public:
    SplitOverlapSave(const core::Resolved& problem, const void* taps, const core::Request& request, const OverlapSaveShape& shape)
        : problem_(problem),
          shape_(shape),
          threads_(request.threads),
          target_(current_target()),
          fft_(target_, shape.log2_size),
          taps_(filters_of(problem_, shape, fft_.wide(), static_cast<const double*>(taps), request.threads)),
          bound_(problem_, shape.log2_size, static_cast<const double*>(taps)),
          io_(problem_, shape_, fft_.wide()),
          direct_(problem_, taps, on_one_thread(request)) {}

    [[nodiscard]] std::size_t workspace_bytes() const override {
        const auto threads = static_cast<std::size_t>(std::max(shape_.slots, transform_threads()));
        return static_cast<std::size_t>(shape_.slots) * slot_bytes() + threads * (scratch_bytes() + direct_bytes());
    }

    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const override {
        const Call call = io_.call(output, input, threads_);
        std::byte* const scratch = workspace.data() + static_cast<std::size_t>(shape_.slots) * slot_bytes();
        std::byte* const direct = scratch + static_cast<std::size_t>(std::max(shape_.slots, transform_threads())) * scratch_bytes();
        const auto task = [&](const Unit& unit, int slot) {
            const auto index = static_cast<std::size_t>(slot);
            auto* const data = reinterpret_cast<double*>(workspace.data() + index * slot_bytes());
            auto* const sounding = reinterpret_cast<std::int32_t*>(data + SplitFft::kBuffers * extent());
            run({.call = call,
                 .unit = unit,
                 .filter = unit.row[0] % problem_.filters,
                 .data = data,
                 .sounding = sounding,
                 .left = reinterpret_cast<std::uint8_t*>(sounding + 2 * cells()),
                 .scratch = reinterpret_cast<double*>(scratch + index * scratch_bytes()),
                 .direct = direct + index * direct_bytes()});
        };
        for_each_unit<double>(io_, call, shape_, std::cref(task));
    }

    [[nodiscard]] std::int64_t granularity() const override { return overlap_save_granularity(problem_, shape_); }
    [[nodiscard]] std::int64_t lookahead() const override { return fft_.wide().size() - (shape_.block + problem_.x.k - 1); }

    [[nodiscard]] std::string describe() const override {
        return "FFT in double of " + std::to_string(fft_.wide().size()) + " points, " + std::to_string(shape_.block) +
               " outputs each, samples and taps in two parts of which the first have " + std::to_string(taps_.bits) +
               " bits, every output checked and summed directly if need be, " + to_string(target_);
    }

private:
    struct Work {
        const Call& call;
        const Unit& unit;
        std::int64_t filter;
        double* data;            ///< the transforms'
        std::int32_t* sounding;  ///< of each part of the window, how many of the first groups of samples are not zero throughout
        std::uint8_t* left;      ///< of each side, the groups of outputs that are summed directly
        double* scratch;
        std::byte* direct;
    };
    [[nodiscard]] int transform_threads() const { return shape_.shared ? threads_ : 1; }
    [[nodiscard]] std::int64_t extent() const { return fft_.wide().extent(); }
    [[nodiscard]] std::int64_t cells() const { return fft_.wide().size() / kGroup + 1; }
    [[nodiscard]] std::int64_t groups() const { return (shape_.block + kGroup - 1) / kGroup; }
    static std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
    [[nodiscard]] std::size_t slot_bytes() const {
        return aligned(static_cast<std::size_t>(SplitFft::kBuffers * extent()) * sizeof(double) +
                       static_cast<std::size_t>(2 * cells()) * sizeof(std::int32_t) + static_cast<std::size_t>(2 * groups()));
    }
    [[nodiscard]] std::size_t scratch_bytes() const {
        return aligned(static_cast<std::size_t>(fft_.wide().tables().scratch_extent) * sizeof(double));
    }
    [[nodiscard]] std::size_t direct_bytes() const { return aligned(direct_.workspace_bytes()); }

    [[nodiscard]] std::int64_t offset_of(std::int64_t position) const {
        const FftTables<double>& t = fft_.wide().tables();
        return position / t.columns * t.pitch + position % t.columns;
    }
    [[nodiscard]] int sides(const Unit& unit) const { return io_.is_complex_signal() ? 1 : io_.parts(unit); }

    void run(const Work& work) const {
        io_.load(work.call, work.unit, 0, work.data, transform_threads());
        const Loudness loudness = measure(work);
        std::fill_n(work.left, 2 * groups(), static_cast<std::uint8_t>(loudness.is_moderate() ? 0 : 1));
        if (loudness.is_moderate()) {
            const std::int64_t second = io_.parts(work.unit) == 2 ? shape_.block : 0;
            judge(work, fft_.convolve(work.data, work.scratch, transform_threads(), taps_, work.filter, window(work), loudness,
                                      fft_.wide().sink(outputs(work), shape_.block, second)));
            io_.store(work.call, work.unit, outputs(work), transform_threads());
        }
        for (int side = 0; side < sides(work.unit); ++side) {
            const std::uint8_t* const left = work.left + side * groups();
            for (std::int64_t g = 0; g < groups();) {
                const std::int64_t first = g;
                while (g < groups() && left[g] != 0) { ++g; }
                if (g > first) {
                    sum_directly(work, side, first * kGroup, std::min(g * kGroup, shape_.block));
                } else {
                    ++g;
                }
            }
        }
    }

    [[nodiscard]] Loudness measure(const Work& work) const {
        work.sounding[0] = work.sounding[cells()] = 0;
        return fft_.measure(window(work), [&](int part, std::int64_t cell, double largest) {
            std::int32_t* const sounding = work.sounding + part * cells() + cell;
            sounding[1] = sounding[0] + (largest != 0 ? 1 : 0);
        });
    }

    [[nodiscard]] FftSource<double> window(const Work& work) const { return fft_.wide().source(work.data); }
    [[nodiscard]] double* outputs(const Work& work) const { return work.data + 2 * extent(); }

    // Marks groups of outputs that must be summed directly, and makes zeros of sums of zeros.
    void judge(const Work& work, double error) const {
        const double least = bound_.least_output(error), least_sum = bound_.least_sum(error);
        const int components = io_.is_complex_signal() ? 2 : 1;
        const auto group = [&](std::int64_t index, int) {
            const std::int64_t at = index * kGroup, count = std::min(kGroup, shape_.block - at);
            for (int side = 0; side < sides(work.unit); ++side) {
                for (int c = 0; c < components; ++c) {
                    const int part = side + c;
                    double* const y = outputs(work) + part * fft_.wide().tables().im_offset + offset_of(at);
                    bool small = false;
                    for (std::int64_t i = 0; i < count; ++i) { small = small || !(std::abs(y[i]) >= least); }
                    if (!small) { continue; }
                    if (is_silent(work, part, at)) {
                        std::fill_n(y, count, 0.0);
                    } else if (!keeps_bound(work, side, c, at, count, y, least, least_sum)) {
                        work.left[side * groups() + index] = 1;
                    }
                }
            }
        };
        core::parallel_for(groups(), transform_threads(), std::cref(group));
    }

    // Whether all samples under the outputs of a group are zero.
    [[nodiscard]] bool is_silent(const Work& work, int part, std::int64_t at) const {
        const std::int64_t first = at / kGroup, last = std::min((at + kGroup + problem_.x.k - 2) / kGroup + 1, cells() - 1);
        const auto silent = [&](int p) {
            const std::int32_t* const sounding = work.sounding + p * cells();
            return sounding[last] == sounding[first];
        };
        return silent(part) && (!problem_.complex_taps || silent(1 - part));
    }

    // Whether a group's small outputs show by their largest terms that they keep the bound. `component`: of a complex output.
    [[nodiscard]] bool keeps_bound(const Work& work, int side, int component, std::int64_t at, std::int64_t count, const double* y,
                                   double least, double least_sum) const {
        constexpr std::int64_t kParts = sizeof(X) / sizeof(double);
        double lacking[kGroup];
        for (std::int64_t i = 0; i < count; ++i) { lacking[i] = std::abs(y[i]) >= least ? 0 : least_sum; }
        const std::int64_t begin = io_.window_begin(work.unit, side) + at;
        for (const LargeTap& tap : bound_.largest(work.filter)) {
            X samples[kGroup];
            core::gather(samples, problem_, work.call.input, work.unit.row[side], begin + tap.position, count);
            const double* const x = reinterpret_cast<const double*>(samples);
            int enough = 0;
            for (std::int64_t i = 0; i < count; ++i) {
                lacking[i] -= tap.re * std::abs(x[kParts * i + component]);
                if constexpr (kParts == 2) { lacking[i] -= tap.im * std::abs(x[kParts * i + (1 - component)]); }
                enough += lacking[i] <= 0 ? 1 : 0;
            }
            if (enough == count) { return true; }
        }
        return false;
    }

    // The wanted of a segment's outputs [first, last).
    void sum_directly(const Work& work, int side, std::int64_t first, std::int64_t last) const {
        for_each_piece(io_, work.call, work.unit, side, shape_.block, first, last, transform_threads(),
                       [&](std::int64_t from, std::int64_t to, int slot) {
                           const std::span<std::byte> scratch(work.direct + static_cast<std::size_t>(slot) * direct_bytes(),
                                                              direct_bytes());
                           direct_.execute_run(work.call.output, work.call.input, scratch, work.unit.row[side], from, to);
                       });
    }

    const core::Resolved problem_;
    OverlapSaveShape shape_;
    int threads_;
    Target target_;
    SplitFft fft_;
    SplitFilters taps_;
    OutputBound<double> bound_;
    SegmentIo<double> io_;
    DirectExecutable<X, H> direct_;
};

}  // namespace

std::unique_ptr<core::Executable> prepare_split(const core::Resolved& problem, const void* taps, const core::Request& request,
                                                const OverlapSaveShape& shape) {
    if (problem.complex_taps) {
        return std::make_unique<SplitOverlapSave<std::complex<double>, std::complex<double>>>(problem, taps, request, shape);
    }
    if (is_complex(problem.dtype)) {
        return std::make_unique<SplitOverlapSave<std::complex<double>, double>>(problem, taps, request, shape);
    }
    return std::make_unique<SplitOverlapSave<double, double>>(problem, taps, request, shape);
}

}  // namespace tapline::cpu
