// Tiles of an image on their way to a transform and back: loading their windows, storing their outputs.
#pragma once

#include <algorithm>

#include "cpu/fft/fft_kernels.hpp"
#include "cpu/image/image_lines.hpp"
#include "cpu/image_fft/image_fft_tiles.hpp"
#include "cpu/overlap_save/overlap_save_blocks.hpp"
#include "cpu/overlap_save/overlap_save_taps.hpp"

namespace tapline::cpu {

/// Outputs [y, y + rows) x samples [x, x + samples) of a plane; rows is 0 for the missing half of a pair.
struct ImageTile {
    std::int64_t y = 0, x = 0, rows = 0, samples = 0;
};

/// What one transform computes.
struct TileUnit {
    Plane plane;
    ImageTile tile[2];  ///< [1] for pairs only
    void* out = nullptr;
    const void* in = nullptr;
};

/// T: the type of the samples in a window.
template <class T>
class ImageTiles {
public:
    /// All are referred to, and outlive it.
    ImageTiles(const core::Resolved& problem, const ImageFftShape& shape, const ImageLines<T>& lines,
               const ImageKernels<T>& kernels, const FftKernels<T>& fft_kernels, const WindowLayout& layout)
        : problem_(problem), shape_(shape), lines_(lines), kernels_(kernels), fft_kernels_(fft_kernels), layout_(layout) {}

    /// Unit `task` of all planes.
    [[nodiscard]] TileUnit unit(std::int64_t task, void* out, const void* in) const;
    /// Real elements of a sample in a line.
    [[nodiscard]] std::int64_t parts() const { return shape_.pairs ? 1 : 2; }
    /// Tiles of a unit.
    [[nodiscard]] int sides(const TileUnit& unit) const { return shape_.pairs ? (unit.tile[1].rows > 0 ? 2 : 1) : 1; }
    /// Of a tile's window, as it is loaded.
    [[nodiscard]] std::int64_t window_rows(const ImageTile& tile) const {
        return tile.rows == 0 ? 0 : tile.rows + problem_.y.k - 1 - shape_.wrapped_rows;
    }
    [[nodiscard]] std::int64_t window_samples(const ImageTile& tile) const {
        return tile.samples + shape_.halo - shape_.wrapped_samples;
    }
    /// Positions of a part of the outputs up to the last one that a tile needs.
    [[nodiscard]] std::int64_t wanted(const ImageTile& tile) const {
        return tile.rows == 0 ? 0 : (tile.rows - 1) * shape_.pitch + tile.samples;
    }
    /// Elements of the room for a line that load() and visit_rows() need.
    [[nodiscard]] std::int64_t line_elements() const {
        return std::max(shape_.pitch, shape_.out_samples + shape_.halo) * parts() + 2 * kImagePadding;
    }

    /// The windows of a unit's tiles and zeros around them; `clean`: non-finite values as zeros, all others times 2^-exponent.
    void load(const TileUnit& unit, T* window, T* line, int exponent, bool clean) const;
    /// `sums`: in the window's layout, with kImagePadding readable elements behind it.
    void store(const TileUnit& unit, T* sums, T* line, bool stream) const;

    /// Samples under a tile's outputs, row by row, to `visit(row, values)`; values are parts() elements a sample.
    template <class Visit>
    void visit_rows(const TileUnit& unit, const ImageTile& tile, T* line, const Visit& visit) const {
        const std::int64_t rows = tile.rows == 0 ? 0 : tile.rows + problem_.y.k - 1;
        for (std::int64_t row = 0; row < rows; ++row) {
            gather(unit, tile, row, tile.samples + shape_.halo, line);
            visit(row, line);
        }
    }
    /// Runs of consecutive elements of a part of the window: visit(address, offset, count).
    template <class Visit>
    void visit_runs(T* part, std::int64_t first, std::int64_t count, const Visit& visit) const {
        for (std::int64_t done = 0; done < count;) {
            const std::int64_t column = (first + done) % layout_.columns;
            const std::int64_t run = std::min(layout_.columns - column, count - done);
            visit(&at(part, first + done), done, run);
            done += run;
        }
    }
    [[nodiscard]] T& at(T* part, std::int64_t position) const {
        if (shape_.halves && position >= layout_.size) {
            part += layout_.im_offset;
            position -= layout_.size;
        }
        return part[position / layout_.columns * layout_.pitch + position % layout_.columns];
    }

private:
    [[nodiscard]] ImageTile tile(std::int64_t index) const;
    void gather(const TileUnit& unit, const ImageTile& tile, std::int64_t row, std::int64_t samples, T* line) const {
        lines_.gather(line, unit.in, unit.plane, tile.y - problem_.y.origin + row,
                      (tile.x - problem_.x.origin * shape_.step) * parts(), samples * parts());
    }
    /// Whether a window's positions follow each other in memory.
    [[nodiscard]] bool is_contiguous() const { return !shape_.halves && (layout_.rows == 1 || layout_.pitch == layout_.columns); }

    const core::Resolved& problem_;
    const ImageFftShape& shape_;
    const ImageLines<T>& lines_;
    const ImageKernels<T>& kernels_;
    const FftKernels<T>& fft_kernels_;
    WindowLayout layout_;
};

/// Spectra of the masks as filters of the flat tile, or of its halves. `masks`: problem.filters of them, of the transform's type.
template <class T>
OverlapSaveTaps<T> spectra_of_masks(const core::Resolved& problem, const ImageFftShape& shape, const BlockFft<T>& fft,
                                    const T* masks, int threads);

extern template class ImageTiles<float>;
extern template class ImageTiles<double>;

}  // namespace tapline::cpu
