// Images and volumes laid out as long signals, and back.
#include "cuda/families/flattened/flattened.hpp"

#include "cuda/families/common/types.hpp"
#include "cuda/launch.hpp"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::flattened {
namespace {

/// A row of a plane: of its signal, or of its outputs.
struct Place {
    std::int64_t plane, z, y;
};
/// Row number `number` of those of so many in y and in z.
__device__ __forceinline__ Place place_of(std::int64_t number, std::int64_t rows_y, std::int64_t rows_z) {
    const std::int64_t of_planes = divide(number, rows_y);
    const std::int64_t plane = divide(of_planes, rows_z);
    return {plane, of_planes - plane * rows_z, number - of_planes * rows_y};
}

/// Where a signal's position along an axis comes from; -1: nowhere, the constant or zero stands there.
__device__ __forceinline__ std::int64_t source_of(const FlatAxis& axis, std::int64_t position) {
    return near_boundary_index(axis.boundary, position - axis.origin, axis.n);
}

/// What a thread does next: element x of a row. A block's threads go along `width` neighbours of one row or, where rows are
/// shorter, along several rows.
struct Walk {
    Place row;
    int stretch, lane;

    /// `unit`: of rows' stretches.
    __device__ __forceinline__ Walk(const Sheet& sheet, std::int64_t unit) {
        const std::int64_t group = divide(unit, sheet.stretches);
        const auto thread = static_cast<int>(threadIdx.x);
        row = place_of((group << sheet.rows_bits) + (thread >> sheet.width_bits), sheet.rows_y, sheet.rows_z);
        stretch = static_cast<int>(unit - group * sheet.stretches);
        lane = thread & ((1 << sheet.width_bits) - 1);
    }
    [[nodiscard]] __device__ __forceinline__ std::int64_t x(const Sheet& sheet) const {
        return (std::int64_t{stretch} << sheet.width_bits) + lane;
    }
    [[nodiscard]] __device__ __forceinline__ bool exists(const Planes& g, const Sheet& sheet) const {
        return row.plane < g.planes && x(sheet) < sheet.row;
    }
    /// Whether it is in another row.
    __device__ __forceinline__ bool next(const Sheet& sheet) {
        if (++stretch < sheet.stretches) { return false; }
        stretch = 0;
        row.y += std::int64_t{1} << sheet.rows_bits;
        while (row.y >= sheet.rows_y) {
            row.y -= sheet.rows_y;
            if (++row.z == sheet.rows_z) {
                row.z = 0;
                ++row.plane;
            }
        }
        return true;
    }
};

constexpr std::int64_t kConstantThere = INT64_MIN, kZeroThere = INT64_MIN + 1;  // no places

/// Where a signal's row comes from: its first element in memory; or what stands there instead of all of it.
struct RowSource {
    std::int64_t first;
    std::int64_t instead;  // 0: nothing

