#include "cpu/image_fft/whole_signals.hpp"

#include <optional>

#include "cpu/algorithms.hpp"
#include "cpu/image/signals_as_images.hpp"
#include "cpu/image_fft/image_fft_tiles.hpp"
#include "cpu/overlap_save/overlap_save_shape.hpp"

namespace tapline::cpu {
namespace {

using core::Request;
using core::Resolved;

// Filters of fewer taps may be watched over (local_sums.hpp).
constexpr std::int64_t kLeastTaps = 256;
// Of the time in segments, from which on it is not worth having other bits than a stream.
constexpr double kWorthwhile = 0.85;

// Each signal as an image of one row; none where segments are as fast, and for what is made in pieces or held to strict accuracy.
std::optional<Resolved> as_image(const Resolved& s, const Request& request) {
    const bool plain = s.rank == 1 && !s.changes_rate() && !s.is_exact() && s.filters == 1 && !s.has_outer();
    const bool whole = s.x.n != kUnknownLength && request.facts.finite && !request.host_buffers;
    const bool alone = request.whole == nullptr && !request.rows_alone && request.accuracy != Accuracy::strict;
    const bool real = !is_complex(s.sum_dtype) && s.dtype == s.sum_dtype && s.output_dtype == s.dtype;
    if (!plain || !whole || !alone || !real || s.x.k < kLeastTaps) { return std::nullopt; }
    Resolved image = s;
    image.rank = 2;
    image.channels = {.length = 1, .in_stride = 1, .out_stride = 1};
    const ImageFftShape shape = image_fft_shape(without_idle_taps(image), {});
    if (shape.log2_size == 0 || !shape.halves) { return std::nullopt; }
    const double seconds = overlap_save_shape(s, request.threads).seconds;
    return shape.seconds < kWorthwhile * seconds ? std::optional(image) : std::nullopt;
}

}  // namespace

bool WholeSignalsAlgorithm::keeps_local(const Resolved& problem, const Request& request) const {
    return !as_image(problem, request) && inner().keeps_local(problem, request);
}

bool WholeSignalsAlgorithm::takes_outer(const Resolved& problem, const Request& request) const {
    return inner().takes_outer(problem, request);
}

core::Support WholeSignalsAlgorithm::supports(const Resolved& problem, const Request& request) const {
    return as_image(problem, request) ? core::Support::yes() : inner().supports(problem, request);
}

double WholeSignalsAlgorithm::estimate_seconds(const Resolved& problem, const Request& request) const {
    const std::optional<Resolved> image = as_image(problem, request);
    return image ? image_fft_algorithm().estimate_seconds(*image, request) : inner().estimate_seconds(problem, request);
}

std::unique_ptr<core::Executable> WholeSignalsAlgorithm::prepare(const Resolved& problem, const void* taps,
                                                                 const Request& request) const {
    const std::optional<Resolved> image = as_image(problem, request);
    if (!image) { return inner().prepare(problem, taps, request); }
    return executed_as_image(problem, image_fft_algorithm().prepare(*image, taps, request),
                             inner().prepare(problem, taps, request));
}

const core::Algorithm& overlap_save_signals_algorithm() {
    static const WholeSignalsAlgorithm kAlgorithm(overlap_save_algorithm());
    return kAlgorithm;
}

}  // namespace tapline::cpu
