// Columns of a tile's points: transformed, multiplied by the mask's spectrum, transformed back, where they lie.
#pragma once

#include "cuda/families/image_fft_large/image_fft_large_rows.cuh"

namespace tapline::cuda::image_fft_large_rung {

/// This block's columns: this thread's one, its first point in memory and its spectrum's.
template <class D>
struct ColumnPlace {
    int column, number;  // of the threads of this column
    float2* points;
    const float2* spectrum;

    __device__ __forceinline__ ColumnPlace(const Passes& g, const Unit& unit, const Task& task) {
        constexpr int kParts = D::kPoints / D::kWidth;  // of a channel's tile
        column = static_cast<int>(threadIdx.x) % D::kWidth;
        number = static_cast<int>(threadIdx.x) / D::kWidth;
        const int channel = task.part / kParts;
        const int first = task.part % kParts * D::kWidth + column;
        points = g.points + ((static_cast<std::int64_t>(task.slot) << g.group_bits) + channel) * (D::kRows * D::kPoints) + first;
        spectrum = g.tables + D::kSpectra + (unit.channel + channel) * g.spectrum + first;
    }
};

/// Every kApart-th point of a column from one on; zeros where there are none.
template <class D, int kCount, int kApart>
__device__ __forceinline__ void load_column(const RowsThere& there, const float2* points, int first, float* re, float* im) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
        const int y = kApart * j + first;
        const float2 point = y >= there.first && y < there.last ? __ldcg(points + y * D::kPoints) : float2{0.0F, 0.0F};
        re[j] = point.x;
        im[j] = point.y;
    }
}

/// The last step of a column's transform, the product with the spectrum and the first step back. Frequency t of kCount stands for
/// row first + kApart t of the spectrum.
template <class D, int kCount, int kApart, class Pairs>
__device__ __forceinline__ void multiply_column(const float2* spectrum, int first, const Pairs& pairs, float (&x)[kCount],
                                                float (&y)[kCount], float (&u)[kCount], float (&w)[kCount]) {
    fft::transform_by<kCount>(x, y, pairs);
    fft::for_each_index<0, kCount>([&](auto value) {
        constexpr int m = decltype(value)::value;
        constexpr int t = fft::reversed(m, fft::log2_of(kCount));
        u[t] = x[m];
        w[t] = y[m];
        image_fft_rung::multiply(u[t], w[t], __ldcg(spectrum + (first + kApart * t) * D::kPoints));
    });
    fft::transform<kCount>(w, u);
}

/// Where point (q, s) of a column lies, in points: neighbouring lanes have neighbouring columns, and where those are only eight,
/// two values of q or s.
template <class D>
__device__ __forceinline__ constexpr int down_place(int q, int s, int column) {
    const int place = (q * D::Down::kNear + s) * D::kWidth + column;
    return D::kWidth == 8 ? place ^ ((q & 1) * 8) : place;
}

/// The first step of columns, whose further ones are of kRest points: point (number, item) goes to place(number, item).
template <class D, int kRest, class PlaceOf>
__device__ __forceinline__ void begin_columns(const ImageArguments& a, const Unit& unit, const ColumnPlace<D>& at, float2* shared,
                                              const PlaceOf& place_of) {
    constexpr int kFar = D::Down::kFar;
    constexpr int kApart = kThreads / D::kWidth;
    const RowsThere there(a, unit.window, D::kRows);
    float re[32];
    float im[32];
#pragma unroll
    for (int v = 0; v < 32 / kFar; ++v) {
        load_column<D, kFar, kRest>(there, at.points, at.number + kApart * v, re + v * kFar, im + v * kFar);
    }
#pragma unroll
    for (int v = 0; v < 32 / kFar; ++v) {
        float* const x = re + v * kFar;
        float* const y = im + v * kFar;
        fft::transform<kFar>(x, y);
        for_values<kFar>(x, y, [&](int number, float own_re, float own_im) {
            shared[place_of(number, at.number + kApart * v)] = {own_re, own_im};
        });
    }
}

/// The last step back.
template <class D, int kRest, class PlaceOf>
__device__ __forceinline__ void end_columns(const Passes& g, const ColumnPlace<D>& at, const float2* shared,
                                            const PlaceOf& place_of) {
    constexpr int kFar = D::Down::kFar;
#pragma unroll
    for (int v = 0; v < 32 / kFar; ++v) {
        const int item = at.number + kThreads / D::kWidth * v;
        float x[kFar];
        float y[kFar];
        take_points(x, y, [&](int q) { return shared[place_of(q, item)]; });
        fft::transform_by<kFar>(y, x, PairsOf<kRest>{g.tables + D::kPairsDownS + item});
        for_values<kFar>(x, y, [&](int number, float own_re, float own_im) {
            const int row = kRest * number + item;
            if (row < g.out_rows) { at.points[row * D::kPoints] = {own_re, own_im}; }
        });
    }
}

