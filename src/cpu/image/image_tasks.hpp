// How the outputs of an image are divided among tasks: segments of rows times bands of rows.
#pragma once

#include "cpu/image/image_lines.hpp"

namespace tapline::cpu {

/// Elements [first, first + count) of every output row.
struct Segment {
    std::int64_t first = 0, count = 0;
};

/// A segment for each block of columns; where rows are read in place, one more at each end for the outputs whose windows reach
/// over the image's edge.
struct ImageTasks {
    std::int64_t elements = 0;     ///< of an output row
    std::int64_t block = 0;        ///< elements of a segment
    std::int64_t inner_first = 0;  ///< [inner_first, inner_last): read in place
    std::int64_t inner_last = 0;   ///< equal: nothing is
    std::int64_t segments = 0;
    std::int64_t band = 0, bands = 0;  ///< rows of a task
    std::int64_t planes = 0;
    bool stream = false;   ///< the output goes past the caches
    bool aligned = false;  ///< inner blocks of all rows start at cache lines of the output

    [[nodiscard]] bool has_edges() const { return inner_first < inner_last; }
    [[nodiscard]] std::int64_t tasks() const { return planes * bands * segments; }
    [[nodiscard]] Segment segment(std::int64_t index) const;
};

/// Elements rounded up to whole vectors of any instruction set.
inline std::int64_t whole_vectors(std::int64_t count) { return (count + kImagePadding - 1) / kImagePadding * kImagePadding; }

/// `least_band`: rows below which a band's further input rows cost too much. `split_edges`: whether inner blocks have segments of
/// their own.
template <class T>
ImageTasks divide(const core::Resolved& problem, const ImageLines<T>& lines, const void* out, std::int64_t block,
                  std::int64_t least_band, int threads, bool split_edges);

extern template ImageTasks divide<float>(const core::Resolved&, const ImageLines<float>&, const void*, std::int64_t, std::int64_t,
                                         int, bool);
extern template ImageTasks divide<double>(const core::Resolved&, const ImageLines<double>&, const void*, std::int64_t, std::int64_t,
                                          int, bool);

}  // namespace tapline::cpu
