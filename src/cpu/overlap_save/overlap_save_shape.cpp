#include "cpu/overlap_save/overlap_save_shape.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/plan/parallel.hpp"
#include "cpu/fft/fft_tables.hpp"
#include "cpu/targets.hpp"

namespace tapline::cpu {
namespace {

// Nanoseconds a complex point of load, forward transform, product, inverse and store, for 2^8 to 2^26 points, one thread: f32 with
// AVX-512 at 2.7 GHz, 2^24 samples in memory; f32 and f64 with AVX2 (AMD EPYC, 32 KiB of L1 and 512 of L2, where the buffers of
// 2^12 and 2^16 points of f32 no longer fit), samples in the caches, from 2^22 on as AVX-512's grow. Other types and instruction
// sets scale AVX-512's about alike.
using TransformNs = std::array<double, kMaxLog2Fft - kMinLog2Fft + 1>;
constexpr TransformNs kTransformNs = {1.40, 1.45, 1.65, 1.80, 1.86, 2.02, 2.12, 2.28, 2.70, 2.94,
                                      3.20, 4.30, 5.10, 6.00, 6.80, 7.50, 8.20, 8.90, 9.60};
constexpr TransformNs kTransformNsAvx2 = {1.93, 1.91, 2.04, 2.23, 3.01, 3.51, 3.84, 4.14, 5.00, 5.40,
                                          9.70, 11.7, 13.4, 15.0, 16.5, 18.0, 19.5, 21.0, 22.5};
constexpr TransformNs kTransformNsAvx2Double = {3.57, 3.93, 4.34, 5.82, 7.14, 7.57, 8.17, 8.84, 9.60, 10.7,
                                                16.4, 23.7, 25.6, 28.7, 31.0, 33.5, 36.0, 38.5, 41.0};
// The same of a checked transform of f32 samples in double, AVX2 and up to 2^20 points.
constexpr TransformNs kCheckedNs = {4.7,  5.1,  5.7,  6.4,  7.2,  8.3,  8.8,  11.2, 13.9, 14.2,
                                    14.7, 22.0, 23.0, 26.0, 29.0, 32.0, 35.0, 38.0, 41.0};
constexpr double kUnitNs = 60;  // the start of a unit
// The energies of a unit's chunks, their sum and their comparison, as they do not grow with the transform.
constexpr double kCheckedUnitNs = 200;
// The windows at a signal's ends are gathered and looked at cell by cell. Less than 40 us are not worth dividing inside transforms.
constexpr double kEdgeSeconds = 2e-6;
constexpr double kSerialSeconds = 40e-6;
constexpr double kCheckedEfficiency = 0.9;  // of a further thread, which computes more for each byte than plain transforms do
// Beside the transform's buffer a window and sums take as much again, and a bit for each output.
constexpr double kCheckedBuffers = 2.1;
// Samples of f64 in two parts: two transforms there, two back, four products; a buffer each for both parts and for sums, and what
// is known of groups of samples and outputs.
constexpr double kSplitFactor = 2.7, kSplitBuffers = 3.1;
// Multiply-add of two spectra, a point: within the L2 cache, and from further away.
constexpr double kMultiplyAddNs = 0.25;
constexpr double kMultiplyAddFarNs = 1.2;
constexpr std::int64_t kNearPoints = std::int64_t{1} << 15;
// Transforms that may share one buffer and all threads, and those that always do. Between the two it costs 10 to 20% more
// than transforms side by side (each thread keeps to its own cache), so it is left to few units and little memory.
constexpr int kMinLog2Shared = 17;
constexpr int kAlwaysLog2Shared = 20;
// One pass over memory that all threads share grows less than the threads do.
constexpr double kSharedEfficiency = 0.8;

// Input, output, 64 MiB and six times the filter is the bound for everything. Kept back: 8 MiB for the plan, its caller and
// the threads; a quarter filter. While plans are made the caller's copy of the taps takes one filter, later the workspace may.
constexpr double kFixedBytes = 56.0 * (1 << 20);
constexpr double kFilters = 5.75;
constexpr double kFiltersPreparing = 4.75;

std::size_t real_bytes(const core::Resolved& p) { return size_of(real_part_of(p.dtype)); }

// What one point takes beside AVX-512's of f32, of products for instance.
constexpr double kDouble = 1.9;
constexpr PerTarget<double> kFloat{.avx512 = 1, .avx2 = 1.4, .sse4 = 4, .neon = 4, .scalar = 14};

double type_factor(std::size_t real_bytes) {
    const Target target = current_target();
    return kFloat.of(target) * (real_bytes == 8 && target != Target::scalar ? kDouble : 1);
}

int lanes_of(std::size_t real_bytes) {
    constexpr PerTarget<int> kVectorBytes{.avx512 = 64, .avx2 = 32, .sse4 = 16, .neon = 16, .scalar = 1};
    return std::max(kVectorBytes.of(current_target()) / static_cast<int>(real_bytes), 1);
}

struct Bytes {
    double filter = 0, data = 0, table = 0;
};

// `real_bytes`: in which transforms are made.
Bytes bytes_of(const core::Resolved& p, std::size_t real_bytes, int log2_size) {
    Bytes b;
    b.filter = static_cast<double>(p.filters) * static_cast<double>(p.x.k) * static_cast<double>(size_of(p.taps_dtype));
    if (real_bytes == 4) {
        b.data = 4.0 * static_cast<double>(fft_layout<float>(log2_size, lanes_of(real_bytes)).extent);
        b.table = static_cast<double>(fft_table_bytes<float>(log2_size, lanes_of(real_bytes)));
    } else {
        b.data = 8.0 * static_cast<double>(fft_layout<double>(log2_size, lanes_of(real_bytes)).extent);
        b.table = static_cast<double>(fft_table_bytes<double>(log2_size, lanes_of(real_bytes)));
    }
    return b;
}

// Units, of so many buffers of `data` bytes each, that may be in work beside `spectra` spectra; 0: the shape does not fit.
std::int64_t buffers_within(const Bytes& b, double spectra, double buffers = 1) {
    const double kept = spectra * b.data + b.filter + b.table;  // the taps themselves are kept for repairs
    const MemoryBound bound(b.filter);
    if (kept > bound.preparing) { return 0; }
    const double left = bound.executing - kept;
    return left < buffers * b.data ? 0 : static_cast<std::int64_t>(std::min(left / (buffers * b.data), 1e6));
}

}  // namespace

double units_of(const core::Resolved& p, std::int64_t block, Pairing pairing) {
    const double together = pairing == Pairing::complex_signal ? 1 : 2;
    if (p.x.n == kUnknownLength) { return static_cast<double>(p.batch.length) / (together * static_cast<double>(block)); }
    const double segments = std::ceil(static_cast<double>(p.x.outputs) / static_cast<double>(block));
    switch (pairing) {
        case Pairing::complex_signal:
            return static_cast<double>(p.batch.length) * segments;
        case Pairing::segments:
            return static_cast<double>(p.batch.length) * std::ceil(segments / 2);
        default:
            return static_cast<double>(p.batch.length / 2) * segments +
                   static_cast<double>(p.batch.length % 2) * std::ceil(segments / 2);
    }
}

void set_slots(OverlapSaveShape& shape, const core::Resolved& p, double wanted, std::int64_t fitting, int threads) {
    const bool few = fitting < threads || (p.x.n != kUnknownLength && wanted < 2 * threads);
    shape.shared = shape.log2_size >= kAlwaysLog2Shared || (shape.log2_size >= kMinLog2Shared && few);
    shape.slots = shape.shared ? 1 : static_cast<int>(std::clamp<std::int64_t>(fitting, 1, threads));
}

namespace {

// Of a point of a transform and of all around it.
double transform_ns(std::size_t real_bytes, int log2_size) {
    const auto at = static_cast<std::size_t>(log2_size - kMinLog2Fft);
    if (current_target() == Target::avx2) { return real_bytes == 8 ? kTransformNsAvx2Double[at] : kTransformNsAvx2[at]; }
    return type_factor(real_bytes) * kTransformNs[at];
}

// Nanoseconds of a unit with its transform.
double plain_unit_ns(std::size_t real_bytes, int m) {
    return std::ldexp(transform_ns(real_bytes, m), m) + type_factor(real_bytes) * kUnitNs;
}
double checked_unit_ns(int m) {
    const double factor = type_factor(sizeof(double)) / (kFloat.avx2 * kDouble);
    return factor * (std::ldexp(kCheckedNs[static_cast<std::size_t>(m - kMinLog2Fft)], m) + kCheckedUnitNs);
}

double split_unit_ns(int m) { return kSplitFactor * plain_unit_ns(sizeof(double), m); }

// What transforms do for an output: plain ones; in double, checked, of samples of f32; the same of samples of f64 in two parts.
enum class Kind { plain, checked, split };

struct KindFacts {
    std::size_t real_bytes;  ///< of the transforms
    double spectra;          ///< of a filter
    double buffers;          ///< of a unit
};
KindFacts facts_of(Kind kind, const core::Resolved& p) {
    switch (kind) {
        case Kind::checked:
            return {sizeof(double), 1, kCheckedBuffers};
        case Kind::split:
            return {sizeof(double), 2, kSplitBuffers};
        default:
            return {real_bytes(p), 1, 1};
    }
}

double unit_ns(Kind kind, const core::Resolved& p, int m) {
    switch (kind) {
        case Kind::checked:
            return checked_unit_ns(m);
        case Kind::split:
            return split_unit_ns(m);
        default:
            return plain_unit_ns(real_bytes(p), m);
    }
}

OverlapSaveShape cheapest_shape(const core::Resolved& p, int threads, Kind kind, Pairing pairing) {
    const KindFacts facts = facts_of(kind, p);
    OverlapSaveShape best;
    best.seconds = std::numeric_limits<double>::infinity();
    for (int m = kMinLog2Fft; m <= kMaxLog2Fft; ++m) {
        const std::int64_t size = std::int64_t{1} << m;
        const std::int64_t block = (size - p.x.k + 1) / kBlockMultiple * kBlockMultiple;
        if (block < kBlockMultiple) { continue; }
        const double unit_seconds = 1e-9 * unit_ns(kind, p, m);
        const double seconds = units_of(p, block, pairing) * unit_seconds;
        if (seconds >= best.seconds) { continue; }
        const std::int64_t buffers =
            buffers_within(bytes_of(p, facts.real_bytes, m), facts.spectra * static_cast<double>(p.filters), facts.buffers);
        if (buffers == 0) { break; }
        best = {m, block, 1, 1, false, 1, seconds, unit_seconds, pairing};
        set_slots(best, p, units_of(p, block, pairing), buffers, threads);
    }
    return best;
}

}  // namespace

double transform_seconds(int log2_size, Dtype dtype) { return 1e-9 * plain_unit_ns(size_of(dtype), log2_size); }

MemoryBound::MemoryBound(double filter_bytes)
    : preparing(kFixedBytes + kFiltersPreparing * filter_bytes), executing(kFixedBytes + kFilters * filter_bytes) {}

Pairing pairing_of(const core::Resolved& p, bool rows_alone) {
    if (is_complex(p.dtype)) { return Pairing::complex_signal; }
    return !rows_alone && p.batch.length > 1 && p.filters == 1 ? Pairing::rows : Pairing::segments;
}

std::int64_t overlap_save_granularity(const core::Resolved& problem, const OverlapSaveShape& shape) {
    const bool pairs = shape.pairing == Pairing::segments || (shape.pairing == Pairing::rows && problem.batch.length % 2 == 1);
    return shape.block * (pairs ? 2 : 1);
}

double checked_transform_seconds(int log2_size, Dtype dtype) {
    return 1e-9 * (dtype == Dtype::f64 ? split_unit_ns(log2_size) : checked_unit_ns(log2_size));
}

OverlapSaveShape overlap_save_shape(const core::Resolved& p, int threads, bool rows_alone) {
    return cheapest_shape(p, threads, Kind::plain, pairing_of(p, rows_alone));
}

OverlapSaveShape checked_shape(const core::Resolved& p, int threads, bool rows_alone) {
    const Kind kind = real_bytes(p) == sizeof(double) ? Kind::split : Kind::checked;
    OverlapSaveShape shape = cheapest_shape(p, threads, kind, pairing_of(p, rows_alone));
    const bool known = p.x.n != kUnknownLength;
    if (known && shape.seconds < kSerialSeconds) {
        shape.shared = false;
        shape.slots = 1;
    }
    return shape;
}

double checked_seconds_on(const core::Resolved& p, const OverlapSaveShape& shape, int threads) {
    const bool known = p.x.n != kUnknownLength;
    double workers = shape.shared ? threads : core::worthwhile_threads(shape.seconds, shape.slots);
    if (known && !shape.shared) { workers = std::min(workers, std::max(units_of(p, shape.block, shape.pairing), 1.0)); }
    const double efficiency = shape.shared ? kSharedEfficiency : kCheckedEfficiency;
    const double overhead = known ? kEdgeSeconds : 0;
    return shape.seconds / (1 + (workers - 1) * efficiency) + overhead;
}

OverlapSaveShape partitioned_shape(const core::Resolved& p, int threads, bool rows_alone) {
    const Pairing pairing = pairing_of(p, rows_alone);
    OverlapSaveShape best;
    best.seconds = std::numeric_limits<double>::infinity();
    for (int m = kMinLog2Fft; m <= kMaxLog2Fft; ++m) {
        const std::int64_t size = std::int64_t{1} << m;
        const std::int64_t block = size / 2;
        if (m > kMinLog2Fft && block >= p.x.k) { break; }  // at least two parts, or the smallest size
        const std::int64_t partitions = (p.x.k + block - 1) / block;
        // One buffer for the input's spectrum, the others for sums.
        const std::int64_t buffers =
            buffers_within(bytes_of(p, real_bytes(p), m), static_cast<double>(p.filters) * static_cast<double>(partitions));
        if (buffers < 2) { continue; }
        const std::int64_t group = std::clamp<std::int64_t>(buffers / 2 - 1, 1, std::min<std::int64_t>(partitions, 64));
        // Blocks of input that are not zero throughout, and transforms of them, for each unit.
        double blocks = static_cast<double>(partitions);
        if (p.x.n != kUnknownLength && p.x.boundary == Boundary::zero) {
            blocks = std::min(blocks, static_cast<double>(p.x.n) / static_cast<double>(block) + 2);
        }
        const double step = pairing == Pairing::segments ? 2 : 1;
        const double transforms = std::min(blocks, blocks / static_cast<double>(group) + step) / 2 + 0.5;
        const double multiply = size > kNearPoints ? kMultiplyAddFarNs : kMultiplyAddNs;
        const double products = static_cast<double>(size) * blocks * multiply + kUnitNs;
        const double unit_seconds = 1e-9 * (static_cast<double>(size) * transforms * transform_ns(real_bytes(p), m) +
                                            type_factor(real_bytes(p)) * products);
        const double seconds = units_of(p, block, pairing) * unit_seconds;
        if (seconds >= best.seconds) { continue; }
        best = {m, block, partitions, group, false, 1, seconds, unit_seconds, pairing};
        set_slots(best, p, units_of(p, block, pairing) / static_cast<double>(group), buffers / (group + 1), threads);
    }
    return best;
}

double seconds_on(const OverlapSaveShape& shape, int threads) {
    const double workers = shape.shared ? threads : core::worthwhile_threads(shape.seconds, shape.slots);
    const double seconds = shape.seconds / (1 + (workers - 1) * kSharedEfficiency);
    if (shape.shared || shape.seconds < shape.unit_seconds) { return seconds; }
    // Few units: the last ones keep some threads waiting.
    return std::max(seconds, std::ceil(shape.seconds / shape.unit_seconds / workers - 1e-3) * shape.unit_seconds);
}

}  // namespace tapline::cpu
