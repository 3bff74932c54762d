#include "cpu/image/image_cost.hpp"

#include <algorithm>

#include "core/plan/parallel.hpp"
#include "cpu/caches.hpp"
#include "cpu/image/image_tasks.hpp"
#include "cpu/targets.hpp"

namespace tapline::cpu {
namespace {

// Of one product of f32 elements in an image tile on one core (`neon`: as sse4, not measured); f64 takes twice as long.
constexpr TargetSeconds kProductSeconds{.avx512 = 14.4e-12, .avx2 = 19e-12, .sse4 = 52e-12, .neon = 52e-12, .scalar = 170e-12};
constexpr PerTarget<std::int64_t> kStripBytes{.avx512 = 256, .avx2 = 64, .sse4 = 32, .neon = 64, .scalar = 8};
// As in one dimension (direct.cpp).
constexpr double kBytesPerSecond = 30e9;
constexpr double kBytesPerSecondPerFurtherThread = 15e9;

double input_bytes(const core::Resolved& p) {
    const double rows = static_cast<double>(p.batch.length) * static_cast<double>(p.z.n * p.y.n);
    return rows * static_cast<double>(p.x.n * p.channels.length) * static_cast<double>(size_of(p.dtype));
}

double output_bytes(const core::Resolved& p) {
    const double parts = is_complex(p.dtype) ? 2 : 1;
    return outputs_of(p) / parts * static_cast<double>(size_of(p.output_dtype));
}

}  // namespace

double outputs_of(const core::Resolved& p) {
    const double parts = is_complex(p.dtype) ? 2 : 1;
    return static_cast<double>(p.batch.length) * static_cast<double>(p.z.outputs * p.y.outputs * p.x.outputs) *
           static_cast<double>(p.channels.length) * parts;
}

double image_product_seconds(const core::Resolved& p) {
    const double element = real_part_of(p.sum_dtype) == Dtype::f64 ? 2 : 1;
    return kProductSeconds.of(current_target()) * element * (p.complex_taps ? 2 : 1);
}

double elements_in_strips(const core::Resolved& p, double alone) {
    const std::int64_t parts = is_complex(p.dtype) ? 2 : 1, row = p.x.outputs * p.channels.length * parts;
    const std::int64_t strip = kStripBytes.of(current_target()) / static_cast<std::int64_t>(size_of(real_part_of(p.sum_dtype)));
    const std::int64_t rest = row % strip;
    return static_cast<double>(row - rest) + alone * static_cast<double>(whole_vectors(rest));
}

bool image_goes_past_caches(const core::Resolved& p, int threads) {
    return stores_past_caches(input_bytes(p), output_bytes(p), threads);
}

double image_seconds(const core::Resolved& p, double seconds, int threads) {
    const int used = core::worthwhile_threads(seconds, threads);
    const double speed = kBytesPerSecond + kBytesPerSecondPerFurtherThread * (used - 1);
    const double memory = image_goes_past_caches(p, threads) ? (input_bytes(p) + output_bytes(p)) / speed : 0;
    return std::max(core::seconds_on_threads(seconds, threads), memory);
}

}  // namespace tapline::cpu
