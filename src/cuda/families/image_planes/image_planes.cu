// Interleaved channels to planes, and back.
#include <type_traits>
#include "cuda/families/image_planes/image_planes.hpp"

#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::image_planes_rung {
namespace {

/// Elements that move as one word.
template <class Raw>
inline constexpr int kOfWord = elements_of_word(sizeof(Raw));

template <class Raw>
struct alignas(kOfWord<Raw> * sizeof(Raw)) Word {
    Raw each[kOfWord<Raw>];
};

/// Divides numbers below 2^16 by one that the compiler does not know, in two instructions where a division takes twenty.
struct Divider {
    unsigned divisor, inverse;
    __device__ __forceinline__ explicit Divider(int by)
        : divisor(static_cast<unsigned>(by)), inverse(0xffffffffU / static_cast<unsigned>(by) + 1) {}
    [[nodiscard]] __device__ __forceinline__ int operator()(int x) const {
        return divisor == 1 ? x : static_cast<int>(static_cast<std::uint64_t>(static_cast<unsigned>(x)) * inverse >> 32);
    }
};

template <class Raw>
__device__ __forceinline__ bool begins_word(const Raw* at) {
    return reinterpret_cast<std::uintptr_t>(at) % sizeof(Word<Raw>) == 0;
}

/// take(i) gives a word or an element, put(i, it) stores it: of each i < count, a thread's next ones on their way together.
template <class T, class Take, class Put>
__device__ __forceinline__ void move_all(int count, const Take& take, const Put& put) {
    constexpr int kAtOnce = 4;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kAtOnce * kThreads) {
        T held[kAtOnce];
#pragma unroll
        for (int u = 0; u < kAtOnce; ++u) {
            if (i + u * kThreads < count) { held[u] = take(i + u * kThreads); }
        }
#pragma unroll
        for (int u = 0; u < kAtOnce; ++u) {
            if (i + u * kThreads < count) { put(i + u * kThreads, held[u]); }
        }
    }
}

