// The door of abi.hpp for images: a second C entry of the same library with a table of its own. A library without it has no
// images; one of another kImageAbiVersion is treated as such.
#pragma once

#include "cuda/abi.hpp"

namespace tapline::cuda_abi {

inline constexpr std::uint32_t kImageAbiVersion = 1;
inline constexpr const char* kImageEntryName =
    "tapline_cuda_images";  // const ImageApi* (*)(std::uint32_t caller's kImageAbiVersion)

/// tapline::core::ResolvedImage as plain data. Enumerations have the numbers of tapline/types.hpp. Strides count elements.
struct ImageProblem {
    std::int64_t height = 0, width = 0, channels = 1, batch = 1;
    std::int64_t mask_height = 0, mask_width = 0;
    std::int64_t masks = 1;  ///< 1 or channels
    std::int64_t origin_y = 0, origin_x = 0, out_height = 0, out_width = 0;
    std::int64_t in_row = 0, in_image = 0, out_row = 0, out_image = 0;
    std::int32_t dtype = 0, taps_dtype = 0, output_dtype = 0, boundary = 0;
    std::int32_t accuracy = 0;
    std::int32_t trivial_epilogue = 1;  ///< no scale, bias, clamp or change of type
    std::int32_t has_clamp = 0;
    std::int32_t ladder = 0;  ///< asked by the ladder: rungs that no plan may use answer too
    std::int32_t rank = 0;    ///< separable masks that make up a mask, the most of all masks; 0: not separable, or not known
    std::int32_t exact_specials = 0;  ///< core::SeparableMask::exact_specials of every mask
    double constant_real = 0, constant_imag = 0;
    double scale = 1, bias = 0, low = 0, high = 0;
};

/// Host memory, correlation order: taps (masks, mask_height, mask_width); where rank > 0 also the factors of each mask,
/// columns (masks, rank, mask_height) and rows (masks, rank, mask_width).
struct ImageTaps {
    const void* taps = nullptr;
    const double* columns = nullptr;
    const double* rows = nullptr;
};

/// Output rows [first, first + rows) of the images from image rows [in_first, in_last), all in device memory. Rows inside
/// [in_first, in_last) are read as they are, even outside [0, height): a caller may have applied the boundary rule. Other rows
/// follow the boundary rule; rows of [0, height) that are not there must not be needed.
struct ImageJob {
    void* out = nullptr;  ///< output row `first` of the first image
    std::int64_t first = 0, rows = 0, out_row = 0, out_image = 0;
    const void* in = nullptr;  ///< row in_first of the first image
    std::int64_t in_first = 0, in_last = 0, in_row = 0, in_image = 0;
    std::int64_t images = 1;
};

struct PreparedImage;  // a rung with a mask on one device

/// As Api's functions of the same names.
struct ImageApi {
    std::uint32_t abi_version;
    std::uint32_t api_bytes;
    std::int32_t (*rung_count)();
    RungInfo (*rung)(std::int32_t rung);
    bool (*supports)(std::int32_t rung, std::int32_t device, const ImageProblem*, Status*);
    double (*estimate_seconds)(std::int32_t rung, std::int32_t device, const ImageProblem*);
    PreparedImage* (*prepare)(std::int32_t rung, std::int32_t device, const ImageProblem*, const ImageTaps*, Status*);
    void (*release)(PreparedImage*);
    std::int64_t (*workspace_bytes)(const PreparedImage*);
    /// Output rows that belong together: for the same bits jobs start at multiples of it and all but the last cover whole ones.
    std::int64_t (*band_rows)(const PreparedImage*);
    void (*describe)(const PreparedImage*, char* text, std::size_t bytes);
    bool (*execute)(const PreparedImage*, const ImageJob*, void* workspace, std::int64_t workspace_bytes, Stream*, Status*);
    bool (*measure)(const PreparedImage*, const ImageJob*, void* workspace, std::int64_t workspace_bytes, bool cold, double seconds,
                    Measurement*, Status*);
};

using ImageEntry = const ImageApi* (*)(std::uint32_t);

}  // namespace tapline::cuda_abi
