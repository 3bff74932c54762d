#include "io/format.hpp"

#include <sndfile.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace tapline::io {

namespace {

struct Extension {
    std::string_view name;
    Format format;
    int audio = 0;
    std::optional<Dtype> dtype;
};

constexpr int kOpus = SF_FORMAT_OGG | SF_FORMAT_OPUS;
constexpr int kMp3 = SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III;

constexpr std::array kExtensions{
    Extension{".npy", Format::npy, 0, {}},
    Extension{".wav", Format::audio, SF_FORMAT_WAV, {}},
    Extension{".wave", Format::audio, SF_FORMAT_WAV, {}},
    Extension{".flac", Format::audio, SF_FORMAT_FLAC, {}},
    Extension{".ogg", Format::audio, SF_FORMAT_OGG, {}},
    Extension{".oga", Format::audio, SF_FORMAT_OGG, {}},
    Extension{".opus", Format::audio, kOpus, {}},
    Extension{".aiff", Format::audio, SF_FORMAT_AIFF, {}},
    Extension{".aif", Format::audio, SF_FORMAT_AIFF, {}},
    Extension{".au", Format::audio, SF_FORMAT_AU, {}},
    Extension{".snd", Format::audio, SF_FORMAT_AU, {}},
    Extension{".caf", Format::audio, SF_FORMAT_CAF, {}},
    Extension{".w64", Format::audio, SF_FORMAT_W64, {}},
    Extension{".rf64", Format::audio, SF_FORMAT_RF64, {}},
    Extension{".mp3", Format::audio, kMp3, {}},
    Extension{".f32", Format::raw, 0, Dtype::f32},
    Extension{".f64", Format::raw, 0, Dtype::f64},
    Extension{".raw", Format::raw, 0, {}},
    Extension{".bin", Format::raw, 0, {}},
    Extension{".txt", Format::text, 0, {}},
    Extension{".csv", Format::text, 0, {}},
    Extension{".dat", Format::text, 0, {}},
};

const Extension* find_extension(std::string_view path) {
    const std::string name = extension_of(path);
    const auto* found =
        std::find_if(kExtensions.begin(), kExtensions.end(), [&](const Extension& extension) { return extension.name == name; });
    return found != kExtensions.end() ? found : nullptr;
}

std::string format_name(int command, int code) {
    SF_FORMAT_INFO info{};
    info.format = code;
    sf_command(nullptr, command, &info, sizeof(info));
    return info.name != nullptr ? info.name : "unknown";
}

}  // namespace

const char* to_string(Format format) noexcept {
    constexpr const char* kNames[] = {"npy", "audio", "raw", "text"};
    static_assert(std::size(kNames) == static_cast<std::size_t>(Format::text) + 1);
    return kNames[static_cast<int>(format)];
}

std::string extension_of(std::string_view path) {
    const auto slash = path.rfind('/');
    const auto base = slash == std::string_view::npos ? path : path.substr(slash + 1);
    const auto dot = base.rfind('.');
    std::string lower(dot == std::string_view::npos ? std::string_view() : base.substr(dot));
    for (char& c : lower) { c = static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
    return lower;
}

std::optional<Format> format_of_name(std::string_view path) {
    const Extension* extension = find_extension(path);
    return extension != nullptr ? std::optional(extension->format) : std::nullopt;
}

std::optional<Dtype> raw_dtype_of_name(std::string_view path) {
    const Extension* extension = find_extension(path);
    return extension != nullptr ? extension->dtype : std::nullopt;
}

int audio_container_of_name(std::string_view path) {
    const Extension* extension = find_extension(path);
    return extension != nullptr ? extension->audio : 0;
}

std::string describe_audio(int code) {
    return format_name(SFC_GET_FORMAT_INFO, code & SF_FORMAT_TYPEMASK) + ", " +
           format_name(SFC_GET_FORMAT_INFO, code & SF_FORMAT_SUBMASK);
}

}  // namespace tapline::io
