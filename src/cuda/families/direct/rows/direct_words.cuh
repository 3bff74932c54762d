// 60: rows of any length along memory, of narrow samples or of such that lie apart: a thread reads what is under its window itself.
#pragma once

#include "cuda/families/direct/rows/direct_words.hpp"
#include "cuda/families/direct/rows/line_window.cuh"

namespace tapline::cuda::words {

/// The samples under a thread's outputs.
template <class Raw>
struct Window {
    const Raw* row;     // sample 0 of the row's piece
    int first, length;  // the window's first sample; samples of the piece
    float beyond;       // what a zero or constant boundary has
    const int* before;  // the sample that position -1 - i stands for, -1: none
    const int* behind;  // the same of position length + i
    bool inside;        // the window lies in the piece
    bool by_words;      // it is read by words, all of which are words of rows
};

/// Elements of samples under eight positions at a time, in the order in which they lie in memory. Words of 4 bytes are shifted to
/// where elements begin; the last one is the next eight's first.
template <class Raw>
struct Reader {
    static constexpr int kWords = kOutputs * static_cast<int>(sizeof(Raw)) / 4;
    const std::uint32_t* next;
    std::uint32_t last;
    int bits;

    __device__ __forceinline__ explicit Reader(const Raw* from) {
        const auto address = reinterpret_cast<std::uintptr_t>(from);
        next = reinterpret_cast<const std::uint32_t*>(address & ~std::uintptr_t{3});
        bits = static_cast<int>(address & 3) * 8;
    }
    __device__ __forceinline__ void start() { last = *next++; }
    __device__ __forceinline__ void read(Raw (&to)[kOutputs]) {
        std::uint32_t word[kWords + 1];
        word[0] = last;
#pragma unroll
        for (int i = 0; i < kWords; ++i) { word[i + 1] = next[i]; }
        next += kWords;
        last = word[kWords];
        std::uint32_t shifted[kWords];
#pragma unroll
        for (int i = 0; i < kWords; ++i) { shifted[i] = __funnelshift_r(word[i], word[i + 1], bits); }
        memcpy(to, shifted, sizeof to);
    }
};

/// Samples `at` to `at` + 7 of the window, of which `needed` are read.
template <class Raw>
__device__ __forceinline__ void read_samples(const Arguments& a, const Words& g, const Window<Raw>& w, Reader<Raw>& reader, int at,
                                             int needed, float (&x)[kOutputs]) {
    Raw raw[kOutputs] = {};
    if (w.by_words) {
        if constexpr (sizeof(Raw) == 4) {
#pragma unroll
            for (int i = 0; i < kOutputs; ++i) { raw[i] = w.row[w.first + at + i]; }
        } else {
            reader.read(raw);
        }
    } else {
        int place[kOutputs];  // all of them before the first load: loads are under way together
#pragma unroll
        for (int i = 0; i < kOutputs; ++i) { place[i] = at + i < needed ? w.first + at + i : -1; }
        if (a.boundary > kConstant && !w.inside) {
#pragma unroll
            for (int i = 0; i < kOutputs; ++i) {
                const int position = w.first + at + i;
                const bool before = position < 0;
                if (at + i < needed && (before || position >= w.length)) {
                    place[i] = before ? w.before[-1 - position] : w.behind[position - w.length];
                }
            }
        }
        const Raw* from = w.row + (w.first + at) * a.in_sample;
        if (w.inside || a.boundary <= kConstant) {
#pragma unroll
            for (int i = 0; i < kOutputs; ++i) {
                if (static_cast<unsigned>(place[i]) < static_cast<unsigned>(w.length)) { raw[i] = *from; }
                from += a.in_sample;
            }
        } else {
#pragma unroll
            for (int i = 0; i < kOutputs; ++i) {
                if (place[i] >= 0) { raw[i] = w.row[place[i] * a.in_sample]; }
            }
        }
    }
    widen_raw(g.input_type, raw, x);
    if (w.inside || a.boundary > kConstant) { return; }
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) {
        const bool exists = static_cast<unsigned>(w.first + at + i) < static_cast<unsigned>(w.length);
        x[i] = exists ? x[i] : w.beyond;
    }
}

