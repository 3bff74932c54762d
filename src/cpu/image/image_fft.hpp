// Overlap-save in two dimensions: an execution's tiles, their loading, storing and repair.
#pragma once

#include <algorithm>

#include "cpu/image/image_fft_tiles.hpp"
#include "cpu/image/image_lines.hpp"
#include "cpu/image/image_patch.hpp"
#include "cpu/overlap_save/overlap_save_taps.hpp"

namespace tapline::cpu {

template <class T>
class ImageFft final : public core::Executable {
public:
    ImageFft(const core::Resolved& problem, const ImageFftShape& shape, const void* taps, const core::Request& request);

    [[nodiscard]] std::size_t workspace_bytes() const override;
    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void* stream) const override;
    /// Rows and columns of tiles that are paired.
    [[nodiscard]] std::int64_t granularity() const override { return (shape_.pairs ? 2 : 1) * shape_.out_rows; }
    [[nodiscard]] std::int64_t inner_granularity() const override;
    [[nodiscard]] std::string describe() const override;

private:
    /// Outputs [y, y + rows) x samples [x, x + samples) of a plane; rows is 0 for the missing half of a pair.
    struct Tile {
        std::int64_t y = 0, x = 0, rows = 0, samples = 0;
    };
    /// One transform.
    struct Unit {
        Plane plane;
        Tile tile[2];  ///< [1] for pairs only
        void* out;
        const void* in;
        T* data;             ///< the transform's arrays
        T* line;             ///< a line of pitch samples
        std::int64_t* last;  ///< out_samples numbers for the repair
        T* scratch;          ///< the transform's own
        std::byte* patch;
        int threads;
    };

    [[nodiscard]] std::int64_t parts() const { return shape_.pairs ? 1 : 2; }
    [[nodiscard]] int sides(const Unit& unit) const { return shape_.pairs ? (unit.tile[1].rows > 0 ? 2 : 1) : 1; }
    [[nodiscard]] Tile tile(std::int64_t index) const;
    [[nodiscard]] std::int64_t slots() const { return shared_ ? 1 : threads_; }
    [[nodiscard]] std::size_t slot_elements() const;
    [[nodiscard]] std::size_t slot_bytes() const;
    void run(const Unit& unit, bool stream) const;

    /// Samples of a tile's window, row by row, to `visit(row, values)`; values are parts() elements a sample.
    template <class Visit>
    void visit_rows(const Unit& unit, const Tile& tile, const Visit& visit) const;
    /// Runs of consecutive elements in the transform's arrays: visit(address, offset, count).
    template <class Visit>
    void visit_runs(T* part, std::int64_t first, std::int64_t count, const Visit& visit) const;
    void load(const Unit& unit, int exponent, bool clean) const;
    void store(const Unit& unit, bool stream) const;
    void scale(const Unit& unit, int exponent) const;

    void repair(const Unit& unit) const;
    [[nodiscard]] std::int64_t infinities(const Unit& unit, const Tile& tile) const;
    void sum_again(const Unit& unit, const Tile& tile, int side) const;
    void add_infinities(const Unit& unit, const Tile& tile, int side) const;
    void spread_nans(const Unit& unit, const Tile& tile, int side) const;
    void add_sample(const Unit& unit, const Tile& tile, int part, std::int64_t row, std::int64_t sample, T value,
                    int tap_part) const;
    [[nodiscard]] T& at(T* part, std::int64_t position) const {
        return part[position / fft_.tables().columns * fft_.tables().pitch + position % fft_.tables().columns];
    }

    core::Resolved problem_;
    ImageFftShape shape_;
    Target target_;
    const ImageKernels<T>& kernels_;
    ImageLines<T> lines_;
    ImagePatch<T> patch_;
    BlockFft<T> fft_;
    OverlapSaveTaps<T> taps_;
    std::vector<T> mask_;  ///< the masks as they are, (re, im) pairs if complex
    int threads_;
    bool shared_;  ///< all threads in one transform at a time
};

template <class T>
template <class Visit>
void ImageFft<T>::visit_runs(T* part, std::int64_t first, std::int64_t count, const Visit& visit) const {
    const FftTables<T>& t = fft_.tables();
    for (std::int64_t done = 0; done < count;) {
        const std::int64_t column = (first + done) % t.columns;
        const std::int64_t run = std::min(t.columns - column, count - done);
        visit(part + (first + done) / t.columns * t.pitch + column, done, run);
        done += run;
    }
}

template <class T>
template <class Visit>
void ImageFft<T>::visit_rows(const Unit& unit, const Tile& tile, const Visit& visit) const {
    if (tile.rows == 0) { return; }
    const std::int64_t first = (tile.x - problem_.x.origin * shape_.step) * parts();
    for (std::int64_t row = 0; row < tile.rows + problem_.y.k - 1; ++row) {
        lines_.gather(unit.line, unit.in, unit.plane, tile.y - problem_.y.origin + row, first,
                      (tile.samples + shape_.halo) * parts());
        visit(row, unit.line);
    }
}

extern template class ImageFft<float>;
extern template class ImageFft<double>;

}  // namespace tapline::cpu
