// Making good a transform whose outputs came out infinite or NaN: again with such samples zeroed and all others scaled to at most 1
// (finite samples may have overflowed on the way), then each output gets what its own window holds.
#include <algorithm>
#include <cmath>

#include "cpu/image_fft/image_fft.hpp"

namespace tapline::cpu {
namespace {

// Adding one infinity's terms one by one takes as long as summing so many outputs directly.
constexpr std::int64_t kOutputsOfAnInfinity = 128;

}  // namespace

template <class T>
void ImageFft<T>::repair(const Unit& unit) const {
    T largest = 0;
    for (int side = 0; side < tiles_.sides(unit); ++side) {
        const std::int64_t elements = (unit.tile[side].samples + shape_.halo) * tiles_.parts();
        tiles_.visit_rows(unit, unit.tile[side], unit.line, [&](std::int64_t, const T* line) {
            for (std::int64_t e = 0; e < elements; ++e) {
                if (std::isfinite(line[e])) { largest = std::max(largest, std::abs(line[e])); }
            }
        });
    }
    const int exponent = largest == 0 ? 0 : std::ilogb(largest);
    tiles_.load(unit, unit.data, unit.line, exponent, true);
    convolve(unit, fft_.size(), fft_.size());
    scale(unit, exponent + taps_.unscale_exponent);
    for (int side = 0; side < tiles_.sides(unit); ++side) {
        const ImageTile& tile = unit.tile[side];
        const bool many = infinities(unit, tile) > tile.rows * tile.samples / kOutputsOfAnInfinity;
        if (many && !problem_.complex_taps && shape_.pairs) {
            sum_again(unit, tile, side);
            continue;
        }
        add_infinities(unit, tile, side);
        spread_nans(unit, tile, side);
    }
}

// The terms of one sample, in component `part` of the outputs, with one component of the taps.
template <class T>
void ImageFft<T>::add_sample(const Unit& unit, const ImageTile& tile, int part, std::int64_t row, std::int64_t sample, T value,
                             int tap_part) const {
    const std::int64_t tap_parts = problem_.complex_taps ? 2 : 1;
    const T* const mask = mask_.data() + lines_.mask(unit.plane) * problem_.taps() * tap_parts + tap_part;
    T* const to = unit.data + part * fft_.tables().im_offset;
    for (std::int64_t i = std::max<std::int64_t>(row - tile.rows + 1, 0); i < problem_.y.k && i <= row; ++i) {
        for (std::int64_t j = 0; j < problem_.x.k; ++j) {
            const std::int64_t o = sample - j * shape_.step;
            if (o < 0) { break; }
            if (o >= tile.samples) { continue; }
            tiles_.at(to, (row - i) * shape_.pitch + o) += mask[(i * problem_.x.k + j) * tap_parts] * value;
        }
    }
}

template <class T>
std::int64_t ImageFft<T>::infinities(const Unit& unit, const ImageTile& tile) const {
    std::int64_t count = 0;
    const std::int64_t elements = (tile.samples + shape_.halo) * tiles_.parts();
    tiles_.visit_rows(unit, tile, unit.line, [&](std::int64_t, const T* line) {
        if (kernels_.all_finite(line, elements)) { return; }
        count += std::count_if(line, line + elements, [](T value) { return std::isinf(value); });
    });
    return count;
}

// All outputs of a tile of a real image directly.
template <class T>
void ImageFft<T>::sum_again(const Unit& unit, const ImageTile& tile, int side) const {
    const T* const mask = mask_.data() + lines_.mask(unit.plane) * problem_.taps();
    T* const to = unit.data + side * fft_.tables().im_offset;
    for (std::int64_t y = 0; y < tile.rows; y += kImageRows) {
        const std::int64_t rows = std::min(kImageRows, tile.rows - y);
        for (std::int64_t x = 0; x < tile.samples; x += ImagePatch<T>::kElements) {
            const std::int64_t samples = std::min(ImagePatch<T>::kElements, tile.samples - x);
            const T* const sums = patch_.sums(unit.in, unit.plane, mask, tile.y + y, rows, tile.x + x, samples, unit.patch);
            for (std::int64_t r = 0; r < rows; ++r) {
                for (std::int64_t i = 0; i < samples; ++i) {
                    tiles_.at(to, (y + r) * shape_.pitch + x + i) = sums[r * ImagePatch<T>::kElements + i];
                }
            }
        }
    }
}

template <class T>
void ImageFft<T>::add_infinities(const Unit& unit, const ImageTile& tile, int side) const {
    const std::int64_t elements = (tile.samples + shape_.halo) * tiles_.parts();
    tiles_.visit_rows(unit, tile, unit.line, [&](std::int64_t row, const T* line) {
        if (kernels_.all_finite(line, elements)) { return; }
        for (std::int64_t e = 0; e < elements; ++e) {
            if (!std::isinf(line[e])) { continue; }
            const int from = shape_.pairs ? side : static_cast<int>(e % 2);
            add_sample(unit, tile, from, row, e / tiles_.parts(), line[e], 0);
            if (problem_.complex_taps) {
                add_sample(unit, tile, 1 - from, row, e / tiles_.parts(), from == 1 ? -line[e] : line[e], 1);
            }
        }
    });
}

// A NaN makes NaN of all outputs whose windows hold it, whatever the taps: for each column of outputs the last row of the window in
// which one was seen is enough, and an image of nothing but NaN costs no more than its size.
template <class T>
void ImageFft<T>::spread_nans(const Unit& unit, const ImageTile& tile, int side) const {
    const std::int64_t samples = tile.samples + shape_.halo;
    const bool both = problem_.complex_taps;  // a NaN in either component reaches both
    for (int from = 0; from < (shape_.pairs || both ? 1 : 2); ++from) {
        std::fill_n(unit.last, tile.samples, std::int64_t{-1});
        tiles_.visit_rows(unit, tile, unit.line, [&](std::int64_t row, const T* line) {
            const auto is_nan = [&](std::int64_t sample) {
                const T* const value = line + sample * tiles_.parts();
                return both ? std::isnan(value[0]) || std::isnan(value[1]) : std::isnan(value[from]);
            };
            if (!kernels_.all_finite(line, samples * tiles_.parts())) {
                for (std::int64_t first = 0; first < std::min(shape_.step, samples); ++first) {
                    std::int64_t next = first;  // outputs of this residue below `next` are marked
                    for (std::int64_t sample = first; sample < samples; sample += shape_.step) {
                        if (!is_nan(sample)) { continue; }
                        for (std::int64_t o = std::max(next, sample - shape_.halo); o <= sample && o < tile.samples;
                             o += shape_.step) {
                            unit.last[o] = row;
                        }
                        next = sample + shape_.step;
                    }
                }
            }
            const std::int64_t y = row - problem_.y.k + 1;
            if (y < 0) { return; }
            for (std::int64_t o = 0; o < tile.samples; ++o) {
                if (unit.last[o] < y) { continue; }
                for (int part = 0; part < 2; ++part) {
                    const bool wanted = shape_.pairs ? part == side : both || part == from;
                    if (wanted) { tiles_.at(unit.data + part * fft_.tables().im_offset, y * shape_.pitch + o) = std::nan(""); }
                }
            }
        });
    }
}

// By name: the class is instantiated where the rest of it is defined.
#define TAPLINE_INSTANTIATE(T)                                                           \
    template void ImageFft<T>::repair(const Unit&) const;                                \
    template std::int64_t ImageFft<T>::infinities(const Unit&, const ImageTile&) const;  \
    template void ImageFft<T>::sum_again(const Unit&, const ImageTile&, int) const;      \
    template void ImageFft<T>::add_infinities(const Unit&, const ImageTile&, int) const; \
    template void ImageFft<T>::spread_nans(const Unit&, const ImageTile&, int) const;    \
    template void ImageFft<T>::add_sample(const Unit&, const ImageTile&, int, std::int64_t, std::int64_t, T, int) const;
TAPLINE_INSTANTIATE(float)
TAPLINE_INSTANTIATE(double)
#undef TAPLINE_INSTANTIATE

}  // namespace tapline::cpu