/// sum[i] = the sum over t of tap t * sample i + t of the window.
template <class Raw>
__device__ __forceinline__ void convolve_words(const Arguments& a, const Words& g, const Window<Raw>& w, const float* taps,
                                               int count, float (&sum)[kOutputs]) {
    constexpr int O = kOutputs;
    constexpr int V = 4;
    const int k = static_cast<int>(a.k);
    const int needed = count + k - 1;
    Reader<Raw> reader(w.row + w.first);
    if constexpr (sizeof(Raw) < 4) {
        if (w.by_words) { reader.start(); }
    }
    float x[O];
    float next[O];
    read_samples(a, g, w, reader, 0, needed, x);
#pragma unroll 1
    for (int t = 0; t < k; t += O) {
        const int left = k - t;
        if (left > 1) { read_samples(a, g, w, reader, t + O, needed, next); }
#pragma unroll
        for (int v = 0; v < O; v += V) {
            if (v >= left) { break; }
            float tap[V];
            load_taps<V>(tap, taps + t + v);
#pragma unroll
            for (int j = 0; j < V; ++j) {
                if (v + j < left) {
#pragma unroll
                    for (int i = 0; i < O; ++i) {
                        const int at = v + j + i;
                        sum[i] = fmaf(at < O ? x[at] : next[at - O], tap[j], sum[i]);
                    }
                }
            }
        }
#pragma unroll
        for (int i = 0; i < O; ++i) { x[i] = next[i]; }
    }
}

/// Output `i` of a window under taps of which some are infinite: terms that a zero boundary has not stay absent.
template <class Raw>
__device__ __noinline__ float sum_of_samples_there(const Arguments& a, const Words& g, const Window<Raw>& w, const float* taps,
                                                   int i) {
    float sum = 0;
    for (int t = 0; t < static_cast<int>(a.k); ++t) {
        const int position = w.first + i + t;
        if (position < 0 || position >= w.length) { continue; }
        const Raw one[1] = {w.row[position * a.in_sample]};
        float x[1];
        widen_raw(g.input_type, one, x);
        sum = fmaf(x[0], taps[t], sum);
    }
    return sum;
}

/// What positions beyond the ends of a row's piece stand for, by the block's threads.
__device__ __forceinline__ void find_places(const Arguments& a, const Words& g, int* places) {
    const std::int64_t length = a.in_last - a.in_first;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < g.before + g.behind; i += kThreads) {
        const std::int64_t position = a.in_first + (i < g.before ? -1 - i : length + i - g.before);
        const std::int64_t place = near_boundary_index(a.boundary, position, a.n) - a.in_first;
        places[i] = place >= 0 && place < length ? static_cast<int>(place) : -1;  // what is not in the piece nobody asked for
    }
}

/// Outputs of a warp, `count` of each thread, which together follow each other in memory, as whole lines; `at`: a thread's first
/// one, from the first of all.
__device__ __forceinline__ void put_side_by_side(const Arguments& a, const Words& g, const float (&sum)[kOutputs], float* stage,
                                                 std::int64_t at, int count) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t base = __shfl_sync(0xffffffffU, at, 0);
    const int own = static_cast<int>(at - base);
    const int end = __shfl_sync(0xffffffffU, own + (count - 1) * g.channels + 1, g.groups * g.channels - 1);
    const std::int64_t left = g.recordings * g.channels * a.count - base;
    const int all = static_cast<int>(min(left, static_cast<std::int64_t>(end)));  // threads that have no row are behind all outputs
    const auto place = [](int e) { return e + e / 32; };
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) {
        if (i < count) { stage[place(own + i * g.channels)] = sum[i]; }
    }
    __syncwarp();
    with_output<float>(a.output_type, g.output_bytes, [&](auto element) {
        using Raw = decltype(element);
        float x[kOutputs];
#pragma unroll
        for (int q = 0; q < kOutputs; ++q) { x[q] = lane + 32 * q < all ? stage[place(lane + 32 * q)] : 0.0F; }
        Raw raw[kOutputs];
        narrow_to_raw(a.output_type, x, raw);
        Raw* const to = static_cast<Raw*>(a.out) + base + lane;
#pragma unroll
        for (int q = 0; q < kOutputs; ++q) {
            if (lane + 32 * q < all) { __stcs(to + 32 * q, raw[q]); }
        }
    });
}

