// Images from and to files.
#include "io/image/image.hpp"

#include <cstdlib>
#include <random>

#include "files.hpp"
#include "png_bytes.hpp"

namespace tapline::io::test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using namespace std::string_literals;

Image make_image(std::int64_t height, std::int64_t width, std::int64_t channels, Dtype dtype, bool alpha = false) {
    Image image;
    image.height = height;
    image.width = width;
    image.channels = channels;
    image.dtype = dtype;
    image.alpha = alpha;
    image.pixels = core::allocate(image.bytes(), "image");
    std::mt19937_64 random(static_cast<std::uint64_t>(height * 1000 + width * 10 + channels));
    auto* bytes = reinterpret_cast<std::uint8_t*>(image.pixels.get());
    for (std::size_t i = 0; i < image.bytes(); ++i) { bytes[i] = static_cast<std::uint8_t>(random()); }
    return image;
}

template <class T>
std::vector<T> pixels_of(const Image& image) {
    EXPECT_EQ(size_of(image.dtype), sizeof(T));
    const T* first = reinterpret_cast<const T*>(image.pixels.get());
    return {first, first + image.elements()};
}

void write(const std::string& path, const Image& image, const ImageWriteOptions& options) {
    OutputFile file;
    file.create(path, false);
    write_image(file, image, options);
    file.commit();
}

void expect_same(const Image& a, const Image& b) {
    EXPECT_EQ(a.height, b.height);
    EXPECT_EQ(a.width, b.width);
    EXPECT_EQ(a.channels, b.channels);
    EXPECT_EQ(a.dtype, b.dtype);
    ASSERT_EQ(a.bytes(), b.bytes());
    EXPECT_EQ(std::memcmp(a.pixels.get(), b.pixels.get(), a.bytes()), 0);
}

TEST(IoImage, PngReadsBackWhatWasWritten) {
    const Folder folder;
    for (const Dtype dtype : {Dtype::u8, Dtype::u16}) {
        for (std::int64_t channels = 1; channels <= 4; ++channels) {
            for (const auto& [height, width] : {std::pair(1, 1), std::pair(7, 13), std::pair(40, 300)}) {
                const Image image = make_image(height, width, channels, dtype, channels % 2 == 0);
                for (const int compression : {0, 4, 9}) {
                    write(folder.file("x.png"), image, {.format = ImageFormat::png, .compression = compression});
                    const Image read = read_image(folder.file("x.png"));
                    expect_same(read, image);
                    EXPECT_EQ(read.alpha, image.alpha);
                    EXPECT_EQ(read.format, ImageFormat::png);
                }
            }
        }
    }
    EXPECT_EQ(folder.count(), 1U);
}

TEST(IoImage, ArraysReadBackWhatWasWritten) {
    const Folder folder;
    for (const Dtype dtype : {Dtype::u8, Dtype::i16, Dtype::f32, Dtype::f64, Dtype::complex128}) {
        for (const std::int64_t channels : {1, 3, 7}) {
            const Image image = make_image(5, 9, channels, dtype);
            write(folder.file("x.npy"), image, {.format = ImageFormat::npy});
            const Image read = read_image(folder.file("x.npy"));
            expect_same(read, image);
            EXPECT_EQ(read.channel_axis, channels > 1);
            EXPECT_FALSE(read.alpha);
        }
    }
}

TEST(IoImage, FortranOrderIsTurned) {
    const Folder folder;
    // shape (2, 3, 2): element (y, x, c) has the value 100 y + 10 x + c
    const Bytes values{0, 100, 10, 110, 20, 120, 1, 101, 11, 111, 21, 121};
    const Image image = read_image(folder.put("f.npy", npy_bytes(npy_dict("|u1", "(2, 3, 2)", true), raw_bytes(values))));
    EXPECT_EQ(pixels_of<std::uint8_t>(image), (Bytes{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121}));
}

TEST(IoImage, JpegIsCloseAndMoreSoWithQuality) {
    const Folder folder;
    for (const std::int64_t channels : {1, 3}) {
        Image image = make_image(24, 50, channels, Dtype::u8);
        auto* pixels = reinterpret_cast<std::uint8_t*>(image.pixels.get());
        for (std::int64_t i = 0; i < image.elements(); ++i) { pixels[i] = static_cast<std::uint8_t>(i / channels % 50 * 5); }
        int worst_before = 256;
        for (const int quality : {20, 100}) {
            write(folder.file("x.jpg"), image, {.format = ImageFormat::jpeg, .quality = quality});
            const Image read = read_image(folder.file("x.jpg"));
            ASSERT_EQ(read.channels, channels);
            ASSERT_EQ(read.bytes(), image.bytes());
            int worst = 0;
            for (std::size_t i = 0; i < image.bytes(); ++i) {
                worst = std::max(worst, std::abs(static_cast<int>(read.pixels[i]) - static_cast<int>(image.pixels[i])));
            }
            EXPECT_LT(worst, worst_before);
            worst_before = worst;
        }
        EXPECT_LE(worst_before, 3);
    }
}

