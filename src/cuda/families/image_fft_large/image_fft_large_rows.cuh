// Rows of a tile: from the image to points, and from points to outputs. A warp has whole lines, so that nobody waits for a block.
#pragma once

#include "cuda/families/image_fft/image_pixels.cuh"
#include "cuda/families/image_fft/image_points.cuh"
#include "cuda/families/image_fft_large/image_fft_large.hpp"

namespace tapline::cuda::image_fft_large_rung {

/// Where a unit's tiles lie in the image.
struct Unit {
    std::int64_t image, first_y, first_x;
    int channel;  // the first one
    image_fft_rung::Window window;

    __device__ __forceinline__ Unit(const ImageArguments& a, const Passes& g, int unit) {
        const unsigned place = static_cast<unsigned>(unit) / static_cast<unsigned>(g.groups);
        channel = (unit - static_cast<int>(place) * g.groups) << g.group_bits;
        const unsigned row = place / static_cast<unsigned>(a.tiles_x);
        first_x = static_cast<std::int64_t>(place - row * static_cast<unsigned>(a.tiles_x)) * g.out_columns;
        image = row / static_cast<unsigned>(a.tiles_y);
        first_y = static_cast<std::int64_t>(row - static_cast<unsigned>(image) * static_cast<unsigned>(a.tiles_y)) * g.out_rows;
        window = {a.first + first_y - a.origin_y, first_x - a.origin_x,
                  min(a.rows - first_y, static_cast<std::int64_t>(g.out_rows)) + a.mask_height - 1};
    }
};

/// The rows of a window that are not zero: others are neither read nor kept.
struct RowsThere {
    int first, last;

    __device__ __forceinline__ RowsThere(const ImageArguments& a, const image_fft_rung::Window& window, int rows) {
        const bool zeros = a.common.boundary == kZero;
        const std::int64_t begin = zeros ? max(a.in_first - window.top, std::int64_t{0}) : 0;
        const std::int64_t end = zeros ? min(a.in_last - window.top, window.needed) : window.needed;
        last = static_cast<int>(max(min(end, std::int64_t{rows}), std::int64_t{0}));
        first = static_cast<int>(min(begin, std::int64_t{last}));
    }
};

/// A lane's line of its warp's and place there, of kCount places. 2^bits lines come first where those lie closer than pixels.
template <int kCount, int kLines>
struct LinePlace {
    int line, place;

