// The image formats, one file each; read_image and write_image choose.
#pragma once

#include "io/image/image.hpp"

namespace tapline::io {

inline constexpr std::string_view kPngMagic{"\x89PNG\r\n\x1a\n", 8};
inline constexpr std::string_view kJpegMagic{"\xff\xd8\xff", 3};

/// The source can seek: its size bounds what a header may promise.
Image read_png(ByteSource& source, const ImageReadOptions& options);
Image read_jpeg(ByteSource& source, const ImageReadOptions& options);
Image read_npy_image(std::unique_ptr<ByteSource> source, const ImageReadOptions& options);

void write_png(OutputFile& file, const Image& image, const ImageWriteOptions& options);
void write_jpeg(OutputFile& file, const Image& image, const ImageWriteOptions& options);
void write_npy_image(OutputFile& file, const Image& image);

/// Throws Error(memory) if the pixels take more than options.max_bytes.
void check_size(const Image& image, const std::string& name, const ImageReadOptions& options);
/// Allocates the pixels, if check_size() allows it.
void allocate_pixels(Image& image, const std::string& name, const ImageReadOptions& options);

/// Throws Error(io) if the file cannot hold so many pixels even at `pixels_per_byte`, the most its compression can reach.
void check_promise(const ByteSource& source, std::int64_t height, std::int64_t width, double pixels_per_byte);

}  // namespace tapline::io
