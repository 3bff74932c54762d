// Signals of integers: how their sums are formed, how they are launched.
#include "cuda/families/integer/integer_signal.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace integer {

Signal signal_of(const Prepared& prepared, const Job& job, const OnDevice& on_device, Found* found) {
    const Problem& p = prepared.problem;
    Signal g{};
    g.a = arguments_of(prepared, job, on_device);
    g.rows = rows_of(p, job);
    g.finish = finish_of(p);
    g.found = found;
    g.taps = on_device.taps;
    g.filter_bytes = prepared.taps_pitch_bytes;
    g.constant = p.x.boundary == kConstant ? constant_of(p) : 0;
    g.batch_first = job.batch_first;
    g.outputs = p.x.outputs < job.first + job.count ? kOfStream : p.x.outputs;
    g.in_bytes = stored_bytes(p.dtype);
    g.in_signed = is_signed(p.dtype) ? 1 : 0;
    g.in_bool = p.dtype == kBoolean ? 1 : 0;
    return g;
}

double largest_tap(const Problem& p, const void* taps) {
    if (taps == nullptr) { return 0x1p64; }
    const auto* const all = static_cast<const std::int64_t*>(taps);
    double largest = 0;
    for (std::int64_t t = 0; t < p.filters * p.taps(); ++t) {
        const double tap =
            p.taps_dtype == kU64 ? static_cast<double>(static_cast<std::uint64_t>(all[t])) : std::abs(static_cast<double>(all[t]));
        largest = std::max(largest, tap);
    }
    return largest;
}

Sums sums_of(const Problem& p, const Bound& bound, double largest) {
    if (sum_bits(p, bound) != 64) { return Sums::exact; }
    const bool keeps_32 = keeps_low_bits(p) && stored_bytes(p.output_dtype) <= 4;
    if (keeps_32 || bound.largest < 0x1p31) { return Sums::low32; }
    const bool narrow = bits_of(p.dtype) < 32 || p.dtype == kI32;
    return narrow && largest < 0x1p31 ? Sums::wide32 : Sums::low64;
}

Sums ordinary_sums(const Problem& p) {
    return sums_of(p, likely_bound(p), knows_taps(p) ? std::ldexp(1.0, p.bits_of_taps) : 0x1p15);
}

double direct_seconds(const Problem& p, const cuda_abi::Device& device) {
    // Instructions of an output and of a product, in issue slots of f32's multiply-adds. Where a tile reaches beyond its row,
    // samples come one by one (H100: 3.5 to 4 ns a tile, rows of 11 to 521 samples).
    constexpr double kOfOutput = 40;
    constexpr double kOfEdgeSample = 170;
    constexpr double kEdgeSeconds = 4e-6;  // until the last one's samples are there
    constexpr double kOfLow32 = 2;
    constexpr double kOfWide32 = 5;
    constexpr double kOfLow64 = 10;
    const double rows = static_cast<double>(p.batch.length) * static_cast<double>(p.outer_length());
    const double outputs = static_cast<double>(p.x.outputs) * rows;
    const Sums sums = ordinary_sums(p);
    const int tile = direct_outputs(sums);
    const double tiles = std::ceil(static_cast<double>(p.x.outputs) / tile);
    const double at_edges = std::min(tiles, 2.0) * (tile + static_cast<double>(p.x.k));
    const double of_product = sums == Sums::low32 ? kOfLow32 : sums == Sums::wide32 ? kOfWide32 : kOfLow64;
    const double instructions =
        rows * (tiles * tile * (kOfOutput + static_cast<double>(p.x.k) * of_product) + at_edges * kOfEdgeSample);
    // Lanes go along rows: 4,096 x 4,096 i64 with 9 taps along axis 1 165 us, along axis 0 416.
    const double bytes = static_cast<double>(p.x.n) * rows * bytes_touched(p.x.in_stride, stored_bytes(p.dtype)) +
                         outputs * bytes_touched(p.x.out_stride, stored_bytes(p.output_dtype));
    const double working =
        overlapped(bytes / (kShareOfCopy * device.copy_bytes_per_second), 2 * instructions / (kShareOfPeak * device.peak_flops), 3);
    // A thread goes through all taps, however few outputs there are: 8,810 i16 under 5,653 taps 186 us, H100.
    constexpr double kTapSeconds = 33e-9;
    return kLaunchSeconds + kEdgeSeconds + std::max(working, static_cast<double>(p.x.k) * kTapSeconds);
}

void DirectRoad::load(const Prepared& prepared, const ChosenInteger& chosen) {
    const Problem& p = prepared.problem;
    sums = sums_of(p, chosen.bound, largest_tap(p, prepared.given.taps));
    // Overflows along several batch axes are counted by one kernel only.
    if (chosen.reports && p.has_outer()) { sums = Sums::exact; }
    if (sums == Sums::exact) {
        any_ = any_kernel(p.dtype, sum_bits(p, chosen.bound));
        load_kernel(any_);
    } else {
        kernel_ = direct_kernel(sums);
        load_kernel(kernel_, direct_shared_bytes(sums), prepared.device);
    }
}

void DirectRoad::launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, Found* found,
                        cudaStream_t stream) const {
    if (sums == Sums::exact) { return launch_any(any_, any_of(prepared, job, on_device, found), stream); }
    Signal g = signal_of(prepared, job, on_device, found);
    g.a.tiles = divide_up(g.a.count, direct_outputs(sums));
    set_tiles(g.rows, 1, g.a.tiles);
    const std::int64_t blocks = divide_up(g.rows.tiles, kDirectWarps);
    if (blocks > kMostBlocks) { refuse_launch(); }
    launch_kernel(kernel_, static_cast<unsigned>(blocks), 32 * kDirectWarps, direct_shared_bytes(sums), stream, g);
}

std::string DirectRoad::describe() const {
    switch (sums) {
        case Sums::low32:
            return "sums in 32 bits";
        case Sums::wide32:
            return "products of 32 bits, sums in 64";
        case Sums::low64:
            return "sums in 64 bits";
        default:
            return "one output a thread, sums of any size";
    }
}

namespace {

class IntegerDirect final : public IntegerRung {
public:
    static constexpr Head kHead{"41", "integer_direct", "", R"(
Idea: a warp's samples pass through shared memory, and a lane makes neighbouring outputs of a window in registers
Changed: a sample is loaded once for all outputs of a tile, and 32 bits are enough where no more reach the output
Requires: signals; sums of more than 64 bits go the way of integer_any
Limited by: integer multiply-adds, of which a GPU makes half as many as of f32
)"};

    IntegerDirect()
        : IntegerRung(kHead, {.source = "src/cuda/families/integer/integer_direct.cuh", .takes_pieces = 1, .takes_outer = 1}) {}
    [[nodiscard]] Refusal refuse_sums(const Problem& p, const cuda_abi::Device&) const override {
        return ordinary_sums(p) == Sums::exact ? "its sums have 64 bits" : "";
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        return direct_seconds(p, device);
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        return prepared.chosen_as<ChosenDirect>().road.describe();
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenDirect>(prepared);
        chosen->road.load(prepared, *chosen);
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenDirect>();
        Found* const found = chosen.begin(workspace, stream);
        chosen.road.launch(prepared, job, on_device, found, stream);
        chosen.end(prepared, job, on_device, found, stream);
    }

private:
    struct ChosenDirect : ChosenInteger {
        using ChosenInteger::ChosenInteger;
        DirectRoad road;
    };
};

}  // namespace
}  // namespace integer

const Rung& integer_direct() { return core::only<integer::IntegerDirect>(); }

}  // namespace tapline::cuda
