#include "cpu/image/image_stack.hpp"

#include <algorithm>
#include <complex>

#include "core/plan/parallel.hpp"
#include "core/problem/elements.hpp"
#include "core/problem/window.hpp"
#include "cpu/direct/calls/direct_shape.hpp"
#include "cpu/lines/line_store.hpp"
#include "cpu/targets.hpp"

namespace tapline::cpu {
namespace {

using core::Resolved;

// Images of wider rows, or of more pixels, are summed one by one; fewer images too. 500 images of 64 x 64 bytes under 5 x 5 taps
// take 1.3 ms so and 2.4 side by side.
constexpr std::int64_t kMostElementsOfARow = 64, kMostElements = 8192, kMostWidened = 4096, kFewestImages = 16;
// Elements of a block of images: they and their outputs stay in the L2 cache.
constexpr std::int64_t kBlockElements = 24576;
constexpr std::int64_t kMostImages = 64, kImagesOfAVector = 16;
// An element on its way to the block, or an output out of it.
constexpr double kMoveSeconds = 0.25e-9;

std::int64_t in_elements(const Resolved& p) { return p.y.n * p.x.n * p.channels.length; }
std::int64_t out_elements(const Resolved& p) { return p.y.outputs * p.x.outputs * p.channels.length; }

// Images of a block, which are the channels of one.
std::int64_t images_of(const Resolved& p) {
    const std::int64_t fitting = kBlockElements / std::max<std::int64_t>(in_elements(p) + out_elements(p), 1);
    return std::clamp(fitting / kImagesOfAVector * kImagesOfAVector, kImagesOfAVector, kMostImages);
}

Resolved stacked_of(const Resolved& problem, std::int64_t images) {
    Resolved p = problem;
    const std::int64_t pixel = p.channels.length * images;
    p.batch = {};
    p.channels = {.length = pixel, .in_stride = 1, .out_stride = 1};
    p.x.in_stride = p.x.out_stride = pixel;
    p.y.in_stride = p.x.n * pixel;
    p.y.out_stride = p.x.outputs * pixel;
    p.dtype = p.output_dtype = p.sum_dtype;
    p.scale = 1;
    p.bias = 0;
    p.has_clamp = false;
    p.overflow = Overflow::error;
    p.trivial_epilogue = true;
    return p;
}

/// X: the type of the sums. Elements are moved as numbers of their size.
template <class X>
class Stack final : public core::Executable {
    using Moved = std::conditional_t<std::is_same_v<X, std::complex<float>>, double, X>;

public:
    Stack(const Resolved& problem, int threads, double seconds, const PrepareStacked& prepare)
        : problem_(problem),
          images_(images_of(problem)),
          stacked_(stacked_of(problem, images_)),
          inner_(prepare(stacked_)),
          target_(current_target()),
          store_(problem_, target_),
          threads_(core::worthwhile_threads(seconds, threads)),
          seconds_(seconds) {
        if (problem_.dtype != problem_.sum_dtype) {
            widen_ = line_kernels(target_).widening(problem_.dtype, problem_.sum_dtype == Dtype::f64);
        }
        if (core::is_half(problem_.output_dtype)) { narrow_ = line_kernels(target_).narrowing(problem_.output_dtype); }
    }

    [[nodiscard]] std::size_t workspace_bytes() const override { return slot_bytes() * static_cast<std::size_t>(threads_); }
    [[nodiscard]] std::string describe() const override {
        return std::to_string(images_) + " images side by side, " + inner_->describe();
    }

    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const override {
        const auto task = [&](std::int64_t block, int slot) {
            std::byte* const scratch = workspace.data() + static_cast<std::size_t>(slot) * slot_bytes();
            const std::int64_t first = block * images_;
            run(static_cast<std::byte*>(output.data) + first * problem_.batch.out_stride * out_bytes(),
                static_cast<const std::byte*>(input.main.data) + first * problem_.batch.in_stride * in_bytes(),
                std::min(images_, problem_.batch.length - first), scratch);
        };
        core::parallel_for(divide_up(problem_.batch.length, images_), threads_, std::cref(task), seconds_);
    }

private:
    [[nodiscard]] std::int64_t in_bytes() const { return static_cast<std::int64_t>(size_of(problem_.dtype)); }
    [[nodiscard]] std::int64_t out_bytes() const { return static_cast<std::int64_t>(size_of(problem_.output_dtype)); }
    // In a slot: the images side by side, their outputs, and either of them image after image.
    [[nodiscard]] std::int64_t samples() const { return round_up(in_elements(problem_) * images_, kCacheLine); }
    [[nodiscard]] std::int64_t sums() const { return round_up(out_elements(problem_) * images_, kCacheLine); }
    [[nodiscard]] std::size_t inner_bytes() const {
        return static_cast<std::size_t>(round_up(static_cast<std::int64_t>(inner_->workspace_bytes()), kCacheLine));
    }
    [[nodiscard]] std::size_t slot_bytes() const {
        return static_cast<std::size_t>(samples() + sums() + std::max(samples(), sums())) * sizeof(X) + inner_bytes();
    }

