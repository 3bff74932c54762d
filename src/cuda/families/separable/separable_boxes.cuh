// 05, means: a few additions an output, however large the mask is.
#pragma once

#include "cuda/families/separable/separable_boxes.hpp"
#include "cuda/primitives/image/image_tile.cuh"

namespace tapline::cuda::image_boxes_rung {

/// x[i] = the sum of x[i], x[i + 1], ..
__device__ __forceinline__ void add_from_the_end(float (&x)[kRun]) {
#pragma unroll
    for (int i = kRun - 2; i >= 0; --i) { x[i] += x[i + 1]; }
}

/// A column of the window: where its samples come from.
struct Column {
    const float* from;  // row in_first of the piece
    float absent;
    bool is_there;

    __device__ __forceinline__ Column(const ImageArguments& a, const float* in, std::int64_t element, bool is_needed) {
        const std::int64_t source = is_needed ? source_element(a, element) : -1;
        is_there = source >= 0;
        from = in + (is_there ? source : 0);
        absent = is_needed ? absent_pixel<float>(a) : 0.0F;
    }
    /// Rows [row, row + kRun) of the image. At its edges each lane finds out where one of them is. By all of a warp.
    __device__ __forceinline__ void load(float (&x)[kRun], const ImageArguments& a, std::int64_t row) const {
        if (row >= a.in_first && row + kRun <= a.in_last) {
            const float* at = from + (row - a.in_first) * a.in_row;
#pragma unroll
            for (int i = 0; i < kRun; ++i) {
                x[i] = is_there ? __ldg(at) : absent;
                at += a.in_row;
            }
        } else {
            const std::int64_t own = source_of(a, row + static_cast<int>(threadIdx.x) % kRun);
#pragma unroll
            for (int i = 0; i < kRun; ++i) {
                const std::int64_t source = __shfl_sync(0xffffffffU, own, i);
                x[i] = is_there && source >= 0 ? __ldg(from + source) : absent;
            }
        }
    }

private:
    /// Elements from in_first to row y, -1: it is absent. As source_row(), but without a division near the image: a block at an
    /// edge would wait for it.
    static __device__ __forceinline__ std::int64_t source_of(const ImageArguments& a, std::int64_t y) {
        if (y < a.in_first || y >= a.in_last) { y = near_boundary_index(a.common.boundary, y, a.height); }
        return y >= a.in_first && y < a.in_last ? (y - a.in_first) * a.in_row : -1;
    }
};

/// What lies between the two ends of windows down a column, and how it changes from step to step.
struct Between {
    float* totals;  // of whole runs, `step` apart: a ring
    int runs, step, next;
    float head;  // of the run that is not whole

