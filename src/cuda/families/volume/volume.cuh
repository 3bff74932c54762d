// 11: small masks over volumes, summed directly. A block goes through a column of planes, each of which it loads once.
#pragma once

#include <climits>

#include "cuda/families/volume/volume.hpp"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::volume_rung {

constexpr int kAbsent = INT_MIN;  // no sample: the constant stands there, or zero

/// A block's place: outputs before it, and the volume.
struct Place {
    std::int64_t x, y, z, volume;
};

template <class X>
__device__ __forceinline__ Place place_of_block(const VolumeArguments<X>& a, const Cut& c) {
    Number number{blockIdx.x};
    const std::int64_t x = number.take(a.tiles_x) * c.tile_x;
    const std::int64_t y = number.take(a.tiles_y) * c.tile_y;
    const std::int64_t z = number.take(a.segments) * a.segment_planes;
    return {x, y, z, number.rest};
}

/// Elements from the first volume to another.
__device__ __forceinline__ std::int64_t volume_offset(std::int64_t volume, std::int64_t channels, std::int64_t item_step,
                                                      std::int64_t channel_step) {
    if (channels == 1) { return volume * item_step; }
    const std::int64_t item = divide(volume, channels);
    return item * item_step + (volume - item * channels) * channel_step;
}

/// The sample that stands at `position`, counted from in_first; -1: none, or nobody asked for an output that needs it.
__device__ __forceinline__ std::int64_t source_of(const Side& side, std::int64_t position) {
    if (position < side.in_first || position >= side.in_last) {
        position = near_boundary_index(side.boundary, position, side.n);
        if (position < side.in_first || position >= side.in_last) { return -1; }
    }
    return position - side.in_first;
}

/// Samples of any type as numbers X. raw: their bits.
template <class X, int kCount>
__device__ __forceinline__ void widen_bits(Dtype type, int bytes, const std::uint32_t (&raw)[kCount], X (&wide)[kCount]) {
    const auto as = [&](auto narrow) {
        using Raw = decltype(narrow);
        Raw own[kCount];
#pragma unroll
        for (int i = 0; i < kCount; ++i) { own[i] = static_cast<Raw>(raw[i]); }
        widen_raw(type, own, wide);
    };
    if (bytes == 1) {
        as(std::uint8_t{});
    } else if (bytes == 2) {
        as(std::uint16_t{});
    } else {
        as(std::uint32_t{});
    }
}

/// What was loaded as X, whatever it is: of a type that the caller knows to be X, or as widen_bits() has it.
template <class X, bool kWidens>
__device__ __forceinline__ X sample_at(const VolumeArguments<X>& a, const char* in, std::int64_t element) {
    if constexpr (kWidens) {
        const char* const from = in + element * a.input_bytes;
        std::uint32_t raw[1];
        X wide[1];
        raw[0] = a.input_bytes == 1   ? *reinterpret_cast<const std::uint8_t*>(from)
                 : a.input_bytes == 2 ? *reinterpret_cast<const std::uint16_t*>(from)
                                      : *reinterpret_cast<const std::uint32_t*>(from);
        widen_bits(a.input_type, a.input_bytes, raw, wide);
        return wide[0];
    } else {
        return reinterpret_cast<const X*>(in)[element];
    }
}

/// A thread's outputs of a row, `columns` of them, as elements of the output's type.
template <class X, int kAcross>
__device__ __forceinline__ void store_narrowed(const VolumeArguments<X>& a, const X (&value)[kAcross], std::int64_t index,
                                               int columns) {
    with_raw(a.output_bytes, [&](auto narrow) {
        using Raw = decltype(narrow);
        Raw raw[kAcross];
        narrow_real_to_raw(a.common.output_type, value, raw);
        store_neighbours(static_cast<Raw*>(a.out) + index, raw, a.store_vectors != 0 && columns == kAcross, columns,
                         a.x.out_stride);
    });
}

