// Rung 34: what it supports, what it costs, how it is launched.
#include "cuda/families/tensor/lines/tensor_lines.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/ordered_taps.hpp"
#include "cuda/families/direct/direct_policies.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace {

using tensor_lines::kBlocksHeld;
using tensor_lines::kColumn;
using tensor_lines::kColumnsOfTile;
using tensor_lines::kThreads;
using tensor_lines::Shape;

// Complex samples under real taps are real ones of two interleaved rows.
Problem as_real(Problem p) {
    if (p.dtype != kComplex64) { return p; }
    p.dtype = p.output_dtype = p.sum_dtype = kF32;
    p.x.in_stride *= 2;
    p.x.out_stride *= 2;
    return p;
}
Rows as_real(Rows rows, Dtype dtype) {
    if (dtype != kComplex64) { return rows; }
    const auto twice = [](const RowAxis& axis) { return RowAxis{axis.length, 2 * axis.in, 2 * axis.out}; };
    RowAxis parts{2, 1, 1};
    if (rows.near.in == 1 && rows.near.out == 1) {
        parts.length *= rows.near.length;
    } else {
        for (int i = Rows::kMostOthers - 1; i > 0; --i) { rows.others[i] = rows.others[i - 1]; }
        rows.others[0] = rows.near;
    }
    for (RowAxis& axis : rows.others) { axis = twice(axis); }
    rows.near = parts;
    rows.input_type = kF32;
    rows.input_bytes = rows.output_bytes = 4;
    return rows;
}

int products_of(Dtype dtype) { return dtype == kF32 || dtype == kI16 || dtype == kU16 ? 3 : 2; }

class TensorLines final : public DirectRung {
public:
    static constexpr Head kHead{"34", "tensor_lines", "", R"(
Idea: taps in every position are a band of a matrix, whose fragments are the same along its diagonal; its product with columns of
samples, a line's one after the other, are that line's outputs, whichever way lines lie in memory
Changed: samples become halves on their way from memory to shared memory, so that strides, types and boundaries end there: rows
side by side, short rows and integers go through tensor cores as one long row does
Requires: compute capability 8.0; samples of f32 or of at most 16 bits, or complex under real taps; one filter of at most 320 taps
of f32; any boundary, stride, output type; not under strict accuracy
Limited by: memory up to about 60 taps, then the tensor cores
)"};

