// The file formats and how a name tells them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tapline/types.hpp"

namespace tapline::io {

enum class Format { npy, audio, raw, text };

const char* to_string(Format format) noexcept;

/// How an audio file stores its samples; given to a Writer it keeps them so.
struct AudioFormat {
    int code = 0;                       ///< libsndfile's SF_FORMAT_*: container | subtype | byte order; 0 = none
    std::vector<int> channel_map = {};  ///< libsndfile's SF_CHANNEL_MAP_*, one a channel; may be empty
};

/// What follows the last dot of a path's last part, the dot included, in small letters; empty without a dot.
std::string extension_of(std::string_view path);

/// By the name's extension in any case of letters; nothing for an unknown one.
std::optional<Format> format_of_name(std::string_view path);

/// The element type that a raw file's extension tells (.f32, .f64); nothing for .raw and .bin.
std::optional<Dtype> raw_dtype_of_name(std::string_view path);

/// libsndfile's container (and for .opus and .mp3 the subtype) of an audio extension, or 0.
int audio_container_of_name(std::string_view path);

/// "WAV (Microsoft), Signed 16 bit PCM".
std::string describe_audio(int code);

/// All that the extensions may be, for messages.
inline constexpr const char* kKnownExtensions =
    ".npy, .wav, .flac, .ogg, .opus, .aiff, .au, .caf, .w64, .rf64, .mp3, .f32, .f64, .raw, .txt, .csv";

}  // namespace tapline::io
