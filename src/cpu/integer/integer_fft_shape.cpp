#include "cpu/integer/integer_fft_shape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/fft/fft.hpp"
#include "cpu/integer/integer_levels.hpp"

namespace tapline::cpu {
namespace {

using core::Resolved;

// Digits as they come are spread evenly: their root mean square is so much of the largest.
constexpr double kEven = 0.57735;

int ceil_div(int a, int b) { return (a + b - 1) / b; }

using Norms = std::array<double, LimbWays::kMostLimbs>;

Norms largest_norms(const Limbs& limbs, int bits, double values) {
    Norms norms{};
    for (int j = 0; j < limbs.count; ++j) { norms[static_cast<std::size_t>(j)] = limbs.largest(j, bits) * std::sqrt(values); }
    return norms;
}

struct TapNorms {
    Norms worst, even;
};

TapNorms tap_norms(const Limbs& limbs, const core::TapsFacts& facts, std::int64_t k) {
    const double root = std::sqrt(static_cast<double>(k));
    TapNorms norms;
    for (int j = 0; j < limbs.count; ++j) {
        const auto at = static_cast<std::size_t>(j);
        if (j + 1 < limbs.count || limbs.modulo_bits != 0) {
            norms.worst[at] = limbs.largest(j, 0) * root;
            norms.even[at] = kEven * norms.worst[at];
        } else {  // what is left, rounded to an integer
            const double rest = std::ldexp(facts.norm_of_taps, -limbs.base * j);
            norms.worst[at] = limbs.count == 1 ? std::max(facts.norm_of_taps, 1.0) : rest + root;
            norms.even[at] = limbs.count == 1 ? norms.worst[at] : rest + kEven * root;
        }
    }
    return norms;
}

// Nanoseconds a sample, an output and a point beside the transforms, with AVX2; what other instruction sets make of them.
// Measured at 2^10 to 2^16 points and 1 to 4 limbs.
constexpr double kLoadNs = 0.35;
constexpr double kJoinNs = 0.25;
constexpr double kStoreNs = 0.4;
constexpr double kProductNs = 0.4;
// Transforms that find their data in a cache take so much of what transform_seconds() says, which counts memory's part (0.75 if
// nobody else uses the cache).
constexpr double kInCache = 0.85;
constexpr int kInCacheLog2 = 16;
// Products that are added to the sums of a unit, a point: within the caches, and from further away.
constexpr double kAddNearNs = 0.9;
constexpr double kAddFarNs = 3;
constexpr int kNearLog2 = 14;
constexpr double kScaleNs = 2.2;
// Fewer are not worth their products.
constexpr std::int64_t kLeastPartitions = 4;
constexpr PerTarget<double> kBeside{.avx512 = 0.6, .avx2 = 1, .sse4 = 1.7, .neon = 1.7, .scalar = 4};

// A transform or an inverse one of 2^log2_size points.
double seconds_one_way(int log2_size) {
    return (log2_size <= kInCacheLog2 ? kInCache : 1) * transform_seconds(log2_size, Dtype::f64) / 2;
}

class Search {
public:
    Search(const Resolved& problem, const core::TapsFacts& facts, int modulo_bits, int threads)
        : problem_(problem),
          facts_(facts),
          modulo_bits_(modulo_bits),
          threads_(threads),
          bits_(bits_of(or_bits_of(problem.dtype))) {
        tap_bits_ = facts.largest_tap <= 1 ? 0 : static_cast<int>(std::ceil(std::log2(facts.largest_tap)));
        likely_bits_ = likely_bits(problem, facts, modulo_bits);
    }

    IntegerFftShape best() {
        for (int m = kMinLog2Fft; m <= kMaxLog2Fft; ++m) {
            const std::int64_t size = std::int64_t{1} << m;
            OverlapSaveShape blocks;
            blocks.log2_size = m;
            blocks.pairing = pairing_of(problem_);
            blocks.block = (size - problem_.x.k + 1) / kBlockMultiple * kBlockMultiple;
            if (blocks.block >= kBlockMultiple) { try_limbs(blocks); }
            blocks.block = size / 2;
            blocks.partitions = (problem_.x.k + blocks.block - 1) / blocks.block;
            if (blocks.partitions >= kLeastPartitions) { try_limbs(blocks); }
        }
        return best_;
    }

private:
    // Taps' limbs of as few bits as their number allows, and of as many as the samples' limbs have then.
    void try_limbs(const OverlapSaveShape& blocks) {
        if (blocks.partitions == 1 && seconds_at_least(blocks, 1, 1) >= best_.blocks.seconds) { return; }
        try_taps(blocks, {});
        const int kept = modulo_bits_ == 0 ? tap_bits_ + 1 : std::min(tap_bits_ + 1, modulo_bits_);
        const bool cut = modulo_bits_ != 0 && tap_bits_ + 1 > modulo_bits_;
        if (cut) { try_taps(blocks, {modulo_bits_, 1, modulo_bits_}); }
        for (int count = 2; count <= LimbWays::kMostLimbs && count <= kept; ++count) {
            if (seconds_at_least(blocks, blocks.partitions == 1 ? 1 : 0, count) >= best_.blocks.seconds) { return; }
            const int least = ceil_div(kept, count);
            int before = 0;
            for (int samples = LimbWays::kMostLimbs; samples >= 1; --samples) {
                const int base = std::max(least, ceil_div(likely_bits_ + 1, samples));
                if (base == before || base > 30 || base * (count - 1) >= std::min(kept, 64)) { continue; }
                before = base;
                try_taps(blocks, {base, count, cut ? modulo_bits_ : 0});
            }
        }
    }

