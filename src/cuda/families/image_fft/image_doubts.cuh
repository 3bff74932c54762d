// Sums in double on their way to integers that lose their fraction, or are rounded: transforms leave in doubt what lies so near to
// the next integer that their roundings may have put it on its other side.
#pragma once

#include "cuda/families/image_fft/image_pixels.cuh"
#include "cuda/primitives/fft.cuh"

namespace tapline::cuda::image_fft_rung {

constexpr unsigned kMostDecided = 16;  // outputs of a tile; where there are more, as of flat areas, integers are what they are

/// Sums become what is stored but for its type. What is in doubt counts as the integer above: bit j is output j of the first half
/// of this thread's column that is, bit kLong + j one of the second. `rows`: outputs of the column, kShort apart.
template <class T>
__device__ __forceinline__ std::uint64_t settle(const ImageArguments& a, double undecided, T (&re)[kLong], T (&im)[kLong], int rows,
                                                bool whole, bool half) {
    constexpr double kToWhole = 0x1.8p52;  // added and taken away it rounds to integers
    const bool cuts_off = a.common.output_type == kLowBits;
    const int limit = __double2hiint(undecided);  // its magnitude but for 2^-20 of it
    std::uint64_t doubts = 0;
    const auto take = [&](T(&sum)[kLong], int first, bool wanted) {
        fft::for_each_index<0, kLong>([&](auto index) {
            constexpr int j = decltype(index)::value;
            constexpr int m = fft::reversed(j, 5);
            const T made = finish(a.common, sum[m]);
            const T at = cuts_off ? made : made + 0.5;
            const T nearest = at + kToWhole - kToWhole;
            // Below 1 what is cut off, or rounded half below, is zero on both sides of it.
            const bool doubtful = (__double2hiint(at - nearest) & 0x7fffffff) <= limit && nearest != 0;
            doubts |= doubtful && wanted && kShort * j < rows ? std::uint64_t{1} << (first + j) : 0;
            sum[m] = made + (cuts_off && made < 0 ? -undecided : undecided);
        });
    };
    take(re, 0, whole);
    take(im, kLong, half);
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
