// Rung 10: what it supports, how an image is cut, how it is launched.
#include "cuda/families/image_tiles/image_tiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/shared_memory.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace {

using namespace image_tiles_rung;

constexpr std::int64_t kMostMask = 48;          // of a side; transforms are faster long before
constexpr std::size_t kBlockBytes = 72 * 1024;  // three blocks a multiprocessor
constexpr double kMostElements = 1 << 30;       // that a tile's samples lie apart
constexpr std::int64_t kMostPlanes = 64;        // of a block
constexpr std::int64_t kMostStripsX = 64;       // of a block: 256 outputs of a row
constexpr std::int64_t kMostInterleaved = 4;    // channels that a block takes together, as they share what is read
constexpr int kRowsByColumns = 8;               // of f32, a sector of memory
constexpr std::int64_t kMostBandTurns = 4;      // strips of a small image, in threads
constexpr double kLeastBusy = 0.6;              // share of a block's threads that small images must keep at work

// In multiply-adds of a thread. Fitted on an H200: f32, 4096 x 4096 with 3 x 3, 9 x 9 and 15 x 15 taps 60, 107 and 212 us, flipped
// with 9 x 9 116 us; 60,000 images of 28 x 28 with 5 x 5 taps 214 us, 4,000 of 64 x 64 with 3 x 3 and 9 x 9 66 and 118 us, 100,000
// x 64 with 5 x 5 34 us; u8 and u16 with 3 x 3 and 5 x 5 48 and 73 us.
constexpr double kProductCost = 1.25;
constexpr double kRowCost = 14;     // a chunk of a row of the mask, besides its products
constexpr double kBlockCost = 500;  // where it works
constexpr double kStripCost = 900;  // outputs' way out, and what it waits for
// The same where rows of outputs do not begin on vectors (H100: 3,691 images of 12 x 14, 1 x 1 taps 14 us, 820 of 37 x 367, 1 x 10
// 123).
constexpr double kLooseStripCost = 2200;
constexpr double kVectorCost = 24;   // elements of a window that come together
constexpr double kElementCost = 11;  // and alone
constexpr double kWaitCost = 100;    // for those that are loaded at once
// Of a strip of small images that come in bands, on vectors, otherwise, and of pixels that are widened besides. Fitted on an H100:
// 60,000 images of 28 x 28 with 3 x 3, 5 x 5 and 7 x 7 taps 145, 145 and 214 us, of f16 with 5 x 5 128, reflected 162; 4,000 of 64
// x 64 with 3 x 3, 9 x 9 and 15 x 15 53, 77 and 186; 20,000 of 33 x 29 with 3 x 3 110.
constexpr double kBandStripCost = 500;
constexpr double kLooseBandStripCost = 1700;
constexpr double kNarrowBandCost = 150;
constexpr double kBandEdgeCost = 24;  // of an element beside an image that changes with it
// Times as long with interleaved channels (H100, 4096 x 4096 x 2, 5 x 5 taps 294 us, 307 x 10,010 x 138, 7 x 1 taps 4.9 ms).
constexpr double kInterleaved = 1.2;
// The same of 8 and 16 bits down columns (H200: 8,490 x 4,087 f16, 2 x 1 taps 147 us, 322 x 14,387 with 13 x 1 34, 1,286 x 26,344
// with 18 x 2 178; u8, 1,938 x 1,999 with 5 x 1 21).
constexpr double kNarrowColumns = 0.7;
// And of doubles under a row of taps, few or many (H200: 235 of 308 x 150, 1 tap, 78 us; 10 of 1,838 x 548, 1 x 17 taps, mirrored,
// 97, 11,055 x 1,556, flipped, 1 x 33 224).
constexpr double kLineOfDoubles = 1.15;
constexpr double kLineOfManyDoubles = 1.5;
constexpr std::int64_t kFewDoubles = 8;
constexpr double kStartSeconds = 1.2e-6;  // of a launch that has little to do
constexpr int kBlocksHeld = 4;            // of a multiprocessor

