// JPEG through libjpeg, which reports errors by longjmp from a callback: what it is called in owns no memory, and what is called by
// it does not throw.
#include <cstdio>  // before jpeglib.h, which needs FILE

#include <jpeglib.h>

#include <jerror.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "io/block_sizes.hpp"
#include "io/image/codecs.hpp"
#include "io/system.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

namespace {

constexpr int kExifMarker = JPEG_APP0 + 1;
constexpr int kIccMarker = JPEG_APP0 + 2;
constexpr std::string_view kExifHead{"Exif\0\0", 6};
constexpr double kCentimetresPerInch = 2.54;

// libjpeg hands out pointers to the first members; the others are found behind them.
struct ErrorManager {
    jpeg_error_mgr base;
    std::jmp_buf jump;
    std::exception_ptr* thrown;
    char message[JMSG_LENGTH_MAX];
};

struct Source {
    jpeg_source_mgr base;
    ByteSource* source;
    JOCTET* buffer;
};

struct Destination {
    jpeg_destination_mgr base;
    OutputFile* file;
    JOCTET* buffer;
};

[[noreturn]] void on_error(j_common_ptr codec) {
    auto* errors = reinterpret_cast<ErrorManager*>(codec->err);
    errors->base.format_message(codec, errors->message);
    std::longjmp(errors->jump, 1);
}

// libjpeg goes on after damage, with grey where data are missing. Only what leaves all pixels as they were meant is no error.
void on_message(j_common_ptr codec, int level) {
    if (level >= 0) { return; }
    switch (codec->err->msg_code) {
        case JWRN_EXTRANEOUS_DATA:
        case JWRN_ADOBE_XFORM:
        case JWRN_JFIF_MAJOR:
            return;
        default:
            on_error(codec);
    }
}

void on_output(j_common_ptr) {}

void prepare(ErrorManager& errors, std::exception_ptr& thrown) {
    jpeg_std_error(&errors.base);
    errors.base.error_exit = &on_error;
    errors.base.emit_message = &on_message;
    errors.base.output_message = &on_output;
    errors.thrown = &thrown;
    errors.message[0] = '\0';
}

// A few bytes can ask for thousands of passes over the image; cameras and encoders make about ten.
void limit_scans(j_common_ptr codec) {
    constexpr int kMostScans = 200;
    if (codec->is_decompressor == FALSE) { return; }
    if (reinterpret_cast<j_decompress_ptr>(codec)->input_scan_number > kMostScans) {
        codec->err->msg_code = JERR_BAD_PROGRESSION;
        on_error(codec);
    }
}

void start_source(j_decompress_ptr) {}
void end_source(j_decompress_ptr) {}

boolean fill_source(j_decompress_ptr codec) {
    auto* from = reinterpret_cast<Source*>(codec->src);
    std::size_t got = 0;
    try {
        got = from->source->read(from->buffer, kBufferBytes);
    } catch (...) { *reinterpret_cast<ErrorManager*>(codec->err)->thrown = std::current_exception(); }
    if (got == 0) {
        codec->err->msg_code = JERR_INPUT_EOF;
        on_error(reinterpret_cast<j_common_ptr>(codec));
    }
    from->base.next_input_byte = from->buffer;
    from->base.bytes_in_buffer = got;
    return TRUE;
}

void skip_source(j_decompress_ptr codec, long bytes) {
    auto* from = reinterpret_cast<Source*>(codec->src);
    while (bytes > 0) {
        if (from->base.bytes_in_buffer == 0) { fill_source(codec); }
        const std::size_t step = std::min(static_cast<std::size_t>(bytes), from->base.bytes_in_buffer);
        from->base.next_input_byte += step;
        from->base.bytes_in_buffer -= step;
        bytes -= static_cast<long>(step);
    }
}

void put(j_compress_ptr codec, std::size_t bytes) {
    auto* to = reinterpret_cast<Destination*>(codec->dest);
    std::exception_ptr& thrown = *reinterpret_cast<ErrorManager*>(codec->err)->thrown;
    try {
        to->file->write(to->buffer, bytes);
    } catch (...) { thrown = std::current_exception(); }
    if (thrown) {
        codec->err->msg_code = JERR_FILE_WRITE;
        on_error(reinterpret_cast<j_common_ptr>(codec));
    }
    to->base.next_output_byte = to->buffer;
    to->base.free_in_buffer = kBufferBytes;
}

void start_destination(j_compress_ptr codec) {
    auto* to = reinterpret_cast<Destination*>(codec->dest);
    to->base.next_output_byte = to->buffer;
    to->base.free_in_buffer = kBufferBytes;
}

boolean empty_destination(j_compress_ptr codec) {
    put(codec, kBufferBytes);
    return TRUE;
}

void end_destination(j_compress_ptr codec) { put(codec, kBufferBytes - codec->dest->free_in_buffer); }

class Codec {
public:
    Codec(const Codec&) = delete;
    Codec& operator=(const Codec&) = delete;

protected:
    explicit Codec(std::string name) : name_(std::move(name)), buffer_(kBufferBytes) { prepare(errors_, thrown_); }
    ~Codec() = default;

