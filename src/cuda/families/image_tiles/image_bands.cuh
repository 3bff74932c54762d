// 10: images whose rows follow each other in memory, small ones and narrow ones: bands of them, each one run of memory.
#pragma once

#include "cuda/families/image_tiles/image_tiles.cuh"

namespace tapline::cuda::image_tiles_rung {

/// A band's place, and which of its rows of samples memory has.
struct BandPlace {
    std::int64_t image;       // the first
    std::int64_t y;           // outputs before it
    std::int64_t first;       // row of the image of its window's first
    std::int64_t begin, end;  // rows of samples that it holds
    int images;               // that exist
};

__device__ __forceinline__ BandPlace place_of(const TileArguments& a, const Band& b, std::int64_t number) {
    const Cut& c = a.cut;
    BandPlace p{};
    const std::int64_t group = c.tiles_y == 1 ? number : divide(number, c.tiles_y);
    p.y = (number - group * c.tiles_y) * (c.strips_y * kDown);
    p.image = group * b.images;
    p.images = static_cast<int>(min(divide(a.planes, a.channels) - p.image, std::int64_t{b.images}));
    p.first = a.y.first + p.y - a.y.origin;
    const bool whole = b.whole != 0;
    p.begin = whole ? a.y.in_first : min(max(p.first, a.y.in_first), a.y.in_last);
    p.end = whole ? a.y.in_last : min(max(p.first + c.rows, a.y.in_first), a.y.in_last);
    return p;
}

/// Its samples as they lie in memory, on their way to `held`, where they lie alike between 16-byte boundaries.
__device__ __forceinline__ const char* band_samples(const TileArguments& a, const BandPlace& p) {
    return static_cast<const char*>(a.in) + (p.image * a.in_image + (p.begin - a.y.in_first) * a.y.in_stride) * a.input_bytes;
}
__device__ __forceinline__ void load_band(const TileArguments& a, const BandPlace& p, char* held) {
    const char* const from = band_samples(a, p);
    const int elements = static_cast<int>((p.images - 1) * a.in_image + (p.end - p.begin) * a.y.in_stride);
    with_raw(a.input_bytes, [&](auto raw) {
        copy_in<static_cast<int>(sizeof raw)>({from, held + past_16(from), 0, 0, 1, elements},
                                              {static_cast<int>(threadIdx.x), kThreads});
    });
}

/// Where each row of the windows comes from, in elements: from the band's first sample; less one and negative, from sample in_first
/// of its image; kAbsent.
__device__ __forceinline__ void find_rows(const TileArguments& a, const BandPlace& p, int* rows) {
    const Cut& c = a.cut;
    const int channels = static_cast<int>(a.channels);
    for (int i = static_cast<int>(threadIdx.x); i < c.rows * c.planes; i += kThreads) {
        const int plane = i / c.rows;
        const int image = channels == 1 ? plane : plane / channels;
        const int channel = plane - image * channels;
        std::int64_t at = p.first + (i - plane * c.rows);
        if (at < a.y.in_first || at >= a.y.in_last) { at = near_boundary_index(a.y.boundary, at, a.y.n); }
        int from = kAbsent;
        if (image < p.images && at >= a.y.in_first && at < a.y.in_last) {
            const bool is_held = at >= p.begin && at < p.end;
            const auto element = static_cast<int>((at - (is_held ? p.begin : a.y.in_first)) * a.y.in_stride + image * a.in_image);
            from = is_held ? element + channel : -1 - (element + channel);
        }
        rows[i] = from;
    }
}

/// The windows as numbers X, with the boundary in place. A thread makes four neighbours of a column at a time.
template <class Raw, class X>
__device__ __forceinline__ void spread_band(const TileArguments& a, const BandPlace& p, const char* held, X* window,
                                            const int* rows, const int* columns) {
    constexpr int kAtOnce = 4;
    const Cut& c = a.cut;
    const int thread = static_cast<int>(threadIdx.x);
    const int row = thread / c.load_columns;
    const X absent = static_cast<X>(a.absent);
    const Raw* const near = reinterpret_cast<const Raw*>(held + past_16(band_samples(a, p)));
    const Raw* const far = static_cast<const Raw*>(a.in) + p.image * a.in_image;
    const int all = c.rows * c.planes;
    if (row >= c.load_rows) { return; }
    for (int column = thread - row * c.load_columns; column < c.columns; column += c.load_columns) {
        const int x = columns[column];
        X* to = window + kAtOnce * row * c.pitch + column;
#pragma unroll 2
        for (int r = kAtOnce * row; r < all; r += kAtOnce * c.load_rows) {
            const int4 four = *reinterpret_cast<const int4*>(rows + r);
            const int y[kAtOnce] = {four.x, four.y, four.z, four.w};
            Raw raw[kAtOnce] = {};
#pragma unroll
            for (int u = 0; u < kAtOnce; ++u) {
                if (r + u < all && y[u] != kAbsent && x != kAbsent) { raw[u] = y[u] >= 0 ? near[y[u] + x] : far[x - y[u] - 1]; }
            }
            X wide[kAtOnce];
            widen_raw(a.input_type, raw, wide);
#pragma unroll
            for (int u = 0; u < kAtOnce; ++u) {
                if (r + u < all) { to[u * c.pitch] = y[u] != kAbsent && x != kAbsent ? wide[u] : absent; }
            }
            to += kAtOnce * c.load_rows * c.pitch;
        }
    }
}

/// A strip's outputs to shared memory.
template <class Raw, class X>
__device__ __forceinline__ void keep_strip(const TileArguments& a, const X (&sum)[kDown][kAcross], Raw* to, int rows, int columns) {
    constexpr int kBytes = kAcross * static_cast<int>(sizeof(Raw));
    constexpr int kVectorBytes = kBytes < 16 ? kBytes : 16;
    using Vector = typename RawOf<kVectorBytes>::Type;
#pragma unroll
    for (int r = 0; r < kDown; ++r) {
        if (r < rows) {
            X value[kAcross];
#pragma unroll
            for (int i = 0; i < kAcross; ++i) { value[i] = finish(a.common, sum[r][i]); }
            Raw raw[kAcross];
            narrow_to_raw(a.common.output_type, value, raw);
            if (a.cut.store_vectors != 0 && columns >= kAcross) {
                Vector vectors[kBytes / kVectorBytes];
                memcpy(vectors, raw, kBytes);
#pragma unroll
                for (int v = 0; v < kBytes / kVectorBytes; ++v) { reinterpret_cast<Vector*>(to)[v] = vectors[v]; }
            } else {
#pragma unroll
                for (int i = 0; i < kAcross; ++i) {
                    if (i < columns) { to[i * static_cast<int>(a.x.out_stride)] = raw[i]; }
                }
            }
            to += a.y.out_stride;
        }
    }
}

/// All of a band's outputs, by way of shared memory.
template <class X>
__device__ __forceinline__ void make_band(const TileArguments& a, const BandPlace& p, const X* window, const X* taps, char* made) {
    const Cut& c = a.cut;
    const int channels = static_cast<int>(a.channels);
    char* const to = static_cast<char*>(a.out) + (p.image * a.out_image + p.y * a.y.out_stride) * a.output_bytes;
    char* const outputs = made + past_16(to);
    const auto rows = static_cast<int>(min(a.y.outputs - p.y, static_cast<std::int64_t>(c.strips_y * kDown)));
    const auto width = static_cast<int>(a.x.outputs);
#pragma unroll 1
    for (int strip = static_cast<int>(threadIdx.x); strip < c.strips_x * c.strips_y * c.planes; strip += kThreads) {
        const int line = strip / c.strips_x;
        const int plane = line / c.strips_y;
        const int image = channels == 1 ? plane : plane / channels;
        const int x = (strip - line * c.strips_x) * kAcross;
        const int y = (line - plane * c.strips_y) * kDown;
        if (image >= p.images || y >= rows) { continue; }
        X sum[kDown][kAcross] = {};
        add_mask(a, sum, window + (plane * c.rows + y) * c.pitch + x, taps);
        const auto at = static_cast<int>(image * a.out_image + y * a.y.out_stride) + x * channels + plane - image * channels;
        with_output<X>(a.common.output_type, a.output_bytes,
                       [&](auto raw) { keep_strip(a, sum, reinterpret_cast<decltype(raw)*>(outputs) + at, rows - y, width - x); });
    }
    __syncthreads();
    const auto elements = static_cast<int>((p.images - 1) * a.out_image + rows * a.y.out_stride);
    with_raw(a.output_bytes, [&](auto raw) {
        copy_out<static_cast<int>(sizeof raw)>({outputs, to, 0, 0, 1, elements}, {static_cast<int>(threadIdx.x), kThreads});
    });
}

/// A block goes from band to band: while it makes one, the samples of the next are on their way, as they lie in memory, one run.
/// Then they are spread to windows with the boundary in place, as in image_tiles_kernel, and outputs leave in one run.
template <int kBlocks, class X>
__global__ void __launch_bounds__(kThreads, kBlocks)
    image_bands_kernel(const __grid_constant__ TileArguments a, const __grid_constant__ Band b) {
    extern __shared__ __align__(128) char shared[];
    const Cut& c = a.cut;
    auto* const rows = reinterpret_cast<int*>(shared);
    int* const columns = rows + (c.rows * c.planes + 3) / 4 * 4;
    auto* const taps = reinterpret_cast<X*>(columns + (c.columns + 3) / 4 * 4);
    const int tap_numbers = chunks_of(a.x.mask) * a.y.mask * kChunkPitch;
    X* const window = taps + tap_numbers;
    char* const held = reinterpret_cast<char*>(window + c.rows * c.planes * c.pitch);
    char* const made = held + b.held_bytes;
    std::int64_t number = blockIdx.x;
    load_band(a, place_of(a, b, number), held);
    commit_copies();
    for (int i = static_cast<int>(threadIdx.x); i < c.columns; i += kThreads) { columns[i] = source_of(a.x, i - a.x.origin); }
    for (int i = static_cast<int>(threadIdx.x); i < tap_numbers; i += kThreads) {
        taps[i] = __ldg(static_cast<const X*>(a.taps) + i);
    }
#pragma unroll 1
    for (; number < b.all; number += gridDim.x) {
        const BandPlace place = place_of(a, b, number);
        find_rows(a, place, rows);
        wait_copies<0>();
        __syncthreads();
        with_input<X>(a.input_type, a.input_bytes, [&](auto raw) {
            using Raw = decltype(raw);
            if constexpr (sizeof(Raw) <= 4 || sizeof(X) == 8) { spread_band<Raw>(a, place, held, window, rows, columns); }
        });
        __syncthreads();
        if (number + gridDim.x < b.all) { load_band(a, place_of(a, b, number + gridDim.x), held); }
        commit_copies();
        make_band(a, place, window, taps, made);
    }
}

}  // namespace tapline::cuda::image_tiles_rung
