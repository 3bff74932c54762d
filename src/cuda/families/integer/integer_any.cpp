// The rungs that take every problem of integers: what they estimate, how they are launched.
#include "cuda/families/integer/integer_any.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/problem/arrange.hpp"
#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/integer/integer_rung.hpp"
#include "cuda/launch.hpp"
#include "cuda/primitives/lines/lines.hpp"

namespace tapline::cuda {
namespace integer {

std::int64_t constant_of(const Problem& p) {
    std::array<unsigned char, 16> raw{};
    raw_constant(p, raw.data());
    std::uint64_t bits = 0;
    std::memcpy(&bits, raw.data(), sizeof bits);  // little-endian, zeros behind
    const int unused = 64 - 8 * stored_bytes(p.dtype);
    return is_signed(p.dtype) ? static_cast<std::int64_t>(bits << unused) >> unused : static_cast<std::int64_t>(bits);
}

namespace {

AnyAxis whole_axis(const core::Axis& a) {
    return {a.n, a.k, a.origin, 0, a.outputs, a.outputs, 0, a.n, a.in_stride, a.out_stride, a.boundary};
}

// Axes of more than one element, neighbours in the output first.
void set_walk(Any& g) {
    const auto put = [&](std::int64_t length, std::int64_t out_stride, Role role, int outer) {
        if (length == 1) { return; }
        int at = g.axes++;
        for (; at > 0 && std::abs(out_stride) < std::abs(g.walked[at - 1].out_stride); --at) { g.walked[at] = g.walked[at - 1]; }
        g.walked[at] = {length, out_stride, role, outer};
    };
    put(g.x.count, g.x.out_stride, Role::x, 0);
    put(g.channels, g.channel_out, Role::channel, 0);
    put(g.y.count, g.y.out_stride, Role::y, 0);
    put(g.z.count, g.z.out_stride, Role::z, 0);
    put(g.batch, g.batch_out, Role::batch, 0);
    for (int o = Any::kOuter - 1; o >= 0; --o) { put(g.outer_length[o], g.outer_out[o], Role::outer, o); }
    g.outputs = 1;
    for (int i = 0; i < g.axes; ++i) { g.outputs *= g.walked[i].length; }
}

// Pieces from a host: all but the cut axis and the batch lie side by side.
void pack(Any& g, const Problem& p) {
    for (int o = 0; o < Any::kOuter; ++o) { g.outer_length[o] = 1; }
    g.channel_in = g.channel_out = 1;
    std::int64_t in = p.channels.length;
    std::int64_t out = p.channels.length;
    for (AnyAxis* axis : {&g.x, &g.y}) {
        axis->in_stride = in;
        axis->out_stride = out;
        in *= axis->n;
        out *= axis->outputs;
    }
}

}  // namespace

Any any_of(const Prepared& prepared, const Job& job, const OnDevice& on_device, Found* found) {
    const Problem& p = prepared.problem;
    Any g{};
    g.z = whole_axis(p.z);
    g.y = whole_axis(p.y);
    g.x = whole_axis(p.x);
    g.channels = p.channels.length;
    g.channel_in = p.channels.in_stride;
    g.channel_out = p.channels.out_stride;
    for (int o = 0; o < Any::kOuter; ++o) {
        const core::Batch& outer = p.outer.at(static_cast<std::size_t>(o));
        g.outer_length[o] = outer.length;
        g.outer_in[o] = outer.in_stride;
        g.outer_out[o] = outer.out_stride;
    }
    if (job.packed != 0) { pack(g, p); }
    AnyAxis& cut = p.rank == 1 ? g.x : p.rank == 2 ? g.y : g.z;
    cut.n = job.n;
    cut.first = job.first;
    cut.count = job.count;
    cut.in_first = job.in_first;
    cut.in_last = job.in_last;
    cut.in_stride = job.in_stride;
    cut.out_stride = job.out_stride;
    if (cut.outputs < job.first + job.count) { cut.outputs = kOfStream; }
    g.in = job.in;
    g.out = job.out;
    g.taps = on_device.taps;
    g.filter_bytes = prepared.taps_pitch_bytes;
    // Sets of filters follow each other, those of the last outer axis first. Rows of a piece are numbered on from set to set.
    g.filters = p.filters / core::filter_sets(p);
    g.of_rank_1 = p.rank == 1 ? 1 : 0;
    const bool has_sets = core::filter_sets(p) != 1;
    g.first_set = has_sets ? job.batch_first / p.batch.length * g.filters : 0;
    g.first_in_set = has_sets ? job.batch_first % p.batch.length : job.batch_first;
    std::int64_t set_step = g.filters;
    for (int o = Any::kOuter - 1; o >= 0; --o) {
        const core::Batch& outer = p.outer.at(static_cast<std::size_t>(o));
        if (outer.length == 1 || outer.taps_stride == 0) { continue; }
        g.outer_filters[o] = set_step;
        set_step *= outer.length;
    }
    g.batch_first = job.batch_first;
    g.batch = job.batch;
    g.batch_in = job.in_batch;
    g.batch_out = job.out_batch;
    g.constant = p.cut().boundary == kConstant || p.x.boundary == kConstant || p.y.boundary == kConstant ? constant_of(p) : 0;
    g.finish = finish_of(p);
    g.found = found;
    g.is_bool = p.dtype == kBoolean ? 1 : 0;
    g.wholes = p.dtype == kU64 ? 1 : 0;
    set_walk(g);
    return g;
}

void launch_any(AnyKernel kernel, const Any& g, cudaStream_t stream, std::int64_t most_blocks) {
    std::int64_t blocks = divide_up(g.outputs, kThreads);
    if (most_blocks > 0) { blocks = std::min(blocks, most_blocks); }
    if (blocks > kMostBlocks) { refuse_launch(); }
    launch_kernel(kernel, static_cast<unsigned>(blocks), kThreads, 0, stream, g);
}

namespace {

class IntegerAny final : public IntegerRung {
public:
    static constexpr Head head(int rank) {
        return {of_rank(rank, "40", "16", "17"), "integer_any", "", R"(
Idea: exact sums of integers of any type, one output a thread, in 64 bits or, where those might not hold it, in 192
Changed: no problem of integers is left to the CPU: every type, layout, boundary and number of axes
Requires: integer or bool samples with integer taps
Limited by: instructions: each product has its own two loads, one with 192 bits takes some twenty instructions
)"};
    }

