// Rung 21, on tensor cores: what it supports, how it is launched.
#include <algorithm>
#include <cmath>
#include <vector>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/edges.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/ordered_taps.hpp"
#include "cuda/families/common/taken.hpp"
#include "cuda/families/tensor/tensor.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace {

using tensor::Tiles;

constexpr double kTileSeconds = 8e-6;        // from a warp's first load to its last store, one tile: 90,001 samples 11.5 us
constexpr double kShareOfCopyTensor = 0.92;  // reached where memory limits
// Of f32: 2^18 to 2^28 samples, 5 to 240 taps, H200: 2^20 and 63 taps 10.6 us, 2^24 41.4, 2^28 534; 2^24 and 240 taps 82;
// 19,000,000 and 5 to 62 taps 46 to 48.
constexpr double kFloatTileSeconds = 3.5e-6;
constexpr double kShareOfCopyFloats = 0.95;
// Of rows that begin between 16 bytes, 100,000 of 777 with 7, 19 and 63 taps, H100: 327, 318 and 331 us. Of rows that fill a part
// of a tile, 2^18 of 256 with 15 and 31 taps: 519 us. Where each row has taps of its own, which are split anew, 4,096 of 4,096 with
// 33 taps: 76 us, with one filter 52.
constexpr double kShareOfUnlikeRows = 0.68;
constexpr double kShareOfUnlikeHalves = 0.35;  // H200: 7,845 rows of 2,143 f16, 2 taps 98 us
// Times as long where samples lie backwards or every second one: in rows of a tile or so, under many taps and under few (H200:
// 8,330 x 448 f32, reversed, 22 taps 33 us; every second of 171 x 18,593, 131 taps 26, of 2,171 x 7,300, 1 tap 73, of 7 x
// 3,110,269, 31 taps 94).
constexpr double kApartShort = 1.4;
constexpr double kApartMany = 1.25;
constexpr double kApartFew = 1.15;
double times_apart(const Problem& p) {
    if (2 * p.x.outputs < 3 * tensor::kTile) { return kApartShort; }
    return p.x.k > 64 ? kApartMany : p.x.k < 30 ? kApartFew : 1;
}
constexpr double kEmptyPower = 0.2;
// Of a tile that reads what a boundary repeats, for each tap: 4,096 rows of 4,096, reflected, 33 and 127 taps, H100, 65 and 80 us.
constexpr double kEdgeTapSeconds = 2.5e-9;
// And what it takes besides, the first one more. H100, a few taps: 303,400 rows of 58 3,051 us, 54,635 of 368 635, 67 of 4,110 26.
constexpr double kEdgeSeconds = 0.5e-6;
constexpr double kFirstEdgeSeconds = 10e-6;
// What an output costs beyond, in multiply-adds of the f32 peak: splitting and storing it, and a step of 16 taps in three products
// (f32, 95 to 240 taps, 25,000,000 samples, H200: 69 to 127 us; 127 taps, 2^28 samples: 700).
constexpr double kOutputCost = 14;
constexpr double kStepCost = 8.5;
// Of 16 bits, two of three products, and no second half to make: 470 us with 127 taps, 2^28 samples.
constexpr double kHalfOutputCost = 36;
constexpr double kHalfStepCost = 2.3;
// The same where four warps make a tile (bf16, 150 and 240 taps, 8,300,011 samples, H200: 28 and 31 us; 63, 127 and 255 taps, 2^28
// samples: 309, 390 and 490), and where each row has taps of its own (700 rows of 21,000 samples, 3 to 240 taps: 43 to 63 us).
constexpr double kGroupOutputCost = 36;
constexpr double kGroupStepCost = 1.6;
constexpr double kGroupOwnTaps = 1.65;
// The same where samples stay in registers, by chunks of 32 taps; a block's first tiles wait for its taps, its last are alone.
// bf16, 2^28 samples, H200: one product, 31 to 255 taps 279 to 284 us, which memory limits, 319 taps 326 us, 511 taps 420; two, 191
// and 255 taps, 375 and 463; one of samples that become halves, 255 taps, 354. 2^22 samples, one product: 31 taps 16.4 us, 511
// taps 23.6.
struct RowsCost {
    double output, chunk;
};
constexpr RowsCost kRowsOnce{13.8, 0.86};
constexpr RowsCost kRowsOnceMany{11.6, 2.18};  // two warpgroups
constexpr RowsCost kRowsOnceConverted{0, 4.5};
constexpr RowsCost kRowsTwice{0, 5.7};
constexpr double kRowsTileSeconds = 5.9e-6;    // of 14,336 outputs and more
constexpr double kRowsChunkSeconds = 0.35e-6;  // bf16, two products, 19,000,000 samples: 80, 135 and 200 taps 33, 37 and 43 us
constexpr double kShareOfCopyRows = 0.944;
// Of a tile of 14,336 outputs that reads what a boundary repeats. H200: 7,741,888 f16 with 277 taps, wrapped, 116 us.
constexpr double kRowsEdgeSeconds = 90e-6;
// Of rows that begin between 16 bytes: 557 of 75,797 f16 with 6 taps 265 us, H100.
constexpr double kShareOfUnlikeRowsInRegisters = 0.25;
constexpr std::int64_t kMostTapsOnce = 512;  // where one product is enough
constexpr double kNorm = 6;                  // of moving and computing, which hide each other nearly

