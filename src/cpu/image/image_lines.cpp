#include "cpu/image/image_lines.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/problem/elements.hpp"
#include "core/problem/window.hpp"

namespace tapline::cpu {
namespace {

// Few elements of each row, as at an image's left and right edges, are no stream that the hardware would follow.
constexpr std::int64_t kNarrow = 256, kRowsAhead = 16;

}  // namespace

template <class T>
ImageLines<T>::ImageLines(const core::Resolved& problem, const ImageKernels<T>& kernels)
    : problem_(problem),
      kernels_(kernels),
      moves_(current_target(), problem.dtype, is_complex(problem.dtype) ? problem.dtype : problem.sum_dtype, problem.sum_dtype,
             core::is_half(problem.output_dtype) ? problem.output_dtype : problem.sum_dtype),
      flat_(problem.filters == 1),
      read_flat_(flat_ && problem.x.in_stride == problem.channels.length),
      written_flat_(flat_ && problem.x.out_stride == problem.channels.length),
      across_(!read_flat_ && problem.y.n > 1 && problem.y.in_stride == 1),
      parts_(is_complex(problem.dtype) ? 2 : 1),
      step_((flat_ ? problem.channels.length : 1) * parts_),
      planes_per_image_(flat_ ? 1 : problem.channels.length),
      beyond_y_{},
      beyond_x_{},
      store_(problem, current_target()) {
    const auto set = [&](T* beyond, Boundary boundary) {
        if (boundary != Boundary::constant) { return; }
        beyond[0] = static_cast<T>(problem.constant.real());
        beyond[1] = static_cast<T>(problem.constant.imag());
    };
    set(beyond_y_, problem.y.boundary);
    set(beyond_x_, problem.x.boundary);
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    const bool active = problem.changes_sums();
    epilogue_ = {active, static_cast<T>(problem.scale), static_cast<T>(problem.bias),
                 problem.has_clamp ? static_cast<T>(problem.clamp.low) : -kInfinity,
                 problem.has_clamp ? static_cast<T>(problem.clamp.high) : kInfinity};
}

template <class T>
const T* ImageLines<T>::view(const void* in, const Plane& plane, std::int64_t y, std::int64_t first, std::int64_t count) const {
    if (!is_in_place() || first < 0 || first + count > in_elements()) { return nullptr; }
    const std::int64_t row = core::boundary_index(problem_.y.boundary, y, problem_.y.n);
    if (row < 0) { return nullptr; }
    return row_at(in, plane, row) + first;
}

// Elements of rows [y, y + rows) that are in the image.
template <class T>
void ImageLines<T>::copy(T* to, std::int64_t pitch, const void* in, const Plane& plane, std::int64_t y, std::int64_t rows,
                         std::int64_t first, std::int64_t count) const {
    if (!read_flat_) { return copy_apart(to, pitch, in, plane, y, rows, first, count); }
    const std::int64_t row = plane.image * problem_.batch.in_stride + y * problem_.y.in_stride;
    if (core::is_half(problem_.dtype) || is_integer(problem_.dtype)) {
        const std::byte* const from =
            static_cast<const std::byte*>(in) + (row + first) * static_cast<std::int64_t>(size_of(problem_.dtype));
        return moves_.gather(reinterpret_cast<std::byte*>(to), pitch, from, {problem_.y.in_stride, 1}, rows, count);
    }
    const T* const from = static_cast<const T*>(in) + row * parts_ + first;
    if (rows == 1) { return static_cast<void>(std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T))); }
    kernels_.copy_rows(to, pitch, from, problem_.y.in_stride * parts_, rows, count);
}

// The same where the elements of a row do not lie side by side.
template <class T>
void ImageLines<T>::copy_apart(T* to, std::int64_t pitch, const void* in, const Plane& plane, std::int64_t y, std::int64_t rows,
                               std::int64_t first, std::int64_t count) const {
    const std::int64_t row = plane.image * problem_.batch.in_stride + y * problem_.y.in_stride + plane.channel;
    if ((first | count | pitch) % parts_ != 0) {  // halves of complex pixels
        for (std::int64_t i = 0; i < rows * count; ++i) {
            const std::int64_t e = first + i % count, line = i / count;
            const std::int64_t sample = row + line * problem_.y.in_stride + e / parts_ * problem_.x.in_stride;
            to[line * pitch + i % count] = static_cast<const T*>(in)[sample * parts_ + e % parts_];
        }
        return;
    }
    const std::int64_t sample = row + first / parts_ * problem_.x.in_stride;
    moves_.gather(reinterpret_cast<std::byte*>(to), pitch / parts_,
                  static_cast<const std::byte*>(in) + sample * static_cast<std::int64_t>(size_of(problem_.dtype)),
                  {problem_.y.in_stride, problem_.x.in_stride}, rows, count / parts_);
}

