// Direct convolution of signals: what it costs, and the choice of element types.
#include <algorithm>
#include <cstdlib>

#include "core/plan/parallel.hpp"
#include "cpu/algorithms.hpp"
#include "cpu/caches.hpp"
#include "cpu/direct/calls/direct_cost.hpp"
#include "cpu/direct/direct_columns.hpp"
#include "cpu/direct/direct_executable.hpp"
#include "cpu/direct/joined_rows.hpp"
#include "cpu/direct/one_tap.hpp"
#include "cpu/element_types.hpp"
#include "cpu/lines/lined_algorithm.hpp"

namespace tapline::cpu {
namespace {

using core::Resolved;

// Rows that lie side by side: a load for each product, and from 17 taps on packing into panels. 33 and 127 taps take 28 and 59 ms,
// 28 and 58 are predicted (2^24 elements, one thread); 9 and 16 down 32 columns of 200,000 samples 1.25 ms, 3 and 9 down 700 of
// 2,000 0.11 and 0.23 (two threads, AVX-512).
constexpr std::int64_t kMinRows = 16;
constexpr std::int64_t kFewTaps = 16;
constexpr double kFewTapsFactor = 1.5;
// In place with more taps, from the L1 cache: 31 and 63 taps down 64 columns take 1.4 times what they take along rows (AVX2).
constexpr double kFlatFactor = 1.4;
constexpr double kPanelFactor = 1.5;
constexpr double kPanelSecondsOfAnOutput = 0.95e-9;
// Of equal taps outputs go to their places at once: 1,448 x 1,448 under 101 take 3.1 ms.
constexpr double kEqualPanelSecondsOfAnOutput = 0.6e-9;
constexpr double kCallSeconds = 60e-9;
// A row beside its products: 6,492 rows of 20 under 78 taps take 116 ns each, of which 29 are for those.
constexpr double kRowSeconds = 60e-9;
// Bytes read and written each second past the caches, with streaming stores: one thread, and each further one.
constexpr double kBytesPerSecond = 30e9;
constexpr double kBytesPerSecondPerFurtherThread = 15e9;

// Products of real elements in one of a sample and a tap.
double real_products(const Resolved& problem) { return (is_complex(problem.dtype) ? 2 : 1) * (problem.complex_taps ? 2 : 1); }

// Of one product of a sample and a tap.
double seconds_of_term(const Resolved& problem) {
    return real_products(problem) * direct_product_seconds(current_target(), size_of(real_part_of(problem.dtype)));
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
        const double outputs = (known ? static_cast<double>(problem.x.outputs) : 1) * static_cast<double>(problem.batch.length);
        const double inputs = (known ? static_cast<double>(problem.x.n) : 1) * static_cast<double>(problem.batch.length);
        // Under a zero boundary only products with samples of the signal are formed.
        const bool zero = known && problem.x.boundary == Boundary::zero;
        const std::int64_t meeting = zero ? std::min(problem.x.k, problem.x.n + problem.x.outputs - 1) : problem.x.k;
        const double k = direct_products(meeting, request.facts.equal);
        const double terms = (zero ? std::min(inputs, outputs) : outputs) * k + outputs * kProductsOfAnOutput;
        double sums = terms * seconds_of_term(problem);
        if (problem.batch.in_stride == 1 && std::abs(problem.x.in_stride) >= problem.batch.length &&
            problem.batch.length >= kMinRows) {
            const bool flat = problem.x.in_stride == problem.batch.length &&
                              problem.x.k * problem.batch.length * static_cast<std::int64_t>(size_of(problem.dtype)) <= kFlatBytes;
            const double element = real_part_of(problem.dtype) == Dtype::f64 ? 2 : 1;
            // Sums by doubling go down a strip as they go along a row.
            const bool doubles = sums_by_doubling(problem.x.k, request.facts.equal);
            sums = problem.x.k <= kFewTaps ? sums * kFewTapsFactor
                   : flat                  ? sums * (doubles ? 1 : kFlatFactor)
                                           : sums * (doubles ? 1 : kPanelFactor) +
                                outputs * real_products(problem) * element *
                                    (doubles ? kEqualPanelSecondsOfAnOutput : kPanelSecondsOfAnOutput);
        } else if (known && problem.batch.length > 1) {
            sums += kRowSeconds * static_cast<double>(problem.batch.length);
        }
        const auto element_bytes = static_cast<double>(size_of(problem.dtype));
        const int threads = known ? core::worthwhile_threads(sums, request.threads) : request.threads;
        const bool far = !known || stores_past_caches(inputs * element_bytes, outputs * element_bytes, request.threads);
        const double speed = kBytesPerSecond + kBytesPerSecondPerFurtherThread * (threads - 1);
        const double memory = far ? (inputs + outputs) * element_bytes / speed : 0;
        if (!known) { return std::max(sums / threads, memory); }
        return std::max(core::seconds_on_threads(sums, request.threads), memory) + kCallSeconds;
    }

    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& problem, const void* taps,
                                                            const core::Request& request) const override {
        return with_element_types(problem, [&]<class X, class H>(X, H) -> std::unique_ptr<core::Executable> {
            return std::make_unique<DirectExecutable<X, H>>(problem, taps, request);
        });
    }
};

// Rows side by side: dense ones as one long row, or panels of many.
bool takes_side_by_side(const Resolved& p) {
    const bool dense = std::abs(p.x.in_stride) == p.batch.length && std::abs(p.x.out_stride) == p.batch.length;
    const bool panels = p.batch.length >= kMinRows && p.x.k <= kMaxPanelTaps;
    return panels || (dense && p.x.in_stride > 0 && p.x.out_stride > 0 && p.x.k <= kTapChunk);
}

}  // namespace

double direct_seconds_of_output(const core::Resolved& problem) {
    return (static_cast<double>(problem.x.k) + kProductsOfAnOutput) * seconds_of_term(problem);
}

const core::Algorithm& direct_algorithm() {
    static const Direct kDirect;
    static const LinedAlgorithm kLined(kDirect, takes_side_by_side, true, {takes_columns, seconds_of_columns, prepare_columns});
    static const JoinedRowsAlgorithm kJoined(kLined);
    static const OneTapAlgorithm kAlgorithm(kJoined);
    return kAlgorithm;
}

}  // namespace tapline::cpu
