// One transform in double is off by more than strict accuracy allows of f64 (docs/numerics.md, "Samples of f64"). So samples and
// taps are cut in two: x = x1 + x2, where x1 are whole multiples of 2^-p of the window's largest sample, and h = h1 + h2 alike.
// Then
//
//     x * h = x1 * h1 + (x1 * h2 + x2 * h1 + x2 * h2)
//
// p is such that the transform gives x1 * h1 within a quarter of a unit: rounded to the nearest one it is exact. What is in
// brackets is 2^-p as large, and so is its error. Every output is then compared with the error that is left, as those of f32 are
// (checked_overlap_save.cpp): small ones may show by their largest terms that they keep their bound, or that all their samples are
// zero; the others are summed directly, with the bits of the algorithm `direct`, as are windows with a NaN or an infinity.
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

namespace tapline::cpu {
namespace {

// Outputs that are judged together. Rows of transforms are multiples of it.
constexpr std::int64_t kGroup = kFftPassage;
// Outputs that a thread sums directly at a time, where threads share a transform.
constexpr std::int64_t kDirectPiece = 4096;
// Samples beyond 2^kMostExponent, or all below its inverse, are summed directly: nothing else comes near overflow.
constexpr int kMostExponent = 400;
// Bits of the first parts: their products' sums stay far below 2^52, to which the rounding reaches.
constexpr int kMostBits = 24;
// What is less than this beside the largest tap is left out of a second part: 2^-50 of the error that is allowed for.
constexpr int kLeastExponent = -120;
// Three products of spectra are added up, which rounds twice more, in proportion to a bound of some 150 to 330 roundings.
constexpr double kThreeProducts = 1.1;

/// Rounds to multiples of 2^exponent what is smaller than 2^51 of them.
class Rounding {
public:
    explicit Rounding(int exponent) : shift_(std::ldexp(1.5, exponent + 52)) {}
    double operator()(double x) const { return x + shift_ - shift_; }

private:
    double shift_;
};

/// A filter's taps over 2^exponent, the largest of which is in [1/2, 1), in two parts.
struct FilterFacts {
    int exponent = 0;
    double norm = 0, high_norm = 0, low_norm = 0;  ///< L2, of what is divided by 2^exponent
};

struct SplitTaps {
    int bits = 0;
    std::vector<FilterFacts> filters;
    OverlapSaveTaps<double> high, low;
};

double norm_of(const double* values, std::int64_t count) {
    double squares = 0;
    for (std::int64_t i = 0; i < count; ++i) { squares += values[i] * values[i]; }
    return std::sqrt(squares);
}

// The largest number of bits with which x1 * h1 is off by less than a quarter: windows are of 2^log2_size complex samples below
// 2^bits in both parts, taps of one filter have at most the norm `norm` before they are rounded.
int bits_of(int log2_size, double norm, double reals) {
    const double each = proved_error(log2_size) * std::sqrt(std::ldexp(2.0, log2_size));
    int bits = kMostBits;
    while (bits > 1 && each * std::ldexp(std::ldexp(norm, bits) + std::sqrt(reals), bits) > 0.25) { --bits; }
    return bits;
}

SplitTaps split(const core::Resolved& problem, const OverlapSaveShape& shape, const BlockFft<double>& fft, const double* taps,
                int threads) {
    const std::int64_t reals = problem.x.k * (problem.complex_taps ? 2 : 1);
    SplitTaps result;
    std::vector<double> low(taps, taps + problem.filters * reals);
    double norm = 0;
    for (std::int64_t f = 0; f < problem.filters; ++f) {
        double* const filter = low.data() + f * reals;
        FilterFacts facts;
        double largest = 0;
        for (std::int64_t t = 0; t < reals; ++t) { largest = std::max(largest, std::abs(filter[t])); }
        if (largest > 0) { facts.exponent = std::ilogb(largest) + 1; }
        for (std::int64_t t = 0; t < reals; ++t) { filter[t] = std::ldexp(filter[t], -facts.exponent); }
        facts.norm = norm_of(filter, reals);
        norm = std::max(norm, facts.norm);
        result.filters.push_back(facts);
    }
    result.bits = bits_of(shape.log2_size, norm, static_cast<double>(reals));
    const Rounding rounded(-result.bits);
    std::vector<double> high(low.size());
    const double least = std::ldexp(1.0, kLeastExponent);
    for (std::size_t i = 0; i < low.size(); ++i) {
        high[i] = rounded(low[i]);
        low[i] -= high[i];
        if (std::abs(low[i]) < least) { low[i] = 0; }
    }
    for (std::int64_t f = 0; f < problem.filters; ++f) {
        FilterFacts& facts = result.filters[static_cast<std::size_t>(f)];
        facts.high_norm = norm_of(high.data() + f * reals, reals);
        facts.low_norm = norm_of(low.data() + f * reals, reals);
    }
    result.high = prepare_taps<double>(problem, shape, fft, high.data(), threads);
    result.low = prepare_taps<double>(problem, shape, fft, low.data(), threads);
    result.high.taps = result.low.taps = {};  // only repairs of another kind need them
    return result;
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
          taps_(split(problem_, shape, fft_, static_cast<const double*>(taps), request.threads)),
          bound_(problem_, shape.log2_size, static_cast<const double*>(taps)),
          proved_error_(proved_error(shape.log2_size)),
          io_(problem_, shape_, fft_),
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
            auto* const sounding = reinterpret_cast<std::int32_t*>(data + kBuffers * fft_.extent());
            run({.call = call,
                 .unit = unit,
                 .filter = unit.row[0] % problem_.filters,
                 .high = data,
                 .low = data + fft_.extent(),
                 .rest = data + 2 * fft_.extent(),
                 .sounding = sounding,
                 .left = reinterpret_cast<std::uint8_t*>(sounding + 2 * cells()),
                 .scratch = reinterpret_cast<double*>(scratch + index * scratch_bytes()),
                 .direct = direct + index * direct_bytes()});
        };
        for_each_unit<double>(io_, call, shape_, std::cref(task));
    }