double reach(std::int64_t length, std::int64_t step, std::int64_t packed) {
    return static_cast<double>(length) * static_cast<double>(std::max(std::abs(step), packed));
}

// Elements from an image's first to its last, wherever those of a job lie: packed too.
double span_of(const Problem& p) {
    const std::int64_t channels = p.channels.length;
    return reach(channels, p.channels.in_stride, 1) + reach(p.x.n, p.x.in_stride, channels) +
           reach(p.y.n, p.y.in_stride, channels * p.x.n);
}

// The same of outputs.
double output_span_of(const Problem& p) {
    const std::int64_t channels = p.channels.length;
    return reach(channels, p.channels.out_stride, 1) + reach(p.x.outputs, p.x.out_stride, channels) +
           reach(p.y.outputs, p.y.out_stride, channels * p.x.outputs);
}

// Sums of 32 bits that wrap.
bool sums_integers(const Problem& p) { return p.whole_sums && p.taps_dtype == kI32; }

struct Layout {
    std::int64_t planes, channels, most_planes;
    bool by_columns, by_vectors;
};
Layout layout_of(const Problem& p) {
    Layout l{};
    l.channels = p.channels.length;
    l.planes = p.batch.length * p.channels.length;
    l.by_vectors = p.x.in_stride == 1 && (stored_bytes(p.dtype) < 4 || p.dtype == p.taps_dtype || sums_integers(p));
    const double step = std::max(span_of(p), std::abs(static_cast<double>(p.batch.in_stride)));
    l.most_planes = static_cast<std::int64_t>(std::clamp(kMostElements / step, 1.0, static_cast<double>(kMostPlanes)));
    l.by_columns = std::abs(p.y.in_stride) < std::abs(p.x.in_stride);
    return l;
}

struct Shape {
    Cut cut{};
    double cost = std::numeric_limits<double>::infinity();  // of all blocks, in multiply-adds
    std::size_t shared_bytes = 0;
};

// Of a thread that brings its part of a window.
double loading_cost(const Cut& c, bool as_they_come) {
    const bool by_vectors = c.by_vectors != 0 && c.planes == 1;
    const std::int64_t rows = divide_up(std::int64_t{c.rows} * c.planes, by_vectors ? c.group_rows : c.load_rows);
    const std::int64_t loads = rows * divide_up(c.columns, by_vectors ? kAcross * c.group_columns : c.load_columns);
    const double waiting =
        as_they_come ? 0 : kWaitCost * static_cast<double>(divide_up(loads, by_vectors ? kVectorsAtOnce : kElementsAtOnce));
    return waiting + static_cast<double>(loads) * (by_vectors ? kVectorCost : kElementCost);
}

// Of whole images; no planes: they do not come in bands.
struct BandShape {
    Cut cut{};
    Bands bands{};
    double cost = 0;  // of all blocks, in multiply-adds
    std::size_t shared_bytes = 0;
};

// Products of a strip, and what comes with each row of the mask.
double summing_cost(const Problem& p, double times_single) {
    return kProductCost * times_single * static_cast<double>(kAcross * kDown) * static_cast<double>(p.x.k * p.y.k) +
           kRowCost * chunks_of(static_cast<int>(p.x.k)) * static_cast<double>(p.y.k + kDown);
}

// Whether rows of outputs begin on vectors.
bool is_loose(const Problem& p) { return p.x.out_stride != 1 || p.y.out_stride % kAcross != 0; }

// Floats behind `period` so that what `strips` neighbouring strips read, four floats each, is followed by what the next ones do.
int floats_behind(int period, int strips) {
    constexpr int kVectorsOfBanks = 8;
    return kAcross * (((strips - period / kAcross) % kVectorsOfBanks + kVectorsOfBanks) % kVectorsOfBanks);
}

bool is_unchanging(Boundary boundary) { return boundary == kZero || boundary == kConstant; }

