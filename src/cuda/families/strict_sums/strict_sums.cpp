// Rungs 57 to 59: the problem in double, from which output on it keeps the bound, launches.
#include "cuda/families/strict_sums/strict_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <string_view>
#include <vector>

#include "cuda/check.hpp"
#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/error_in_double.hpp"
#include "cuda/families/common/rung_inside.hpp"
#include "cuda/families/common/workspace.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace {

using strict_sums::Check;
using strict_sums::CheckKernel;
using strict_sums::SumAxis;
using strict_sums::Widen;
using strict_sums::WidenKernel;

constexpr std::int64_t kLeastTaps = 64;
constexpr double kShareByPasses = 0.6;  // of the copy's speed
// Times as long as predicted take sums in double, of images by tiles, of signals by segments and by what else is made of them
// (H200: 6 of 32 x 4,870 x 3 f32, 35 x 11 taps, 258 us, 581 x 366 x 32, 23 x 29, 361; 741 x 1,008 x 8 f32, 169 taps 313, 2 x
// 1,547,508 x 8, 233 taps 578).
constexpr double kMoreOfImages = 1.5;
constexpr double kMoreOfSegments = 1.3;
constexpr double kMoreOfLongSignals = 1.1;
constexpr std::int64_t kLeastTogether = 1024;  // taps of an output that all warps of a block sum, if it has to be

Dtype sums_in_double(const Problem& p) { return is_complex(p.dtype) ? kComplex128 : kF64; }

// The boundary's constant as a sample: rounded where its type is.
std::complex<double> constant_of(const Problem& p) {
    const double real = p.constant.real();
    switch (p.dtype) {
        case kF32:
            return static_cast<float>(real);
        case kF16:
            return __half2float(__half(real));
        case kBf16:
            return __bfloat162float(__nv_bfloat16(real));
        case kComplex64:
            return std::complex<float>(p.constant);
        default:
            return real;
    }
}

// The same in double, samples and outputs one after the other as they lie.
Problem in_double(const Problem& p) {
    Problem inner = sums_alone(p, sums_in_double(p));
    inner.taps_dtype = is_complex(p.taps_dtype) ? kComplex128 : kF64;
    inner.constant = constant_of(p);
    const auto step = [](const WalkSide& side, std::size_t role) {
        const WalkAxis& axis = side.axes.at(role);
        return axis.length == 1 ? 1 : axis.packed;
    };
    const WalkSide in = samples_of(p);
    const WalkSide out = outputs_of(p);
    const auto put = [&](auto& axis, std::size_t role) {
        axis.in_stride = step(in, role);
        axis.out_stride = step(out, role);
    };
    put(inner.x, WalkSide::kX);
    put(inner.y, WalkSide::kY);
    put(inner.z, WalkSide::kZ);
    put(inner.channels, WalkSide::kChannels);
    put(inner.batch, WalkSide::kBatch);
    return inner;
}

// Bytes into the workspace.
struct Places {
    std::int64_t samples, outputs, own;
};
Places places_of(const Problem& p) {
    Places places{};
    places.samples = kWorkspaceAlignment;  // behind the largest sample
    places.outputs = places.samples + aligned_bytes(samples_of(p).walk.count * stored_bytes(sums_in_double(p)));
    places.own = places.outputs + aligned_bytes(outputs_of(p).walk.count * stored_bytes(sums_in_double(p)));
    return places;
}

class StrictSums final : public Rung {
public:
    static constexpr Head head(int rank) {
        return {of_rank(rank, "57", "58", "59"), "strict_sums", "", R"(
Idea: samples are widened, the rung that is the fastest in double convolves them, and an output that is large enough to have kept
the strict bound is stored; the few others are summed one by one
Changed: large masks and the longest filters no longer cost a product each under strict accuracy
Requires: strict accuracy; samples of any type but f64 and complex128, finite taps of f32 or complex64, 64 of them or more; whole
problems; workspace
Limited by: what limits the rung inside, in double
)"};
    }