    [[nodiscard]] std::int64_t granularity() const override { return overlap_save_granularity(problem_, shape_); }
    [[nodiscard]] std::int64_t lookahead() const override { return fft_.size() - (shape_.block + problem_.x.k - 1); }

    [[nodiscard]] std::string describe() const override {
        return "FFT in double of " + std::to_string(fft_.size()) + " points, " + std::to_string(shape_.block) +
               " outputs each, samples and taps in two parts of which the first have " + std::to_string(taps_.bits) +
               " bits, every output checked and summed directly if need be, " + to_string(target_);
    }

private:
    static constexpr int kBuffers = 3;

    struct Work {
        const Call& call;
        const Unit& unit;
        std::int64_t filter;
        double *high, *low, *rest;  ///< the transforms': of both parts of the samples, and of sums
        std::int32_t* sounding;     ///< of each part of the window, how many of the first groups of samples are not zero throughout
        std::uint8_t* left;         ///< of each side, the groups of outputs that are summed directly
        double* scratch;
        std::byte* direct;
    };
    struct Loudness {
        double energy = 0;   ///< sum of squares
        double largest = 0;  ///< magnitude
    };

    [[nodiscard]] int transform_threads() const { return shape_.shared ? threads_ : 1; }
    [[nodiscard]] std::int64_t cells() const { return fft_.size() / kGroup + 1; }
    [[nodiscard]] std::int64_t groups() const { return (shape_.block + kGroup - 1) / kGroup; }
    static std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
    [[nodiscard]] std::size_t slot_bytes() const {
        return aligned(static_cast<std::size_t>(kBuffers * fft_.extent()) * sizeof(double) +
                       static_cast<std::size_t>(2 * cells()) * sizeof(std::int32_t) + static_cast<std::size_t>(2 * groups()));
    }
    [[nodiscard]] std::size_t scratch_bytes() const {
        return aligned(static_cast<std::size_t>(fft_.tables().scratch_extent) * sizeof(double));
    }
    [[nodiscard]] std::size_t direct_bytes() const { return aligned(direct_.workspace_bytes()); }

    // Calls visit(at, offset, count) for the transform's rows: the positions [at, at + count) lie from `offset` on.
    template <class Visit>
    void for_each_row(std::int64_t positions, const Visit& visit) const {
        const FftTables<double>& t = fft_.tables();
        const std::int64_t rows = (positions + t.columns - 1) / t.columns;
        const auto row = [&](std::int64_t r, int) {
            visit(r * t.columns, r * t.pitch, std::min(t.columns, positions - r * t.columns));
        };
        core::parallel_for(rows, transform_threads(), std::cref(row));
    }
    [[nodiscard]] std::int64_t offset_of(std::int64_t position) const {
        const FftTables<double>& t = fft_.tables();
        return position / t.columns * t.pitch + position % t.columns;
    }
    [[nodiscard]] int sides(const Unit& unit) const { return io_.is_complex_signal() ? 1 : io_.parts(unit); }

