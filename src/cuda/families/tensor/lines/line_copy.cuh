// Samples of a tile's lines from memory to shared memory as they are, whichever way they lie.
#pragma once

#include "cuda/families/tensor/lines/tensor_lines.hpp"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::tensor_lines {

/// A tile's place: what does not depend on the thread.
struct TilePlace {
    std::int64_t first;    // its first line's place 0, from sample in_first
    std::int64_t in, out;  // elements from the job's first sample and output to those of place 0 and output 0
    unsigned number;
    int lines;        // rows that exist
    int left, early;  // outputs that the job still wants from there on; those before it that it does not want
    int begin, end;   // its first line's places that have samples in the piece

    TilePlace() = default;
    __device__ __forceinline__ TilePlace(const Arguments& a, const Rows& rows, const Shape& g, unsigned which) : number(which) {
        constexpr std::int64_t kMost = 1 << 30;
        std::int64_t output = g.first_output;
        first = a.first - a.origin - a.in_first - g.before + output;
        in = first * a.in_sample;
        out = output * a.out_sample;
        int row = 0;
        unsigned rest = which;
#pragma unroll 1
        for (int i = 0; i < g.digits; ++i) {
            const Digit& digit = g.digit[i];
            const unsigned above = (__umulhi(rest, digit.factor) + rest) >> digit.shift;
            const unsigned value = rest - above * digit.length;
            rest = above;
            in += value * digit.in;
            out += value * digit.out;
            output += value * digit.outputs;
            first += value * digit.outputs;
            row += static_cast<int>(value) * digit.rows;
        }
        lines = static_cast<int>(min(rows.near.length - row, std::int64_t{g.rows}));
        left = static_cast<int>(min(a.count - output, kMost));
        early = output < 0 ? static_cast<int>(-output) : 0;
        begin = static_cast<int>(max(min(-first, kMost), -kMost));
        end = static_cast<int>(max(min(a.in_last - a.in_first - first, kMost), -kMost));
    }
    /// Of stretch `stretch` of row `row`.
    [[nodiscard]] __device__ __forceinline__ int outputs_of(const Shape& g, int row, int stretch) const {
        const int outputs = g.columns * kColumn;
        return row < lines && stretch < g.stretches ? max(min(left - stretch * outputs, outputs), 0) : 0;
    }
    /// Places that those read.
    [[nodiscard]] __device__ __forceinline__ int needed_of(const Arguments& a, const Shape& g, int row, int stretch) const {
        const int outputs = outputs_of(g, row, stretch);
        return outputs == 0 ? 0 : g.before + outputs + static_cast<int>(a.k) - 1;
    }
};

/// Where in shared memory place p of a line lies, in elements.
__device__ __forceinline__ int raw_place(const Shape& g, int row, int stretch, int p) {
    if (g.across == 0) { return (stretch * g.rows + row) * g.raw_line + p; }
    return stretch * g.raw_line + p / kUnit * g.raw_unit + p % kUnit * g.rows + row;
}

/// `count` elements, neighbours in memory and shared memory.
template <class Raw, int kCount>
__device__ __forceinline__ void copy_elements(Raw* to, const Raw* from) {
    if constexpr (kCount * sizeof(Raw) == 16) {
        copy_16_async(to, from);
    } else if constexpr (kCount * sizeof(Raw) == 8) {
        copy_8_async(to, from);
    } else {
        static_assert(kCount == 1);
        copy_element_async<sizeof(Raw)>(reinterpret_cast<char*>(to), reinterpret_cast<const char*>(from));
    }
}

/// What a thread copies of each tile: piece `piece` of every step-th run from `run` on. Runs are a line's samples (along; pieces
/// are then its runs), or all rows' samples at one time, or at eight times that lie one after the other (units).
template <class Raw>
struct LineCopy {
    static constexpr int kVector = sizeof(Raw) == 1 ? 8 : 16 / static_cast<int>(sizeof(Raw));  // elements

    int row, stretch, lane, lanes;  // along: its line, and which of its threads this is
    int piece, run, step;           // across

    __device__ __forceinline__ LineCopy(const Shape& g) {
        const int thread = static_cast<int>(threadIdx.x);
        lanes = kThreads / g.lines;
        const int line = g.across != 0 ? thread % g.lines : thread / lanes;
        lane = g.across != 0 ? thread / g.lines : thread % lanes;
        stretch = line / g.rows;
        row = line - stretch * g.rows;
        const int elements = g.across == 0 ? kThreads : g.whole_units != 0 ? kUnit * g.rows : g.rows;
        const int pieces = g.vectors != 0 ? elements / kVector : elements;
        run = thread / pieces;
        piece = (thread - run * pieces) * (g.vectors != 0 ? kVector : 1);
        step = kThreads / pieces;
    }