// Half-precision products of a multiprocessor for each of its f32 ones, on 9.0 over those of others (CUDA programming guide,
// arithmetic throughput; 9.0 has twice as many, which mma.sync does not reach).
double step_factor(const cuda_abi::Device& device) {
    if (device.major >= 9) { return 1; }
    return device.minor == 0 ? 0.7 : 3;
}

// Whether rows all begin where vectors of 16 bytes do.
bool lie_alike(const Problem& p) {
    const std::int64_t bytes = stored_bytes(p.dtype);
    return p.batch.length == 1 || (p.batch.in_stride * bytes % 16 == 0 && p.batch.out_stride * bytes % 16 == 0);
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

class TensorDirect final : public DirectRung {
public:
    static constexpr Head kHead{"21", "tensor_direct", "", R"(
Idea: a tile is a product of two matrices that tensor cores multiply: overlapping rows of samples, and taps in every position.
Floats are split into two halves, three products of which make one
Changed: multiply-adds limited: tensor cores do sixteen times as many in half precision
Requires: compute capability 8.0; f32, f16 or bf16; at most 256 taps (512 of the type of 16-bit samples, compute capability 9.0);
unit sample strides, of f32 also backwards or every second one; not under strict accuracy
Limited by: memory up to about 100 taps, then the tensor cores
)"};

    TensorDirect()
        : DirectRung(kHead, {.source = "src/cuda/families/tensor/tensor.cuh", .takes_pieces = 1, .granularity = tensor::kTile}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.dtype != kF32 && p.dtype != kF16 && p.dtype != kBf16) { return "its products are of halves: f32, f16 and bf16 only"; }
        // Two products have room for 257 taps, too, where the first of a tile is at a vector's beginning: nobody counts on that.
        if (p.x.k > tensor::kMostTaps && !(p.x.k <= kMostTapsOnce && pieces_of(p) == 1 && rows_take(p, device))) {
            return "more than " + std::to_string(tensor::kMostTaps) + " taps" +
                   (p.dtype == kF32 ? "" : ", " + std::to_string(kMostTapsOnce) + " of the signal's type (compute capability 9.0)");
        }
        if (device.major < 8) { return "the device's tensor cores do not have its products (compute capability 8.0)"; }
        if (p.accuracy == Accuracy::strict) { return "tensor cores cut sums off: not under strict accuracy"; }
        if (p.x.out_stride != 1 || (p.x.in_stride != 1 && !lies_apart(p))) {
            return "samples must lie side by side; of f32 backwards, or every second one, too";
        }
        if (p.output_dtype != p.dtype) { return "the output must be of the signal's type"; }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const int bytes = type_of(p, device).bytes;
        const double outputs = static_cast<double>(p.x.outputs) * static_cast<double>(p.batch.length);
        const double moved = bytes * outputs +
                             bytes_touched(p.x.in_stride, bytes) * static_cast<double>(p.x.n) * static_cast<double>(p.batch.length);
        const Way way = way_of(p, device, Policy{});
        if (way == Way::rows) { return rows_seconds(p, device, moved); }
        const double steps = step_factor(device) * steps_of(p.x.k + before_of(p));
        const double own = p.filters > 1 ? kGroupOwnTaps : 1;
        const double tile = tile_of(p, way);
        const double filled = std::ceil(static_cast<double>(p.x.outputs) / tile) * tile * static_cast<double>(p.batch.length);
        const double cost = way == Way::group ? (kGroupOutputCost + kGroupStepCost * group_steps_of(p)) * own
                            : bytes == 4      ? kOutputCost + kStepCost * steps
                                              : kHalfOutputCost + kHalfStepCost * steps;
        const bool floats = bytes == 4;
        const bool alike = lie_alike(p);
        const double share = (floats ? kShareOfCopyFloats : kShareOfCopyTensor) * (alike || way != Way::warp ? 1
                                                                                   : floats                  ? kShareOfUnlikeRows
                                                                                            : kShareOfUnlikeHalves);
        const double emptiness = way == Way::warp && p.batch.length > 1 ? std::pow(filled / outputs, kEmptyPower) : 1;
        const double edges = p.x.boundary <= kConstant || way != Way::warp ? 0 : 2;  // of a row
        const double of_edge = kEdgeSeconds + kEdgeTapSeconds * static_cast<double>(p.x.k);
        const double at_edges =
            edges == 0 ? 0 : kFirstEdgeSeconds + edges * of_edge * static_cast<double>(p.batch.length) / device.multiprocessors;
        return kLaunchSeconds + kColdSeconds + (floats ? kFloatTileSeconds : kTileSeconds) + at_edges +
               (lies_apart(p) ? times_apart(p) : 1) * overlapped(moved / (share * device.copy_bytes_per_second),
                                                                 2 * filled * cost * emptiness / device.peak_flops, kNorm);
    }
    [[nodiscard]] std::vector<Policy> policies(const Problem& p, const cuda_abi::Device& device) const override {
        std::vector<Policy> all{Policy{}};
        if (p.x.k > tensor::kMostTaps) { return all; }
        for (const int tiles : {1, 2, 4, 8, 16}) { all.push_back({0, 0, tiles, 0}); }
        if (const Policy full{0, 0, -1, 0}; way_of(p, device, full) == Way::rows) { all.push_back(full); }
        return all;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Way way = way_of(prepared);
        if (way == Way::rows) {
            return "tiles of " + std::to_string(granularity(prepared)) + " outputs four warps in turn, " +
                   (pieces_of(prepared.problem) == 2 ? "two products"
                    : prepared.problem.narrow_taps   ? "taps are of the signal's type: one product"
                                                     : "one product");
        }
        const Problem& p = prepared.problem;
        const std::int64_t tiles = p.batch.length * divide_up(p.x.outputs, tile_of(p, way));
        return std::to_string(runs_of(prepared, way, tiles).tiles) + " tiles of " + std::to_string(granularity(prepared)) +
               (way == Way::group ? " outputs four warps" : " outputs a warp");
    }
    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override {
        return tile_of(prepared.problem, way_of(prepared));
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenTensor>(prepared);
        chosen->way = way_of(prepared);
        chosen->tile = tile_of(p, chosen->way);
        chosen->sizes = sizes_of(p, chosen->tile);
        chosen->bytes = type_of(p, prepared.device).bytes;
        switch (chosen->way) {
            case Way::rows: {
                const tensor::Rows rows = tensor::rows_kernel_of(p.dtype, chunks_of(p), pieces_of(p), p.narrow_taps);
                chosen->rows_kernel = rows.kernel;
                chosen->threads = rows.threads;
                chosen->shared_bytes = rows.shared_bytes;
                chosen->takes = plan_takes_tiles(prepared, chosen->way);
                load_kernel(rows.kernel, rows.shared_bytes, prepared.device);
                break;
            }
            case Way::group:
                chosen->tile_kernel = tensor::group_kernel_of(p.dtype, group_steps_of(p));
                chosen->threads = tensor::kThreads;
                chosen->shared_bytes = tensor::kGroupShared;
                break;
            case Way::warp:
                chosen->tile_kernel = tensor::kernel_of(p.dtype);
                chosen->threads = 32;
                chosen->shared_bytes = static_cast<std::size_t>(sizes_of(p, tensor::kTile).warp_bytes);
                if (lies_apart(p)) {
                    chosen->apart = static_cast<int>(p.x.in_stride);
                    chosen->apart_kernel = tensor::apart_kernel_of(chosen->apart);
                    load_kernel(chosen->apart_kernel, chosen->shared_bytes, prepared.device);
                }
        }
        if (chosen->tile_kernel != nullptr) { load_kernel(chosen->tile_kernel, chosen->shared_bytes, prepared.device); }
        const int per_vector = 16 / chosen->bytes;
        chosen->edges = load_edges(prepared, {tensor::kTile, tensor::kTile + divide_up(p.x.k, per_vector) * per_vector});
        return chosen;
    }

    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        return plan_takes_tiles(prepared, way_of(prepared)) ? kTakenBytes : 0;
    }

    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenTensor>();
        Arguments a = arguments_of(prepared, job, on_device);
        const bool is_apart = a.in_sample == chosen.apart && a.out_sample == 1 && a.converts == 0;
        if ((a.plain_layout == 0 && !is_apart) || a.exact_edges == kExact ||
            reinterpret_cast<std::uintptr_t>(a.in) % static_cast<unsigned>(chosen.bytes) != 0) {
            a.tiles = divide_up(a.count + 16 / chosen.bytes - 1, tensor::kTile);
            launch_edges(chosen.edges, a, nullptr, stream);
            return;
        }
        const int tile = chosen.tile;
        Tiles g = chosen.sizes;
        const std::int64_t first_tile = floor_div(a.first, tile);
        g.tiles = divide_up(a.first + a.count, tile) - first_tile;
        g.first_output = first_tile * tile - a.first;
        g.start = first_tile * tile - a.origin - g.before - a.in_first;
        const std::int64_t room = a.in_last - a.in_first - g.needed - (is_apart && chosen.apart == 2 ? 1 : 0) - g.start;
        g.inner_first = g.start < 0 ? divide_up(-g.start, tile) : 0;
        g.inner_last = room < 0 ? 0 : room / tile + 1;
        const std::int64_t tiles = a.rows * g.tiles;
        if (g.tiles > kMostBlocks) { refuse_launch(); }
        if (chosen.way == Way::rows) {
            if (tiles > kMostBlocks) { refuse_launch(); }
            const std::int64_t blocks = std::min<std::int64_t>(tiles, prepared.device.multiprocessors);
            const bool takes = chosen.takes && takes_tiles(prepared, tiles);
            unsigned* const taken = takes ? start_taking(workspace, stream) : nullptr;
            return launch_kernel(chosen.rows_kernel, static_cast<unsigned>(blocks), static_cast<unsigned>(chosen.threads),
                                 chosen.shared_bytes, stream, a, g, taken);
        }
        const Runs runs = runs_of(prepared, chosen.way, tiles);
        if (runs.blocks > kMostBlocks) { refuse_launch(); }
        g.run = runs.tiles;
        g.spacing = runs.in_turns ? 1 : g.run;
        g.step_rows = runs.in_turns ? runs.blocks / g.tiles : 0;
        g.step_tiles = runs.in_turns ? static_cast<int>(runs.blocks % g.tiles) : 1;
        launch_kernel(is_apart ? chosen.apart_kernel : chosen.tile_kernel, static_cast<unsigned>(runs.blocks),
                      static_cast<unsigned>(chosen.threads), chosen.shared_bytes, stream, a, g);
    }

