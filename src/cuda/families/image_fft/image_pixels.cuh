// Pixels of any type on their way into a tile's points and out of them.
#pragma once

#include "cuda/families/image_fft/image_fft.hpp"
#include "cuda/primitives/image/image_tile.cuh"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::image_fft_rung {

/// Where a tile's window begins, and how many of its rows outputs of the job need.
struct Window {
    std::int64_t top, left, needed;
};

/// This thread's pixels of its column: rows 4 j + r, and those half a row on. `in`: the image; `source_rows`: room for a tile's
/// rows. widen(raw, x): all of them as floats.
template <int kNear, class Raw, class Widen>
__device__ __forceinline__ void load_points(const ImageArguments& a, const Raw* in, std::int64_t* source_rows, const Window& window,
                                            int channels, int channel, float (&re)[kLong], float (&im)[kLong], const Widen& widen) {
    using D = Shape<kNear>;
    const int task = static_cast<int>(threadIdx.x);
    const int column = task % D::kPoints;
    const int r = task / D::kPoints;
    const auto [top, left, needed] = window;
    Raw x[kLong];
    Raw y[kLong];
    if (needed >= kRows && top >= a.in_first && top + kRows <= a.in_last && left >= 0 && left + D::kColumns <= a.width) {
        const Raw* from = in + (top - a.in_first + r) * a.in_row + (left + column) * channels + channel;
#pragma unroll
        for (int j = 0; j < kLong; ++j) {
            x[j] = __ldg(from);
            y[j] = __ldg(from + D::kPoints * channels);
            from += kShort * a.in_row;
        }
        widen(x, re);
        widen(y, im);
        return;
    }
    // Rows that no output of the job needs are absent, so that the last tile's bits don't depend on where a band ends.
    if (task < kRows) {
        const std::int64_t row = task < needed ? source_row(a, top + task) : -1;
        source_rows[task] = row < 0 ? -1 : row * a.in_row;
    }
    const std::int64_t at = source_element(a, (left + column) * channels + channel);
    const std::int64_t next = source_element(a, (left + column + D::kPoints) * channels + channel);
    const float absent = absent_pixel<float>(a);
    __syncthreads();
    if constexpr (std::is_same_v<Raw, float>) {
#pragma unroll
        for (int j = 0; j < kLong; ++j) {
            const std::int64_t row = source_rows[kShort * j + r];
            re[j] = row >= 0 && at >= 0 ? __ldg(in + row + at) : absent;
            im[j] = row >= 0 && next >= 0 ? __ldg(in + row + next) : absent;
        }
    } else {
#pragma unroll
        for (int j = 0; j < kLong; ++j) {
            const std::int64_t row = source_rows[kShort * j + r];
            x[j] = row >= 0 && at >= 0 ? __ldg(in + row + at) : Raw{};
            y[j] = row >= 0 && next >= 0 ? __ldg(in + row + next) : Raw{};
        }
        widen(x, re);
        widen(y, im);
#pragma unroll
        for (int j = 0; j < kLong; ++j) {
            const bool there = source_rows[kShort * j + r] >= 0;
            re[j] = there && at >= 0 ? re[j] : absent;
            im[j] = there && next >= 0 ? im[j] : absent;
        }
    }
}

/// Sums as outputs of any type but a complex one.
template <class Raw>
__device__ __forceinline__ void narrow_points(const ImageArguments& a, float (&sum)[kLong], Raw (&raw)[kLong]) {
    if (!a.common.plain_store) {
#pragma unroll
        for (int m = 0; m < kLong; ++m) { sum[m] = finish(a.common, sum[m]); }
    }
    narrow_real_to_raw(a.common.output_type, sum, raw);
}

/// sum_term_by_term() of pixels of any type.
__device__ __noinline__ inline float sum_any_term_by_term(const ImageArguments& a, const Tiles& g, std::int64_t image,
                                                          const float* mask, std::int64_t y, std::int64_t element) {
    const auto load = [&](std::int64_t at) { return load_any<float>(g.input_type, g.input_bytes, a.in, image * a.in_image + at); };
    return sum_of_terms(a, load, mask, y, element);
}

}  // namespace tapline::cuda::image_fft_rung