    void run(const Work& work) const {
        io_.load(work.call, work.unit, 0, work.high, transform_threads());
        const Loudness loudness = measure(work);
        const bool usable =
            std::isfinite(loudness.energy) && (loudness.largest == 0 || std::abs(std::ilogb(loudness.largest)) < kMostExponent);
        std::fill_n(work.left, 2 * groups(), static_cast<std::uint8_t>(usable ? 0 : 1));
        if (usable) {
            const double error = convolve(work, loudness);
            judge(work, error);
            io_.store(work.call, work.unit, work.rest, transform_threads());
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

    // In one thread, as the order of sums would depend on their number.
    [[nodiscard]] Loudness measure(const Work& work) const {
        const FftTables<double>& t = fft_.tables();
        Loudness loudness;
        for (int part = 0; part < 2; ++part) {
            std::int32_t* const sounding = work.sounding + part * cells();
            sounding[0] = 0;
            for (std::int64_t c = 0; c + 1 < cells(); ++c) {
                const double* const x = work.high + part * t.im_offset + offset_of(c * kGroup);
                double squares = 0, largest = 0;
                for (std::int64_t i = 0; i < kGroup; ++i) {
                    squares += x[i] * x[i];
                    largest = std::max(largest, std::abs(x[i]));  // a NaN shows in the squares
                }
                loudness.energy += squares;
                loudness.largest = std::max(loudness.largest, largest);
                sounding[c + 1] = sounding[c] + (largest != 0 ? 1 : 0);
            }
        }
        return loudness;
    }

    // The window's outputs to work.rest, in natural order; returns what they may be off by before they are rounded.
    double convolve(const Work& work, const Loudness& loudness) const {
        const FftTables<double>& t = fft_.tables();
        const FilterFacts& facts = taps_.filters[static_cast<std::size_t>(work.filter)];
        const int exponent = loudness.largest > 0 ? std::ilogb(loudness.largest) + 1 : 0;  // the largest sample is below its power
        const int unit = exponent - taps_.bits;
        const Rounding rounded(unit);
        for_each_row(t.size, [&](std::int64_t, std::int64_t offset, std::int64_t count) {
            for (int part = 0; part < 2; ++part) {
                double* const high = work.high + part * t.im_offset + offset;
                double* const low = work.low + part * t.im_offset + offset;
                for (std::int64_t i = 0; i < count; ++i) {
                    const double first = rounded(high[i]);
                    low[i] = high[i] - first;
                    high[i] = first;
                }
            }
        });
        fft_.forward(work.high, work.scratch, transform_threads());
        fft_.forward(work.low, work.scratch, transform_threads());
        multiply(work.rest, work.high, taps_.low.spectrum(fft_, 1, work.filter, 0), true);
        multiply(work.rest, work.low, taps_.high.spectrum(fft_, 1, work.filter, 0), false);
        multiply(work.rest, work.low, taps_.low.spectrum(fft_, 1, work.filter, 0), false);
        multiply(work.low, work.high, taps_.high.spectrum(fft_, 1, work.filter, 0), true);
        fft_.inverse(work.low, work.scratch, transform_threads());
        fft_.inverse(work.rest, work.scratch, transform_threads());
        const Rounding whole(unit - taps_.bits);
        const PowerOfTwo<double> scale(facts.exponent);
        for_each_row(shape_.block, [&](std::int64_t, std::int64_t offset, std::int64_t count) {
            for (int part = 0; part < io_.parts(work.unit); ++part) {
                const double* const exact = work.low + part * t.im_offset + offset;
                double* const y = work.rest + part * t.im_offset + offset;
                for (std::int64_t i = 0; i < count; ++i) { y[i] = (whole(exact[i]) + y[i]) * scale.first * scale.second; }
            }
        });
        const double low_norm = std::ldexp(std::sqrt(std::ldexp(2.0, t.log2_size)), unit - 1);
        const double products =
            (std::sqrt(loudness.energy) + low_norm) * facts.low_norm + low_norm * (facts.high_norm + facts.low_norm);
        return kThreeProducts * proved_error_ * products * scale.first * scale.second;
    }

    void multiply(double* sum, const double* x, const double* spectrum, bool first) const {
        const FftTables<double>& t = fft_.tables();
        for_each_row(t.size, [&](std::int64_t, std::int64_t offset, std::int64_t) {
            fft_.kernels().multiply_add(sum + offset, sum + t.im_offset + offset, x + offset, x + t.im_offset + offset,
                                        spectrum + offset, spectrum + t.im_offset + offset, t.columns, first);
        });
    }

    // Marks groups of outputs that must be summed directly, and makes zeros of sums of zeros.
    void judge(const Work& work, double error) const {
        const double least = bound_.least_output(error), least_sum = bound_.least_sum(error);
        const int components = io_.is_complex_signal() ? 2 : 1;
        const auto group = [&](std::int64_t index, int) {
            const std::int64_t at = index * kGroup, count = std::min(kGroup, shape_.block - at);
            for (int side = 0; side < sides(work.unit); ++side) {
                for (int c = 0; c < components; ++c) {
                    const int part = side + c;
                    double* const y = work.rest + part * fft_.tables().im_offset + offset_of(at);
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
        const auto want = io_.wanted(work.call, work.unit, side);
        const std::int64_t begin = std::max(first, want.first), end = std::min(last, want.first + want.count);
        if (begin >= end) { return; }
        const std::int64_t origin = work.unit.segment[side] * shape_.block;
        const auto piece = [&](std::int64_t index, int slot) {
            const std::int64_t from = begin + index * kDirectPiece, to = std::min(from + kDirectPiece, end);
            const std::span<std::byte> scratch(work.direct + static_cast<std::size_t>(slot) * direct_bytes(), direct_bytes());
            direct_.execute_run(work.call.output, work.call.input, scratch, work.unit.row[side], origin + from, origin + to);
        };
        core::parallel_for((end - begin + kDirectPiece - 1) / kDirectPiece, transform_threads(), std::cref(piece));
    }

    const core::Resolved problem_;
    OverlapSaveShape shape_;
    int threads_;
    Target target_;
    BlockFft<double> fft_;
    SplitTaps taps_;
    OutputBound<double> bound_;
    double proved_error_;
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
