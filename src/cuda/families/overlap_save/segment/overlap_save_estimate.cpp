// What overlap-save's launches cost.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/overlap_save/row/overlap_save_row.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_segments.hpp"

namespace tapline::cuda::overlap_save {
namespace {

// Fitted to times on an H200, as `tapline tune --json` measures them: 2^20 to 2^28 samples of all types, 63 to 16,385 taps, every
// size of segment. They agree within 6% on average, 18% at most, and the size that is chosen takes at most 8% longer than the
// fastest.
constexpr double kMeasuredFlops = 6.69e13 / 132;  // of its multiprocessors each
constexpr double kStartSeconds = 8.4e-6;          // of a launch: instructions, tables, the first samples
// Less where some have a segment more, whose first samples come before the others': seen with 4.5 rounds, not with 1.5.
constexpr double kReadFirstSeconds = 2.5e-6;
constexpr double kReadFirstRounds = 3;
constexpr double kClusterStartSeconds = 17.5e-6;  // of clusters: 70,003 samples 35.5 us
constexpr double kPartStartSeconds = 17e-6;       // of one that adds to sums, back to back with others
constexpr double kPartsByTiles = 4.4;             // where segments are tiles: (2^20, 64), 16,385 taps, H100 4.5 ms
// By warps a segment: what one takes of a multiprocessor that holds as many as it can, in float and double, and by itself. In float
// less than fitted by what 511, 1,023, 2,047, 4,095 and 8,191 taps won since, beside the version before: 2, 7, 5, 2 and 6%. Of 16
// warps what 2^26 samples with 16,385 taps take on an H100, 389 us as one row, four or 64, where clusters take 407.
constexpr std::array<double, 5> kSegmentSeconds{0.382e-6, 0.94e-6, 2.33e-6, 5.98e-6, 12.1e-6};
constexpr std::array<double, 5> kWideSegmentSeconds{0.66e-6, 1.88e-6, 5.43e-6, 12.1e-6, 30e-6};
constexpr std::array<double, 5> kAloneSeconds{1.2e-6, 3.2e-6, 4.2e-6, 7.5e-6, 14e-6};
constexpr double kWideAloneFactor = 1.6;
// Of checked segments, in double too, whose samples are widened: 2^24 samples of f32 on an H100, by one warp 127, 511 and 1,023
// taps 86, 99 and 140 us, by two 511, 1,023 and 2,047 taps 101, 114 and 155, by four 1,023 and 2,047 taps 116 and 134, by eight
// 2,047, 4,095 and 8,191 taps 129, 149 and 206. And what looking for outputs to be summed directly takes.
constexpr std::array<double, 4> kCheckedSegmentSeconds{1.0e-6, 2.35e-6, 5.72e-6, 12.3e-6};
constexpr double kRepairSeconds = 5e-6;
// Of samples of 16 bits, by one warp or two, and by four: bf16, 19,000,000 samples, 135, 550, 1,100 and 2,300 taps take 45, 54, 64
// and 73 us, floats 48, 53 and, with 1,600 taps, 66.
// Not where outputs are f32: 2^24 samples of f16, 127 and 511 taps 45 and 50 us (H100).
constexpr double kHalfFactor = 1.2;
constexpr double kHalfFactorFour = 1.1;
// What a cluster takes for a segment of 32, 64 and 128 warps, one cluster for each `blocks` multiprocessors: 2^28 samples of f32
// and 16,385 taps 1,456 us, 65,535 taps 2,411 us, in a run in which segments of 16 warps took 8% longer than above; in
// double 8,300,011 samples take 137 and 131 us.
constexpr std::array<double, 3> kClusterSegmentSeconds{18e-6, 25e-6, 26.5e-6};
constexpr std::array<double, 3> kWideClusterSegmentSeconds{27e-6, 31e-6, 0};
// Of rows with filters of their own: (8, 2048, 8192) samples with 128 or 256 taps take 327 us, with 1,024 taps 513 by 1 warp, 507
// by 2, 821 by 4 and 862 by 8.
constexpr double kOwnSpectrumFactor = 1.23;
// Of a row that the kernel of rows takes as a whole, on a multiprocessor that has 16 or four: (64, 768, 1024) bf16 147 us,
// (64, 768, 4096) 753.
constexpr double kShortRowSeconds = 0.37e-6;
constexpr double kRowSeconds = 1.98e-6;
// Of a long one by a cluster of two multiprocessors: (64, 768, 32768) bf16 8,970 us.
constexpr double kLongRowSeconds = 12e-6;
// By halves, two multiprocessors having two rows: 8,640 us.
constexpr double kHalvesSeconds = 11.6e-6;
constexpr double kNorm = 2.5;  // of computing and moving: neither hides the other's waits completely

double segment_seconds(const Problem& p, int warps, const cuda_abi::Device& device, bool checked = false) {
    const double others = kMeasuredFlops / (device.peak_flops / device.multiprocessors);
    if (warps >= kRemainders) {
        const auto at = static_cast<std::size_t>(std::find(kClusterWarpCounts.begin(), kClusterWarpCounts.end(), warps) -
                                                 kClusterWarpCounts.begin());
        return (point_type_of(p).is_wide() ? kWideClusterSegmentSeconds : kClusterSegmentSeconds).at(at) * others;
    }
    const auto at = static_cast<std::size_t>(std::find(kWarpCounts.begin(), kWarpCounts.end(), warps) - kWarpCounts.begin());
    // Chips for graphics have an eighth as many units for double.
    if (checked || point_type_of(p).is_wide()) {
        const double seconds = checked ? kCheckedSegmentSeconds.at(at) : kWideSegmentSeconds.at(at);
        return seconds * (has_fast_double(device) ? 1 : 8) * others;
    }
    const double halves = point_type_of(p).bytes != 2 || warps > 4 || takes_narrow(p, warps) ? 1
                          : warps == 4                                                       ? kHalfFactorFour
                                                                                             : kHalfFactor;
    return kSegmentSeconds.at(at) * others * halves;
}

double row_seconds(const Problem& p, int warps, const cuda_abi::Device& device) {
    if (takes_halves(p, warps, device)) { return kHalvesSeconds; }
    return warps == ShortRow::kWarps ? kShortRowSeconds : warps == Row::kWarps ? kRowSeconds : kLongRowSeconds;
}

double alone_seconds(bool is_wide, int warps) {
    const auto at = static_cast<std::size_t>(std::find(kWarpCounts.begin(), kWarpCounts.end(), warps) - kWarpCounts.begin());
    return kAloneSeconds.at(at) * (is_wide ? kWideAloneFactor : 1);
}

// Segments of a row that read beyond its ends.
double edges_of(const Problem& p, const Cut& cut) {
    const auto outputs = static_cast<double>(cut.outputs);
    const auto all = std::ceil(static_cast<double>(p.x.outputs) / outputs);
    const double before = std::ceil(static_cast<double>(std::max<std::int64_t>(p.x.origin, 0)) / outputs);
    const double last = static_cast<double>(p.x.outputs + p.x.k - 1 - p.x.origin - p.x.n);
    const double after = std::ceil(std::max(last, 0.0) / outputs);
    return std::min(before + after, all);
}

// What a row's segments at its ends cost besides, in segments, where samples outside are not zeros that copies bring along.
double cost_of_edges(const Problem& p, const Cut& cut, int bytes) {
    // H100: 100,000 rows of 777, which begin between 16 bytes, with 63 taps 593 us. Those that begin there have what a boundary
    // repeats in their segment: 4,096 rows of 4,096 with 127 taps, reflected, 70 us.
    constexpr double kOfSegment = 0.9;
    constexpr double kOfSegmentAlike = 0.3;
    const bool alike = p.batch.length == 1 || p.batch.in_stride * bytes % 16 == 0;
    if (cut.warps >= kRemainders || (p.x.boundary == kZero && p.taps_finite && alike && p.x.n * bytes % 16 == 0)) { return 0; }
    return (alike ? kOfSegmentAlike : kOfSegment) * edges_of(p, cut);
}

// What tiles take by warps a segment: a launch with its first samples, what one segment takes by itself, and how many times as long
// as segments whose samples lie side by side those of a full multiprocessor take, as all of a team wait for each other: straight
// from memory; where a tile has all lines that memory has side by side; by way of the place of points; and, of that, complex ones.
// Fitted to 480 times of problems drawn at random, on an H200, each by one, two, four and eight warps: 16% apart on average. Two
// warps of real segments read in four steps, one after the other: (26319, 3) with 1,432 taps by one, two and four 8, 13 and 11 us.
struct TilesCost {
    double start_seconds, alone_seconds;
    double straight, whole_lines, staged, of_complex;
};
constexpr std::array<TilesCost, 5> kTilesCosts{{{6.5e-6, 3.7e-6, 1.26, 1.24, 1.26, 1.23},
                                                {7.4e-6, 8.9e-6, 1.94, 1.68, 1.52, 0.92},
                                                {8.2e-6, 2.4e-6, 1.36, 1.15, 1.63, 0.87},
                                                {6.6e-6, 7.5e-6, 1.15, 1.01, 1.33, 1.06},
                                                {9e-6, 14e-6, 2.93, 1.76, 2.93, 1}}};
constexpr double kByTwosAloneSeconds = 2.2e-6;  // of complex segments of two warps
constexpr double kEightWide = 1.42;             // of eight warps in double
constexpr double kAheadFactor = 1.55;           // where samples come ahead
// By less than 16 bytes at a time, where times lie further apart than two sectors: so many times as long, ahead and by way of the
// place of points. (375399, 15) f32, 689 taps, H200, 44 us, (2^20, 63), 127 taps 390.
constexpr double kAheadInPieces = 1.39;
constexpr std::int64_t kNearTimes = 64;
constexpr double kStagedInPieces = 1.08;
constexpr double kOwnSpectrumInTiles = 1.08;  // rows with filters of their own, whose spectra come with every tile
constexpr double kNarrowInTiles = 1.12;
// Outputs that are rounded to bytes, by lanes across rows, of bytes by one warp a segment, and by lanes along rows: (169, 2665, 32)
// u8 to u8, 1,689 taps along axis 1, H200, by one, two and four warps 335, 224 and 234 us, the same rows one after the other 240.
constexpr double kToBytesAcross = 1.08;
constexpr double kBytesToBytes = 1.35;
constexpr double kToBytesAlong = 1.25;
// Segments that read what a boundary repeats and that are not staged, and the first of them.
constexpr double kTilesEdge = 0.35;
constexpr double kTilesEdgeSeconds = 2e-6;
// Of what memory takes, and how far it hides what is computed.
constexpr double kTilesShareOfCopy = 0.68;
constexpr double kTilesNorm = 1.26;
constexpr double kAheadShareOfCopy = 0.82;
constexpr double kAheadNorm = 1.6;

double estimate_tiles(const Problem& p, const Kernel& kernel, const Cut& cut, const cuda_abi::Device& device) {
    const std::int64_t segments = divide_up(p.x.outputs, std::int64_t{cut.outputs});
    const auto at = static_cast<std::size_t>(std::find(kWarpCounts.begin(), kWarpCounts.end(), cut.warps) - kWarpCounts.begin());
    const TilesCost& cost = kTilesCosts.at(at);
    const Rows lines = rows_of(p);
    const int in_block = std::max(segments_of_block(kernel, cut.warps, device), 1);
    const PointType type = point_type_of(p);
    const TilesShape shape =
        tiles_shape(p, lines, {p.x.in_stride, p.x.out_stride, 0}, segments, kernel, cut.warps, in_block, device);
    const bool staged = shape.staging.lines != 0 && (shape.ahead || cut.warps > 1);
    const bool whole_lines =
        !staged && std::abs(lines.near.in) == 1 && lines.near.length == std::abs(p.x.in_stride) && lines.near.length <= shape.lines;
    const bool in_pieces = staged && shape.staging.bytes < 16 && std::abs(p.x.in_stride) * lines.input_bytes > kNearTimes;
    double factor = shape.ahead   ? kAheadFactor * (in_pieces ? kAheadInPieces : 1)
                    : staged      ? cost.staged * (in_pieces ? kStagedInPieces : 1)
                    : whole_lines ? cost.whole_lines
                                  : cost.straight;
    if (type.is_complex && !shape.ahead && (!whole_lines || cut.warps > 1)) { factor *= cost.of_complex; }
    if (type.is_wide() && cut.warps == 8) { factor *= kEightWide; }
    if (p.filters > 1) { factor *= kOwnSpectrumInTiles; }
    if (lines.input_bytes < 4) { factor *= kNarrowInTiles; }
    if (lines.output_bytes == 1) {
        const bool from_bytes = cut.warps == 1 && lines.input_bytes == 1;
        factor *= std::abs(p.x.in_stride) == 1 ? kToBytesAlong : from_bytes ? kBytesToBytes : kToBytesAcross;
    }
    const double others = kMeasuredFlops / (device.peak_flops / device.multiprocessors);
    // Samples that come ahead are widened while others wait.
    const double seconds =
        shape.ahead && !type.is_wide() ? kSegmentSeconds.front() * others : segment_seconds(p, cut.warps, device);
    const bool repeats = p.x.boundary != kZero && !staged && edges_of(p, cut) > 0;
    const double at_edges = repeats ? kTilesEdge * edges_of(p, cut) / static_cast<double>(segments) : 0;
    const double alone = (type.is_complex && cut.warps == 2 ? kByTwosAloneSeconds : cost.alone_seconds) * others;
    const auto together_seconds = static_cast<double>(shape.teams * shape.lines) * seconds * factor;
    const double busy = static_cast<double>(shape.rounds()) * std::max(alone, together_seconds) * (1 + at_edges);
    // Parts of a sector that a block copies come from the cache, where its neighbours' have brought them.
    const auto together = static_cast<double>(staged ? std::max(shape.lines, kSectorBytes / lines.input_bytes) : shape.lines);
    // Where lanes go across rows, what a block's lines have side by side of a sector.
    const auto touched = [&](std::int64_t sample, std::int64_t row, int bytes) {
        const bool across = lines.near.length > 1 && row != 0 && std::abs(row) < std::abs(sample);
        if (!across) { return bytes_touched(sample, bytes); }
        // Samples that do not lie on whole sectors touch one more: (459128, 42) f32, 845 taps, H200, 159 us.
        const std::int64_t pitch = std::abs(sample) * bytes;
        const auto on = static_cast<double>(std::min<std::int64_t>(pitch & -pitch, kSectorBytes));
        const double wide = std::max(together * bytes_touched(row, bytes) + kSectorBytes - on, double{kSectorBytes});
        return std::min(wide, static_cast<double>(pitch)) / together;
    };
    const double rows = static_cast<double>(p.batch.length * p.outer_length());
    const double bytes =
        rows * (static_cast<double>(p.x.n) * touched(p.x.in_stride, lines.near.in, stored_bytes(p.dtype)) +
                static_cast<double>(p.x.outputs) * touched(p.x.out_stride, lines.near.out, stored_bytes(p.output_dtype)));
    return cost.start_seconds + (repeats ? kTilesEdgeSeconds : 0) +
           overlapped(busy, bytes / ((shape.ahead ? kAheadShareOfCopy : kTilesShareOfCopy) * device.copy_bytes_per_second),
                      shape.ahead ? kAheadNorm : kTilesNorm);
}

}  // namespace

bool goes_by_tiles(KernelOf kernel_of, const Problem& p, int warps) {
    if (!slow_kernel(kernel_of, p, warps).tiles) { return false; }
    if (p.has_outer() || p.x.in_stride != 1 || p.x.out_stride != 1) { return true; }
    return (p.output_dtype != p.dtype || is_integer(p.dtype)) && !takes_narrow(p, warps);
}

double estimate(KernelOf kernel_of, const Problem& p, const Cut& cut, const cuda_abi::Device& device) {
    if (goes_by_tiles(kernel_of, p, cut.warps)) { return estimate_tiles(p, slow_kernel(kernel_of, p, cut.warps), cut, device); }
    const PointType type = point_type_of(p);
    const double rows = static_cast<double>(p.batch.length);
    const Kernel kernel = fast_kernel(kernel_of, p, cut.warps, device);
    const bool by_rows = !kernel.checked && takes_rows(p, cut.warps, device);
    const double segments =
        by_rows ? rows : (std::ceil(static_cast<double>(p.x.outputs) / cut.outputs) + cost_of_edges(p, cut, type.bytes)) * rows;
    const double at_once = by_rows ? rows_at_once(cut.warps) : std::max(1, segments_of_block(kernel, cut.warps, device));
    const double each = segments / std::max(1, device.multiprocessors / kernel.blocks);
    const double others = kMeasuredFlops / (device.peak_flops / device.multiprocessors);
    const double seconds = by_rows
                               ? row_seconds(p, cut.warps, device) * others
                               : segment_seconds(p, cut.warps, device, kernel.checked) * (p.filters > 1 ? kOwnSpectrumFactor : 1);
    const double alone = by_rows             ? at_once * seconds
                         : kernel.blocks > 1 ? seconds
                                             : alone_seconds(kernel.checked || type.is_wide(), cut.warps);
    // The last round is not full, but takes at least as long as a segment alone.
    const double whole_rounds = std::floor(each / at_once) * at_once;
    const double left = std::ceil(each - whole_rounds);
    const double busy = whole_rounds * seconds + (left > 0 ? std::max(left * seconds, alone) : 0);
    const double bytes =
        rows * (static_cast<double>(p.x.outputs) * stored_bytes(p.output_dtype) + static_cast<double>(p.x.n) * type.bytes) +
        (p.filters > 1 ? static_cast<double>(p.filters) * static_cast<double>(cut.warps) * kPoints * type.point_bytes : 0);
    const double moving = bytes / device.copy_bytes_per_second;
    const bool reads_first = !by_rows && p.filters == 1 && left > 0 && whole_rounds >= kReadFirstRounds * at_once;
    const double start = kernel.blocks > 1
                             ? kClusterStartSeconds
                             : kStartSeconds - (reads_first ? kReadFirstSeconds : 0) + (kernel.checked ? kRepairSeconds : 0);
    return (start + overlapped(busy, moving, kNorm)) * (takes_narrow(p, cut.warps) ? 1 : slowdown_of_layout(p));
}

double estimate_parts(const Problem& p, const Cut& cut, std::int64_t segments_at_once, const cuda_abi::Device& device) {
    const double segments =
        std::ceil(static_cast<double>(p.x.outputs) / cut.outputs) * static_cast<double>(p.batch.length) / device.multiprocessors;
    const double chunks = std::ceil(segments / static_cast<double>(segments_at_once));
    const double parts = static_cast<double>(parts_of(p.x.k, cut).size());
    const double slower = plain_problem(p) && !p.has_outer() ? 1 : kPartsByTiles;
    return parts * (chunks * kPartStartSeconds + std::ceil(segments) * segment_seconds(p, cut.warps, device) * slower);
}

}  // namespace tapline::cuda::overlap_save