    TensorLines()
        : DirectRung(kHead, {.source = "src/cuda/families/tensor/lines/tensor_lines.cuh", .takes_pieces = 1, .takes_outer = 1}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.is_exact()) { return "integers are exact on the CPU only"; }
        if (device.major < 8) { return "the device's tensor cores do not have its products (compute capability 8.0)"; }
        if (p.accuracy == Accuracy::strict) { return "tensor cores cut sums off: not under strict accuracy"; }
        if (p.filters > 1) { return "rows have filters of their own"; }
        if (p.x.k > tensor_lines::kMostTaps) { return "more than " + std::to_string(tensor_lines::kMostTaps) + " taps"; }
        if (p.taps_dtype != kF32 && p.taps_dtype != kF16 && p.taps_dtype != kBf16) { return "its taps are f32"; }
        if (p.dtype == kComplex64) {
            const bool equal = p.x.boundary != kConstant || p.constant.real() == p.constant.imag();
            if (p.output_dtype != kComplex64 || p.bias != 0 || p.has_clamp || !equal) {
                return "real and imaginary parts do not become outputs alike";
            }
            if (p.outer[3].length > 1) { return "more batch axes than it has room for"; }
        } else if (tensor_lines::kernel_of(p.dtype) == nullptr) {
            return "its samples are halves or two of them: f32, f16, bf16 and integers of at most 16 bits";
        }
        if (p.x.in_stride == 0) { return "all samples are one"; }
        if (!constant_fits(p)) { return "the boundary's constant is no value of the samples' type"; }
        const Shape g = shape_of(p, device);
        if (g.lines == 0 || tensor_lines::shared_bytes_of(g, as_real(p).dtype) > device.shared_bytes_per_block) {
            return "a tile's samples are more than it has room for";
        }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const Problem real = as_real(p);
        const Rows rows = as_real(rows_of(p), p.dtype);
        const Shape g = shape_of(p, device);
        const double all_rows = static_cast<double>(p.outer_length() * p.batch.length) * (p.dtype == kComplex64 ? 2 : 1);
        const auto outputs = static_cast<double>(p.x.outputs);
        const auto line = static_cast<double>(g.columns * kColumn);
        // What lines read besides their own samples comes from caches, mostly.
        const double again = 1 + kReadAgain * static_cast<double>(p.x.k - 1) / std::min(line, outputs);
        const double in = static_cast<double>(p.x.n) * touched(real.x.in_stride, rows.near.in, rows.near.length, real.dtype);
        const double out = outputs * touched(real.x.out_stride, rows.near.out, rows.near.length, real.output_dtype);
        const double moving = (in * again + out) * all_rows / (kMovingShare * device.copy_bytes_per_second);
        // A tile takes as long whether there are rows for its lines or not, and all blocks as many tiles as any.
        const double others = all_rows / static_cast<double>(rows.near.length);
        const double tiles = static_cast<double>(divide_up(rows.near.length, g.rows)) * others * static_cast<double>(g.tiles);
        const double blocks = static_cast<double>(kBlocksHeld) * device.multiprocessors;
        const double rounds = tiles / blocks;
        const double made = std::max(rounds, 1.0) * blocks * line * g.lines;
        const double idle_warps =
            std::pow(static_cast<double>(kColumnsOfTile) / static_cast<double>(g.columns * g.lines), kIdlePower);
        const double products = (output_cost(real, rows, g) + kStepCost * step_factor(device) * products_of(real.dtype) * g.steps);
        const double computing = 2 * made * products * idle_warps / device.peak_flops;
        // Rows side by side that begin otherwise at each time between 16 bytes.
        const int bytes = stored_bytes(real.dtype);
        // Where a tile has all of them and nothing lies between, they are one run of memory.
        const bool one_run = rows.near.length <= g.rows && std::abs(real.x.in_stride) == rows.near.length;
        const bool unlike = std::abs(rows.near.in) == 1 && rows.near.length > 1 && !one_run && real.x.in_stride * bytes % 16 != 0;
        const bool turned = std::abs(real.x.out_stride) == 1;
        const bool loose_run =
            one_run && !turned && bytes <= 2 && rows.near.length > tensor_lines::kGroup && real.x.in_stride * bytes % 4 != 0;
        const bool spread = bytes <= 2 && std::abs(real.x.in_stride) == 1 && !turned && std::abs(rows.near.out) == 1;
        const double slower = loose_run    ? kLooseRun
                              : spread     ? kNarrowSpread
                              : !unlike    ? 1
                              : bytes <= 2 ? (turned ? kUnlikeNarrowTurned : kUnlikeNarrow)
                                           : (turned ? kUnlikeTurned : kUnlike);
        return kStartSeconds + overlapped(moving, computing, kNorm) * slower;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenLines>();
        const Shape g = shape_of(prepared.problem, prepared.device);
        return "tiles of " + std::to_string(g.rows * g.stretches) + " lines, " + std::to_string(chosen.columns * kColumn) +
               " outputs each";
    }
    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override {
        return std::int64_t{prepared.chosen_as<ChosenLines>().columns} * kColumn;
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenLines>(prepared);
        const Problem real = as_real(p);
        chosen->columns = tensor_lines::columns_of(real, as_real(rows_of(p), p.dtype));
        chosen->kernel = tensor_lines::kernel_of(real.dtype);
        if (chosen->kernel == nullptr) { refuse_policy(); }
        load_kernel(chosen->kernel, static_cast<std::size_t>(prepared.device.shared_bytes_per_block), prepared.device);
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenLines>();
        const Problem& p = prepared.problem;
        Arguments a = arguments_of(prepared, job, on_device);
        a.taps = on_device.taps;
        a.plain_store = !p.changes_sums();
        Rows rows = as_real(rows_of(p, job), p.dtype);
        Problem own = as_real(p);  // as the job lies, which may be a piece
        if (p.dtype == kComplex64) {
            a.in_sample *= 2;
            a.out_sample *= 2;
            a.output_type = kF32;
        }
        own.x.in_stride = a.in_sample;
        own.x.out_stride = a.out_sample;
        const std::int64_t line = std::int64_t{chosen.columns} * kColumn;
        const std::int64_t first_line = a.first / line;
        own.x.outputs = a.first - first_line * line + a.count;
        Shape g = tensor_lines::shape_of(own, rows, chosen.columns, prepared.device.shared_bytes_per_block);
        if (g.lines == 0) { refuse_launch(); }
        g.first_output = first_line * line - a.first;
        if (!tensor_lines::fit_to_job(g, a, rows)) { refuse_launch(); }
        const std::int64_t blocks =
            std::min<std::int64_t>(g.all_tiles, std::int64_t{kBlocksHeld} * prepared.device.multiprocessors);
        launch_kernel(chosen.kernel, static_cast<unsigned>(blocks), kThreads,
                      static_cast<std::size_t>(tensor_lines::shared_bytes_of(g, own.dtype)), stream, a, rows, g);
    }

