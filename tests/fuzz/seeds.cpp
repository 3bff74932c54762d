// Writes the seeds of every fuzzer: fuzz_seeds FOLDER makes FOLDER/NAME/*, a few good inputs from which to mutate.
#include <sndfile.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "io/image/image.hpp"
#include "io/npy/header.hpp"
#include "io/writer.hpp"
#include "tapline/error.hpp"

namespace {

using namespace tapline;
namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& bytes) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
}

std::string bytes_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void npy_seeds(const fs::path& folder) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::complex128, Dtype::boolean, Dtype::u16, Dtype::f16}) {
        const std::string header = io::format_npy_header(dtype, {2, 3}, dtype == Dtype::f64);
        put(folder / (std::string("header_") + to_string(dtype)), header.substr(10));
        put(folder / to_string(dtype), header + std::string(6 * size_of(dtype), '\x3f'));
        std::string swapped = header;
        if (const auto at = swapped.find('<'); at != std::string::npos) swapped[at] = '>';
        put(folder / (std::string("big_endian_") + to_string(dtype)), swapped + std::string(6 * size_of(dtype), '\x3f'));
    }
    put(folder / "version2", "\x93NUMPY\x02" + std::string("\0\x46\0\0\0", 5) +
                                 "{'descr': '<i8', 'fortran_order': False, 'shape': (1L,), }           \n" + std::string(8, '\1'));
}

void audio_seeds(const fs::path& folder) {
    const std::vector<float> samples(64, 0.25F);
    const int wav = SF_FORMAT_WAV;
    int number = 0;
    for (const int subtype : {wav | SF_FORMAT_PCM_16, wav | SF_FORMAT_FLOAT, wav | SF_FORMAT_MS_ADPCM, wav | SF_FORMAT_ULAW}) {
        for (const char* name : {"a.wav", "a.flac", "a.aiff", "a.au", "a.caf", "a.w64", "a.ogg"}) {
            io::WriteOptions options{.channels = 2, .sample_rate = 8000, .frames = 32};
            options.audio.code = subtype;
            fs::create_directories(folder);
            const fs::path path = folder / (std::to_string(number++) + name);
            const auto writer = io::Writer::create(path.string(), options);
            writer->write(samples.data(), 32);
            writer->commit();
        }
    }
}

void image_seeds(const fs::path& folder, io::ImageFormat format) {
    fs::create_directories(folder);
    int number = 0;
    for (const Dtype dtype : {Dtype::u8, Dtype::u16}) {
        for (const std::int64_t channels : {1, 2, 3, 4}) {
            io::Image image;
            image.height = 9;
            image.width = 17;
            image.channels = channels;
            image.dtype = dtype;
            image.alpha = channels % 2 == 0;
            image.metadata.exif = {'I', 'I', 42, 0, 8, 0, 0, 0, 0, 0};
            image.metadata.pixels_per_metre_x = image.metadata.pixels_per_metre_y = 4000;
            image.pixels = core::allocate(image.bytes(), "seed");
            for (std::size_t i = 0; i < image.bytes(); ++i) { image.pixels[i] = static_cast<std::byte>(i * i / 3); }
            const bool jpeg = format == io::ImageFormat::jpeg;
            if (jpeg && (dtype != Dtype::u8 || image.alpha)) { continue; }
            io::OutputFile file;
            file.create((folder / std::to_string(number++)).string(), false);
            io::write_image(file, image, {.format = format, .quality = channels == 1 ? 50 : 95});
            file.commit();
        }
    }
}

}  // namespace

int main(int count, char** arguments) try {
    if (count != 2) {
        std::fputs("usage: fuzz_seeds FOLDER\n", stderr);
        return 2;
    }
    const fs::path folder = arguments[1];
    fs::create_directories(folder / "problem");
    npy_seeds(folder / "npy");
    audio_seeds(folder / "audio");
    image_seeds(folder / "png", io::ImageFormat::png);
    image_seeds(folder / "jpeg", io::ImageFormat::jpeg);
    put(folder / "text/numbers", "# comment\n\nlevel\n1.5\n-2e-3  # more\r\n+3\nnan\ninf\n1e-400\n");
    put(folder / "text/columns", "1,2,3\n");
    put(folder / "text/bom",
        "\xef\xbb\xbf"
        "1\n2");
    put(folder / "sniff/raw", std::string("\0\0\0\0\0", 5));
    put(folder / "sniff/text",
        "\x3e"
        "1\n2\n");
    put(folder / "sniff/npy", "\x3e" + bytes_of(folder / "npy/f32"));
    put(folder / "problem/plain", std::string("\0\x10\0\0\3\0\0\1\0\0\1\0\0\0\0\0\0\0", 18));
    put(folder / "problem/all", std::string(200, '\x7f'));
    return 0;
} catch (const Error& error) {
    std::fprintf(stderr, "fuzz_seeds: %s\n", error.what());
    return 1;
}