    __device__ __forceinline__ LinePlace(int item, int line_bits) {
        constexpr int kMostBits = fft::log2_of(kLines);
        const int bits = min(line_bits, kMostBits);
        place = (item >> bits) % kCount;
        line = (item & ((1 << bits) - 1)) + ((item >> bits) / kCount << bits);
    }
};

/// Where point (q, s) of a line lies, in bytes from its warp's first: an exclusive or with inner_place(q) leads from that of (0, s)
/// there. No bank conflicts, whether lanes differ in s, in q or, at fixed s, in lines.
template <class Along>
__device__ __forceinline__ constexpr unsigned inner_place(int q) {
    return static_cast<unsigned>(((q * Along::kNear) ^ (Along::kNear == 8 ? (q >> 1) & 7 : q & 15)) * 8);
}
template <class Along>
__device__ __forceinline__ unsigned line_place(int line, int s) {
    const int turned = (line & 1) << 3 | (line & 2) << 1 | (line & 4) >> 1;
    return static_cast<unsigned>(line * Along::kPoints * 8 + (s ^ turned) * 8);
}
__device__ __forceinline__ float2& point_at(char* points, unsigned place) { return *reinterpret_cast<float2*>(points + place); }

/// Pairs (c, t) of a table whose pair i of number n lies at kNumbers i + n.
template <int kNumbers>
struct PairsOf {
    const float2* from;
    __device__ __forceinline__ void operator()(int i, float* c, float* t) const {
        const float2 pair = __ldg(from + i * kNumbers);
        *c = pair.x;
        *t = pair.y;
    }
};

/// The part of a row in which column x lies, of 32, as a bit.
__device__ __forceinline__ unsigned part_of_row(const ImageArguments& a, std::int64_t x) {
    return 1U << static_cast<unsigned>(divide(x * 32, a.width));
}

/// Points from wherever point(t) has them.
template <int kCount, class Point>
__device__ __forceinline__ void take_points(float (&x)[kCount], float (&y)[kCount], const Point& point_at) {
#pragma unroll
    for (int t = 0; t < kCount; ++t) {
        const float2 point = point_at(t);
        x[t] = point.x;
        y[t] = point.y;
    }
}

/// A row of a channel's window, null if there is none, columns kNear j + s and those half a row on. `columns`: where columns come
/// from, at an edge.
template <class D, class Pixel>
__device__ __forceinline__ void load_line(const ImageArguments& a, Dtype type, const Pixel* row, const int* columns,
                                          std::int64_t left, std::int64_t step, int s, float* re, float* im) {
    using Along = typename D::Along;
    const float absent = absent_pixel<float>(a);
    if (row == nullptr) {
#pragma unroll
        for (int j = 0; j < Along::kFar; ++j) { re[j] = im[j] = absent; }
        return;
    }
    Pixel first[Along::kFar];
    Pixel second[Along::kFar];
    if (columns == nullptr) {
        const Pixel* from = row + (left + s) * step;
        const std::int64_t half = D::kPoints * step;
#pragma unroll
        for (int j = 0; j < Along::kFar; ++j) {
            first[j] = __ldg(from);
            second[j] = __ldg(from + half);
            from += Along::kNear * step;
        }
        image_fft_rung::widen_pixels(type, first, re);
        image_fft_rung::widen_pixels(type, second, im);
        return;
    }
    const auto at = [&](int j) -> const int& { return columns[Along::kNear * j + s]; };
    const auto next = [&](int j) -> const int& { return columns[Along::kNear * j + s + D::kPoints]; };
#pragma unroll
    for (int j = 0; j < Along::kFar; ++j) {
        first[j] = at(j) >= 0 ? __ldg(row + at(j) * step) : image_fft_rung::no_pixel<Pixel>(absent);
        second[j] = next(j) >= 0 ? __ldg(row + next(j) * step) : image_fft_rung::no_pixel<Pixel>(absent);
    }
    image_fft_rung::widen_pixels(type, first, re, absent, [&](int j) { return image_fft_rung::read_anew(at(j)) >= 0; });
    image_fft_rung::widen_pixels(type, second, im, absent, [&](int j) { return image_fft_rung::read_anew(next(j)) >= 0; });
}

/// body(number, re, im) for all values of a transform, which leaves them in the order of reversed bits.
template <int kCount, class Body>
__device__ __forceinline__ void for_values(const float* x, const float* y, const Body& body) {
    fft::for_each_index<0, kCount>([&](auto value) {
        constexpr int m = decltype(value)::value;
        body(fft::reversed(m, fft::log2_of(kCount)), x[m], y[m]);
    });
}

/// The lines of a task that the thread's warp has.
template <class D>
struct WarpLines {
    char* own;  // its part of shared memory
    int lane, first, group;

    __device__ __forceinline__ WarpLines(const Passes& g, const Task& task, char* shared)
        : own(shared + static_cast<int>(threadIdx.x) / 32 * kWarpPoints * 8),
          lane(static_cast<int>(threadIdx.x) % 32),
          first(task.part * D::kLines + static_cast<int>(threadIdx.x) / 32 * D::kLinesOfWarp),
          group(1 << g.group_bits) {}

