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
    bool outer = false;         // images are an outer axis of their signals
    Refusal refusal;
};

// Whether image follows image as row follows row.
bool follows(const Problem& p, std::int64_t in_image, std::int64_t out_image, std::int64_t in_row, std::int64_t out_row) {
    return p.batch.length == 1 || (in_image == p.y.n * in_row && out_image == p.y.n * out_row);
}

Signals signals_of(const Problem& p) {
    Signals s;
    if (p.filters != 1) {
        s.refusal = "takes one mask for all channels";
    } else if (is_left_alone(p.y)) {
        s.along_rows = true;
        s.of_image = p.y.n;
        if (p.channels.length != 1) { s.refusal = "takes masks of one row with one channel"; }
    } else if (is_left_alone(p.x)) {
        s.of_image = p.x.n * p.channels.length;
        if (p.channels.length != 1 && !(p.has_packed_pixels() && p.channels.in_stride == 1 && p.channels.out_stride == 1)) {
            s.refusal = "takes masks of one column with channels whose pixels lie side by side";
        }
    } else {
        s.refusal = "takes masks of one row or one column, with as many outputs as pixels along the other axis";
    }
    const bool together = s.along_rows && follows(p, p.batch.in_stride, p.batch.out_stride, p.y.in_stride, p.y.out_stride);
    s.launches = together ? 1 : p.batch.length;
    return s;
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
        const bool apart = p.channels.length == 1;
        inner.batch = {s.of_image, apart ? p.x.in_stride : 1, apart ? p.x.out_stride : 1, 0};
    }
    if (s.outer) { inner.outer[0] = p.batch; }
    inner.equal_taps = inner.exact_specials = false;
    inner.separable = 0;
    return inner;
}

// As the choice among rungs for images asks for; more taps are nobody's concern.
bool is_to_be_local(const Problem& p) { return p.taps() <= cuda_abi::kLocalTaps && p.accuracy == Accuracy::standard; }

// Several images as signals: an outer axis for the rungs that know those, or a launch each, whichever is sooner.
struct Best {
    Signals signals;
    double seconds = std::numeric_limits<double>::infinity();
};
Best best_signals(const Problem& p, const cuda_abi::Device& device) {
    Best best{.signals = signals_of(p)};
    if (!best.signals.refusal.empty()) { return best; }
    const auto seconds_of = [&](const Signals& s) {
        return static_cast<double>(s.launches) * best_rung(problem_of(p, s), device, is_to_be_local(p)).seconds;
    };
    const Signals each = best.signals;
    const double one_by_one = seconds_of(each);
    if (std::isfinite(one_by_one)) {
        if (each.launches <= kMostLaunches) { best.seconds = one_by_one; }
        if (each.launches > 1) {  // jobs whose images lie otherwise are launches all the same
            Signals all = each;
            all.outer = true;
            all.launches = 1;
            const double together = seconds_of(all);
            if (together < best.seconds) { best = {all, together}; }
        }
    }
    if (!std::isfinite(best.seconds)) { best.signals.refusal = "no rung for signals takes its rows"; }
    return best;
}

// What the rungs for signals predict, by what an H100 took for 450 drawn images: short launches less, with warm caches; long ones
// more, across memory, of samples of 8 or 16 bits, and with edges that are not zeros (4,850 x 751 u16, 14 x 1 taps, reflect, 422 us
// for 93).
double as_measured(double seconds, const Problem& p) {
    constexpr double kStartSeconds = 1e-6;
    constexpr double kShortSeconds = 12e-6;
    constexpr double kMoreAcross = 0.3;
    constexpr double kMoreNarrow = 0.5;
    constexpr double kMoreAtEdges = 0.45;
    const bool along_rows = is_left_alone(p.y);
    const core::Axis& filtered = along_rows ? p.x : p.y;
    const core::Axis& other = along_rows ? p.y : p.x;
    const double more = (std::abs(filtered.in_stride) > std::abs(other.in_stride) ? kMoreAcross : 0) +
                        (stored_bytes(p.dtype) < 4 ? kMoreNarrow : 0) +
                        (filtered.boundary != kZero && filtered.boundary != kConstant ? kMoreAtEdges : 0);
    return std::max(seconds - kStartSeconds, kLaunchSeconds) + more * std::max(seconds - kShortSeconds, 0.0);
}

class ImageRows final : public Rung {
public:
    static constexpr Head kHead{"11", "image_rows", "", R"(
Idea: under a mask of one row the rows of an image are signals, under one of one column its columns are: the rungs for signals
convolve them as they lie
Changed: a long row of taps costs what it costs a signal, next to nothing beside the copy
Requires: one mask of one row (and one channel) or one column, as many outputs as pixels along the other axis; whole images
Limited by: what limits the signals' rung
)"};

    ImageRows() : Rung(kHead, {.source = "src/cuda/families/image_rows/image_rows.cpp", .rank = 2}) {}

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        return best_signals(p, device).signals.refusal;
    }

    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        return as_measured(best_signals(p, device).seconds, p);
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
                                  is_to_be_local(prepared.problem));
        };
        chosen->inner = prepare(chosen->signals);
        if (chosen->signals.outer) { chosen->of_one = prepare(signals_of(prepared.problem)); }
        return chosen;
    }

    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenRows>();
        return std::max(chosen.inner->workspace_bytes, chosen.of_one ? chosen.of_one->workspace_bytes : 0);
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
        const bool outer = s.outer && as_planned;
        const cuda_abi::Prepared& inner = s.outer && !outer ? *chosen.of_one : *chosen.inner;
        const core::Axis& x = inner.problem.x;
        Job one;
        one.count = x.outputs;
        one.in_last = one.n = x.n;
        if (s.along_rows) {
            one.in_stride = is_packed ? 1 : x.in_stride;
            one.out_stride = is_packed ? 1 : x.out_stride;
            one.in_batch = job.in_stride;
            one.out_batch = job.out_stride;
        } else {
            one.in_stride = job.in_stride;
            one.out_stride = job.out_stride;
            one.in_batch = is_packed ? 1 : inner.problem.batch.in_stride;
            one.out_batch = is_packed ? 1 : inner.problem.batch.out_stride;
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
        RungInside of_one;  // where images are an outer axis: one of them
    };
};

}  // namespace

const Rung& image_rows() { return core::only<ImageRows>(); }

}  // namespace tapline::cuda
