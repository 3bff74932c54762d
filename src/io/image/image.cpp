#include "io/image/image.hpp"

#include <array>

#include "io/format.hpp"
#include "io/image/codecs.hpp"
#include "io/npy/header.hpp"
#include "io/readers.hpp"
#include "io/shape.hpp"
#include "io/system.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

namespace {

struct Extension {
    std::string_view name;
    ImageFormat format;
};

constexpr std::array kExtensions{Extension{".png", ImageFormat::png}, Extension{".jpg", ImageFormat::jpeg},
                                 Extension{".jpeg", ImageFormat::jpeg}, Extension{".npy", ImageFormat::npy}};

std::string size_text(std::int64_t height, std::int64_t width) { return std::to_string(height) + " x " + std::to_string(width); }

void check_png(const Image& image, const std::string& name) {
    if (image.dtype != Dtype::u8 && image.dtype != Dtype::u16) {
        throw Error(ErrorCode::type, name + ": PNG holds u8 or u16 pixels, not " + to_string(image.dtype) +
                                         "; write .npy, or ask for --dtype u8 (with a --scale that fits)");
    }
    if (image.channels > 4) {
        throw Error(ErrorCode::argument,
                    name + ": PNG holds 1 to 4 channels, not " + std::to_string(image.channels) + "; write .npy");
    }
    constexpr std::int64_t kMostPixels = 0x7fffffff;  // a side, by PNG's own rule; libpng's own limit is lower
    if (image.height > kMostPixels || image.width > kMostPixels) {
        throw Error(ErrorCode::argument, name + ": PNG holds no image of " + size_text(image.height, image.width) + "; write .npy");
    }
}

void check_jpeg(const Image& image, const ImageWriteOptions& options, const std::string& name) {
    if (options.quality < 1 || options.quality > 100) {
        throw Error(ErrorCode::argument, "quality: " + std::to_string(options.quality) + "; give a number from 1 to 100");
    }
    if (image.dtype != Dtype::u8) {
        const bool deep = image.dtype == Dtype::u16;
        throw Error(ErrorCode::type, name + ": JPEG holds u8 pixels, not " + to_string(image.dtype) + "; write " +
                                         (deep ? ".png" : ".npy") + ", or ask for --dtype u8" +
                                         (deep ? " --scale 0.0038910506" : " (with a --scale that fits)"));
    }
    if (image.alpha || (image.channels != 1 && image.channels != 3)) {
        throw Error(ErrorCode::argument, name + ": JPEG holds grey or RGB, not " +
                                             describe_pixels(image.dtype, image.channels, image.alpha) +
                                             (image.alpha ? "; write .png, or leave alpha out with --alpha drop" : "; write .npy"));
    }
    constexpr std::int64_t kMostPixels = 65500;  // a side: JPEG_MAX_DIMENSION
    if (image.height > kMostPixels || image.width > kMostPixels) {
        throw Error(ErrorCode::argument, name + ": JPEG holds at most 65500 rows and columns, not " +
                                             size_text(image.height, image.width) + "; write .png");
    }
}

}  // namespace

const char* to_string(ImageFormat format) noexcept {
    constexpr const char* kNames[] = {"png", "jpeg", "npy"};
    static_assert(std::size(kNames) == static_cast<std::size_t>(ImageFormat::npy) + 1);
    return kNames[static_cast<int>(format)];
}

std::optional<ImageFormat> image_format_of_name(std::string_view path) {
    const std::string name = extension_of(path);
    for (const Extension& extension : kExtensions) {
        if (extension.name == name) { return extension.format; }
    }
    return std::nullopt;
}

std::string describe_pixels(Dtype dtype, std::int64_t channels, bool alpha) {
    constexpr std::array kColours{"grey", "grey and alpha", "RGB", "RGBA"};
    const bool has_name = channels == 1 || (channels == 3 && !alpha) || (alpha && (channels == 2 || channels == 4));
    if (has_name) { return std::string(to_string(dtype)) + " " + kColours[static_cast<std::size_t>(channels - 1)]; }
    return std::string(to_string(dtype)) + ", " + std::to_string(channels) + " channels";
}

void check_size(const Image& image, const std::string& name, const ImageReadOptions& options) {
    const auto bytes = product_of({image.height, image.width, image.channels, static_cast<std::int64_t>(size_of(image.dtype))});
    if (bytes && *bytes <= options.max_bytes) { return; }
    throw Error(ErrorCode::memory, name + ": " + size_text(image.height, image.width) + " pixels, " +
                                       describe_pixels(image.dtype, image.channels, image.alpha) + ", take more than the " +
                                       std::to_string(options.max_bytes >> 20) +
                                       " MiB that are allowed here; cut the image into parts");
}

void allocate_pixels(Image& image, const std::string& name, const ImageReadOptions& options) {
    check_size(image, name, options);
    image.pixels = core::allocate(image.bytes(), name.c_str());
}

void check_promise(const ByteSource& source, std::int64_t height, std::int64_t width, double pixels_per_byte) {
    const double pixels = static_cast<double>(height) * static_cast<double>(width);
    if (pixels <= static_cast<double>(source.size()) * pixels_per_byte) { return; }
    fail_content(source.name(), "its header promises " + size_text(height, width) + " pixels, more than its " +
                                    std::to_string(source.size()) + " bytes can hold; the file is damaged");
}

Image read_image(const std::string& path, const ImageReadOptions& options) {
    std::unique_ptr<ByteSource> source = ByteSource::open(path);
    const std::string_view head = source->peek(kPngMagic.size());
    if (head.empty()) { fail_content(source->name(), "is empty"); }
    if (head.substr(0, kNpyMagic.size()) == kNpyMagic) { return read_npy_image(std::move(source), options); }
    const bool png = head == kPngMagic;
    if (!png && head.substr(0, kJpegMagic.size()) != kJpegMagic) {
        fail_content(source->name(), "is neither a PNG, a JPEG nor a NumPy (.npy) file");
    }
    source->make_seekable();
    return png ? read_png(*source, options) : read_jpeg(*source, options);
}

void check_writable(const Image& image, const ImageWriteOptions& options, const std::string& name) {
    if (options.format == ImageFormat::png) { check_png(image, name); }
    if (options.format == ImageFormat::jpeg) { check_jpeg(image, options, name); }
}

void write_image(OutputFile& file, const Image& image, const ImageWriteOptions& options) {
    check_writable(image, options, file.name());
    switch (options.format) {
        case ImageFormat::png:
            return write_png(file, image, options);
        case ImageFormat::jpeg:
            return write_jpeg(file, image, options);
        case ImageFormat::npy:
            return write_npy_image(file, image);
    }
}

}  // namespace tapline::io
