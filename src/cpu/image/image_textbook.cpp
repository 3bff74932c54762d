// The naive loop for images: a baseline, and the one algorithm for masks that are not finite.
#include <algorithm>

#include "core/problem/window.hpp"
#include "cpu/image/image_engine.hpp"
#include "cpu/image/image_lines.hpp"

namespace tapline::cpu {
namespace {

using core::Request;
using core::Resolved;

// As in one dimension (textbook.cpp).
constexpr double kSecondsPerProduct = 1.5e-9;

template <class T>
class Textbook final : public core::Executable {
public:
    Textbook(const Resolved& problem, const void* taps)
        : problem_(problem), kernels_(image_kernels(Target::scalar).of<T>()), lines_(problem_, kernels_) {
        const T* from = static_cast<const T*>(taps);
        taps_.assign(from, from + problem.filters * problem.taps() * tap_parts());
    }

    [[nodiscard]] std::size_t workspace_bytes() const override {
        return static_cast<std::size_t>((problem_.x.k + 1) * lines_.step() + kImagePadding) * sizeof(T);
    }

    void execute(void* out, const void* in, std::span<std::byte> workspace) const override {
        T* const pixel = reinterpret_cast<T*>(workspace.data());
        for (std::int64_t index = 0; index < lines_.planes(); ++index) {
            const Plane plane = lines_.plane(index);
            for (std::int64_t y = 0; y < problem_.y.outputs; ++y) {
                for (std::int64_t x = 0; x < problem_.x.outputs; ++x) {
                    std::fill(pixel, pixel + lines_.step(), T{0});
                    for (std::int64_t i = 0; i < problem_.y.k; ++i) {
                        add_row(pixel, in, plane, y + i - problem_.y.origin, x - problem_.x.origin, i);
                    }
                    lines_.store(out, plane, y, x * lines_.step(), lines_.step(), pixel, false);
                }
            }
        }
    }

    [[nodiscard]] std::string describe() const override { return "one pixel at a time"; }

private:
    [[nodiscard]] std::int64_t tap_parts() const { return problem_.complex_taps ? 2 : 1; }

    // The products of one row of the mask. Terms outside the image under a zero boundary are absent: 0 * inf must not appear.
    void add_row(T* pixel, const void* in, const Plane& plane, std::int64_t y, std::int64_t x, std::int64_t i) const {
        std::int64_t begin = 0, end = problem_.x.k;
        if (problem_.x.boundary == Boundary::zero) {
            if (lines_.is_outside(y)) { return; }
            begin = std::clamp<std::int64_t>(-x, 0, end);
            end = std::clamp<std::int64_t>(problem_.x.n - x, begin, end);
        }
        const std::int64_t step = lines_.step();
        T* const window = pixel + step + kImagePadding;
        if (begin < end) { lines_.gather(window, in, plane, y, (x + begin) * step, (end - begin) * step); }
        const T* tap = taps_.data() + ((lines_.mask(plane) * problem_.y.k + i) * problem_.x.k + begin) * tap_parts();
        for (const T* sample = window; begin < end; ++begin, sample += step, tap += tap_parts()) {
            for (std::int64_t c = 0; c < step; c += lines_.parts()) {
                pixel[c] += sample[c] * tap[0];
                if (lines_.parts() == 2) { pixel[c + 1] += sample[c + 1] * tap[0]; }
                if (tap_parts() == 2) {
                    pixel[c] -= sample[c + 1] * tap[1];
                    pixel[c + 1] += sample[c] * tap[1];
                }
            }
        }
    }

    Resolved problem_;
    const ImageKernels<T>& kernels_;
    ImageLines<T> lines_;
    std::vector<T> taps_;
};

class TextbookAlgorithm final : public core::Algorithm {
public:
    [[nodiscard]] std::string_view name() const override { return "textbook"; }
    [[nodiscard]] std::string_view summary() const override {
        return "the naive loop, one thread: a baseline, and for masks with NaN or infinities";
    }
    [[nodiscard]] core::Support supports(const Resolved&, const Request&) const override { return core::Support::yes(); }
    [[nodiscard]] double estimate_seconds(const Resolved& p, const Request&) const override {
        return outputs_of(p) * static_cast<double>(p.taps()) * kSecondsPerProduct;
    }
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& p, const void* taps,
                                                                 const Request&) const override {
        if (real_part_of(p.sum_dtype) == Dtype::f32) { return std::make_unique<Textbook<float>>(p, taps); }
        return std::make_unique<Textbook<double>>(p, taps);
    }
};

}  // namespace

const core::Algorithm& image_textbook_algorithm() {
    static const TextbookAlgorithm algorithm;
    return algorithm;
}

}  // namespace tapline::cpu
