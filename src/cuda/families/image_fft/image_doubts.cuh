// Sums in double on their way to integers that lose their fraction, or are rounded: transforms leave in doubt what lies so near to
// the next integer that their roundings may have put it on its other side.
#pragma once

#include "cuda/families/image_fft/image_pixels.cuh"
#include "cuda/primitives/fft.cuh"

namespace tapline::cuda::image_fft_rung {

constexpr unsigned kMostDecided = 16;  // outputs of a tile; where there are more, as of flat areas, integers are what they are

/// How sums become integers that lose their fraction (scale, shift), or are rounded, half a one being added; `limit`: the high half
/// of what they may be off by; limits of the type where they are rounded.
struct Settling {
    double scale, shift;
    int limit, low, high;
    bool cuts_off;
};
__device__ __forceinline__ Settling settling_of(const ImageArguments& a, double undecided) {
    Settling s{};
    const Dtype type = a.common.output_type;
    s.cuts_off = type == kLowBits;
    s.scale = a.common.scale;
    s.shift = a.common.bias + (s.cuts_off ? 0 : 0.5);
    s.limit = __double2hiint(undecided);
    s.low = type == kI8 ? -128 : type == kI16 ? -32768 : s.cuts_off ? INT32_MIN : 0;
    s.high = type == kI8 ? 127 : type == kU8 ? 255 : type == kI16 ? 32767 : type == kU16 ? 65535 : INT32_MAX;
    return s;
}

/// Stores half of this thread's column, `rows` outputs of which are kShort rows apart in memory, as integers. What is in doubt
/// counts as the integer above, and is a bit of the result.
template <class Raw>
__device__ __forceinline__ unsigned put_integers(const Settling& s, const double (&sum)[kLong], Raw* to, std::int64_t row,
                                                 int rows) {
    constexpr double kToWhole = 0x1.8p52;  // a number that is added to it is an integer, in its low half
    unsigned doubts = 0;
    fft::for_each_index<0, kLong / 4>([&](auto group) {
        constexpr int kFirst = 4 * decltype(group)::value;
        if (kShort * kFirst >= rows) { return; }
        fft::for_each_index<kFirst, kFirst + 4>([&](auto index) {
            constexpr int j = decltype(index)::value;
            const double at = fma(sum[fft::reversed(j, 5)], s.scale, s.shift);
            const double whole = at + kToWhole;
            const int off = __double2hiint(at - (whole - kToWhole));
            int made = __double2loint(whole);
            const bool close = (off & 0x7fffffff) <= s.limit;
            const bool there = kShort * j < rows;
            // Below 1 what is cut off, or rounded half below, is zero on both sides of it.
            doubts |= close && made != 0 && there ? 1U << j : 0;
            const bool upward = s.cuts_off && __double2hiint(at) < 0;
            if (!close && upward == off >= 0) { made += upward ? 1 : -1; }
            made = min(max(made, s.low), s.high);
            if (there) { __stcs(to, static_cast<Raw>(made)); }
            to += row;
        });
    });
    return doubts;
}

/// Output (y, x) as the sum that it is, by a warp.
__device__ __noinline__ inline double sum_by_warp(const ImageArguments& a, const Tiles& g, std::int64_t first, const double* mask,
                                                  std::int64_t step, std::int64_t y, std::int64_t x) {
    const double absent = absent_pixel<double>(a);
    double sum = 0;
    for (int tap = static_cast<int>(threadIdx.x) % 32; tap < a.mask_height * a.mask_width; tap += 32) {
        const int i = tap / a.mask_width;
        const std::int64_t row = source_row(a, y - a.origin_y + i);
        const std::int64_t at = source_pixel(a, x - a.origin_x + tap - i * a.mask_width);
        const bool there = row >= 0 && at >= 0;
        sum = fma(there ? load_any<double>(g.input_type, g.input_bytes, a.in, first + row * a.in_row + at * step) : absent,
                  mask[tap], sum);
    }
#pragma unroll
    for (int other = 16; other > 0; other /= 2) { sum += __shfl_xor_sync(~0U, sum, other); }
    return sum;
}

/// A tile's place among outputs, and what its threads read.
struct DecidedTile {
    std::int64_t first_in, first_x, first_y;  // elements to its channel; its first output
    std::int64_t in_step, out, out_step;      // elements from pixel to pixel, to its first row's output 0, from output to output
    const double* mask;
};

/// Outputs in doubt, if there are only few, as the sums that they are: by all of the block, behind its stores. `shared`: nobody
/// needs what it holds any more.
template <int kPoints>
__device__ __forceinline__ void decide(const ImageArguments& a, const Tiles& g, char* shared, const DecidedTile& tile,
                                       std::uint64_t doubts) {
    auto* const count = reinterpret_cast<unsigned*>(shared);
    unsigned* const list = count + 1;
    const unsigned task = threadIdx.x;
    __syncthreads();
    if (task == 0) { *count = 0; }
    __syncthreads();
    unsigned place = doubts != 0 ? atomicAdd(count, static_cast<unsigned>(__popcll(doubts))) : 0;
    __syncthreads();
    const unsigned all = *count;
    if (all == 0 || all > kMostDecided) { return; }
    for (; doubts != 0; doubts &= doubts - 1) { list[place++] = task << 8 | static_cast<unsigned>(__ffsll(doubts) - 1); }
    __syncthreads();
    for (unsigned i = task / 32; i < all; i += blockDim.x / 32) {
        const int owner = static_cast<int>(list[i] >> 8);
        const int output = static_cast<int>(list[i] & 255);
        const std::int64_t y = tile.first_y + output % kLong * kShort + owner / kPoints;
        const std::int64_t x = tile.first_x + owner % kPoints + output / kLong * kPoints;
        const double sum = sum_by_warp(a, g, tile.first_in, tile.mask, tile.in_step, a.first + y, x);
        if (task % 32 == 0) { store_alone(a, g, tile.out + (y - tile.first_y) * a.out_row + x * tile.out_step, sum); }
    }
}

}  // namespace tapline::cuda::image_fft_rung
