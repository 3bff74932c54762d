// Rungs 54 to 56: how large samples may be so that 64 bits hold every sum, whose kernels form those sums, launches.
#include "cuda/families/integer/passes/integer_checked.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/rung_inside.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace integer {
namespace {

constexpr std::int64_t kMostTaps = 512;  // more of samples that are too large would take a hundred times as long
constexpr double kShareByPass = 0.6;     // of the copy's speed

// The same with sums modulo 2^64, which are the outputs where they hold those.
Problem low_bits_of(const Problem& p) {
    Problem inner = p;
    inner.overflow = Overflow::wrap;
    return inner;
}

// The largest magnitude of samples with which every sum fits the outputs' type: of i64 with a sign, of u64 where none is below 0.
std::uint64_t most_of(const Problem& p, const void* taps) {
    const auto* const all = static_cast<const std::int64_t*>(taps);
    core::Uint128 worst = 0;
    for (std::int64_t f = 0; f < p.filters; ++f) {
        core::Uint128 sum = 0;
        for (std::int64_t t = f * p.taps(); t < (f + 1) * p.taps(); ++t) {
            const auto bits = static_cast<std::uint64_t>(all[t]);
            sum += p.taps_dtype == kU64 || all[t] >= 0 ? bits : 0 - bits;
        }
        worst = std::max(worst, sum);
    }
    const std::uint64_t top = p.output_dtype == kI64 ? static_cast<std::uint64_t>(INT64_MAX) : UINT64_MAX;
    return worst == 0 ? UINT64_MAX : static_cast<std::uint64_t>(top / worst);
}

class IntegerChecked final : public IntegerRung {
public:
    static constexpr Head head(int rank) {
        return {of_rank(rank, "54", "55", "56"), "integer_checked", "", R"(
Idea: a pass finds the largest sample; where it says that 64 bits hold every sum, the fastest rung for sums of 64 bits has made
the outputs, and the one for sums of any size ends before it begins
Changed: numbers of 64 bits as they mostly are, small, cost a pass more than sums that wrap
Requires: sums that might pass 64 bits, outputs of 64 bits without scale or clamp; up to 512 taps; whole problems
Limited by: the pass, and what limits the rung inside
)"};
    }

    explicit IntegerChecked(int rank)
        : IntegerRung(head(rank),
                      {.source = "src/cuda/families/integer/passes/integer_checked.cu", .rank = rank, .takes_outer = 1}) {}
    [[nodiscard]] Refusal refuse_sums(const Problem& p, const cuda_abi::Device& device) const override {
        // Nothing here may be refused for taps that are smaller: filters of outer axes are prepared set by set.
        if (p.overflow != Overflow::error) { return "sums that do not fit are no error"; }
        if (p.taps() > kMostTaps) { return "more than " + std::to_string(kMostTaps) + " taps"; }
        if (!keeps_low_bits(low_bits_of(p)) ||
            (p.output_dtype != kI64 && (p.output_dtype != kU64 || is_signed(p.dtype) || p.has_negative_tap))) {
            return "outputs are not the low 64 bits of sums, or might be below 0";
        }
        return best_rung(low_bits_of(p), device).rung < 0 ? "no rung makes sums of 64 bits" : "";
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const double bytes = static_cast<double>(samples_of(p).walk.count) * stored_bytes(p.dtype);
        return 3 * kLaunchSeconds + bytes / (kShareByPass * device.copy_bytes_per_second) +
               best_rung(low_bits_of(p), device).seconds;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenChecked>();
        if (!chosen.inner) { return "sums in 192 bits, one output a thread"; }
        std::string by = by_inside(*chosen.inner);
        if (!chosen.reports) { return by; }
        return "samples up to " + std::to_string(chosen.most) + " " + by + "; larger ones one output a thread";
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenChecked>(prepared);
        if (!chosen->reports) {  // whatever the samples are, every sum fits
            chosen->inner = prepare_inside(low_bits_of(p), prepared.given.taps, prepared.device);
            return chosen;
        }
        chosen->any = any_kernel(p.dtype, 192);
        load_kernel(chosen->any);
        chosen->most = most_of(p, prepared.given.taps);
        // A boundary's constant is a sample, too.
        const std::int64_t constant = constant_of(p);
        const auto magnitude =
            is_signed(p.dtype) && constant < 0 ? 0 - static_cast<std::uint64_t>(constant) : static_cast<std::uint64_t>(constant);
        const bool is_constant = p.x.boundary == kConstant || p.y.boundary == kConstant || p.z.boundary == kConstant;
        const bool fits = p.output_dtype == kI64 || chosen->bound.never_negative;
        if (!fits || (is_constant && magnitude > chosen->most)) { return chosen; }
        chosen->samples = samples_of(p);
        chosen->largest = largest_kernel();
        load_kernel(chosen->largest);
        chosen->inner = prepare_inside(low_bits_of(p), prepared.given.taps, prepared.device);
        return chosen;
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenChecked>();
        return IntegerRung::workspace_bytes(prepared) + (chosen.inner ? chosen.inner->workspace_bytes : 0);
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenChecked>();
        const Problem& p = prepared.problem;
        char* const own = static_cast<char*>(workspace) + IntegerRung::workspace_bytes(prepared);
        if (!chosen.reports) { return chosen.inner->rung->launch(*chosen.inner, job, chosen.inner->on_device, own, stream); }
        Found* const found = chosen.begin(workspace, stream);
        Any any = any_of(prepared, job, on_device, found);
        if (chosen.inner) {
            Largest g{};
            g.signal.a.in = job.in;
            g.signal.in_bytes = stored_bytes(p.dtype);
            g.signal.in_signed = is_signed(p.dtype) ? 1 : 0;
            g.signal.in_bool = p.dtype == kBoolean ? 1 : 0;
            g.walk = sample_walk(chosen.samples, p, job);
            g.found = found;
            launch_kernel(chosen.largest, pass_blocks(g.walk.count), kPassThreads, 0, stream, g);
            chosen.inner->rung->launch(*chosen.inner, job, chosen.inner->on_device, own, stream);
            any.unless_fits = 1;
            any.most = chosen.most;
        }
        // Mostly there is nothing to do, and blocks that end at once take their time, too.
        constexpr std::int64_t kBlocksHeld = 8;  // of a multiprocessor
        launch_any(chosen.any, any, stream, chosen.inner ? kBlocksHeld * prepared.device.multiprocessors : 0);
        chosen.end(prepared, job, on_device, found, stream);
    }

private:
    struct ChosenChecked final : ChosenInteger {
        using ChosenInteger::ChosenInteger;
        std::uint64_t most = 0;
        WalkSide samples{};
        LargestKernel largest = nullptr;
        AnyKernel any = nullptr;
        RungInside inner;  // null: all outputs are those of integer_any
    };
};

}  // namespace
}  // namespace integer

const Rung& checked_integer_signals() { return core::only_of<integer::IntegerChecked, 1>(); }
const Rung& checked_integer_images() { return core::only_of<integer::IntegerChecked, 2>(); }
const Rung& checked_integer_volumes() { return core::only_of<integer::IntegerChecked, 3>(); }

}  // namespace tapline::cuda
