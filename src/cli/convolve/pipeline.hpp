// Reading, computing and writing at the same time: three threads, small bounded queues between them.
#pragma once

#include <cstdint>
#include <functional>

#include "cli/shared/elements.hpp"
#include "core/problem/interface.hpp"
#include "io/reader.hpp"
#include "io/writer.hpp"

namespace tapline::cli {

/// How the signal's file is cut into chunks: several whole blocks in one if they are small, else parts of a block.
struct Cutting {
    io::Layout layout;                  ///< outer blocks of `length` frames of `inner` elements
    std::int64_t blocks_per_chunk = 0;  ///< 0: chunks are parts of one block
    std::int64_t frames_per_chunk = 0;  ///< for parts
    std::int64_t tail_frames = 0;       ///< for parts: read from the end of every block before its first chunk (Boundary::wrap)
};

/// What the reader hands on: elements of the file's dtype.
struct Chunk {
    enum class Kind { samples, tail };
    Kind kind = Kind::samples;
    Bytes data;
    std::int64_t block = 0;   ///< the first (or only) block
    std::int64_t blocks = 1;  ///< whole blocks in it; 1 for parts
    std::int64_t frames = 0;  ///< of each block
    bool begins_block = false;
    bool ends_block = false;
};

/// Where outputs go: reserve() a buffer of at least so many bytes, fill it, send() its first `frames` frames of the writer.
class Outlet : public core::Interface {
public:
    virtual Bytes reserve(std::size_t bytes) = 0;
    virtual void send(Bytes data, std::int64_t frames) = 0;
};

/// Runs reader -> compute -> writer until the signal ends; `compute` is called in the calling thread with the chunks in order.
/// The first failure of the three stops all and is thrown.
void run_pipeline(io::Reader& reader, io::Writer& writer, const Cutting& cutting,
                  const std::function<void(const Chunk& chunk, Outlet& outlet)>& compute);

}  // namespace tapline::cli