// Whether images lie so that blocks take whole ones: their windows hold all samples, and pixels that are widened come in vectors.
bool may_come_in_bands(const Problem& p, const Layout& l) {
    const auto lies_in_window = [](const core::Axis& axis, std::int64_t of_strip) {
        const std::int64_t window = divide_up(axis.outputs, of_strip) * of_strip + axis.k - 1;
        return axis.origin >= 0 && axis.origin + axis.n <= window && axis.n <= kThreads;
    };
    const bool is_narrow = stored_bytes(p.dtype) < 4;
    if ((p.dtype != kF32 && stored_bytes(p.dtype) > 2) || p.taps_dtype != kF32 || l.by_columns || !lies_in_window(p.x, kAcross) ||
        !lies_in_window(p.y, kDown)) {
        return false;
    }
    const std::int64_t steps[] = {p.x.n, p.y.in_stride, p.batch.in_stride};
    const bool in_vectors = l.channels == 1 && p.x.in_stride == 1 &&
                            std::all_of(std::begin(steps), std::end(steps), [](std::int64_t step) { return step % kAcross == 0; });
    return !is_narrow || in_vectors;
}

// Everything but how many planes a block takes.
BandShape window_of_bands(const Problem& p) {
    BandShape s;
    Cut& c = s.cut;
    const int mask_x = static_cast<int>(p.x.k);
    const int mask_y = static_cast<int>(p.y.k);
    c.strips_x = static_cast<int>(divide_up(p.x.outputs, kAcross));
    c.strips_y = static_cast<int>(divide_up(p.y.outputs, kDown));
    c.rows = c.strips_y * kDown + mask_y - 1;
    c.columns = c.strips_x * kAcross + mask_x - 1;
    c.pitch = kAcross * (c.strips_x + chunks_of(mask_x));
    const bool conflicts = c.strips_x % 8 != 0;
    c.skew = conflicts ? floats_behind(kDown * c.pitch, c.strips_x) : 0;
    const int window = (c.rows + kDown - 1) / kDown * (kDown * c.pitch + c.skew);
    s.bands.plane_pitch = window + (conflicts ? floats_behind(window, c.strips_x * c.strips_y) : 0);
    const bool changes = !is_unchanging(p.x.boundary) || !is_unchanging(p.y.boundary);
    s.bands.edges = changes ? c.rows * c.columns - static_cast<int>(p.x.n * p.y.n) : 0;
    return s;
}

// Of a block's threads in all bands, in multiply-adds.
double cost_of_bands(const Problem& p, const BandShape& s, double turns) {
    const double strip = is_loose(p) || p.x.n % kAcross != 0 ? kLooseBandStripCost : kBandStripCost;
    const double edges = kBandEdgeCost * s.bands.edges * s.cut.planes / (turns * kThreads);
    return static_cast<double>(s.cut.groups) * turns * kThreads *
           (summing_cost(p, 1) + strip + edges + (stored_bytes(p.dtype) < 4 ? kNarrowBandCost : 0));
}

BandShape band_shape_of(const Problem& p, const cuda_abi::Device& device) {
    const Layout l = layout_of(p);
    const std::int64_t strips = divide_up(p.x.outputs, kAcross) * divide_up(p.y.outputs, kDown);
    if (strips > kMostBandTurns * kThreads || !may_come_in_bands(p, l)) { return {}; }
    BandShape s = window_of_bands(p);
    Cut& c = s.cut;
    // Positions within a band are counted in 31 bits; the outputs' too.
    const double out_step = std::max(output_span_of(p), std::abs(static_cast<double>(p.batch.out_stride)));
    const auto most_out = static_cast<std::int64_t>(std::min(kMostElements / out_step, static_cast<double>(kMostPlanes)));
    const std::int64_t most = std::min({kThreads / std::min<std::int64_t>(strips, kThreads), l.most_planes, most_out, l.planes});
    const std::size_t limit = std::min(kBlockBytes, shared_limit(device) / 3);
    for (std::int64_t planes = std::max(most / l.channels, std::int64_t{1}) * l.channels; planes > 0; planes -= l.channels) {
        c.planes = static_cast<int>(planes);
        c.groups = divide_up(l.planes, planes);
        s.bands.stage = c.planes * s.bands.plane_pitch;
        s.shared_bytes = band_bytes_of(c, s.bands, p.y.n, static_cast<int>(p.x.k), static_cast<int>(p.y.k)).all();
        if (s.shared_bytes > limit) { continue; }
        const auto turns = static_cast<double>(divide_up(strips * planes, kThreads));
        const double busy = static_cast<double>(strips * planes) / (turns * kThreads);
        s.cost = cost_of_bands(p, s, turns);
        const bool fills = c.groups >= std::int64_t{kBlocksHeld} * device.multiprocessors;
        return busy >= kLeastBusy && most_out >= planes && fills ? s : BandShape{};
    }
    return {};
}

