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
    std::int64_t rest = blockIdx.x;
    const auto take = [&](std::int64_t length) {
        const std::int64_t before = rest;
        rest = divide(rest, length);
        return before - rest * length;
    };
    const std::int64_t x = take(a.tiles_x) * c.tile_x;
    const std::int64_t y = take(a.tiles_y) * c.tile_y;
    const std::int64_t z = take(a.segments) * a.segment_planes;
    return {x, y, z, rest};
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

/// A thread's outputs of one plane by the mask's own taps.
template <class X, int kSide>
__device__ __noinline__ void make_term_by_term(const VolumeArguments<X>& a, const X* in, const Place& at, int rows, int columns,
                                               std::int64_t to) {
    const auto sample = [&](std::int64_t z, std::int64_t y, std::int64_t x) {
        const std::int64_t from_z = source_of(a.z, a.z.first + z - a.z.origin);
        const std::int64_t from_y = source_of(a.y, y - a.y.origin);
        const std::int64_t from_x = source_of(a.x, x - a.x.origin);
        const bool there = from_z >= 0 && from_y >= 0 && from_x >= 0;
        return there ? in[from_z * a.z.in_stride + from_y * a.y.in_stride + from_x * a.x.in_stride] : a.absent;
    };
    for (int output = 0; output < rows * columns; ++output) {
        const int r = output / columns;
        const int i = output - r * columns;
        X sum{};
        for (int t = 0; t < a.z.taps * a.y.taps * a.x.taps; ++t) {
            const int dx = t % a.x.taps;
            const int dy = t / a.x.taps % a.y.taps;
            const int dz = t / (a.x.taps * a.y.taps);
            sum = fma(sample(at.z + dz, at.y + r + dy, at.x + i + dx), a.taps[(dz * kSide + dy) * kSide + dx], sum);
        }
        const std::int64_t index = to + r * a.y.out_stride + i * a.x.out_stride;
        const X value = finish(a.common, sum);
        if (a.common.converts == 0) {
            static_cast<X*>(a.out)[index] = value;
        } else {
            store_converted(a.common, a.out, index, value);
        }
    }
}

/// sum[dz][r][i] += the plane's rows times the mask's plane dz. `window`: the thread's first sample.
template <class X, int kSide, int kDown, int kAcross, int kPitch>
__device__ __forceinline__ void add_plane(X (&sum)[kSide][kDown][kAcross], const X* window, const X* taps) {
    constexpr int kVectors = (kAcross + kSide - 1 + kAcross - 1) / kAcross;
#pragma unroll
    for (int row = 0; row < kDown + kSide - 1; ++row) {
        X held[kVectors * kAcross];
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
            *reinterpret_cast<uint4*>(held + v * kAcross) = *reinterpret_cast<const uint4*>(window + row * kPitch + v * kAcross);
        }
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
                        sum[dz][r][i] = fma(held[i + dx], taps[(dz * kSide + dy) * kSide + dx], sum[dz][r][i]);
                    }
                }
            }
        }
    }
}

/// A thread's outputs of one plane. in: of the volume; to: of its first output.
template <class X, int kSide, int kDown, int kAcross>
__device__ __forceinline__ void store_plane(const VolumeArguments<X>& a, const X* in, const Place& at, X (&sum)[kDown][kAcross],
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
            if (a.store_vectors != 0 && columns == kAcross) {
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
    if (a.is_filled_up != 0 && !all_finite) { make_term_by_term<X, kSide>(a, in, at, rows, columns, to); }
}

/// A block has the same part of each plane of a segment, one after the other: shared memory holds it with its halo, registers the
/// sums of all outputs that it belongs to, those of kSide planes. What lies outside is in place before the first: the same elements
/// of every plane.
template <class X, int kSide>
__global__ void __launch_bounds__(kThreads, kBlocksHeld) volume_kernel(const __grid_constant__ VolumeArguments<X> a) {
    constexpr Cut c = cut_of(kSide, sizeof(X));
    constexpr int kPlane = c.rows * c.pitch;
    extern __shared__ __align__(128) char shared[];
    X* const planes = reinterpret_cast<X*>(shared);
    const int thread = static_cast<int>(threadIdx.x);
    Place at = place_of_block(a, c);
    const auto* const in = static_cast<const X*>(a.in) + volume_offset(at.volume, a.channels, a.in_item, a.in_channel);
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
            const X* const base = in + z * a.z.in_stride;
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
    for (int plane = 0; plane < kStages - 1; ++plane) { load(plane); }

    const int x = thread % kThreadsAcross * c.across;
    const int y = thread / kThreadsAcross * c.down;
    at.x += x;
    at.y += y;
    std::int64_t to = volume_offset(at.volume, a.channels, a.out_item, a.out_channel) + at.z * a.z.out_stride +
                      at.y * a.y.out_stride + at.x * a.x.out_stride;
    X sum[kSide][c.down][c.across] = {};  // of outputs of the plane before the newest by 0, 1, ..
#pragma unroll 1
    for (int plane = 0; plane < last; ++plane) {
        wait_copies<kStages - 2>();
        __syncthreads();
        load(plane + kStages - 1);
        const X* const window = planes + plane % kStages * kPlane + y * c.pitch + x;
        if constexpr (kSide * kSide * kSide <= kUngrouped) {
            add_plane<X, kSide, c.down, c.across, c.pitch>(sum, window, a.taps);
        } else {
            X own[kSide][c.down][c.across] = {};
            add_plane<X, kSide, c.down, c.across, c.pitch>(own, window, a.taps);
#pragma unroll
            for (int i = 0; i < kSide * c.down * c.across; ++i) { (&sum[0][0][0])[i] += (&own[0][0][0])[i]; }
        }
        if (plane >= kSide - 1) {
            store_plane<X, kSide>(a, in, at, sum[kSide - 1], to);
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