/// A thread's outputs of one plane by the mask's own taps.
template <class X, int kSide, bool kWidens>
__device__ __noinline__ void make_term_by_term(const VolumeArguments<X>& a, const char* in, const Place& at, int rows, int columns,
                                               std::int64_t to) {
    const auto sample = [&](std::int64_t z, std::int64_t y, std::int64_t x) {
        const std::int64_t from_z = source_of(a.z, a.z.first + z - a.z.origin);
        const std::int64_t from_y = source_of(a.y, y - a.y.origin);
        const std::int64_t from_x = source_of(a.x, x - a.x.origin);
        const bool there = from_z >= 0 && from_y >= 0 && from_x >= 0;
        const std::int64_t from = from_z * a.z.in_stride + from_y * a.y.in_stride + from_x * a.x.in_stride;
        return there ? sample_at<X, kWidens>(a, in, from) : a.absent;
    };
    for (int output = 0; output < rows * columns; ++output) {
        const int r = output / columns;
        const int i = output - r * columns;
        X sum{};
        for (int t = 0; t < a.z.taps * a.y.taps * a.x.taps; ++t) {
            const int dx = t % a.x.taps;
            const int dy = t / a.x.taps % a.y.taps;
            const int dz = t / (a.x.taps * a.y.taps);
            multiply_add(sum, sample(at.z + dz, at.y + r + dy, at.x + i + dx), a.taps[(dz * kSide + dy) * kSide + dx]);
        }
        const std::int64_t index = to + r * a.y.out_stride + i * a.x.out_stride;
        const X value = finish(a.common, sum);
        if constexpr (kWidens) {
            const X own[1] = {value};
            store_narrowed(a, own, index, 1);
        } else if (a.common.converts == 0) {
            static_cast<X*>(a.out)[index] = value;
        } else {
            store_converted(a.common, a.out, index, value);
        }
    }
}

/// 16 bytes of numbers from shared memory.
template <class X>
__device__ __forceinline__ void load_vector(X* to, const X* from) {
    const uint4 vector = *reinterpret_cast<const uint4*>(from);
    memcpy(to, &vector, sizeof vector);
}

/// sum[dz][r][i] += the plane's rows times the mask's plane dz. `window`: the thread's first sample.
template <class X, int kSide, int kDown, int kAcross, int kPitch>
__device__ __forceinline__ void add_plane(X (&sum)[kSide][kDown][kAcross], const X* window, const X* taps) {
    constexpr int kVectors = (kAcross + kSide - 1 + kAcross - 1) / kAcross;
#pragma unroll
    for (int row = 0; row < kDown + kSide - 1; ++row) {
        X held[kVectors * kAcross];
#pragma unroll
        for (int v = 0; v < kVectors; ++v) { load_vector(held + v * kAcross, window + row * kPitch + v * kAcross); }
#pragma unroll
        for (int dz = 0; dz < kSide; ++dz) {
#pragma unroll
            for (int r = 0; r < kDown; ++r) {
                const int dy = row - r;
                if (dy < 0 || dy >= kSide) { continue; }
#pragma unroll
                for (int dx = 0; dx < kSide; ++dx) {
#pragma unroll
                    for (int i = 0; i < kAcross; ++i) {
                        multiply_add(sum[dz][r][i], held[i + dx], taps[(dz * kSide + dy) * kSide + dx]);
                    }
                }
            }
        }
    }
}

/// The same of larger masks, a row of them after the other: all of their products as one piece of code are more instructions than a
/// multiprocessor's caches bring as fast as they are done.
template <class X, int kSide, int kDown, int kAcross, int kPitch>
__device__ __forceinline__ void add_plane_by_rows(X (&sum)[kSide][kDown][kAcross], const X* window, const X* taps) {
    constexpr int kVectors = (kAcross + kSide - 1 + kAcross - 1) / kAcross;
#pragma unroll 1
    for (int dy = 0; dy < kSide; ++dy, window += kPitch, taps += kSide) {
        X held[kDown][kVectors * kAcross];
#pragma unroll
        for (int r = 0; r < kDown; ++r) {
#pragma unroll
            for (int v = 0; v < kVectors; ++v) { load_vector(held[r] + v * kAcross, window + r * kPitch + v * kAcross); }
        }
#pragma unroll
        for (int dz = 0; dz < kSide; ++dz) {
#pragma unroll
            for (int dx = 0; dx < kSide; ++dx) {
                const X tap = taps[dz * kSide * kSide + dx];
#pragma unroll
                for (int r = 0; r < kDown; ++r) {
#pragma unroll
                    for (int i = 0; i < kAcross; ++i) { multiply_add(sum[dz][r][i], held[r][i + dx], tap); }
                }
            }
        }
    }
}