// Elements first, first + 1, ... of a line that is nothing but `value`.
template <class T>
void ImageLines<T>::fill(T* to, std::int64_t first, std::int64_t count, const T* value) const {
    if (parts_ == 1) { return static_cast<void>(std::fill_n(to, count, value[0])); }
    for (std::int64_t i = 0; i < count; ++i) { to[i] = value[(first + i) & 1]; }
}

template <class T>
void ImageLines<T>::gather(T* to, const void* in, const Plane& plane, std::int64_t y, std::int64_t first,
                           std::int64_t count) const {
    const Boundary boundary = problem_.x.boundary;
    const std::int64_t last = first + count;
    const std::int64_t row = core::boundary_index(problem_.y.boundary, y, problem_.y.n);
    const bool outside = row < 0;
    if (outside && boundary != Boundary::zero) { return fill(to, first, count, beyond_y_); }
    const std::int64_t from = std::clamp<std::int64_t>(0, first, last), until = std::clamp(in_elements(), from, last);
    if (outside) {
        fill(to + (from - first), from, until - from, beyond_y_);
    } else if (until > from) {
        copy(to + (from - first), 0, in, plane, row, 1, from, until - from);
    }
    const std::int64_t there = outside ? -1 : row;
    gather_beside(to, 0, in, plane, there, 1, first, {first, from}, {from, until});
    gather_beside(to, 0, in, plane, there, 1, first, {until, last}, {from, until});
}

template <class T>
void ImageLines<T>::gather_rows(T* to, std::int64_t pitch, const void* in, const Plane& plane, std::int64_t y, std::int64_t rows,
                                std::int64_t first, std::int64_t count) const {
    if (rows == 1 || y < 0 || y + rows > problem_.y.n) {
        for (std::int64_t r = 0; r < rows; ++r) { gather(to + r * pitch, in, plane, y + r, first, count); }
        return;
    }
    const std::int64_t last = first + count;
    const std::int64_t from = std::clamp<std::int64_t>(0, first, last), until = std::clamp(in_elements(), from, last);
    if (until > from) { copy(to + (from - first), pitch, in, plane, y, rows, from, until - from); }
    gather_beside(to, pitch, in, plane, y, rows, first, {first, from}, {from, until});
    gather_beside(to, pitch, in, plane, y, rows, first, {until, last}, {from, until});
}

// Elements `wanted` of rows of the image, or of one beyond it (row -1), that are beyond the rows' ends; `to` has element `first` of
// each, and those that have been gathered.
template <class T>
void ImageLines<T>::gather_beside(T* to, std::int64_t pitch, const void* in, const Plane& plane, std::int64_t row,
                                  std::int64_t rows, std::int64_t first, Range wanted, Range gathered) const {
    const Boundary boundary = problem_.x.boundary;
    if (boundary == Boundary::zero || boundary == Boundary::constant) {
        for (std::int64_t e = wanted.begin; e < wanted.end; ++e) {
            for (std::int64_t r = 0; r < rows; ++r) { to[r * pitch + (e - first)] = beyond_x_[e & (parts_ - 1)]; }
        }
        return;
    }
    const T* const source = is_in_place() ? row_at(in, plane, row) : to - first;
    const std::int64_t from_pitch = is_in_place() ? problem_.y.in_stride * parts_ : pitch;
    const Range readable = is_in_place() ? Range{0, in_elements()} : gathered;
    for (std::int64_t e = wanted.begin; e < wanted.end;) {  // what is left of one pixel at a time
        const std::int64_t pixel = pixel_of(e);
        const std::int64_t part = e - pixel * step_;
        const std::int64_t elements = std::min(step_ - part, wanted.end - e);
        const std::int64_t read = core::boundary_index(boundary, pixel, problem_.x.n) * step_ + part;
        const bool reads = read >= readable.begin && read + elements <= readable.end;
        if (!reads) { copy(to + (e - first), pitch, in, plane, row, rows, read, elements); }
        for (std::int64_t i = 0; reads && i < elements; ++i) {
            for (std::int64_t r = 0; r < rows; ++r) { to[r * pitch + (e + i - first)] = source[r * from_pitch + read + i]; }
        }
        e += elements;
    }
}

template <class T>
void ImageLines<T>::prefetch(const void* in, const Plane& plane, std::int64_t y, std::int64_t first, std::int64_t count) const {
    constexpr std::int64_t kLine = 64;
    if (y < 0 || y >= problem_.y.n || across_ || problem_.x.in_stride <= 0) { return; }
    const auto bytes = static_cast<std::int64_t>(size_of(problem_.dtype)) / parts_ * (read_flat_ ? 1 : problem_.x.in_stride);
    const std::int64_t from = std::max<std::int64_t>(first, 0), until = std::min(first + count, in_elements());
    const char* const row = static_cast<const char*>(in) + (plane.image * problem_.batch.in_stride + y * problem_.y.in_stride) *
                                                               static_cast<std::int64_t>(size_of(problem_.dtype));
    for (std::int64_t at = from * bytes; at < until * bytes; at += kLine) { __builtin_prefetch(row + at, 0, 2); }
}

