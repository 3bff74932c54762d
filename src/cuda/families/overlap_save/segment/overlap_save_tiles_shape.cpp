// Which rows of tiles go together, which come by way of shared memory, and how many teams of a block take them.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/types.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_segments.hpp"
#include "cuda/primitives/lines/lines.hpp"

namespace tapline::cuda::overlap_save {
namespace {

// What of a tile comes by way of shared memory; `ahead`: to a stage of its own.
Staging staging_of(const Problem& p, const Rows& rows, const TilesPlace& place, const Kernel& kernel, int in_block, bool ahead,
                   const cuda_abi::Device& device) {
    const Dtype sums = sums_of(p);
    const int lines = ahead ? 32 / stored_bytes(sums) : kernel.staged_lines;
    const bool comes = lines != 0 && in_block >= lines && device.major >= 8 && rows.near.in == 1 && std::abs(place.in_sample) > 1 &&
                       rows.near.length >= lines && constant_fits(p) && goes_straight(p.dtype, rows.input_bytes, sums) &&
                       goes_straight(p.output_dtype, rows.output_bytes, sums);
    if (!comes) { return {}; }
    // What rows lie on. Samples that come ahead do so by pieces of 16 bytes too where few places of tiles are empty, but bytes do
    // not, of which straight from memory one sector serves more: H200, (2^20, 63) f32, 127 taps 534 -> 383 us, (2^20, 62) i16, 255
    // taps 412 -> 343, (2^20, 128) u8, 255 taps straight 573, 8 bytes at a time 585.
    const bool mostly_lines = 4 * rows.near.length >= 3 * lines * divide_up(rows.near.length, lines);
    const bool of_words = rows.input_bytes > 1 && !is_complex(sums);
    const int least = ahead ? (of_words && mostly_lines ? 4 : 16) : is_complex(sums) || rows.input_bytes < 4 ? 16 : 8;
    for (int bytes = 16; bytes >= least; bytes /= 2) {
        const auto whole = [&](std::int64_t elements) { return elements * rows.input_bytes % bytes == 0; };
        bool fits = whole(lines) && whole(rows.near.length) && whole(place.in_sample) &&
                    place.address % static_cast<std::uintptr_t>(bytes) == 0;
        for (const RowAxis& axis : rows.others) { fits = fits && (axis.length == 1 || whole(axis.in)); }
        if (fits) { return {lines, bytes}; }
    }
    return {};
}

// Complex segments of two warps have code for each, which warps of memory order must not share: their lines are a power of two.
bool goes_by_twos(const PointType& type, int warps) { return type.is_complex && warps == 2; }

// How many neighbouring rows' segments come and go together where they are not staged: as many as fill what memory reads at once,
// where rows lie closer than samples. Of one warp a segment half of a block's at most, so that others compute while they come; of
// more, one team is better than sectors in parts: 511 taps by two warps, (2^20, 64), 8 together 449 us, 4 750 (H100).
int lines_together(const Rows& rows, const TilesPlace& place, int in_block, bool by_twos, int warps) {
    const auto filling = [](std::int64_t sample, std::int64_t row, int bytes) {
        const std::int64_t step = std::abs(row);
        return row == 0 || std::abs(sample) <= step ? 1 : std::max<std::int64_t>(kSectorBytes / (step * bytes), 1);
    };
    const std::int64_t filled = std::max(filling(place.in_sample, rows.near.in, rows.input_bytes),
                                         filling(place.out_sample, rows.near.out, rows.output_bytes));
    const int most = warps == 1 ? std::max(in_block / 2, 1) : in_block;
    const std::int64_t wanted = std::min<std::int64_t>({filled, most, rows.near.length});
    const std::int64_t lines = divide_up(rows.near.length, divide_up(rows.near.length, wanted));
    return static_cast<int>(by_twos ? std::int64_t{1} << (std::bit_width(static_cast<std::uint64_t>(lines)) - 1) : lines);
}

// The fewest lines with which the device has room for all tiles at once, if they are half as many at most: then what is read by
// parts of sectors comes from the cache, and more multiprocessors work.
int lines_of_few(std::int64_t near, double others, bool by_twos, int lines, std::int64_t multiprocessors) {
    if (others > static_cast<double>(multiprocessors)) { return lines; }
    const std::int64_t least = divide_up(near, multiprocessors / static_cast<std::int64_t>(others));
    const std::int64_t fewest = by_twos ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least))) : least;
    return 2 * fewest <= lines ? static_cast<int>(fewest) : lines;
}