// With so many strips, fewer where there are not so many.
Shape shape_with(const Problem& p, const Layout& l, std::int64_t strips_x, std::int64_t planes, std::int64_t strips,
                 const cuda_abi::Device& device) {
    const std::int64_t all_x = divide_up(p.x.outputs, kAcross);
    const std::int64_t all_y = divide_up(p.y.outputs, kDown);
    const int mask_x = static_cast<int>(p.x.k);
    const int mask_y = static_cast<int>(p.y.k);
    Shape s;
    Cut& c = s.cut;
    c.strips_x = static_cast<int>(strips_x);
    c.strips_y = static_cast<int>(std::clamp<std::int64_t>(strips / (strips_x * planes), 1, all_y));
    const std::int64_t room = strips / (strips_x * c.strips_y);
    c.planes = static_cast<int>(std::min({planes > 1 ? room / planes * planes : room, l.planes, l.most_planes}));
    c.rows = c.strips_y * kDown + mask_y - 1;
    c.columns = c.strips_x * kAcross + mask_x - 1;
    c.pitch = kAcross * (c.strips_x + chunks_of(mask_x));
    c.by_columns = l.by_columns;
    c.by_vectors = l.by_vectors;
    if (l.by_columns) {
        c.load_rows = kRowsByColumns;
        c.load_columns = kThreads / kRowsByColumns;
    } else {
        c.load_columns = std::min(c.columns, kThreads);
        c.load_rows = kThreads / c.load_columns;
    }
    c.group_columns = (c.columns + kAcross - 1) / kAcross;
    c.group_rows = kThreads / c.group_columns;
    c.tiles_x = divide_up(all_x, c.strips_x);
    c.tiles_y = divide_up(all_y, c.strips_y);
    c.groups = divide_up(l.planes, c.planes);
    c.groups_first = l.channels > 1;
    s.shared_bytes = shared_bytes_of(c, mask_x, mask_y, stored_bytes(p.taps_dtype));
    const double blocks = static_cast<double>(c.tiles_x) * static_cast<double>(c.tiles_y) * static_cast<double>(c.groups);
    const double times_single = p.taps_dtype == kF64 ? std::max(device.single_to_double, 1) : sums_integers(p) ? 2 : 1;
    const double turns = static_cast<double>(divide_up(strips_x * c.strips_y * c.planes, kThreads));
    const int multiprocessors = std::max(device.multiprocessors, 1);
    // Whole rounds of what the device holds, or of blocks that have a multiprocessor to themselves.
    const double held = multiprocessors * (blocks > multiprocessors ? kBlocksHeld : 1.0);
    s.cost = std::ceil(blocks / held) * held * kThreads *
             (kBlockCost + loading_cost(c, p.dtype == p.taps_dtype) +
              turns * (summing_cost(p, times_single) + (is_loose(p) ? kLooseStripCost : kStripCost)));
    return s;
}