/// A thread's outputs of one plane. in: of the volume; to: of its first output.
template <class X, int kSide, bool kWidens, int kDown, int kAcross>
__device__ __forceinline__ void store_plane(const VolumeArguments<X>& a, const char* in, const Place& at, X (&sum)[kDown][kAcross],
                                            std::int64_t to) {
    const int rows = static_cast<int>(min(a.y.outputs - at.y, std::int64_t{kDown}));
    const int columns = static_cast<int>(min(a.x.outputs - at.x, std::int64_t{kAcross}));
    if (rows <= 0 || columns <= 0) { return; }
    bool all_finite = true;
    std::int64_t index = to;
#pragma unroll
    for (int r = 0; r < kDown; ++r) {
        if (r < rows) {
#pragma unroll
            for (int i = 0; i < kAcross; ++i) {
                all_finite = all_finite && is_finite(sum[r][i]);
                sum[r][i] = finish(a.common, sum[r][i]);
            }
            X* const row = static_cast<X*>(a.out) + index;
            if constexpr (kWidens) {
                store_narrowed(a, sum[r], index, columns);
            } else if (a.store_vectors != 0 && columns == kAcross) {
                uint4 vector;
                memcpy(&vector, sum[r], sizeof vector);
                __stcs(reinterpret_cast<uint4*>(row), vector);
            } else if (a.common.converts == 0) {
#pragma unroll
                for (int i = 0; i < kAcross; ++i) {
                    if (i < columns) { row[i * a.x.out_stride] = sum[r][i]; }
                }
            } else {
#pragma unroll
                for (int i = 0; i < kAcross; ++i) {
                    if (i < columns) { store_converted(a.common, a.out, index + i * a.x.out_stride, sum[r][i]); }
                }
            }
        }
        index += a.y.out_stride;
    }
    if (a.is_filled_up != 0 && !all_finite) { make_term_by_term<X, kSide, kWidens>(a, in, at, rows, columns, to); }
}

