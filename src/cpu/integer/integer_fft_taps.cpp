#include "cpu/integer/integer_fft_taps.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include "core/plan/parallel.hpp"
#include "tapline/error.hpp"

namespace tapline::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::int64_t kLeastSpectraSideBySide = 8;

using Spectra = std::unique_ptr<double[], void (*)(double*)>;

Spectra allocate(std::int64_t elements) {
    const auto bytes = static_cast<std::size_t>(elements) * sizeof(double);
    auto* const p = static_cast<double*>(::operator new(bytes, kAlignment, std::nothrow));
    if (p == nullptr) {
        throw Error(ErrorCode::memory, "taps: " + std::to_string(bytes) + " bytes for the filter's spectra could not be allocated");
    }
    return {p, [](double* q) { ::operator delete(q, kAlignment); }};
}

// The limb of `count` taps at minus their index, which makes the circular convolution a correlation.
void place(const BlockFft<double>& fft, double* data, const std::int64_t* taps, std::int64_t count, const Limb& limb) {
    const FftTables<double>& t = fft.tables();
    const double scale = std::ldexp(1.0, -t.log2_size);
    std::fill(data, data + t.extent, 0.0);
    for (std::int64_t tap = 0; tap < count; ++tap) {
        const std::int64_t at = (t.size - tap) & (t.size - 1);
        data[at / t.columns * t.pitch + at % t.columns] = scale * static_cast<double>(limb.of(taps[tap]));
    }
}

}  // namespace

LimbSpectra::LimbSpectra(const core::Resolved& problem, const IntegerFftShape& shape, const BlockFft<double>& fft,
                         const std::int64_t* taps, int threads)
    : problem_(problem),
      fft_(fft),
      limbs_of_taps_(shape.taps),
      limbs_(shape.taps.count),
      partitions_(shape.blocks.partitions),
      block_(shape.blocks.block),
      extent_(fft.extent()) {
    note_norms(taps);
    if (!shape.keeps_spectra) {
        taps_.assign(taps, taps + problem.filters * problem.x.k);
        return;
    }
    // Many spectra side by side, each by one thread; few one after the other, each by all.
    const std::int64_t spectra = problem.filters * limbs_ * partitions_;
    spectra_ = allocate(spectra * extent_);
    const bool side_by_side = spectra >= kLeastSpectraSideBySide;
    const int makers = side_by_side ? threads : 1, of_each = side_by_side ? 1 : threads;
    const std::int64_t scratch_extent = fft.tables().scratch_extent * of_each;
    const Spectra scratch = allocate(std::max<std::int64_t>(scratch_extent * makers, 1));
    core::parallel_for(spectra, makers, [&](std::int64_t index, int slot) {
        const std::int64_t of_filter = index / partitions_;
        make(spectra_.get() + index * extent_, taps, of_filter / limbs_, static_cast<int>(of_filter % limbs_), index % partitions_,
             scratch.get() + slot * scratch_extent, of_each);
    });
}

void LimbSpectra::make(double* data, const std::int64_t* taps, std::int64_t filter, int limb, std::int64_t partition,
                       double* scratch, int threads) const {
    const std::int64_t k = problem_.x.k;
    const std::int64_t first = partitions_ == 1 ? 0 : partition * block_;
    const std::int64_t last = partitions_ == 1 ? k : std::min(first + block_, k);
    place(fft_, data, taps + filter * k + first, last - first, Limb(limbs_of_taps_, limb, problem_.taps_dtype == Dtype::u64));
    fft_.forward(data, scratch, threads);
}

void LimbSpectra::note_norms(const std::int64_t* taps) {
    for (int l = 0; l < limbs_; ++l) {
        const Limb limb(limbs_of_taps_, l, problem_.taps_dtype == Dtype::u64);
        double& norm = norms_[static_cast<std::size_t>(l)];
        for (std::int64_t f = 0; f < problem_.filters; ++f) {
            double squares = 0;
            for (std::int64_t t = f * problem_.x.k; t < (f + 1) * problem_.x.k; ++t) {
                const auto value = static_cast<double>(limb.of(taps[t]));
                squares += value * value;
            }
            norm = std::max(norm, std::sqrt(squares));
        }
    }
}

}  // namespace tapline::cpu