    explicit IntegerAny(int rank)
        : IntegerRung(head(rank), {.source = "src/cuda/families/integer/integer_any.cuh",
                                   .rank = rank,
                                   .takes_pieces = 1,
                                   .takes_outer = rank == 1 ? 2 : 1}) {}
    [[nodiscard]] Refusal refuse_sums(const Problem& /*p*/, const cuda_abi::Device& /*device*/) const override { return {}; }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const double outputs = static_cast<double>(p.outputs()) * static_cast<double>(p.outer_length());
        const int bits = sum_bits(p, knows_taps(p) ? likely_bound(p) : bound_of(p, nullptr));
        const double rows = p.rank == 1 ? 0 : static_cast<double>(p.y.k * p.z.k);
        const double instructions = kOfOutput + rows * kOfRow + static_cast<double>(p.taps()) * (bits == 64 ? kOfNarrow : kOfExact);
        const double together = 2 * outputs * instructions / (kShareOfPeak * device.peak_flops);
        // A thread's taps follow each other, most slowly at the ends, where a boundary repeats samples.
        const auto outside = static_cast<double>(std::max<std::int64_t>(p.x.boundary > kConstant ? p.x.origin : 0, 0));
        const double alone =
            p.rank > 1 ? 0
                       : static_cast<double>(p.x.k) * kTapSeconds + std::min(outside, static_cast<double>(p.x.k)) * kOutsideSeconds;
        return kLaunchSeconds + kColdSeconds + std::max(together, alone);
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        return "sums in " + std::to_string(prepared.chosen_as<ChosenAny>().bits) + " bits, one output a thread";
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenAny>(prepared);
        chosen->bits = sum_bits(prepared.problem, chosen->bound);
        chosen->kernel = any_kernel(prepared.problem.dtype, chosen->bits);
        load_kernel(chosen->kernel);
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenAny>();
        Found* const found = chosen.begin(workspace, stream);
        launch_any(chosen.kernel, any_of(prepared, job, on_device, found), stream);
        chosen.end(prepared, job, on_device, found, stream);
    }

private:
    struct ChosenAny : ChosenInteger {
        using ChosenInteger::ChosenInteger;
        int bits = 192;
        AnyKernel kernel = nullptr;
    };
    // Issue slots of f32's multiply-adds. H100, in 64 bits: 31, 127 and 511 taps 33, 82 and 284 ps an output, 3 x 3 x 3 107; i64 in
    // 192 bits: 2 to 4 taps 27 to 41, 37 taps 212.
    static constexpr double kOfOutput = 450;
    static constexpr double kOfRow = 240;  // of a mask
    static constexpr double kOfNarrow = 15;
    static constexpr double kOfExact = 140;
    // H200: 9 rows of 1,069 under 1,540 taps, reflected, 423 us, 2 of 6,443 under 153, all of them outside at the first output, 76.
    static constexpr double kTapSeconds = 20e-9;
    static constexpr double kOutsideSeconds = 0.45e-6;
};

}  // namespace
}  // namespace integer

const Rung& integer_signals() { return core::only_of<integer::IntegerAny, 1>(); }
const Rung& integer_images() { return core::only_of<integer::IntegerAny, 2>(); }
const Rung& integer_volumes() { return core::only_of<integer::IntegerAny, 3>(); }

}  // namespace tapline::cuda
