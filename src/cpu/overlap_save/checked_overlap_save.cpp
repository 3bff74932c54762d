// A segment's outputs y, transformed in double, are off by at most e, which the norms of the window and of the filter bound. So
// outputs of at least some magnitude keep their own bound (CheckedBound::least_output), and the pass that stores them compares.
// Ordinary data leave one in millions over. What is left over is looked at again:
//
// - samples so loud that quiet outputs beside them have no chance, NaN, infinities and silence are seen before a transform (Cells),
//   which is then made without them;
// - an output that is small because its terms cancel, as with a steady signal, may show by its largest terms that it keeps the
// bound;
// - all others are summed directly, with the bits of the algorithm `direct`.
//
// Whatever is decided depends on the samples of a window alone, so bits are those of a stream as well.
#include "cpu/overlap_save/checked_overlap_save.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/plan/parallel.hpp"
#include "core/problem/epilogue.hpp"
#include "cpu/direct/direct_executable.hpp"
#include "cpu/element_types.hpp"
#include "cpu/overlap_save/checked_bound.hpp"
#include "cpu/overlap_save/checked_cells.hpp"
#include "cpu/overlap_save/overlap_save_blocks.hpp"
#include "cpu/overlap_save/overlap_save_taps.hpp"

namespace tapline::cpu {
namespace {

// Outputs that are looked at again together: where one must be summed directly all are, which takes no longer than for one.
constexpr std::int64_t kGroup = 32;
// Between the two parts of a window.
constexpr std::int64_t kSkew = 528;

core::Resolved in_double(const core::Resolved& problem) {
    core::Resolved wide = problem;
    wide.dtype = wide.sum_dtype = wide.output_dtype = is_complex(problem.dtype) ? Dtype::complex128 : Dtype::f64;
    wide.taps_dtype = problem.complex_taps ? Dtype::complex128 : Dtype::f64;
    return wide;
}

// Without the taps themselves, which only repairs of another kind need.
OverlapSaveTaps<double> spectra_of(const core::Resolved& problem, const OverlapSaveShape& shape, const BlockFft<double>& fft,
                                   const float* taps, int threads) {
    const std::int64_t reals = problem.filters * problem.x.k * (problem.complex_taps ? 2 : 1);
    const std::vector<double> wide(taps, taps + reals);
    OverlapSaveTaps<double> prepared = prepare_taps<double>(in_double(problem), shape, fft, wide.data(), threads);
    prepared.taps = {};
    return prepared;
}

template <class X, class H>
class CheckedOverlapSave final : public core::Executable {
public:
    CheckedOverlapSave(const core::Resolved& problem, const void* taps, const core::Request& request, const OverlapSaveShape& shape)
        : problem_(problem),
          shape_(shape),
          threads_(request.threads),
          target_(current_target()),
          fft_(target_, shape.log2_size),
          layout_(checked_layout(tables())),
          taps_(spectra_of(problem_, shape, fft_.wide(), static_cast<const float*>(taps), request.threads)),
          bound_(problem_, shape.log2_size, static_cast<const float*>(taps)),
          cells_(problem_, tables().size, shape.block),
          io_(problem_, shape_, layout_, fft_kernels<float>(target_)),
          direct_(problem_, taps, on_one_thread(request)),
          transform_seconds_(checked_transform_seconds(shape.log2_size, Dtype::f32)),
          direct_output_seconds_(direct_seconds_of_output(problem_)) {}

    [[nodiscard]] std::size_t workspace_bytes() const override {
        const auto threads = static_cast<std::size_t>(scratches());
        return slot_bytes() * static_cast<std::size_t>(shape_.slots) + threads * (scratch_bytes() + direct_bytes());
    }

    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const override {
        const Call call = io_.call(output, input, threads_);
        std::byte* const scratch = workspace.data() + slot_bytes() * static_cast<std::size_t>(shape_.slots);
        std::byte* const direct = scratch + scratch_bytes() * static_cast<std::size_t>(scratches());
        const auto task = [&](const Unit& unit, int slot) {
            const auto index = static_cast<std::size_t>(slot);
            auto* const data = reinterpret_cast<double*>(workspace.data() + index * slot_bytes());
            auto* const window = reinterpret_cast<float*>(data + tables().extent);
            const Slot place{.data = data,
                             .window = window,
                             .sums = window + extent_of(layout_),
                             .small = reinterpret_cast<std::uint8_t*>(window + 2 * extent_of(layout_)),
                             .scratch = reinterpret_cast<double*>(scratch + index * scratch_bytes()),
                             .direct = direct + index * direct_bytes()};
            run({call, unit, place, unit.row[0] % problem_.filters});
        };
        for_each_unit<float>(io_, call, shape_, std::cref(task));
    }