    // Real numbers that the transforms of a unit take in.
    static double values_of(const OverlapSaveShape& blocks) {
        return std::ldexp(2.0, blocks.log2_size) * static_cast<double>(blocks.partitions);
    }

    void try_taps(OverlapSaveShape blocks, const Limbs& taps) {
        const TapNorms norms = tap_norms(taps, facts_, problem_.x.k);
        const LimbWays likely_ways(taps, likely_bits_, modulo_bits_);
        const auto* const likely = std::find_if(likely_ways.begin(), likely_ways.end(), [&](const LimbWay& way) {
            Norms samples = largest_norms(way.samples, likely_bits_, values_of(blocks));
            for (double& norm : samples) { norm *= kEven; }
            return error_of(way, samples.data(), norms.even.data(), blocks.log2_size, blocks.partitions) <= kMostError;
        });
        if (likely == likely_ways.end()) { return; }
        IntegerFftShape shape{blocks, taps};
        if (blocks.partitions == 1 && seconds_of(shape, likely->products) >= best_.blocks.seconds) { return; }
        shape.most_outputs = outputs_of_any(blocks, taps, norms);
        const std::int64_t fitting = shape.most_outputs == 0 ? 0 : fit(shape);
        if (fitting == 0) { return; }
        shape.blocks.seconds = seconds_of(shape, likely->products);
        if (shape.blocks.seconds >= best_.blocks.seconds) { return; }
        shape.blocks.unit_seconds = shape.blocks.seconds / units_of(problem_, blocks.block, blocks.pairing);
        set_slots(shape.blocks, problem_,
                  units_of(problem_, blocks.block, blocks.pairing) / static_cast<double>(shape.blocks.group), fitting, threads_);
        best_ = shape;
    }

    // The most outputs of the ways up to the first that is exact whatever the samples are; 0: there is none.
    [[nodiscard]] int outputs_of_any(const OverlapSaveShape& blocks, const Limbs& taps, const TapNorms& norms) const {
        int most = 1;
        const LimbWays ways(taps, bits_, modulo_bits_);
        for (const LimbWay& way : ways) {
            most = std::max({most, way.products.outputs, way.products.samples});
            const Norms samples = largest_norms(way.samples, bits_, values_of(blocks));
            const double error = error_of(way, samples.data(), norms.worst.data(), blocks.log2_size, blocks.partitions);
            if (error <= kMostError) { return most; }
        }
        return 0;
    }

    // Slots for which there is memory; decides how many units form a group and whether spectra are kept.
    std::int64_t fit(IntegerFftShape& shape) const {
        OverlapSaveShape& blocks = shape.blocks;
        const int lanes = fft_kernels<double>(current_target()).lanes;
        const auto data = 8.0 * static_cast<double>(fft_layout<double>(blocks.log2_size, lanes).extent);
        const double taps = 8.0 * static_cast<double>(problem_.filters) * static_cast<double>(problem_.x.k);
        const double spectra = static_cast<double>(problem_.filters * shape.taps.count * blocks.partitions);
        const auto table = static_cast<double>(fft_table_bytes<double>(blocks.log2_size, lanes));
        const MemoryBound bound(taps);
        // Direct sums, which filters of one part may use, have the taps in forms of 8, 4 and 2 bytes.
        double kept = spectra * data + (blocks.partitions == 1 ? 1.75 * taps : 0) + table;
        double buffers = shape.most_outputs;
        if (kept > bound.preparing) {
            if (blocks.partitions == 1) { return 0; }
            shape.keeps_spectra = false;
            kept = taps + table;
        }
        const double samples = std::ldexp(2.0, blocks.log2_size) * static_cast<double>(size_of(problem_.dtype));
        const double left = bound.executing - kept;
        if (blocks.partitions > 1) {
            if (!shape.keeps_spectra) { buffers += shape.taps.count; }
            // Of one of two slots.
            const double group = (left / 2 - samples - buffers * data) / (shape.most_outputs * data);
            blocks.group =
                static_cast<std::int64_t>(std::clamp(group, 1.0, std::min(static_cast<double>(blocks.partitions), 64.0)));
            buffers += static_cast<double>(shape.most_outputs * blocks.group);
        }
        const double slot = buffers * data + samples;
        return left < slot ? 0 : static_cast<std::int64_t>(std::min(left / slot, 1e6));
    }

    [[nodiscard]] double seconds_of(const IntegerFftShape& shape, const LimbProducts& products) const {
        return seconds_of_unit(problem_, shape, products) * units_of(problem_, shape.blocks.block, shape.blocks.pairing);
    }