    [[nodiscard]] __device__ __forceinline__ float sum() const {
        float all = 0;
        int at = next;
#pragma unroll 4
        for (int i = 0; i < runs; ++i) {
            all += totals[at * step];
            at = at + 1 == runs ? 0 : at + 1;
        }
        return all + head;
    }
    /// The run whose head it had is whole with `tail`; `new_head` is that of the one after.
    __device__ __forceinline__ void move_on(float tail, float new_head) {
        if (runs > 0) {
            totals[next * step] = head + tail;
            next = next + 1 == runs ? 0 : next + 1;
        }
        head = new_head;
    }
};

/// Outputs [0, rows) of a column of kRun rows in shared memory, the first at row y of the tile. A sum of what is infinite or NaN is
/// done term by term: it may be one that only overflowed.
__device__ __forceinline__ void store_column(const ImageArguments& a, const ImageTile& tile, const float* in, const float* sums,
                                             int pitch, int y, int rows) {
    const auto column = static_cast<int>(threadIdx.x);
    const std::int64_t index = tile.image * a.out_image + (tile.y + y) * a.out_row + tile.e + column;
    bool finite = true;
    if (rows == kRun && a.common.plain_store != 0 && a.common.converts == 0) {
        float* to = static_cast<float*>(a.out) + index;
#pragma unroll
        for (int r = 0; r < kRun; ++r) {
            const float sum = sums[r * pitch + column];
            finite = finite && fabsf(sum) < INFINITY;
            __stcs(to, sum);
            to += a.out_row;
        }
    } else {
#pragma unroll 1
        for (int r = 0; r < rows; ++r) {
            const float sum = sums[r * pitch + column];
            finite = finite && fabsf(sum) < INFINITY;
            store_pixel<float>(a, a.out, index + r * a.out_row, sum);
        }
    }
    if (finite) { return; }
#pragma unroll 1
    for (int r = 0; r < rows; ++r) {
        if (fabsf(sums[r * pitch + column]) < INFINITY) { continue; }
        const float exact = sum_term_by_term(a, in, static_cast<const float*>(a.taps), a.first + tile.y + y + r, tile.e + column);
        store_pixel<float>(a, a.out, index + r * a.out_row, exact);
    }
}

/// A step of the march: kRun rows of sums down columns, a thread a column, pass through shared memory and become kRun outputs of a
/// row, of a thread each, which leave by columns again; meanwhile the next step's samples come. One block with those in registers
/// is faster than two without: 4096 x 4096, 101 x 101 112 us instead of 129 (H100). Nothing is ever subtracted: a window is the end
/// of one run, whole runs, the head of one and the beginning of what follows, so that errors stay those of a few additions and a
/// NaN stays in its windows.
template <int kThreads>
__global__ void __launch_bounds__(kThreads, 1)
    march_boxes(const __grid_constant__ ImageArguments a, const __grid_constant__ Boxes g) {
    extern __shared__ __align__(128) char shared[];
    const auto threads = static_cast<int>(blockDim.x);
    const auto thread = static_cast<int>(threadIdx.x);
    auto* const sums = reinterpret_cast<float*>(shared);  // (kRun, pitch)
    float* const outputs_of_step = sums + kRun * g.pitch;
    float* const totals = outputs_of_step + kRun * g.pitch;  // of runs along rows: (runs, kRun rows)
    float* const heads = totals + threads;
    const ImageTile tile = tile_of_block(a, g.segment_rows, g.tile_columns);
    const float* const in = static_cast<const float*>(a.in) + tile.image * a.in_image;
    const int outputs = static_cast<int>(min(static_cast<std::int64_t>(g.segment_rows), a.rows - tile.y));
    const bool stores = thread < min(static_cast<std::int64_t>(g.tile_columns), a.out_elements - tile.e);
    const Column column(a, in, tile.e - a.origin_x + thread, thread < g.tile_columns + a.mask_width - 1);
    float* const of_runs = heads + threads;
    Between between{of_runs + thread, g.down.runs, threads, 0, 0};
    const std::int64_t first_row = a.first + tile.y - a.origin_y;
    const int row = thread % kRun;
    const int run = thread / kRun;
    const float* const own = sums + row * g.pitch + kRun * run;
    float* const own_outputs = outputs_of_step + row * g.pitch + kRun * run;
    const bool makes = kRun * run < g.tile_columns;

    // From one step to the next windows take these rows in: the end of one run and the head of the next.
    const auto take_in = [&](const float(&x)[kRun], const auto& visit) {
        float all = 0;
        float tail = 0;
        float head = 0;
#pragma unroll
        for (int i = 0; i < kRun; ++i) {
            visit(i, all);
            all += x[i];
            tail = i < kRun - g.down.rest ? all : tail;
            head += i < kRun - g.down.rest ? 0.0F : x[i];
        }
        between.move_on(tail, head);
    };
    float leaving[kRun];
    float entering[kRun];
    // What windows have in common before the first step; the next rows come meanwhile.
    const auto load_entering = [&](float(&x)[kRun], int y) { column.load(x, a, first_row + y + a.mask_height); };
    int begin = -kRun * (g.down.runs + 1);
    load_entering(entering, begin);
#pragma unroll 1
    while (true) {
        if (begin + kRun < 0) { load_entering(leaving, begin + kRun); }
        take_in(entering, [](int, float) {});
        begin += kRun;
        if (begin == 0) { break; }
        if (begin + kRun < 0) { load_entering(entering, begin + kRun); }
        take_in(leaving, [](int, float) {});
        begin += kRun;
        if (begin == 0) { break; }
    }
    const auto load = [&](int y) {
        column.load(leaving, a, first_row + y);
        load_entering(entering, y);
    };
    load(0);
#pragma unroll 1
    for (int y = 0; y < outputs; y += kRun) {
        {
            add_from_the_end(leaving);
            const float middle = between.sum();
            take_in(entering, [&](int i, float before) { sums[i * g.pitch + thread] = leaving[i] + middle + before; });
        }
        __syncthreads();
        if (y + kRun < outputs) { load(y + kRun); }
        float x[kRun];
        float head = 0;
#pragma unroll
        for (int i = 0; i < kRun; ++i) {
            x[i] = own[i];
            head += i < g.along.rest ? x[i] : 0.0F;
        }
        add_from_the_end(x);
        totals[run * kRun + row] = x[0];
        heads[run * kRun + row] = head;
        __syncthreads();
        if (makes) {
            float middle = 0;
#pragma unroll 4
            for (int i = 1; i <= g.along.runs; ++i) { middle += totals[(run + i) * kRun + row]; }
            middle += heads[(run + g.along.runs + 1) * kRun + row];
            const float* const entering = own + a.mask_width;
            float before = 0;
#pragma unroll
            for (int i = 0; i < kRun; ++i) {
                own_outputs[i] = (x[i] + middle + before) * g.tap;
                if (i + 1 < kRun) { before += entering[i]; }
            }
        }
        __syncthreads();
        if (stores) { store_column(a, tile, in, outputs_of_step, g.pitch, y, min(outputs - y, kRun)); }
    }
}

}  // namespace tapline::cuda::image_boxes_rung
