// 51: few rows side by side in memory: a block's threads follow each other along all of them.
#pragma once

#include "cuda/families/direct/columns/direct_columns.cuh"

namespace tapline::cuda::columns {

/// What a block of few rows has: its unit of them, its outputs, and the window in shared memory, all rows' samples of one time side
/// by side as memory has them.
struct Stretch {
    Place place;
    int rows;
    int count, size;      // outputs and samples of each row
    int begin, end;       // samples of these that lie in the piece
    std::int64_t first;   // sample 0, from sample in_first
    const char* samples;  // the lowest row's sample 0 in memory
};

/// Rows' samples of a stretch to shared memory, asynchronously but for narrow ones.
template <class Raw, int kPart>
__device__ __forceinline__ void bring_stretch(const Arguments& a, const Rows& rows, const Stretch& s, char* shared,
                                              const Team& team) {
    constexpr int kBytes = sizeof(Raw);
    constexpr int kParts = kBytes / kPart;
    const bool backwards = rows.near.in < 0;
    const bool gapless = a.in_sample == s.rows;
    Runs r{};
    r.from = s.samples + s.begin * a.in_sample * kBytes;
    r.to = shared + s.begin * s.rows * kBytes;
    r.from_step = a.in_sample * kBytes;
    r.to_step = s.rows * kBytes;
    r.runs = gapless ? 1 : s.end - s.begin;
    r.length = (gapless ? s.end - s.begin : 1) * s.rows * kParts;
    copy_in<kPart>(r, team);
    if (s.begin == 0 && s.end == s.size) { return; }
    const char* const row = static_cast<const char*>(a.in) + s.place.in * kBytes;
    fill_outside<kBytes, kPart, false>(
        a, rows, row, s.first, s.begin, s.end, s.size, {s.rows, rows.near.in * kBytes, true}, team,
        [&](int line, int i) { return shared + (i * s.rows + (backwards ? s.rows - 1 - line : line)) * kBytes; });
}

/// The filters of all rows, or the one of all, to shared memory, asynchronously: by vectors, the last of which may end in what pads
/// them.
template <class H>
__device__ __forceinline__ void bring_filters(const Arguments& a, const Columns& g, const Place& p, int filters, H* taps,
                                              const Team& team) {
    const int vectors = (static_cast<int>(a.k) * static_cast<int>(sizeof(H)) + 15) / 16;
#pragma unroll 1
    for (PairWalk at(team, vectors); at.is_there(filters); at.advance()) {
        const auto* const filter = static_cast<const char*>(a.taps) + filter_of(g, p, at.outer) * g.filter_bytes;
        copy_16_async(reinterpret_cast<char*>(taps + at.outer * g.tap_pitch) + at.inner * 16, filter + at.inner * 16);
    }
}

/// Runs of sums in shared memory, and the outputs that they become: elements from one to the next.
struct SumRuns {
    int runs, length, from_step;
    std::int64_t to_step;
};

/// Sums in shared memory to outputs of any type, the first of which is element `to`.
template <class X>
__device__ __forceinline__ void store_sums(const Arguments& a, const Rows& rows, const SumRuns& s, std::int64_t to, const X* sums,
                                           const Team& team) {
    if (a.output_type == kOwnType<X>) {
        constexpr int kPart = kIsComplexElement<X> ? sizeof(X) / 2 : sizeof(X);
        Runs r{};
        r.from = reinterpret_cast<const char*>(sums);
        r.to = reinterpret_cast<char*>(static_cast<X*>(a.out) + to);
        r.from_step = s.from_step * static_cast<int>(sizeof(X));
        r.to_step = s.to_step * static_cast<int>(sizeof(X));
        r.runs = s.runs;
        r.length = s.length * static_cast<int>(sizeof(X) / kPart);
        copy_out<kPart>(r, team);
        return;
    }
    with_output<X>(a.output_type, rows.output_bytes, [&](auto element) {
        using Raw = decltype(element);
        Raw* const out = static_cast<Raw*>(a.out) + to;
#pragma unroll 2
        for (PairWalk at(team, s.length); at.is_there(s.runs); at.advance()) {
            const X one[1] = {sums[at.outer * s.from_step + at.inner]};
            Raw raw[1];
            narrow_to_raw(a.output_type, one, raw);
            store_element(out + at.outer * s.to_step + at.inner, raw[0]);
        }
    });
}

/// Few rows side by side are one run of memory, which comes to shared memory as it lies, boundaries too, and whose outputs go back
/// likewise. A thread makes neighbouring outputs of one row. Lanes of a warp have as many neighbouring rows as are a power of two
/// and divide a block's, so that no two read from one bank: their outputs' number is odd.
template <class X, class H, class Raw>
__global__ void __launch_bounds__(32 * kMostWarps, sizeof(X) == 16 ? 2 : 3)
    direct_columns_along_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Rows rows,
                                const __grid_constant__ Columns g) {
    constexpr int O = kAlongOutputs<static_cast<int>(sizeof(X))>;
    constexpr int kPart = kIsComplexElement<X> ? sizeof(Raw) / 2 : sizeof(Raw);
    extern __shared__ uint4 shared[];
    const Team team{static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
    const std::int64_t unit = divide(static_cast<std::int64_t>(blockIdx.x), a.tiles);
    const std::int64_t o = (static_cast<std::int64_t>(blockIdx.x) - unit * a.tiles) * g.outputs;
    Stretch s{};
    s.place = place_of(rows, g, unit, g.rows, 0);
    s.rows = static_cast<int>(min(rows.near.length - s.place.near, std::int64_t{g.rows}));
    s.count = static_cast<int>(min(a.count - o, std::int64_t{g.outputs}));
    s.size = s.count + static_cast<int>(a.k) - 1;
    s.first = a.first - a.origin - a.in_first + o;
    s.begin = static_cast<int>(min(max(-s.first, std::int64_t{0}), std::int64_t{s.size}));
    s.end = static_cast<int>(min(max(a.in_last - a.in_first - s.first, std::int64_t{s.begin}), std::int64_t{s.size}));
    const std::int64_t lowest_in = s.place.in + (rows.near.in < 0 ? 1 - s.rows : 0);
    s.samples = reinterpret_cast<const char*>(static_cast<const Raw*>(a.in) + lowest_in + s.first * a.in_sample);

    auto* const taps = reinterpret_cast<H*>(shared);
    char* const memory = reinterpret_cast<char*>(shared) + g.samples_at;
    // The window begins in shared memory as in memory between 16-byte boundaries.
    const int past =
        past_16(s.samples) % static_cast<int>(sizeof(Raw)) == 0 ? past_16(s.samples) / static_cast<int>(sizeof(Raw)) : 0;
    bring_stretch<Raw, kPart>(a, rows, s, memory + past * sizeof(Raw), team);
    const bool own = g.filter_bytes != 0;
    const int filters = own ? s.rows : 1;
    bring_filters(a, g, s.place, filters, taps, team);
    commit_copies();
    wait_copies<0>();
    __syncthreads();
    auto* samples = reinterpret_cast<X*>(memory);
    if constexpr (!std::is_same_v<X, Raw>) {
        samples = reinterpret_cast<X*>(reinterpret_cast<char*>(shared) + g.sums_at);
        widen_all<X, sizeof(Raw)>(samples, memory, rows.input_type, past + s.size * s.rows, team);
        __syncthreads();
    }
    bool absent = false;
    if (a.exact_edges != kMayMultiplyZeros && a.boundary == kZero && (s.begin > 0 || s.end < s.size)) {
        bool finite = true;
        for (PairWalk at(team, static_cast<int>(a.k)); at.is_there(filters); at.advance()) {
            finite = finite && is_finite(taps[at.outer * g.tap_pitch + at.inner]);
        }
        absent = __syncthreads_or(!finite) != 0;
    }

    const int groups = g.rows / g.together;
    const int warp = team.thread / 32;
    const int lane = team.thread % 32;
    const int line = warp % groups * g.together + lane % g.together;  // counted from the lowest one in memory
    const int begin = (warp / groups * (32 / g.together) + lane / g.together) * O;
    const int row = rows.near.in < 0 ? s.rows - 1 - line : line;
    const bool works = begin < s.count && line < s.rows;
    X sum[O] = {};
    if (works) {
        const X* const window = samples + past + begin * s.rows + line;
        const H* const filter = taps + (own ? row * g.tap_pitch : 0);
        if (absent) {
#pragma unroll
            for (int i = 0; i < O; ++i) {
                sum[i] = sum_of_terms_there(a, window + i * s.rows, s.rows, filter, s.first + begin + i);
            }
        } else {
            convolve_line(sum, window, s.rows, filter, static_cast<int>(a.k));
        }
        if (!a.plain_store) {
#pragma unroll
            for (int i = 0; i < O; ++i) { sum[i] = finish(a, sum[i]); }
        }
    }
    __syncthreads();  // the samples are used up
    // Outputs lie along rows or, as samples, all rows' of one time side by side.
    const bool turned = g.stage_pitch != 0;
    const bool gapless = !turned && a.out_sample == s.rows;
    const std::int64_t to = s.place.out + (!turned && rows.near.out < 0 ? 1 - s.rows : 0) + o * a.out_sample;
    const int past_out = past_16(static_cast<const X*>(a.out) + to) % static_cast<int>(sizeof(X)) == 0
                             ? past_16(static_cast<const X*>(a.out) + to) / static_cast<int>(sizeof(X))
                             : 0;
    samples += past_out;
    if (works) {
        const int step = turned ? 1 : s.rows;
        X* const stage = samples + (turned              ? row * g.stage_pitch + begin
                                    : rows.near.out < 0 ? begin * s.rows + s.rows - 1 - row
                                                        : begin * s.rows + row);
#pragma unroll
        for (int i = 0; i < O; ++i) { stage[i * step] = sum[i]; }
    }
    __syncthreads();
    const SumRuns all{gapless ? 1 : s.count, gapless ? s.count * s.rows : s.rows, s.rows, a.out_sample};
    store_sums(a, rows, turned ? SumRuns{s.rows, s.count, g.stage_pitch, rows.near.out} : all, to, samples, team);
}

}  // namespace tapline::cuda::columns
