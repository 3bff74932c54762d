// Rows of any layout to rows one after the other, and back.
#include "cuda/families/transposed/transposed.hpp"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::transposed {
namespace {

/// An element of two parts that need not be aligned as a whole.
template <class Part>
struct Halves {
    Part parts[2];
};

/// A block takes a tile: one group of `1 << lines_log2` lines, or several of short ones. On the side that lies apart its threads go
/// from line to line, on the other along lines; a line of shared memory is longer by what keeps both ways from meeting in a bank.
/// All of a thread's elements are under way at once.
template <class Raw, bool kToRows, bool kGrouped>
__global__ void __launch_bounds__(kThreads, 5) transpose_kernel(const __grid_constant__ Passage p) {
    constexpr int kElements = kTileElements<sizeof(Raw)>;
    constexpr int kEach = kElements / kThreads;
    constexpr int kOfWord = sizeof(Raw) < 4 ? 4 / sizeof(Raw) : 1;
    constexpr int kMostGroups = kGrouped ? kElements >> kGroupLog2 : 1;
    __shared__ Raw tile[kElements + kMostGroups * (kOfWord == 1 ? 32 : 64 * kOfWord)];
    const int lines = 1 << p.lines_log2;
    const int width = kGrouped ? 1 << p.width_log2 : kElements >> p.lines_log2;  // samples of a tile
    const int pitch = width + (lines > 32 ? kOfWord : 32 >> p.lines_log2);
    std::int64_t rest = blockIdx.x;
    const auto take = [&](std::int64_t length) {
        if (length == 1) { return std::int64_t{0}; }
        const std::int64_t before = rest;
        rest = divide(rest, length);
        return before - rest * length;
    };
    const std::int64_t first_line = take(p.near_tiles) << p.lines_log2;
    const std::int64_t first_sample = take(p.sample_tiles) * width;
    const int groups = kGrouped ? kElements >> (p.lines_log2 + p.width_log2) : 1;
    const std::int64_t first_group = kGrouped ? take(p.group_tiles) * groups : 0;
    std::int64_t row = rest;
    if (kGrouped) { row = row * p.group_length + first_group; }
    const std::int64_t packed = (row * p.near + first_line) * p.pitch + first_sample;
    std::int64_t apart = first_line * p.apart.near + first_sample * p.apart.sample;
    if (kGrouped) { apart += first_group * p.group_step; }
    rest += p.first_other;
#pragma unroll
    for (int i = 0; i < Rows::kMostOthers; ++i) { apart += take(p.lengths[i]) * p.apart.others[i]; }
    const int lines_there = static_cast<int>(min(p.near - first_line, std::int64_t{lines}));
    const int samples_there = static_cast<int>(min(p.samples - first_sample, std::int64_t{width}));
    const int groups_there = kGrouped ? static_cast<int>(min(p.group_length - first_group, std::int64_t{groups})) : 1;
    // From one element to the next: of all addresses at once the compiler would keep too few blocks on a multiprocessor.
    const auto go_across = [&](const auto& body) {
        const int line = static_cast<int>(threadIdx.x) & (lines - 1);
        const int first = static_cast<int>(threadIdx.x) >> p.lines_log2;
        const int step = kThreads >> p.lines_log2;
        std::int64_t at = apart + line * p.apart.near + first * p.apart.sample;
        const int there = line < lines_there ? samples_there : 0;
        const int place = line * pitch + first;
        int begin = 0;  // of a group: the thread's samples that lie before, and places of shared memory
        int group = 0;
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            const int sample = first + i * step - begin;
            body(i, place + i * step + group * (lines * pitch - width), at, sample < there && group < groups_there);
            at += step * p.apart.sample;
            if (kGrouped && sample + step >= width) {
                begin += width;
                at += p.group_step - width * p.apart.sample;
                ++group;
            }
            asm volatile("" : "+l"(at));
        }
    };
    const auto go_along = [&](const auto& body) {
        // Threads take a part of a line, or so many whole lines.
        const int width_log2 = __ffs(width) - 1;
        const int lines_step = kThreads >> width_log2;
        const int samples_step = lines_step != 0 ? 0 : kThreads;
        int line = static_cast<int>(threadIdx.x) >> width_log2;
        int sample = static_cast<int>(threadIdx.x) & (width - 1);
        std::int64_t at = packed + line * p.pitch + sample;
        const std::int64_t at_step = lines_step * p.pitch + samples_step;
        int group = 0;
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            body(i, (group * lines + line) * pitch + sample, at,
                 line < lines_there && sample < samples_there && group < groups_there);
            line += lines_step;
            sample += samples_step;
            at += at_step;
            if (sample >= width) {
                sample -= width;
                at += p.pitch - width;
                ++line;
            }
            if (kGrouped && line >= lines) {  // rows that a group lacks have no place among the packed ones
                line -= lines;
                at += (p.near - lines) * p.pitch;
                ++group;
            }
            asm volatile("" : "+l"(at));
        }
    };
    const auto* const from = static_cast<const Raw*>(p.from);
    auto* const to = static_cast<Raw*>(p.to);
    Raw held[kEach]{};
    const auto load = [&](int i, int, std::int64_t at, bool is_there) {
        if (is_there) { held[i] = from[at]; }
    };
    const auto keep = [&](int i, int place, std::int64_t, bool) { tile[place] = held[i]; };
    const auto store = [&](int, int place, std::int64_t at, bool is_there) {
        if (is_there) { to[at] = tile[place]; }
    };
    if constexpr (kToRows) {
        go_across(load);
        go_across(keep);
        __syncthreads();
        go_along(store);
    } else {
        go_along(load);
        go_along(keep);
        __syncthreads();
        go_across(store);
    }
}

template <bool kToRows, bool kGrouped>
Kernel pick(int bytes, bool halved) {
    if (halved && bytes >= 8) {
        return bytes == 8 ? &transpose_kernel<Halves<RawOf<4>::Type>, kToRows, kGrouped>
                          : &transpose_kernel<Halves<RawOf<8>::Type>, kToRows, kGrouped>;
    }
    return with_elements_of<16>(bytes, [](auto raw) -> Kernel { return &transpose_kernel<decltype(raw), kToRows, kGrouped>; });
}

}  // namespace

Kernel kernel_of(int bytes, bool halved, bool to_rows, bool grouped) {
    if (to_rows) { return grouped ? pick<true, true>(bytes, halved) : pick<true, false>(bytes, halved); }
    return grouped ? pick<false, true>(bytes, halved) : pick<false, false>(bytes, halved);
}

}  // namespace tapline::cuda::transposed
