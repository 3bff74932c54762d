// Rung 32: what it supports, how rows are divided, how it is launched.
#include "cuda/families/direct/rows/direct_across.hpp"

#include <algorithm>
#include <cstdlib>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/ordered_taps.hpp"
#include "cuda/families/common/shared_memory.hpp"
#include "cuda/families/direct/direct.hpp"
#include "cuda/families/direct/direct_policies.hpp"

namespace tapline::cuda {
namespace {

using across::Across;
using across::kThreads;

constexpr std::int64_t kMostTaps = 1024;
// Of fewer rows a run is shorter than what memory reads at once.
constexpr std::int64_t kFewestRows = 8;
constexpr std::int64_t kMostBlocksHeld = 4;  // of a multiprocessor, by registers

struct Shape {
    Across across{};
    std::int64_t outputs = 0;  // of a lane's row
    std::int64_t rows_of_lane = 1;
    std::int64_t shared_bytes = 0;
};

std::int64_t lanes_at_once(const Shape& s, const cuda_abi::Device& device) {
    const std::int64_t blocks = std::clamp<std::int64_t>(device.shared_bytes_per_block / s.shared_bytes, 1, kMostBlocksHeld);
    return blocks * across::kLanes * device.multiprocessors;
}

// Steps of a lane. What it reads of its window before the first output should be little, and rounds of lanes full; where there are
// many rounds few steps keep what the device reads at a time together: 2^20 x 64 samples of f32, time first, 9 taps, 2 steps 141
// us, 4 and more 148; 31 taps, 2 steps 168, 4 to 16 steps 154.
int steps_of(const Shape& s, const Problem& p, std::int64_t outputs, const cuda_abi::Device& device) {
    constexpr std::int64_t kMostRounds = 16;
    constexpr double kMostReadTwice = 0.15;
    constexpr std::int64_t kManyRounds = 6;
    const std::int64_t rows = p.batch.length * p.outer_length() / s.rows_of_lane;
    const std::int64_t all = std::max<std::int64_t>(divide_up(p.x.outputs, outputs), 1);
    const std::int64_t lanes = lanes_at_once(s, device);
    const double window = static_cast<double>(p.x.k - 1) / static_cast<double>(outputs);
    const auto few = std::max<std::int64_t>(2, static_cast<std::int64_t>(std::ceil(window / kMostReadTwice)));
    if (all / few * rows >= kManyRounds * lanes) { return static_cast<int>(few); }
    std::int64_t best = all;
    std::int64_t least = INT64_MAX;
    // By the number of rounds that lanes go, each of as few steps as that allows.
    for (std::int64_t rounds = 1; rounds <= kMostRounds; ++rounds) {
        const std::int64_t steps = divide_up(all, std::clamp<std::int64_t>(rounds * lanes / rows, 1, all));
        const std::int64_t cost = divide_up(divide_up(all, steps) * rows, lanes) * (steps + s.across.parts);
        if (cost < least) {
            least = cost;
            best = steps;
        }
    }
    return static_cast<int>(std::min<std::int64_t>(best, INT32_MAX / 64));
}

bool lie_along(const Rows& rows, std::int64_t out_sample) { return std::abs(rows.near.out) != 1 && std::abs(out_sample) == 1; }

// Whether vectors of 16 bytes of samples, and as many outputs, hold neighbouring rows: `in` and `out` are addresses of the first.
bool is_wide(const Rows& rows, std::int64_t in_sample, std::int64_t out_sample, const void* in, const void* out) {
    const std::int64_t count = 16 / rows.input_bytes;
    bool whole = rows.near.in == 1 && rows.near.out == 1 && rows.near.length % count == 0 && in_sample % count == 0 &&
                 out_sample % count == 0;
    for (const RowAxis& axis : rows.others) { whole = whole && axis.in % count == 0 && axis.out % count == 0; }
    const auto at = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
    const auto out_vector = static_cast<std::uintptr_t>(std::min<std::int64_t>(count * rows.output_bytes, 16));
    return whole && count > 1 && at(in) % 16 == 0 && at(out) % out_vector == 0;
}
bool is_wide(const Problem& p) { return is_wide(rows_of(p), p.x.in_stride, p.x.out_stride, nullptr, nullptr); }

Shape shape_of(const Problem& p, bool wide, const cuda_abi::Device& device) {
    const int bytes = stored_bytes(p.dtype);
    const std::int64_t outputs = across::kWarps * (wide ? across::kOutputs<16, true> : across::kOutputs<1, false> / bytes);
    Shape s;
    s.rows_of_lane = wide ? 16 / bytes : 1;
    s.across.parts = static_cast<int>(divide_up(outputs + p.x.k - 1, outputs) + 1);
    const std::int64_t cell = bytes * s.rows_of_lane * across::kLanes;
    const std::int64_t ring = s.across.parts * outputs * cell;
    const std::int64_t taps =
        divide_up(p.x.k, outputs) * outputs * type_of(p, device).tap_bytes * (p.filters > 1 ? s.rows_of_lane * across::kLanes : 1);
    const std::int64_t stage = lie_along(rows_of(p), p.x.out_stride) ? outputs * cell : 0;
    s.across.taps_at = static_cast<int>(ring);
    s.across.stage_at = stage == 0 ? 0 : static_cast<int>(ring + taps);
    s.shared_bytes = ring + taps + stage;
    s.across.steps = steps_of(s, p, outputs, device);
    s.outputs = s.across.steps * outputs;
    return s;
}

class DirectAcross final : public DirectRung {
public:
    static constexpr Head kHead{"32", "direct_across", "", R"(
Idea: where rows lie side by side, lanes lie across them: each walks along its own row with its window in a ring of shared memory,
which fills asynchronously, and no thread waits for another
Changed: samples are read once and never change their place: no tile is laid out, and the window of one step is that of the next
but for the samples that are new
Requires: 8 or more rows whose samples of one time are neighbours in memory; one filter of at most 1,024 taps, or one for each row
of as many as shared memory holds columns of; samples of the type of sums
Limited by: memory up to some forty taps, then multiply-adds
)"};

