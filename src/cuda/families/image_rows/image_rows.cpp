// Rung 11: which signals an image's rows or columns are, and their launches.
#include "cuda/families/image_rows/image_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/rung_inside.hpp"
#include "cuda/local_taps.hpp"
#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda {
namespace {

constexpr std::int64_t kMostLaunches = 64;

// Whether outputs are as many as samples, one each.
bool is_left_alone(const core::Axis& axis) { return axis.k == 1 && axis.origin == 0 && axis.outputs == axis.n; }

// An image, or several, as signals.
struct Signals {
    bool along_rows = false;
    std::int64_t of_image = 0;  // signals
    std::int64_t launches = 0;  // images that are a launch each; 1: all together
    std::int64_t channels = 1;  // that do not lie between its samples as signals: an outer axis
    bool pairs = false;         // two channels are one of complex samples
    bool outer = false;         // images are an outer axis of their signals
    Refusal refusal;
};

// Whether image follows image as row follows row.
bool follows(const Problem& p, std::int64_t in_image, std::int64_t out_image, std::int64_t in_row, std::int64_t out_row) {
    return p.batch.length == 1 || (in_image == p.y.n * in_row && out_image == p.y.n * out_row);
}

// Whether the elements of a row follow each other, those of all channels.
bool is_one_row(const Problem& p) { return p.has_packed_pixels() && p.channels.length != 1; }

Signals signals_of(const Problem& p) {
    Signals s;
    if (p.filters != 1) {
        s.refusal = "takes one mask for all channels";
    } else if (p.channels.length != 1 && (p.channels.in_stride != 1 || p.channels.out_stride != 1)) {
        s.refusal = "takes channels that lie side by side";
    } else if (is_left_alone(p.y)) {
        s.along_rows = true;
        s.of_image = p.y.n;
        s.channels = p.channels.length;
    } else if (is_left_alone(p.x)) {
        s.of_image = is_one_row(p) ? p.x.n * p.channels.length : p.x.n;
        s.channels = is_one_row(p) ? 1 : p.channels.length;
    } else {
        s.refusal = "takes masks of one row or one column, with as many outputs as pixels along the other axis";
    }
    const bool together = s.along_rows && follows(p, p.batch.in_stride, p.batch.out_stride, p.y.in_stride, p.y.out_stride);
    s.launches = together ? 1 : p.batch.length;
    return s;
}

// The same signals with two channels as one, as core::with_pairs() has those of a problem of one filtered axis.
bool may_pair(const Problem& p, const Signals& s) {
    const bool is_real = p.dtype == kF32 || p.dtype == kF64;
    const bool same_types = p.output_dtype == p.dtype && p.taps_dtype == p.dtype;
    const bool even = (p.x.in_stride | p.x.out_stride | p.y.in_stride | p.y.out_stride) % 2 == 0 &&
                      (p.batch.length == 1 || (p.batch.in_stride | p.batch.out_stride) % 2 == 0);
    return s.channels == 2 && is_real && same_types && even && p.bias == 0 && !p.has_clamp;
}

// The signals of a launch.
Problem problem_of(const Problem& p, const Signals& s) {
    Problem inner = p;
    inner.rank = 1;
    inner.y = inner.z = {};
    inner.x = s.along_rows ? p.x : p.y;
    inner.channels = {};
    if (s.along_rows) {
        inner.batch = {s.outer ? s.of_image : s.of_image * (p.batch.length / s.launches), p.y.in_stride, p.y.out_stride, 0};
    } else {
        const bool apart = !is_one_row(p);
        inner.batch = {s.of_image, apart ? p.x.in_stride : 1, apart ? p.x.out_stride : 1, 0};
    }
    std::size_t outer = 0;
    if (s.channels != 1 && !s.pairs) { inner.outer.at(outer++) = {s.channels, 1, 1, 0}; }
    if (s.outer) { inner.outer.at(outer++) = p.batch; }
    if (s.pairs) {
        inner.dtype = inner.output_dtype = inner.sum_dtype = p.dtype == kF32 ? kComplex64 : kComplex128;
        inner.constant = {p.constant.real(), p.constant.real()};
        for (std::int64_t* stride : {&inner.x.in_stride, &inner.x.out_stride, &inner.batch.in_stride, &inner.batch.out_stride,
                                     &inner.outer[0].in_stride, &inner.outer[0].out_stride}) {
            *stride /= 2;
        }
    }
    inner.equal_taps = inner.exact_specials = false;
    inner.separable = 0;
    return inner;
}

// Columns whose pixels lie apart, under taps so few that moving them is all.
bool pixels_apart(const Problem& p) {
    return !is_left_alone(p.y) && p.y.k <= cuda_abi::kLocalTaps && std::abs(p.x.in_stride) > p.channels.length &&
           std::abs(p.x.in_stride) < std::abs(p.y.in_stride);
}

// Two channels as one or apart; several images as an outer axis for the rungs that know those, or a launch each: what is the
// soonest.
struct Best {
    Signals signals;
    double seconds = std::numeric_limits<double>::infinity();
    bool by_transforms = false;
};
Best best_signals(const Problem& p, const cuda_abi::Device& device) {
    Best best{.signals = signals_of(p)};
    if (!best.signals.refusal.empty()) { return best; }
    const auto best_of = [&](const Signals& s) { return best_rung(problem_of(p, s), device, asks_for_local(p)); };
    const auto take = [&](const Signals& s) {
        const BestRung rung = best_of(s);
        const double seconds = static_cast<double>(s.launches) * rung.seconds;
        if (seconds < best.seconds) { best = {s, seconds, rung_of(rung.rung).info().is_local == 0}; }
    };
    const Signals plain = best.signals;
    // Jobs that lie otherwise than the problem have plain signals, images a launch each.
    if (best_of(plain).rung >= 0) {
        for (const bool pairs : {false, true}) {
            if (pairs && !may_pair(p, plain)) { continue; }
            Signals each = plain;
            each.pairs = pairs;
            if (each.launches <= kMostLaunches) { take(each); }
            if (each.launches > 1) {
                Signals all = each;
                all.outer = true;
                all.launches = 1;
                take(all);
            }
        }
    }
    if (!std::isfinite(best.seconds)) { best.signals.refusal = "no rung for signals takes its rows"; }
    return best;
}

// What the rungs for signals predict, without a start that warm caches do not have, and a little more: 110 drawn images took on an
// H200 what their signals took, whatever their types, layouts and boundaries, 1.0 to 1.15 times the prediction, by transforms along
// rows 1.4 times. Columns of pixels that lie apart take longest under a few taps: every second pixel of 341 x 17,039 f32 under 7 x
// 1 taps 59 us (image_direct 26), of 11,241 x 226 u8 under 31 x 1 60 (35).
double as_measured(const Best& best, const Problem& p) {
    constexpr double kStartSeconds = 1e-6;
    constexpr double kShortSeconds = 12e-6;
    constexpr double kMore = 0.1;
    constexpr double kMoreOfColumns = 0.15;  // by transforms
    constexpr double kMoreOfRows = 0.35;
    constexpr double kMoreAtEdges = 0.35;  // whose samples repeat
    constexpr double kMoreOfPixelsApart = 1;
    constexpr double kMoreOfPartsApart = 2;
    const bool along_rows = best.signals.along_rows;
    const core::Axis& filtered = along_rows ? p.x : p.y;
    const bool leaves = filtered.origin > 0 || filtered.outputs - 1 + filtered.k - 1 - filtered.origin >= filtered.n;
    const bool repeats = leaves && filtered.boundary != kZero && filtered.boundary != kConstant;
    const bool is_plain = along_rows && p.channels.length == 1;
    const double of_rung = !best.by_transforms ? kMore + (is_plain && repeats ? kMoreAtEdges : 0)
                           : along_rows        ? kMoreOfRows
                                               : kMoreOfColumns;
    const double of_pixels = !pixels_apart(p)        ? 0
                             : p.channels.length > 1 ? kMoreOfPartsApart
                                                     : (stored_bytes(p.dtype) < 4 ? 2 : 1) * kMoreOfPixelsApart;
    const double more = of_rung + of_pixels;
    return std::max(best.seconds - kStartSeconds, kLaunchSeconds) + more * std::max(best.seconds - kShortSeconds, 0.0);
}

class ImageRows final : public Rung {
public:
    static constexpr Head kHead{"11", "image_rows", "", R"(
Idea: under a mask of one row the rows of an image are signals, under one of one column its columns are: the rungs for signals
convolve them as they lie
Changed: a long row of taps costs what it costs a signal, next to nothing beside the copy
Requires: one mask of one row or one column, as many outputs as pixels along the other axis; channels that lie side by side; whole
images
Limited by: what limits the signals' rung
)"};

