#include "cpu/image_fft/image_fft_tiles.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cpu/fft/fft_tables.hpp"
#include "cpu/overlap_save/overlap_save_shape.hpp"

namespace tapline::cpu {
namespace {

// Loading a tile and storing its outputs, for each complex point: what the transform's own figures leave out. Transforms of several
// rows are beyond the L2 cache and go through a buffer on the way (63x63 on 2048 x 2048 f32: 2^17 points take as long as 2^16).
constexpr double kLoadNs = 0.5;
constexpr double kFarLoadNs = 1.5;
constexpr int kMaxLog2Near = 16;
// A row of a tile's window or of its outputs, however short: 16,909 x 8 pixels of 32 channels under 672 x 1 taps in tiles of 16
// samples take 47 ms on two threads, 9 as signals.
constexpr double kRowNs = 40;
// Whole rows that go straight to their place follow each other: 4,710 x 17 under 115 x 3 taps take 0.27 ms, 300 x 8 under 31 x 7 11
// us (one thread, AVX-512).
constexpr double kWholeRowNs = 6;
// Transforms from this size on share one buffer and all threads; smaller ones where there are few.
constexpr int kAlwaysLog2Shared = 20;
constexpr int kMinLog2Shared = 17;
// Rows of tiles, and their outputs, start at multiples of it: whole cache lines.
constexpr std::int64_t kPitchMultiple = 16;
// Pitches tried grow by this factor; between them the cost is flat.
constexpr double kPitchGrowth = 1.1;

// Turning the points of a transform before and after it.
constexpr double kTurnNs = 0.6;

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Samples behind an axis' last one that may be those before its first one.
std::int64_t wrapped(const core::Axis& a) {
    if (a.boundary != Boundary::zero || a.origin < 0 || a.origin >= a.k) { return 0; }
    return std::max<std::int64_t>(std::min(a.origin, a.outputs + a.k - 1 - a.origin - a.n), 0);
}

// Whether rows of samples and of outputs are copied as they are, where a tile holds all of them.
bool copies_rows(const core::Resolved& p) {
    const std::int64_t pixel = p.channels.length;
    const bool plain = p.x.boundary == Boundary::zero || p.x.boundary == Boundary::constant;
    return plain && !is_complex(p.dtype) && p.filters == 1 && p.dtype == p.sum_dtype && p.output_dtype == p.sum_dtype &&
           p.x.in_stride == pixel && p.x.out_stride == pixel;
}

// One tile that is a plane, in halves if it is real; `shape` has what does not depend on the tile. log2_size 0: none is large
// enough.
ImageFftShape plane_shape(const core::Resolved& p, ImageFftShape shape) {
    shape.plane = true;
    shape.halves = shape.pairs;
    shape.wrapped_rows = wrapped(p.y);
    shape.wrapped_samples = wrapped(p.x) * shape.step;
    shape.out_rows = p.y.outputs;
    shape.out_samples = p.x.outputs * shape.step;
    shape.down = shape.across = 1;
    shape.pairs_down = true;
    shape.pitch = divided_up(shape.out_samples + shape.halo - shape.wrapped_samples, kPitchMultiple) * kPitchMultiple;
    const std::int64_t positions = (shape.out_rows + p.y.k - 1 - shape.wrapped_rows) * shape.pitch;
    shape.log2_size = kMinLog2Fft;
    while ((std::int64_t{shape.halves ? 2 : 1} << shape.log2_size) < positions) { ++shape.log2_size; }
    if (shape.log2_size > kMaxLog2Fft) { return {}; }
    const auto points = std::ldexp(1.0, shape.log2_size);
    const double load = shape.log2_size <= kMaxLog2Near ? kLoadNs : kFarLoadNs;
    shape.seconds = static_cast<double>(shape.planes) * (transform_seconds(shape.log2_size, real_part_of(p.sum_dtype)) +
                                                         (load + (shape.halves ? kTurnNs : 0)) * 1e-9 * points);
    return shape;
}

}  // namespace

ImageFftShape image_fft_shape(const core::Resolved& p, const ImageFftKinds& kinds) {
    ImageFftShape best;
    ImageFftShape shape;
    const std::int64_t together = p.filters > 1 ? 1 : p.channels.length;
    const std::int64_t width = p.x.outputs * together;
    const bool copies = copies_rows(p), of_f64 = real_part_of(p.sum_dtype) == Dtype::f64;
    shape.step = together;
    shape.halo = (p.x.k - 1) * together;
    shape.planes = p.batch.length * (p.channels.length / together);
    shape.pairs = !is_complex(p.dtype);
    for (int log2_size = kMinLog2Fft; log2_size <= kMaxLog2Fft; ++log2_size) {
        const std::int64_t size = std::int64_t{1} << log2_size;
        const double unit = (kinds.checked ? checked_transform_seconds(log2_size, real_part_of(p.sum_dtype))
                                           : transform_seconds(log2_size, real_part_of(p.sum_dtype))) +
                            (log2_size <= kMaxLog2Near ? kLoadNs : kFarLoadNs) * 1e-9 * static_cast<double>(size);
        for (auto pitch = static_cast<double>(shape.halo + kPitchMultiple); pitch <= static_cast<double>(size);
             pitch *= kPitchGrowth) {
            const std::int64_t across = divided_up(width, static_cast<std::int64_t>(pitch) - shape.halo);
            shape.out_samples = std::min(divided_up(divided_up(width, across), kPitchMultiple) * kPitchMultiple, width);
            shape.across = divided_up(width, shape.out_samples);
            shape.pitch = divided_up(shape.out_samples + shape.halo, kPitchMultiple) * kPitchMultiple;
            const std::int64_t rows = size / shape.pitch - p.y.k + 1;
            if (rows < 1) { continue; }
            shape.out_rows = divided_up(p.y.outputs, divided_up(p.y.outputs, rows));
            shape.down = divided_up(p.y.outputs, shape.out_rows);
            const bool whole = copies && shape.across == 1 && log2_size <= (of_f64 ? kMaxLog2Near - 1 : kMaxLog2Near);
            const auto of_rows =
                (whole ? kWholeRowNs : kRowNs) * 1e-9 * static_cast<double>(2 * shape.out_rows + p.y.k - 1) * (shape.pairs ? 2 : 1);
            shape.seconds = static_cast<double>(shape.planes) * static_cast<double>(shape.units()) * (unit + of_rows);
            shape.log2_size = log2_size;
            if (best.log2_size == 0 || shape.seconds < best.seconds) { best = shape; }
        }
    }
    best.pairs_down = best.across % 2 == 1;
    if (kinds.planes && !kinds.checked && p.taps() >= kLeastTapsOfPlanes) {
        const ImageFftShape plane = plane_shape(p, shape);
        if (plane.log2_size > 0 && plane.seconds < best.seconds) { return plane; }
    }
    return best;
}

namespace {

// The taps of an axis that meet a sample at some output: [first, last).
struct Busy {
    std::int64_t first, last;
};
Busy busy_taps(const core::Axis& a) {
    if (a.boundary != Boundary::zero) { return {0, a.k}; }
    const Busy busy{std::max<std::int64_t>(a.origin - (a.outputs - 1), 0), std::min(a.k, a.origin + a.n)};
    return busy.first < busy.last ? busy : Busy{0, a.k};
}
core::Axis with(core::Axis axis, const Busy& busy) {
    axis.origin -= busy.first;
    axis.k = busy.last - busy.first;
    return axis;
}

}  // namespace

core::Resolved without_idle_taps(const core::Resolved& problem, const core::Resolved& whole) {
    core::Resolved p = problem;
    p.y = with(problem.y, busy_taps(whole.y));
    p.x = with(problem.x, busy_taps(whole.x));
    return p;
}

template <class T>
core::Resolved without_idle_taps(const core::Resolved& problem, const core::Resolved& whole, std::vector<T>& taps) {
    const Busy rows = busy_taps(whole.y), columns = busy_taps(whole.x);
    const std::int64_t parts = problem.complex_taps ? 2 : 1, count = (columns.last - columns.first) * parts;
    auto to = taps.begin();
    for (std::int64_t f = 0; f < problem.filters; ++f) {
        for (std::int64_t i = rows.first; i < rows.last; ++i) {
            const std::int64_t from = ((f * problem.y.k + i) * problem.x.k + columns.first) * parts;
            to = std::copy_n(taps.begin() + from, count, to);
        }
    }
    taps.erase(to, taps.end());
    return without_idle_taps(problem, whole);
}
template core::Resolved without_idle_taps<float>(const core::Resolved&, const core::Resolved&, std::vector<float>&);
template core::Resolved without_idle_taps<double>(const core::Resolved&, const core::Resolved&, std::vector<double>&);

bool shares_transforms(const ImageFftShape& shape, int threads) {
    return shape.log2_size >= kAlwaysLog2Shared ||
           (shape.log2_size >= kMinLog2Shared && shape.planes * shape.units() < 2 * threads);
}

ImageFftShape image_fft_part_shape(const ImageFftShape& whole, const core::Resolved& part) {
    ImageFftShape shape = whole;
    const std::int64_t units = std::max<std::int64_t>(whole.planes * whole.units(), 1);
    shape.planes = part.batch.length * (part.filters > 1 ? part.channels.length : 1);
    shape.across = divided_up(part.x.outputs * whole.step, whole.out_samples);
    shape.down = divided_up(part.y.outputs, whole.out_rows);
    shape.seconds *= static_cast<double>(shape.planes * shape.units()) / static_cast<double>(units);
    return shape;
}

std::int64_t ImageFftShape::inner_granularity() const {
    const std::int64_t samples = (pairs ? 2 : 1) * out_samples;
    return samples / std::gcd(samples, step);
}

std::string ImageFftShape::describe() const {
    return "FFT of 2^" + std::to_string(log2_size) + " points, " +
           (halves  ? "halves"
            : plane ? "planes"
                    : "tiles") +
           " of " + std::to_string(out_rows) + " x " + std::to_string(out_samples) + " outputs";
}

ImageFftShape::Pair ImageFftShape::pair(std::int64_t unit) const {
    if (!pairs_down) { return {2 * unit, 2 * unit + 1}; }
    const std::int64_t of_pairs = down / 2 * across;
    if (unit < of_pairs) {
        const std::int64_t first = unit / across * 2 * across + unit % across;
        return {first, first + across};
    }
    const std::int64_t first = 2 * of_pairs + 2 * (unit - of_pairs);
    return {first, first + 1};
}

}  // namespace tapline::cpu