    void run(std::byte* out, const std::byte* in, std::int64_t images, std::byte* scratch) const {
        X* const stacked = reinterpret_cast<X*>(scratch);
        X* const made = stacked + samples();
        X* const rows = made + sums();
        std::byte* const workspace = reinterpret_cast<std::byte*>(rows + std::max(samples(), sums()));
        if (images < images_) { std::fill_n(stacked, in_elements(problem_) * images_, X{}); }
        gather(stacked, in, images, rows);
        inner_->execute(core::whole_output(stacked_, made), core::whole_input(stacked_, stacked), {workspace, inner_bytes()},
                        nullptr);
        scatter(out, made, images, rows);
    }

    // Rows that follow each other without gaps are one.
    template <class Body>
    static void for_each_run(std::int64_t stride, std::int64_t count, std::int64_t row, const Body& body) {
        if (stride == row) { return body(0, 0, count * row); }
        for (std::int64_t i = 0; i < count; ++i) { body(i * stride, i * row, row); }
    }

    void gather(X* to, const std::byte* in, std::int64_t images, X* rows) const {
        const auto join = line_kernels(target_).of<Moved>().join;
        const auto step = problem_.batch.in_stride;
        for_each_run(problem_.y.in_stride, problem_.y.n, problem_.x.n * problem_.channels.length,
                     [&](std::int64_t offset, std::int64_t at, std::int64_t count) {
                         const std::byte* const from = in + offset * in_bytes();
                         Moved* const target = reinterpret_cast<Moved*>(to + at * images_);
                         if (widen_ == nullptr) {
                             return join(target, images_, reinterpret_cast<const Moved*>(from), step, images, count);
                         }
                         for (std::int64_t i = 0; i < images; ++i) {
                             widen_(rows + i * count, from + i * step * in_bytes(), count);
                         }
                         join(target, images_, reinterpret_cast<const Moved*>(rows), count, images, count);
                     });
    }

    void scatter(std::byte* out, const X* made, std::int64_t images, X* rows) const {
        const auto split = line_kernels(target_).of<Moved>().split;
        const auto step = problem_.batch.out_stride;
        for_each_run(problem_.y.out_stride, problem_.y.outputs, problem_.x.outputs * problem_.channels.length,
                     [&](std::int64_t offset, std::int64_t at, std::int64_t count) {
                         const auto* const from = reinterpret_cast<const Moved*>(made + at * images_);
                         std::byte* const to = out + offset * out_bytes();
                         if (problem_.trivial_epilogue) {
                             return split(reinterpret_cast<Moved*>(to), step, from, images_, images, count);
                         }
                         split(reinterpret_cast<Moved*>(rows), count, from, images_, images, count);
                         for (std::int64_t i = 0; i < images; ++i) {
                             if (narrow_ != nullptr) {
                                 narrow_(to + i * step * out_bytes(), rows + i * count, count);
                                 continue;
                             }
                             const core::Output row{.data = to + i * step * out_bytes(), .first = 0, .count = count};
                             store_(problem_, row, 0, 0, count, rows + i * count);
                         }
                     });
    }

    static constexpr std::int64_t kCacheLine = 64;

    Resolved problem_;
    std::int64_t images_;
    Resolved stacked_;
    std::unique_ptr<core::Executable> inner_;
    Target target_;
    LineStore<X> store_;
    Convert widen_ = nullptr, narrow_ = nullptr;
    int threads_;
    double seconds_;
};

}  // namespace

bool takes_stack(const Resolved& p) {
    const bool packed = p.has_packed_pixels() && p.batch.in_stride != 0;
    const bool one_mask = p.rank == 2 && p.filters == 1 && p.batch.length >= kFewestImages;
    const bool plain = !p.changes_sums();
    const bool known = p.sum_dtype != Dtype::complex128 && (plain || !core::is_half(p.output_dtype));
    const std::int64_t row = std::max(p.x.n, p.x.outputs) * p.channels.length;
    const std::int64_t most = p.dtype == p.sum_dtype ? kMostElements : kMostWidened;
    return packed && one_mask && known && row <= kMostElementsOfARow && in_elements(p) + out_elements(p) <= most;
}

double seconds_of_stacking(const Resolved& p) {
    const double parts = is_complex(p.sum_dtype) || p.sum_dtype == Dtype::f64 ? 2 : 1;
    return static_cast<double>(p.batch.length) * static_cast<double>(in_elements(p) + out_elements(p)) * parts * kMoveSeconds;
}

std::unique_ptr<core::Executable> prepare_stack(const Resolved& problem, int threads, double seconds,
                                                const PrepareStacked& prepare) {
    return core::with_type_of<float, double, std::complex<float>>(
        problem.sum_dtype, [&]<class X>(X) -> std::unique_ptr<core::Executable> {
            return std::make_unique<Stack<X>>(problem, threads, seconds, prepare);
        });
}

}  // namespace tapline::cpu