    DirectAcross()
        : DirectRung(kHead, {.source = "src/cuda/families/direct/rows/direct_across.cuh", .takes_pieces = 1, .takes_outer = 1}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        const Rows rows = rows_of(p);
        if (std::abs(rows.near.in) != 1 || rows.near.length < kFewestRows) { return "rows do not lie side by side"; }
        if (std::abs(rows.near.out) != 1 && std::abs(p.x.out_stride) != 1) { return "outputs have no neighbours in memory"; }
        if (p.is_exact() && !p.whole_sums) { return "integers are exact on the CPU only"; }
        if (p.dtype == kI64 && p.x.boundary == kConstant) { return "a constant of 64 bits"; }
        if (p.dtype != sums_of(p) || across::kernel_of(p.dtype, p.taps_dtype, false) == nullptr) {
            return "samples are not of the type of sums";
        }
        if (p.filters > 1 && kernel_of(p, false) == nullptr) {
            return "rows have filters of their own and are complex128 or integers";
        }
        if (p.x.k > kMostTaps || shape_of(p, false, device).shared_bytes > device.shared_bytes_per_block) {
            return "more taps than windows in shared memory have room for";
        }
        return {};
    }
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const Shape shape = shape_of(p, takes_wide(p, device), device);
        const Type type = type_of(p, device);
        const double rows = static_cast<double>(p.outer_length() * p.batch.length);
        const double outputs = static_cast<double>(p.x.outputs) * rows;
        const auto taps = static_cast<double>(p.x.k);
        const double again = 1 + (taps - 1) / static_cast<double>(shape.outputs);
        const double bytes = type.bytes * again * static_cast<double>(p.x.n) * rows + outputs * stored_bytes(p.output_dtype);
        const double moving = bytes / (kMovingShare * device.copy_bytes_per_second);
        const double waste = p.filters > 1 ? kOwnWaste : kWaste;
        const bool few_rows = p.dtype == kF32 && rows_of(p).near.length <= kFewestRows;
        const double more = few_rows ? kMoreOfFewRows : kMoreOfManyTaps;
        const double many = p.filters > 1 || p.dtype == kComplex64 ? 0 : more * std::max(taps - kManyTaps, 0.0);
        const double products =
            ((taps + many) * waste + kOutputProducts + (lie_along(rows_of(p), p.x.out_stride) ? kTurnedProducts : 0)) *
            type.products;
        const double computing = 2 * outputs * products / (kShareOfPeak * type.rate * device.peak_flops);
        const double lanes = static_cast<double>(lanes_at_once(shape, device));
        const double pieces =
            static_cast<double>(divide_up(p.x.outputs, shape.outputs)) * rows / static_cast<double>(shape.rows_of_lane);
        const double emptiness = std::max(1.0, lanes / pieces / kRoomToSpare);
        const bool whole_rows = shape.outputs >= p.x.outputs;
        const double round = whole_rows ? kRowSeconds + shape.across.steps * kStepSeconds : kRoundSeconds;
        const double one_after_the_other =
            taps * ((p.filters > 1 ? kFirstOwnTapSeconds : kFirstTapSeconds) + shape.across.steps * kTapSeconds);
        return kStartSeconds + std::max({overlapped(moving, computing, kNorm) * emptiness * slowdown_of_unlike_rows(p),
                                         pieces / lanes * round, one_after_the_other});
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenAcross>();
        const Shape& s = chosen.wide.kernel != nullptr ? chosen.wide.shape : chosen.narrow.shape;
        return "lanes across rows, each makes " + std::to_string(s.outputs) + " outputs of " +
               (s.rows_of_lane == 1 ? std::string("a row") : std::to_string(s.rows_of_lane) + " rows");
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenAcross>(prepared);
        load_way(chosen->narrow, prepared, false);
        if (takes_wide(prepared.problem, prepared.device)) { load_way(chosen->wide, prepared, true); }
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenAcross>();
        Arguments a = arguments_of(prepared, job, on_device);
        a.taps = on_device.taps;
        Rows rows = rows_of(prepared.problem, job);
        const bool wide = chosen.wide.kernel != nullptr && is_wide(rows, a.in_sample, a.out_sample, a.in, a.out);
        const Way& way = wide ? chosen.wide : chosen.narrow;
        Across across = way.shape.across;
        across.filter_bytes = prepared.problem.filters > 1 ? prepared.taps_pitch_bytes : 0;
        if (!lie_along(rows, a.out_sample)) { across.stage_at = 0; }
        a.tiles = divide_up(a.count, way.shape.outputs);
        set_tiles(rows, static_cast<int>(way.shape.rows_of_lane), a.tiles);
        const std::int64_t blocks = divide_up(rows.tiles, across::kLanes);
        if (blocks > kMostBlocks) { refuse_launch(); }
        launch_kernel(way.kernel, static_cast<unsigned>(blocks), kThreads, static_cast<std::size_t>(way.shape.shared_bytes), stream,
                      a, rows, across);
    }

private:
    struct Way {
        Shape shape;
        across::Kernel kernel = nullptr;
    };
    struct ChosenAcross : OrderedTaps {
        using OrderedTaps::OrderedTaps;
        Way narrow, wide;
    };

