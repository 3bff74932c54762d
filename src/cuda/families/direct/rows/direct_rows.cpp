// Rung 33: what it supports, how rows lie on a line, how it is launched.
#include "cuda/families/direct/rows/direct_rows.hpp"

#include <algorithm>
#include <cstdlib>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/ordered_taps.hpp"
#include "cuda/families/common/shared_memory.hpp"
#include "cuda/families/direct/direct.hpp"
#include "cuda/families/direct/direct_policies.hpp"

namespace tapline::cuda {
namespace {

using rows::Line;
using tiles::kWarps;

constexpr std::int64_t kMostTaps = 512;
constexpr std::int64_t kMostStep = 8;  // from sample to sample, where what lies between them comes along
constexpr int kLanes = 32;
constexpr std::int64_t kShortPitch = 200;                             // rows of fewer places go place by place
constexpr std::int64_t kMostSamplesByPlaces = std::int64_t{1} << 27;  // elements of a row are counted in 32 bits

struct Shape {
    Line line{};
    std::int64_t shared_bytes = 0;
    double filled = 1;  // share of a line's places that are outputs
};

// Places from row to row: enough for a row's windows, and of long rows such that all lie alike between 16-byte boundaries where
// that costs little.
std::int64_t pitch_of(const Problem& p, const Rows& rows) {
    if (rows.near.length == 1) { return p.x.outputs + p.x.k - 1; }
    const std::int64_t least = p.x.outputs + p.x.k - 1;
    if (least < kShortPitch) { return least; }
    std::int64_t best = least;
    int most = -1;
    for (std::int64_t pitch = least; pitch < least + 16; ++pitch) {
        const bool in = (rows.near.in - pitch * p.x.in_stride) * rows.input_bytes % 16 == 0;
        const bool out = (rows.near.out - pitch * p.x.out_stride) * rows.output_bytes % 16 == 0;
        if (2 * in + out > most) {
            most = 2 * in + out;
            best = pitch;
        }
    }
    return best;
}

Shape shape_of(const Problem& p, const Rows& rows, const cuda_abi::Device& device) {
    constexpr std::int64_t kRounds = 3;
    constexpr std::int64_t kWarpsHeld = 20;  // of a multiprocessor
    constexpr std::int64_t kMostTilesOfWarp = 8;
    const auto up_16 = [](std::int64_t x) { return (x + 15) / 16 * 16; };
    const std::int64_t sum_bytes = stored_bytes(sums_of(p));
    const std::int64_t O = tiles::outputs_of_thread(static_cast<int>(sum_bytes));
    const std::int64_t tile = kLanes * O;
    Shape s;
    Line& g = s.line;
    g.pitch = pitch_of(p, rows);
    g.by_places = rows.near.length > 1 && g.pitch < kShortPitch && p.x.n <= kMostSamplesByPlaces ? 1 : 0;
    const std::int64_t places = (rows.near.length - 1) * g.pitch + p.x.outputs;
    g.tiles = divide_up(places, tile);
    s.filled = static_cast<double>(rows.near.length * p.x.outputs) / static_cast<double>(g.tiles * tile);
    std::int64_t all = g.tiles;
    for (const RowAxis& axis : rows.others) { all *= axis.length; }
    g.tiles_of_warp = static_cast<int>(
        std::clamp<std::int64_t>(all / (kRounds * kWarpsHeld * device.multiprocessors), 1, std::min(g.tiles, kMostTilesOfWarp)));
    g.step = static_cast<int>(std::abs(p.x.in_stride));
    const std::int64_t further = O + 16 / sum_bytes;  // what convolve_line() reads past its window
    g.front = static_cast<int>(p.x.in_stride < 0 ? up_16(further * g.step) : 0);
    g.in_elements = static_cast<int>(up_16(g.front + 16 / std::min(rows.input_bytes, 16) + (tile + p.x.k + further) * g.step));
    const std::int64_t stage = up_16((tile + 16) * rows.output_bytes);
    const bool widens = rows.input_bytes != sum_bytes || (is_integer(p.dtype) && !is_integer(p.taps_dtype));
    const std::int64_t samples = std::int64_t{g.in_elements} * rows.input_bytes;
    g.buffer_bytes = static_cast<int>(up_16(widens ? samples : std::max(samples, stage)));
    g.sums_at = widens ? 2 * g.buffer_bytes : 0;
    g.warp_bytes = static_cast<int>(2 * g.buffer_bytes + (widens ? up_16(std::max(g.in_elements * sum_bytes, stage)) : 0));
    g.taps_at = kWarps * g.warp_bytes;
    g.sources_at = static_cast<int>(g.taps_at + up_16((p.x.k + 16) * type_of(p, device).tap_bytes));
    s.shared_bytes = g.sources_at + (g.by_places != 0 ? up_16(g.pitch * static_cast<std::int64_t>(sizeof(int))) : 0);
    return s;
}

class DirectRows final : public DirectRung {
public:
    static constexpr Head kHead{"33", "direct_rows", "", R"(
Idea: rows lie one after the other on a line, with room between them for what windows read past their ends; a warp makes tiles of
that line one after the other, and samples of the next one come while it computes
Changed: what a tile costs beside its products is paid once for several: where rows begin, which way runs go, the taps; and no
lane is idle, however long a row is
Requires: outputs side by side, samples side by side or few apart; one filter of at most 512 taps; any type, boundary, alignment
Limited by: memory up to some twenty taps, then multiply-adds
)"};

