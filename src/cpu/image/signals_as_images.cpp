#include "cpu/image/signals_as_images.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/plan/repeated.hpp"
#include "core/problem/arrange.hpp"
#include "cpu/algorithms.hpp"
#include "cpu/caches.hpp"
#include "cpu/direct/calls/direct_shape.hpp"
#include "cpu/targets.hpp"

namespace tapline::cpu {
namespace {

using core::Batch;
using core::Input;
using core::Output;
using core::Request;
using core::Resolved;

// Below it the samples under the filter stay in the L1 cache, and lines that are packed or joined are as fast: 1,000 columns under
// 5 taps take 0.7 times as long so, under 9 1.3 times (1,000 samples each, one thread, AVX-512).
constexpr std::int64_t kWindowBytes = std::int64_t{32} << 10;

// What does not fit the caches is stored past them only where rows begin at lines of the cache (image_tasks.cpp); 8 x 300 x 5,000
// take 1.15 times as long so as in panels, 500 x 8,000 0.65 times (9 taps).
constexpr std::int64_t kCacheLine = 64;

// Signals side by side as the columns of images, which are read where they lie: where a window of them all leaves the L1 cache,
// under so few taps that the bits are the same.
std::optional<Resolved> as_columns(const Resolved& s, const Request& request) {
    const bool plain = s.rank == 1 && !s.changes_rate() && !s.is_exact() && s.filters == 1 && !s.complex_taps;
    const bool whole = s.x.n != kUnknownLength && request.facts.finite;
    if (!plain || !whole || s.dtype != s.sum_dtype || s.output_dtype != s.dtype || s.x.k < 2) { return std::nullopt; }
    if (s.x.k > taps_in_order(current_target(), size_of(real_part_of(s.sum_dtype))) || s.outer[1].length > 1) {
        return std::nullopt;
    }
    const auto across = [](const Batch& axis) { return axis.in_stride == 1 && axis.out_stride == 1; };
    const std::array axes{&s.batch, &s.outer[0]};
    const auto* const found = std::find_if(axes.begin(), axes.end(), [&](const Batch* axis) { return across(*axis); });
    if (found == axes.end()) { return std::nullopt; }
    const Batch& columns = **found;
    const Batch& images = found == axes.begin() ? s.outer[0] : s.batch;
    const std::int64_t bytes = s.x.k * columns.length * static_cast<std::int64_t>(size_of(s.sum_dtype));
    const bool apart = s.x.in_stride >= columns.length && s.x.out_stride >= columns.length;
    if (bytes <= kWindowBytes || !apart || (images.length > 1 && images.taps_stride != 0)) { return std::nullopt; }
    const auto element = static_cast<std::int64_t>(size_of(s.dtype));
    const double samples = static_cast<double>(images.length * columns.length) * static_cast<double>(element);
    const bool far =
        stores_past_caches(samples * static_cast<double>(s.x.n), samples * static_cast<double>(s.x.outputs), request.threads);
    if (far && s.x.out_stride * element % kCacheLine != 0) { return std::nullopt; }
    Resolved image = s;
    image.rank = 2;
    image.y = s.x;
    image.x = {.n = columns.length, .outputs = columns.length, .in_stride = 1, .out_stride = 1};
    image.channels = {.length = 1, .in_stride = 1, .out_stride = 1};
    image.batch = images.length > 1 ? images : Batch{};
    image.outer = {};
    return image;
}

class AsImage final : public core::Executable {
public:
    AsImage(const Resolved& signals, std::unique_ptr<const core::Executable> image, std::unique_ptr<const core::Executable> pieces)
        : signals_(signals), image_(std::move(image)), pieces_(std::move(pieces)) {}

    [[nodiscard]] std::size_t workspace_bytes() const override {
        return std::max(image_->workspace_bytes(), pieces_->workspace_bytes());
    }
    [[nodiscard]] std::int64_t granularity() const override { return pieces_->granularity(); }
    [[nodiscard]] std::int64_t lookahead() const override { return pieces_->lookahead(); }
    [[nodiscard]] std::string describe() const override { return "as an image: " + image_->describe(); }

    void execute(const Output& output, const Input& input, std::span<std::byte> workspace, void* stream) const override {
        const core::Axis& x = signals_.x;
        const bool as_planned = input.main.batch_stride == signals_.batch.in_stride && input.main.stride == x.in_stride &&
                                output.batch_stride == signals_.batch.out_stride && output.stride == x.out_stride;
        const bool whole = as_planned && output.count == x.outputs && input.main.first == 0 && input.main.last == x.n &&
                           input.extra.first >= input.extra.last;
        (whole ? image_ : pieces_)->execute(output, input, workspace, stream);
    }

private:
    Resolved signals_;
    std::unique_ptr<const core::Executable> image_, pieces_;
};

}  // namespace

std::unique_ptr<core::Executable> SignalsAsImagesAlgorithm::prepare(const Resolved& problem, const void* taps,
                                                                    const Request& request) const {
    const std::optional<Resolved> image = as_images_(problem, request);
    if (!image) { return inner().prepare(problem, taps, request); }
    Request of_image = request;
    of_image.whole = nullptr;
    return std::make_unique<AsImage>(problem, images_.prepare(*image, taps, of_image),
                                     core::prepare_with_outer(inner(), problem, taps, request));
}

const core::Algorithm& direct_signals_algorithm() {
    static const SignalsAsImagesAlgorithm kAlgorithm(direct_algorithm(), image_direct_algorithm(), as_columns);
    return kAlgorithm;
}

}  // namespace tapline::cpu