TEST(IoImage, PngOfFewBitsIsExpanded) {
    const Folder folder;
    // 1 bit: 10110000 1 -> 255 0 255 255 0 0 0 0 255
    const Image one = read_image(folder.put("1.png", png_bytes(9, 1, 1, 0, "\0\xb0\x80"s)));
    EXPECT_EQ(pixels_of<std::uint8_t>(one), (Bytes{255, 0, 255, 255, 0, 0, 0, 0, 255}));
    const Image two = read_image(folder.put("2.png", png_bytes(4, 1, 2, 0, "\0\x1b"s)));
    EXPECT_EQ(pixels_of<std::uint8_t>(two), (Bytes{0, 85, 170, 255}));
    const Image four = read_image(folder.put("4.png", png_bytes(2, 2, 4, 0, "\0\x1f\0\x02"s)));
    EXPECT_EQ(pixels_of<std::uint8_t>(four), (Bytes{17, 255, 0, 34}));
}

TEST(IoImage, PalettesBecomeColours) {
    const Folder folder;
    const std::string palette = png_chunk("PLTE", "\x01\x02\x03\x0a\x14\x1e"s);
    const Image opaque = read_image(folder.put("p.png", png_bytes(2, 1, 8, 3, "\0\1\0"s, palette)));
    EXPECT_EQ(opaque.channels, 3);
    EXPECT_FALSE(opaque.alpha);
    EXPECT_EQ(pixels_of<std::uint8_t>(opaque), (Bytes{10, 20, 30, 1, 2, 3}));
    const Image clear = read_image(folder.put("t.png", png_bytes(2, 1, 8, 3, "\0\1\0"s, palette + png_chunk("tRNS", "\x80"s))));
    EXPECT_EQ(clear.channels, 4);
    EXPECT_TRUE(clear.alpha);
    EXPECT_EQ(pixels_of<std::uint8_t>(clear), (Bytes{10, 20, 30, 255, 1, 2, 3, 128}));
}

TEST(IoImage, SixteenBitsAreBigEndianInTheFile) {
    const Folder folder;
    const Image image = read_image(folder.put("d.png", png_bytes(2, 1, 16, 0, "\0\x01\x02\xff\x00"s)));
    EXPECT_EQ(pixels_of<std::uint16_t>(image), (std::vector<std::uint16_t>{0x0102, 0xff00}));
}

TEST(IoImage, InterlacedPngIsPutTogether) {
    const Folder folder;
    // 3 x 3: pass 1 holds pixel 0; 5 the row 2 pixels 0 and 2 (4: column 2 of row 0); 6 column 1 of rows 0 and 2; 7 row 1.
    const std::string passes = "\0\x00\0\x02\0\x14\x16\0\x01\0\x15\0\x0a\x0b\x0c"s;
    const Image image = read_image(folder.put("i.png", png_bytes(3, 3, 8, 0, passes, "", true)));
    EXPECT_EQ(pixels_of<std::uint8_t>(image), (Bytes{0, 1, 2, 10, 11, 12, 20, 21, 22}));
}