// The cheapest that leaves shared memory for three blocks, else one that fits at all.
Shape shape_of(const Problem& p, const cuda_abi::Device& device) {
    const Layout l = layout_of(p);
    const std::int64_t all_x = divide_up(p.x.outputs, kAcross);
    const std::size_t limit = shared_limit(device);
    Shape best;
    const std::int64_t together = l.channels > 1 && l.channels <= kMostInterleaved ? l.channels : 1;
    for (const std::size_t most : {std::min(kBlockBytes, limit), limit}) {
        for (const int strips : {kThreads / 2, kThreads, 2 * kThreads}) {
            for (std::int64_t strips_x = 1; strips_x <= std::min(all_x, kMostStripsX) && strips_x * together <= strips;
                 ++strips_x) {
                const Shape s = shape_with(p, l, strips_x, together, strips, device);
                // As good by a hundredth is not worth narrower tiles.
                if (s.shared_bytes <= most && s.cost < 1.01 * best.cost) { best = s; }
            }
        }
        if (best.shared_bytes != 0) { break; }
    }
    return best;
}

bool has(const Problem& p, Boundary boundary) { return p.x.boundary == boundary || p.y.boundary == boundary; }

// The constant as a pixel; integers keep any, of which sums of integers have the low bits.
double absent_pixel(const Problem& p) {
    if (!has(p, kConstant)) { return 0; }
    const double c = p.constant.real();
    if (sums_integers(p)) { return static_cast<std::int32_t>(static_cast<std::int64_t>(c)); }
    return p.dtype == kF16    ? __half2float(__half(c))
           : p.dtype == kBf16 ? __bfloat162float(__nv_bfloat16(c))
           : p.dtype == kF32  ? static_cast<float>(c)
                              : c;
}

class ImageTiles final : public Rung {
public:
    static constexpr Head kHead{"10", "image_tiles", "", R"(
Idea: a block's windows, of several images if those are small, come to shared memory as floats, with what lies outside already in
place; a thread makes 4 x 4 outputs, and a vector of samples that it loads meets all taps that it belongs to
Changed: any type of pixels and outputs, many small images, transposed, flipped and strided ones cost what plain ones do: what
memory and boundary are like is found once for each row and column of a tile, not for each pixel
Requires: real pixels, of more than 4 bytes with f64 taps only; taps the same for all channels, at most 48 a side
Limited by: multiply-adds from some 5 x 5 taps on, before that instructions that move and convert
)"};