    __device__ __forceinline__ void copy(const Arguments& a, const Rows& rows, const Shape& g, const TilePlace& tile,
                                         Raw* raw) const {
        const Raw* const in = static_cast<const Raw*>(a.in) + tile.in;
        const int outputs = g.columns * kColumn;
        if (g.across == 0) {
            const int skipped = stretch * outputs;
            const int needed = tile.needed_of(a, g, row, stretch);
            const int begin = max(tile.begin - skipped, 0);
            const int last = tile.end - skipped;
            const int end = min(last, needed);
            const Raw* const from = in + row * rows.near.in + skipped * a.in_sample;
            Raw* const to = raw + raw_place(g, row, stretch, 0);
            if (g.vectors != 0) {
#pragma unroll 4
                for (int p = lane * kVector; p < end; p += lanes * kVector) {
                    if (p >= begin && p + kVector <= last) {
                        copy_elements<Raw, kVector>(to + p, from + p);
                    } else if (p + kVector > begin) {
#pragma unroll 1
                        for (int i = max(p, begin); i < min(p + kVector, end); ++i) { copy_elements<Raw, 1>(to + i, from + i); }
                    }
                }
            } else {
                const Raw* each = from + (begin + lane) * a.in_sample;
                const std::int64_t next = lanes * a.in_sample;
#pragma unroll 4
                for (int p = begin + lane; p < end; p += lanes) {
                    copy_elements<Raw, 1>(to + p, each);
                    each += next;
                }
            }
        } else if (run < step && g.whole_units != 0) {
            copy_units(a, g, tile, in + piece, raw + piece);
        } else if (run < step && piece < tile.lines) {
#pragma unroll 1
            for (int s = 0; s < g.stretches; ++s) {
                const int skipped = s * outputs;
                copy_times(a, g, in + skipped * a.in_sample + piece * rows.near.in, raw + s * g.raw_line + piece,
                           max(tile.begin - skipped, 0), min(tile.end - skipped, tile.needed_of(a, g, 0, s)));
            }
        }
        fill_edges(a, rows, g, tile, raw);
        commit_copies();
    }

private:
    /// Vectors of all rows' samples at eight times, of all stretches one after the other.
    __device__ __forceinline__ void copy_units(const Arguments& a, const Shape& g, const TilePlace& tile, const Raw* from,
                                               Raw* to) const {
        const int outputs = g.columns * kColumn;
        const int units = (g.before + outputs + static_cast<int>(a.k) - 1 + kUnit - 1) / kUnit;
        // The first and the last time of a vector's elements.
        const int first = piece / g.rows;
        const int last = (piece + kVector - 1) / g.rows;
        int s = 0;
        int unit = run;
#pragma unroll 2
        for (;;) {
            while (unit >= units) {
                unit -= units;
                ++s;
            }
            if (s >= g.stretches) { return; }
            const int p = unit * kUnit;
            const int begin = tile.begin - s * outputs;
            const int end = tile.end - s * outputs;
            const int needed = tile.needed_of(a, g, 0, s);
            const Raw* const source = from + (s * outputs + p) * a.in_sample;
            Raw* const target = to + s * g.raw_line + unit * g.raw_unit;
            if (p + first >= begin && p + last < end) {
                if (p + first < needed) { copy_elements<Raw, kVector>(target, source); }
            } else {
#pragma unroll 1
                for (int i = 0; i < kVector; ++i) {
                    const int at = p + (piece + i) / g.rows;
                    if (at >= begin && at < min(end, needed)) { copy_elements<Raw, 1>(target + i, source + i); }
                }
            }
            unit += step;
        }
    }
    /// Elements or vectors of all rows' samples at one time, for times [begin, end).
    __device__ __forceinline__ void copy_times(const Arguments& a, const Shape& g, const Raw* from, Raw* to, int begin,
                                               int end) const {
        const auto times = [&]<int kCount>(std::integral_constant<int, kCount> /*count*/) {
            if (step % kUnit == 0) {
                const Raw* source = from + run * a.in_sample;
                Raw* target = to + run / kUnit * g.raw_unit + run % kUnit * g.rows;
                const std::int64_t next = step * a.in_sample;
                const int next_target = step / kUnit * g.raw_unit;
#pragma unroll 4
                for (int p = run; p < end; p += step) {
                    if (p >= begin) { copy_elements<Raw, kCount>(target, source); }
                    source += next;
                    target += next_target;
                }
                return;
            }
#pragma unroll 4
            for (int p = run; p < end; p += step) {
                if (p >= begin) {
                    copy_elements<Raw, kCount>(to + p / kUnit * g.raw_unit + p % kUnit * g.rows, from + p * a.in_sample);
                }
            }
        };
        if (g.vectors != 0) {
            times(std::integral_constant<int, kVector>{});
        } else {
            times(std::integral_constant<int, 1>{});
        }
    }
    /// What of this thread's line lies outside the piece, by the boundary rule.
    __device__ __forceinline__ void fill_edges(const Arguments& a, const Rows& rows, const Shape& g, const TilePlace& tile,
                                               Raw* raw) const {
        const int skipped = stretch * g.columns * kColumn;
        const int needed = tile.needed_of(a, g, row, stretch);
        const int begin = max(min(tile.begin - skipped, needed), 0);
        const int end = max(min(tile.end - skipped, needed), begin);
        const int outside = begin + needed - end;
        if (lane >= outside) { return; }
        Raw constant{};
        if (a.boundary == kConstant) { memcpy(&constant, rows.constant, sizeof(Raw)); }
        const Raw* const from = static_cast<const Raw*>(a.in) + tile.in + row * rows.near.in + skipped * a.in_sample;
        const std::int64_t first = tile.first + skipped;  // of place 0, from sample in_first
#pragma unroll 1
        for (int u = lane; u < outside; u += lanes) {
            const int p = u < begin ? u : u - begin + end;
            Raw x = constant;
            if (a.boundary > kConstant) {
                // Where the sample is not there nobody asked for an output that needs it.
                const std::int64_t at = near_boundary_index(a.boundary, a.in_first + first + p, a.n) - a.in_first;
                if (at >= 0 && at < a.in_last - a.in_first) { x = from[(at - first) * a.in_sample]; }
            }
            raw[raw_place(g, row, stretch, p)] = x;
        }
    }
};

}  // namespace tapline::cuda::tensor_lines
