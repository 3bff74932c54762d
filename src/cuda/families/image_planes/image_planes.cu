// Interleaved channels to planes, and back.
#include "cuda/families/image_planes/image_planes.hpp"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::image_planes_rung {
namespace {

/// A block takes a tile of a row. Its threads go along channels where those lie side by side, and along pixels where those do; the
/// row of shared memory is one element longer, so that neither way meets in a bank.
template <class Raw, bool kToPlanes>
__global__ void __launch_bounds__(kThreads) image_planes_kernel(const __grid_constant__ Passage p) {
    __shared__ Raw tile[kChannels][kPixels + 1];
    std::int64_t rest = blockIdx.x;
    const auto take = [&](std::int64_t length) {
        const std::int64_t before = rest;
        rest = divide(rest, length);
        return before - rest * length;
    };
    const std::int64_t channel = take(p.channel_tiles) * kChannels;
    const std::int64_t pixel = take(p.pixel_tiles) * kPixels;
    const std::int64_t y = take(p.height);
    const std::int64_t image = rest;
    const int channels = static_cast<int>(min(p.channels - channel, std::int64_t{kChannels}));
    const int pixels = static_cast<int>(min(p.width - pixel, std::int64_t{kPixels}));
    const int all = channels * pixels;
    const std::int64_t interleaved = image * p.image + y * p.row + pixel * p.channels + channel;
    const std::int64_t plane = p.height * p.width;
    const std::int64_t planar = (image * p.channels + channel) * plane + y * p.width + pixel;
    const bool is_whole = channels == kChannels && pixels == kPixels;
    const auto go_along_channels = [&](const auto& body) {
        if (is_whole) {
#pragma unroll
            for (int u = 0; u < kChannels * kPixels / kThreads; ++u) {
                const int i = static_cast<int>(threadIdx.x) + u * kThreads;
                body(tile[i % kChannels][i / kChannels], interleaved + i / kChannels * p.channels + i % kChannels);
            }
            return;
        }
#pragma unroll 4
        for (int i = static_cast<int>(threadIdx.x); i < all; i += kThreads) {
            const int x = i / channels;
            const int c = i - x * channels;
            body(tile[c][x], interleaved + x * p.channels + c);
        }
    };
    const auto go_along_pixels = [&](const auto& body) {
        if (is_whole) {
#pragma unroll
            for (int u = 0; u < kChannels * kPixels / kThreads; ++u) {
                const int i = static_cast<int>(threadIdx.x) + u * kThreads;
                body(tile[i / kPixels][i % kPixels], planar + i / kPixels * plane + i % kPixels);
            }
            return;
        }
#pragma unroll 4
        for (int i = static_cast<int>(threadIdx.x); i < channels * kPixels; i += kThreads) {
            const int c = i / kPixels;
            const int x = i % kPixels;
            if (x < pixels) { body(tile[c][x], planar + c * plane + x); }
        }
    };
    const auto load = [&](Raw& to, std::int64_t at) { to = static_cast<const Raw*>(p.from)[at]; };
    const auto store = [&](const Raw& from, std::int64_t at) { static_cast<Raw*>(p.to)[at] = from; };
    if constexpr (kToPlanes) {
        go_along_channels(load);
        __syncthreads();
        go_along_pixels(store);
    } else {
        go_along_pixels(load);
        __syncthreads();
        go_along_channels(store);
    }
}

template <bool kToPlanes>
Kernel kernel_of(int bytes) {
    switch (bytes) {
        case 1:
            return &image_planes_kernel<RawOf<1>::Type, kToPlanes>;
        case 2:
            return &image_planes_kernel<RawOf<2>::Type, kToPlanes>;
        case 4:
            return &image_planes_kernel<RawOf<4>::Type, kToPlanes>;
        case 8:
            return &image_planes_kernel<RawOf<8>::Type, kToPlanes>;
        default:
            return nullptr;
    }
}

}  // namespace

Kernel to_planes(int bytes) { return kernel_of<true>(bytes); }
Kernel from_planes(int bytes) { return kernel_of<false>(bytes); }

}  // namespace tapline::cuda::image_planes_rung