/// Columns of two steps.
template <class D>
__device__ __forceinline__ void go_down(const ImageArguments& a, const Passes& g, const Unit& unit, const Task& task,
                                        float2* shared) {
    using Down = typename D::Down;
    constexpr int kFar = Down::kFar;
    constexpr int kNear = Down::kNear;
    const ColumnPlace<D> at(g, unit, task);
    const auto place_of = [&](int q, int s) { return down_place<D>(q, s, at.column); };
    begin_columns<D, kNear>(a, unit, at, shared, place_of);
    __syncthreads();
#pragma unroll
    for (int v = 0; v < 32 / kNear; ++v) {
        const int q = at.number + kThreads / D::kWidth * v;
        float x[kNear];
        float y[kNear];
        take_points(x, y, [&](int s) { return shared[place_of(q, s)]; });
        float u[kNear];
        float w[kNear];
        multiply_column<D, kNear, kFar>(at.spectrum, q, PairsOf<kFar>{g.tables + D::kPairsDownQ + q}, x, y, u, w);
        for_values<kNear>(u, w, [&](int number, float own_re, float own_im) { shared[place_of(q, number)] = {own_re, own_im}; });
    }
    __syncthreads();
    end_columns<D, kNear>(g, at, shared, place_of);
}

/// Where point (q, u, s) of a long column lies, in points: four columns side by side, so that four values of s meet in no bank, nor
/// four of u.
template <class D>
__device__ __forceinline__ constexpr int long_place(int q, int u, int s, int column) {
    using Down = typename D::Down;
    static_assert(D::kWidth == 4);
    return ((q * Down::kMid + u) * Down::kNear + (s ^ (u & 3))) * D::kWidth + column;
}

/// A long column's middle step there, and back with real and imaginary parts exchanged.
template <class D, bool kBackwards>
__device__ __forceinline__ void go_through_middle(const Passes& g, int number, int column, float2* shared) {
    using Down = typename D::Down;
    constexpr int kMid = Down::kMid;
    constexpr int kNear = Down::kNear;
#pragma unroll 1
    for (int v = 0; v < 32 / kMid; ++v) {
        const int item = number + kThreads / D::kWidth * v;
        const int q = item / kNear;
        const int s = item % kNear;
        float x[kMid];
        float y[kMid];
#pragma unroll
        for (int i = 0; i < kMid; ++i) {
            const float2 point = shared[long_place<D>(q, i, s, column)];
            x[i] = kBackwards ? point.y : point.x;
            y[i] = kBackwards ? point.x : point.y;
        }
        if constexpr (kBackwards) {
            fft::transform_by<kMid>(x, y, PairsOf<kNear>{g.tables + D::kPairsMidS + s});
        } else {
            fft::transform_by<kMid>(x, y, PairsOf<Down::kFar>{g.tables + D::kPairsMidQ + q});
        }
        fft::for_each_index<0, kMid>([&](auto value) {
            constexpr int m = decltype(value)::value;
            shared[long_place<D>(q, fft::reversed(m, fft::log2_of(kMid)), s, column)] =
                kBackwards ? float2{y[m], x[m]} : float2{x[m], y[m]};
        });
    }
}

/// Columns of three steps.
template <class D>
__device__ __forceinline__ void go_down_long(const ImageArguments& a, const Passes& g, const Unit& unit, const Task& task,
                                             float2* shared) {
    using Down = typename D::Down;
    constexpr int kFar = Down::kFar;
    constexpr int kMid = Down::kMid;
    constexpr int kNear = Down::kNear;
    const ColumnPlace<D> at(g, unit, task);
    const auto place_of = [&](int q, int item) { return long_place<D>(q, item / kNear, item % kNear, at.column); };
    begin_columns<D, kMid * kNear>(a, unit, at, shared, place_of);
    __syncthreads();
    go_through_middle<D, false>(g, at.number, at.column, shared);
    __syncthreads();
#pragma unroll 1
    for (int v = 0; v < 32 / kNear; ++v) {
        // Neighbouring lanes differ in u, and what q and u are together is their frequency, q + kFar u.
        const int item = at.number + kThreads / D::kWidth * v;
        const int i = item % kMid;
        const int q = item / kMid;
        float x[kNear];
        float y[kNear];
        take_points(x, y, [&](int s) { return shared[long_place<D>(q, i, s, at.column)]; });
        float u[kNear];
        float w[kNear];
        const int frequency = q + kFar * i;
        multiply_column<D, kNear, kFar * kMid>(at.spectrum, frequency, PairsOf<kFar * kMid>{g.tables + D::kPairsDownQ + frequency},
                                               x, y, u, w);
        for_values<kNear>(u, w, [&](int number, float own_re, float own_im) {
            shared[long_place<D>(q, i, number, at.column)] = {own_re, own_im};
        });
    }
    __syncthreads();
    go_through_middle<D, true>(g, at.number, at.column, shared);
    __syncthreads();
    end_columns<D, kMid * kNear>(g, at, shared, place_of);
}

}  // namespace tapline::cuda::image_fft_large_rung