    ImageTiles()
        : Rung(kHead, {.source = "src/cuda/families/image_tiles/image_tiles.cuh", .rank = 2, .takes_pieces = 1, .truncates = 1}) {}

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (is_complex(p.dtype) || is_complex(p.taps_dtype) || (is_integer(p.taps_dtype) && !sums_integers(p))) {
            return "takes real pixels with real taps";
        }
        if (p.taps_dtype != kF64 && stored_bytes(p.dtype) > 4) { return "takes pixels of more than 4 bytes with f64 taps only"; }
        if (p.filters != 1) { return "takes one mask for all channels"; }
        if (p.x.k > kMostMask || p.y.k > kMostMask) { return "takes mask sides of at most " + std::to_string(kMostMask); }
        if (has(p, kZero) && has(p, kConstant)) { return "takes zeros or a constant outside the image, not one for each axis"; }
        if (span_of(p) > kMostElements) { return "counts an image's elements in 30 bits"; }
        if (!p.taps_finite && has(p, kZero)) { return "multiplies zeros outside the image, which an infinite tap must not meet"; }
        if (shape_of(p, device).shared_bytes == 0) { return "its tile does not fit in shared memory"; }
        return {};
    }

    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const double moving = image_bytes_touched(p) / (kShareOfCopy * device.copy_bytes_per_second);
        const BandShape bands = band_shape_of(p, device);
        const double cost = bands.cut.planes != 0 ? bands.cost : shape_of(p, device).cost;
        const double computing = 2 * cost / device.peak_flops;
        const bool narrow_columns = layout_of(p).by_columns && stored_bytes(p.dtype) <= 2 && p.y.n * stored_bytes(p.dtype) >= 32;
        const bool line_of_doubles = p.taps_dtype == kF64 && p.y.k == 1 && p.channels.length == 1;
        const double in_tiles = (p.channels.length > 1 ? kInterleaved : 1) * (narrow_columns ? kNarrowColumns : 1) *
                                (!line_of_doubles      ? 1
                                 : p.x.k > kFewDoubles ? kLineOfManyDoubles
                                                       : kLineOfDoubles) *
                                overlapped(moving, computing, kNorm);
        return kLaunchSeconds + kStartSeconds + in_tiles;
    }

    // (chunks, rows of the mask, kChunkPitch)
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        const auto bytes = static_cast<std::size_t>(stored_bytes(p.taps_dtype));
        const int width = static_cast<int>(p.x.k);
        const int height = static_cast<int>(p.y.k);
        const int chunks = chunks_of(width);
        std::vector<std::byte> to(static_cast<std::size_t>(chunks * height * kChunkPitch) * bytes);
        const auto* from = static_cast<const std::byte*>(prepared.given.taps);
        for (int y = 0; y < height; ++y) {
            for (int x = 0; x < width; ++x, from += bytes) {
                const int chunk = std::min(x / kChunk, chunks - 1);
                const int at = (chunk * height + y) * kChunkPitch + x - chunk * kChunk;
                std::memcpy(to.data() + static_cast<std::size_t>(at) * bytes, from, bytes);
            }
        }
        return to;
    }

    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        if (const int images = prepared.chosen_as<ChosenTiles>().bands.cut.planes; images != 0) {
            return std::to_string(images) + " whole planes a block, the next ones on their way";
        }
        const Cut& c = prepared.chosen_as<ChosenTiles>().shape.cut;
        return "tiles of " + std::to_string(c.strips_y * kDown) + " x " + std::to_string(c.strips_x * kAcross) + " outputs, " +
               std::to_string(c.planes) + " a block";
    }

    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenTiles>();
        chosen->kernel = kernel_of(prepared.problem.taps(), prepared.problem.taps_dtype);
        chosen->shape = shape_of(prepared.problem, prepared.device);
        load_kernel(chosen->kernel, chosen->shape.shared_bytes, prepared.device);
        chosen->bands = band_shape_of(prepared.problem, prepared.device);
        if (chosen->bands.cut.planes != 0) {
            const Problem& p = prepared.problem;
            const auto height = static_cast<int>(p.y.k);
            const auto width = static_cast<int>(p.x.k);
            chosen->band_kernel = band_kernel_of(height, width, stored_bytes(p.dtype));
            if (takes_taps_by_value(height, width)) {
                std::memcpy(chosen->bands.bands.taps, prepared.given.taps,
                            sizeof(float) * static_cast<std::size_t>(height * width));
            }
            load_kernel(chosen->band_kernel, chosen->bands.shared_bytes, prepared.device);
        }
        return chosen;
    }

    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenTiles>();
        TileArguments a{};
        a.out = job.out;
        a.in = job.in;
        a.taps = on_device.tables;
        a.y = {p.y.n,       p.y.origin, job.in_stride, job.out_stride, job.in_first,
               job.in_last, job.first,  job.count,     p.y.boundary,   static_cast<int>(p.y.k)};
        a.x = {p.x.n, p.x.origin, p.x.in_stride, p.x.out_stride, 0, p.x.n, 0, p.x.outputs, p.x.boundary, static_cast<int>(p.x.k)};
        a.channels = p.channels.length;
        a.in_channel = p.channels.in_stride;
        a.out_channel = p.channels.out_stride;
        if (job.packed != 0) {
            a.x.in_stride = a.x.out_stride = a.channels;
            a.in_channel = a.out_channel = 1;
        }
        a.planes = job.batch * a.channels;
        a.in_image = job.in_batch;
        a.out_image = job.out_batch;
        a.input_type = p.dtype;
        a.input_bytes = stored_bytes(p.dtype);
        a.output_bytes = stored_bytes(p.output_dtype);
        set_epilogue(a.common, p);
        a.absent = absent_pixel(p);
        const bool whole = job.first == 0 && job.count == p.y.outputs && job.in_first == 0 && job.in_last == p.y.n;
        if (chosen.band_kernel != nullptr && whole && launch_bands(chosen, a, prepared.device, stream)) { return; }
        a.cut = chosen.shape.cut;
        Cut& c = a.cut;
        c.by_vectors = c.by_vectors != 0 && a.x.in_stride == 1;
        c.store_vectors = stores_vectors(a);
        c.tiles_y = divide_up(job.count, std::int64_t{c.strips_y} * kDown);
        c.groups = divide_up(a.planes, c.planes);
        const double blocks = static_cast<double>(c.tiles_x) * static_cast<double>(c.tiles_y) * static_cast<double>(c.groups);
        if (blocks > static_cast<double>(kMostBlocks)) { refuse_launch(); }
        launch_kernel(chosen.kernel, static_cast<unsigned>(c.tiles_x * c.tiles_y * c.groups), kThreads, chosen.shape.shared_bytes,
                      stream, a);
    }