    // Runs `step`, calls of libjpeg without locals that need a destructor, and turns its error into an Error.
    template <class Step>
    void guarded(Step step) {
        if (setjmp(errors_.jump) != 0) {
            if (thrown_) { std::rethrow_exception(thrown_); }
            fail_content(name_, std::string("JPEG: ") + errors_.message);
        }
        step();
    }

    std::string name_;
    std::vector<JOCTET> buffer_;
    std::exception_ptr thrown_;
    ErrorManager errors_{};
};

class JpegReader : Codec {
public:
    explicit JpegReader(ByteSource& source) : Codec(source.name()), source_(source) { codec_.err = &errors_.base; }
    ~JpegReader() { jpeg_destroy_decompress(&codec_); }

    Image read(const ImageReadOptions& options) {
        guarded([&] { read_header(); });
        Image image;
        image.format = ImageFormat::jpeg;
        image.height = codec_.image_height;
        image.width = codec_.image_width;
        image.channels = channels();
        image.description = "JPEG image, " + std::to_string(image.height) + " x " + std::to_string(image.width) + ", " +
                            describe_pixels(image.dtype, image.channels, false);
        // One bit for the constant of a block of 64 is the least that Huffman codes need; arithmetic ones have no such bound.
        constexpr double kPixelsPerByte = 8 * 64;
        if (codec_.arith_code == FALSE) { check_promise(source_, image.height, image.width, kPixelsPerByte); }
        read_metadata(image.metadata);  // gone once the image is read
        allocate_pixels(image, name_, options);
        const auto row_bytes = static_cast<std::size_t>(image.width * image.channels);
        guarded([&] { read_rows(image.pixels.get(), row_bytes); });
        return image;
    }

private:
    void read_header() {
        jpeg_create_decompress(&codec_);
        from_.base.init_source = &start_source;
        from_.base.fill_input_buffer = &fill_source;
        from_.base.skip_input_data = &skip_source;
        from_.base.resync_to_restart = &jpeg_resync_to_restart;
        from_.base.term_source = &end_source;
        from_.source = &source_;
        from_.buffer = buffer_.data();
        codec_.src = &from_.base;
        progress_.progress_monitor = &limit_scans;
        codec_.progress = &progress_;
        constexpr unsigned kLongest = 0xffff;
        jpeg_save_markers(&codec_, kExifMarker, kLongest);
        jpeg_save_markers(&codec_, kIccMarker, kLongest);
        jpeg_read_header(&codec_, TRUE);
    }

    std::int64_t channels() {
        if (codec_.jpeg_color_space == JCS_GRAYSCALE) {
            codec_.out_color_space = JCS_GRAYSCALE;
            return 1;
        }
        if (codec_.jpeg_color_space == JCS_YCbCr || codec_.jpeg_color_space == JCS_RGB) {
            codec_.out_color_space = JCS_RGB;
            return 3;
        }
        throw Error(ErrorCode::type, name_ + ": JPEG with " + std::to_string(codec_.num_components) +
                                         " inks (CMYK) is not supported; convert it to RGB");
    }

    void read_rows(std::byte* pixels, std::size_t row_bytes) {
        jpeg_start_decompress(&codec_);
        while (codec_.output_scanline < codec_.output_height) {
            auto* row = reinterpret_cast<JSAMPROW>(pixels + codec_.output_scanline * row_bytes);
            jpeg_read_scanlines(&codec_, &row, 1);
        }
        jpeg_finish_decompress(&codec_);
    }