/// A block has the same part of each plane of a segment, one after the other: shared memory holds it with its halo, registers the
/// sums of all outputs that it belongs to, those of kSide planes. What lies outside is in place before the first: the same elements
/// of every plane. Samples that are X are copied there asynchronously; others wait in registers while a plane is summed, and are
/// widened then.
template <class X, int kSide, bool kWidens>
__global__ void __launch_bounds__(kThreads, kBlocksHeld) volume_kernel(const __grid_constant__ VolumeArguments<X> a) {
    constexpr Cut c = cut_of(kSide, sizeof(X));
    constexpr int kPlane = c.rows * c.pitch;
    extern __shared__ __align__(128) char shared[];
    X* const planes = reinterpret_cast<X*>(shared);
    const int thread = static_cast<int>(threadIdx.x);
    Place at = place_of_block(a, c);
    const char* const in = static_cast<const char*>(a.in) + volume_offset(at.volume, a.channels, a.in_item, a.in_channel) *
                                                                (kWidens ? a.input_bytes : int{sizeof(X)});
    const int outputs = static_cast<int>(min(a.segment_planes, a.z.outputs - at.z));
    const int last = outputs + kSide - 1;  // planes of the window
    const std::int64_t first_z = a.z.first + at.z - a.z.origin;

    int from[c.of_thread];  // where an element comes from, counted from its plane's first
#pragma unroll
    for (int u = 0; u < c.of_thread; ++u) {
        const int element = thread + u * kThreads;
        const int row = element / c.pitch;
        const int column = element - row * c.pitch;
        const std::int64_t y = source_of(a.y, at.y - a.y.origin + row);
        const std::int64_t x = source_of(a.x, at.x - a.x.origin + column);
        const bool there = y >= 0 && x >= 0 && row < c.rows && column < c.columns;
        from[u] = there ? static_cast<int>(y * a.y.in_stride + x * a.x.in_stride) : kAbsent;
    }
    for (int i = thread; i < kStages * kPlane; i += kThreads) { planes[i] = a.absent; }
    __syncthreads();
    const auto load = [&](int plane) {
        if (plane < last) {
            const std::int64_t z = source_of(a.z, first_z + plane);
            X* const to = planes + plane % kStages * kPlane + thread;
            const X* const base = reinterpret_cast<const X*>(in) + z * a.z.in_stride;
#pragma unroll
            for (int u = 0; u < c.of_thread; ++u) {
                X* const own = to + u * kThreads;
                if (from[u] == kAbsent) { continue; }
                if (z < 0) {
                    *own = a.absent;
                } else if constexpr (sizeof(X) == 4) {
                    copy_4_async(own, base + from[u]);
                } else {
                    copy_8_async(own, base + from[u]);
                }
            }
        }
        commit_copies();
    };
    std::uint32_t raw[kWidens ? c.of_thread : 1];
    const auto fetch = [&](int plane) {
        const std::int64_t z = plane < last ? source_of(a.z, first_z + plane) : -1;
        const auto as = [&](auto narrow) {
            const auto* const base = reinterpret_cast<const decltype(narrow)*>(in) + z * a.z.in_stride;
#pragma unroll
            for (int u = 0; u < c.of_thread; ++u) {
                if (from[u] != kAbsent && z >= 0) { raw[kWidens ? u : 0] = base[from[u]]; }
            }
        };
        if (a.input_bytes == 1) {
            as(std::uint8_t{});
        } else if (a.input_bytes == 2) {
            as(std::uint16_t{});
        } else {
            as(std::uint32_t{});
        }
    };
    const auto put = [&](int plane) {
        if (plane >= last) { return; }
        const bool there = source_of(a.z, first_z + plane) >= 0;
        X wide[kWidens ? c.of_thread : 1];
        widen_bits(a.input_type, a.input_bytes, raw, wide);
        X* const to = planes + plane % kStages * kPlane + thread;
#pragma unroll
        for (int u = 0; u < c.of_thread; ++u) {
            if (from[u] != kAbsent) { to[u * kThreads] = there ? wide[kWidens ? u : 0] : a.absent; }
        }
    };
    if constexpr (kWidens) {
        for (int plane = 0; plane < kAhead; ++plane) {
            fetch(plane);
            put(plane);
        }
    } else {
        for (int plane = 0; plane < kStages - 1; ++plane) { load(plane); }
    }

    const int x = thread % kThreadsAcross * c.across;
    const int y = thread / kThreadsAcross * c.down;
    at.x += x;
    at.y += y;
    std::int64_t to = volume_offset(at.volume, a.channels, a.out_item, a.out_channel) + at.z * a.z.out_stride +
                      at.y * a.y.out_stride + at.x * a.x.out_stride;
    X sum[kSide][c.down][c.across] = {};  // of outputs of the plane before the newest by 0, 1, ..
#pragma unroll 1
    for (int plane = 0; plane < last; ++plane) {
        if constexpr (kWidens) {
            __syncthreads();
            fetch(plane + kAhead);
        } else {
            wait_copies<kStages - 2>();
            __syncthreads();
            load(plane + kStages - 1);
        }
        const X* const window = planes + plane % kStages * kPlane + y * c.pitch + x;
        if constexpr (kSide * kSide * kSide <= kUngrouped) {
            add_plane<X, kSide, c.down, c.across, c.pitch>(sum, window, a.taps);
        } else {
            X own[kSide][c.down][c.across] = {};
            if constexpr (kSide * kSide * kSide * c.down * c.across <= kUnrolled) {
                add_plane<X, kSide, c.down, c.across, c.pitch>(own, window, a.taps);
            } else {
                add_plane_by_rows<X, kSide, c.down, c.across, c.pitch>(own, window, a.taps);
            }
#pragma unroll
            for (int i = 0; i < kSide * c.down * c.across; ++i) { (&sum[0][0][0])[i] += (&own[0][0][0])[i]; }
        }
        if constexpr (kWidens) { put(plane + kAhead); }
        if (plane >= kSide - 1) {
            store_plane<X, kSide, kWidens>(a, in, at, sum[kSide - 1], to);
            to += a.z.out_stride;
            ++at.z;
        }
#pragma unroll
        for (int i = kSide - 1; i >= 0; --i) {
#pragma unroll
            for (int r = 0; r < c.down; ++r) {
#pragma unroll
                for (int k = 0; k < c.across; ++k) { sum[i][r][k] = i == 0 ? X{} : sum[i - (i != 0)][r][k]; }
            }
        }
    }
}

}  // namespace tapline::cuda::volume_rung