template <class T>
T* ImageLines<T>::target(void* out, const Plane& plane, std::int64_t y, std::int64_t first, std::int64_t count) const {
    if (!is_plain_output() || first + count > out_elements()) { return nullptr; }
    return static_cast<T*>(out) + (plane.image * problem_.batch.out_stride + y * problem_.y.out_stride) * parts_ + first;
}

template <class T>
void ImageLines<T>::store(void* out, const Plane& plane, std::int64_t y, std::int64_t rows, std::int64_t first, std::int64_t count,
                          T* sums, std::int64_t pitch, bool stream) const {
    const auto bytes = static_cast<std::int64_t>(size_of(problem_.output_dtype));
    const std::int64_t sample = problem_.batch.out_stride * plane.image + plane.channel + first / parts_ * out_step();
    std::byte* const to = static_cast<std::byte*>(out) + (sample + y * problem_.y.out_stride) * bytes;
    if (!core::is_half(problem_.output_dtype)) {
        for (std::int64_t r = 0; r < rows; ++r) {
            store_row(to + r * problem_.y.out_stride * bytes, count, sums + r * pitch, stream);
        }
        return;
    }
    for (std::int64_t r = 0; epilogue_.active && r < rows; ++r) {
        kernels_.store(sums + r * pitch, sums + r * pitch, count, epilogue_, false);
    }
    moves_.scatter(to, {problem_.y.out_stride, out_step()}, reinterpret_cast<const std::byte*>(sums), pitch, rows, count, false);
}

template <class T>
void ImageLines<T>::store_row(std::byte* to, std::int64_t count, T* sums, bool stream) const {
    const bool as_made = problem_.output_dtype == problem_.sum_dtype && problem_.overflow != Overflow::truncate;
    if (is_plain_output() || (written_flat_ && parts_ == 1 && as_made)) {
        return kernels_.store(reinterpret_cast<T*>(to), sums, count, epilogue_, stream);
    }
    core::Output row;
    row.data = to;
    row.count = count / parts_;
    row.stride = out_step();
    if (parts_ == 2) {
        core::store(problem_, row, 0, 0, row.count, reinterpret_cast<std::complex<T>*>(sums));
    } else {
        store_(problem_, row, 0, 0, row.count, sums);
    }
}

template <class T>
void ImageLines<T>::fill_beyond(T* to, std::int64_t first, std::int64_t count) const {
    const T value[2] = {static_cast<T>(problem_.constant.real()), static_cast<T>(problem_.constant.imag())};
    const bool zeros = problem_.x.boundary == Boundary::zero;
    const std::int64_t from = zeros ? std::clamp<std::int64_t>(0, first, first + count) : first;
    const std::int64_t until = zeros ? std::clamp(in_elements(), from, first + count) : first + count;
    std::fill(to, to + (from - first), T{});
    fill(to + (from - first), from, until - from, value);
    std::fill(to + (until - first), to + count, T{});
}

template <class T>
const T* const* RowWindow<T>::at(std::int64_t top, std::int64_t count) {
    if (top >= bottom_ || bottom_ == top_) {
        top_ = bottom_ = top;
    } else if (top > top_) {
        std::copy(rows_ + (top - top_), rows_ + (bottom_ - top_), rows_);
        top_ = top;
    }
    while (bottom_ < top + count) {
        if (const T* const row = source_.view(in_, plane_, bottom_, first_, count_)) {
            rows_[bottom_++ - top] = row;
            continue;
        }
        const std::int64_t place = ((bottom_ % size_) + size_) % size_;
        T* const line = lines_ + place * pitch_;
        const std::int64_t rows = source_.rows_at_once(bottom_, std::min(size_ - place, top + size_ - bottom_));
        if (count_ <= kNarrow && rows == 1) { source_.prefetch(in_, plane_, bottom_ + kRowsAhead, first_, count_); }
        source_.gather_rows(line, pitch_, in_, plane_, bottom_, rows, first_, count_ - spare_);
        for (std::int64_t r = 0; r < rows; ++r, ++bottom_) {
            std::fill_n(line + r * pitch_ + (count_ - spare_), spare_, T{});
            rows_[bottom_ - top] = line + r * pitch_;
        }
    }
    return rows_;
}

template class ImageLines<float>;
template class ImageLines<double>;
template class RowWindow<float>;
template class RowWindow<double>;

}  // namespace tapline::cpu
