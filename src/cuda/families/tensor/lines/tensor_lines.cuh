// 34: rows in any layout, of any type of up to 16 bits or f32, at the speed of the copy: products on tensor cores.
#pragma once

#include "cuda/families/tensor/lines/line_copy.cuh"
#include "cuda/families/tensor/lines/line_samples.cuh"
#include "cuda/primitives/matrix_fragments.cuh"

namespace tapline::cuda::tensor_lines {

/// One pass over the taps: eight 16 x 8 blocks of sums, of 16 times and 8 lines each, += taps * samples. The taps' fragment of a
/// step is the same for all of them. `columns`: this lane's address of its line's samples; `taps`: its entry of a table.
__device__ __forceinline__ void multiply_pass(float (&sum)[8][4], unsigned columns, const uint2* taps, int steps) {
    unsigned x[8][2];
#pragma unroll
    for (int q = 0; q < 7; ++q) { load_column(x[q], columns + 32 * q); }
    unsigned before = taps[-4].x;
#pragma unroll 1
    for (int left = steps; left > 0; left -= 8) {
#pragma unroll
        for (int turn = 0; turn < 8; ++turn) {
            if (turn == 0 || turn < left) {
                load_column(x[(turn + 7) % 8], columns + 32 * (turn + 7));
                const uint2 tap = taps[8 * turn];
                // Rows 8 to 15 of the fragment are rows 0 to 7 of taps eight earlier.
                const unsigned fragment[4] = {tap.x, before, tap.y, tap.x};
                before = tap.y;
#pragma unroll
                for (int p = 0; p < 8; ++p) {
                    tensor::multiply(sum[p], fragment, uint2{x[(turn + p) % 8][0], x[(turn + p) % 8][1]});
                }
            }
        }
        columns += 256;
        taps += 64;
    }
}

/// The outputs of lines whose samples or taps are not finite: sums of products as they stand, so that NaN and infinity reach the
/// outputs whose window holds them.
__device__ __noinline__ inline void sum_as_they_stand(const Arguments& a, const Rows& rows, const Shape& g, unsigned number,
                                                      const unsigned* largest, bool all) {
    const TilePlace tile(a, rows, g, number);
    const auto* const taps = static_cast<const float*>(a.taps);
    const std::int64_t length = a.in_last - a.in_first;
#pragma unroll 1
    for (int line = 0; line < g.lines; ++line) {
        if (!all && exponent_of(rows.input_type, largest[line]) != tensor::kNotFinite) { continue; }
        const int stretch = line / g.rows;
        const int row = line - stretch * g.rows;
        const int before = stretch * g.columns * kColumn;
        const int outputs = tile.outputs_of(g, row, stretch);
        // Its row's sample in_first.
        const char* const in =
            static_cast<const char*>(a.in) + (tile.in + row * rows.near.in - tile.first * a.in_sample) * rows.input_bytes;
#pragma unroll 1
        for (int i = static_cast<int>(threadIdx.x); i < outputs; i += kThreads) {
            if (before + i < tile.early) { continue; }
            const std::int64_t first = tile.first + before + i + g.before;
            const TapRange met = taps_met(a, first);
            float sum = 0;
#pragma unroll 1
            for (std::int64_t t = met.begin; t < met.end; ++t) {
                std::int64_t at = first + t;
                float x = static_cast<float>(a.constant_real);
                if (at < 0 || at >= length) { at = near_boundary_index(a.boundary, a.in_first + at, a.n) - a.in_first; }
                if (at >= 0 && at < length) { x = load_any<float>(rows.input_type, rows.input_bytes, in, at * a.in_sample); }
                sum = fmaf(x, taps[t], sum);
            }
            store_converted(a, a.out, tile.out + row * rows.near.out + (before + i) * a.out_sample, finish(a, sum));
        }
    }
}

/// Outputs are a product of matrices: a column of 128 of a line = T times the samples that it reads, with T[i][m] = tap m - i. T is
/// a band whose blocks of 16 x 16 depend only on how far they are from its diagonal: one fragment a step for all eight blocks of a
/// column. Samples are the columns of the other factor: each line's halves lie in shared memory one after the other, however they
/// lie in memory, so that a column begins wherever a line has one.
///
/// Samples come to shared memory as they are; there a line's largest gives the scale, and each becomes two halves, those of 8 bits
/// and f16 one. While a tile is multiplied, the next one's samples are on their way. A warp makes a column of eight neighbouring
/// lines; its sums leave straight from registers, in runs of 32 bytes along lines or across them.
template <class Raw>
__global__ void __launch_bounds__(kThreads, kBlocksHeld)
    tensor_lines_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Rows rows, const __grid_constant__ Shape g) {
    extern __shared__ __align__(128) char shared[];
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int warp = thread / 32;
    auto* const tables = reinterpret_cast<uint2*>(shared + g.tables_at);
    auto* const padded = reinterpret_cast<float*>(shared + g.padded_at);
    auto* const largest = reinterpret_cast<unsigned*>(shared + g.largest_at);

    // This thread's line and its units; the column that its warp makes, of eight lines.
    Raw* const raw = reinterpret_cast<Raw*>(shared + g.raw_at);
    const LineCopy<Raw> own(g);
    const int skipped = own.lane * kUnit;
    const int step = own.lanes * kUnit;
    char* const halves = shared + (own.stretch * g.rows + own.row) * g.line_bytes + 2 * skipped;
    const int line = own.stretch * g.rows + own.row;
    const OwnUnits units{reinterpret_cast<const char*>(raw + raw_place(g, own.row, own.stretch, skipped)),
                         (g.across != 0 ? own.lanes * g.raw_unit : step) * static_cast<int>(sizeof(Raw)),
                         g.across != 0 ? g.rows : 0, step};
    const int column = warp / (g.lines / kGroup);
    const int own_lines = (warp - column * (g.lines / kGroup)) * kGroup;

    // The two lines of that column whose sums this lane has.
    const int r = lane / 4;
    OwnLine lines[2];
    int rows_of[2];
    int stretches_of[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int of = own_lines + 2 * (lane % 4) + i;
        stretches_of[i] = of / g.rows;
        rows_of[i] = of - stretches_of[i] * g.rows;
        lines[i].begin = column * kColumn + r;
        lines[i].at = rows_of[i] * rows.near.out + (stretches_of[i] * g.columns * kColumn + lines[i].begin) * a.out_sample;
    }

    // Where tiles lie the last thread finds out, two tiles before.
    static_assert(sizeof(TilePlace) <= kPlaceBytes);
    auto* const places = reinterpret_cast<TilePlace*>(largest + 2 * kMostLines);
    if (thread == kThreads - 1) {
        places[0] = TilePlace(a, rows, g, blockIdx.x);
        places[1] = TilePlace(a, rows, g, blockIdx.x + gridDim.x);
    }
    __syncthreads();
    own.copy(a, rows, g, places[0], raw);
    for (int i = thread; i < 2 * g.entries + 12; i += kThreads) {
        const int t = i - tensor::kLead - g.before;
        padded[i] = t >= 0 && t < a.k ? static_cast<const float*>(a.taps)[t] : 0.0F;
    }
    if (thread < 2 * kMostLines) { largest[thread] = 0; }
    __syncthreads();
    const int tap_exponent = split_taps(tables, g.entries, padded, g.steps);

    int turn = 0;
#pragma unroll 1
    for (int q = 0;; q ^= kMostLines) {
        wait_copies<0>();
        __syncthreads();
        const TilePlace& made = places[turn];
        const TilePlace& next = places[turn == 2 ? 0 : turn + 1];
        const int needed = made.needed_of(a, g, own.row, own.stretch) - skipped;
        if (needs_largest(rows.input_type)) {
            if constexpr (sizeof(Raw) > 1) {
                const unsigned bits = largest_of<Raw>(units, rows.input_type, g.before - skipped, needed);
                note_largest(largest + q, bits, line, g.across != 0 ? 1 : own.lanes);
                __syncthreads();
            }
        }
        const int exponent = exponent_of(rows.input_type, largest[q + line]);
        const bool finite = exponent != tensor::kNotFinite && tap_exponent != tensor::kNotFinite;
        store_halves<Raw>(units, rows.input_type, g.low_at, halves, tensor::power_of_two(tensor::kTopExponent - exponent),
                          g.before - skipped, finite ? needed : 0, g.units * kUnit - skipped);
        const bool some_stand = __syncthreads_or(!finite) != 0;
        if (thread < kMostLines) { largest[(q ^ kMostLines) + thread] = 0; }
        const bool more = next.number < g.all_tiles;
        if (more) {
            own.copy(a, rows, g, next, raw);
            if (thread == kThreads - 1) {
                places[turn == 0 ? 2 : turn - 1] = TilePlace(a, rows, g, min(next.number + gridDim.x, g.all_tiles));
            }
        }

        if (column < g.columns) {
            float sum[8][4] = {};
            const auto columns =
                static_cast<unsigned>(__cvta_generic_to_shared(shared)) +
                static_cast<unsigned>((own_lines + lane % 8) * g.line_bytes + column * 2 * kColumn + lane / 8 % 2 * 16);
            const uint2* const high = tables + r % 2 * g.entries + (tensor::kLead + 2 * (lane % 4) - r - r % 2) / 2;
            // The small products first: a tensor core cuts off what it adds to a large sum.
#pragma unroll 1
            for (int pass = has_low_halves(rows.input_type) ? 0 : 1; pass < 3; ++pass) {
                multiply_pass(sum, columns + (pass == 0 ? static_cast<unsigned>(g.low_at) : 0U),
                              pass == 1 ? high + 2 * g.entries : high, g.steps);
            }
            OwnLine to[2];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int scale = exponent_of(rows.input_type, largest[q + own_lines + 2 * (lane % 4) + i]);
                const bool stands = scale == tensor::kNotFinite || tap_exponent == tensor::kNotFinite;
                to[i].at = made.out + lines[i].at;
                to[i].begin = made.early - stretches_of[i] * g.columns * kColumn - lines[i].begin;
                to[i].end = stands ? 0 : made.outputs_of(g, rows_of[i], stretches_of[i]) - lines[i].begin;
                scale_back(sum, i, stands ? 0 : scale + tap_exponent - 2 * tensor::kTopExponent);
            }
            store_lines(a, rows, g, sum, to);
        }
        if (some_stand) { sum_as_they_stand(a, rows, g, made.number, largest + q, tap_exponent == tensor::kNotFinite); }
        if (!more) { return; }
        turn = turn == 2 ? 0 : turn + 1;
    }
}

}  // namespace tapline::cuda::tensor_lines
