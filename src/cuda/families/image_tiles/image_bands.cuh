// 10, many small images: blocks that stay take whole images, some at a time, while the next ones are on their way.
#pragma once

#include "cuda/families/image_tiles/image_tiles.cuh"

namespace tapline::cuda::image_tiles_rung {

/// What a block finds out once. Positions are in elements from a band's first plane; `to` in floats from a stage.
struct __align__(16) BandStrip {
    int window, out;             // of its first output
    int plane;                   // of the band
    std::int16_t rows, columns;  // outputs that exist
};
struct __align__(8) BandCopy {
    int from, to;
};
struct BandMemory {
    BandStrip* strips;
    BandCopy* rows;   // of all planes
    BandCopy* edges;  // of one plane; kAbsent: what stands there stays
    float* taps;
    float* stages;

    __device__ __forceinline__ BandMemory(const TileArguments& a, const Bands& b, char* shared) {
        const BandBytes bytes = band_bytes_of(a.cut, b, a.y.n, a.x.mask, a.y.mask);
        strips = reinterpret_cast<BandStrip*>(shared);
        rows = reinterpret_cast<BandCopy*>(shared + bytes.strips);
        edges = reinterpret_cast<BandCopy*>(shared + bytes.strips + bytes.rows);
        taps = reinterpret_cast<float*>(shared + bytes.strips + bytes.rows + bytes.edges);
        stages = reinterpret_cast<float*>(shared + bytes.strips + bytes.rows + bytes.edges + bytes.taps);
    }
};

/// Floats from a plane's window to a row of it.
__device__ __forceinline__ int row_of_window(const Cut& c, int row) { return row * c.pitch + row / kDown * c.skew; }

/// The i-th element of a window that is none of the image's: rows above, rows below, then what lies beside rows.
__device__ __forceinline__ BandCopy edge_of(const TileArguments& a, int i) {
    const Cut& c = a.cut;
    const int above = static_cast<int>(a.y.origin);
    const int left = static_cast<int>(a.x.origin);
    const int height = static_cast<int>(a.y.n);
    const int width = static_cast<int>(a.x.n);
    int row = i / c.columns;
    int column = i - row * c.columns;
    if (row >= above) { row += height; }
    if (row >= c.rows) {
        i -= (c.rows - height) * c.columns;
        const int beside = c.columns - width;
        row = i / beside;
        column = i - row * beside;
        row += above;
        if (column >= left) { column += width; }
    }
    const int y = source_of(a.y, row - a.y.origin);
    const int x = source_of(a.x, column - a.x.origin);
    return {y == kAbsent || x == kAbsent ? kAbsent : y + x, row_of_window(c, row) + column};
}

__device__ __forceinline__ void find_band(const TileArguments& a, const Bands& b, const BandMemory& m) {
    const Cut& c = a.cut;
    const int thread = static_cast<int>(threadIdx.x);
    for (int i = thread; i < c.strips_x * c.strips_y * c.planes; i += kThreads) {
        const int line = i / c.strips_x;
        const int plane = line / c.strips_y;
        const int x = (i - line * c.strips_x) * kAcross;
        const int y = (line - plane * c.strips_y) * kDown;
        m.strips[i] = {
            plane * b.plane_pitch + row_of_window(c, y) + x,
            static_cast<int>(plane_offset(a, plane, a.out_image, a.out_channel) + y * a.y.out_stride + x * a.x.out_stride), plane,
            static_cast<std::int16_t>(min(a.y.outputs - y, std::int64_t{kDown})),
            static_cast<std::int16_t>(min(a.x.outputs - x, std::int64_t{kAcross}))};
    }
    const int height = static_cast<int>(a.y.n);
    for (int i = thread; i < c.planes * height; i += kThreads) {
        const int plane = i / height;
        const int y = i - plane * height;
        m.rows[i] = {static_cast<int>(plane_offset(a, plane, a.in_image, a.in_channel) + y * a.y.in_stride),
                     plane * b.plane_pitch + row_of_window(c, y + static_cast<int>(a.y.origin)) + static_cast<int>(a.x.origin)};
    }
    for (int i = thread; i < b.edges; i += kThreads) { m.edges[i] = edge_of(a, i); }
    for (int i = thread; i < 2 * b.stage; i += kThreads) { m.stages[i] = static_cast<float>(a.absent); }
    for (int i = thread; i < chunks_of(a.x.mask) * a.y.mask * kChunkPitch; i += kThreads) {
        m.taps[i] = __ldg(static_cast<const float*>(a.taps) + i);
    }
}

/// copy(where to, elements from the band's first to the sample) for what changes with the images beside them.
template <class Copy>
__device__ __forceinline__ void for_edges(const TileArguments& a, const Bands& b, const BandMemory& m, int planes, float* stage,
                                          const Copy& copy) {
    if (b.edges == 0) { return; }
    for (int plane = 0; plane < planes; ++plane) {
        const std::int64_t from = plane_offset(a, plane, a.in_image, a.in_channel);
#pragma unroll 2
        for (int i = static_cast<int>(threadIdx.x); i < b.edges; i += kThreads) {
            const BandCopy edge = m.edges[i];
            if (edge.from != kAbsent) { copy(stage + plane * b.plane_pitch + edge.to, from + edge.from); }
        }
    }
}

/// Floats come as they lie in memory, those of edges one by one.
__device__ __forceinline__ void load_band(const TileArguments& a, const Bands& b, const BandMemory& m, std::int64_t band,
                                          float* stage) {
    const Cut& c = a.cut;
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t first = band * c.planes;
    const int planes = static_cast<int>(min(a.planes - first, std::int64_t{c.planes}));
    const float* const in = static_cast<const float*>(a.in) + plane_offset(a, first, a.in_image, a.in_channel);
    const int height = static_cast<int>(a.y.n);
    const int begin = thread / b.across;
    const int column = (thread - begin * b.across) * b.each;
    const auto copy_rows = [&](auto copy) {
        if (begin >= b.down) { return; }
        const float* const from = in + column * a.x.in_stride;
        float* const to = stage + column;
#pragma unroll 4
        for (int r = begin; r < planes * height; r += b.down) {
            const BandCopy row = m.rows[r];
            copy(to + row.to, from + row.from);
        }
    };
    if (b.each == 4) {
        copy_rows([](float* to, const float* from) { copy_16_async(to, from); });
    } else if (b.each == 2) {
        copy_rows([](float* to, const float* from) { copy_8_async(to, from); });
    } else {
        copy_rows([](float* to, const float* from) { copy_4_async(to, from); });
    }
    for_edges(a, b, m, planes, stage, [&](float* to, std::int64_t from) { copy_4_async(to, in + from); });
}

/// Pixels of 8 and 16 bits pass through registers, kAcross neighbours at a time: loaded before a band is summed, and put down as
/// floats when it is.
template <class Raw>
struct HeldPixels {
    using Vector = typename RawOf<kAcross* static_cast<int>(sizeof(Raw))>::Type;
    Vector vectors[kMostHeld];

