// A few outputs once more, by direct summation: what repairs of faster algorithms fall back to.
#pragma once

#include "cpu/image/image_lines.hpp"
#include "cpu/image/image_tasks.hpp"

namespace tapline::cpu {

/// Real taps only.
template <class T>
class ImagePatch {
public:
    static constexpr std::int64_t kElements = 64;  ///< of a row that are computed at once

    ImagePatch(const core::Resolved& problem, const ImageLines<T>& lines, const ImageKernels<T>& kernels)
        : problem_(problem),
          lines_(lines),
          kernels_(kernels),
          ring_(problem.y.k + kImageRows - 1),
          halo_((problem.x.k - 1) * lines.step()),
          pitch_(whole_vectors(kElements + halo_) + kImagePadding) {}

    /// Scratch memory, a multiple of 64.
    [[nodiscard]] std::size_t bytes() const {
        const std::int64_t elements = ring_ * pitch_ + kImageRows * kElements;
        const std::size_t all = static_cast<std::size_t>(elements) * sizeof(T) + static_cast<std::size_t>(ring_) * sizeof(const T*);
        return (all + 63) / 64 * 64;
    }

    /// The sums of elements [first, first + elements), at most kElements, of output rows [y, y + rows), at most kImageRows,
    /// kElements apart in `scratch`.
    const T* sums(const void* in, const Plane& plane, const T* taps, std::int64_t y, std::int64_t rows, std::int64_t first,
                  std::int64_t elements, std::byte* scratch) const {
        T* const window = reinterpret_cast<T*>(scratch);
        T* const out = window + ring_ * pitch_;
        RowWindow<T> input(lines_, in, plane, first - problem_.x.origin * lines_.step(), whole_vectors(elements) + halo_, window,
                           pitch_, reinterpret_cast<const T**>(out + kImageRows * kElements), ring_);
        ImageCall<T> call;
        call.out = out;
        call.out_pitch = kElements;
        call.in = input.at(y - problem_.y.origin, rows + problem_.y.k - 1);
        call.taps = taps;
        call.height = problem_.y.k;
        call.width = problem_.x.k;
        call.step = lines_.step();
        call.rows = rows;
        call.count = whole_vectors(elements);
        kernels_.sums(call);
        return out;
    }

private:
    const core::Resolved& problem_;
    const ImageLines<T>& lines_;
    const ImageKernels<T>& kernels_;
    std::int64_t ring_, halo_, pitch_;
};

}  // namespace tapline::cpu