/// The same where rows lie elsewhere, element by element.
__device__ __forceinline__ void put_apart(const Arguments& a, const Words& g, const float (&sum)[kOutputs], std::int64_t at,
                                          int count) {
    with_output<float>(a.output_type, g.output_bytes, [&](auto element) {
        decltype(element) raw[kOutputs];
        narrow_to_raw(a.output_type, sum, raw);
#pragma unroll
        for (int i = 0; i < kOutputs; ++i) {
            if (i < count) { static_cast<decltype(element)*>(a.out)[at + i * a.out_sample] = raw[i]; }
        }
    });
}

/// A thread makes kOutputs neighbouring outputs of a row; the next thread those behind them, or the first ones of the next row, or
/// those of the next channel. It reads the samples under them itself: narrow ones by words of 4 bytes, wherever a row begins in
/// one, others element by element. No tile is laid out, and a window near a row's end costs what it reads.
template <class Raw>
__global__ void __launch_bounds__(kThreads, 8)
    direct_words_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Words g) {
    extern __shared__ uint4 shared[];
    auto* const taps = reinterpret_cast<float*>(shared);
    auto* const places = reinterpret_cast<int*>(reinterpret_cast<char*>(shared) + g.places_at);
    auto* const stage = reinterpret_cast<float*>(reinterpret_cast<char*>(shared) + g.stage_at) + threadIdx.x / 32 * kStage;
    if (a.boundary > kConstant) { find_places(a, g, places); }
    const bool may_be_absent = bring_taps(a, taps, kThreads);  // waits for the places, too

    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int group = g.channels == 1 ? lane : lane / g.channels;
    const int channel = g.channels == 1 ? 0 : lane - group * g.channels;
    const std::int64_t warp = static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
    const std::int64_t number = warp * g.groups + group;
    const std::int64_t recording = divide(number, g.threads);
    const std::int64_t o = (number - recording * g.threads) * kOutputs;
    const bool exists = recording < g.recordings && group < g.groups;
    const int count = exists ? static_cast<int>(min(a.count - o, std::int64_t{kOutputs})) : 0;
    float sum[kOutputs] = {};
    if (exists) {
        Window<Raw> w{};
        const std::int64_t first_sample = recording * g.in_recording + channel * g.in_channel;
        w.row = static_cast<const Raw*>(a.in) + first_sample;
        w.first = static_cast<int>(o + a.first - a.origin - a.in_first);
        w.length = static_cast<int>(a.in_last - a.in_first);
        w.before = places;
        w.behind = places + g.before;
        const int k = static_cast<int>(a.k);
        const int needed = count + k - 1;
        w.inside = w.first >= 0 && w.first + needed <= w.length;
        // Chunks of kOutputs samples are read whole, and a word more on both sides.
        constexpr int kMore = static_cast<int>(4 / sizeof(Raw)) - 1;
        const std::int64_t begin = first_sample + w.first;
        const int read = kOutputs + (k > 1 ? (k + kOutputs - 1) / kOutputs * kOutputs : 0) + kMore;
        w.by_words = (w.inside || a.boundary <= kConstant) && a.in_sample == 1 && g.channels == 1 && begin - kMore >= g.begin &&
                     begin + read + kMore <= g.end;
        if (a.boundary == kConstant) {
            Raw one[1];
            memcpy(one, g.constant, sizeof one);
            float wide[1];
            widen_raw(g.input_type, one, wide);
            w.beyond = wide[0];
        }
        if (!may_be_absent) {
            convolve_words(a, g, w, taps, count, sum);
        } else {
#pragma unroll
            for (int i = 0; i < kOutputs; ++i) {
                if (i < count) { sum[i] = sum_of_samples_there(a, g, w, taps, i); }
            }
        }
    }
    if (!a.plain_store) {
#pragma unroll
        for (float& each : sum) { each = finish(a, each); }
    }
    const bool packed = a.out_sample == g.channels && (g.channels == 1 || g.out_channel == 1) &&
                        (g.out_recording == a.count * g.channels || g.recordings == 1);
    if (packed) {
        put_side_by_side(a, g, sum, stage, (recording * a.count + o) * g.channels + channel, count);
    } else {
        put_apart(a, g, sum, recording * g.out_recording + channel * g.out_channel + o * a.out_sample, count);
    }
}

}  // namespace tapline::cuda::words