    __device__ __forceinline__ RowSource(const Planes& g, const Place& p) {
        const std::int64_t plane = g.first_plane + p.plane;
        const std::int64_t image = g.channels == 1 ? plane : divide(plane, g.channels);
        const std::int64_t z = source_of(g.z, p.z);
        const std::int64_t y = source_of(g.y, p.y);
        first = image * g.in_batch + (plane - image * g.channels) * g.in_channel + z * g.z.in_stride + y * g.y.in_stride;
        // Where axes differ, the constant stands wherever one of those with it has left the image, unless one with zeros has.
        const bool zero = (z < 0 && g.z.boundary == kZero) || (y < 0 && g.y.boundary == kZero);
        instead = zero ? kZeroThere : z < 0 || y < 0 ? kConstantThere : 0;
    }
    /// Of element x of the row.
    [[nodiscard]] __device__ __forceinline__ std::int64_t of(const Planes& g, std::int64_t x) const {
        const std::int64_t at = source_of(g.x, x);
        if (at >= 0) { return instead != 0 ? instead : first + at * g.x.in_stride; }
        return g.x.boundary == kZero ? kZeroThere : instead != 0 ? instead : kConstantThere;
    }
};

/// Samples of signals, wherever they come from; loads of several go out together.
template <class X>
__device__ __forceinline__ void load_samples(const Planes& g, const std::int64_t (&from)[kOfThread], X (&to)[kOfThread]) {
    const auto load = [&](auto element) {
        using Raw = decltype(element);
        Raw raw[kOfThread];
#pragma unroll
        for (int u = 0; u < kOfThread; ++u) {
            raw[u] = Raw{};
            if (from[u] > kZeroThere) { raw[u] = load_element(static_cast<const Raw*>(g.in) + from[u]); }
        }
        if constexpr (kIsComplexElement<X>) {
#pragma unroll
            for (int u = 0; u < kOfThread; ++u) { to[u] = raw[u]; }
        } else {
            widen_raw(g.input_type, raw, to);
        }
    };
    if constexpr (kIsComplexElement<X>) {
        load(X{});
    } else {
        with_input<X>(g.input_type, g.input_bytes, load);
    }
#pragma unroll
    for (int u = 0; u < kOfThread; ++u) {
        if (from[u] <= kZeroThere) { to[u] = from[u] == kConstantThere ? boundary_constant<X>(g.common) : X{}; }
    }
}
template <class X>
__device__ __noinline__ X load_sample(const Planes& g, const Place& p, std::int64_t x) {
    const std::int64_t from = x < g.row ? RowSource(g, p).of(g, x) : kZeroThere;
    return from <= kZeroThere ? (from == kConstantThere ? boundary_constant<X>(g.common) : X{})
                              : load_any<X>(g.input_type, g.input_bytes, g.in, from);
}

__device__ __forceinline__ std::int64_t rows_of_signals(const Planes& g) {
    return g.planes * (g.z.outputs + g.z.taps - 1) * (g.y.outputs + g.y.taps - 1);
}
__device__ __forceinline__ Place place_in_signals(const Planes& g, std::int64_t number) {
    return place_of(number, g.y.outputs + g.y.taps - 1, g.z.outputs + g.z.taps - 1);
}
/// Elements before row (z, y) of a signal, and of a result, whose rows lie as its signal's do.
__device__ __forceinline__ std::int64_t row_at(const Planes& g, std::int64_t z, std::int64_t y) {
    return (z * (g.y.outputs + g.y.taps - 1) + y) * g.row;
}

template <class X>
__global__ void __launch_bounds__(kThreads, 4)
    lay_out_kernel(const __grid_constant__ Planes g, const __grid_constant__ Sheet sheet) {
    bool all_finite = true;
    for (std::int64_t first = std::int64_t{blockIdx.x} * kUnits; first < sheet.units; first += std::int64_t{gridDim.x} * kUnits) {
        Walk walk(sheet, first);
        RowSource source(g, walk.row);
        std::int64_t row = walk.row.plane * g.signal_pitch + row_at(g, walk.row.z, walk.row.y);
#pragma unroll 1
        for (std::int64_t unit = first; unit < min(first + kUnits, sheet.units); unit += kOfThread) {
            std::int64_t from[kOfThread];
            std::int64_t to[kOfThread];
#pragma unroll
            for (int u = 0; u < kOfThread; ++u) {
                const bool exists = unit + u < sheet.units && walk.exists(g, sheet);
                from[u] = exists ? source.of(g, walk.x(sheet)) : kZeroThere;
                to[u] = exists ? row + walk.x(sheet) : -1;
                if (walk.next(sheet)) {
                    source = RowSource(g, walk.row);
                    row = walk.row.plane * g.signal_pitch + row_at(g, walk.row.z, walk.row.y);
                }
            }
            X sample[kOfThread];
            load_samples(g, from, sample);
#pragma unroll
            for (int u = 0; u < kOfThread; ++u) {
                const bool finite = is_finite(sample[u]);
                all_finite = all_finite && finite;
                if (to[u] >= 0) { static_cast<X*>(g.signals)[to[u]] = finite ? sample[u] : X{}; }
            }
        }
    }
    if (!all_finite) { *g.found = 1; }
}

/// For every sample the position in its row of the next one, itself included, that is not finite, or else the row's length. A warp
/// a row, from its end.
template <class X>
__global__ void __launch_bounds__(kThreads) find_next_kernel(const __grid_constant__ Planes g, const __grid_constant__ Sheet) {
    if (*g.found == 0) { return; }
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (kThreads / 32);
    const std::int64_t all = rows_of_signals(g);
    for (std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32; number < all;
         number += warps) {
        const Place p = place_in_signals(g, number);
        int* const to = g.next + p.plane * g.signal_pitch + row_at(g, p.z, p.y);
        int next = static_cast<int>(g.row);
        for (std::int64_t first = (g.row - 1) / 32 * 32; first >= 0; first -= 32) {
            const unsigned bad = __ballot_sync(0xffffffffu, !is_finite(load_sample<X>(g, p, first + lane)));
            const unsigned from_here = bad >> lane;
            const int own = from_here != 0 ? static_cast<int>(first) + lane + __ffs(static_cast<int>(from_here)) - 1 : next;
            if (first + lane < g.row) { to[first + lane] = own; }
            next = __shfl_sync(0xffffffffu, own, 0);
        }
    }
}

/// Adds to the sum of an output the terms of samples that are not finite.
template <class X, class H>
__device__ __noinline__ X with_other_terms(const Planes& g, const Place& p, std::int64_t x, X sum) {
    const auto* const mask =
        reinterpret_cast<const H*>(static_cast<const char*>(g.masks) + (g.first_plane + p.plane) % g.filters * g.mask_bytes);
    for (int i = 0; i < g.z.taps; ++i) {
        for (int j = 0; j < g.y.taps; ++j) {
            const Place row{p.plane, p.z + i, p.y + j};
            const int* const next = g.next + p.plane * g.signal_pitch + row_at(g, row.z, row.y);
            const H* const taps = mask + (static_cast<std::int64_t>(i) * g.y.taps + j) * g.x.taps;
            for (std::int64_t at = next[x]; at < x + g.x.taps; at = at + 1 < g.row ? next[at + 1] : g.row) {
                multiply_add(sum, load_sample<X>(g, row, at), taps[at - x]);
            }
        }
    }
    return sum;
}

template <class X>
__device__ __forceinline__ X with_other_terms_of_any(const Planes& g, const Place& p, std::int64_t x, X sum) {
    if constexpr (kIsComplexElement<X>) {
        return g.real_taps != 0 ? with_other_terms<X, typename Element<X>::Real>(g, p, x, sum)
                                : with_other_terms<X, X>(g, p, x, sum);
    } else {
        return with_other_terms<X, X>(g, p, x, sum);
    }
}

template <class X>
__global__ void __launch_bounds__(kThreads, 4)
    take_back_kernel(const __grid_constant__ Planes g, const __grid_constant__ Sheet sheet) {
    const bool found = *g.found != 0;
    for (std::int64_t first = std::int64_t{blockIdx.x} * kUnits; first < sheet.units; first += std::int64_t{gridDim.x} * kUnits) {
        Walk walk(sheet, first);
        const auto out_row = [&] {
            const std::int64_t plane = g.first_plane + walk.row.plane;
            const std::int64_t image = g.channels == 1 ? plane : divide(plane, g.channels);
            return image * g.out_batch + (plane - image * g.channels) * g.out_channel + walk.row.z * g.z.out_stride +
                   walk.row.y * g.y.out_stride;
        };
        const auto in_row = [&] { return walk.row.plane * g.result_pitch + row_at(g, walk.row.z, walk.row.y); };
        std::int64_t out = out_row();
        std::int64_t in = in_row();
#pragma unroll 1
        for (std::int64_t unit = first; unit < min(first + kUnits, sheet.units); unit += kOfThread) {
            X sum[kOfThread];
            std::int64_t to[kOfThread];
            bool there[kOfThread];
#pragma unroll
            for (int u = 0; u < kOfThread; ++u) {
                const Place& p = walk.row;
                const std::int64_t x = walk.x(sheet);
                const bool exists = unit + u < sheet.units && walk.exists(g, sheet);
                sum[u] = X{};
                to[u] = 0;
                there[u] = exists;
                if (exists) {
                    sum[u] = static_cast<const X*>(g.results)[in + x];
                    if (found) { sum[u] = with_other_terms_of_any(g, p, x, sum[u]); }
                    to[u] = out + x * g.x.out_stride;
                }
                if (walk.next(sheet)) {
                    out = out_row();
                    in = in_row();
                }
            }
#pragma unroll
            for (int u = 0; u < kOfThread; ++u) { sum[u] = finish(g.common, sum[u]); }
            with_output<X>(g.common.output_type, g.output_bytes, [&](auto element) {
                using Raw = decltype(element);
                Raw raw[kOfThread];
                narrow_to_raw(g.common.output_type, sum, raw);
#pragma unroll
                for (int u = 0; u < kOfThread; ++u) {
                    if (there[u]) { store_element(static_cast<Raw*>(g.out) + to[u], raw[u]); }
                }
            });
        }
    }
}

}  // namespace

Kernels load_kernels(Dtype sum_dtype) {
    const Kernels kernels = with_sample_type(sum_dtype, []<class X>(ElementType<X>) -> Kernels {
        if constexpr (sizeof(X) >= 4) { return {&lay_out_kernel<X>, &find_next_kernel<X>, &take_back_kernel<X>}; }
        return {};
    });
    for (const Kernel kernel : {kernels.lay_out, kernels.find_next, kernels.take_back}) { load_kernel(kernel); }
    return kernels;
}

}  // namespace tapline::cuda::flattened
