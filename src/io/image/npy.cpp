// Arrays as images.
#include <algorithm>
#include <cstring>

#include "io/image/codecs.hpp"
#include "io/npy/header.hpp"
#include "io/readers.hpp"
#include "tapline/error.hpp"

namespace tapline::io {

namespace {

constexpr std::int64_t kStripe = 64;  // rows and columns of a block that stays in the first cache

// Fortran order, the first index moving fastest: (channels, width, height) in memory.
template <class T>
void to_c_order(T* to, const T* from, const Image& image) {
    const std::int64_t height = image.height, width = image.width, channels = image.channels;
    for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t first = 0; first < width; first += kStripe) {
            const std::int64_t last = std::min(width, first + kStripe);
            for (std::int64_t y = 0; y < height; ++y) {
                for (std::int64_t x = first; x < last; ++x) {
                    to[(y * width + x) * channels + c] = from[(c * width + x) * height + y];
                }
            }
        }
    }
}

struct Bytes16 {
    std::uint64_t words[2];
};

void to_c_order(Image& image, const std::string& name) {
    core::AlignedBytes ordered = core::allocate(image.bytes(), name.c_str());
    const auto as = [&]<class T>(T* to) { to_c_order(to, reinterpret_cast<const T*>(image.pixels.get()), image); };
    std::byte* to = ordered.get();
    // clang-format off
    switch (size_of(image.dtype)) {
        case 1: as(reinterpret_cast<std::uint8_t*>(to)); break;
        case 2: as(reinterpret_cast<std::uint16_t*>(to)); break;
        case 4: as(reinterpret_cast<std::uint32_t*>(to)); break;
        case 8: as(reinterpret_cast<std::uint64_t*>(to)); break;
        default: as(reinterpret_cast<Bytes16*>(to));
    }
    // clang-format on
    image.pixels = std::move(ordered);
}

}  // namespace

Image read_npy_image(std::unique_ptr<ByteSource> source, const ImageReadOptions& options) {
    source->make_seekable();  // the size of a stream is only known at its end: no memory for what is not there
    const std::unique_ptr<Reader> reader = open_npy(std::move(source));
    const Info& info = reader->info();
    const std::string shape = describe_shape(info.shape);
    if (info.shape.size() != 2 && info.shape.size() != 3) {
        throw Error(ErrorCode::argument,
                    reader->name() + ": an image is an array (height, width) or (height, width, channels), not " + shape);
    }
    if (info.frames == 0) { throw Error(ErrorCode::argument, reader->name() + ": the image " + shape + " has no pixels"); }
    Image image;
    image.format = ImageFormat::npy;
    image.height = info.shape[0];
    image.width = info.shape[1];
    image.channel_axis = info.shape.size() == 3;
    image.channels = image.channel_axis ? info.shape[2] : 1;
    image.dtype = info.dtype;
    image.description = info.description;
    allocate_pixels(image, reader->name(), options);
    reader->read(image.pixels.get(), info.frames);
    if (info.fortran) { to_c_order(image, reader->name()); }
    return image;
}

void write_npy_image(OutputFile& file, const Image& image) {
    std::vector<std::int64_t> shape{image.height, image.width};
    if (image.channel_axis || image.channels > 1) { shape.push_back(image.channels); }
    const std::string header = format_npy_header(image.dtype, shape, false);
    file.write(header.data(), header.size());
    file.write(image.pixels.get(), image.bytes());
}

}  // namespace tapline::io