    /// This thread's pixels of a band: `column` of rows begin + i * Bands::down.
    struct Own {
        int begin, column, rows;

        __device__ __forceinline__ Own(const TileArguments& a, const Bands& b, std::int64_t band)
            : begin(static_cast<int>(threadIdx.x) / b.across),
              column((static_cast<int>(threadIdx.x) - begin * b.across) * kAcross),
              rows(begin < b.down ? planes_of(a, band) * static_cast<int>(a.y.n) : 0) {}
    };

    __device__ __forceinline__ void load(const TileArguments& a, const Bands& b, const BandMemory& m, std::int64_t band) {
        const Raw* const in = first_of(a, band);
        const Own own(a, b, band);
#pragma unroll
        for (int i = 0; i < kMostHeld; ++i) {
            const int r = own.begin + i * b.down;
            if (r < own.rows) { vectors[i] = __ldg(reinterpret_cast<const Vector*>(in + m.rows[r].from + own.column)); }
        }
    }
    __device__ __forceinline__ void put(const TileArguments& a, const Bands& b, const BandMemory& m, std::int64_t band,
                                        float* stage) const {
        const Own own(a, b, band);
#pragma unroll
        for (int i = 0; i < kMostHeld; ++i) {
            const int r = own.begin + i * b.down;
            if (r >= own.rows) { break; }
            Raw raw[kAcross];
            float wide[kAcross];
            memcpy(raw, &vectors[i], sizeof raw);
            widen_raw(a.input_type, raw, wide);
            put_wide(stage + m.rows[r].to + own.column, wide, b.each);
        }
        const Raw* const in = first_of(a, band);
        for_edges(a, b, m, planes_of(a, band), stage, [&](float* to, std::int64_t from) {
            const Raw raw[1] = {__ldg(in + from)};
            float wide[1];
            widen_raw(a.input_type, raw, wide);
            *to = wide[0];
        });
    }

private:
    static __device__ __forceinline__ const Raw* first_of(const TileArguments& a, std::int64_t band) {
        return static_cast<const Raw*>(a.in) + plane_offset(a, band * a.cut.planes, a.in_image, a.in_channel);
    }
    static __device__ __forceinline__ int planes_of(const TileArguments& a, std::int64_t band) {
        return static_cast<int>(min(a.planes - band * a.cut.planes, std::int64_t{a.cut.planes}));
    }
    static __device__ __forceinline__ void put_wide(float* to, const float (&from)[kAcross], int each) {
        if (each == 4) {
            *reinterpret_cast<float4*>(to) = float4{from[0], from[1], from[2], from[3]};
        } else if (each == 2) {
            reinterpret_cast<float2*>(to)[0] = float2{from[0], from[1]};
            reinterpret_cast<float2*>(to)[1] = float2{from[2], from[3]};
        } else {
#pragma unroll
            for (int i = 0; i < kAcross; ++i) { to[i] = from[i]; }
        }
    }
};

/// As add_mask(), in its order, of kMask x kMask taps in the kernel's parameters, which are operands of the products themselves.
template <int kMask>
__device__ __forceinline__ void add_square(const TileArguments& a, float (&sum)[kDown][kAcross], const float* window,
                                           const float* taps) {
    constexpr int kChunks = chunks_of(kMask);
    for_turns<0, kChunks>([&](auto chunk) {
        constexpr int kFirst = kChunk * decltype(chunk)::value;
        constexpr int kTaps = decltype(chunk)::value + 1 < kChunks ? kChunk : kMask - kFirst;
        const float* row = window + kFirst;
#pragma unroll
        for (int i = 0; i < kDown + kMask - 1; ++i) {
            if (i != 0) { row += a.cut.pitch + (i % kDown == 0 ? a.cut.skew : 0); }
            float held[2 * kAcross];
            load_taps(held, row);
#pragma unroll
            for (int r = 0; r < kDown; ++r) {
                const int m = i - r;
                if (m < 0 || m >= kMask) { continue; }
#pragma unroll
                for (int t = 0; t < kTaps; ++t) {
#pragma unroll
                    for (int k = 0; k < kAcross; ++k) { multiply_add(sum[r][k], held[k + t], taps[m * kMask + kFirst + t]); }
                }
            }
        }
    });
}

/// Outputs from `to` on. Of floats nothing is asked for each of them.
__device__ __forceinline__ void store_strip_of_any(const TileArguments& a, float (&sum)[kDown][kAcross], std::int64_t to,
                                                   const BandStrip& strip) {
    finish_strip(a, sum);
    if (a.common.output_type == kF32 && a.cut.store_vectors != 0 && strip.rows == kDown && strip.columns == kAcross) {
        float* out = static_cast<float*>(a.out) + to;
#pragma unroll
        for (int r = 0; r < kDown; ++r) {
            __stcs(reinterpret_cast<float4*>(out), float4{sum[r][0], sum[r][1], sum[r][2], sum[r][3]});
            out += a.y.out_stride;
        }
        return;
    }
    with_raw(a.output_bytes, [&](auto raw) {
        using Raw = decltype(raw);
        store_strip(a, sum, static_cast<Raw*>(a.out) + to, strip.rows, strip.columns);
    });
}

/// A band's outputs, from its windows in a stage.
template <int kMask>
__device__ __forceinline__ void sum_band(const TileArguments& a, const Bands& b, const BandMemory& m, std::int64_t band,
                                         const float* stage) {
    const Cut& c = a.cut;
    const std::int64_t first = band * c.planes;
    const std::int64_t out = plane_offset(a, first, a.out_image, a.out_channel);
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < c.strips_x * c.strips_y * c.planes; i += kThreads) {
        const BandStrip strip = m.strips[i];
        if (first + strip.plane >= a.planes) { break; }
        float sum[kDown][kAcross] = {};
        if constexpr (kMask == 0) {
            add_mask(a, sum, stage + strip.window, m.taps);
        } else {
            add_square<kMask>(a, sum, stage + strip.window, b.taps);
        }
        store_strip_of_any(a, sum, out + strip.out, strip);
    }
}

