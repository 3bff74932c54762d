// When outputs of checked segments keep the bound of strict accuracy: the inequalities of docs/numerics.md, "How a transform is
// held to the strict bound", in numbers.
#include <algorithm>
#include <cmath>

#include "cuda/families/overlap_save/checked/overlap_save_checked.hpp"

namespace tapline::cuda::overlap_save {
namespace {

// What the sums and roots here and in the kernels, in double, may be off by.
constexpr double kSafe = 1.0001;
constexpr double kRounding = 0x1p-24;

// An output of a transform of 1,024 `warps` points is off by at most so many times the L2 norms of its samples and its taps.
double proved_error(int warps) {
    const double levels = 10 + std::log2(static_cast<double>(warps));
    return (60 * levels + 256) * 0x1p-53;
}

}  // namespace

FilterBound bound_of(const std::byte* taps, std::int64_t count, Dtype type, int warps) {
    struct Tap {
        std::int64_t position;
        double re, im;
    };
    std::vector<Tap> all;
    double squares = 0;
    for (std::int64_t t = 0; t < count; ++t) {
        const std::complex<double> tap = tap_at(taps, t, type);
        all.push_back({t, std::abs(tap.real()), std::abs(tap.imag())});
        squares += std::norm(tap);
    }
    const double error = kSafe * kSafe * proved_error(warps) * std::sqrt(squares);
    const double allowed = static_cast<double>(count + 2) * 0x1p-23;
    FilterBound bound{};
    bound.least_output = error * (1 + allowed) / (allowed - kRounding);
    bound.least_sum = error * (1 + kRounding) / (allowed - kRounding);
    if (!std::isfinite(squares)) {  // no output keeps it
        bound.least_output = bound.least_sum = NAN;
        return bound;
    }
    const auto last = all.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(kLargestTaps, all.size()));
    std::partial_sort(all.begin(), last, all.end(), [](const Tap& x, const Tap& y) {
        const double a = std::max(x.re, x.im);
        const double b = std::max(y.re, y.im);
        return a != b ? a > b : x.position < y.position;
    });
    int at = 0;
    for (auto tap = all.begin(); tap != last; ++tap, ++at) {
        bound.positions[at] = static_cast<int>(tap->position);
        bound.re[at] = static_cast<float>(tap->re);
        bound.im[at] = static_cast<float>(tap->im);
    }
    return bound;
}

}  // namespace tapline::cuda::overlap_save