    /// Where a line's points lie.
    [[nodiscard]] __device__ __forceinline__ float2* points_of(const Passes& g, const Task& task, int line) const {
        return g.points +
               ((static_cast<std::int64_t>(task.slot) << g.group_bits) + (line & (group - 1))) * (D::kRows * D::kPoints) +
               (line >> g.group_bits) * D::kPoints;
    }
};

/// Lines from the image to points.
template <class D, bool kAnyType>
__device__ __forceinline__ void go_there(const ImageArguments& a, const Passes& g, const Unit& unit, const Task& task, char* shared,
                                         int* columns) {
    using Along = typename D::Along;
    constexpr int kFar = Along::kFar;
    constexpr int kNear = Along::kNear;
    constexpr int kLines = D::kLinesOfWarp;
    const RowsThere there(a, unit.window, D::kRows);
    const int first_row = task.part * D::kLines >> g.group_bits;
    const int last_row = ((task.part + 1) * D::kLines - 1) >> g.group_bits;
    if (last_row < there.first || first_row >= there.last) { return; }
    const std::int64_t left = unit.window.left;
    const bool inside = left >= 0 && left + D::kColumns <= a.width;
    if (!inside) {
        for (int x = static_cast<int>(threadIdx.x); x < D::kColumns; x += kThreads) {
            columns[x] = static_cast<int>(image_fft_rung::source_pixel(a, left + x));
        }
        __syncthreads();
    }
    const WarpLines<D> lines(g, task, shared);
    const auto [own, lane, first_line, group] = lines;
    const std::int64_t piece_rows = a.in_last - a.in_first;
    float re[32];
    float im[32];
    const auto load = [&](auto pixel) {
#pragma unroll
        for (int v = 0; v < 32 / kFar; ++v) {
            const LinePlace<kNear, kLines> at(lane + 32 * v, g.in_bits);
            const int line = first_line + at.line;
            const int channel = unit.channel + (line & (group - 1));
            const std::int64_t y = image_fft_rung::window_row(a, unit.window, line >> g.group_bits);
            const auto* const row =
                static_cast<const decltype(pixel)*>(a.in) + unit.image * a.in_image + channel * g.steps.in_channel + y * a.in_row;
            load_line<D>(a, g.input_type, y < 0 ? nullptr : row, inside ? nullptr : columns, left, g.steps.in_pixel, at.place,
                         re + v * kFar, im + v * kFar);
        }
    };
    if (kAnyType && g.input_type != kF32) {
        image_fft_rung::with_pixel(g.input_bytes, load);
    } else {
        load(float{});
    }
#pragma unroll
    for (int v = 0; v < 32 / kFar; ++v) {
        float* const x_re = re + v * kFar;
        float* const x_im = im + v * kFar;
        float test = 0;  // NaN if a sample is not finite
#pragma unroll
        for (int j = 0; j < kFar; ++j) { test = fmaf(0.0F, x_re[j], fmaf(0.0F, x_im[j], test)); }
        if (!(test == 0)) {
            const LinePlace<kNear, kLines> at(lane + 32 * v, g.in_bits);
            const int line = first_line + at.line;
            const int channel = unit.channel + (line & (group - 1));
            const std::int64_t y = image_fft_rung::window_row(a, unit.window, line >> g.group_bits);
            unsigned bad[2] = {};  // samples of x_re and x_im, as bits
            const auto leave_out = [](float& sample, unsigned& bits, int j) {
                if (fabsf(sample) < INFINITY) { return; }
                sample = 0;
                bits |= 1U << j;
            };
#pragma unroll
            for (int j = 0; j < kFar; ++j) {
                leave_out(x_re[j], bad[0], j);
                leave_out(x_im[j], bad[1], j);
            }
            unsigned parts = 0;
#pragma unroll 1
            for (int half = 0; half < 2; ++half) {
                const int first_x = at.place + half * D::kPoints;
#pragma unroll 1
                for (unsigned bits = half == 0 ? bad[0] : bad[1]; bits != 0; bits &= bits - 1) {
                    const int x = kNear * (__ffs(static_cast<int>(bits)) - 1) + first_x;
                    parts |= part_of_row(a, inside ? left + x : columns[x]);
                }
            }
            g.bad[0] = 1;
            atomicOr(g.bad + 1 + (unit.image * a.channels + channel) * piece_rows + y, parts);
        }
    }
#pragma unroll
    for (int v = 0; v < 32 / kFar; ++v) {
        const LinePlace<kNear, kLines> at(lane + 32 * v, g.in_bits);
        const unsigned place = line_place<Along>(at.line, at.place);
        float* const x_re = re + v * kFar;
        float* const x_im = im + v * kFar;
        fft::transform<kFar, 1, 2>(x_re, x_im);
        for_values<kFar>(x_re, x_im, [&](int number, float own_re, float own_im) {
            point_at(own, place ^ inner_place<Along>(number)) = {own_re, own_im};
        });
    }
    __syncwarp();
    const int q = lane % kFar;
    const PairsOf<kFar> pairs{g.tables + D::kPairsQ + q};
#pragma unroll
    for (int v = 0; v < 32 / kNear; ++v) {
        const int line_of_warp = (lane + 32 * v) / kFar;
        const int line = first_line + line_of_warp;
        const unsigned place = line_place<Along>(line_of_warp, 0) ^ inner_place<Along>(q);
        float x[kNear];
        float y[kNear];
        take_points(x, y, [&](int s) { return point_at(own, place ^ static_cast<unsigned>(8 * s)); });
        fft::transform_by<kNear>(x, y, pairs);
        float2* const to = lines.points_of(g, task, line) + q;
        for_values<kNear>(x, y, [&](int number, float own_re, float own_im) { to[number * kFar] = {own_re, own_im}; });
    }
}

/// A line's outputs kNear j + s in re, and those half a row on in im.
template <class D, bool kAnyType>
__device__ __forceinline__ void store_line(const ImageArguments& a, const Passes& g, std::int64_t first, int s, std::int64_t width,
                                           float* re, float* im) {
    using Along = typename D::Along;
    constexpr int kFar = Along::kFar;
    constexpr int kBits = fft::log2_of(kFar);
    const std::int64_t step = g.steps.out_pixel;
    const auto store = [&](auto* to, int j, auto x, auto y) {
        if (Along::kNear * j + s < width) { __stcs(to + (Along::kNear * j + s) * step, x); }
        if (Along::kNear * j + s + D::kPoints < width) { __stcs(to + (Along::kNear * j + s + D::kPoints) * step, y); }
    };
    const auto store_floats = [&] {
        fft::for_each_index<0, kFar>([&](auto index) {
            constexpr int j = decltype(index)::value;
            constexpr int m = fft::reversed(j, kBits);
            store(static_cast<float*>(a.out) + first, j, re[m], im[m]);
        });
    };
    if (!(kAnyType && kFloatsApart<D>)&&a.common.plain_store && !a.common.converts) { return store_floats(); }
    if (!a.common.plain_store) {
#pragma unroll
        for (int m = 0; m < kFar; ++m) {
            re[m] = finish(a.common, re[m]);
            im[m] = finish(a.common, im[m]);
        }
    }
    if constexpr (!kAnyType) { return store_floats(); }
    with_raw(g.output_bytes, [&](auto element) {
        using Raw = decltype(element);
        constexpr int kGroup = 8;  // of points whose type is asked for once, as long as registers hold them
        fft::for_each_index<0, kFar / kGroup>([&](auto group) {
            constexpr int kFirst = decltype(group)::value * kGroup;
            float sums[2 * kGroup];
#pragma unroll
            for (int i = 0; i < kGroup; ++i) {
                sums[i] = re[kFirst + i];
                sums[kGroup + i] = im[kFirst + i];
            }
            Raw raw[2 * kGroup];
            narrow_real_to_raw(a.common.output_type, sums, raw);
            fft::for_each_index<0, kGroup>([&](auto index) {
                constexpr int i = decltype(index)::value;
                store(static_cast<Raw*>(a.out) + first, fft::reversed(kFirst + i, kBits), raw[i], raw[kGroup + i]);
            });
        });
    });
}

/// Lines from points to outputs. Backwards transforms are the same with real and imaginary parts exchanged.
template <class D, bool kAnyType>
__device__ __forceinline__ void go_back(const ImageArguments& a, const Passes& g, const Unit& unit, const Task& task,
                                        char* shared) {
    using Along = typename D::Along;
    constexpr int kFar = Along::kFar;
    constexpr int kNear = Along::kNear;
    constexpr int kLines = D::kLinesOfWarp;
    const WarpLines<D> lines(g, task, shared);
    const auto [own, lane, first_line, group] = lines;
    const int rows = static_cast<int>(min(a.rows - unit.first_y, static_cast<std::int64_t>(g.out_rows)));
    if (first_line >> g.group_bits >= rows) { return; }
    const int q = lane % kFar;
#pragma unroll
    for (int v = 0; v < 32 / kNear; ++v) {
        const int line_of_warp = (lane + 32 * v) / kFar;
        const int line = first_line + line_of_warp;
        const float2* const from = lines.points_of(g, task, line) + q;
        float x[kNear];
        float y[kNear];
        take_points(x, y, [&](int t) { return __ldcg(from + t * kFar); });
        fft::transform<kNear>(y, x);
        const unsigned place = line_place<Along>(line_of_warp, 0) ^ inner_place<Along>(q);
        for_values<kNear>(x, y, [&](int number, float own_re, float own_im) {
            point_at(own, place ^ static_cast<unsigned>(8 * number)) = {own_re, own_im};
        });
    }
    __syncwarp();
    const std::int64_t width = min(static_cast<std::int64_t>(g.out_columns), a.out_elements / a.channels - unit.first_x);
#pragma unroll
    for (int v = 0; v < 32 / kFar; ++v) {
        const LinePlace<kNear, kLines> at(lane + 32 * v, g.out_bits);
        const int line = first_line + at.line;
        const unsigned place = line_place<Along>(at.line, at.place);
        float re[kFar];
        float im[kFar];
        take_points(re, im, [&](int i) { return point_at(own, place ^ inner_place<Along>(i)); });
        fft::transform_by<kFar>(im, re, PairsOf<kNear>{g.tables + D::kPairsS + at.place});
        fft::for_each_index<0, kFar>([&](auto value) {
            constexpr int m = decltype(value)::value;
            constexpr int j = fft::reversed(m, fft::log2_of(kFar));
            image_fft_rung::multiply(re[m], im[m], __ldg(g.tables + D::kTwiddles + kNear * j + at.place));
        });
        const int row = line >> g.group_bits;
        const int channel = unit.channel + (line & (group - 1));
        if (row < rows) {
            store_line<D, kAnyType>(a, g,
                                    unit.image * a.out_image + (unit.first_y + row) * a.out_row + channel * g.steps.out_channel +
                                        unit.first_x * g.steps.out_pixel,
                                    at.place, width, re, im);
        }
    }
}

}  // namespace tapline::cuda::image_fft_large_rung
