// 10: images whose rows follow each other in memory, small ones and narrow ones: bands of them, each one run of memory.
#pragma once

#include "cuda/families/image_tiles/image_tiles.cuh"

namespace tapline::cuda::image_tiles_rung {

/// A band's place, and which rows of samples it holds.
struct BandPlace {
    std::int64_t image;  // the first
    int y;               // outputs before it
    int begin, end;      // rows of samples that it holds
    int images;          // that exist
};

/// Of all bands, fewer than 2^31, the number-th.
__device__ __forceinline__ BandPlace place_of(const TileArguments& a, const Band& b, unsigned number) {
    const Cut& c = a.cut;
    const auto bands = static_cast<unsigned>(c.tiles_y);
    const unsigned group = bands == 1 ? number : number / bands;
    BandPlace p{};
    p.y = static_cast<int>(number - group * bands) * (c.strips_y * kDown);
    p.image = static_cast<std::int64_t>(group) * b.images;
    p.images = static_cast<int>(min(b.all_images - p.image, std::int64_t{b.images}));
    const auto in_first = static_cast<int>(a.y.in_first);
    const auto in_last = static_cast<int>(a.y.in_last);
    p.begin = in_first;
    p.end = in_last;
    if (b.whole == 0) {
        const int first = static_cast<int>(a.y.first - a.y.origin) + p.y;
        p.begin = min(max(first, in_first), in_last);
        p.end = min(max(first + c.rows, in_first), in_last);
    }
    return p;
}

__device__ __forceinline__ const char* band_samples(const TileArguments& a, const BandPlace& p) {
    return static_cast<const char*>(a.in) + (p.image * a.in_image + (p.begin - a.y.in_first) * a.y.in_stride) * a.input_bytes;
}

/// A run of memory in vectors, and what is left at both ends in words or, of shorter elements, in bytes: vector(at), word(at),
/// byte(at) copy what begins at byte `at`. Both sides lie alike between 16-byte boundaries.
template <class Vector, class Word, class Byte>
__device__ __forceinline__ void copy_run(int lead, int bytes, int element, const Vector& vector, const Word& word,
                                         const Byte& byte) {
    const int thread = static_cast<int>(threadIdx.x);
    const int head = min((16 - lead) & 15, bytes);
    const int end = head + ((bytes - head) & ~15);
    for (int at = head + 16 * thread; at < end; at += 16 * kThreads) { vector(at); }
    if (head == 0 && end == bytes) { return; }
    const int size = element >= 4 ? 4 : 1;
    const int each = 16 / size;  // at most, of an end
    const int at = thread < each ? thread * size : end + (thread - each) * size;
    if (thread >= 2 * each || at >= (thread < each ? head : bytes)) { return; }
    if (size == 4) {
        word(at);
    } else {
        byte(at);
    }
}

/// Its samples as they lie in memory, on their way to `held`.
__device__ __forceinline__ void load_band(const TileArguments& a, const BandPlace& p, char* held) {
    const char* const from = band_samples(a, p);
    const int lead = past_16(from);
    char* const to = held + lead;
    const int elements = (p.images - 1) * static_cast<int>(a.in_image) + (p.end - p.begin) * static_cast<int>(a.y.in_stride);
    copy_run(
        lead, elements * a.input_bytes, a.input_bytes, [&](int at) { copy_16_async(to + at, from + at); },
        [&](int at) { copy_4_async(to + at, from + at); }, [&](int at) { to[at] = from[at]; });
}

/// Outputs that lie in shared memory on their way to memory.
__device__ __forceinline__ void store_run(const TileArguments& a, char* to, const char* from, int elements) {
    copy_run(
        past_16(to), elements * a.output_bytes, a.output_bytes,
        [&](int at) { __stcs(reinterpret_cast<uint4*>(to + at), *reinterpret_cast<const uint4*>(from + at)); },
        [&](int at) { *reinterpret_cast<std::uint32_t*>(to + at) = *reinterpret_cast<const std::uint32_t*>(from + at); },
        [&](int at) { to[at] = from[at]; });
}

/// Where each row of the windows comes from, in elements: from the band's first sample; less one and negative, from sample in_first
/// of its image; kAbsent.
__device__ __forceinline__ void find_rows(const TileArguments& a, const BandPlace& p, int* rows) {
    const Cut& c = a.cut;
    const auto channels = static_cast<int>(a.channels);
    const auto in_first = static_cast<int>(a.y.in_first);
    const auto in_last = static_cast<int>(a.y.in_last);
    const auto stride = static_cast<int>(a.y.in_stride);
    const int first = static_cast<int>(a.y.first - a.y.origin) + p.y;
    for (int i = static_cast<int>(threadIdx.x); i < c.rows * c.planes; i += kThreads) {
        const int plane = c.planes == 1 ? 0 : i / c.rows;
        const int image = channels == 1 ? plane : plane / channels;
        int at = first + (i - plane * c.rows);
        if (at < in_first || at >= in_last) { at = static_cast<int>(near_boundary_index(a.y.boundary, at, a.y.n)); }
        int from = kAbsent;
        if (at >= in_first && at < in_last) {
            const int offset = image * static_cast<int>(a.in_image) + plane - image * channels;
            from = at >= p.begin && at < p.end ? (at - p.begin) * stride + offset : -1 - ((at - in_first) * stride + offset);
        }
        rows[i] = from;
    }
}

/// The windows as numbers X, with the boundary in place, four rows of a column at a time. kFar: rows may come from memory.
template <bool kFar, class Raw, class X>
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
    const int step = kAtOnce * c.load_rows;
    for (int column = thread - row * c.load_columns; column < c.columns; column += c.load_columns) {
        const int x = columns[column];
        X* to = window + kAtOnce * row * c.pitch + column;
        for (int r = kAtOnce * row; r < all; r += step, to += step * c.pitch) {
            const int4 four = *reinterpret_cast<const int4*>(rows + r);
            const int y[kAtOnce] = {four.x, four.y, four.z, four.w};
            Raw raw[kAtOnce];
            bool there[kAtOnce];
#pragma unroll
            for (int u = 0; u < kAtOnce; ++u) {
                // Rows behind the last come from nowhere.
                there[u] = x >= 0 && (kFar ? y[u] != kAbsent : y[u] >= 0);
                raw[u] = Raw{};
                if (there[u]) { raw[u] = !kFar || y[u] >= 0 ? near[y[u] + x] : far[x - y[u] - 1]; }
            }
            X wide[kAtOnce];
            widen_raw(a.input_type, raw, wide);
            X* row_to = to;
#pragma unroll
            for (int u = 0; u < kAtOnce; ++u, row_to += c.pitch) {
                if (r + u < all) { *row_to = there[u] ? wide[u] : absent; }
            }
        }
    }
}