TEST(IoImage, MetadataSurvives) {
    const Folder folder;
    Image image = make_image(8, 8, 3, Dtype::u8);
    image.metadata.exif = {'I', 'I', 42, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    image.metadata.pixels_per_metre_x = image.metadata.pixels_per_metre_y = 11811;  // 300 dpi
    for (const ImageFormat format : {ImageFormat::png, ImageFormat::jpeg}) {
        write(folder.file("m"), image, {.format = format});
        const Image read = read_image(folder.file("m"));
        EXPECT_EQ(read.format, format);
        EXPECT_EQ(read.metadata.exif, image.metadata.exif);
        EXPECT_EQ(read.metadata.pixels_per_metre_x, 11811U);
    }
}

// Wherever a file ends too early, that is an error with its name.
TEST(IoImage, EveryCutIsAnError) {
    const Folder folder;
    const Image image = make_image(5, 6, 3, Dtype::u8);
    for (const ImageFormat format : {ImageFormat::png, ImageFormat::jpeg, ImageFormat::npy}) {
        write(folder.file("whole"), image, {.format = format});
        const std::string whole = bytes_of(folder.file("whole"));
        for (std::size_t size = 0; size < whole.size(); ++size) {
            const std::string path = folder.put("cut", whole.substr(0, size));
            expect_error(ErrorCode::io, "cut", [&] { read_image(path); });
        }
        EXPECT_NO_THROW(read_image(folder.put("cut", whole)));
    }
}

TEST(IoImage, DamagedPngIsAnError) {
    const Folder folder;
    std::string bytes = png_bytes(2, 1, 8, 0, "\0\1\2"s);
    for (std::size_t at = 8; at < bytes.size() - 12; ++at) {
        bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
        expect_error(ErrorCode::io, "damaged.png", [&] { read_image(folder.put("damaged.png", bytes)); });
        bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
    }
}

TEST(IoImage, PromisesThatNoFileCouldKeepAreRefused) {
    const Folder folder;
    const std::string png = folder.put("huge.png", png_bytes(100000, 100000, 8, 2, std::string(100, '\0')));
    expect_error(ErrorCode::io, "100000 x 100000", [&] { read_image(png); });
    const Folder other;
    write(other.file("x.jpg"), make_image(8, 8, 1, Dtype::u8), {.format = ImageFormat::jpeg});
    std::string jpeg = bytes_of(other.file("x.jpg"));
    const std::size_t frame = jpeg.find("\xff\xc0");
    ASSERT_NE(frame, std::string::npos);
    jpeg.replace(frame + 5, 4, "\xff\x00\xff\x00"s);
    expect_error(ErrorCode::io, "65280 x 65280", [&] { read_image(folder.put("huge.jpg", jpeg)); });
    const std::string npy = npy_bytes(npy_dict("<f4", "(100000, 100000)"), "....");
    expect_error(ErrorCode::io, "truncated", [&] { read_image(folder.put("huge.npy", npy)); });
}

// A chunk that calls itself 1.25 GiB long; libpng alone would ask for that much memory.
TEST(IoImage, ChunksLongerThanTheFileAreErrors) {
    const Folder folder;
    const std::string lie = "\x50\x00\x00\x00"s + "eXIf" + "II*\0"s;
    expect_error(ErrorCode::io, "x.png", [&] { read_image(folder.put("x.png", png_bytes(2, 1, 8, 0, "\0\1\2"s, lie))); });
}

TEST(IoImage, TheLimitOnMemoryHolds) {
    const Folder folder;
    const Image image = make_image(10, 10, 3, Dtype::u8);
    for (const ImageFormat format : {ImageFormat::png, ImageFormat::jpeg, ImageFormat::npy}) {
        write(folder.file("x"), image, {.format = format});
        expect_error(ErrorCode::memory, "10 x 10", [&] { read_image(folder.file("x"), {.max_bytes = 299}); });
        EXPECT_NO_THROW(read_image(folder.file("x"), {.max_bytes = 300}));
    }
}

TEST(IoImage, WhatIsNoImageSaysSo) {
    const Folder folder;
    expect_error(ErrorCode::io, "neither a PNG, a JPEG", [&] { read_image(folder.put("x.png", "not an image at all")); });
    expect_error(ErrorCode::io, "empty", [&] { read_image(folder.put("empty.png", "")); });
    expect_error(ErrorCode::argument, "(6,)",
                 [&] { read_image(folder.put("1.npy", npy_bytes(npy_dict("|u1", "(6,)"), "abcdef"))); });
    expect_error(ErrorCode::argument, "no pixels",
                 [&] { read_image(folder.put("0.npy", npy_bytes(npy_dict("|u1", "(0, 3)"), ""))); });
}

TEST(IoImage, FormatsSayWhatTheyCannotHold) {
    const auto refuse = [](ImageFormat format, ErrorCode code, const std::string& piece, const Image& image) {
        expect_error(code, piece, [&] { check_writable(image, {.format = format}, "x"); });
    };
    refuse(ImageFormat::png, ErrorCode::type, "--dtype u8", make_image(2, 2, 1, Dtype::f32));
    refuse(ImageFormat::png, ErrorCode::argument, "5", make_image(2, 2, 5, Dtype::u8));
    refuse(ImageFormat::jpeg, ErrorCode::type, "--dtype u8", make_image(2, 2, 1, Dtype::u16));
    refuse(ImageFormat::jpeg, ErrorCode::argument, "--alpha drop", make_image(2, 2, 4, Dtype::u8, true));
    refuse(ImageFormat::jpeg, ErrorCode::argument, "2 channels", make_image(2, 2, 2, Dtype::u8));
    refuse(ImageFormat::jpeg, ErrorCode::argument, "65500", make_image(1, 65501, 1, Dtype::u8));
    expect_error(ErrorCode::argument, "quality",
                 [&] { check_writable(make_image(1, 1, 1, Dtype::u8), {.format = ImageFormat::jpeg, .quality = 0}, "x"); });
}

TEST(IoImage, ExtensionsTellFormats) {
    EXPECT_EQ(image_format_of_name("a/b.c/x.PNG"), ImageFormat::png);
    EXPECT_EQ(image_format_of_name("x.jpeg"), ImageFormat::jpeg);
    EXPECT_EQ(image_format_of_name("x.y.jpg"), ImageFormat::jpeg);
    EXPECT_EQ(image_format_of_name("x.npy"), ImageFormat::npy);
    EXPECT_EQ(image_format_of_name("x.png/y"), std::nullopt);
    EXPECT_EQ(image_format_of_name("png"), std::nullopt);
}

}  // namespace
}  // namespace tapline::io::test
