// What every production kernel for images gets.
#pragma once

#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda {

/// A row of an image is `row_elements` = width * channels elements; a step of one tap along x is `channels` elements.
struct ImageArguments {
    void* out;          // output row `first` of the first image
    const void* in;     // row in_first of the first image
    const void* taps;   // masks of (mask_height, mask_width), mask_taps apart, or the rung's own form
    const void* table;  // the rung's own form, if it needs both
    std::int64_t first, rows, out_row, out_image;
    std::int64_t in_first, in_last, in_row, in_image, images;
    std::int64_t height, width, row_elements, out_elements;  // of a row of the image and of the output
    std::int64_t in_step, out_step;  // of memory, from one element of a row to the next: 1 but for single channels that lie apart
    std::int64_t origin_y, origin_x;
    std::int64_t tiles_x, tiles_y;
    std::int64_t mask_taps;  // from one channel's mask to the next, in the rung's own form; 0: one for all
    int mask_height, mask_width, channels;
    std::int32_t by_columns;   // elements of a column lie closer in the image's memory than those of a row
    std::int32_t exact_edges;  // taps hold a NaN or an infinity under a zero boundary: absent terms must stay absent
    std::int32_t integers;     // pixels are u8 or u16
    Arguments common;          // boundary, constant, epilogue and output type; nothing else is set
};

}  // namespace tapline::cuda
