// Rungs 57 to 59: the problem in double, from which output on it keeps the bound, launches.
#include "cuda/families/strict_sums/strict_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cuda/check.hpp"
#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/error_in_double.hpp"
#include "cuda/families/common/rung_inside.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace {

using strict_sums::Check;
using strict_sums::CheckKernel;
using strict_sums::SumAxis;
using strict_sums::Widen;
using strict_sums::WidenKernel;

constexpr std::int64_t kLeastTaps = 64;
constexpr std::int64_t kAlignment = 256;
constexpr double kShareByPasses = 0.6;  // of the copy's speed

std::int64_t whole(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// One side of a problem: its axes in the order x, y, z, channels, batch, outer ones.
struct Side {
    std::array<WalkAxis, Walk::kMostAxes> axes;
    Walk walk;
};
Side side_of(const Problem& p, bool input) {
    const auto axis = [&](const core::Axis& a) -> WalkAxis {
        return {input ? a.n : a.outputs, input ? a.in_stride : a.out_stride};
    };
    const auto rows = [&](const core::Batch& b) -> WalkAxis { return {b.length, input ? b.in_stride : b.out_stride}; };
    Side side{{axis(p.x), axis(p.y), axis(p.z), rows(p.channels), rows(p.batch)}, {}};
    for (std::size_t i = 0; i < p.outer.size(); ++i) { side.axes.at(i + 5) = rows(p.outer.at(i)); }
    side.walk = walk_of(side.axes);
    return side;
}

// The same in double, samples and outputs one after the other as they lie.
Problem in_double(const Problem& p) {
    Problem inner = p;
    inner.dtype = inner.taps_dtype = inner.sum_dtype = inner.output_dtype = kF64;
    inner.accuracy = Accuracy::standard;
    inner.scale = 1;
    inner.bias = 0;
    inner.has_clamp = false;
    inner.trivial_epilogue = true;
    inner.narrow_taps = inner.exact_specials = false;
    inner.separable = 0;
    const auto put = [&](bool input) {
        const Side side = side_of(p, input);
        const auto set = [&](auto& axis, std::size_t i) {
            (input ? axis.in_stride : axis.out_stride) = side.axes.at(i).length == 1 ? 1 : side.axes.at(i).packed;
        };
        set(inner.x, 0);
        set(inner.y, 1);
        set(inner.z, 2);
        set(inner.channels, 3);
        set(inner.batch, 4);
        for (std::size_t i = 0; i < p.outer.size(); ++i) { set(inner.outer.at(i), i + 5); }
    };
    put(true);
    put(false);
    return inner;
}

// Bytes into the workspace.
struct Places {
    std::int64_t samples, outputs, own;
};
Places places_of(const Problem& p) {
    Places places{};
    places.samples = kAlignment;  // behind the largest sample
    places.outputs = places.samples + whole(side_of(p, true).walk.count * 8);
    places.own = places.outputs + whole(side_of(p, false).walk.count * 8);
    return places;
}

class StrictSums final : public Rung {
public:
    explicit StrictSums(int rank) : rank_(rank) {}

    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = rank_ == 1 ? "57" : rank_ == 2 ? "58" : "59";
        info.name = "strict_sums";
        info.idea =
            "samples are widened, the rung that is the fastest in double convolves them, and an output that is large enough to "
            "have "
            "kept the strict bound is stored; the few others are summed one by one";
        info.changed = "large masks and the longest filters no longer cost a product each under strict accuracy";
        info.requirements = "strict accuracy; f32 with finite f32 taps, 64 of them or more; whole problems; workspace";
        info.limited_by = "what limits the rung inside, in double";
        info.source = "src/cuda/families/strict_sums/strict_sums.cu";
        info.rank = rank_;
        info.takes_outer = rank_ == 1 ? 1 : 0;
        return info;
    }
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.accuracy != Accuracy::strict) { return "for strict accuracy only: others need no check"; }
        if (p.dtype != kF32 || p.taps_dtype != kF32 || p.output_dtype != kF32) { return "takes only f32"; }
        if (p.taps() < kLeastTaps) { return "fewer than " + std::to_string(kLeastTaps) + " taps"; }
        if (!p.taps_finite) { return "taps that are not finite need direct summation"; }
        if (device.memory_bytes > 0 && places_of(p).own > device.memory_bytes / 3) {
            return "samples and outputs in double need more than a third of the device's memory";
        }
        return best_rung(in_double(p), device).rung < 0 ? "no rung convolves them in double" : "";
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const double bytes = 12 * static_cast<double>(side_of(p, true).walk.count + side_of(p, false).walk.count);
        return 3 * kLaunchSeconds + bytes / (kShareByPasses * device.copy_bytes_per_second) +
               best_rung(in_double(p), device).seconds;
    }
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const RungInside& inner = prepared.chosen_as<ChosenStrict>().inner;
        return std::string("in double by ") + inner->rung->info().name + ", " + inner->rung->describe(*inner);
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenStrict>();
        chosen->widen = strict_sums::widen_kernel();
        chosen->check = strict_sums::check_kernel();
        load_kernel(chosen->widen);
        load_kernel(chosen->check);
        const auto* const taps = static_cast<const float*>(prepared.given.taps);
        const std::vector<double> wide(taps, taps + p.filters * p.taps());
        chosen->places = places_of(p);
        chosen->in = side_of(p, true).walk;
        chosen->out = checked_outputs(p);
        chosen->out.least = least_of(p, wide);
        chosen->inner = prepare_inside(in_double(p), wide.data(), prepared.device);
        return chosen;
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenStrict>();
        return kAlignment + chosen.places.own + chosen.inner->workspace_bytes;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenStrict>();
        auto* memory = static_cast<char*>(workspace);
        memory += -reinterpret_cast<std::uintptr_t>(memory) % kAlignment;
        auto* const largest = reinterpret_cast<unsigned*>(memory);
        auto* const samples = reinterpret_cast<double*>(memory + chosen.places.samples);
        auto* const outputs = reinterpret_cast<double*>(memory + chosen.places.outputs);
        const float* const in = static_cast<const float*>(job.in) - job.in_first * job.in_stride;
        check(cudaMemsetAsync(largest, 0, sizeof *largest, stream), "cudaMemsetAsync");
        launch_kernel(chosen.widen, pass_blocks(chosen.in.count), kPassThreads, 0, stream, Widen{in, samples, chosen.in, largest});
        const Problem& inner = chosen.inner->problem;
        const core::Axis& cut = inner.cut();
        Job doubles;
        doubles.in = samples;
        doubles.in_last = doubles.n = cut.n;
        doubles.in_stride = cut.in_stride;
        doubles.in_batch = inner.batch.in_stride;
        doubles.out = outputs;
        doubles.count = cut.outputs;
        doubles.out_stride = cut.out_stride;
        doubles.out_batch = inner.batch.out_stride;
        doubles.batch = inner.batch.length;
        chosen.inner->rung->launch(*chosen.inner, doubles, chosen.inner->on_device, memory + chosen.places.own, stream);
        Check c = chosen.out;
        c.from = outputs;
        c.in = in;
        c.taps = static_cast<const float*>(on_device.taps);
        c.filter_elements = prepared.taps_pitch_bytes / static_cast<std::int64_t>(sizeof(float));
        c.out = static_cast<float*>(job.out);
        c.largest = largest;
        set_epilogue(c.common, p);
        launch_kernel(chosen.check, pass_blocks(c.walk.count), kPassThreads, 0, stream, c);
    }

