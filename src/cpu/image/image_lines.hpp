// Rows of images as lines of real elements: where the algorithms for images read and write.
#pragma once

#include <algorithm>

#include "core/problem/resolved.hpp"
#include "cpu/image/simd_image.hpp"
#include "cpu/lines/line_moves.hpp"
#include "cpu/lines/line_store.hpp"

namespace tapline::cpu {

/// What is convolved on its own: all channels of an image together (they lie side by side: a pixel's neighbour is `step` elements
/// further), or one channel of it where each has a mask of its own. Complex elements are pairs of real ones.
struct Plane {
    std::int64_t image = 0;
    std::int64_t channel = 0;  ///< always 0 for all together
};

/// T: the real type of the sums.
template <class T>
class ImageLines {
public:
    ImageLines(const core::Resolved& problem, const ImageKernels<T>& kernels);

    [[nodiscard]] std::int64_t planes() const { return problem_.batch.length * planes_per_image_; }
    [[nodiscard]] Plane plane(std::int64_t index) const { return {index / planes_per_image_, index % planes_per_image_}; }
    /// The plane's mask.
    [[nodiscard]] std::int64_t mask(const Plane& plane) const { return plane.channel; }
    /// Elements of a pixel in a line: the distance of neighbouring pixels.
    [[nodiscard]] std::int64_t step() const { return step_; }
    [[nodiscard]] std::int64_t parts() const { return parts_; }
    [[nodiscard]] std::int64_t in_elements() const { return problem_.x.n * step_; }
    [[nodiscard]] std::int64_t out_elements() const { return problem_.x.outputs * step_; }
    /// Whether inner parts of lines can be read where they are.
    [[nodiscard]] bool is_in_place() const { return read_flat_ && problem_.dtype == problem_.sum_dtype; }
    /// Whether sums are the output as they are.
    [[nodiscard]] bool is_plain_output() const { return written_flat_ && problem_.trivial_epilogue; }
    /// Rows that are best gathered at once: those that share lines of the cache where columns are what memory has, and short ones.
    [[nodiscard]] std::int64_t rows_together() const {
        return across_ ? kRowsTogether : in_elements() <= kShortRow ? kShortRows : 1;
    }
    /// How many rows from y on may be gathered at once, at most `most` >= 1.
    [[nodiscard]] std::int64_t rows_at_once(std::int64_t y, std::int64_t most) const {
        if (y < 0 || y >= problem_.y.n) { return 1; }
        return std::min({most, is_in_place() ? kRowsTogether : rows_together(), problem_.y.n - y});
    }

    /// The address of element `first` of row y, if [first, first + count) can be read where it is, else null.
    [[nodiscard]] const T* view(const void* in, const Plane& plane, std::int64_t y, std::int64_t first, std::int64_t count) const;
    /// to[i] = element first + i of row y, both at any distance. Each axis has its boundary rule (zero boundary: zeros, which
    /// beside another axis' constant are zeros all the same: such terms are absent).
    void gather(T* to, const void* in, const Plane& plane, std::int64_t y, std::int64_t first, std::int64_t count) const;
    /// The same for rows [y, y + rows), `pitch` elements apart.
    void gather_rows(T* to, std::int64_t pitch, const void* in, const Plane& plane, std::int64_t y, std::int64_t rows,
                     std::int64_t first, std::int64_t count) const;
    /// A row of a plane beyond a volume whose outermost axis has a constant there: elements first, first + 1, ...
    void fill_beyond(T* to, std::int64_t first, std::int64_t count) const;
    /// Asks for what gather() with the same arguments reads to come into the cache.
    void prefetch(const void* in, const Plane& plane, std::int64_t y, std::int64_t first, std::int64_t count) const;

