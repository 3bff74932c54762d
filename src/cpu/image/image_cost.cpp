#include "cpu/image/image_cost.hpp"

#include "cpu/targets.hpp"

namespace tapline::cpu {
namespace {

// Of one product of f32 elements in an image tile on one core (`neon`: as sse4, not measured); f64 takes twice as long.
constexpr TargetSeconds kProductSeconds{.avx512 = 14.4e-12, .avx2 = 19e-12, .sse4 = 52e-12, .neon = 52e-12, .scalar = 170e-12};
// As in one dimension (direct.cpp).
constexpr double kBytesPerSecond = 30e9;
constexpr double kBytesPerSecondPerFurtherThread = 15e9;
constexpr double kSerialSeconds = 25e-6;

}  // namespace

double outputs_of(const core::Resolved& p) {
    const double parts = is_complex(p.dtype) ? 2 : 1;
    return static_cast<double>(p.batch.length) * static_cast<double>(p.y.outputs) * static_cast<double>(p.x.outputs) *
           static_cast<double>(p.channels.length) * parts;
}

double image_product_seconds(const core::Resolved& p) {
    const double element = real_part_of(p.sum_dtype) == Dtype::f64 ? 2 : 1;
    return kProductSeconds.of(current_target()) * element * (p.complex_taps ? 2 : 1);
}

double image_memory_seconds(const core::Resolved& p, int threads) {
    const double inputs =
        static_cast<double>(p.batch.length) * static_cast<double>(p.y.n) * static_cast<double>(p.x.n * p.channels.length);
    const double parts = is_complex(p.dtype) ? 2 : 1;
    const double bytes =
        inputs * static_cast<double>(size_of(p.dtype)) + outputs_of(p) / parts * static_cast<double>(size_of(p.output_dtype));
    return bytes / (kBytesPerSecond + kBytesPerSecondPerFurtherThread * (threads - 1));
}

int image_threads(double seconds, int threads) { return seconds > kSerialSeconds ? threads : 1; }

}  // namespace tapline::cpu
