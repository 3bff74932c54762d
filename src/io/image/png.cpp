// PNG through libpng, which reports errors by longjmp: what it is called in owns no memory, and what is called by it does not
// throw.
#include <png.h>

#include <bit>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "io/image/codecs.hpp"
#include "io/system.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

namespace {

// What the callbacks see.
struct State {
    ByteSource* source = nullptr;
    OutputFile* file = nullptr;
    std::exception_ptr thrown;   // by source or file
    std::size_t most_bytes = 0;  // of one allocation
    char message[200] = "";
};

void on_error(png_structp png, png_const_charp message) {
    auto* state = static_cast<State*>(png_get_error_ptr(png));
    std::snprintf(state->message, sizeof(state->message), "%s", message);
    png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

// libpng would believe a chunk that calls itself a gigabyte long before it looks for its bytes.
png_voidp on_allocate(png_structp png, png_alloc_size_t bytes) {
    const auto* state = static_cast<const State*>(png_get_mem_ptr(png));
    return bytes <= state->most_bytes ? std::malloc(bytes) : nullptr;
}

void on_free(png_structp, png_voidp memory) { std::free(memory); }

void on_read(png_structp png, png_bytep data, std::size_t bytes) {
    auto* state = static_cast<State*>(png_get_io_ptr(png));
    bool complete = false;
    try {
        complete = state->source->read(data, bytes) == bytes;
    } catch (...) { state->thrown = std::current_exception(); }
    if (!complete) { png_error(png, "the file is cut off"); }
}

void on_write(png_structp png, png_bytep data, std::size_t bytes) {
    auto* state = static_cast<State*>(png_get_io_ptr(png));
    try {
        state->file->write(data, bytes);
    } catch (...) { state->thrown = std::current_exception(); }
    if (state->thrown) { png_error(png, "the file cannot be written"); }
}

void on_flush(png_structp) {}

class Codec {
public:
    Codec(const Codec&) = delete;
    Codec& operator=(const Codec&) = delete;

protected:
    explicit Codec(std::string name) : name_(std::move(name)) {}
    ~Codec() = default;

    void check_created() const {
        if (png_ == nullptr || info_ == nullptr) { throw Error(ErrorCode::memory, name_ + ": libpng could not be set up"); }
    }

    // Runs `step`, calls of libpng without locals that need a destructor, and turns its error into an Error.
    template <class Step>
    void guarded(Step step) {
        if (setjmp(png_jmpbuf(png_)) != 0) { fail(); }
        step();
    }

    [[noreturn]] void fail() const {
        if (state_.thrown) { std::rethrow_exception(state_.thrown); }
        fail_content(name_, std::string("PNG: ") + state_.message);
    }

    std::string name_;
    State state_;
    png_structp png_ = nullptr;
    png_infop info_ = nullptr;
};

class PngReader : Codec {
public:
    explicit PngReader(ByteSource& source) : Codec(source.name()), source_(source) {
        state_.source = &source;
        constexpr std::size_t kOwnBytes = 16 << 20;  // for what libpng needs besides, and for inflated profiles
        state_.most_bytes = kOwnBytes + static_cast<std::size_t>(source.size());
        png_ = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &state_, &on_error, &on_warning, &state_, &on_allocate, &on_free);
        if (png_ != nullptr) { info_ = png_create_info_struct(png_); }
    }
    ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

    Image read(const ImageReadOptions& options) {
        check_created();
        Image image;
        read_header();
        image.height = png_get_image_height(png_, info_);
        image.width = png_get_image_width(png_, info_);
        constexpr double kDeflateRatio = 1032;  // 258 bytes for 2 bits: the most that deflate reaches
        const int bits = png_get_bit_depth(png_, info_) * png_get_channels(png_, info_);
        check_promise(source_, image.height, image.width, kDeflateRatio * 8 / bits);
        check_size(image, name_, options);  // at one byte a pixel; expand() allocates a row
        expand();
        image.channels = png_get_channels(png_, info_);
        image.dtype = png_get_bit_depth(png_, info_) == 16 ? Dtype::u16 : Dtype::u8;
        image.alpha = (png_get_color_type(png_, info_) & PNG_COLOR_MASK_ALPHA) != 0;
        image.description = "PNG image, " + std::to_string(image.height) + " x " + std::to_string(image.width) + ", " +
                            describe_pixels(image.dtype, image.channels, image.alpha);
        allocate_pixels(image, name_, options);
        read_rows(image);
        read_metadata(image.metadata);
        return image;
    }

private:
    void read_header() {
        guarded([&] {
            png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // check_promise() and allocate_pixels() decide
            png_set_read_fn(png_, &state_, &on_read);
            png_read_info(png_, info_);
        });
    }

    // Everything becomes grey, RGB or either with alpha, of 8 or 16 bits in the machine's byte order.
    void expand() {
        constexpr std::size_t kPixelBytes = 8;
        state_.most_bytes += 2 * kPixelBytes * png_get_image_width(png_, info_);  // rows, now that the width can be believed
        guarded([&] {
            png_set_expand(png_);
            if (png_get_bit_depth(png_, info_) == 16 && std::endian::native == std::endian::little) { png_set_swap(png_); }
            png_set_interlace_handling(png_);
            png_read_update_info(png_, info_);
        });
    }

    void read_rows(Image& image) {
        const std::size_t row_bytes = image.bytes() / static_cast<std::size_t>(image.height);
        if (png_get_rowbytes(png_, info_) != row_bytes) { fail_content(name_, "PNG: its rows have an unknown layout"); }
        std::vector<png_bytep> rows(static_cast<std::size_t>(image.height));
        for (std::size_t y = 0; y < rows.size(); ++y) { rows[y] = reinterpret_cast<png_bytep>(image.pixels.get()) + y * row_bytes; }
        guarded([&] {
            png_read_image(png_, rows.data());
            png_read_end(png_, info_);
        });
    }

    void read_metadata(ImageMetadata& metadata) {
        char* profile_name = nullptr;
        png_bytep profile = nullptr;
        png_bytep exif = nullptr;
        png_uint_32 profile_bytes = 0, exif_bytes = 0, x = 0, y = 0;
        int compression = 0, unit = 0;
        guarded([&] {
            png_get_iCCP(png_, info_, &profile_name, &compression, &profile, &profile_bytes);
            png_get_eXIf_1(png_, info_, &exif_bytes, &exif);
            png_get_sRGB(png_, info_, &metadata.srgb_intent);
            png_get_gAMA(png_, info_, &metadata.gamma);
            png_get_pHYs(png_, info_, &x, &y, &unit);
        });
        if (profile != nullptr) { metadata.icc.assign(profile, profile + profile_bytes); }
        if (exif != nullptr) { metadata.exif.assign(exif, exif + exif_bytes); }
        if (unit == PNG_RESOLUTION_METER) {
            metadata.pixels_per_metre_x = x;
            metadata.pixels_per_metre_y = y;
        }
    }

    ByteSource& source_;
};

constexpr int kColourTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};