/// A block takes a tile of a row. Its threads go along channels where those lie side by side, and along pixels where those do, by
/// words where elements are smaller and lie so; rows of shared memory are a word longer, so that neither way meets in a bank.
template <class Raw, bool kToPlanes>
__global__ void __launch_bounds__(kThreads) image_planes_kernel(const __grid_constant__ Passage p) {
    constexpr int W = kOfWord<Raw>;
    using Whole = Word<Raw>;
    constexpr int kPixels = pixels(sizeof(Raw));
    __shared__ alignas(16) Raw tile[tile_elements(sizeof(Raw))];
    Number number{blockIdx.x};
    const std::int64_t channel = number.take(p.channel_tiles) * p.tile_channels;
    const std::int64_t pixel = number.take(p.pixel_tiles) * p.tile_pixels;
    const std::int64_t y = number.take(p.height);
    const std::int64_t image = number.rest;
    const int channels = static_cast<int>(min(p.channels - channel, static_cast<std::int64_t>(p.tile_channels)));
    const int row = static_cast<int>(min(p.width - pixel, static_cast<std::int64_t>(p.tile_pixels)));
    const std::int64_t plane = p.height * p.width;
    const std::int64_t interleaved_at = image * p.image + y * p.row + pixel * p.channels + channel;
    const std::int64_t planar_at = (image * p.channels + channel) * plane + y * p.width + pixel;
    using Interleaved = std::conditional_t<kToPlanes, const Raw, Raw>;
    using Planar = std::conditional_t<kToPlanes, Raw, const Raw>;
    Interleaved* interleaved = nullptr;
    Planar* planar = nullptr;
    if constexpr (kToPlanes) {
        interleaved = static_cast<const Raw*>(p.from) + interleaved_at;
        planar = static_cast<Raw*>(p.to) + planar_at;
    } else {
        planar = static_cast<const Raw*>(p.from) + planar_at;
        interleaved = static_cast<Raw*>(p.to) + interleaved_at;
    }
    // What a whole tile of many channels has is known: no divisions.
    const auto go = [&](auto known) {
        constexpr int kKnown = decltype(known)::value;
        const int own = kKnown != 0 ? kKnown : channels;
        const int wide = kKnown != 0 ? kPixels : row;
        const int pitch = kKnown != 0 ? kPixels + W : p.pitch;
        const Divider by_channels(own);
        const auto along_channels = [&] {
            const auto of = [&](int i, int& x, int& c) {
                x = kKnown != 0 ? i / own : by_channels(i);
                c = i - x * own;
            };
            const int all = own * wide;
            const bool words = W > 1 && begins_word(interleaved) && (own == p.channels || (own % W == 0 && p.channels % W == 0));
            const int whole = words ? all / W : 0;
            const auto place = [&](int i) -> Raw& {
                int x = 0;
                int c = 0;
                of(i, x, c);
                return tile[c * pitch + x];
            };
            const auto address = [&](int i) {
                int x = 0;
                int c = 0;
                of(i, x, c);
                return interleaved + x * p.channels + c;
            };
            const auto places = [&](int i, const auto& visit) {
                int x = 0;
                int c = 0;
                of(i * W, x, c);
#pragma unroll
                for (int e = 0; e < W; ++e) {
                    visit(tile[c * pitch + x], e);
                    const bool next = ++c == own;
                    c = next ? 0 : c;
                    x += next ? 1 : 0;
                }
            };
            const int left = whole * W;
            if constexpr (kToPlanes) {
                move_all<Whole>(
                    whole, [&](int i) { return *reinterpret_cast<const Whole*>(address(i * W)); },
                    [&](int i, const Whole& word) { places(i, [&](Raw& to, int e) { to = word.each[e]; }); });
                move_all<Raw>(
                    all - left, [&](int i) { return *address(left + i); }, [&](int i, Raw x) { place(left + i) = x; });
            } else {
                move_all<Whole>(
                    whole,
                    [&](int i) {
                        Whole word;
                        places(i, [&](const Raw& from, int e) { word.each[e] = from; });
                        return word;
                    },
                    [&](int i, const Whole& word) { *reinterpret_cast<Whole*>(address(i * W)) = word; });
                move_all<Raw>(
                    all - left, [&](int i) { return place(left + i); }, [&](int i, Raw x) { *address(left + i) = x; });
            }
        };
        const auto along_pixels = [&] {
            const bool words = W > 1 && begins_word(planar) && plane % W == 0;
            const int of_row = words ? wide / W : 0;                               // words
            const auto move = [&](auto element, int first, int count, int size) {  // places from `first` on of each channel
                using T = decltype(element);
                const Divider by_count(count);
                const auto at = [&](int i, auto* base, std::int64_t step) {
                    const int c = kKnown != 0 && kPixels % W == 0 && size == W ? i / (kPixels / W) : by_count(i);
                    return base + c * step + first + (i - c * count) * size;
                };
                using Const = const T;
                if constexpr (kToPlanes) {
                    move_all<T>(
                        own * count, [&](int i) { return *reinterpret_cast<Const*>(at(i, tile, pitch)); },
                        [&](int i, const T& x) { *reinterpret_cast<T*>(at(i, planar, plane)) = x; });
                } else {
                    move_all<T>(
                        own * count, [&](int i) { return *reinterpret_cast<Const*>(at(i, planar, plane)); },
                        [&](int i, const T& x) { *reinterpret_cast<T*>(at(i, tile, pitch)) = x; });
                }
            };
            if (of_row > 0) { move(Whole{}, 0, of_row, W); }
            if (of_row * W < wide) { move(Raw{}, of_row * W, wide - of_row * W, 1); }
        };
        if constexpr (kToPlanes) {
            along_channels();
            __syncthreads();
            along_pixels();
        } else {
            along_pixels();
            __syncthreads();
            along_channels();
        }
    };
    if (channels == kChannels && row == kPixels && p.tile_pixels == kPixels) {
        go(std::integral_constant<int, kChannels>{});
    } else {
        go(std::integral_constant<int, 0>{});
    }
}

template <bool kToPlanes>
Kernel kernel_of(int bytes) {
    return with_elements_of<8>(bytes, [](auto raw) -> Kernel { return &image_planes_kernel<decltype(raw), kToPlanes>; });
}

}  // namespace

Kernel to_planes(int bytes) { return kernel_of<true>(bytes); }
Kernel from_planes(int bytes) { return kernel_of<false>(bytes); }

}  // namespace tapline::cuda::image_planes_rung