    [[nodiscard]] std::int64_t granularity() const override { return overlap_save_granularity(problem_, shape_); }
    [[nodiscard]] std::int64_t lookahead() const override { return tables().size - (shape_.block + problem_.x.k - 1); }

    [[nodiscard]] std::string describe() const override {
        return "FFT in double of " + std::to_string(tables().size) + " points, " + std::to_string(shape_.block) +
               " outputs each, every output checked and summed directly if need be, " + to_string(target_);
    }

private:
    struct Slot {
        double* data;         ///< the transform's
        float* window;        ///< samples, where they do not lie in the signal as it reads them
        float* sums;          ///< outputs, where it cannot store them; before that the samples that it takes, if not all
        std::uint8_t* small;  ///< a bit for each output of both parts
        double* scratch;      ///< of the transform's threads; one thread's if it has but one
        std::byte* direct;    ///< likewise of direct sums
    };
    struct Work {
        const Call& call;
        const Unit& unit;
        const Slot& slot;
        std::int64_t filter;
    };

    [[nodiscard]] const FftTables<double>& tables() const { return fft_.wide().tables(); }
    [[nodiscard]] int transform_threads() const { return shape_.shared ? threads_ : 1; }
    [[nodiscard]] int scratches() const { return std::max(shape_.slots, transform_threads()); }
    [[nodiscard]] std::int64_t small_bytes() const { return layout_.size / 8; }  // of one part
    static std::size_t aligned(std::int64_t bytes) { return static_cast<std::size_t>((bytes + 63) / 64 * 64); }
    [[nodiscard]] std::size_t slot_bytes() const {
        return aligned(tables().extent * std::int64_t{sizeof(double)} + 2 * extent_of(layout_) * std::int64_t{sizeof(float)} +
                       2 * small_bytes());
    }
    [[nodiscard]] std::size_t scratch_bytes() const {
        return static_cast<std::size_t>(tables().scratch_extent) * sizeof(double);  // side by side without a gap
    }
    [[nodiscard]] std::size_t direct_bytes() const { return aligned(static_cast<std::int64_t>(direct_.workspace_bytes())); }

    void run(const Work& work) const {
        FftSource<float> source = io_.direct_source(work.call, work.unit);
        if (source.re == nullptr) {
            io_.load(work.call, work.unit, 0, work.slot.window, transform_threads());
            source = source_at(work.slot.window);
        }
        Energies energies;
        measure(energies, source, parts(work.unit));
        const bool ordinary = std::isfinite(energies.total) && energies.least > 0 && !bound_.is_degenerate(work.filter) &&
                              !bound_.is_hopeless(work.filter, energies.least, energies.total);
        if (ordinary) {
            transform_all(work, source, energies.total, nullptr);
        } else {
            run_apart(work, source, energies);
        }
    }

    void measure(Energies& energies, const FftSource<float>& source, int parts) const {
        const auto chunk = [&](std::int64_t m, int) {
            const std::int64_t at = m * cells_.chunk;
            energies.at[0][m] = fft_.kernels().energy(source.re + at, cells_.chunk);
            energies.at[1][m] = parts == 2 ? fft_.kernels().energy(source.im + at, cells_.chunk) : 0;
        };
        if (transform_threads() == 1) {
            for (std::int64_t m = 0; m < cells_.chunks; ++m) { chunk(m, 0); }
        } else {
            core::parallel_for(cells_.chunks, transform_threads(), std::cref(chunk));
        }
        energies.total = 0;
        energies.least = energies.at[0][0];
        for (int part = 0; part < parts; ++part) {
            for (int m = 0; m < cells_.chunks; ++m) {
                energies.total += energies.at[part][m];
                energies.least = std::min(energies.least, energies.at[part][m]);
            }
        }
    }