    ImageRows() : Rung(kHead, {.source = "src/cuda/families/image_rows/image_rows.cpp", .rank = 2}) {}

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        return best_signals(p, device).signals.refusal;
    }

    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        return as_measured(best_signals(p, device), p);
    }

    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenRows>();
        return std::string(chosen.signals.along_rows ? "rows" : "columns") + " as signals, " + by_inside(*chosen.inner);
    }

    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenRows>();
        chosen->signals = best_signals(prepared.problem, prepared.device).signals;
        const auto prepare = [&](const Signals& s) {
            return prepare_inside(problem_of(prepared.problem, s), prepared.given.taps, prepared.device,
                                  asks_for_local(prepared.problem));
        };
        chosen->inner = prepare(chosen->signals);
        if (chosen->signals.outer || chosen->signals.pairs) { chosen->plain = prepare(signals_of(prepared.problem)); }
        return chosen;
    }

    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenRows>();
        return std::max(chosen.inner->workspace_bytes, chosen.plain ? chosen.plain->workspace_bytes : 0);
    }

    void launch(const Prepared& prepared, const Job& job, const OnDevice&, void* workspace, cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenRows>();
        const Signals& s = chosen.signals;
        const bool is_packed = job.packed != 0;
        // An outer axis is the problem's; a piece may have fewer images, or lie otherwise.
        const bool as_planned = !is_packed && job.batch == p.batch.length && job.in_batch == p.batch.in_stride &&
                                job.out_batch == p.batch.out_stride && job.in_stride == p.y.in_stride &&
                                job.out_stride == p.y.out_stride;
        const bool even = (job.in_stride | job.out_stride) % 2 == 0 && (job.batch == 1 || (job.in_batch | job.out_batch) % 2 == 0);
        const bool is_plain = (s.outer && !as_planned) || (s.pairs && !even);
        const bool outer = s.outer && !is_plain;
        const std::int64_t parts = s.pairs && !is_plain ? 2 : 1;  // of a sample
        const cuda_abi::Prepared& inner = is_plain ? *chosen.plain : *chosen.inner;
        const core::Axis& x = inner.problem.x;
        Job one;
        one.count = x.outputs;
        one.in_last = one.n = x.n;
        if (s.along_rows) {
            one.in_stride = is_packed ? s.channels / parts : x.in_stride;
            one.out_stride = is_packed ? s.channels / parts : x.out_stride;
            one.in_batch = job.in_stride / parts;
            one.out_batch = job.out_stride / parts;
        } else {
            one.in_stride = job.in_stride / parts;
            one.out_stride = job.out_stride / parts;
            one.in_batch = is_packed ? s.channels / parts : inner.problem.batch.in_stride;
            one.out_batch = is_packed ? s.channels / parts : inner.problem.batch.out_stride;
        }
        const bool together = s.launches == 1 && !s.outer && follows(p, job.in_batch, job.out_batch, job.in_stride, job.out_stride);
        one.batch = together ? s.of_image * job.batch : s.of_image;
        for (std::int64_t image = 0; image < (together || outer ? 1 : job.batch); ++image) {
            one.in =
                static_cast<const char*>(job.in) + (image * job.in_batch - job.in_first * job.in_stride) * stored_bytes(p.dtype);
            one.out = static_cast<char*>(job.out) + image * job.out_batch * stored_bytes(p.output_dtype);
            inner.rung->launch(inner, one, inner.on_device, workspace, stream);
        }
    }

private:
    struct ChosenRows final : Chosen {
        Signals signals;
        RungInside inner;
        RungInside plain;  // beside others: for jobs that lie otherwise
    };
};

}  // namespace

const Rung& image_rows() { return core::only<ImageRows>(); }

}  // namespace tapline::cuda