    explicit StrictSums(int rank) : Rung(head(rank), {.source = "src/cuda/families/strict_sums/strict_sums.cu", .rank = rank}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.accuracy != Accuracy::strict) { return "for strict accuracy only: others need no check"; }
        if (strict_sums::widen_kernel(p.dtype) == nullptr || (p.taps_dtype != kF32 && p.taps_dtype != kComplex64)) {
            return "takes taps of f32 or complex64, and samples that double has more digits than";
        }
        if (p.taps() < kLeastTaps) { return "fewer than " + std::to_string(kLeastTaps) + " taps"; }
        if (!p.taps_finite) { return "taps that are not finite need direct summation"; }
        if (device.memory_bytes > 0 && places_of(p).own > device.memory_bytes / 3) {
            return "samples and outputs in double need more than a third of the device's memory";
        }
        return best_rung(in_double(p), device).rung < 0 ? "no rung convolves them in double" : "";
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const int wide = stored_bytes(sums_in_double(p));
        const double bytes = (stored_bytes(p.dtype) + wide) * static_cast<double>(samples_of(p).walk.count) +
                             (stored_bytes(p.output_dtype) + wide) * static_cast<double>(outputs_of(p).walk.count);
        const BestRung inner = best_rung(in_double(p), device);
        const std::string_view name = inner.rung < 0 ? "" : rung_of(inner.rung).info().name;
        const double more = name == "overlap_save"               ? kMoreOfSegments
                            : p.rank == 2 && name != "flattened" ? kMoreOfImages
                                                                 : kMoreOfLongSignals;
        return 3 * kLaunchSeconds + bytes / (kShareByPasses * device.copy_bytes_per_second) + more * inner.seconds;
    }
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        return "in double " + by_inside(*prepared.chosen_as<ChosenStrict>().inner);
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenStrict>();
        chosen->widen = strict_sums::widen_kernel(p.dtype);
        chosen->check = strict_sums::check_kernel(p.dtype, p.taps_dtype);
        load_kernel(chosen->widen);
        load_kernel(chosen->check);
        const auto* const taps = static_cast<const float*>(prepared.given.taps);
        const std::vector<double> wide(taps, taps + p.filters * p.taps() * parts_of(p.taps_dtype));
        chosen->places = places_of(p);
        chosen->in = samples_of(p);
        chosen->out = outputs_of(p);
        chosen->least = least_of(p, wide);
        chosen->inner = prepare_inside(in_double(p), wide.data(), prepared.device);
        return chosen;
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenStrict>();
        return kWorkspaceAlignment + chosen.places.own + chosen.inner->workspace_bytes;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenStrict>();
        char* const memory = aligned(workspace);
        auto* const largest = reinterpret_cast<unsigned*>(memory);
        char* const samples = memory + chosen.places.samples;
        char* const outputs = memory + chosen.places.outputs;
        check(cudaMemsetAsync(largest, 0, sizeof *largest, stream), "cudaMemsetAsync");
        launch_kernel(chosen.widen, pass_blocks(chosen.in.walk.count), kPassThreads, 0, stream,
                      Widen{job.in, samples, sample_walk(chosen.in, p, job), largest, p.dtype});
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
        Check c = check_of(chosen, p, job);
        c.from = outputs;
        c.in = samples;
        c.taps = on_device.taps;
        c.filter_elements = prepared.taps_pitch_bytes / stored_bytes(p.taps_dtype);
        c.out = job.out;
        c.largest = largest;
        set_epilogue(c.common, p);
        c.common.constant_real = chosen.inner->problem.constant.real();
        c.common.constant_imag = chosen.inner->problem.constant.imag();
        launch_kernel(chosen.check, pass_blocks(c.walk.count), kPassThreads, 0, stream, c);
    }

private:
    struct ChosenStrict final : Chosen {
        Places places{};
        WalkSide in{}, out{};
        double least = 0;
        WidenKernel widen = nullptr;
        CheckKernel check = nullptr;
        RungInside inner;
    };

    static Check check_of(const ChosenStrict& chosen, const Problem& p, const Job& job) {
        Check c{};
        c.walk = output_walk(chosen.out, p, job);
        const auto axis = [&](const core::Axis& a, std::size_t role) -> SumAxis {
            c.places[role] = chosen.out.axes.at(role).index;
            return {a.n, a.k, a.origin, a.in_stride, a.boundary};
        };
        const Problem& inner = chosen.inner->problem;
        c.x = axis(inner.x, WalkSide::kX);
        c.y = axis(inner.y, WalkSide::kY);
        c.z = axis(inner.z, WalkSide::kZ);
        const auto step = [&](std::size_t role, const core::Batch& rows) {
            const int index = chosen.out.axes.at(role).index;
            if (index >= 0) { c.in_steps[index] = rows.in_stride; }
        };
        step(WalkSide::kChannels, inner.channels);
        step(WalkSide::kBatch, inner.batch);
        c.filters = p.filters;
        c.filter_axis = p.filters == 1 ? -1 : chosen.out.axes.at(p.rank == 1 ? WalkSide::kBatch : WalkSide::kChannels).index;
        c.least = chosen.least;
        c.together = p.taps() >= kLeastTogether ? 1 : 0;
        return c;
    }

    static int parts_of(Dtype type) { return is_complex(type) ? 2 : 1; }

    // By docs/numerics.md, (2): with the error of sums in double for each unit of the largest sample, or part of one. A complex
    // sample is at most sqrt(2) of that, and a part of a sum has two products for each complex one.
    static double least_of(const Problem& p, const std::vector<double>& taps) {
        constexpr double kSafe = 1.0001;
        const double sample = std::sqrt(static_cast<double>(parts_of(p.dtype)));
        const double products = static_cast<double>(p.taps() * parts_of(p.dtype));
        const std::int64_t of_filter = p.taps() * parts_of(p.taps_dtype);
        double most = 0;
        for (std::int64_t f = 0; f < p.filters; ++f) {
            double squares = 0;
            for (std::int64_t t = f * of_filter; t < (f + 1) * of_filter; ++t) {
                const double tap = taps[static_cast<std::size_t>(t)];
                squares += tap * tap;
            }
            most = std::max(most, squares);
        }
        // A plane as the one long signal that it may become.
        const auto reached = [](const core::Axis& a) { return static_cast<double>(a.n) + 2 * static_cast<double>(a.k); };
        const double row = p.rank == 1 ? reached(p.x) : reached(p.x) * reached(p.y) * reached(p.z);
        const auto far = [](const core::Axis& a) { return static_cast<double>(a.k - 1); };
        const double span = 1 + far(p.x) + (p.rank == 1 ? 0 : (far(p.y) + far(p.z) * reached(p.y)) * reached(p.x));
        const double allowed = static_cast<double>(p.taps() + 2) * 0x1p-23;
        return kSafe * sample * error_in_double(row, span, products) * std::sqrt(most) * (1 + allowed) / (allowed - 0x1p-24);
    }
};

}  // namespace

const Rung& strict_signals() { return core::only_of<StrictSums, 1>(); }
const Rung& strict_images() { return core::only_of<StrictSums, 2>(); }
const Rung& strict_volumes() { return core::only_of<StrictSums, 3>(); }

}  // namespace tapline::cuda
