// Rung 10: images whose rows follow each other, in bands.
#include "cuda/families/image_tiles/image_bands.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/shared_memory.hpp"

namespace tapline::cuda::image_tiles_rung {
namespace {

constexpr std::int64_t kMostChannels = 4;
constexpr std::int64_t kMostImages = 64;      // of a band
constexpr std::int64_t kMostBytes = 1 << 20;  // of a band's samples or outputs, so that they are counted in 31 bits
constexpr int kReservedBytes = 1024;          // of a block's shared memory, by the system
constexpr double kBandCost = 400;             // of a thread, in multiply-adds: where a band is, three barriers
constexpr double kSpreadCost = 7;             // a number of its windows that it puts there
constexpr double kKeptCost = 500;             // a strip's outputs and their way out

// Rows whose elements, and images whose rows, follow each other.
bool rows_follow(const Problem& p) {
    const std::int64_t channels = p.channels.length;
    const bool together = channels == 1 || (p.channels.in_stride == 1 && p.channels.out_stride == 1);
    return together && p.x.in_stride == channels && p.x.out_stride == channels && p.y.in_stride == p.x.n * channels &&
           p.y.out_stride == p.x.outputs * channels;
}
bool images_follow(const Problem& p) {
    return p.batch.length > 1 && p.batch.in_stride == p.y.n * p.y.in_stride && p.batch.out_stride == p.y.outputs * p.y.out_stride;
}

int rounded_up(std::int64_t bytes) { return static_cast<int>((bytes + 16 + 15) / 16 * 16); }

// With so many images, or rows of strips of one.
BandShape shape_with(const Problem& p, std::int64_t images, std::int64_t strips_y, const cuda_abi::Device& device) {
    BandShape s;
    Cut& c = s.cut;
    const std::int64_t channels = p.channels.length;
    const std::int64_t all_y = divide_up(p.y.outputs, kDown);
    const bool whole = strips_y == all_y;
    const int mask_x = static_cast<int>(p.x.k);
    const int mask_y = static_cast<int>(p.y.k);
    c.strips_x = static_cast<int>(divide_up(p.x.outputs, kAcross));
    c.strips_y = static_cast<int>(strips_y);
    c.planes = static_cast<int>(images * channels);
    c.rows = c.strips_y * kDown + mask_y - 1;
    c.columns = c.strips_x * kAcross + mask_x - 1;
    c.pitch = kAcross * (c.strips_x + chunks_of(mask_x));
    c.load_columns = std::min(c.columns, kThreads);
    c.load_rows = kThreads / c.load_columns;
    c.tiles_x = 1;
    c.tiles_y = divide_up(all_y, strips_y);
    c.groups = divide_up(p.batch.length, images);
    const std::int64_t held =
        images * (whole ? p.y.n : std::min<std::int64_t>(c.rows, p.y.n)) * p.y.in_stride * stored_bytes(p.dtype);
    const std::int64_t made =
        images * std::min<std::int64_t>(c.strips_y * kDown, p.y.outputs) * p.y.out_stride * stored_bytes(p.output_dtype);
    if (std::max(held, made) > kMostBytes) { return s; }
    s.band = {static_cast<int>(images), c.tiles_y == 1 ? 1 : 0, 0, rounded_up(held), rounded_up(made),
              c.groups * c.tiles_y,     p.batch.length};
    const auto number = static_cast<std::int64_t>(stored_bytes(p.taps_dtype));
    const std::int64_t sources = (c.rows * c.planes + 3) / 4 * 4 + (c.columns + 3) / 4 * 4;
    const std::int64_t numbers = std::int64_t{chunks_of(mask_x)} * mask_y * kChunkPitch + std::int64_t{c.rows} * c.planes * c.pitch;
    s.shared_bytes = static_cast<std::size_t>(4 * sources + number * numbers + s.band.held_bytes + s.band.output_bytes);
    const std::size_t limit = shared_limit(device);
    if (s.shared_bytes > limit) { return s; }
    const double most_held = p.taps() <= kFewTaps ? 4 : 3;
    const double held_blocks =
        std::min(std::floor(static_cast<double>(limit) / static_cast<double>(s.shared_bytes + kReservedBytes)), most_held);
    const double at_once = std::max(device.multiprocessors, 1) * std::max(held_blocks, 1.0);
    const auto bands = static_cast<double>(s.band.all);
    const double products = kProductCost * static_cast<double>(kAcross * kDown) * static_cast<double>(p.taps());
    const double rows = kRowCost * chunks_of(mask_x) * (mask_y + kDown);
    const double turns = static_cast<double>(divide_up(std::int64_t{c.strips_x} * c.strips_y * c.planes, kThreads));
    const double spread = static_cast<double>(divide_up(c.columns, c.load_columns)) *
                          static_cast<double>(divide_up(std::int64_t{c.rows} * c.planes, 4 * std::int64_t{c.load_rows})) * 4;
    // A block by itself on a multiprocessor takes less than one of several, but not as much less as they are.
    const double rounds = std::ceil(bands / at_once);
    const double alone = bands > std::max(device.multiprocessors, 1) ? at_once : std::max(device.multiprocessors, 1);
    s.cost = rounds * alone * kThreads * (kBandCost + kSpreadCost * spread + turns * (products + rows + kKeptCost));
    return s;
}

}  // namespace

BandShape band_shape_of(const Problem& p, const cuda_abi::Device& device) {
    BandShape best;
    if (p.taps_dtype != kF32 || p.channels.length > kMostChannels || !rows_follow(p)) { return best; }
    const std::int64_t strips_x = divide_up(p.x.outputs, kAcross);
    const std::int64_t all_y = divide_up(p.y.outputs, kDown);
    const auto take = [&](const BandShape& s) {
        if (s.cost < 0.99 * best.cost) { best = s; }
    };
    for (const std::int64_t strips :
         {std::int64_t{kThreads}, kMostStrips, std::int64_t{kThreads / 2}, std::int64_t{kThreads / 4}}) {
        const std::int64_t of_row = strips_x * p.channels.length;
        if (of_row * all_y <= strips && images_follow(p)) {
            take(shape_with(p, std::clamp<std::int64_t>(strips / (of_row * all_y), 1, std::min(kMostImages, p.batch.length)), all_y,
                            device));
        } else if (of_row <= strips) {
            take(shape_with(p, 1, std::min(strips / of_row, all_y), device));
        }
    }
    return best;
}

bool is_in_bands(const TileArguments& a, const BandShape& shape) {
    const std::int64_t channels = a.channels;
    const bool rows = a.x.in_stride == channels && a.x.out_stride == channels && a.y.in_stride == a.x.n * channels &&
                      a.y.out_stride == a.x.outputs * channels && (channels == 1 || (a.in_channel == 1 && a.out_channel == 1));
    const bool whole = a.y.first == 0 && a.y.in_first == 0 && a.y.in_last == a.y.n;
    const bool images = a.in_image == a.y.n * a.y.in_stride && a.out_image == a.y.outputs * a.y.out_stride;
    return std::isfinite(shape.cost) && rows && (shape.band.whole == 0 || (whole && a.y.outputs <= shape.cut.strips_y * kDown)) &&
           (shape.band.images == 1 || images);
}

}  // namespace tapline::cuda::image_tiles_rung