// In one round all samples come at once, straight from memory, and with little more it ends sooner; what a boundary repeats comes
// sooner by way of the stage. Complex samples gain where they are repeated, (2^19, 64) with 255 taps 332 us, ahead 360, 8,576
// rows of 735 across memory with 501, nearest, 154 and 126 (H100), and where half of the segments lie at edges: (15, 1482, 512),
// 357 taps along axis 1, H200, 139 and 119. Pieces of less than 16 bytes gain where tiles side by side have the lines of memory in
// common: (793105, 34) f32, 173 taps, 217 and 188 us, but (5094, 3402), 318 taps, 117 and 129, and where outputs go as they came:
// (403976, 83) seen as 83 rows, 223 taps, 153 and 194.
bool comes_ahead(const Problem& p, const Rows& rows, const TilesPlace& place, const Staging& staging, std::int64_t segments,
                 std::int64_t tiles, std::int64_t tiles_of_round) {
    constexpr std::int64_t kMostOfPieces = 1024;  // bytes from one sample to the next
    constexpr std::int64_t kMostAtEdges = 4;
    const bool by_lines = std::abs(place.out_sample) < std::abs(rows.near.out);
    if (staging.bytes < 16 && (by_lines || std::abs(place.in_sample) * rows.input_bytes > kMostOfPieces)) { return false; }
    return p.x.boundary != kZero || (is_complex(p.dtype) ? segments <= kMostAtEdges : 2 * tiles > 3 * tiles_of_round);
}

}  // namespace

bool may_come_ahead(const Problem& p, int warps, const Kernel& kernel, int in_block, const cuda_abi::Device& device) {
    constexpr int kSpectrumBytes = kPoints * static_cast<int>(sizeof(float2));
    const std::int64_t bytes = kernel.layout.segments + std::int64_t{in_block} * kernel.layout.segment_bytes + kSpectrumBytes;
    const Dtype sums = sums_of(p);
    return warps == 1 && kernel.tiles && device.major >= 9 && (sums == kF32 || sums == kComplex64) && in_block == kMostSegments &&
           bytes + kAheadStageBytes <= device.shared_bytes_per_block;
}

TilesShape tiles_shape(const Problem& p, const Rows& rows, const TilesPlace& place, std::int64_t segments, const Kernel& kernel,
                       int warps, int in_block, const cuda_abi::Device& device) {
    const bool by_twos = goes_by_twos(point_type_of(p), warps);
    const bool may_come = may_come_ahead(p, warps, kernel, in_block, device);
    TilesShape shape;
    shape.staging = staging_of(p, rows, place, kernel, in_block, may_come, device);
    shape.lines = shape.staging.lines != 0 ? shape.staging.lines : lines_together(rows, place, in_block, by_twos, warps);
    auto others = static_cast<double>(segments);
    for (const RowAxis& axis : rows.others) { others *= static_cast<double>(axis.length); }
    const std::int64_t multiprocessors = device.multiprocessors;
    const int fewer = lines_of_few(rows.near.length, others, by_twos, shape.lines, multiprocessors);
    if (fewer < shape.lines) {
        shape.staging = {};
        shape.lines = fewer;
    }
    constexpr double kMostTiles = 1LL << 62;
    const double tiles = others * static_cast<double>(divide_up(rows.near.length, shape.lines));
    shape.tiles = static_cast<std::int64_t>(std::min(tiles, kMostTiles));
    shape.teams = std::min<std::int64_t>(in_block / shape.lines, divide_up(shape.tiles, multiprocessors));
    shape.ahead = shape.staging.lines != 0 && may_come &&
                  comes_ahead(p, rows, place, shape.staging, segments, shape.tiles, shape.teams * multiprocessors);
    if (shape.ahead && shape.teams == 3) { shape.teams = 4; }
    shape.blocks = std::min(divide_up(shape.tiles, shape.teams), multiprocessors);
    return shape;
}

}  // namespace tapline::cuda::overlap_save