private:
    /// What makes a tile: a warp; four, whose samples lie in shared memory as halves; four, with samples in registers.
    enum class Way { warp, group, rows };

    struct ChosenTensor : OrderedTaps {
        using OrderedTaps::OrderedTaps;
        Way way = Way::warp;
        tensor::TileKernel tile_kernel = nullptr;
        tensor::TileKernel apart_kernel = nullptr;  // for samples as far apart as the problem's, `apart`
        int apart = 0;
        tensor::RowsKernel rows_kernel = nullptr;
        int threads = 0;  // of a block
        std::size_t shared_bytes = 0;
        int bytes = 0;       // of a sample
        int tile = 0;        // outputs
        Tiles sizes{};       // what does not depend on the job
        bool takes = false;  // the workspace has a place for a number by which blocks take tiles
        Edges edges;
    };

    /// Whether there is a kernel for samples of one filter that do not lie side by side.
    static bool lies_apart(const Problem& p) {
        return p.dtype == kF32 && p.filters <= 1 && tensor::apart_kernel_of(p.x.in_stride) != nullptr;
    }
    /// Whether so many tiles are worth a number in memory by which blocks take them.
    static bool takes_tiles(const Prepared& prepared, std::int64_t tiles) {
        constexpr std::int64_t kLeast = 32;  // of a multiprocessor
        return tiles >= kLeast * prepared.device.multiprocessors;
    }
    /// Whether all of the plan's are, so that its workspace has a place for that number.
    static bool plan_takes_tiles(const Prepared& prepared, Way way) {
        const Problem& p = prepared.problem;
        return way == Way::rows && takes_tiles(prepared, p.batch.length * divide_up(p.x.outputs, tile_of(p, way)));
    }

    static double rows_seconds(const Problem& p, const cuda_abi::Device& device, double moved) {
        const int chunks = chunks_of(p);
        const int pieces = pieces_of(p);
        const RowsCost cost = pieces == 2                          ? kRowsTwice
                              : p.dtype == kBf16 && !p.narrow_taps ? kRowsOnceConverted
                              : chunks > tensor::kMostChunks       ? kRowsOnceMany
                                                                   : kRowsOnce;
        // Every warpgroup takes as many tiles as any.
        const double tile = tensor::rows_tile(chunks, pieces);
        const double groups = static_cast<double>(device.multiprocessors) * tensor::row_groups(chunks);
        const double tiles = std::ceil(static_cast<double>(p.x.outputs) / tile) * static_cast<double>(p.batch.length);
        const double made = std::ceil(tiles / groups) * groups * tile;
        const double edges = p.x.boundary <= kConstant ? 0 : 2 * static_cast<double>(p.batch.length);
        const double at_edges = kRowsEdgeSeconds * tile / 14336 * std::ceil(edges / groups);
        return kLaunchSeconds + kColdSeconds + kRowsTileSeconds * std::min(1.0, tile / 14336) + kRowsChunkSeconds * chunks +
               at_edges +
               overlapped(
                   moved / (kShareOfCopyRows * (lie_alike(p) ? 1 : kShareOfUnlikeRowsInRegisters) * device.copy_bytes_per_second),
                   2 * made * (cost.output + cost.chunk * chunks) / device.peak_flops, kNorm);
    }

    // Samples from where a tile's first copy begins to the first that an output needs; the same wherever the signal lies in memory,
    // so that the order of the sums is. Copies begin at sectors of the memory, 32 bytes, where the signal does: with those that
    // begin between two, 21,702,091 floats took 53 to 58 us instead of 51 (4 to 61 taps, H200), as many of 16 bits 34 instead
    // of 32. Up to 64 floats, which leave the multiplying time, begin at lines: 2^28 samples, 33 taps half a line off 539 us, 50
    // taps on a line 530. Samples of 16 bits begin at vectors where else one more chunk of taps would be multiplied.
    static int before_of(const Problem& p) {
        const auto before = [&](int together) {
            const auto past = static_cast<int>(-p.x.origin % together);
            return past < 0 ? past + together : past;
        };
        const auto chunks = [&](int more) { return divide_up(p.x.k + more + tensor::kChunk - 1, tensor::kChunk); };
        if (p.dtype == kF32) { return before(p.x.k <= 64 ? 32 : 8); }
        return chunks(before(16)) == chunks(before(8)) ? before(16) : before(8);
    }
    static int steps_of(std::int64_t taps) { return static_cast<int>((taps + 14) / 16) + 1; }
    static int group_steps_of(const Problem& p) { return static_cast<int>(divide_up(p.x.k + before_of(p) + 31, 16)); }
    // Four warps make a tile of 16-bit samples where there are their products, and rows do not leave too much of their tiles empty.
    static bool in_groups(const Problem& p, const cuda_abi::Device& device) {
        constexpr double kLeastFilled = 0.8;
        const double filled =
            static_cast<double>(p.x.outputs) /
            static_cast<double>(divide_up(std::max<std::int64_t>(p.x.outputs, 1), tensor::kGroupTile) * tensor::kGroupTile);
        return p.dtype != kF32 && device.major == 9 && filled >= kLeastFilled &&
               tensor::group_kernel_of(p.dtype, group_steps_of(p)) != nullptr;
    }
    static int chunks_of(const Problem& p) {
        return static_cast<int>(divide_up(p.x.k + before_of(p) + tensor::kChunk - 1, tensor::kChunk));
    }
    /// One 16-bit number is enough under fast accuracy, and if it is all of the tap: small integers, say, or what was of that type.
    static int pieces_of(const Problem& p) { return p.narrow_taps || p.accuracy == Accuracy::fast ? 1 : 2; }
    // One filter, whose places fill shared memory.
    static bool rows_take(const Problem& p, const cuda_abi::Device& device) {
        return p.dtype != kF32 && device.major == 9 && p.filters <= 1 &&
               tensor::rows_kernel_of(p.dtype, chunks_of(p), pieces_of(p), p.narrow_taps).kernel != nullptr;
    }
    static Way way_of(const Problem& p, const cuda_abi::Device& device, const Policy& policy) {
        if (p.x.k > tensor::kMostTaps) { return Way::rows; }
        // So many outputs that every warpgroup has a few tiles; -1 asks for it anyway. 127 taps: 12 us and 0.9 us for every 10^6
        // samples, two products 14.5 and 1; four warps a tile: about 12 and 1.4.
        const double least_outputs = pieces_of(p) == 1 ? 40000 : 90000;  // of a multiprocessor
        constexpr double kLeastFilled = 0.8;
        const int tile = tensor::rows_tile(chunks_of(p), pieces_of(p));
        const std::int64_t tiles = divide_up(p.x.outputs, tile);
        const bool filled = static_cast<double>(p.x.outputs) >= kLeastFilled * static_cast<double>(tiles * tile);
        const bool many =
            static_cast<double>(p.x.outputs) * static_cast<double>(p.batch.length) >= least_outputs * device.multiprocessors;
        const bool wanted = policy.tiles_per_block < 0 || (policy.tiles_per_block == 0 && filled && many);
        if (wanted && rows_take(p, device)) { return Way::rows; }
        return in_groups(p, device) ? Way::group : Way::warp;
    }
    static Way way_of(const Prepared& prepared) { return way_of(prepared.problem, prepared.device, prepared.policy); }
    static int tile_of(const Problem& p, Way way) {
        return way == Way::rows    ? tensor::rows_tile(chunks_of(p), pieces_of(p))
               : way == Way::group ? tensor::kGroupTile
                                   : tensor::kTile;
    }
    static Tiles sizes_of(const Problem& p, int tile) {
        Tiles g{};
        const int bytes = p.dtype == kF32 ? 4 : 2;
        const int per_vector = 16 / bytes;
        g.before = before_of(p);
        g.end = g.before + tile - 1 + static_cast<int>(p.x.k);
        g.needed = static_cast<int>(divide_up(g.end, per_vector)) * per_vector;
        g.steps = steps_of(g.before + p.x.k);
        g.needed_halves = tensor::kTile - tensor::kRow + 16 * (g.steps + 3);
        g.tap_entries = 8 * g.steps + 4;
        constexpr int kLine = 128;  // the stage's permutation works on its bytes
        const std::int64_t samples = std::int64_t{g.needed_halves} * (lies_apart(p) && p.x.in_stride == 2 ? 2 : 1);
        g.samples_bytes = static_cast<int>(divide_up(samples * bytes, kLine)) * kLine;
        g.halves_bytes = static_cast<int>(divide_up(g.needed_halves, tensor::kRow)) * tensor::kPitch;
        g.warp_bytes =
            g.samples_bytes + (bytes == 4 ? 2 : 1) * g.halves_bytes + 32 * g.tap_entries + 4 * tensor::padded_taps(g.steps);
        g.warp_bytes = static_cast<int>(divide_up(g.warp_bytes, kLine)) * kLine;
        return g;
    }
    /// Tiles of a warp or block: side by side, or each the next that no other one has, so that all are at work on neighbours.
    struct Runs {
        std::int64_t blocks;
        int tiles;
        bool in_turns;
    };
    // Several, so that loads and products overlap and taps are split once, but no fewer than the device holds. Warps with one
    // filter take turns, as many warps as the device holds or a multiple of them, so that none is left when the others are done: 63
    // taps, 2^24 samples, H200 42 us with two such rounds, 43 with one, 44 with three, 47 with one and a half, and 44 with 8 tiles
    // side by side; 2^28 samples 542 us with 16 rounds, 558 with 32. Blocks of four warps with many steps stay until all is done
    // (127 taps: 389 us, with 8 tiles 409), with few they change (63: 306, 316).
    static std::int64_t warps_held(const Prepared& prepared) {
        constexpr int kReservedBytes = 1024;  // of a block
        if (prepared.problem.x.in_stride == 1) { return tensor::kWarpsHeld; }
        const int bytes = sizes_of(prepared.problem, tensor::kTile).warp_bytes + kReservedBytes;
        return std::clamp<std::int64_t>((prepared.device.shared_bytes_per_block + kReservedBytes) / bytes, 1, tensor::kWarpsHeld);
    }
    static Runs runs_of(const Prepared& prepared, Way way, std::int64_t tiles) {
        const Problem& p = prepared.problem;
        const bool groups = way == Way::group;
        const int steps = group_steps_of(p);
        const std::int64_t held =
            std::int64_t{prepared.device.multiprocessors} * (groups ? tensor::group_blocks(steps) : warps_held(prepared));
        const auto side_by_side = [&](std::int64_t run) { return Runs{divide_up(tiles, run), static_cast<int>(run), false}; };
        if (prepared.policy.tiles_per_block > 0) { return side_by_side(prepared.policy.tiles_per_block); }
        if (!groups && p.filters == 1) {
            constexpr std::int64_t kOfRound = 4;
            constexpr std::int64_t kMostRounds = 16;
            const std::int64_t rounds = std::clamp<std::int64_t>((tiles + kOfRound * held / 2) / (kOfRound * held), 1, kMostRounds);
            const std::int64_t blocks = std::min(tiles, rounds * held);
            return {blocks, static_cast<int>(divide_up(tiles, blocks)), true};
        }
        const std::int64_t wanted = divide_up(tiles, held);
        return side_by_side(std::clamp<std::int64_t>(wanted, 1, groups && steps > 8 ? 1 << 20 : 8));
    }
};

}  // namespace

const Rung& tensor_direct() { return core::only<TensorDirect>(); }

}  // namespace tapline::cuda
