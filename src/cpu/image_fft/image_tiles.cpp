#include "cpu/image_fft/image_tiles.hpp"

#include <cmath>

#include "cpu/fft/right_angle.hpp"

namespace tapline::cpu {
namespace {

// Rows of a tile are too short for the hardware to see what comes next; so many further ones are asked for.
constexpr std::int64_t kRowsAhead = 6;

}  // namespace

template <class T>
ImageTile ImageTiles<T>::tile(std::int64_t index) const {
    if (index >= shape_.tiles()) { return {}; }
    const std::int64_t y = index / shape_.across * shape_.out_rows, x = index % shape_.across * shape_.out_samples;
    return {y, x, std::min(shape_.out_rows, problem_.y.outputs - y),
            std::min(shape_.out_samples, problem_.x.outputs * shape_.step - x)};
}

template <class T>
TileUnit ImageTiles<T>::unit(std::int64_t task, void* out, const void* in) const {
    const std::int64_t index = task % shape_.units();
    const ImageFftShape::Pair pair = shape_.pairs ? shape_.pair(index) : ImageFftShape::Pair{index, index};
    TileUnit unit{.plane = lines_.plane(task / shape_.units()), .tile = {tile(pair.first), {}}, .out = out, .in = in};
    if (shape_.pairs) { unit.tile[1] = tile(pair.second); }
    return unit;
}

template <class T>
void ImageTiles<T>::load(const TileUnit& unit, T* window, T* line_room, int exponent, bool clean) const {
    for (int part = 0; part < (shape_.halves ? 1 : 2); ++part) {
        T* const to = window + part * layout_.im_offset;
        const ImageTile& tile = unit.tile[shape_.pairs ? part : 0];
        const auto zero = [&](std::int64_t first, std::int64_t last) {
            visit_runs(to, first, last - first, [](T* run, std::int64_t, std::int64_t count) { std::fill_n(run, count, T{0}); });
        };
        const std::int64_t rows = window_rows(tile), samples = window_samples(tile);
        zero(rows * shape_.pitch, shape_.halves ? 2 * layout_.size : layout_.size);
        if (part == 1 && !shape_.pairs) {  // filled with the real parts
            for (std::int64_t row = 0; row < rows; ++row) { zero(row * shape_.pitch + samples, (row + 1) * shape_.pitch); }
            break;
        }
        const auto put = [&](std::int64_t row, T* line) {
            if (clean) {
                for (std::int64_t e = 0; e < samples * parts(); ++e) {
                    line[e] = std::isfinite(line[e]) ? std::ldexp(line[e], -exponent) : T{0};
                }
            }
            visit_runs(to, row * shape_.pitch, samples, [&](T* run, std::int64_t offset, std::int64_t count) {
                if (shape_.pairs) {
                    std::copy_n(line + offset, count, run);
                } else {
                    fft_kernels_.split(run, run + layout_.im_offset, line + 2 * offset, count);
                }
            });
            zero(row * shape_.pitch + samples, (row + 1) * shape_.pitch);
        };
        if (shape_.pairs && is_contiguous() && !clean && tile.rows > 0) {  // straight to its place
            const std::int64_t first = tile.x - problem_.x.origin * shape_.step;
            for (std::int64_t row = 0, some = 0; row < rows; row += some) {
                const std::int64_t y = tile.y - problem_.y.origin + row;
                some = lines_.rows_at_once(y, rows - row);
                lines_.prefetch(unit.in, unit.plane, y + kRowsAhead, first, samples);
                lines_.gather_rows(to + row * shape_.pitch, shape_.pitch, unit.in, unit.plane, y, some, first, samples);
            }
            for (std::int64_t row = 0; row < rows; ++row) {
                std::fill_n(to + row * shape_.pitch + samples, shape_.pitch - samples, T{0});
            }
            continue;
        }
        for (std::int64_t row = 0; row < rows; ++row) {
            gather(unit, tile, row, samples, line_room);
            put(row, line_room);
        }
    }
}

template <class T>
void ImageTiles<T>::store(const TileUnit& unit, T* sums, T* line, bool stream) const {
    for (int side = 0; side < sides(unit); ++side) {
        const ImageTile& tile = unit.tile[side];
        T* const from = sums + side * layout_.im_offset;
        if (shape_.pairs && is_contiguous()) {
            lines_.store(unit.out, unit.plane, tile.y, tile.rows, tile.x, tile.samples, from, shape_.pitch, stream);
            continue;
        }
        for (std::int64_t r = 0; r < tile.rows; ++r) {
            visit_runs(from, r * shape_.pitch, tile.samples, [&](T* run, std::int64_t offset, std::int64_t count) {
                if (shape_.pairs) {
                    std::copy_n(run, count, line + offset);
                } else {
                    fft_kernels_.join(line + 2 * offset, run, run + layout_.im_offset, count);
                }
            });
            lines_.store(unit.out, unit.plane, tile.y + r, 1, tile.x * parts(), tile.samples * parts(), line, 0, stream);
        }
    }
    if (stream) { kernels_.flush(); }
}

template class ImageTiles<float>;
template class ImageTiles<double>;

// Those of a tile whose halves are turned are complex.
template <class T>
static OverlapSaveTaps<T> spectra_of_halves(const core::Resolved& p, const ImageFftShape& shape, const BlockFft<T>& fft,
                                            const T* masks, int threads) {
    core::Resolved flat;
    flat.x.k = fft.size();
    flat.filters = p.filters;
    flat.complex_taps = true;
    flat.dtype = flat.taps_dtype = sizeof(T) == sizeof(double) ? Dtype::complex128 : Dtype::complex64;
    OverlapSaveShape flat_shape;
    flat_shape.log2_size = shape.log2_size;
    std::vector<std::int64_t> positions;
    for (std::int64_t t = 0; t < p.taps(); ++t) { positions.push_back(t / p.x.k * shape.pitch + t % p.x.k * shape.step); }
    std::vector<T> filters;
    for (std::int64_t f = 0; f < p.filters; ++f) {
        const std::vector<T> filter = RightAngle<T>::folded(shape.log2_size, masks + f * p.taps(), positions);
        filters.insert(filters.end(), filter.begin(), filter.end());
    }
    OverlapSaveTaps<T> prepared = prepare_taps(flat, flat_shape, fft, filters.data(), threads);
    prepared.taps = {};
    return prepared;
}

// The masks as filters of the flat tile: their rows `pitch` apart, their taps `step` apart.
template <class T>
OverlapSaveTaps<T> spectra_of_masks(const core::Resolved& p, const ImageFftShape& shape, const BlockFft<T>& fft, const T* masks,
                                    int threads) {
    if (shape.halves) { return spectra_of_halves(p, shape, fft, masks, threads); }
    core::Resolved flat;
    constexpr bool of_f64 = sizeof(T) == sizeof(double);
    const auto dtype = [](bool is_complex) {
        return is_complex ? of_f64 ? Dtype::complex128 : Dtype::complex64 : of_f64 ? Dtype::f64 : Dtype::f32;
    };
    flat.x.k = (p.y.k - 1) * shape.pitch + shape.halo + 1;
    flat.filters = p.filters;
    flat.dtype = dtype(is_complex(p.sum_dtype));
    flat.taps_dtype = dtype(p.complex_taps);
    flat.complex_taps = p.complex_taps;
    OverlapSaveShape flat_shape;
    flat_shape.log2_size = shape.log2_size;
    const std::int64_t parts = p.complex_taps ? 2 : 1;
    std::vector<T> filters(static_cast<std::size_t>(p.filters * flat.x.k * parts), T{0});
    for (std::int64_t row = 0; row < p.filters * p.y.k; ++row) {
        const std::int64_t start = row / p.y.k * flat.x.k + row % p.y.k * shape.pitch;
        for (std::int64_t j = 0; j < p.x.k; ++j) {
            for (std::int64_t part = 0; part < parts; ++part) {
                filters[static_cast<std::size_t>((start + j * shape.step) * parts + part)] =
                    masks[(row * p.x.k + j) * parts + part];
            }
        }
    }
    OverlapSaveTaps<T> prepared = prepare_taps(flat, flat_shape, fft, filters.data(), threads);
    prepared.taps = {};  // repairs use the masks as they are
    return prepared;
}

template OverlapSaveTaps<float> spectra_of_masks(const core::Resolved&, const ImageFftShape&, const BlockFft<float>&, const float*,
                                                 int);
template OverlapSaveTaps<double> spectra_of_masks(const core::Resolved&, const ImageFftShape&, const BlockFft<double>&,
                                                  const double*, int);

}  // namespace tapline::cpu
