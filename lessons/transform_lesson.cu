// The lessons of overlap-save on the host: their limits and tables.
#include "lessons/transform_lesson.hpp"

#include <algorithm>

#include "cuda/families/overlap_save/overlap_save_tables.hpp"

namespace tapline::cuda {
namespace {

using overlap_save::Complex;

// conj(sum_t taps[t] z^-t)/M where a warp's frequency f is the root z of number -f.
Points warp_spectrum(const float* taps, int k) {
    return overlap_save::Spectra(1, false).of([&](std::int64_t t) { return Complex(taps[t]); }, k, 0);
}

Points twiddles() { return overlap_save::twiddles_of(1, false, true); }

void append(Points& all, const Points& more) { all.insert(all.end(), more.begin(), more.end()); }

}  // namespace

Refusal segments_need(const Problem& p) {
    if (p.accuracy == Accuracy::strict) { return "strict accuracy needs direct summation"; }
    if (p.x.k <= kMostSegmentTaps) { return {}; }
    return std::to_string(p.x.k) + " taps: segments of " + std::to_string(kSegmentSamples) + " samples take at most " +
           std::to_string(kMostSegmentTaps);
}

Points plain_spectrum(const float* taps, int k) {
    Points x(kSegmentSamples);
    for (int t = 0; t < k; ++t) {
        x[static_cast<std::size_t>((kSegmentSamples - t) % kSegmentSamples)] = taps[t] / double{kSegmentSamples};
    }
    overlap_save::HostTransform{kSegmentSamples}(x);
    return x;
}

Points packed_tables(const float* taps, int k) {
    Points all = warp_spectrum(taps, k);
    std::reverse(all.begin() + 1, all.end());  // by roots
    for (Complex& factor : all) { factor = std::conj(factor); }
    append(all, twiddles());
    return all;
}

Points warp_tables(const float* taps, int k) {
    Points all = overlap_save::pairs_of_lanes();
    append(all, twiddles());
    append(all, warp_spectrum(taps, k));
    return all;
}

}  // namespace tapline::cuda