private:
    struct ChosenTiles final : Chosen {
        Kernel kernel = nullptr;
        Shape shape;
        BandKernel band_kernel = nullptr;  // null: none
        BandShape bands;
    };

    // Whether pixels lie so that bands take them.
    static bool launch_bands(const ChosenTiles& chosen, TileArguments& a, const cuda_abi::Device& device, cudaStream_t stream) {
        Bands b = chosen.bands.bands;
        const auto lies_on = [&](std::int64_t each) {
            const std::int64_t steps[] = {a.x.n, a.y.in_stride, a.in_image};
            return a.x.in_stride == 1 && a.channels == 1 &&
                   reinterpret_cast<std::uintptr_t>(a.in) % static_cast<std::uintptr_t>(a.input_bytes * each) == 0 &&
                   std::all_of(std::begin(steps), std::end(steps), [&](std::int64_t step) { return step % each == 0; });
        };
        const bool is_narrow = a.input_bytes < 4;
        if (is_narrow && !lies_on(kAcross)) { return false; }
        const auto each = [&](std::int64_t count) { return a.x.origin % count == 0 && (is_narrow || lies_on(count)); };
        b.each = each(4) ? 4 : each(2) ? 2 : 1;
        b.across = static_cast<int>(a.x.n) / (is_narrow ? kAcross : b.each);
        b.down = kThreads / b.across;
        if (is_narrow && divide_up(chosen.bands.cut.planes * a.y.n, std::int64_t{b.down}) > kMostHeld) { return false; }
        a.cut = chosen.bands.cut;
        a.cut.store_vectors = stores_vectors(a);
        a.cut.groups = divide_up(a.planes, a.cut.planes);
        const auto blocks = std::min(a.cut.groups, std::int64_t{kBlocksHeld} * std::max(device.multiprocessors, 1));
        launch_kernel(chosen.band_kernel, static_cast<unsigned>(blocks), kThreads, chosen.bands.shared_bytes, stream, a, b);
        return true;
    }

    static constexpr double kNorm = 3;

    static bool stores_vectors(const TileArguments& a) {
        const std::int64_t vector = std::min(kAcross * a.output_bytes, 16);
        const std::int64_t steps[] = {a.y.out_stride, a.out_image, a.out_channel};
        return a.x.out_stride == 1 && reinterpret_cast<std::uintptr_t>(a.out) % static_cast<std::uintptr_t>(vector) == 0 &&
               std::all_of(std::begin(steps), std::end(steps),
                           [&](std::int64_t step) { return step * a.output_bytes % vector == 0; });
    }
    // What lies between a plane's elements comes along: blocks take interleaved channels, but each lane one of them.
    static double image_bytes_touched(const Problem& p) {
        const auto touched = [](std::int64_t x, std::int64_t y, Dtype dtype) {
            return bytes_touched(std::min(std::abs(x), std::abs(y)), stored_bytes(dtype));
        };
        return static_cast<double>(p.samples()) * touched(p.x.in_stride, p.y.in_stride, p.dtype) +
               static_cast<double>(p.outputs()) * touched(p.x.out_stride, p.y.out_stride, p.output_dtype);
    }
};

}  // namespace

const Rung& image_tiles() { return core::only<ImageTiles>(); }

}  // namespace tapline::cuda
