// The lessons of overlap-save on the host: tables and launches.
#include "lessons/transform_lesson.hpp"

#include <cstring>

#include "cuda/check.hpp"
#include "cuda/families/overlap_save/overlap_save_tables.hpp"
#include "cuda/primitives/arguments.cuh"
#include "cuda/primitives/grid.hpp"
#include "lessons/22_block_transform.cuh"
#include "lessons/23_packed_transform.cuh"
#include "lessons/24_unordered_transform.cuh"
#include "lessons/25_warp_transform.cuh"
#include "lessons/26_persistent_transform.cuh"

namespace tapline::cuda {
namespace transforms {

using overlap_save::Complex;

Refusal TransformLesson::requires_more(const Problem& p) const {
    if (p.accuracy == Accuracy::strict) { return "strict accuracy needs direct summation"; }
    if (p.x.k > kMostTaps) {
        return std::to_string(p.x.k) + " taps: segments of " + std::to_string(kSamples) + " samples take at most " +
               std::to_string(kMostTaps);
    }
    return refuse_grid(p.x.outputs, outputs_of(p.x.k));
}

std::vector<std::byte> TransformLesson::tables(Prepared& prepared) const {
    const std::vector<Complex> exact =
        points(static_cast<const float*>(prepared.given.taps), static_cast<int>(prepared.problem.x.k));
    std::vector<std::complex<float>> rounded;
    rounded.reserve(exact.size());
    for (const Complex& point : exact) { rounded.emplace_back(point); }
    std::vector<std::byte> bytes(rounded.size() * sizeof(rounded.front()));
    std::memcpy(bytes.data(), rounded.data(), bytes.size());
    return bytes;
}

namespace {

// Spectra::of gives conj(sum_t taps[t] z^-t)/M where its kernel's frequency f is the root z of number -f.
std::vector<Complex> by_root(const std::vector<Complex>& of_frequency) {
    std::vector<Complex> result;
    const std::size_t size = of_frequency.size();
    for (std::size_t j = 0; j < size; ++j) { result.push_back(std::conj(of_frequency[(size - j) % size])); }
    return result;
}

}  // namespace

std::vector<Complex> plain_spectrum(const float* taps, int k) {
    std::vector<Complex> x(kSamples);
    for (int t = 0; t < k; ++t) { x[static_cast<std::size_t>((kSamples - t) % kSamples)] = taps[t] / double{kSamples}; }
    overlap_save::HostTransform{kSamples}(x);
    return x;
}

std::vector<Complex> packed_spectrum(const float* taps, int k) {
    return by_root(overlap_save::Spectra(1, false).of([&](std::int64_t t) { return Complex(taps[t]); }, k, 0));
}

std::vector<Complex> packed_twiddles() { return overlap_save::twiddles_of(1, false, true); }

std::vector<Complex> warp_tables(const float* taps, int k) {
    std::vector<Complex> all = overlap_save::pairs_of_lanes();
    for (const Complex& twiddle : overlap_save::twiddles_of(1, false, true)) { all.push_back(twiddle); }
    for (const Complex& factor : overlap_save::Spectra(1, false).of([&](std::int64_t t) { return Complex(taps[t]); }, k, 0)) {
        all.push_back(factor);
    }
    return all;
}

}  // namespace transforms

const Rung& block_transform() {
    static const transforms::BlockTransform rung;
    return rung;
}
const Rung& packed_transform() {
    static const transforms::PackedTransform rung;
    return rung;
}
const Rung& unordered_transform() {
    static const transforms::UnorderedTransform rung;
    return rung;
}
const Rung& warp_transform() {
    static const transforms::WarpTransform rung;
    return rung;
}
const Rung& persistent_transform() {
    static const transforms::PersistentTransform rung;
    return rung;
}

}  // namespace tapline::cuda