    /// Where elements [first, first + count) of output row y may be written as sums, else null.
    [[nodiscard]] T* target(void* out, const Plane& plane, std::int64_t y, std::int64_t first, std::int64_t count) const;
    /// Sums, lines of them `pitch` apart, to elements [first, first + count) of output rows [y, y + rows), with the epilogue; first
    /// and count are multiples of parts(). `sums` may be modified, and each line is followed by kImagePadding readable elements.
    void store(void* out, const Plane& plane, std::int64_t y, std::int64_t rows, std::int64_t first, std::int64_t count, T* sums,
               std::int64_t pitch, bool stream) const;

private:
    static constexpr std::int64_t kRowsTogether = 32, kShortRows = 8;
    static constexpr std::int64_t kShortRow = 256;  ///< elements

    /// Of an image whose elements are read as they are.
    [[nodiscard]] const T* row_at(const void* in, const Plane& plane, std::int64_t y) const {
        return static_cast<const T*>(in) + (plane.image * problem_.batch.in_stride + y * problem_.y.in_stride) * parts_;
    }
    [[nodiscard]] std::int64_t out_step() const { return written_flat_ ? 1 : problem_.x.out_stride; }
    [[nodiscard]] std::int64_t pixel_of(std::int64_t element) const {
        if (step_ == 1) { return element; }
        return element >= 0 ? element / step_ : -((-element + step_ - 1) / step_);
    }
    void store_row(std::byte* to, std::int64_t count, T* sums, bool stream) const;
    void fill(T* to, std::int64_t first, std::int64_t count, const T* value) const;
    void copy(T* to, std::int64_t pitch, const void* in, const Plane& plane, std::int64_t y, std::int64_t rows, std::int64_t first,
              std::int64_t count) const;
    void copy_apart(T* to, std::int64_t pitch, const void* in, const Plane& plane, std::int64_t y, std::int64_t rows,
                    std::int64_t first, std::int64_t count) const;
    struct Range {
        std::int64_t begin, end;
    };
    void gather_beside(T* to, std::int64_t pitch, const void* in, const Plane& plane, std::int64_t row, std::int64_t rows,
                       std::int64_t first, Range wanted, Range gathered) const;

    const core::Resolved& problem_;
    const ImageKernels<T>& kernels_;
    LineMoves moves_;
    bool flat_;                      ///< all channels together
    bool read_flat_, written_flat_;  ///< and a line's elements lie side by side
    bool across_;                    ///< rows lie side by side
    std::int64_t parts_, step_, planes_per_image_;
    T beyond_y_[2], beyond_x_[2];  ///< what is outside under a zero or constant boundary: (re, im)
    LineEpilogue<T> epilogue_;
    LineStore<T> store_;
};

/// The input rows that a row of output tiles reads, made available from top to bottom. Rows that cannot be read in place are
/// gathered once each into a ring of `size` lines, with those that are best gathered at once as far as it has room.
template <class T>
class RowWindow {
public:
    /// `lines`: size * pitch elements; `rows`: size pointers. Elements [first, first + count) of every row, of which nobody needs
    /// the last `spare` ones to be right.
    RowWindow(const ImageLines<T>& source, const void* in, const Plane& plane, std::int64_t first, std::int64_t count, T* lines,
              std::int64_t pitch, const T** rows, std::int64_t size, std::int64_t spare = 0)
        : source_(source),
          in_(in),
          plane_(plane),
          first_(first),
          count_(count),
          spare_(spare),
          lines_(lines),
          pitch_(pitch),
          rows_(rows),
          size_(size) {}

    /// Addresses of rows [top, top + count), count <= size. Tops ascend.
    const T* const* at(std::int64_t top, std::int64_t count);

private:
    const ImageLines<T>& source_;
    const void* in_;
    Plane plane_;
    std::int64_t first_, count_, spare_;
    T* lines_;
    std::int64_t pitch_;
    const T** rows_;
    std::int64_t size_;
    std::int64_t top_ = 0, bottom_ = 0;  ///< rows_ holds [top_, bottom_)
};

extern template class ImageLines<float>;
extern template class ImageLines<double>;
extern template class RowWindow<float>;
extern template class RowWindow<double>;

}  // namespace tapline::cpu