    // Some outputs have no chance beside others: one transform after the other, each of the samples that are left. Where it would
    // give so few outputs that their direct sums take less time, those.
    void run_apart(const Work& work, const FftSource<float>& source, const Energies& energies) const {
        Cells cells(cells_, energies, sides(work.unit));
        if (cells.pick_spoilt()) {
            sum_directly(work, cells);
            cells.settle();
        }
        while (!bound_.is_degenerate(work.filter) && cells.pick(bound_, work.filter)) {
            if (direct_output_seconds_ * static_cast<double>(cells.outputs()) < transform_seconds_) {
                sum_directly(work, cells);
            } else if (cells.takes_all()) {
                transform_all(work, source, cells.energy(), &cells);
            } else {
                transform_some(work, source, cells);
            }
            cells.settle();
        }
        if (cells.pick_rest()) { sum_directly(work, cells); }
        cells.for_each_run(Cells::State::silent, [&](int side, std::int64_t first, std::int64_t count) {
            float* const sums = work.slot.sums;
            std::fill_n(sums + side * layout_.im_offset + first, count, 0.0F);
            if (cells_.joint) { std::fill_n(sums + layout_.im_offset + first, count, 0.0F); }
            io_.store_some(work.call, work.unit, side, first, count, sums);
        });
    }

    // Outputs that `cells` says are silent are stored with the others.
    void transform_all(const Work& work, const FftSource<float>& source, double energy, const Cells* cells) const {
        FftSink<float> sink = io_.direct_sink(work.call, work.unit);
        const bool direct = sink.re != nullptr;
        if (!direct) {
            const auto re = io_.wanted(work.call, work.unit, 0), im = io_.wanted(work.call, work.unit, 1);
            sink = sink_at(work.slot.sums, re.first + re.count, io_.parts(work.unit) == 2 ? im.first + im.count : 0);
        }
        const bool good = transform(work, source, sink, energy);
        if (!direct) {
            if (cells != nullptr) { silence_parts(work, *cells); }
            io_.store(work.call, work.unit, work.slot.sums, transform_threads());
        }
        if (!good) { look_again(work, source, energy, cells); }
    }

    // Of the samples that `cells` takes, for the outputs that it picked.
    void transform_some(const Work& work, const FftSource<float>& source, const Cells& cells) const {
        float* const sums = work.slot.sums;
        for (int part = 0; part < 2; ++part) {
            const float* const from = part == 0 ? source.re : source.im;
            float* const to = sums + part * layout_.im_offset;
            for (int m = 0; m < cells_.chunks; ++m) {
                const std::int64_t at = m * cells_.chunk;
                if (part < parts(work.unit) && cells.takes(part, m)) {
                    std::copy_n(from + at, cells_.chunk, to + at);
                } else {
                    std::fill_n(to + at, cells_.chunk, 0.0F);
                }
            }
        }
        const bool good = transform(work, source_at(sums), sink_at(sums, cells_.block, cells_.block), cells.energy());
        silence_parts(work, cells);
        cells.for_each_run(Cells::State::now, [&](int side, std::int64_t first, std::int64_t count) {
            io_.store_some(work.call, work.unit, side, first, count, sums);
        });
        if (!good) { look_again(work, source, cells.energy(), &cells); }
    }

    // A component of complex outputs that is a sum of zeros is zero.
    void silence_parts(const Work& work, const Cells& cells) const {
        for (int part = 0; part < 2 && cells_.joint; ++part) {
            for (std::int64_t at = 0; at < cells_.block; at += cells_.chunk) {
                if (!cells.is_silent_part(part, at)) { continue; }
                std::fill_n(work.slot.sums + part * layout_.im_offset + at, std::min(cells_.chunk, cells_.block - at), 0.0F);
            }
        }
    }

    bool transform(const Work& work, const FftSource<float>& source, const FftSink<float>& to, double energy) const {
        const CheckedSink sink{.to = to,
                               .least = bound_.least_output(work.filter, energy),
                               .small_re = work.slot.small,
                               .small_im = work.slot.small + small_bytes()};
        std::fill_n(work.slot.small, 2 * small_bytes(), std::uint8_t{0});
        return fft_.convolve(work.slot.data, taps_.spectrum(fft_.wide(), 1, work.filter, 0), work.slot.scratch, transform_threads(),
                             source, sink);
    }

