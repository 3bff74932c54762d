// Images from and to files: PNG, JPEG and NumPy arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/host_memory.hpp"
#include "io/byte_source.hpp"
#include "io/output_file.hpp"
#include "tapline/types.hpp"

namespace tapline::io {

enum class ImageFormat { png, jpeg, npy };

const char* to_string(ImageFormat format) noexcept;

/// By the name's extension (.png, .jpg, .jpeg, .npy) in any case of letters; nothing for an unknown one.
std::optional<ImageFormat> image_format_of_name(std::string_view path);

/// What a file says about its pixels besides their values. PNG and JPEG keep it where they can.
struct ImageMetadata {
    std::vector<unsigned char> icc = {};   ///< colour profile; may be empty
    std::vector<unsigned char> exif = {};  ///< from the byte order mark on, without JPEG's "Exif\0\0"; may be empty
    std::uint32_t pixels_per_metre_x = 0;  ///< 0: not said
    std::uint32_t pixels_per_metre_y = 0;
    int srgb_intent = -1;  ///< PNG's sRGB chunk; -1: none
    double gamma = 0;      ///< PNG's gAMA chunk; 0: none
};

/// Rows from top to bottom, pixels from left to right, channels interleaved, nothing between rows.
struct Image {
    ImageFormat format = ImageFormat::png;  ///< of the file it was read from
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::int64_t channels = 1;
    Dtype dtype = Dtype::u8;
    bool alpha = false;         ///< the last channel is opacity: PNG only, arrays do not tell
    bool channel_axis = false;  ///< an array of three dimensions, be the last one 1
    ImageMetadata metadata = {};
    std::string description = {};  ///< "PNG image, 640 x 480, u8 RGB", for people
    core::AlignedBytes pixels = {};

    [[nodiscard]] std::int64_t elements() const { return height * width * channels; }
    [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype); }
};

/// "u8 RGB", "f32, 5 channels".
std::string describe_pixels(Dtype dtype, std::int64_t channels, bool alpha);

struct ImageReadOptions {
    /// The most bytes that the pixels may take; a larger image is an Error before anything is allocated.
    std::int64_t max_bytes = std::numeric_limits<std::int64_t>::max();
};

/// The content tells the format, not the name; "-" is standard input. PNG: grey below 8 bits and palettes become u8, transparency
/// becomes an alpha channel. JPEG: grey or RGB. Arrays: (height, width) or (height, width, channels), f16 widened to f32.
/// Throws Error: io if it cannot be read or is malformed or cut off, type for pixels that are not supported, argument for a shape
/// that is no image's, memory if it is too large.
Image read_image(const std::string& path, const ImageReadOptions& options = {});

struct ImageWriteOptions {
    ImageFormat format = ImageFormat::png;
    int quality = 95;     ///< JPEG: 1 to 100; from 90 on colours keep the full resolution
    int compression = 4;  ///< PNG: 0 (none) to 9 (smallest)
};

/// Throws Error (type or argument) with a remedy if a file of this format cannot hold such an image: PNG takes 1 to 4 channels of
/// u8 or u16, JPEG 1 or 3 of u8 without alpha. Looks at sizes and types only.
void check_writable(const Image& image, const ImageWriteOptions& options, const std::string& name);

/// Writes all of the image; the caller commits the file. Throws Error as check_writable, and io.
void write_image(OutputFile& file, const Image& image, const ImageWriteOptions& options);

}  // namespace tapline::io