private:
    struct ChosenLines : OrderedTaps {
        using OrderedTaps::OrderedTaps;
        int columns = 0;  // of a line
        tensor_lines::Kernel kernel = nullptr;
    };

    static Shape shape_of(const Problem& p, const cuda_abi::Device& device) {
        const Problem real = as_real(p);
        const Rows rows = as_real(rows_of(p), p.dtype);
        return tensor_lines::shape_of(real, rows, tensor_lines::columns_of(real, rows), device.shared_bytes_per_block);
    }
    // Bytes that memory moves for an element of a batch's rows.
    static double touched(std::int64_t sample_step, std::int64_t row_step, std::int64_t rows, Dtype type) {
        const bool by_rows = rows > 1 && row_step != 0 && std::abs(row_step) < std::abs(sample_step);
        const double endless = by_rows && rows * std::abs(row_step) >= std::abs(sample_step) ? 1 : 0;
        return endless != 0 ? stored_bytes(type) : bytes_touched(by_rows ? row_step : sample_step, stored_bytes(type));
    }
    // As tensor_direct's.
    static double step_factor(const cuda_abi::Device& device) {
        if (device.major >= 9) { return 1; }
        return device.minor == 0 ? 0.7 : 3;
    }
    // Multiply-adds of the f32 peak that take as long as an output's way from its sample, products aside.
    static double output_cost(const Problem& p, const Rows& rows, const Shape& g) {
        double cost = p.dtype == kF32 ? 65 : stored_bytes(p.dtype) == 1 ? 49 : is_integer(p.dtype) ? 60 : 72;
        if (g.across == 0) {
            constexpr double kShort = 256;
            // Rows' ends, and samples that come one by one.
            cost += (p.dtype == kF32 ? 10 : 0) +
                    12 * std::min(1.0, kShort / static_cast<double>(std::max<std::int64_t>(p.x.outputs, 1)));
            const std::int64_t vector = 16 / stored_bytes(p.dtype);
            const bool alike = rows.near.length == 1 || rows.near.in % vector == 0;
            if (p.x.in_stride != 1 || !alike) { cost += 25; }
            // Windows of narrow samples that leave a row for samples of it: 233,608 rows of 73 u16, 54 taps, nearest, 180 us
            // (H200).
            const bool repeats = p.x.boundary != kZero && p.x.boundary != kConstant;
            constexpr std::int64_t kShortest = 96;
            if (repeats && stored_bytes(p.dtype) <= 2 && p.x.outputs <= kShortest) {
                cost +=
                    80 * std::min(1.0, static_cast<double>(p.x.k) / static_cast<double>(std::max<std::int64_t>(p.x.outputs, 1)));
            }
        } else if (g.rows < tensor_lines::kGroup) {
            cost += g.rows == 2 ? 8 : 70;  // in pairs, or in runs that are no whole sectors
        }
        return cost;
    }
    // Fitted on an H100 (copy 2.9 TB/s): (2^20, 64) samples of f32, time first, with 9, 31, 63, 127 and 255 taps 200, 208, 226, 276
    // and 391 us; 2^26 of i16 with 31 and 127 taps 192 and 255 us, of u8 150 and 191, of f16 with 9 and 127 taps 184 and 230;
    // 262,144 rows of 256 with 31 taps 237, 65,536 of 1,000 with 64 taps 248, 100,000 of 777 with 7 taps 320, 10^6 of 100 with 9
    // and 101 taps 404 and 847 us; 2^24 reversed samples with 63 taps 79, (2^17, 128) transposed 67 us; (2^22, 2) with 31 taps 41,
    // (2^22, 3) 73 us.
    static constexpr double kStartSeconds = 9e-6;
    static constexpr double kMovingShare = 0.93;
    static constexpr double kReadAgain = 0.5;
    static constexpr double kStepCost = 2.46;  // of 16 taps, for each product
    static constexpr double kIdlePower = 0.6;
    static constexpr double kNorm = 6;
    // Time first, H100: (8719, 3119) f16, 16 taps, 325 us; f32 (101, 133337), (400, 33333) and (5000, 2001) with 9 taps 128, 136
    // and 90 us, (101, 133336) 52.
    static constexpr double kUnlikeNarrow = 4;
    static constexpr double kUnlike = 2.4;
    // The same where outputs lie along memory, H200: 271 f32 rows of 86,497, 212 taps 438 us, 27 of 468,735, 2 taps 154; 317 of
    // 62,154 u8, 150 taps 199, 38 of 315,779 f16, 8 taps 97.
    static constexpr double kUnlikeNarrowTurned = 2;
    static constexpr double kUnlikeTurned = 1.8;
    // Of an odd number of narrow rows that a tile has all of: 747 times 2,307 x 9 f16, 80 taps 247 us, 260 times 2,108 x 23 u16, 14
    // taps 145, 1,093 times 104 x 27, 46 taps 49; and of narrow samples along memory whose outputs lie across it, 4,087 rows of
    // 8,490 f16, 2 taps 233, 1,999 of 1,938 u8, 5 taps 26.
    static constexpr double kLooseRun = 2.2;
    static constexpr double kNarrowSpread = 1.5;
};

}  // namespace

const Rung& tensor_lines_rung() { return core::only<TensorLines>(); }

}  // namespace tapline::cuda