private:
    struct ChosenStrict final : Chosen {
        Places places{};
        Walk in{};
        Check out{};
        WidenKernel widen = nullptr;
        CheckKernel check = nullptr;
        RungInside inner;
    };

    static Check checked_outputs(const Problem& p) {
        Side side = side_of(p, false);
        const Side samples = side_of(p, true);
        Check c{};
        c.walk = side.walk;
        const auto axis = [](const core::Axis& a) -> SumAxis { return {a.n, a.k, a.origin, a.in_stride, a.boundary}; };
        c.x = axis(p.x);
        c.y = axis(p.y);
        c.z = axis(p.z);
        for (std::size_t i = 0; i < 3; ++i) { c.places[i] = side.axes.at(i).index; }
        for (std::size_t i = 3; i < side.axes.size(); ++i) {
            if (side.axes.at(i).index >= 0) { c.in_steps[side.axes.at(i).index] = samples.axes.at(i).step; }
        }
        c.filters = p.filters;
        c.filter_axis = p.filters == 1 ? -1 : side.axes.at(p.rank == 1 ? 4 : 3).index;
        return c;
    }

    // By docs/numerics.md, (2): with the error of sums in double for each unit of the largest sample.
    static double least_of(const Problem& p, const std::vector<double>& taps) {
        constexpr double kSafe = 1.0001;
        double most = 0;
        for (std::int64_t f = 0; f < p.filters; ++f) {
            double squares = 0;
            for (std::int64_t t = f * p.taps(); t < (f + 1) * p.taps(); ++t) {
                const double tap = taps[static_cast<std::size_t>(t)];
                squares += tap * tap;
            }
            most = std::max(most, squares);
        }
        // A plane as the one long signal that it may become.
        const auto reached = [](const core::Axis& a) { return static_cast<double>(a.n) + 2 * static_cast<double>(a.k); };
        const double row = p.rank == 1 ? reached(p.x) : reached(p.x) * reached(p.y) * reached(p.z);
        const double of_taps = p.rank == 1 ? static_cast<double>(p.x.k) : static_cast<double>(p.z.k) * reached(p.y) * reached(p.x);
        const double allowed = static_cast<double>(p.taps() + 2) * 0x1p-23;
        return kSafe * error_in_double(row, std::min(of_taps, row)) * std::sqrt(most) * (1 + allowed) / (allowed - 0x1p-24);
    }

    int rank_;
};

}  // namespace

const Rung& strict_signals() {
    static const StrictSums rung(1);
    return rung;
}
const Rung& strict_images() {
    static const StrictSums rung(2);
    return rung;
}
const Rung& strict_volumes() {
    static const StrictSums rung(3);
    return rung;
}

}  // namespace tapline::cuda