    void read_metadata(ImageMetadata& metadata) {
        for (const jpeg_marker_struct* marker = codec_.marker_list; marker != nullptr; marker = marker->next) {
            const bool exif = marker->marker == kExifMarker && marker->data_length > kExifHead.size() &&
                              std::memcmp(marker->data, kExifHead.data(), kExifHead.size()) == 0;
            if (exif && metadata.exif.empty()) {
                metadata.exif.assign(marker->data + kExifHead.size(), marker->data + marker->data_length);
            }
        }
        JOCTET* profile = nullptr;
        unsigned bytes = 0;
        guarded([&] { jpeg_read_icc_profile(&codec_, &profile, &bytes); });
        if (profile != nullptr) {
            const std::unique_ptr<JOCTET, void (*)(void*)> owner(profile, &std::free);
            metadata.icc.assign(profile, profile + bytes);
        }
        const double per_unit = codec_.density_unit == 1 ? 100 / kCentimetresPerInch : codec_.density_unit == 2 ? 100 : 0;
        metadata.pixels_per_metre_x = static_cast<std::uint32_t>(std::lround(codec_.X_density * per_unit));
        metadata.pixels_per_metre_y = static_cast<std::uint32_t>(std::lround(codec_.Y_density * per_unit));
    }

    ByteSource& source_;
    Source from_{};
    jpeg_progress_mgr progress_{};
    jpeg_decompress_struct codec_{};
};

class JpegWriter : Codec {
public:
    explicit JpegWriter(OutputFile& file) : Codec(file.name()), file_(file) { codec_.err = &errors_.base; }
    ~JpegWriter() { jpeg_destroy_compress(&codec_); }

    void write(const Image& image, const ImageWriteOptions& options) {
        std::vector<JOCTET> exif(kExifHead.begin(), kExifHead.end());
        exif.insert(exif.end(), image.metadata.exif.begin(), image.metadata.exif.end());
        guarded([&] {
            start(image, options);
            write_metadata(exif, image.metadata.icc);
            const auto row_bytes = static_cast<std::size_t>(image.width * image.channels);
            while (codec_.next_scanline < codec_.image_height) {
                auto* row = reinterpret_cast<JSAMPROW>(image.pixels.get() + codec_.next_scanline * row_bytes);
                jpeg_write_scanlines(&codec_, &row, 1);
            }
            jpeg_finish_compress(&codec_);
        });
    }

private:
    void write_metadata(const std::vector<JOCTET>& exif, const std::vector<unsigned char>& icc) {
        constexpr std::size_t kMostMarkerBytes = 65533;
        if (exif.size() > kExifHead.size() && exif.size() <= kMostMarkerBytes) {
            jpeg_write_marker(&codec_, kExifMarker, exif.data(), static_cast<unsigned>(exif.size()));
        }
        if (!icc.empty()) { jpeg_write_icc_profile(&codec_, icc.data(), static_cast<unsigned>(icc.size())); }
    }

    void start(const Image& image, const ImageWriteOptions& options) {
        jpeg_create_compress(&codec_);
        to_.base.init_destination = &start_destination;
        to_.base.empty_output_buffer = &empty_destination;
        to_.base.term_destination = &end_destination;
        to_.file = &file_;
        to_.buffer = buffer_.data();
        codec_.dest = &to_.base;
        codec_.image_width = static_cast<JDIMENSION>(image.width);
        codec_.image_height = static_cast<JDIMENSION>(image.height);
        codec_.input_components = static_cast<int>(image.channels);
        codec_.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
        jpeg_set_defaults(&codec_);
        jpeg_set_quality(&codec_, options.quality, TRUE);
        constexpr int kFullColour = 90;  // below, colours have half the resolution
        if (image.channels == 3 && options.quality >= kFullColour) {
            codec_.comp_info[0].h_samp_factor = codec_.comp_info[0].v_samp_factor = 1;
        }
        constexpr std::uint32_t kMostDensity = 65535;
        const auto inches = [](std::uint32_t per_metre) {
            return static_cast<std::uint32_t>(std::lround(per_metre * kCentimetresPerInch / 100));
        };
        const std::uint32_t x = inches(image.metadata.pixels_per_metre_x), y = inches(image.metadata.pixels_per_metre_y);
        if (x > 0 && y > 0 && x <= kMostDensity && y <= kMostDensity) {
            codec_.density_unit = 1;
            codec_.X_density = static_cast<UINT16>(x);
            codec_.Y_density = static_cast<UINT16>(y);
        }
        jpeg_start_compress(&codec_, TRUE);
    }

    OutputFile& file_;
    Destination to_{};
    jpeg_compress_struct codec_{};
};

}  // namespace

Image read_jpeg(ByteSource& source, const ImageReadOptions& options) { return JpegReader(source).read(options); }

void write_jpeg(OutputFile& file, const Image& image, const ImageWriteOptions& options) { JpegWriter(file).write(image, options); }

}  // namespace tapline::io
