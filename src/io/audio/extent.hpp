// Whether an audio file holds the samples that its header promises. libsndfile silently takes what is there.
#pragma once

#include "io/byte_source.hpp"

namespace tapline::io {

/// For WAV, RF64, AIFF, CAF and AU, which promise a number of bytes; other files pass. A promise that recorders and pipes write
/// when they do not know the length passes too. Throws Error(io) naming both numbers. The source must be seekable; its position
/// stays.
void check_audio_extent(const ByteSource& source);

}  // namespace tapline::io
