// A tile of an image: on its way to shared memory, boundary rules applied on the way, and its outputs on their way out.
#pragma once

#include "cuda/primitives/copy_async.cuh"
#include "cuda/primitives/image/image_arguments.cuh"

namespace tapline::cuda {

/// Which tile a block has, and where its window begins. Blocks go along rows of tiles, so that those at work share halos in the
/// L2 cache.
struct ImageTile {
    std::int64_t image;
    std::int64_t y, e;  // first output row, from the job's first; first output element of a row
};

__device__ __forceinline__ ImageTile tile_of_block(const ImageArguments& a, int tile_rows, int tile_elements) {
    const auto tiles_x = static_cast<unsigned>(a.tiles_x);
    const auto tiles_y = static_cast<unsigned>(a.tiles_y);
    const unsigned row = blockIdx.x / tiles_x;
    const unsigned image = row / tiles_y;
    return {image, static_cast<std::int64_t>(row - image * tiles_y) * tile_rows,
            static_cast<std::int64_t>(blockIdx.x - row * tiles_x) * tile_elements};
}

/// Elements by which a window that begins with element e of image row 0 has to begin earlier to begin on 16 bytes.
template <class S>
__device__ __forceinline__ int window_lead(const ImageArguments& a, std::int64_t e) {
    if (a.in_step != 1) { return 0; }
    const auto address = reinterpret_cast<std::uintptr_t>(static_cast<const S*>(a.in) + e);
    return static_cast<int>(address % 16 / sizeof(S));
}

/// *to = element e of the image's row that begins at `from`.
template <class S>
__device__ __forceinline__ void load_into(const ImageArguments& a, S* to, const S* from, std::int64_t e, const S& absent) {
    if (e < 0 || e >= a.row_elements) {
        e = source_element(a, e);
        *to = e < 0 ? absent : load_element(from + e * a.in_step);
    } else if constexpr (sizeof(S) == 4) {
        copy_4_async(to, from + e * a.in_step);
    } else if constexpr (sizeof(S) == 8) {
        // A complex element lies where its parts may.
        const S* const source = from + e * a.in_step;
        if (!kIsComplexElement<S> || reinterpret_cast<std::uintptr_t>(source) % 8 == 0) {
            copy_8_async(to, source);
        } else {
            *to = load_element(source);
        }
    } else {
        *to = load_element(from + e * a.in_step);
    }
}

/// Elements of a row's window from which on its samples of 1 and 2 bytes are copied by words: below, lanes have an element each.
inline constexpr int kFewestByWords = 65;

/// The part of a row's window, by a warp, that is words in memory as it is in the window: elements `begin` to `end` of those from
/// element e of the row that begins at `from` on. `to` lies on 16 bytes.
template <class S>
__device__ __forceinline__ void load_words(const ImageArguments& a, S* to, const S* from, std::int64_t e, int elements, int lane,
                                           int& begin, int& end) {
    constexpr int kOfWord = 4 / static_cast<int>(sizeof(S));
    const S* const first = from + e;
    if (a.in_step != 1 || reinterpret_cast<std::uintptr_t>(first) % 4 != 0) { return; }
    const auto within = [&](std::int64_t i) {
        return static_cast<int>(min(max(i, std::int64_t{0}), static_cast<std::int64_t>(elements)));
    };
    begin = (within(-e) + kOfWord - 1) / kOfWord * kOfWord;
    end = max(within(a.row_elements - e) / kOfWord * kOfWord, begin);
#pragma unroll 1
    for (int i = begin + lane * kOfWord; i < end; i += 32 * kOfWord) { copy_4_async(to + i, first + i); }
}

/// load_window() where memory has the elements of columns side by side: lanes go down them.
template <class S>
__device__ __forceinline__ void load_window_by_columns(const ImageArguments& a, S* window, const S* in, std::int64_t y,
                                                       std::int64_t e, int rows, int elements, int pitch) {
    constexpr int kDown = 8;   // lanes: a sector of memory and more
    constexpr int kTurns = 8;  // columns of a lane
    constexpr int kAcross = 32 / kDown * kTurns;
    const S absent = absent_pixel<S>(a);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warps = static_cast<int>(blockDim.x) / 32;
    const int across = (elements + kAcross - 1) / kAcross;
    const int parts = (rows + kDown - 1) / kDown * across;
    for (int part = static_cast<int>(threadIdx.x) / 32; part < parts; part += warps) {
        const int down = part / across;
        const int r = down * kDown + lane % kDown;
        if (r >= rows) { continue; }
        const std::int64_t source = source_row(a, y + r);
        const S* const from = in + source * a.in_row;
        const int first = (part - down * across) * kAcross + lane / kDown;
        S* const to = window + r * pitch + first;
#pragma unroll
        for (int i = 0; i < kAcross; i += 32 / kDown) {
            if (first + i >= elements) { break; }
            if (source < 0) {
                to[i] = absent;
            } else {
                load_into(a, to + i, from, e + first + i, absent);
            }
        }
    }
}

/// window[r * pitch + i] = image(y + r, element e + i), 0 <= r < rows, 0 <= i < elements, by the whole block. `elements` and
/// `pitch` are multiples of a vector, and e is window_lead() before what is needed. Ends with all copies of this thread committed:
/// wait_copies and a barrier follow.
template <class S>
__device__ __forceinline__ void load_window(const ImageArguments& a, S* window, std::int64_t image, std::int64_t y, std::int64_t e,
                                            int rows, int elements, int pitch) {
    constexpr int V = kPerVector<S>;
    const S* in = static_cast<const S*>(a.in) + image * a.in_image;
    const int thread = static_cast<int>(threadIdx.x);
    const int threads = static_cast<int>(blockDim.x);
    const bool inside = a.in_step == 1 && y >= a.in_first && y + rows <= a.in_last && e >= 0 && e + elements <= a.row_elements;
    const S* const corner = in + (y - a.in_first) * a.in_row + e;
    const bool aligned =
        reinterpret_cast<std::uintptr_t>(corner) % 16 == 0 && a.in_row * static_cast<std::int64_t>(sizeof(S)) % 16 == 0;
    if (inside && aligned) {
        const int vectors = elements / V;
        // Vectors go to the threads in turn. From one of a thread's to its next are `down` rows and `along` vectors, or one row
        // more and a whole row of vectors less: additions only, where a division and a product for each would cost more than the
        // sums of a small mask.
        const int down = threads / vectors;
        const int along = threads - down * vectors;
        int r = thread / vectors;
        int v = thread - r * vectors;
        const S* from = corner + r * a.in_row + v * V;
        S* to = window + r * pitch + v * V;
        const std::int64_t step = down * a.in_row + along * V;
        const std::int64_t turn = a.in_row - vectors * V;
        const int shared_step = down * pitch + along * V;
        const int shared_turn = pitch - vectors * V;
#pragma unroll 4
        while (r < rows) {
            copy_16_async(to, from);
            r += down;
            v += along;
            from += step;
            to += shared_step;
            if (v >= vectors) {
                v -= vectors;
                ++r;
                from += turn;
                to += shared_turn;
            }
        }
    } else if (a.by_columns != 0) {
        load_window_by_columns(a, window, in, y, e, rows, elements, pitch);
    } else {
        const S absent = absent_pixel<S>(a);
        const int lane = thread % 32;
        for (int r = thread / 32; r < rows; r += threads / 32) {
            const std::int64_t source = source_row(a, y + r);
            const S* const from = in + source * a.in_row;
            S* const to = window + r * pitch;
            if (source < 0) {
                for (int i = lane; i < elements; i += 32) { to[i] = absent; }
                continue;
            }
            if constexpr (sizeof(S) < 4) {
                if (elements >= kFewestByWords) {
                    int begin = 0;
                    int end = 0;
                    load_words(a, to, from, e, elements, lane, begin, end);
                    if (begin < end) {
#pragma unroll 1
                        for (int i = lane; i < elements - (end - begin); i += 32) {
                            const int at = i < begin ? i : i + (end - begin);
                            load_into(a, to + at, from, e + at, absent);
                        }
                        continue;
                    }
                }
            }
#pragma unroll 4
            for (int i = lane; i < elements; i += 32) { load_into(a, to + i, from, e + i, absent); }
        }
    }
    commit_copies();
}

/// The outputs of a strip: elements e of output rows y, y + 1, ..., relative to the job's first row.
template <class S, int R>
__device__ __forceinline__ void store_strip(const ImageArguments& a, const ImageTile& tile, int y, int e,
                                            const typename Element<S>::Sum (&sum)[R]) {
    const std::int64_t element = tile.e + e;
    if (element >= a.out_elements) { return; }
    const std::int64_t row = tile.y + y;
    const std::int64_t index = tile.image * a.out_image + row * a.out_row + element * a.out_step;
    if constexpr (!kIsComplexElement<S>) {
        if (a.common.plain_store && !a.common.converts && row + R <= a.rows) {
            S* to = static_cast<S*>(a.out) + index;
#pragma unroll
            for (int r = 0; r < R; ++r) { __stcs(to + r * a.out_row, Element<S>::narrow(sum[r])); }
            return;
        }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
        if (row + r < a.rows) { store_pixel<S>(a, a.out, index + r * a.out_row, sum[r]); }
    }
}

/// Element `element` of output row y as the sum that it is, from global memory; load(i): element i of the image as a float; `mask`:
/// its channel's.
template <class Load>
__device__ __forceinline__ float sum_of_terms(const ImageArguments& a, const Load& load, const float* mask, std::int64_t y,
                                              std::int64_t element) {
    const float absent = absent_pixel<float>(a);
    float sum = 0;
    for (int i = 0; i < a.mask_height; ++i) {
        const std::int64_t row = source_row(a, y - a.origin_y + i);
        for (int j = 0; j < a.mask_width; ++j) {
            const std::int64_t at = source_element(a, element + (j - a.origin_x) * a.channels);
            sum = fmaf(row >= 0 && at >= 0 ? load(row * a.in_row + at) : absent, mask[i * a.mask_width + j], sum);
        }
    }
    return sum;
}

/// The same of floats.
__device__ __noinline__ inline float sum_term_by_term(const ImageArguments& a, const float* in, const float* mask, std::int64_t y,
                                                      std::int64_t element) {
    return sum_of_terms(
        a, [&](std::int64_t at) { return in[at]; }, mask, y, element);
}

}  // namespace tapline::cuda
