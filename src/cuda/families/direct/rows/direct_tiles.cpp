// Rung 31: what it supports, how tiles are laid out, how it is launched.
#include "cuda/families/direct/rows/direct_tiles.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/ordered_taps.hpp"
#include "cuda/families/common/shared_memory.hpp"
#include "cuda/families/direct/direct.hpp"
#include "cuda/families/direct/direct_policies.hpp"

namespace tapline::cuda {
namespace {

using tiles::Lie;
using tiles::Tiles;

constexpr std::int64_t kMostTaps = 8192;
constexpr std::int64_t kMostStep = 8;  // from sample to sample, where what lies between them comes along
constexpr int kLanes = 32;
constexpr int kBanks = 32;

bool steps_across(std::int64_t sample, std::int64_t row, std::int64_t rows) {
    return rows > 1 && std::abs(row) == 1 && std::abs(sample) != 1;
}

// How samples or outputs lie; `aligned`: at multiples of their size.
Lie lie_of(std::int64_t sample, std::int64_t row, std::int64_t rows, std::int64_t most_step, bool aligned) {
    if (!aligned) { return Lie::apart; }
    if (steps_across(sample, row, rows)) { return Lie::across; }
    return sample != 0 && std::abs(sample) <= most_step ? Lie::along : Lie::apart;
}

// The least number from `least` on that is `wanted` modulo `of`.
std::int64_t next_alike(std::int64_t least, std::int64_t wanted, std::int64_t of) {
    return least + ((wanted - least) % of + of) % of;
}

// Of the pitches from `least` on, `unit` apart, the first where the fewest of a warp's lanes meet in a bank: `pieces` lanes of each
// line, `apart` elements from one to the next. Lines that follow each other as lanes do meet in none.
std::int64_t spread_pitch(std::int64_t least, std::int64_t unit, std::int64_t lines, std::int64_t pieces, std::int64_t apart,
                          int banks) {
    std::int64_t best = least;
    int fewest = kLanes + 1;
    for (std::int64_t pitch = least; pitch < least + std::max<std::int64_t>(banks, unit); pitch += unit) {
        if ((pitch - pieces * apart) % banks == 0) { return pitch; }
        std::array<int, kBanks> lanes{};
        int most = 0;
        for (std::int64_t line = 0; line < lines; ++line) {
            for (std::int64_t piece = 0; piece < pieces; ++piece) {
                most = std::max(most, ++lanes.at(static_cast<std::size_t>((line * pitch + piece * apart) % banks)));
            }
        }
        if (most < fewest) {
            fewest = most;
            best = pitch;
        }
    }
    return best;
}

struct Shape {
    Tiles tiles{};
    int lines = 0;
    std::int64_t shared_bytes = 0;
    double filled = 0;  // share of the lanes' outputs that exist
};

struct Sizes {
    int in, sum, out, tap;  // bytes
};
Sizes sizes_of(const Problem& p, const cuda_abi::Device& device) {
    return {stored_bytes(p.dtype), stored_bytes(sums_of(p)), stored_bytes(p.output_dtype), type_of(p, device).tap_bytes};
}

// A tile's memory, for so many lines and lanes of a line.
void lay_out(Shape& s, const Problem& p, const Rows& rows, std::int64_t pieces, std::int64_t lines, const Sizes& bytes) {
    const std::int64_t V = 16 / bytes.sum;
    const std::int64_t O = tiles::outputs_of_thread(bytes.sum);
    Tiles& t = s.tiles;
    t.pieces = static_cast<int>(pieces);
    t.outputs = static_cast<int>(pieces * O);
    s.lines = static_cast<int>(lines);
    const std::int64_t size = t.outputs + p.x.k + V;  // of a line's samples, with those that are read too far
    const std::int64_t step = t.in == Lie::along ? std::abs(p.x.in_stride) : 1;
    const std::int64_t in_vector = 16 / std::min(bytes.in, 16);
    const std::int64_t out_vector = 16 / std::min(bytes.out, 16);
    std::int64_t elements = 0;
    t.in_front = 0;
    const bool one_signal = rows.near.in == 0;  // all lines are the same samples
    if (t.in == Lie::across) {
        t.in_pitch = static_cast<int>(lines);
        elements = size * lines;
    } else {
        // Runs begin in shared memory as in memory between 16-byte boundaries, and lanes of neighbouring lines in other banks.
        std::int64_t pitch = next_alike(size * step, rows.near.in, in_vector);
        if (lines > 1 && !one_signal) { pitch = spread_pitch(pitch, in_vector, lines, pieces, O * step, kBanks * 4 / bytes.sum); }
        t.in_pitch = one_signal ? 0 : static_cast<int>(pitch);
        if (p.x.in_stride < 0) { t.in_front = static_cast<int>(next_alike((O + V) * step, 0, 16)); }
        elements = (one_signal ? 1 : lines) * pitch + t.in_front + in_vector;
    }
    t.in_elements = static_cast<int>(next_alike(elements, 0, 16));
    const bool widens = stored_bytes(p.dtype) != bytes.sum || (is_integer(p.dtype) && !is_integer(p.taps_dtype));
    t.sums_at = widens ? t.in_elements * bytes.in : 0;
    t.out_pitch = static_cast<int>(t.out == Lie::across ? lines : next_alike(t.outputs, rows.near.out, out_vector));
    const std::int64_t out_elements = t.out == Lie::across ? t.outputs * lines : lines * t.out_pitch + out_vector;
    t.warp_bytes = static_cast<int>(
        next_alike(std::max<std::int64_t>(t.sums_at + std::int64_t{t.in_elements} * bytes.sum, out_elements * bytes.out), 0, 16));
    t.tap_lines = p.filters > 1 && rows.batch_axis < 0 ? s.lines : 1;
    const std::int64_t tap_vectors = divide_up(p.x.k * bytes.tap, 16) | 1;  // an odd number: lines' taps lie in other banks
    t.tap_pitch = static_cast<int>(tap_vectors * 16 / bytes.tap);
    t.warp_taps = p.filters > 1 ? t.tap_lines * t.tap_pitch : 0;
    t.taps_at = tiles::kWarps * t.warp_bytes;
    s.shared_bytes = t.taps_at + tap_vectors * 16 * t.tap_lines * (p.filters > 1 ? tiles::kWarps : 1);
    const double all = static_cast<double>(divide_up(p.x.outputs, t.outputs)) * t.outputs;
    s.filled = static_cast<double>(p.x.outputs) / all * static_cast<double>(lines * pieces) / kLanes;
}

Shape shape_of(const Problem& p, const cuda_abi::Device& device, bool in_aligned = true, bool out_aligned = true) {
    const Rows rows = rows_of(p);
    const Sizes bytes = sizes_of(p, device);
    Shape s;
    s.tiles.in = lie_of(p.x.in_stride, rows.near.in, rows.near.length, kMostStep, in_aligned);
    s.tiles.out = lie_of(p.x.out_stride, rows.near.out, rows.near.length, 1, out_aligned);
    const std::int64_t all_pieces = divide_up(p.x.outputs, tiles::outputs_of_thread(bytes.sum));
    std::int64_t lines = 1;
    std::int64_t pieces = 1;
    if (s.tiles.in == Lie::across || s.tiles.out == Lie::across) {
        lines = std::min<std::int64_t>(rows.near.length, std::clamp(kSectorBytes / std::max(bytes.in, bytes.out), 2, 8));
        pieces = std::min<std::int64_t>(all_pieces, kLanes / lines);
        // Tiles alike, none of them nearly empty, where lines do not come and go by vectors of as many: 1,453,070 transposed rows
        // of 89 f32 with 11 taps 988 and 879 us, H100.
        if (s.tiles.in != s.tiles.out) { pieces = divide_up(all_pieces, divide_up(all_pieces, pieces)); }
        lines = std::min<std::int64_t>(rows.near.length, kLanes / pieces);
    } else {
        pieces = std::min<std::int64_t>(all_pieces, kLanes);
        lines = std::min<std::int64_t>(rows.near.length, kLanes / pieces);
    }
    for (;;) {
        lay_out(s, p, rows, pieces, lines, bytes);
        if (s.shared_bytes <= device.shared_bytes_per_block || (lines == 1 && pieces == 1)) { return s; }
        (lines > 1 ? lines : pieces) /= 2;
    }
}

// Bytes that memory moves for an element of a batch's rows.
double touched(std::int64_t sample_step, std::int64_t row_step, std::int64_t rows, int bytes) {
    const bool by_rows = rows > 1 && row_step != 0 && std::abs(row_step) < std::abs(sample_step);
    return bytes_touched(by_rows ? row_step : sample_step, bytes);
}

class DirectTiles final : public DirectRung {
public:
    static constexpr Head kHead{"31", "direct_tiles", "", R"(
Idea: a tile of several rows, or of one, passes through shared memory: lanes read and write along rows or across them, whichever
way neighbours lie in memory, and samples are widened on their way in
Changed: lanes no longer have to go along a row: interleaved channels, recordings with time first, strided and reversed views and
many short rows go as fast as one long row; any type of samples and outputs, any boundary, several batch axes in a launch
Requires: at most 8,192 taps; any type, boundary, batch, stride and alignment
Limited by: memory up to some thirty taps, then multiply-adds
)"};

