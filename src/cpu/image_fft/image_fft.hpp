// Overlap-save in two dimensions: an execution's tiles, their loading, storing and repair.
#pragma once

#include <optional>

#include "cpu/fft/right_angle.hpp"
#include "cpu/image/image_patch.hpp"
#include "cpu/image_fft/image_tiles.hpp"

namespace tapline::cpu {

template <class T>
class ImageFft final : public core::Executable {
public:
    ImageFft(const core::Resolved& problem, const ImageFftShape& shape, const T* taps, const core::Request& request);

    [[nodiscard]] std::size_t workspace_bytes() const override;
    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void* stream) const override;
    /// Rows and columns of tiles that are paired.
    [[nodiscard]] std::int64_t granularity() const override { return (shape_.pairs ? 2 : 1) * shape_.out_rows; }
    [[nodiscard]] std::int64_t inner_granularity() const override { return shape_.inner_granularity(); }
    [[nodiscard]] std::string describe() const override { return std::string(to_string(target_)) + ", " + shape_.describe(); }

private:
    struct Unit : TileUnit {
        T* data = nullptr;             ///< the transform's arrays
        T* line = nullptr;             ///< room for a line
        std::int64_t* last = nullptr;  ///< out_samples numbers for the repair
        T* scratch = nullptr;          ///< the transform's own
        std::byte* patch = nullptr;
        int threads = 1;
    };

    [[nodiscard]] std::int64_t slots() const { return shared_ ? 1 : threads_; }
    [[nodiscard]] std::size_t slot_elements() const;
    [[nodiscard]] std::size_t slot_bytes() const;
    void run(const Unit& unit, bool stream) const;

    /// Of what is loaded; as BlockFft::convolve.
    bool convolve(const Unit& unit, std::int64_t re_count, std::int64_t im_count) const;
    void scale(const Unit& unit, int exponent) const;

    void repair(const Unit& unit) const;
    [[nodiscard]] std::int64_t infinities(const Unit& unit, const ImageTile& tile) const;
    void sum_again(const Unit& unit, const ImageTile& tile, int side) const;
    void add_infinities(const Unit& unit, const ImageTile& tile, int side) const;
    void spread_nans(const Unit& unit, const ImageTile& tile, int side) const;
    void add_sample(const Unit& unit, const ImageTile& tile, int part, std::int64_t row, std::int64_t sample, T value,
                    int tap_part) const;

    core::Resolved problem_;
    ImageFftShape shape_;
    Target target_;
    const ImageKernels<T>& kernels_;
    ImageLines<T> lines_;
    ImagePatch<T> patch_;
    BlockFft<T> fft_;
    std::optional<RightAngle<T>> halves_;
    ImageTiles<T> tiles_;
    OverlapSaveTaps<T> taps_;
    std::vector<T> mask_;  ///< the masks as they are, (re, im) pairs if complex
    int threads_;
    bool shared_;  ///< all threads in one transform at a time
};

extern template class ImageFft<float>;
extern template class ImageFft<double>;

}  // namespace tapline::cpu