/// kMask: taps of each side, in the parameters; 0: any. A band's pixels lie in one of two stages, where what stands outside the
/// images was put once, or comes along. Raw: float, or integers of the pixels' size. kBlocks: of a multiprocessor.
template <int kBlocks, int kMask, class Raw>
__global__ void __launch_bounds__(kThreads, kBlocks)
    image_bands_kernel(const __grid_constant__ TileArguments a, const __grid_constant__ Bands b) {
    extern __shared__ __align__(128) char shared[];
    const std::int64_t bands = a.cut.groups;
    const BandMemory m(a, b, shared);
    find_band(a, b, m);
    __syncthreads();
    float* stage = m.stages;
    float* other = m.stages + b.stage;
    std::int64_t band = blockIdx.x;
    const auto turn = [&] {
        float* const next = other;
        other = stage;
        stage = next;
        band += gridDim.x;
    };
    if (band >= bands) { return; }
    if constexpr (std::is_same_v<Raw, float>) {
        load_band(a, b, m, band, stage);
        commit_copies();
#pragma unroll 1
        for (; band < bands; turn()) {
            if (band + gridDim.x < bands) { load_band(a, b, m, band + gridDim.x, other); }
            commit_copies();
            wait_copies<1>();
            __syncthreads();
            sum_band<kMask>(a, b, m, band, stage);
            __syncthreads();
        }
    } else {
        HeldPixels<Raw> held;
        held.load(a, b, m, band);
        held.put(a, b, m, band, stage);
        __syncthreads();
#pragma unroll 1
        for (; band < bands; turn()) {
            const std::int64_t next = band + gridDim.x;
            if (next < bands) { held.load(a, b, m, next); }
            sum_band<kMask>(a, b, m, band, stage);
            if (next < bands) { held.put(a, b, m, next, other); }
            __syncthreads();
        }
    }
}

}  // namespace tapline::cuda::image_tiles_rung