class PngWriter : Codec {
public:
    explicit PngWriter(OutputFile& file) : Codec(file.name()) {
        state_.file = &file;
        png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &state_, &on_error, &on_warning);
        if (png_ != nullptr) { info_ = png_create_info_struct(png_); }
    }
    ~PngWriter() { png_destroy_write_struct(&png_, &info_); }

    void write(const Image& image, const ImageWriteOptions& options) {
        check_created();
        const std::size_t row_bytes = image.bytes() / static_cast<std::size_t>(image.height);
        guarded([&] {
            png_set_write_fn(png_, &state_, &on_write, &on_flush);
            png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
            png_set_benign_errors(png_, 1);  // a profile that libpng frowns at is left out
            png_set_IHDR(png_, info_, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height),
                         image.dtype == Dtype::u16 ? 16 : 8, kColourTypes[image.channels - 1], PNG_INTERLACE_NONE,
                         PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
            set_metadata(image.metadata);
            png_set_compression_level(png_, options.compression);
            png_write_info(png_, info_);
            if (image.dtype == Dtype::u16 && std::endian::native == std::endian::little) { png_set_swap(png_); }
            for (std::int64_t y = 0; y < image.height; ++y) {
                png_write_row(png_,
                              reinterpret_cast<png_const_bytep>(image.pixels.get()) + static_cast<std::size_t>(y) * row_bytes);
            }
            png_write_end(png_, info_);
        });
    }

private:
    void set_metadata(const ImageMetadata& metadata) {
        if (!metadata.icc.empty()) {
            png_set_iCCP(png_, info_, "icc", PNG_COMPRESSION_TYPE_BASE, metadata.icc.data(),
                         static_cast<png_uint_32>(metadata.icc.size()));
        } else if (metadata.srgb_intent >= 0) {
            png_set_sRGB(png_, info_, metadata.srgb_intent);
        }
        if (metadata.gamma > 0) { png_set_gAMA(png_, info_, metadata.gamma); }
        if (metadata.pixels_per_metre_x > 0) {
            png_set_pHYs(png_, info_, metadata.pixels_per_metre_x, metadata.pixels_per_metre_y, PNG_RESOLUTION_METER);
        }
        if (!metadata.exif.empty()) {
            png_set_eXIf_1(png_, info_, static_cast<png_uint_32>(metadata.exif.size()),
                           const_cast<png_bytep>(metadata.exif.data()));
        }
    }
};

}  // namespace

Image read_png(ByteSource& source, const ImageReadOptions& options) { return PngReader(source).read(options); }

void write_png(OutputFile& file, const Image& image, const ImageWriteOptions& options) {
    if (options.compression < 0 || options.compression > 9) {
        throw Error(ErrorCode::argument, "compression: " + std::to_string(options.compression) + "; give a number from 0 to 9");
    }
    PngWriter(file).write(image, options);
}

}  // namespace tapline::io
