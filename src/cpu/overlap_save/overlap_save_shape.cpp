#include "cpu/overlap_save/overlap_save_shape.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cpu/fft/fft_tables.hpp"
#include "cpu/targets.hpp"

namespace tapline::cpu {
namespace {

// Nanoseconds a complex point (f32) of load, forward transform, product, inverse and store, for 2^8 to 2^26 points: one
// thread, AVX-512 at 2.7 GHz, 2^24 samples in memory. Other types and instruction sets scale all of it about alike.
constexpr std::array<double, kMaxLog2Fft - kMinLog2Fft + 1> kTransformNs = {
    1.40, 1.45, 1.65, 1.80, 1.86, 2.02, 2.12, 2.28, 2.70, 2.94, 3.20, 4.30, 5.10, 6.00, 6.80, 7.50, 8.20, 8.90, 9.60};
constexpr double kUnitNs = 60;  // the start of a unit
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

double type_factor(const core::Resolved& p) {
    constexpr double kDouble = 1.9;
    constexpr PerTarget<double> kFloat{.avx512 = 1, .avx2 = 1.9, .sse4 = 4, .neon = 4, .scalar = 14};
    const Target target = current_target();
    return kFloat.of(target) * (real_bytes(p) == 8 && target != Target::scalar ? kDouble : 1);
}

int lanes_of(const core::Resolved& p) {
    constexpr PerTarget<int> kVectorBytes{.avx512 = 64, .avx2 = 32, .sse4 = 16, .neon = 16, .scalar = 1};
    return std::max(kVectorBytes.of(current_target()) / static_cast<int>(real_bytes(p)), 1);
}

struct Bytes {
    double filter = 0, data = 0, table = 0;
};

Bytes bytes_of(const core::Resolved& p, int log2_size) {
    Bytes b;
    b.filter = static_cast<double>(p.filters) * static_cast<double>(p.x.k) * static_cast<double>(size_of(p.taps_dtype));
    if (real_bytes(p) == 4) {
        b.data = 4.0 * static_cast<double>(fft_layout<float>(log2_size, lanes_of(p)).extent);
        b.table = static_cast<double>(fft_table_bytes<float>(log2_size, lanes_of(p)));
    } else {
        b.data = 8.0 * static_cast<double>(fft_layout<double>(log2_size, lanes_of(p)).extent);
        b.table = static_cast<double>(fft_table_bytes<double>(log2_size, lanes_of(p)));
    }
    return b;
}

// Buffers of `data` bytes that may be in work beside `spectra` spectra; 0: the shape does not fit.
std::int64_t buffers_within(const Bytes& b, double spectra) {
    const double kept = spectra * b.data + b.filter + b.table;  // the taps themselves are kept for repairs
    const MemoryBound bound(b.filter);
    if (kept > bound.preparing) { return 0; }
    const double left = bound.executing - kept;
    return left < b.data ? 0 : static_cast<std::int64_t>(std::min(left / b.data, 1e6));
}

double transform_ns(int log2_size) { return kTransformNs[static_cast<std::size_t>(log2_size - kMinLog2Fft)]; }

}  // namespace

double units_of(const core::Resolved& p, std::int64_t block) {
    const double together = pairing_of(p) == Pairing::complex_signal ? 1 : 2;
    if (p.x.n == kUnknownLength) { return static_cast<double>(p.batch.length) / (together * static_cast<double>(block)); }
    const double segments = std::ceil(static_cast<double>(p.x.outputs) / static_cast<double>(block));
    switch (pairing_of(p)) {
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

double transform_seconds(int log2_size, Dtype dtype) {
    core::Resolved problem;
    problem.dtype = dtype;
    return type_factor(problem) * 1e-9 * (transform_ns(log2_size) * std::ldexp(1.0, log2_size) + kUnitNs);
}

MemoryBound::MemoryBound(double filter_bytes)
    : preparing(kFixedBytes + kFiltersPreparing * filter_bytes), executing(kFixedBytes + kFilters * filter_bytes) {}

Pairing pairing_of(const core::Resolved& p) {
    if (is_complex(p.dtype)) { return Pairing::complex_signal; }
    return p.batch.length > 1 && p.filters == 1 ? Pairing::rows : Pairing::segments;
}

OverlapSaveShape overlap_save_shape(const core::Resolved& p, int threads) {
    OverlapSaveShape best;
    best.seconds = std::numeric_limits<double>::infinity();
    for (int m = kMinLog2Fft; m <= kMaxLog2Fft; ++m) {
        const std::int64_t size = std::int64_t{1} << m;
        const std::int64_t block = (size - p.x.k + 1) / kBlockMultiple * kBlockMultiple;
        if (block < kBlockMultiple) { continue; }
        const double points = static_cast<double>(size);
        const double seconds = 1e-9 * type_factor(p) * units_of(p, block) * (points * transform_ns(m) + kUnitNs);
        if (seconds >= best.seconds) { continue; }
        const std::int64_t buffers = buffers_within(bytes_of(p, m), static_cast<double>(p.filters));
        if (buffers == 0) { break; }
        best = {m, block, 1, 1, false, 1, seconds};
        set_slots(best, p, units_of(p, block), buffers, threads);
    }
    return best;
}

OverlapSaveShape partitioned_shape(const core::Resolved& p, int threads) {
    OverlapSaveShape best;
    best.seconds = std::numeric_limits<double>::infinity();
    for (int m = kMinLog2Fft; m <= kMaxLog2Fft; ++m) {
        const std::int64_t size = std::int64_t{1} << m;
        if (m > kMinLog2Fft && size > p.x.k / 2) { break; }  // at least four parts, or the smallest size
        const std::int64_t block = size / 2;
        const std::int64_t partitions = (p.x.k + block - 1) / block;
        // One buffer for the input's spectrum, the others for sums.
        const std::int64_t buffers =
            buffers_within(bytes_of(p, m), static_cast<double>(p.filters) * static_cast<double>(partitions));
        if (buffers < 2) { continue; }
        const std::int64_t group = std::clamp<std::int64_t>(buffers / 2 - 1, 1, std::min<std::int64_t>(partitions, 64));
        // Blocks of input that are not zero throughout, and transforms of them, for each unit.
        double blocks = static_cast<double>(partitions);
        if (p.x.n != kUnknownLength && p.x.boundary == Boundary::zero) {
            blocks = std::min(blocks, static_cast<double>(p.x.n) / static_cast<double>(block) + 2);
        }
        const double step = pairing_of(p) == Pairing::segments ? 2 : 1;
        const double transforms = std::min(blocks, blocks / static_cast<double>(group) + step) / 2 + 0.5;
        const double multiply = size > kNearPoints ? kMultiplyAddFarNs : kMultiplyAddNs;
        const double unit_ns = static_cast<double>(size) * (transforms * transform_ns(m) + blocks * multiply) + kUnitNs;
        const double seconds = 1e-9 * type_factor(p) * units_of(p, block) * unit_ns;
        if (seconds >= best.seconds) { continue; }
        best = {m, block, partitions, group, false, 1, seconds};
        set_slots(best, p, units_of(p, block) / static_cast<double>(group), buffers / (group + 1), threads);
    }
    return best;
}

double seconds_on(const OverlapSaveShape& shape, int threads) {
    const double workers = shape.shared ? threads : shape.slots;
    return shape.seconds / (1 + (workers - 1) * kSharedEfficiency);
}

}  // namespace tapline::cpu