    DirectRows()
        : DirectRung(
              kHead,
              {.source = "src/cuda/families/direct/rows/direct_rows.cuh", .takes_pieces = 1, .takes_outer = 1, .truncates = 1}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.is_exact() && !p.whole_sums) { return "integers are exact on the CPU only"; }
        if (p.filters > 1) { return "rows have filters of their own"; }
        if (p.x.k > kMostTaps) { return "more than " + std::to_string(kMostTaps) + " taps"; }
        if (p.x.in_stride == 0 || std::abs(p.x.in_stride) > kMostStep || std::abs(p.x.out_stride) != 1) {
            return "samples or outputs of a row do not lie side by side";
        }
        if (!constant_fits(p)) { return "the boundary's constant is no value of the samples' type"; }
        const Rows rows = rows_of(p);
        if (rows.near.length > INT32_MAX) { return "more than 2^31 rows"; }
        if (shape_of(p, rows, device).shared_bytes > device.shared_bytes_per_block) {
            return "a tile's samples are more than shared memory holds";
        }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const Shape shape = shape_of(p, rows_of(p), device);
        const Type type = type_of(p, device);
        const double rows = static_cast<double>(p.outer_length() * p.batch.length);
        const double outputs = static_cast<double>(p.x.outputs) * rows;
        const double bytes =
            static_cast<double>(p.x.n) * rows * bytes_touched(p.x.in_stride, type.bytes) + outputs * stored_bytes(p.output_dtype);
        const double moving = bytes / (kMovingShare * device.copy_bytes_per_second);
        const bool is_narrow = stored_bytes(p.output_dtype) <= 2 && (p.whole_sums || p.overflow == Overflow::truncate);
        const double widening = (p.dtype == sums_of(p) ? 0 : kWideningProducts) + (is_narrow ? kNarrowProducts : 0);
        const double of_rows =
            shape.line.by_places != 0 ? kPlaceProducts : kRowProducts / static_cast<double>(std::max<std::int64_t>(p.x.outputs, 1));
        const double products = (static_cast<double>(p.x.k) * kWaste + kOutputProducts + apart_products(p) + widening + of_rows) *
                                type.products / shape.filled;
        const double computing = 2 * outputs * products / (kShareOfPeak * type.rate * device.peak_flops);
        return kStartSeconds + overlapped(moving, computing, kNorm);
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Line& g = prepared.chosen_as<ChosenRows>().shape.line;
        return std::to_string(g.tiles_of_warp) + (g.tiles_of_warp == 1 ? " tile of " : " tiles of ") +
               std::to_string(kLanes * tiles::outputs_of_thread(stored_bytes(sums_of(prepared.problem)))) + " outputs a warp";
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenRows>(prepared);
        chosen->shape = shape_of(p, rows_of(p), prepared.device);
        chosen->kernel = rows::kernel_of(sums_of(p), p.taps_dtype);
        if (chosen->kernel == nullptr) { refuse_policy(); }
        load_kernel(chosen->kernel, static_cast<std::size_t>(prepared.device.shared_bytes_per_block), prepared.device);
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenRows>();
        Arguments a = arguments_of(prepared, job, on_device);
        a.taps = on_device.taps;
        Rows rows = rows_of(prepared.problem, job);
        Problem own = prepared.problem;  // as the job lies, which may be a piece: no output's bits depend on that
        own.x.in_stride = a.in_sample;
        own.x.out_stride = a.out_sample;
        own.x.outputs = a.count;
        const Shape shape = shape_of(own, rows, prepared.device);
        a.tiles = divide_up(shape.line.tiles, shape.line.tiles_of_warp);
        set_tiles(rows, static_cast<int>(rows.near.length), a.tiles);
        const std::int64_t blocks = divide_up(rows.tiles, kWarps);
        if (blocks > kMostBlocks) { refuse_launch(); }
        launch_kernel(chosen.kernel, static_cast<unsigned>(blocks), kLanes * kWarps, static_cast<std::size_t>(shape.shared_bytes),
                      stream, a, rows, shape.line);
    }

private:
    // Of samples that lie apart or backwards or are widened, or of rows that begin between vectors.
    static double apart_products(const Problem& p) {
        const Rows rows = rows_of(p);
        const bool alike = rows.near.length == 1 || (rows.near.in * stored_bytes(p.dtype) % 16 == 0 &&
                                                     rows.near.out * stored_bytes(p.output_dtype) % 16 == 0);
        if (p.x.in_stride == 1 && alike) { return 0; }
        const bool each = std::abs(p.x.in_stride) != 1 || p.dtype != sums_of(p);
        return each ? kApartProducts
                    : std::min(kApartProducts, kApartRowProducts / static_cast<double>(std::max<std::int64_t>(p.x.outputs, 1)));
    }
    struct ChosenRows : OrderedTaps {
        using OrderedTaps::OrderedTaps;
        Shape shape;
        rows::Kernel kernel = nullptr;
    };
    // Fitted on an H200: 2^26 samples of f32 with 9, 31 and 63 taps 157, 205 and 314 us, of i16 with 31 and 127 taps 252 and 529
    // us, of f16 with 9 taps 214 us; 100,000 rows of 777 with 7 taps 190 us, 262,144 of 256 with 31 taps 307 us (place by
    // place 342), 10^6 of 100 with 9 taps 361 us (row by row 540).
    static constexpr double kStartSeconds = 9e-6;
    static constexpr double kMovingShare = 0.97;
    static constexpr double kWaste = 1.6;
    static constexpr double kOutputProducts = 25;
    static constexpr double kWideningProducts = 26;
    static constexpr double kNarrowProducts = 100;  // outputs of 8 and 16 bits; H100: 2,506 x 2,506 i16 with 3 taps 48 us
    static constexpr double kRowProducts = 10000;   // of a row, wherever a tile begins
    static constexpr double kPlaceProducts = 47;
    // Of rows that begin between vectors, and of samples that lie apart. H200, every second of 28,559 rows of 822 with 11 taps 110
    // us, 30,611 rows of 327 that lie 351 apart with 5 taps 50, 531 rows of 27,253 f16 backwards with 25 taps 76.
    // 1,385 rows of 22,734, with gaps, 11 taps, 87.
    static constexpr double kApartProducts = 35;
    static constexpr double kApartRowProducts = 11000;
    static constexpr double kNorm = 3;
};

}  // namespace

const Rung& direct_rows() { return core::only<DirectRows>(); }

}  // namespace tapline::cuda