    [[nodiscard]] double seconds_at_least(const OverlapSaveShape& blocks, int samples, int outputs) const {
        return (samples + outputs) * seconds_one_way(blocks.log2_size) * units_of(problem_, blocks.block, blocks.pairing);
    }

    const Resolved& problem_;
    const core::TapsFacts& facts_;
    int modulo_bits_, threads_;
    int bits_, tap_bits_, likely_bits_;
    IntegerFftShape best_{.blocks = {.seconds = std::numeric_limits<double>::infinity()}, .taps = {}};
};

}  // namespace

void LimbWays::add(const Limbs& taps, int base, int ratio, int bits, int modulo_bits, int count) {
    const bool cut = modulo_bits != 0 && bits + 1 > modulo_bits;
    LimbWay& way = ways_[static_cast<std::size_t>(count_++)];
    way.samples = {base, count, cut && base * count >= modulo_bits ? modulo_bits : 0};
    way.products = {count, taps.count, ratio, count + ratio * (taps.count - 1)};
    if (modulo_bits != 0 && base > 0) { way.products.outputs = std::min(way.products.outputs, ceil_div(modulo_bits, base)); }
}

LimbWays::LimbWays(const Limbs& taps, int bits, int modulo_bits) {
    const int needed = modulo_bits == 0 ? bits + 1 : std::min(bits + 1, modulo_bits);
    if (taps.count == 1) {
        // A limb of 64 bits is never exact.
        for (int count = needed > 63 ? 2 : 1; count <= kMostLimbs && count <= needed; ++count) {
            const int base = ceil_div(needed, count);
            if (base * (count - 1) < needed && base * (count - 1) <= 63) { add(taps, base, 1, bits, modulo_bits, count); }
        }
        return;
    }
    for (const int ratio : {1, 2}) {
        if (taps.base % ratio != 0) { continue; }
        const int base = taps.base / ratio;
        for (int count = ratio; count <= kMostLimbs && (count == 1 || base * (count - 1) < needed); ++count) {
            if (base * (count - 1) <= 63) { add(taps, base, ratio, bits, modulo_bits, count); }
        }
    }
}

double error_of(const LimbWay& way, const double* sample_norms, const double* tap_norms, int log2_size, std::int64_t partitions) {
    // The product of two spectra, in the bound already, is rounded in other places here, and products are added up.
    constexpr double kProduct = 2.9 * 0x1p-53;
    const LimbProducts& p = way.products;
    double most = 0;
    for (int w = 0; w < p.outputs; ++w) {
        double sum = 0;
        int terms = 0;
        for (int l = 0; l < p.taps && p.ratio * l <= w; ++l) {
            const int j = w - p.ratio * l;
            if (j >= p.samples) { continue; }
            sum += sample_norms[j] * std::max(tap_norms[l], 1.0);
            ++terms;
        }
        most = std::max(most, sum * (proved_error(log2_size) + kProduct * terms * static_cast<double>(partitions)));
    }
    return most;
}

double seconds_of_unit(const core::Resolved& problem, const IntegerFftShape& shape, const LimbProducts& products) {
    const OverlapSaveShape& blocks = shape.blocks;
    const double points = std::ldexp(1.0, blocks.log2_size);
    const double transform = seconds_one_way(blocks.log2_size);
    const bool scaled = problem.scale != 1 || problem.bias != 0;
    const double outputs = 2 * static_cast<double>(blocks.block);
    const double join = outputs * (products.outputs * kJoinNs + kStoreNs + (scaled ? kScaleNs : 0));
    const double terms = products.samples * products.taps;
    if (blocks.partitions == 1) {
        const double multiply = products.taps == 1 ? 0 : points * terms * kProductNs;
        const double load = 2 * points * products.samples * kLoadNs;
        return (products.samples + products.outputs) * transform + 1e-9 * kBeside.of(current_target()) * (multiply + load + join);
    }
    // Blocks of input that are not zero throughout, and how many of them are transformed for each unit.
    double read = static_cast<double>(blocks.partitions);
    if (problem.x.n != kUnknownLength && problem.x.boundary == Boundary::zero) {
        read = std::min(read, static_cast<double>(problem.x.n) / static_cast<double>(blocks.block) + 2);
    }
    const auto group = static_cast<double>(blocks.group);
    const double transformed = shape.keeps_spectra ? std::min(read, read / group + 2) : read;
    const double made = shape.keeps_spectra ? 0 : read / group * products.taps;
    const double multiply = points * terms * read * (blocks.log2_size <= kNearLog2 ? kAddNearNs : kAddFarNs);
    const double load = 2 * points * products.samples * transformed * 2 * kLoadNs;
    return (products.samples * transformed + products.outputs + made) * transform +
           1e-9 * kBeside.of(current_target()) * (multiply + load + join);
}

IntegerFftShape integer_fft_shape(const core::Resolved& problem, const core::TapsFacts& facts, int modulo_bits, int threads) {
    return Search(problem, facts, modulo_bits, threads).best();
}

}  // namespace tapline::cpu