    // The outputs that a transform found small: of those that `cells` picked, or all.
    void look_again(const Work& work, const FftSource<float>& source, double energy, const Cells* cells) const {
        const double least = bound_.least_sum(work.filter, energy);
        for (int side = 0; side < sides(work.unit); ++side) {
            std::int64_t begin = 0, end = 0;  // of a run to be summed directly
            for (std::int64_t at = 0; at < shape_.block; at += kGroup) {
                const bool asked = cells == nullptr || cells->is_now(side, at);
                const int first = cells_.joint ? 0 : side, last = cells_.joint ? 1 : side;
                bool good = true;
                for (int part = first; part <= last && asked; ++part) {
                    const bool silent = cells != nullptr && cells->is_silent_part(part, at);
                    good = good && (silent || keeps_bound(work, source, part, at, least));
                }
                if (good) { continue; }
                if (at != end) {
                    sum_directly(work, side, begin, end);
                    begin = at;
                }
                end = std::min(at + kGroup, shape_.block);
            }
            sum_directly(work, side, begin, end);
        }
    }

    // Whether a group's small outputs in one part, if there are any, show by their largest terms that they keep the bound.
    [[nodiscard]] bool keeps_bound(const Work& work, const FftSource<float>& source, int part, std::int64_t first,
                                   double least) const {
        const std::uint8_t* const small = work.slot.small + part * small_bytes() + first / 8;
        const std::int64_t count = std::min(kGroup, shape_.block - first);
        bool any = false;
        for (std::int64_t i = 0; i < count; i += 8) { any = any || small[i / 8] != 0; }
        if (!any) { return true; }
        double lacking[kGroup];
        for (std::int64_t i = 0; i < count; ++i) { lacking[i] = (small[i / 8] >> (i % 8) & 1) != 0 ? least : 0; }
        const float* const parts[2] = {source.re, source.im};
        return bound_.reaches(lacking, work.filter, parts[part], problem_.complex_taps ? parts[1 - part] : nullptr, first, count);
    }

    void sum_directly(const Work& work, const Cells& cells) const {
        cells.for_each_run(Cells::State::now, [&](int side, std::int64_t first, std::int64_t count) {
            sum_directly(work, side, first, first + count);
        });
    }

    // The wanted of a segment's outputs [first, last).
    void sum_directly(const Work& work, int side, std::int64_t first, std::int64_t last) const {
        for_each_piece(io_, work.call, work.unit, side, shape_.block, first, last, transform_threads(),
                       [&](std::int64_t from, std::int64_t to, int slot) {
                           const std::span<std::byte> scratch(work.slot.direct + static_cast<std::size_t>(slot) * direct_bytes(),
                                                              direct_bytes());
                           direct_.execute_run(work.call.output, work.call.input, scratch, work.unit.row[side], from, to);
                       });
    }

    [[nodiscard]] int parts(const Unit& unit) const { return io_.parts(unit); }                 // that hold samples
    [[nodiscard]] int sides(const Unit& unit) const { return cells_.joint ? 1 : parts(unit); }  // with outputs of their own
    [[nodiscard]] FftSource<float> source_at(const float* part) const { return {part, part + layout_.im_offset, layout_.pitch}; }
    [[nodiscard]] FftSink<float> sink_at(float* part, std::int64_t re_count, std::int64_t im_count) const {
        return {part, part + layout_.im_offset, layout_.pitch, re_count, im_count, false};
    }

    const core::Resolved problem_;
    OverlapSaveShape shape_;
    int threads_;
    Target target_;
    CheckedFft fft_;
    WindowLayout layout_;
    OverlapSaveTaps<double> taps_;
    CheckedBound bound_;
    CellShape cells_;
    SegmentIo<float> io_;
    DirectExecutable<X, H> direct_;
    double transform_seconds_, direct_output_seconds_;
};

}  // namespace

WindowLayout checked_layout(const FftTables<double>& t) { return {t.size, t.rows, t.columns, t.columns, t.size + kSkew}; }

core::Request on_one_thread(core::Request request) {
    request.threads = 1;
    return request;
}

core::Support supports_checked(const core::Resolved& /*problem*/, const core::Request& request) {
    if (!request.facts.finite) { return core::Support::no("a tap is not finite, and strict accuracy needs direct summation then"); }
    return core::Support::yes();
}

std::unique_ptr<core::Executable> prepare_checked(const core::Resolved& problem, const void* taps, const core::Request& request,
                                                  const OverlapSaveShape& shape) {
    if (problem.complex_taps) {
        return std::make_unique<CheckedOverlapSave<std::complex<float>, std::complex<float>>>(problem, taps, request, shape);
    }
    if (is_complex(problem.dtype)) {
        return std::make_unique<CheckedOverlapSave<std::complex<float>, float>>(problem, taps, request, shape);
    }
    return std::make_unique<CheckedOverlapSave<float, float>>(problem, taps, request, shape);
}

}  // namespace tapline::cpu