/// A strip of a thread: where it is in the band.
struct BandStrip {
    int window, output;  // elements before it
    int image, y;
    int columns;  // outputs of its rows
};

__device__ __forceinline__ BandStrip strip_of(const TileArguments& a, int strip) {
    const Cut& c = a.cut;
    const auto channels = static_cast<int>(a.channels);
    const int line = strip / c.strips_x;
    const int plane = line / c.strips_y;
    const int x = (strip - line * c.strips_x) * kAcross;
    BandStrip s{};
    s.image = channels == 1 ? plane : plane / channels;
    s.y = (line - plane * c.strips_y) * kDown;
    s.window = (plane * c.rows + s.y) * c.pitch + x;
    s.output = s.image * static_cast<int>(a.out_image) + s.y * static_cast<int>(a.y.out_stride) + x * channels + plane -
               s.image * channels;
    s.columns = min(static_cast<int>(a.x.outputs) - x, kAcross);
    return s;
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
            to += static_cast<int>(a.y.out_stride);
        }
    }
}

/// A block goes from band to band: while it makes one, the samples of the next are on their way, as they lie in memory, one run.
/// Then they are spread to windows with the boundary in place, as in image_tiles_kernel, and outputs leave in one run. A thread has
/// one strip. What is the same in all bands is found once: instructions around the sums were what this waited for (detours.md).
template <int kBlocks, class X>
__global__ void __launch_bounds__(kThreads, kBlocks)
    image_bands_kernel(const __grid_constant__ TileArguments a, const __grid_constant__ Band b) {
    extern __shared__ __align__(128) char shared[];
    const Cut& c = a.cut;
    const int thread = static_cast<int>(threadIdx.x);
    auto* const rows = reinterpret_cast<int*>(shared);
    int* const columns = rows + (c.rows * c.planes + 3) / 4 * 4;
    auto* const taps = reinterpret_cast<X*>(columns + (c.columns + 3) / 4 * 4);
    const int tap_numbers = chunks_of(a.x.mask) * a.y.mask * kChunkPitch;
    X* const window = taps + tap_numbers;
    char* const held = reinterpret_cast<char*>(window + c.rows * c.planes * c.pitch);
    char* const made = held + b.held_bytes;
    const auto bands = static_cast<unsigned>(b.all);
    unsigned number = blockIdx.x;
    BandPlace place = place_of(a, b, number);
    load_band(a, place, held);
    commit_copies();
    for (int i = thread; i < c.columns; i += kThreads) { columns[i] = source_of(a.x, i - a.x.origin); }
    for (int i = thread; i < tap_numbers; i += kThreads) { taps[i] = __ldg(static_cast<const X*>(a.taps) + i); }
    if (b.whole != 0) { find_rows(a, place, rows); }
    const BandStrip strip = strip_of(a, thread);
    const bool has_strip = thread < c.strips_x * c.strips_y * c.planes;
    const auto outputs = static_cast<int>(a.y.outputs);
#pragma unroll 1
    while (true) {
        if (b.whole == 0) { find_rows(a, place, rows); }
        wait_copies<0>();
        __syncthreads();
        with_input<X>(a.input_type, a.input_bytes, [&](auto raw) {
            using Raw = decltype(raw);
            if constexpr (sizeof(Raw) <= 4 || sizeof(X) == 8) {
                if (b.far != 0) {
                    spread_band<true, Raw>(a, place, held, window, rows, columns);
                } else {
                    spread_band<false, Raw>(a, place, held, window, rows, columns);
                }
            }
        });
        __syncthreads();
        const unsigned next = number + gridDim.x;
        const BandPlace next_place = place_of(a, b, next);
        if (next < bands) { load_band(a, next_place, held); }
        commit_copies();
        const int rows_left = outputs - place.y;
        char* const to = static_cast<char*>(a.out) + (place.image * a.out_image + place.y * a.y.out_stride) * a.output_bytes;
        char* const kept = made + past_16(to);
        if (has_strip && strip.image < place.images && strip.y < rows_left) {
            X sum[kDown][kAcross] = {};
            add_mask(a, sum, window + strip.window, taps);
            with_output<X>(a.common.output_type, a.output_bytes, [&](auto raw) {
                keep_strip(a, sum, reinterpret_cast<decltype(raw)*>(kept) + strip.output, rows_left - strip.y, strip.columns);
            });
        }
        __syncthreads();
        store_run(a, to, kept,
                  (place.images - 1) * static_cast<int>(a.out_image) +
                      min(rows_left, c.strips_y * kDown) * static_cast<int>(a.y.out_stride));
        if (next >= bands) { return; }
        number = next;
        place = next_place;
    }
}

}  // namespace tapline::cuda::image_tiles_rung
