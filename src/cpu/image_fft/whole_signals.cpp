// Real signals about as long as their filter, of which segments are mostly what they share: each is an image of one row, which one
// transform of half its length holds.
#include <cstdlib>
#include <optional>

#include "core/problem/elements.hpp"
#include "cpu/algorithms.hpp"
#include "cpu/image/signals_as_images.hpp"
#include "cpu/image_fft/image_fft_tiles.hpp"
#include "cpu/overlap_save/overlap_save_shape.hpp"

namespace tapline::cpu {
namespace {

using core::Request;
using core::Resolved;

// Of the time in segments, from which on it is not worth having other bits than a stream.
constexpr double kWorthwhile = 0.85;
// Transforms of all threads together. Of signals that are widened segments go side by side instead: 356,741 bytes under 107,367
// taps take 0.98 ms as one and 0.82 so.
constexpr int kLog2Shared = 17;

// Samples that lie apart are read one by one, so that lines of the cache have to stay for the signals beside: 31 columns of 9,000
// floats under as many taps take 0.68 ms so and 1.19 in tiles of several, 48 of 100,000 under 40,000 taps 24 and 12 ms.
constexpr std::int64_t kBytesThatStay = std::int64_t{2} << 20;
constexpr std::int64_t kNearStride = 4;  // of which each line of the cache gives several samples at a time
bool stays_near(std::int64_t length, std::int64_t stride) {
    return std::abs(stride) <= kNearStride ||
           length * std::abs(stride) * static_cast<std::int64_t>(sizeof(float)) <= kBytesThatStay;
}

// Each signal as an image of one row; none where segments are as fast, and for what is made in pieces or held to strict accuracy.
std::optional<Resolved> as_rows(const Resolved& s, const Request& request) {
    const bool plain = s.rank == 1 && !s.changes_rate() && !s.is_exact() && s.filters == 1 && !s.has_outer();
    const bool whole = s.x.n != kUnknownLength && request.facts.finite && !request.host_buffers;
    const bool alone = request.whole == nullptr && !request.rows_alone && request.accuracy != Accuracy::strict;
    const bool real = !is_complex(s.sum_dtype);
    const bool near = stays_near(s.x.n, s.x.in_stride) && stays_near(s.x.outputs, s.x.out_stride);
    if (!plain || !whole || !alone || !real || !near || s.x.k < kLeastTapsOfPlanes) { return std::nullopt; }
    Resolved image = s;
    image.rank = 2;
    image.channels = {.length = 1, .in_stride = 1, .out_stride = 1};
    // As samples are summed: 30 rows of 20,000 numbers of 16 bits under 18,000 taps take 0.75 ms so, 1.17 in tiles of lines.
    Resolved wide = image;
    wide.dtype = wide.sum_dtype = core::is_half(s.sum_dtype) ? Dtype::f32 : s.sum_dtype;
    const ImageFftShape shape = image_fft_shape(without_idle_taps(wide, wide), {});
    const bool as_sums = s.dtype == s.sum_dtype && s.output_dtype == s.dtype;
    if (shape.log2_size == 0 || !shape.halves || (!as_sums && shape.log2_size >= kLog2Shared)) { return std::nullopt; }
    Resolved signals = s;
    signals.dtype = signals.sum_dtype = wide.dtype;
    const double seconds = overlap_save_shape(signals, request.threads).seconds;
    return shape.seconds < kWorthwhile * seconds ? std::optional(image) : std::nullopt;
}

}  // namespace

const core::Algorithm& overlap_save_signals_algorithm() {
    static const SignalsAsImagesAlgorithm kAlgorithm(overlap_save_algorithm(), image_fft_algorithm(), as_rows);
    return kAlgorithm;
}

}  // namespace tapline::cpu
