// How the outputs of an image are divided among tasks: segments of rows times bands of rows.
#pragma once

#include "cpu/image/image_lines.hpp"

namespace tapline::cpu {

/// Elements rounded up to whole vectors of any instruction set.
inline std::int64_t whole_vectors(std::int64_t count) { return (count + kImagePadding - 1) / kImagePadding * kImagePadding; }

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
    bool stream = false;  ///< the output goes past the caches: inner blocks of all rows start at its cache lines

    [[nodiscard]] bool has_edges() const { return inner_first < inner_last; }
    [[nodiscard]] bool is_inner(const Segment& s) const {
        return has_edges() && s.first >= inner_first && s.first + s.count <= inner_last;
    }
    /// Segments beside the edges, and visit(segment) for one of them, with the edges beside it as whole vectors, of which some
    /// outputs are made twice: whoever visits makes all of these.
    [[nodiscard]] std::int64_t blocks() const { return segments - (has_edges() ? 2 : 0); }
    template <class Visit>
    void visit_block(std::int64_t index, const Visit& visit) const {
        const Segment own = segment(index + (has_edges() ? 1 : 0));
        if (own.count > 0) { visit(own); }
        if (!has_edges()) { return; }
        const std::int64_t before = whole_vectors(inner_first), behind = whole_vectors(elements - inner_last);
        if (index == 0 && before > 0) { visit(Segment{0, before}); }
        if (index == blocks() - 1 && behind > 0) { visit(Segment{elements - behind, behind}); }
    }
    [[nodiscard]] std::int64_t tasks() const { return planes * bands * blocks(); }
    [[nodiscard]] Segment segment(std::int64_t index) const;
};

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
