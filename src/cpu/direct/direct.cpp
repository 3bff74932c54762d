#include "cpu/direct/direct.hpp"

#include <algorithm>
#include <array>

#include "cpu/direct/direct_executable.hpp"
#include "cpu/element_types.hpp"

namespace tapline::cpu {
namespace {

using core::Resolved;

// Seconds of one product of real f32 elements on one core, in the L1 cache (neon: as sse4, not measured); f64 takes twice as long.
struct Speed {
    Target target;
    double seconds_per_product;
};
constexpr std::array<Speed, 5> kSpeeds{{
    {Target::avx512, 12.7e-12},
    {Target::avx2, 17.5e-12},
    {Target::sse4, 45e-12},
    {Target::neon, 45e-12},
    {Target::scalar, 210e-12},
}};
// Loading and storing an output counts as so many products: the time is that of k + 6 (3, 8, 16, 32 taps: 94, 180, 320, 480
// against 114, 177, 278, 480 predicted).
constexpr double kProductsOfAnOutput = 6;
// Rows that lie side by side: a load for each product, and from 17 taps on packing into panels. 2^24 elements and one thread: 3,
// 7, 15, 33, 127 taps take 7, 11, 18, 28 and 59 ms against 8, 11, 18, 28 and 58 predicted.
constexpr std::int64_t kMinRows = 16;
constexpr std::int64_t kFewTaps = 16;
constexpr double kFewTapsFactor = 4;
constexpr double kPanelFactor = 1.5;
constexpr double kPanelSecondsOfAnOutput = 0.95e-9;
constexpr double kCallSeconds = 60e-9;
constexpr double kThreadSeconds = 8e-6;   // waking the others
constexpr double kSerialSeconds = 25e-6;  // less is done by the caller alone
// Bytes read and written each second past the caches, with streaming stores: one thread, and each further one.
constexpr double kBytesPerSecond = 30e9;
constexpr double kBytesPerSecondPerFurtherThread = 15e9;
constexpr double kCachedBytes = 1 << 21;

double seconds_per_product(Target target) {
    for (const Speed& speed : kSpeeds) {
        if (speed.target == target) { return speed.seconds_per_product; }
    }
    return kSpeeds.back().seconds_per_product;
}

class Direct final : public core::Algorithm {
public:
    [[nodiscard]] std::string_view name() const override { return "direct"; }
    [[nodiscard]] std::string_view summary() const override { return "every product, in SIMD lanes on all cores"; }

    [[nodiscard]] core::Support supports(const Resolved& problem, const core::Request&) const override {
        return supports_elements(problem);
    }

    [[nodiscard]] double estimate_seconds(const Resolved& problem, const core::Request& request) const override {
        const bool known = problem.x.n != kUnknownLength;
        const double k = static_cast<double>(problem.x.k);
        const double outputs = (known ? static_cast<double>(problem.x.outputs) : 1) * static_cast<double>(problem.batch.length);
        const double inputs = (known ? static_cast<double>(problem.x.n) : 1) * static_cast<double>(problem.batch.length);
        // Under a zero boundary only products with samples of the signal are formed.
        const bool zero = known && problem.x.boundary == Boundary::zero;
        const double terms = (zero ? std::min(inputs, outputs) : outputs) * k + outputs * kProductsOfAnOutput;
        const double width = (is_complex(problem.dtype) ? 2 : 1) * (problem.complex_taps ? 2 : 1);
        const double element = real_part_of(problem.dtype) == Dtype::f64 ? 2 : 1;
        double sums = terms * width * element * seconds_per_product(current_target());
        if (problem.batch.in_stride == 1 && problem.batch.length >= kMinRows) {
            sums = problem.x.k <= kFewTaps ? sums * kFewTapsFactor
                                         : sums * kPanelFactor + outputs * width * element * kPanelSecondsOfAnOutput;
        }
        const double bytes = (inputs + outputs) * static_cast<double>(size_of(problem.dtype));
        const int threads = !known || sums > kSerialSeconds ? request.threads : 1;
        const double memory =
            known && bytes < kCachedBytes ? 0 : bytes / (kBytesPerSecond + kBytesPerSecondPerFurtherThread * (threads - 1));
        const double overhead = known ? kCallSeconds + (threads > 1 ? kThreadSeconds : 0) : 0;
        return std::max(sums / threads, memory) + overhead;
    }

    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& problem, const void* taps,
                                                            const core::Request& request) const override {
        using C64 = std::complex<float>;
        using C128 = std::complex<double>;
        const bool complex_taps = problem.complex_taps;
        switch (problem.dtype) {
            case Dtype::f32:
                return std::make_unique<DirectExecutable<float, float>>(problem, taps, request);
            case Dtype::f64:
                return std::make_unique<DirectExecutable<double, double>>(problem, taps, request);
            case Dtype::complex64:
                if (complex_taps) { return std::make_unique<DirectExecutable<C64, C64>>(problem, taps, request); }
                return std::make_unique<DirectExecutable<C64, float>>(problem, taps, request);
            default:
                if (complex_taps) { return std::make_unique<DirectExecutable<C128, C128>>(problem, taps, request); }
                return std::make_unique<DirectExecutable<C128, double>>(problem, taps, request);
        }
    }
};

}  // namespace

const core::Algorithm& direct_algorithm() {
    static const Direct algorithm;
    return algorithm;
}

}  // namespace tapline::cpu
