// 07: large masks by transforms: a tile and its halo in shared memory, 32 points of it at a time in a thread's registers.
#pragma once

#include "cuda/families/image_fft/image_doubts.cuh"
#include "cuda/families/image_fft/image_pixels.cuh"
#include "cuda/families/image_fft/image_points.cuh"

namespace tapline::cuda::image_fft_rung {

/// A tile of 128 rows of M points gives 128 - k_h + 1 rows of 2M - k_w + 1 outputs. Pixels x and x + M are a point's real and
/// imaginary part: a row is a polynomial modulo X^M - i, as a segment of a signal is in rung 27, and wraps around with a changed
/// sign.
///
/// Each thread transforms every fourth point of a column, straight from global memory. From there on frequency f of the four stays
/// within a warp until the way back has reached the same place, so that shared memory is passed four times and the block has two
/// barriers: blocks beside each other on a multiprocessor fill each other's waits. Backwards the transforms are the same with real
/// and imaginary parts exchanged. kChannels: so many, whose pixels lie side by side; 0 if the compiler does not know where they
/// lie. kAnyType: pixels of 8 or 16 bits, outputs of any real type; else both are floats, or outputs go one by one. T: of sums.
template <int kNear, int kBlocks, int kChannels, bool kAnyType = false, class T = float>
__global__ void __launch_bounds__(Shape<kNear>::kTasks, kBlocks)
    kernel(const __grid_constant__ ImageArguments a, const __grid_constant__ Tiles g) {
    using D = Shape<kNear>;
    using Point = PointOf<T>;
    extern __shared__ __align__(128) char shared[];
    Point* const pairs_r = reinterpret_cast<Point*>(shared) + kRows * D::kPoints;
    auto* const sources = reinterpret_cast<std::int64_t*>(pairs_r + kShort * kLong / 2);
    const int task = static_cast<int>(threadIdx.x);
    const int channels = kChannels != 0 ? kChannels : a.channels;
    const unsigned block = blockIdx.x / static_cast<unsigned>(channels);
    const int channel = static_cast<int>(blockIdx.x - block * static_cast<unsigned>(channels));
    const unsigned tile_row = block / static_cast<unsigned>(a.tiles_x);
    const unsigned image = tile_row / static_cast<unsigned>(a.tiles_y);
    const std::int64_t first_x = static_cast<std::int64_t>(block - tile_row * static_cast<unsigned>(a.tiles_x)) * g.out_columns;
    const std::int64_t first_y = static_cast<std::int64_t>(tile_row - image * static_cast<unsigned>(a.tiles_y)) * g.out_rows;
    const std::int64_t top = a.first + first_y - a.origin_y;  // of the window
    const std::int64_t left = first_x - a.origin_x;
    const std::int64_t in_step = kChannels != 0 ? kChannels : g.steps.in_pixel;
    const std::int64_t out_step = kChannels != 0 ? kChannels : g.steps.out_pixel;
    const std::int64_t first_in = image * a.in_image + channel * (kChannels != 0 ? 1 : g.steps.in_channel);  // in elements
    const auto* const table = static_cast<const Point*>(a.table);

    const int column = task % D::kPoints;
    const int r = task / D::kPoints;
    const Column<kNear, Point> points(shared, r, column);
    T re[kLong];
    T im[kLong];
    const Window window{top, left, a.rows - first_y + a.mask_height - 1};
    const auto load = [&](auto pixel) {
        const auto* const from = static_cast<const decltype(pixel)*>(a.in) + first_in;
        if (kChannels == 0 && g.by_columns != 0) {
            load_points_by_columns<kNear>(a, g.input_type, from, reinterpret_cast<T*>(shared), sources, window, in_step, re, im);
        } else {
            load_points<kNear>(a, g.input_type, from, sources, window, in_step, re, im);
        }
    };
    if constexpr (kAnyType) {
        with_pixel<T>(g.input_bytes, load);
    } else {
        load(T{});
    }
    if (task < kShort * kLong / 2) { pairs_r[task] = __ldg(table + D::kPairsR + task); }
    fft::transform<kLong>(re, im);
    fft::for_each_index<0, kLong>([&](auto value) {
        constexpr int m = decltype(value)::value;
        points[fft::reversed(m, 5)] = {re[m], im[m]};
    });
    __syncthreads();

    const Point* const spectrum = table + D::kSpectra + (a.mask_taps != 0 ? channel * kRows * D::kPoints : 0);
    go_inward<kNear>(shared, table, task / kNear, task % kNear);
    __syncwarp();
    multiply_rows<kNear>(shared, table, spectrum, task);
    __syncwarp();
    go_outward<kNear>(shared, table, task / kNear, task % kNear);
    __syncthreads();

#pragma unroll
    for (int f = 0; f < kLong; ++f) {
        const Point point = points[f];
        re[f] = point.x;
        im[f] = point.y;
    }
    fft::transform_by<kLong>(im, re, [&](int i, T* c, T* t) {
        const Point pair = pairs_r[r * kLong / 2 + i];
        *c = pair.x;
        *t = pair.y;
    });
    const Point twiddle = __ldg(table + D::kTwiddles + column);
    const int rows = static_cast<int>(min(a.rows - first_y, static_cast<std::int64_t>(g.out_rows)));
    // Of j, four at a time, as long as they have rows that are outputs.
    const auto for_outputs = [&](const auto& body) {
        fft::for_each_index<0, kLong / 4>([&](auto group) {
            constexpr int kFirst = 4 * decltype(group)::value;
            if (kShort * kFirst < rows) { fft::for_each_index<kFirst, kFirst + 4>(body); }
        });
    };
    T test = 0;  // NaN if a value is not finite: through the twiddle what spoils one part of a point spoils both
    for_outputs([&](auto index) {
        constexpr int m = fft::reversed(decltype(index)::value, 5);
        multiply(re[m], im[m], twiddle);
        test = fma(T{}, re[m], test);
    });
    const std::int64_t width = a.out_elements / channels;
    const bool whole = column < g.out_columns && first_x + column < width;
    const bool half = column + D::kPoints < g.out_columns && first_x + column + D::kPoints < width;
    const std::int64_t out = image * a.out_image + first_y * a.out_row + channel * (kChannels != 0 ? 1 : g.steps.out_channel);
    const T* const mask = static_cast<const T*>(a.taps) + channel * a.mask_taps;
    if constexpr (sizeof(T) == 8) {
        if (g.undecided != 0) {
            const Settling settling = settling_of(a, g.undecided);
            unsigned doubts[2] = {};
            with_pixel(g.output_bytes, [&](auto element) {
                auto* const to = static_cast<decltype(element)*>(a.out) + out + r * a.out_row + (first_x + column) * out_step;
                doubts[0] = put_integers(settling, re, to, kShort * a.out_row, whole ? rows - r : 0);
                doubts[1] = put_integers(settling, im, to + D::kPoints * out_step, kShort * a.out_row, half ? rows - r : 0);
            });
            return decide<D::kPoints>(a, g, shared, {first_in, first_x, first_y, in_step, out, out_step, mask},
                                      doubts[0] | std::uint64_t{doubts[1]} << kLong);
        }
    }
    if (kAnyType && g.output_bytes <= static_cast<int>(sizeof(T)) && test == 0) {
        with_raw(g.output_bytes, [&](auto element) {
            using Raw = decltype(element);
            if constexpr (sizeof(Raw) <= sizeof(T)) {
                Raw* const to = static_cast<Raw*>(a.out) + out + r * a.out_row + (first_x + column) * out_step;
#pragma unroll 1
                for (int part = 0; part < 2; ++part) {
                    T sum[kLong];
#pragma unroll
                    for (int m = 0; m < kLong; ++m) { sum[m] = part == 0 ? re[m] : im[m]; }
                    Raw raw[kLong];
                    narrow_points(a, sum, raw);
                    Raw* at = to + (part == 0 ? 0 : D::kPoints * out_step);
                    const int own = (part == 0 ? whole : half) ? rows - r : 0;
                    for_outputs([&](auto index) {
                        constexpr int j = decltype(index)::value;
                        if (kShort * j < own) { __stcs(at, raw[fft::reversed(j, 5)]); }
                        at += kShort * a.out_row;
                    });
                }
            }
        });
        return;
    }
    if (!kAnyType && a.common.plain_store && !a.common.converts && test == 0) {
        T* to = static_cast<T*>(a.out) + out + r * a.out_row + (first_x + column) * out_step;
        const std::int64_t step = kShort * a.out_row;
        for_outputs([&](auto index) {
            constexpr int j = decltype(index)::value;
            constexpr int m = fft::reversed(j, 5);
            const bool wanted = kShort * j + r < rows;
            if (wanted && whole) { __stcs(to, re[m]); }
            if (wanted && half) { __stcs(to + D::kPoints * out_step, im[m]); }
            to += step;
        });
        return;
    }
    // A value that is not finite, or sums beyond a float's range: such an output is summed up by itself.
    fft::for_each_index<0, kLong>([&](auto value) {
        constexpr int m = decltype(value)::value;
        points[fft::reversed(m, 5)] = {re[m], im[m]};
    });
#pragma unroll 1
    for (int j = 0; j < 2 * kLong; ++j) {
        const int y = j / 2 * kShort + r;
        if (y >= rows || !(j % 2 == 0 ? whole : half)) { continue; }
        const Point point = points[j / 2];
        const std::int64_t pixel = first_x + column + j % 2 * D::kPoints;
        T sum = j % 2 == 0 ? point.x : point.y;
        if (!(fabs(sum) < T{INFINITY})) {
            sum = sum_term_by_term<kAnyType>(a, g, first_in, mask, in_step, a.first + first_y + y, pixel);
        }
        const std::int64_t to = out + y * a.out_row + pixel * out_step;
        if (sizeof(T) == 8 && a.common.output_type == kLowBits) {
            store_alone(a, g, to, sum);
        } else {
            store_pixel<T>(a, a.out, to, sum);
        }
    }
}

}  // namespace tapline::cuda::image_fft_rung
