#include "cpu/image/image_engine.hpp"

#include <array>

#include "cpu/targets.hpp"

namespace tapline::cpu {
namespace {

// Seconds of one product of f32 elements in an image tile on one core (`neon`: as sse4, not measured); f64 takes twice as long.
struct Speed {
    Target target;
    double seconds_per_product;
};
constexpr std::array<Speed, 5> kSpeeds{{
    {Target::avx512, 14.4e-12},
    {Target::avx2, 19e-12},
    {Target::sse4, 52e-12},
    {Target::neon, 52e-12},
    {Target::scalar, 170e-12},
}};
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
    const double taps = p.complex_taps ? 2 : 1;
    for (const Speed& speed : kSpeeds) {
        if (speed.target == current_target()) { return speed.seconds_per_product * element * taps; }
    }
    return kSpeeds.back().seconds_per_product * element * taps;
}

double image_memory_seconds(const core::Resolved& p, int threads) {
    const double inputs = static_cast<double>(p.batch.length) * static_cast<double>(p.y.n) * static_cast<double>(p.x.n * p.channels.length);
    const double parts = is_complex(p.dtype) ? 2 : 1;
    const double bytes =
        inputs * static_cast<double>(size_of(p.dtype)) + outputs_of(p) / parts * static_cast<double>(size_of(p.output_dtype));
    return bytes / (kBytesPerSecond + kBytesPerSecondPerFurtherThread * (threads - 1));
}

int image_threads(double seconds, int threads) { return seconds > kSerialSeconds ? threads : 1; }

}  // namespace tapline::cpu

namespace tapline::core {

std::span<const ImageAlgorithm* const> cpu_image_algorithms() {
    static const std::array<const ImageAlgorithm*, 4> table{
        &cpu::image_direct_algorithm(),
        &cpu::image_separable_algorithm(),
        &cpu::image_fft_algorithm(),
        &cpu::image_textbook_algorithm(),
    };
    return table;
}

}  // namespace tapline::core
