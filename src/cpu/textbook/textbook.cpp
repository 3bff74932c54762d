#include "cpu/textbook/textbook.hpp"

#include <algorithm>

#include "core/problem/epilogue.hpp"
#include "core/problem/window.hpp"
#include "cpu/element_types.hpp"

namespace tapline::cpu {
namespace {

using core::Resolved;

// Outputs that share one gathered window; bounds the scratch memory, nothing else.
constexpr std::int64_t kTile = 256;
// One scalar multiply-add in order takes the latency of an addition, 4 cycles at about 2.7 GHz.
constexpr double kSecondsPerProduct = 1.5e-9;

// The four real products of a complex one; std::complex's operator* would repair infinities.
template <class X, class H>
void add_product(X& sum, const X& x, const H& h) {
    if constexpr (std::is_floating_point_v<X>) {
        sum += x * h;
    } else if constexpr (std::is_floating_point_v<H>) {
        sum = X(sum.real() + x.real() * h, sum.imag() + x.imag() * h);
    } else {
        sum = X(sum.real() + (x.real() * h.real() - x.imag() * h.imag()), sum.imag() + (x.real() * h.imag() + x.imag() * h.real()));
    }
}

template <class X, class H>
class Textbook final : public core::Executable {
public:
    Textbook(const Resolved& problem, const void* taps)
        : problem_(problem), taps_(static_cast<const H*>(taps), static_cast<const H*>(taps) + problem.filters * problem.x.k) {}

    [[nodiscard]] std::size_t workspace_bytes() const override {
        return static_cast<std::size_t>(2 * kTile + problem_.x.k) * sizeof(X);
    }

    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const override {
        X* sums = reinterpret_cast<X*>(workspace.data());
        X* window = sums + kTile;
        for (std::int64_t row = 0; row < problem_.batch.length; ++row) {
            const H* taps = taps_.data() + row % problem_.filters * problem_.x.k;
            for (std::int64_t o = output.first; o < output.first + output.count; o += kTile) {
                const std::int64_t count = std::min(kTile, output.first + output.count - o);
                core::gather(window, problem_, input, row, o - problem_.x.origin, count + problem_.x.k - 1);
                for (std::int64_t i = 0; i < count; ++i) { sums[i] = sum_at(window + i, taps, o + i, input.n); }
                core::store(problem_, output, row, o, count, sums);
            }
        }
    }

    [[nodiscard]] std::string describe() const override { return "one output at a time"; }

private:
    // Terms outside the signal under a zero boundary are absent: 0 * inf must not appear.
    X sum_at(const X* window, const H* taps, std::int64_t o, std::int64_t n) const {
        std::int64_t begin = 0;
        std::int64_t end = problem_.x.k;
        if (problem_.x.boundary == Boundary::zero) {
            const std::int64_t first = o - problem_.x.origin;  // the sample that tap 0 meets
            begin = std::clamp(-first, std::int64_t{0}, problem_.x.k);
            if (n != kUnknownLength) { end = std::clamp(n - first, begin, problem_.x.k); }
        }
        X sum{};
        for (std::int64_t t = begin; t < end; ++t) { add_product(sum, window[t], taps[t]); }
        return sum;
    }

    Resolved problem_;
    std::vector<H> taps_;
};

class TextbookAlgorithm final : public core::Algorithm {
public:
    [[nodiscard]] std::string_view name() const override { return "textbook"; }
    [[nodiscard]] std::string_view summary() const override { return "the naive loop, one thread: a baseline to compare with"; }

    [[nodiscard]] core::Support supports(const Resolved& problem, const core::Request&) const override {
        return supports_elements(problem);
    }

    [[nodiscard]] double estimate_seconds(const Resolved& problem, const core::Request&) const override {
        const double outputs = problem.x.n == kUnknownLength ? 1 : static_cast<double>(problem.x.outputs);
        const double width = is_complex(problem.dtype) ? 2 : 1;
        return outputs * static_cast<double>(problem.batch.length) * static_cast<double>(problem.x.k) * width * kSecondsPerProduct;
    }

    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& problem, const void* taps,
                                                            const core::Request&) const override {
        using C64 = std::complex<float>;
        using C128 = std::complex<double>;
        const bool complex_taps = problem.complex_taps;
        switch (problem.dtype) {
            case Dtype::f32:
                return std::make_unique<Textbook<float, float>>(problem, taps);
            case Dtype::f64:
                return std::make_unique<Textbook<double, double>>(problem, taps);
            case Dtype::complex64:
                if (complex_taps) { return std::make_unique<Textbook<C64, C64>>(problem, taps); }
                return std::make_unique<Textbook<C64, float>>(problem, taps);
            default:
                if (complex_taps) { return std::make_unique<Textbook<C128, C128>>(problem, taps); }
                return std::make_unique<Textbook<C128, double>>(problem, taps);
        }
    }
};

}  // namespace

const core::Algorithm& textbook_algorithm() {
    static const TextbookAlgorithm algorithm;
    return algorithm;
}

}  // namespace tapline::cpu