    DirectTiles()
        : DirectRung(
              kHead,
              {.source = "src/cuda/families/direct/rows/direct_tiles.cuh", .takes_pieces = 1, .takes_outer = 1, .truncates = 1}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.is_exact() && !p.whole_sums) { return "integers are exact on the CPU only"; }
        if (p.x.k > kMostTaps) { return "more than " + std::to_string(kMostTaps) + " taps"; }
        if (!constant_fits(p)) { return "the boundary's constant is no value of the samples' type"; }
        if (shape_of(p, device).shared_bytes > device.shared_bytes_per_block) {
            return "a tile's samples and taps are more than shared memory holds";
        }
        return {};
    }
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const Shape shape = shape_of(p, device);
        const Rows rows = rows_of(p);
        const Type type = type_of(p, device);
        const double outer = static_cast<double>(p.outer_length() * p.batch.length);
        const double outputs = static_cast<double>(p.x.outputs) * outer;
        const double samples = static_cast<double>(p.x.n) * outer;
        const double bytes = samples * touched(p.x.in_stride, rows.near.in, rows.near.length, type.bytes) +
                             outputs * touched(p.x.out_stride, rows.near.out, rows.near.length, stored_bytes(p.output_dtype));
        const bool turned = shape.tiles.in == Lie::across && shape.tiles.out == Lie::along;
        const double pieces = turned ? kTurnedPieces * std::min(1.0, bytes / kCachedBytes) : 0;
        const double moving = bytes * (1 + pieces) / (kMovingShare * device.copy_bytes_per_second);
        const bool along = rows.near.length > 1 && std::abs(p.x.in_stride) <= std::abs(rows.near.in);
        const double of_taps = p.filters > 1 ? kOwnTapProducts * static_cast<double>(p.x.k) : 0;
        const double of_row = (type.bytes <= 2 ? kNarrowRowProducts : kRowProducts) + of_taps;
        const double of_rows = along ? of_row / static_cast<double>(std::max<std::int64_t>(p.x.outputs, 1)) : 0;
        const bool one_by_one =
            type.bytes <= 2 && shape.tiles.in == Lie::across && (p.whole_sums || p.overflow == Overflow::truncate);
        const double of_halo = shape.tiles.in == Lie::across ? kHaloProducts * static_cast<double>(p.x.k) / shape.tiles.outputs : 0;
        const double besides = kOutputProducts + of_rows + of_halo + (one_by_one ? kNarrowProducts : 0);
        const double waste = shape.tiles.in == Lie::along && p.x.in_stride % 2 == 0 ? kWasteOfSteps : kWaste;
        const double products = (static_cast<double>(p.x.k) * waste + besides) * type.products / shape.filled;
        const double computing = 2 * outputs * products / (kShareOfPeak * type.rate * device.peak_flops);
        const bool own_apart = p.filters > 1 && shape.tiles.in == Lie::along && std::abs(p.x.in_stride) != 1;
        const bool narrow_across = type.bytes <= 2 && shape.tiles.in == Lie::across && !one_by_one;
        const bool spread = type.bytes <= 2 && shape.tiles.in == Lie::along && shape.tiles.out == Lie::across;
        const bool far = std::abs(rows.near.in) * type.bytes >= kFarBytes;
        const double working = overlapped(moving, computing, kNorm) * (own_apart ? kOwnApart : 1) *
                               (!spread ? 1
                                : far   ? kNarrowFar
                                        : kNarrowSpread) *
                               (!narrow_across ? 1
                                : turned       ? kNarrowTurned
                                               : kNarrowAcross) *
                               slowdown_of_unlike_rows(p);
        const double one_after_the_other = static_cast<double>(p.x.k) * kTapSeconds * std::max(kTapPart * type.products, 1.0);
        return kStartSeconds + std::max(working, one_after_the_other);
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Shape& s = prepared.chosen_as<ChosenTiles>().shape;
        return "tiles of " + std::to_string(s.lines) + (s.lines == 1 ? " row, " : " rows, ") + std::to_string(s.tiles.outputs) +
               " outputs each";
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenTiles>(prepared);
        chosen->shape = shape_of(p, prepared.device);
        chosen->kernel = tiles::kernel_of(sums_of(p), p.taps_dtype);
        if (chosen->kernel == nullptr) { refuse_policy(); }
        load_kernel(chosen->kernel, static_cast<std::size_t>(prepared.device.shared_bytes_per_block), prepared.device);
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenTiles>();
        Arguments a = arguments_of(prepared, job, on_device);
        a.taps = on_device.taps;
        const Shape shape = shape_of(as_job(prepared.problem, job), prepared.device, is_aligned(job.in, prepared.problem.dtype),
                                     is_aligned(job.out, prepared.problem.output_dtype));
        Rows rows = rows_of(prepared.problem, job);
        Tiles t = shape.tiles;
        t.filter_bytes = prepared.taps_pitch_bytes;
        a.tiles = divide_up(a.count, t.outputs);
        set_tiles(rows, shape.lines, a.tiles);
        const std::int64_t blocks = divide_up(rows.tiles, tiles::kWarps);
        if (blocks > kMostBlocks) { refuse_launch(); }
        launch_kernel(chosen.kernel, static_cast<unsigned>(blocks), kLanes * tiles::kWarps,
                      static_cast<std::size_t>(shape.shared_bytes), stream, a, rows, t);
    }

private:
    struct ChosenTiles : OrderedTaps {
        using OrderedTaps::OrderedTaps;
        Shape shape;
        tiles::Kernel kernel = nullptr;
    };
    // Fitted on an H200: 2^26 samples of f32 with 9, 31 and 63 taps 198, 251 and 358 us, time first 214, 273 and (127 taps) 566 us;
    // of i16 with 31 taps 264 us; 262,144 rows of 256 with 31 taps 342 us, 100,000 of 777 with 7 taps 355 us.
    static constexpr double kStartSeconds = 11e-6;  // 16,384 samples, 32 taps 9.5 us, rung 17 5.2
    static constexpr double kMovingShare = 0.9;
    static constexpr double kWaste = 1.2;
    static constexpr double kOutputProducts = 54;
    // Of a row, wherever it begins in a tile, and of each tap of a row's own. Fitted to 500 shapes on an H200: 495,238 rows of 21
    // f32 with 12 taps 57 us, 148,571 of 70 with 31 84; 281,081 of 37 u8 with 12 taps of their own 85, 90,909 of 100 with 66 115.
    static constexpr double kRowProducts = 1200;
    static constexpr double kNarrowRowProducts = 2500;
    static constexpr double kOwnTapProducts = 100;
    // Of windows whose lanes meet in banks. H200: every second of 6,281 rows of 1,439 with 49 taps 78 us.
    static constexpr double kWasteOfSteps = 2.5;
    // Of integers of 8 and 16 bits across memory, which come one by one. H100: 302 x 302 x 302 i16 with 3 taps along axis 0 330 us.
    static constexpr double kNarrowProducts = 200;
    // Of rows with filters of their own, a line of which has gaps. H200: every second of 415,959 rows of 28 with 4 taps 86 us, of
    // 622 of 14,281 complex64 with 13 taps 82.
    static constexpr double kOwnApart = 1.1;
    // Samples of 8 bits side by side, 2^24 of them, H100: 3 rows with 9 and 63 taps 126 and 169 us, 8 rows 101 and 156, 32 rows 108
    // and 177.
    static constexpr double kNarrowAcross = 2;
    // Of a transposed view, whose tiles' runs are short: what they leave of a sector other tiles read, if it is still in the
    // second-level cache. H200: 749,200 rows of 43 f32 with 2 taps 186 us, 629,662 of 13 with one 46; 217,021 of 12 f16 with 14
    // taps 28, 225,598 of 110 with 7 taps 190.
    static constexpr double kNarrowTurned = 1.35;
    // Of narrow samples along memory whose outputs lie across it, and of rows that are far from each other besides (H200: 14,387
    // rows of 322 f16, 13 taps 38 us; 4,087 of 8,490, 2 taps 263, 1,999 of 1,938 u8, 5 taps 51).
    static constexpr double kNarrowSpread = 1.3;
    static constexpr double kNarrowFar = 2.4;
    static constexpr std::int64_t kFarBytes = 1500;
    static constexpr double kTurnedPieces = 0.6;
    static constexpr double kCachedBytes = 50e6;
    // Samples of a tile across memory that other tiles read too. H100: (1605, 3241) with 1,374 taps 672 us, (9171, 50) with 856 63.
    static constexpr double kHaloProducts = 40;
    // A thread goes through all taps, however few outputs there are: 32,580 samples with 5,105 taps 94 us; 6 rows of 2,396
    // complex64 with 1,396 complex ones 64. H100.
    static constexpr double kTapSeconds = 16e-9;
    static constexpr double kTapPart = 0.6;
    static constexpr double kNorm = 3;

    // The problem as a job of it lies: a piece of it may lie otherwise. No output's bits depend on that.
    static Problem as_job(const Problem& p, const Job& job) {
        Problem own = p;
        own.x.in_stride = job.in_stride;
        own.x.out_stride = job.out_stride;
        own.x.outputs = job.count;
        own.batch.length = job.batch;
        own.batch.in_stride = job.in_batch;
        own.batch.out_stride = job.out_batch;
        if (job.packed != 0) { own.outer = {}; }
        return own;
    }
    static bool is_aligned(const void* address, Dtype type) {
        return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(stored_bytes(type)) == 0;
    }
};

}  // namespace

const Rung& direct_tiles() { return core::only<DirectTiles>(); }

}  // namespace tapline::cuda