    static across::Kernel kernel_of(const Problem& p, bool wide) {
        if (p.filters > 1 && is_integer(p.taps_dtype)) { return nullptr; }
        return (p.filters > 1 ? across::own_kernel_of : across::kernel_of)(p.dtype, p.taps_dtype, wide);
    }
    // Where a job's layout and addresses allow it, too.
    static bool takes_wide(const Problem& p, const cuda_abi::Device& device) {
        return is_wide(p) && shape_of(p, true, device).shared_bytes <= device.shared_bytes_per_block;
    }
    static void load_way(Way& way, const Prepared& prepared, bool wide) {
        const Problem& p = prepared.problem;
        way.shape = shape_of(p, wide, prepared.device);
        way.kernel = kernel_of(p, wide);
        if (way.kernel == nullptr) { refuse_policy(); }
        load_kernel(way.kernel, static_cast<std::size_t>(prepared.device.shared_bytes_per_block), prepared.device);
    }
    // Fitted on an H200: (2^20, 64) samples of f32, time first, with 9, 31, 63, 127 and 255 taps 142, 152, 223, 409 and 853 us;
    // (20000, 64) with 31 taps 12.5 us; 128 rows of 2^17, transposed, with 9 and 63 taps 59 and 99 us.
    static constexpr double kStartSeconds = 8e-6;
    static constexpr double kMovingShare = 0.96;
    static constexpr double kWaste = 1.38;
    // Times as much of taps beyond so many, of floats whose rows are few side by side and elsewhere. H200, (1439, 696, 8) with 106
    // taps 81 us, (10030, 420, 8) with 154 389, (4, 205728, 8) with 49 36; (105, 448, 128) with 402 187, (273, 13041), time first,
    // with 293 109, (24, 607, 512) with 112 66.
    static constexpr double kManyTaps = 36;
    static constexpr double kMoreOfFewRows = 0.5;
    static constexpr double kMoreOfManyTaps = 0.25;
    // Taps of own filters come one by one. H100, (8, 4096, 2048) with a filter for each channel: 4, 16, 31, 64 and 128 taps 200,
    // 225, 243, 414 and 792 us.
    static constexpr double kOwnWaste = 1.9;
    // Of a block with little to do: 81,012 times 13 samples of 32 channels, 2 taps, 344 us, 13,021 times 12 with one tap 54.
    static constexpr double kRoundSeconds = 7e-6;
    // Of rows that a lane holds whole: (8392, 68, 512) with 2 taps 1,628 us, (11696, 130, 128) 850, (4096, 64, 128) 163.
    static constexpr double kRowSeconds = 3e-6;
    static constexpr double kStepSeconds = 7e-6;
    // A thread goes through all taps in each step, in the first one as they come, however few rows there are. H100: (2127, 43) with
    // 514 taps 26 us, (191, 748) with 93 taps of own filters 21, (7, 10513, 512) with 918 taps 1,775.
    static constexpr double kFirstTapSeconds = 22e-9;
    static constexpr double kFirstOwnTapSeconds = 90e-9;
    static constexpr double kTapSeconds = 11e-9;
    static constexpr double kOutputProducts = 5;
    static constexpr double kTurnedProducts = 25;
    static constexpr double kNorm = 4;
    static constexpr double kRoomToSpare = 3;  // lanes that a device holds for each that memory keeps busy
};

}  // namespace

const Rung& direct_across() { return core::only<DirectAcross>(); }

}  // namespace tapline::cuda
